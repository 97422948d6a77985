"""What ``print(tensor)`` shows: torch's text, to the character."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from . import dtypes

if TYPE_CHECKING:
    from typing import Protocol

    class Printable(Protocol):
        """What printing needs to know of a tensor."""

        @property
        def array(self) -> np.ndarray: ...
        @property
        def dtype(self) -> dtypes.dtype: ...
        @property
        def requires_grad(self) -> bool: ...
        @property
        def grad_fn(self) -> object: ...


# ---------------------------------------------------------------- options
class _Options:
    """The process-wide print options; ``set_printoptions`` says what each means."""

    __slots__ = ("edgeitems", "linewidth", "precision", "sci_mode", "threshold")

    def __init__(self) -> None:
        self.precision = 4
        self.threshold: float = 1000
        self.edgeitems = 3
        self.linewidth = 80
        self.sci_mode: bool | None = None


options = _Options()

_PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Change how tensors print (source: ``torch.set_printoptions``).

    ``precision``: digits after the point. ``threshold``: with more elements than this, only ``edgeitems`` are shown at
    either end of each axis. ``linewidth``: where lines break. ``profile``: ``"default"``, ``"short"`` or ``"full"``,
    applied before the others. ``sci_mode``: force scientific notation on or off; every call that leaves it out makes
    it automatic again, as in torch. An unknown profile changes nothing.

    >>> with printoptions():
    ...     set_printoptions(precision=2)
    ...     array_str(np.array([1.12345]))
    '[1.12]'
    """
    chosen = dict(_PROFILES.get(profile, {})) if profile is not None else {}
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    chosen.update((name, value) for name, value in given.items() if value is not None)
    for name, value in chosen.items():
        setattr(options, name, value)
    options.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """The print options, as keyword arguments for `set_printoptions` (source: ``torch._tensor_str.get_printoptions``).

    >>> get_printoptions()
    {'precision': 4, 'threshold': 1000, 'edgeitems': 3, 'linewidth': 80, 'sci_mode': None}
    """
    return {name: getattr(options, name) for name in ("precision", "threshold", "edgeitems", "linewidth", "sci_mode")}


@contextlib.contextmanager
def printoptions(**kwargs: Any) -> Iterator[None]:
    """`set_printoptions` for the length of a ``with`` block (source: ``torch._tensor_str.printoptions``).

    >>> with printoptions(precision=1):
    ...     array_str(np.array([0.25, 0.125]))
    '[0.2, 0.1]'
    """
    before = get_printoptions()
    set_printoptions(**kwargs)
    try:
        yield
    finally:
        set_printoptions(**before)


# ---------------------------------------------------------------- elements
def _float_cells(values: np.ndarray) -> tuple[list[str], int]:
    """Each number as text, not yet aligned, and the width to align to.

    Zeros, nan and inf have no say in the notation or the width, so they can be wider than their column ("-0.").
    """
    with np.errstate(invalid="ignore"):  # widening a signalling nan would warn
        values = values.astype(np.float64)
    counted = np.isfinite(values) & (values != 0)
    telling = values[counted]
    if not telling.size:
        return [f"{value:.0f}." if math.isfinite(value) else f"{value:.0f}" for value in values.tolist()], 1
    sizes = np.abs(telling)
    smallest, largest = sizes.min().item(), sizes.max().item()
    scientific = options.sci_mode
    if scientific is None:
        scientific = largest / smallest > 1000.0 or largest > 1e8 or smallest < 1e-4
    if scientific:
        spec = f".{options.precision}e"
        texts = [format(value, spec) for value in values.tolist()]
    elif (telling == np.ceil(telling)).all():
        texts = [f"{value:.0f}." if math.isfinite(value) else f"{value:.0f}" for value in values.tolist()]
    else:
        spec = f".{options.precision}f"
        texts = [format(value, spec) for value in values.tolist()]
    return texts, max(len(text) for text, counts in zip(texts, counted.tolist(), strict=True) if counts)


def _cells(values: np.ndarray) -> tuple[list[str], int]:
    """The elements of a vector as aligned text, and the width that torch reckons with when it fills lines."""
    kind = values.dtype.kind
    if kind == "c":
        real, real_width = _float_cells(values.real)
        imag, imag_width = _float_cells(values.imag)
        pairs = [f"{a.rjust(real_width)}{'' if b[0] == '-' else '+'}{b}j" for a, b in zip(real, imag, strict=True)]
        return pairs, real_width + imag_width + 1
    if kind in "biu":
        texts = [str(value) for value in values.tolist()]
        width = max(map(len, texts))
    else:  # floating point, bfloat16 included (NumPy calls its kind "V")
        texts, width = _float_cells(values)
    return [text.rjust(width) for text in texts], width


