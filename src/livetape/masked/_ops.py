"""The functions of `livetape.masked`."""

from __future__ import annotations

import math
from typing import Any

from livetape import dtypes, ops
from livetape.dtypes import BOOL, COMPLEX, FLOAT
from livetape.ops.norms import vector_norm
from livetape.ops.queries import iinfo

_SMALL = (dtypes.uint8, dtypes.boolean, dtypes.int8, dtypes.int16, dtypes.int32)
_NORMALIZATIONS = ("softmax", "log_softmax", "softmin", "normalize", "cumsum", "cumprod")


# ---------------------------------------------------------------- masks
def input_mask(input: Any, *args: Any, mask: Any = None, **kwargs: Any) -> Any:
    """The mask of a call with these arguments, as a bool tensor of the input's shape."""
    if mask is None:
        raise ValueError("_input_mask requires explicit mask")
    if mask.shape != input.shape:
        if mask.dim() > input.dim():
            raise IndexError(
                "_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)"
            )
        mask = ops.broadcast_to(mask, input.shape)
    return mask.to(dtypes.boolean)


def output_mask(op: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
    """Which elements of the result of ``op(input, *args, **kwargs)`` come of elements that count."""
    found = input_mask(input, *args, **kwargs)
    if op.__name__ in _NORMALIZATIONS:
        return found
    if op.__name__ == "norm":
        args = args[1:]
    dim = args[0] if args else kwargs.get("dim")
    return ops.any(found, _dims(dim, input.dim()), bool(kwargs.get("keepdim", False)))


def _least(kind: dtypes.dtype, name: str) -> float:
    if kind.category == FLOAT or (name == "logsumexp" and kind.category == COMPLEX):
        return -math.inf
    if kind.category in (BOOL, COMPLEX):
        raise NotImplementedError(f"identity of {name} on {kind} input")
    return iinfo(kind).min


def _greatest(kind: dtypes.dtype, name: str) -> float:
    if kind.category == FLOAT:
        return math.inf
    if kind.category in (BOOL, COMPLEX):
        raise NotImplementedError(f"identity of {name} on {kind} input")
    return iinfo(kind).max


def _filled(input: Any, mask: Any, value: float) -> Any:
    """The input with ``value`` in place of what the mask leaves out."""
    if mask is None:
        return input
    return ops.where(input_mask(input, mask=mask), input, ops.tensor(value, dtype=input.dtype))


def _dims(dim: Any, ndim: int) -> tuple[int, ...]:
    """The dimensions as sorted numbers from 0; all of them for None or none."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    found: list[int] = []
    given = (dim,) if isinstance(dim, int) else tuple(dim)
    ndim = max(ndim, 1)
    for d in given:
        if d in found:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
        if not -ndim <= d < ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {d})")
        found.append(d % ndim)
    return tuple(sorted(found))


def _wide(input: Any, dtype: Any) -> Any:
    """The dtype of a sum: int64 for smaller integers."""
    return dtype if dtype is not None else dtypes.int64 if input.dtype in _SMALL else input.dtype


# ---------------------------------------------------------------- reductions
def sum(input: Any, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Any = None) -> Any:
    """The sum (source: ``torch.masked.sum``)."""
    kind = _wide(input, dtype)
    return ops.sum(_filled(input, mask, 0), _dims(dim, input.dim()), bool(keepdim), dtype=kind)


def prod(input: Any, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Any = None) -> Any:
    """The product (source: ``torch.masked.prod``)."""
    found = _filled(input, mask, 1).to(_wide(input, dtype))
    for d in reversed(_dims(dim, input.dim())):
        found = found.prod(d, bool(keepdim))
    return found


def cumsum(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """Sums of all up to each element (source: ``torch.masked.cumsum``)."""
    kind = input.dtype if dtype is None else dtype
    return ops.cumsum(_filled(input, mask, 0), _dims(dim, input.dim())[0], dtype=kind).to(kind)


def cumprod(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """Products of all up to each element (source: ``torch.masked.cumprod``)."""
    kind = input.dtype if dtype is None else dtype
    return ops.cumprod(_filled(input, mask, 1), _dims(dim, input.dim())[0], dtype=kind).to(kind)


def amax(input: Any, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Any = None) -> Any:
    """The greatest (source: ``torch.masked.amax``)."""
    filled = input if mask is None else _filled(input, mask, _least(input.dtype, "amax"))
    return ops.amax(filled, _dims(dim, input.dim()), bool(keepdim)).to(input.dtype if dtype is None else dtype)


def amin(input: Any, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Any = None) -> Any:
    """The least (source: ``torch.masked.amin``)."""
    filled = input if mask is None else _filled(input, mask, _greatest(input.dtype, "amin"))
    return ops.amin(filled, _dims(dim, input.dim()), bool(keepdim)).to(input.dtype if dtype is None else dtype)


def argmax(
    input: Any, dim: int | None = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Any = None
) -> Any:
    """The place of the greatest (source: ``torch.masked.argmax``)."""
    filled = input if mask is None else _filled(input, mask, _least(input.dtype, "argmax"))
    return ops.argmax(filled, dim, bool(keepdim)).to(input.dtype if dtype is None else dtype)


def argmin(
    input: Any, dim: int | None = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Any = None
) -> Any:
    """The place of the least (source: ``torch.masked.argmin``)."""
    filled = input if mask is None else _filled(input, mask, _greatest(input.dtype, "argmin"))
    return ops.argmin(filled, dim, bool(keepdim)).to(input.dtype if dtype is None else dtype)


def _count(input: Any, dim: Any, keepdim: bool, mask: Any) -> Any:
    """How many elements count."""
    counted = ops.ones(input.shape, dtype=dtypes.int64) if mask is None else input_mask(input, mask=mask)
    return ops.sum(counted, _dims(dim, input.dim()), keepdim)


def mean(input: Any, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Any = None) -> Any:
    """The mean, nan where nothing counts (source: ``torch.masked.mean``)."""
    kind, source = (input.dtype, "Input") if dtype is None else (dtype, "Optional")
    if kind.category < FLOAT:
        raise ValueError(
            f"mean(): Could not infer output dtype. {source} dtype must be either a floating point or complex dtype. "
            f"Got: {kind}"
        )
    return sum(input, dim, keepdim=keepdim, dtype=kind, mask=mask) / _count(input, dim, bool(keepdim), mask)


def median(input: Any, dim: int = -1, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """The lower median along ``dim``, nan where nothing counts (source: ``torch.masked.median``)."""
    real = input.dtype.category == FLOAT
    wide = input if real else input.to(dtypes.float32)
    found = ops.nanmedian(_filled(wide, mask, math.nan), _dims(dim, input.dim())[0], keepdim).values
    if real:
        return found
    if found.isnan().any():
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    return found.to(input.dtype if dtype is None else dtype)


def logsumexp(input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """``log(sum(exp(input)))`` (source: ``torch.masked.logsumexp``)."""
    filled = input if mask is None else _filled(input, mask, _least(input.dtype, "logsumexp"))
    return ops.logsumexp(filled, _dims(dim, input.dim()), keepdim).to(input.dtype if dtype is None else dtype)


def logaddexp(input: Any, other: Any, *, dtype: Any = None, input_mask: Any = None, other_mask: Any = None) -> Any:
    """``log(exp(input) + exp(other))`` (source: ``torch.masked.logaddexp``)."""
    x, y = (
        v if m is None else _filled(v, m, _least(v.dtype, "logaddexp"))
        for v, m in ((input, input_mask), (other, other_mask))
    )
    return ops.logaddexp(x, y).to(input.dtype if dtype is None else dtype)


def norm(
    input: Any,
    ord: float | None = 2.0,
    dim: Any = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Any = None,
) -> Any:
    """The vector norm of order ``ord`` (source: ``torch.masked.norm``)."""
    filled = _filled(input, mask, math.inf if ord == -math.inf else 0)
    kind = input.dtype if dtype is None else dtype
    return vector_norm(filled, ord, _dims(dim, input.dim()), bool(keepdim), dtype=kind)


def _spread(input: Any, dim: Any, unbiased: Any, correction: Any, keepdim: bool | None, dtype: Any, mask: Any) -> Any:
    """The variance, in the dtype of the result."""
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    less = 1.0 if unbiased is None else float(bool(unbiased))
    if correction is not None:
        less = float(correction)
    kind = dtype if dtype is not None else input.dtype if input.dtype.category >= FLOAT else dtypes.float32
    wide = kind if kind.category >= FLOAT else dtypes.float32
    middle = ops.div(sum(input, dim, keepdim=True, dtype=kind, mask=mask), _count(input, dim, True, mask))
    apart = ops.sub(input, middle)
    total = sum(apart * ops.conj(apart), dim, keepdim=keepdim, dtype=wide, mask=mask)
    count = _count(input, dim, bool(keepdim), mask)
    if less != 0:
        real = {dtypes.complex64: dtypes.float32, dtypes.complex128: dtypes.float64}.get(wide, wide)
        count = ops.clamp(ops.sub(count.to(real), less), min=0)
    return ops.div(total, count).to(kind)


def var(
    input: Any,
    dim: Any = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Any = None,
) -> Any:
    """The variance (source: ``torch.masked.var``)."""
    return _spread(input, dim, unbiased, correction, keepdim, dtype, mask)


def std(
    input: Any,
    dim: Any = None,
    unbiased: bool | None = None,
    *,
    correction: int | None = None,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Any = None,
) -> Any:
    """The standard deviation (source: ``torch.masked.std``)."""
    return ops.sqrt(_spread(input, dim, unbiased, correction, keepdim, dtype, mask))


# ---------------------------------------------------------------- normalizations
def softmax(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """``exp(input)``, divided by its sum along ``dim`` (source: ``torch.masked.softmax``)."""
    filled = input if mask is None else _filled(input, mask, _least(input.dtype, "amax"))
    return ops.softmax(filled, _dims(dim, input.dim())[0], dtype=input.dtype if dtype is None else dtype)


def log_softmax(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """The logarithm of `softmax` (source: ``torch.masked.log_softmax``)."""
    filled = input if mask is None else _filled(input, mask, _least(input.dtype, "amax"))
    return ops.log_softmax(filled, _dims(dim, input.dim())[0], dtype=input.dtype if dtype is None else dtype)


def softmin(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """The `softmax` of ``-input`` (source: ``torch.masked.softmin``)."""
    filled = input if mask is None else _filled(input, mask, _greatest(input.dtype, "amin"))
    return ops.softmax(-filled, _dims(dim, input.dim())[0], dtype=input.dtype if dtype is None else dtype)


def normalize(input: Any, ord: float, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Any = None) -> Any:
    """The input divided by its norm along ``dim``, or by ``eps`` (source: ``torch.masked.normalize``)."""
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return ops.div(_filled(input, mask, 0), ops.maximum(length, ops.full((), eps, dtype=length.dtype)))
