"""assert_close: whether two values, or two collections of values, agree, and if not, how they differ."""

from __future__ import annotations

import cmath
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from livetape import dtypes, ops
from livetape.tensor import Tensor

Message = str | Callable[[str], str] | None
Place = tuple[Any, ...]

# (rtol, atol); what is not listed must be equal
_TOLERANCES = {
    dtypes.float16: (1e-3, 1e-5),
    dtypes.bfloat16: (1.6e-2, 1e-5),
    dtypes.float32: (1.3e-6, 1e-5),
    dtypes.float64: (1e-7, 1e-7),
    dtypes.complex32: (1e-3, 1e-5),
    dtypes.complex64: (1.3e-6, 1e-5),
    dtypes.complex128: (1e-7, 1e-7),
}
_OLD_TOLERANCES = {dtypes.float16: (1e-3, 1e-3), dtypes.float32: (1e-4, 1e-5), dtypes.float64: (1e-5, 1e-8)}
_NUMBERS = {int: dtypes.int64, float: dtypes.float64, complex: dtypes.complex128, bool: dtypes.boolean}
_WIDE = {dtypes.uint16: dtypes.int64, dtypes.uint32: dtypes.int64, dtypes.uint64: dtypes.int64}


class _Mismatch(Exception):
    """Two things that do not agree: the error to raise, and where in the collections it was found."""

    def __init__(self, kind: type[Exception], text: str, place: Place) -> None:
        super().__init__(text)
        self.kind = kind
        self.text = text
        self.place = place

    def error(self, msg: Message) -> Exception:
        if isinstance(msg, str):
            return self.kind(msg)
        text = self.text
        if self.place:
            text += f"\n\nThe failure occurred for item {''.join(f'[{key!r}]' for key in self.place)}"
        return self.kind(text if msg is None else msg(text))


@dataclass(frozen=True)
class _Options:
    rtol: float | None
    atol: float | None
    equal_nan: bool
    allow_subclasses: bool
    check_device: bool
    check_dtype: bool
    check_layout: bool
    check_stride: bool

    def tolerances(self, kinds: tuple[Any, Any], place: Place) -> tuple[float, float]:
        """(rtol, atol) for two dtypes."""
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        if (self.rtol is None) != (self.atol is None):
            missing = "rtol" if self.rtol is None else "atol"
            text = f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}."
            raise _Mismatch(ValueError, text, place)
        return _wider(_TOLERANCES, kinds)


def _wider(table: Any, kinds: tuple[Any, Any]) -> tuple[float, float]:
    first, second = (table.get(kind, (0.0, 0.0)) for kind in kinds)
    return max(first[0], second[0]), max(first[1], second[1])


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: Message = None,
) -> None:
    """AssertionError unless ``|actual - expected| <= atol + rtol * |expected|`` everywhere.

    Takes tensors, arrays, numbers, and sequences and mappings of them. Tolerances depend on the dtype unless both are
    given. ``msg`` replaces the message, or makes one of it (source: ``torch.testing.assert_close``).

    >>> import livetape as torch
    >>> torch.testing.assert_close({"a": torch.ones(2)}, {"a": torch.ones(2) + 1e-7})
    """
    __tracebackhide__ = True
    options = _Options(rtol, atol, equal_nan, allow_subclasses, check_device, check_dtype, check_layout, check_stride)
    try:
        # All pairs are formed before the first is compared: a difference in structure goes before one in values.
        for compare in list(_pairs(actual, expected, (), options)):
            compare()
    except _Mismatch as found:
        mismatch = found
    else:
        return
    raise mismatch.error(msg if mismatch.kind is AssertionError else None)


def _pairs(actual: Any, expected: Any, place: Place, options: _Options) -> Iterator[Callable[[], None]]:
    """A comparison for each pair of items."""
    if _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            text = f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"
            raise _Mismatch(AssertionError, text, place)
        for i in range(len(actual)):
            yield from _pairs(actual[i], expected[i], (*place, i), options)
        return
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if set(actual) != set(expected):
            text = (
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {sorted(set(expected) - set(actual))}\n"
                f"Additional keys in the actual mapping: {sorted(set(actual) - set(expected))}"
            )
            raise _Mismatch(AssertionError, text, place)
        try:
            keys = sorted(actual)
        except TypeError:
            keys = list(actual)
        for key in keys:
            yield from _pairs(actual[key], expected[key], (*place, key), options)
        return
    yield _pair(actual, expected, place, options)


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _pair(actual: Any, expected: Any, place: Place, options: _Options) -> Callable[[], None]:
    """The comparison of two single items."""
    if actual is None or expected is None:
        return lambda: _same(actual, expected, "None mismatch", place)
    if isinstance(actual, (bool, np.bool_)) and isinstance(expected, (bool, np.bool_)):
        return lambda: _same(bool(actual), bool(expected), "Booleans mismatch", place)
    numbers = (int, float, complex, np.number)
    if isinstance(actual, numbers) and isinstance(expected, numbers):
        first, second = (value.item() if isinstance(value, np.number) else value for value in (actual, expected))
        rtol, atol = options.tolerances((_NUMBERS[type(first)], _NUMBERS[type(second)]), place)
        return lambda: _numbers(first, second, rtol, atol, place, options)
    tensors = _tensors(actual, expected, options)
    if tensors is None:
        kinds = f"{type(actual)} and {type(expected)}"
        raise _Mismatch(TypeError, f"No comparison pair was able to handle inputs of type {kinds}.", place)
    rtol, atol = options.tolerances((tensors[0].dtype, tensors[1].dtype), place)
    return lambda: _compare_tensors(*tensors, rtol, atol, place, options)


