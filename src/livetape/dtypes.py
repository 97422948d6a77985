"""Element types: torch's dtypes, how they promote, and what NumPy calls them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from mypy_extensions import i64, mypyc_attr

BOOL: Final = 0
INTEGER: Final = 1
FLOAT: Final = 2
COMPLEX: Final = 3

ALL: Final[list[dtype]] = []


@mypyc_attr(allow_interpreted_subclasses=False)
class dtype:
    """The element type of a tensor, such as ``livetape.float32``.

    Mirrors ``torch.dtype``: an interned object, compared by identity, printed with torch's name.
    """

    __slots__ = (
        "category",
        "found",
        "index",
        "is_complex",
        "is_floating_point",
        "is_signed",
        "itemsize",
        "name",
        "scalars",
    )

    def __init__(self, name: str, category: int, itemsize: int, signed: bool = True) -> None:
        self.name: str = name
        self.category: i64 = category
        self.itemsize: int = itemsize
        self.is_floating_point: bool = category == FLOAT
        self.is_complex: bool = category == COMPLEX
        self.is_signed: bool = signed
        self.index: int = len(ALL)
        self.found: Any = None
        self.scalars: dict[Any, Any] = {}  # Python numbers as 0-d arrays of this type, see scalar()
        ALL.append(self)

    def scalar(self, value: Any) -> Any:
        """``value`` as a 0-d array of this type. Common ones are kept: NumPy takes twice as long for a bare number."""
        try:
            return self.scalars[value]
        except KeyError:
            pass
        try:
            made = np.array(value, self.np)
        except OverflowError:  # an integer that does not fit wraps around, as in C
            made = np.array(value & 0xFFFFFFFFFFFFFFFF, np.uint64).astype(self.np)
        if value == value and value != 0:  # -0.0 equals 0.0, and nan nothing
            if len(self.scalars) >= 256:
                self.scalars.clear()
            self.scalars[value] = made
        return made

    @property
    def np(self) -> Any:
        """The NumPy dtype that stores this type (``bfloat16`` comes from ml_dtypes, loaded when first used)."""
        if self.found is None:
            self.found = _load(self)
        return self.found

    def to_real(self) -> dtype:
        """The real type of the same precision: ``complex64`` gives ``float32``."""
        return _REAL.get(self, self)

    def to_complex(self) -> dtype:
        """The complex type of the same precision: ``float32`` gives ``complex64``."""
        return _COMPLEX.get(self, complex64)

    def __repr__(self) -> str:
        return "torch." + self.name

    def __reduce__(self) -> Any:
        return (by_name, (self.name,))

    def __copy__(self) -> dtype:
        return self

    def __deepcopy__(self, memo: object) -> dtype:
        return self


# torch's short names (float, int, bool, long ...) are given in the package's namespace: here they would hide Python's.
uint8: Final = dtype("uint8", INTEGER, 1, signed=False)
int8: Final = dtype("int8", INTEGER, 1)
int16: Final = dtype("int16", INTEGER, 2)
int32: Final = dtype("int32", INTEGER, 4)
int64: Final = dtype("int64", INTEGER, 8)
float16: Final = dtype("float16", FLOAT, 2)
float32: Final = dtype("float32", FLOAT, 4)
float64: Final = dtype("float64", FLOAT, 8)
complex32: Final = dtype("complex32", COMPLEX, 4)
complex64: Final = dtype("complex64", COMPLEX, 8)
complex128: Final = dtype("complex128", COMPLEX, 16)
boolean: Final = dtype("bool", BOOL, 1, signed=False)
bfloat16: Final = dtype("bfloat16", FLOAT, 2)
uint16: Final = dtype("uint16", INTEGER, 2, signed=False)
uint32: Final = dtype("uint32", INTEGER, 4, signed=False)
uint64: Final = dtype("uint64", INTEGER, 8, signed=False)

_REAL = {complex32: float16, complex64: float32, complex128: float64}
_COMPLEX = {
    float16: complex32,
    float32: complex64,
    float64: complex128,
    complex32: complex32,
    complex64: complex64,
    complex128: complex128,
}


def _load(kind: dtype) -> Any:
    if kind is bfloat16:
        import ml_dtypes

        found = np.dtype(ml_dtypes.bfloat16)
        BY_NUMPY[found] = bfloat16
        return found
    raise TypeError(f"livetape does not store {kind!r}; convert to torch.complex64 or torch.complex128")


def by_name(name: str) -> dtype:
    """The dtype called ``name``."""
    for kind in ALL:
        if kind.name == name:
            return kind
    raise AttributeError(f"module 'torch' has no attribute '{name}'")


BY_NUMPY: Final[dict[Any, dtype]] = {}
for _kind in ALL:
    if _kind not in (complex32, bfloat16):
        _kind.found = np.dtype(_kind.name)
        BY_NUMPY[_kind.found] = _kind


def of_numpy(found: Any) -> dtype:
    """The dtype of an array, or torch's TypeError where torch has none for it."""
    try:
        return BY_NUMPY[found]
    except KeyError:
        pass
    if found.name == "bfloat16":
        bfloat16.np  # noqa: B018 - registers it
        return bfloat16
    if not found.isnative and found.newbyteorder("=") in BY_NUMPY:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. "
            "Conversion between byte orders is currently not supported."
        )
    raise TypeError(
        f"can't convert np.ndarray of type {found.type.__module__}.{found.type.__name__}. The only supported types are: "
        "float64, float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, uint8, "
        "and bool."
    )


