"""What floating point numbers are made of: mantissa and exponent, and hashes of their bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape import return_types
from livetape._tape.explain import noted
from livetape._tape.tensor import shape_of
from livetape.dtypes import COMPLEX, FLOAT, SCALAR_TYPE, int32, uint16, uint32, uint64
from livetape.kernels.reductions import wide
from livetape.ops.dims import wrap_dims
from livetape.ops.outputs import c_name
from livetape.ops.refuse import must_be_tensors, unsupported
from livetape.ops.table import into, row


# ---------------------------------------------------------------- mantissa and exponent
def _frexp(self: Any) -> tuple[Any, Any]:
    mantissa, exponent = np.frexp(wide(self))
    return np.asarray(mantissa, self.dtype), np.asarray(exponent, np.int32)


FREXP = row(
    "frexp",
    _frexp,
    outputs=2,
    batch="any",
    self=lambda grad, result1: grad / result1.exp2(),
)


def frexp(input: Any, *, out: Any = None) -> Any:
    """The mantissa, from 0.5 to 1, and the power of two (int32) of each element (source: ``torch.frexp``).

    >>> import livetape as torch
    >>> mantissa, exponent = torch.frexp(torch.tensor([1., -3.]))
    >>> mantissa, exponent
    (tensor([ 0.5000, -0.7500]), tensor([1, 2], dtype=torch.int32))
    """
    must_be_tensors("frexp", input=input)
    if input.dtype.category != FLOAT:
        raise noted(RuntimeError("torch.frexp() only supports floating-point dtypes"))
    if out is not None:
        mantissa, exponent = out
        if mantissa.dtype is not input.dtype:
            kinds = f"{c_name(input.dtype)} but got {c_name(mantissa.dtype)}"
            raise noted(RuntimeError(f"torch.frexp() expects mantissa to have dtype {kinds}"))
        if exponent.dtype is not int32:
            kind = c_name(exponent.dtype)
            raise noted(RuntimeError(f"torch.frexp() expects exponent to have int dtype but got {kind}"))
        return into(out, frexp, input)
    return return_types.frexp(FREXP.apply((input,)))


# ---------------------------------------------------------------- hashes
def _xor(self: Any, dims: Any, keepdim: bool) -> Any:
    """The exclusive or of the bits of all elements, as doubles or 64-bit integers."""
    if self.dtype.kind in "biu":
        bits = self.astype(np.int64).view(np.uint64)
    else:
        bits = wide(self).astype(np.float64).view(np.uint64)
    reduce: Any = np.bitwise_xor.reduce
    return np.asarray(reduce(bits, axis=dims or None, keepdims=keepdim))


HASH = row("hash_tensor", _xor)


def hash_tensor(input: Any, dim: Any = (), *, keepdim: bool = False, mode: int = 0, out: Any = None) -> Any:
    """The exclusive or of the elements' bits, over ``dim`` or all dimensions, as uint64 (source: ``torch.hash_tensor``).

    Bits are those of the elements as float64 or int64.
    """
    if mode != 0:
        raise noted(RuntimeError(f"Unknown hash_tensor mode: {mode}"))
    kind = input.dtype
    if out is not None:
        if out.dtype is not uint64:
            raise noted(RuntimeError(f"Expected result to be of dtype uint64, but got {SCALAR_TYPE[out.dtype]}"))
        return into(out, hash_tensor, input, dim, keepdim=keepdim)
    dims = wrap_dims(dim, input.array.ndim, "hash_tensor") if input.array.ndim else ()
    size = shape_of(input)
    if not input.array.size:
        if not dims:
            raise noted(
                RuntimeError(
                    "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify the reduction "
                    "dim with the 'dim' argument."
                )
            )
        for d in dims:
            if size and size[d] == 0:
                raise noted(IndexError(f"hash_tensor: Expected reduction dim {d} to have non-zero size."))
    if kind.category == COMPLEX or kind in (uint16, uint32, uint64):
        raise noted(unsupported("xor_sum", input.array))
    return HASH.apply((input, dims, keepdim))


FUNCTIONS = ["frexp", "hash_tensor"]
METHODS = {"frexp": frexp, "hash_tensor": hash_tensor}
