"""Linear and bilinear layers as functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape._tape.explain import argument_error, noted, refused, type_name
from livetape._tape.tensor import TensorBase, shape_of
from livetape.dtypes import C_NAME, SCALAR_TYPE
from livetape.ops import shape as shapes
from livetape.ops.added_products import ADDMM, check_expands
from livetape.ops.autocasting import brought_together, plain_in_autocast
from livetape.ops.dims import wrap_dim
from livetape.ops.products import MM, MM_HALF, check_mm, matmul
from livetape.ops.table import into
from livetape.thread_modes import casting


def _check_bias(bias: Any, rows: int, weight: Any) -> None:
    """Raise torch's error for a bias of one dimension that does not fit the outputs."""
    size, count = shape_of(bias), shape_of(weight)[0]
    if len(size) == 1 and size[0] != count and size[0] != 1:
        raise noted(
            refused(
                f"The expanded size of the tensor ({count}) must match the existing size ({size[0]}) at non-singleton "
                f"dimension 1.  Target sizes: {[rows, count]}.  Tensor sizes: {list(size)}",
                "linear",
                bias,
                weight,
            )
        )


def _dtypes_error(input: Any, weight: Any, bias: Any) -> str:
    """Torch's words for dtypes that differ: those of the product that the call becomes."""
    if bias is None:
        return f"expected m1 and m2 to have the same dtype, but got: {C_NAME[input.dtype]} != {C_NAME[weight.dtype]}"
    first, name = (bias, "self") if bias.dtype is not weight.dtype else (input, "mat1")
    return (
        f"{name} and mat2 must have the same dtype, but got {SCALAR_TYPE[first.dtype]} and {SCALAR_TYPE[weight.dtype]}"
    )


def linear(input: Any, weight: Any, bias: Any = None, *, out: Any = None) -> Any:
    """``input @ weight.T + bias`` for input [..., in] and weight [out, in] (source: ``torch.nn.functional.linear``)."""
    if out is not None:
        return into(out, linear, input, weight, bias)
    if not isinstance(input, TensorBase):
        raise noted(argument_error("linear", 0, input))
    if casting.threads and (autocast := casting.current()) is not None:
        return autocast.lower(linear, input, weight, bias)
    if input.dtype is not weight.dtype:
        if not isinstance(weight, TensorBase):
            raise noted(TypeError(f"linear(): argument 'weight' (position 2) must be Tensor, not {type_name(weight)}"))
        raise noted(refused(_dtypes_error(input, weight, bias), "linear", input, weight))
    x, w = input.array, weight.array
    ndim = x.ndim
    if w.ndim == 1:
        found = matmul(input, weight)
        return found if bias is None else found + bias
    turned = shapes.t(weight)
    if bias is not None and (bias.dtype is not input.dtype or bias.array.shape != w.shape[:1]):
        return _linear_of_other_bias(input, turned, bias)
    if ndim == 2:
        if x.shape[1] != w.shape[1]:
            check_mm(input, turned, "linear")
        if bias is None:
            return (MM if input.dtype.itemsize != 2 else MM_HALF).apply((input, turned))
        try:
            return ADDMM.apply((bias, input, turned, 1, 1, True))
        except ValueError:
            _check_bias(bias, shape_of(input)[0], weight)
            raise
    if bias is None:
        return matmul(input, turned)
    size = shape_of(input)
    if ndim == 0:
        raise noted(RuntimeError("both arguments to linear need to be at least 1D, but they are 0D and 2D"))
    rows = int(np.prod(size[:-1], dtype=np.int64))
    folded = (
        shapes.view(input, rows, size[-1]) if input.array.flags.c_contiguous else shapes.reshape(input, rows, size[-1])
    )
    check_mm(folded, turned, "linear")
    try:
        product = ADDMM.apply((bias, folded, turned, 1, 1, True))
    except ValueError:
        _check_bias(bias, rows, weight)
        raise
    return shapes.view(product, *size[:-1], shape_of(weight)[0])


def _linear_of_other_bias(input: Any, turned: Any, bias: Any) -> Any:
    """`linear` for a bias that is no vector of the right length: one that broadcasts, or torch's error."""
    if bias.dtype is not input.dtype:
        raise noted(
            refused(
                "self and mat2 must have the same dtype, but got "
                f"{SCALAR_TYPE[bias.dtype]} and {SCALAR_TYPE[turned.dtype]}",
                "linear",
                bias,
                turned,
            )
        )
    found = matmul(input, turned)
    size = shape_of(found)
    have, out = shape_of(bias), size[-1]
    if input.array.ndim == 2 or len(have) < 2 or have[-1] != out:
        check_expands(bias, (found.array.size // out if out else 0, out))
    if input.array.ndim == 2:
        return ADDMM.apply((bias, input, turned, 1, 1, True))
    total = found + bias
    if shape_of(total) != size:
        raise noted(
            RuntimeError(f"output with shape {list(size)} doesn't match the broadcast shape {list(shape_of(total))}")
        )
    return total


def _check_bilinear(input1: Any, input2: Any, weight: Any, bias: Any) -> None:
    """Raise torch's errors for what does not fit together."""
    named = {"input1": input1, "input2": input2, "weight": weight} | ({} if bias is None else {"bias": bias})
    if len({value.dtype for value in named.values()}) > 1 and not brought_together(*named.values()):
        kinds = ", ".join(f"{name}: {C_NAME[value.dtype]}" for name, value in named.items())
        raise noted(RuntimeError(f"All tensors must have the same dtype, got {kinds}"))
    (*first, n), (*second, m) = shape_of(input1) or (1,), shape_of(input2) or (1,)
    if input1.array.ndim != input2.array.ndim:
        words = f"input dimensions do not match: got {input1.array.ndim} and {input2.array.ndim}"
        raise noted(RuntimeError(f"bilinear(): {words}"))
    for i, (p, q) in enumerate(zip(first, second)):
        if p != q:
            raise noted(RuntimeError(f"bilinear(): input batch dimensions do not match at dim {i}: got {p} and {q}"))
    out, *wanted = shape_of(weight)[0], shape_of(weight)[1], shape_of(weight)[wrap_dim(2, weight.array.ndim)]
    for i, (have, want) in enumerate(zip((n, m), wanted)):
        if have != want:
            words = f"input{i + 1} size does not match weight size: got {have} but expected {want}"
            raise noted(RuntimeError(f"bilinear(): {words}"))
    if bias is not None and shape_of(bias)[0] != out:
        words = f"bias size does not match weight size: got {shape_of(bias)[0]} but expected {out}"
        raise noted(RuntimeError(f"bilinear(): {words}"))


@plain_in_autocast
def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    """``x1 @ weight[k] @ x2 + bias[k]`` for each k (source: ``torch.nn.functional.bilinear``)."""
    _check_bilinear(input1, input2, weight, bias)
    left = matmul(shapes.unsqueeze(input1, -2).unsqueeze(-2), weight)  # [..., out, 1, in2]
    product = matmul(left, shapes.unsqueeze(input2, -2).unsqueeze(-1)).squeeze(-1).squeeze(-1)
    return product if bias is None else product + bias


FUNCTIONS = ["bilinear"]
FUNCTIONAL = ["linear", "bilinear"]
METHODS: dict[str, Any] = {}