def _tensors(actual: Any, expected: Any, options: _Options) -> tuple[Any, Any] | None:
    """Both as tensors, if they are of one kind."""
    if not (isinstance(actual, type(expected)) or isinstance(expected, type(actual))):
        return None
    if not options.allow_subclasses and type(actual) is not type(expected):
        return None
    try:
        first, second = (x if isinstance(x, Tensor) else ops.as_tensor(x) for x in (actual, expected))
    except Exception:
        return None
    return first, second


def _same(actual: Any, expected: Any, what: str, place: Place) -> None:
    if actual is not expected:
        raise _Mismatch(AssertionError, f"{what}: {actual} is not {expected}", place)


def _numbers(actual: Any, expected: Any, rtol: float, atol: float, place: Place, options: _Options) -> None:
    if options.check_dtype and type(actual) is not type(expected):
        text = f"The (d)types do not match: {type(actual)} != {type(expected)}."
        raise _Mismatch(AssertionError, text, place)
    if actual == expected or (options.equal_nan and cmath.isnan(actual) and cmath.isnan(expected)):
        return
    difference = abs(actual - expected)
    if cmath.isfinite(difference) and difference <= atol + rtol * abs(expected):
        return
    raise _Mismatch(AssertionError, _scalar_text(actual, expected, rtol, atol), place)


def _compare_tensors(actual: Any, expected: Any, rtol: float, atol: float, place: Place, options: _Options) -> None:
    attributes = [("shape", actual.shape, expected.shape)]
    if options.check_layout:
        attributes.append(("layout", actual.layout, expected.layout))
    if options.check_stride:
        attributes.append(("stride()", actual.stride(), expected.stride()))
    if options.check_device:
        attributes.append(("device", actual.device, expected.device))
    if options.check_dtype:
        attributes.append(("dtype", actual.dtype, expected.dtype))
    for name, first, second in attributes:
        if first != second:
            text = f"The values for attribute '{name}' do not match: {first} != {second}."
            raise _Mismatch(AssertionError, text, place)
    if actual.dtype is not expected.dtype:
        kinds = [_WIDE.get(x.dtype, x.dtype) for x in (actual, expected)]
        kind = dtypes.promote_types(kinds[0], kinds[1])
        actual, expected = actual.to(kind), expected.to(kind)
    matches = ops.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=options.equal_nan)
    if bool(matches.all()):
        return
    if actual.dim() == 0:
        text = _scalar_text(actual.item(), expected.item(), rtol, atol)
    else:
        text = _tensor_text(actual.detach(), expected.detach(), matches, rtol, atol)
    raise _Mismatch(AssertionError, text, place)


def _heading(what: str, rtol: float, atol: float) -> str:
    return f"{what} are not {'equal' if rtol == 0 and atol == 0 else 'close'}!\n\n"


def _allowed(tolerance: float, rtol: float, atol: float) -> str:
    return "" if rtol == 0 and atol == 0 else f" (up to {tolerance} allowed)"


def _scalar_text(actual: Any, expected: Any, rtol: float, atol: float) -> str:
    absolute = abs(actual - expected)
    relative = float("inf") if expected == 0 else absolute / abs(expected)
    return (
        _heading("Scalars", rtol, atol) + f"Expected {expected} but got {actual}.\n"
        f"Absolute difference: {absolute}{_allowed(atol, rtol, atol)}\n"
        f"Relative difference: {relative}{_allowed(rtol, rtol, atol)}"
    )


def _tensor_text(actual: Any, expected: Any, matches: Any, rtol: float, atol: float) -> str:
    total = matches.numel()
    wrong = total - int(matches.sum())
    if not (actual.is_floating_point() or actual.is_complex()):
        actual, expected = actual.to(dtypes.int64), expected.to(dtypes.int64)
    absolute = ops.abs(actual - expected).masked_fill(matches, 0)
    relative = (absolute / ops.abs(expected)).masked_fill(matches, 0)
    text = _heading("Tensor-likes", rtol, atol) + f"Mismatched elements: {wrong} / {total} ({wrong / total:.1%})"
    for name, differences, tolerance in (("absolute", absolute, atol), ("relative", relative, rtol)):
        greatest, where = ops.max(differences.flatten(), 0)
        index = tuple(int(i) for i in np.unravel_index(int(where), tuple(matches.shape)))
        text += f"\nGreatest {name} difference: {greatest.item()} at index {index}{_allowed(tolerance, rtol, atol)}"
    return text


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """Deprecated: ``assert_close`` without regard to dtypes, and with wider tolerances."""
    warnings.warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. "
        "Please use `torch.testing.assert_close()` instead. "
        "You can find detailed upgrade instructions in https://github.com/pytorch/pytorch/issues/61844.",
        FutureWarning,
        stacklevel=2,
    )
    if not isinstance(actual, Tensor):
        actual = ops.tensor(actual)
    if not isinstance(expected, Tensor):
        expected = ops.tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        rtol, atol = _wider(_OLD_TOLERANCES, (actual.dtype, expected.dtype))
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None)