# ---------------------------------------------------------------- promotion
_BAREBONES = (uint16, uint32, uint64)


def _promote(a: dtype, b: dtype) -> dtype | None:
    if a is b:
        return a
    if a.category > b.category:
        a, b = b, a
    if a.category == BOOL:
        return b
    if a in _BAREBONES or b in _BAREBONES:
        return b if b.category > INTEGER else None
    if b.category == INTEGER:
        if uint8 in (a, b):
            other = b if a is uint8 else a
            return int16 if other is int8 else other
        return a if a.itemsize > b.itemsize else b
    if b.category == FLOAT:
        if a.category < FLOAT:
            return b
        if {a, b} == {float16, bfloat16}:
            return float32
        return a if a.itemsize > b.itemsize else b
    if a.category < FLOAT:
        return b
    if a is bfloat16:
        return complex64 if b is complex32 else b
    real = a.to_real()
    return (real if real.itemsize > b.to_real().itemsize else b.to_real()).to_complex()


_TABLE = [[_promote(a, b) for b in ALL] for a in ALL]


def _no_dtype(name: str, arguments: tuple[str, str], values: tuple[Any, Any]) -> TypeError:
    """Torch's error for an argument that is no dtype."""
    at = 1 if isinstance(values[0], dtype) else 0
    kind = type(values[at]).__name__
    return TypeError(f"{name}(): argument '{arguments[at]}' (position {at + 1}) must be torch.dtype, not {kind}")


def promote_types(type1: Any, type2: Any) -> dtype:
    """The smallest type that holds both, by torch's categories (source: ``torch.promote_types``).

    >>> promote_types(int32, float16)
    torch.float16
    """
    if not isinstance(type1, dtype) or not isinstance(type2, dtype):
        raise _no_dtype("promote_types", ("type1", "type2"), (type1, type2))
    found = _TABLE[type1.index][type2.index]
    if found is None:
        raise RuntimeError(
            "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
            f"{SCALAR_TYPE[type1]} and {SCALAR_TYPE[type2]}"
        )
    return found


def can_cast(from_: Any, to: Any) -> bool:
    """Whether a value of type ``from_`` may be written into ``to`` in place (source: ``torch.can_cast``).

    >>> can_cast(float32, int64)
    False
    """
    if not isinstance(from_, dtype) or not isinstance(to, dtype):
        raise _no_dtype("can_cast", ("from_", "to"), (from_, to))
    if from_.is_complex and not to.is_complex:
        return False
    if from_.is_floating_point and to.category < FLOAT:
        return False
    return not (from_.category != BOOL and to.category == BOOL)


# The names that torch's C++ messages use.
SCALAR_TYPE = {
    uint8: "Byte",
    int8: "Char",
    int16: "Short",
    int32: "Int",
    int64: "Long",
    float16: "Half",
    float32: "Float",
    float64: "Double",
    complex32: "ComplexHalf",
    complex64: "ComplexFloat",
    complex128: "ComplexDouble",
    boolean: "Bool",
    bfloat16: "BFloat16",
    uint16: "UInt16",
    uint32: "UInt32",
    uint64: "UInt64",
}

# The names that ``Tensor.type()`` uses.
C_NAME = {
    uint8: "unsigned char",
    int8: "signed char",
    int16: "short int",
    int32: "int",
    int64: "long int",
    float16: "c10::Half",
    float32: "float",
    float64: "double",
    complex32: "c10::complex<c10::Half>",
    complex64: "c10::complex<float>",
    complex128: "c10::complex<double>",
    boolean: "bool",
    bfloat16: "c10::BFloat16",
    uint16: "short unsigned int",
    uint32: "unsigned int",
    uint64: "long unsigned int",
}


class Default:
    """The process-wide default floating point type."""

    def __init__(self) -> None:
        self.dtype: dtype = float32


default: Final = Default()


def get_default_dtype() -> dtype:
    """The type of new floating point tensors (source: ``torch.get_default_dtype``)."""
    return default.dtype


def set_default_dtype(d: Any, /) -> None:
    """Set the type of new floating point tensors: a floating point dtype (source: ``torch.set_default_dtype``)."""
    if not isinstance(d, dtype):
        raise TypeError("invalid dtype object: only floating-point types are supported as the default type")
    if not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    default.dtype = d