# ---------------------------------------------------------------- arrays
def _groups(parts: list[str], length: int, ellipsis: str | None) -> Iterator[list[str]]:
    """Parts in runs of ``length``, each with the ellipsis in its middle where the axis was cut."""
    for start in range(0, len(parts), length):
        group = parts[start : start + length]
        if ellipsis is not None:
            group.insert(length // 2, ellipsis)
        yield group


def array_str(array: np.ndarray, indent: int = 0) -> str:
    """The nested brackets of an array, of any shape and of any dtype that tensors have, ``indent`` columns in.

    >>> print(array_str(np.array([[1.0, 2.5], [-3.0, np.nan]])))
    [[ 1.0000,  2.5000],
     [-3.0000,     nan]]
    """
    if array.size == 0:
        return "[]"
    edge = options.edgeitems
    depth = array.ndim
    cut = [False] * depth
    if depth and array.size > options.threshold:
        if not edge:
            return "[...]"
        cut = [length > 2 * edge for length in array.shape]
        # Notation and widths follow from what is shown, so nothing else is looked at, however large the array.
        array = array[
            np.ix_(
                *(
                    [*range(edge), *range(length - edge, length)] if length > 2 * edge else range(length)
                    for length in array.shape
                )
            )
        ]
    parts, width = _cells(array.reshape(-1))
    if not depth:
        return parts[0]

    indent += depth  # where the innermost elements begin
    per_line = max(1, math.floor((options.linewidth - (indent - 1)) / (width + 2)))
    line_break = ",\n" + " " * indent
    rows = []
    for row in _groups(parts, array.shape[-1], " ..." if cut[-1] else None):
        lines = [", ".join(row[start : start + per_line]) for start in range(0, len(row), per_line)]
        rows.append("[" + line_break.join(lines) + "]")
    parts = rows
    for axis in range(depth - 2, -1, -1):
        indent -= 1
        separator = "," + "\n" * (depth - 1 - axis) + " " * indent
        parts = [
            "[" + separator.join(group) + "]"
            for group in _groups(parts, array.shape[axis], "..." if cut[axis] else None)
        ]
    return parts[0]


# ---------------------------------------------------------------- tensors
def _is_plain(kind: type) -> bool:
    """Whether this is Tensor or Parameter itself: a subclass, even one of the same name, prints its own name."""
    return kind.__name__ in ("Tensor", "Parameter") and kind.__module__.partition(".")[0] in ("torch", "livetape")


def _suffixes(tensor: Printable, tangent: object) -> list[str]:
    """What follows the values: size, dtype, grad_fn, tangent, each only where torch shows it."""
    found = []
    kind = tensor.dtype
    shape = tensor.array.shape
    default = dtypes.get_default_dtype()
    if tensor.array.size == 0:
        if len(shape) != 1:
            found.append(f"size={shape}")
        if kind is not default:
            found.append(f"dtype={kind}")
    else:
        if not options.edgeitems:
            found.append(f"size={shape}")
        default_complex = dtypes.complex128 if default is dtypes.float64 else dtypes.complex64
        if kind.category != dtypes.BOOL and kind not in (default, default_complex, dtypes.int64):
            found.append(f"dtype={kind}")
    try:
        node = tensor.grad_fn
        name = None if node is None else type(node).__name__.rpartition("::")[2]
    except RuntimeError:  # a view whose history an in-place change has made unusable still prints
        name = "Invalid"
    if name is not None:
        found.append(f"grad_fn=<{name}>")
    elif tensor.requires_grad:
        found.append("requires_grad=True")
    if tangent is not None:
        found.append(f"tangent={tangent}")
    return found


def tensor_str(tensor: Printable, *, contents: str | None = None, tangent: object = None) -> str:
    """``repr(tensor)``. ``contents`` replaces the text of the values; ``tangent`` is that of a dual tensor.

    Source: ``torch.Tensor.__repr__``. The heading of ``nn.Parameter`` is added there.
    """
    kind = type(tensor)
    plain = _is_plain(kind)
    prefix = "tensor(" if plain else f"{kind.__name__}("
    indent = len(prefix)
    text = prefix + (array_str(tensor.array, indent) if contents is None else contents)
    column = len(text) - text.rfind("\n") + 1  # torch counts two columns more than there are
    for suffix in _suffixes(tensor, tangent):
        if column + len(suffix) + 2 > options.linewidth:
            text += ",\n" + " " * indent + suffix
            column = indent + len(suffix)
        else:
            text += ", " + suffix
            column += len(suffix) + 2
    text += ")"
    if not plain and (
        getattr(tensor, "_is_param", False) or any(base.__name__ == "Parameter" for base in kind.__mro__)
    ):
        return f"Parameter({text})"
    return text


def format_scalar(array: np.ndarray, spec: str = "") -> str:
    """An array of no dimensions, formatted as the Python number it holds.

    >>> format_scalar(np.array(3.14159), ".2f")
    '3.14'
    """
    return format(array.item(), spec)


def tensor_format(tensor: Printable, spec: str) -> str:
    """``format(tensor, spec)``: a number for a 0-d Tensor, the repr for all others (source: ``torch.Tensor.__format__``).

    Raises TypeError if anything but a 0-d Tensor is given a format spec: a vector of one element, a Parameter.
    """
    kind = type(tensor)
    if tensor.array.ndim == 0 and kind.__name__ == "Tensor" and _is_plain(kind):
        return format_scalar(tensor.array, spec)
    return object.__format__(tensor, spec)
