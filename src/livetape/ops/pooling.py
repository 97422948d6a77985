"""Pooling over windows: maxima, averages and power means, in one to three dimensions."""

from __future__ import annotations

from typing import Any

from livetape._tape.explain import noted
from livetape.dtypes import FLOAT, boolean
from livetape.kernels import pooling as kernels
from livetape.kernels.select import refuse
from livetape.ops.activation import RELU
from livetape.ops.basics import detach
from livetape.ops.pool_arguments import expect_2_to_3, need_tensor, one_int, per_dim, window_sizes
from livetape.ops.table import into, row
from livetape.thread_modes import casting

# ---------------------------------------------------------------- the rows
PLACES_BACKWARD = row(
    "max_pool_indices_backward",
    lambda grad_output, indices, size: kernels.scatter_places(grad_output, indices, size),
    tensors="grad_output indices",
    node="MaxPoolWithIndicesBackwardBackward0",
    linear=True,
    batch="any",
    grad_output=lambda grad, indices, size: AT_PLACES.apply((grad, indices, len(size))),
)
AT_PLACES = row(
    "max_pool_places",
    lambda self, indices, dims: kernels.gather_places(self, indices, dims),
    tensors="self indices",
    node="GatherBackward0",
    linear=True,
    batch="any",
    self=lambda grad, self_size, indices, dims: PLACES_BACKWARD.apply((grad, indices, tuple(self_size[-dims:]))),
)


def _second_max(grad: Any, self: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, out: Any) -> Any:
    """The incoming gradient's own gradient: the elements where the maxima are."""
    indices = _MAX[len(kernel)][1].apply((detach(self), kernel, stride, padding, dilation, out))[1]
    return AT_PLACES.apply((grad, indices, len(kernel)))


def _max_rows(dims: int) -> tuple[Any, Any]:
    """The rows of max pooling in 2 or 3 dimensions: without and with the indices as a second result."""
    name = f"max_pool{dims}d_with_indices"
    node = f"MaxPool{dims}DWithIndicesBackward"
    backward = row(
        name + "_backward",
        lambda grad_output, self, result_, kernel_size, stride, padding, dilation, out: kernels.max_pool_backward(
            grad_output, self, result_, kernel_size, stride, padding, dilation, out
        ),
        tensors="grad_output self result_",
        node=node + "Backward0",
        batch="any",
        grad_output=lambda grad, self, kernel_size, stride, padding, dilation, out: _second_max(
            grad, self, kernel_size, stride, padding, dilation, out
        ),
        self=lambda grad, self_size: grad.new_zeros(self_size),
    )
    values = row(
        name,
        lambda self, kernel_size, stride, padding, dilation, out: kernels.max_pool(
            self, kernel_size, stride, padding, dilation, out
        ),
        node=node + "0",
        key=name + ".values",
        batch="any",
        self=lambda grad, self, result, kernel_size, stride, padding, dilation, out: backward.apply(
            (
                grad,
                self,
                values.apply((detach(self), kernel_size, stride, padding, dilation, out)) if result is None else result,
                kernel_size,
                stride,
                padding,
                dilation,
                out,
            )
        ),
    )
    values.renews = True  # torch keeps the places instead, so that the maxima may be changed in place

    def both(self: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, out: Any) -> Any:
        indices = kernels.max_pool_indices(self, kernel_size, stride, padding, dilation, out)
        return kernels.gather_places(self, indices, dims), indices

    indexed = row(
        name,
        both,
        node=node + "0",
        outputs=2,
        batch="any",
        self=lambda grad, self_size, result1: PLACES_BACKWARD.apply((grad, result1, tuple(self_size[-dims:]))),
    )
    return values, indexed


_MAX = {dims: _max_rows(dims) for dims in (2, 3)}


def _avg_rows(dims: int) -> Any:
    name = f"avg_pool{dims}d"
    node = f"AvgPool{dims}DBackward"
    backward = row(
        name + "_backward",
        lambda grad_output, size, kernel_size, stride, padding, out, count_include_pad, divisor_override: (
            kernels.avg_pool_backward(
                grad_output, size, kernel_size, stride, padding, out, count_include_pad, divisor_override
            )
        ),
        tensors="grad_output",
        node=node + "Backward0",
        linear=True,
        batch="any",
        grad_output=lambda grad, kernel_size, stride, padding, out, count_include_pad, divisor_override: forward.apply(
            (grad, kernel_size, stride, padding, out, count_include_pad, divisor_override)
        ),
    )
    forward = row(
        name,
        lambda self, kernel_size, stride, padding, out, count_include_pad, divisor_override: kernels.avg_pool(
            self, kernel_size, stride, padding, out, count_include_pad, divisor_override
        ),
        node=node + "0",
        linear=True,
        batch="any",
        self=lambda grad, self_size, kernel_size, stride, padding, out, count_include_pad, divisor_override: (
            backward.apply(
                (grad, tuple(self_size[-dims:]), kernel_size, stride, padding, out, count_include_pad, divisor_override)
            )
        ),
    )
    return forward


_AVG = {dims: _avg_rows(dims) for dims in (2, 3)}


# ---------------------------------------------------------------- max pooling
def _max_pool(
    dims: int,
    input: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    return_indices: bool,
) -> Any:
    name = f"max_pool{dims}d"
    kernel = per_dim(name, "kernel_size", kernel_size, dims)
    if stride is None or (isinstance(stride, (tuple, list)) and not stride):
        step = kernel
    else:
        step = per_dim(name, "stride", stride, dims, "must either be omitted,")
    around = per_dim(name, "padding", padding, dims)
    spread = per_dim(name, "dilation", dilation, dims, "must be either")
    out = window_sizes(name, need_tensor(name, input), dims, kernel, step, around, spread, ceil_mode)
    if input.dtype is boolean or input.dtype.is_complex:
        raise noted(refuse(name, input.array.dtype))
    values, indexed = _MAX[dims]
    return (indexed if return_indices else values).apply((input, kernel, step, around, spread, out))


def max_pool2d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest value of each window of (N, C, H, W) or (C, H, W) (source: ``torch.nn.functional.max_pool2d``).

    With ``return_indices`` also where it was, as a number in the flattened H W.

    >>> import livetape as torch
    >>> torch.nn.functional.max_pool2d(torch.tensor([[[1., 2.], [3., 4.]]]), 2)
    tensor([[[4.]]])
    """
    return _max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool3d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest value of each window of (N, C, D, H, W) (source: ``torch.nn.functional.max_pool3d``)."""
    if casting.threads and not return_indices and (autocast := casting.current()) is not None:
        return autocast.single(max_pool3d, input, kernel_size, stride, padding, dilation, ceil_mode)
    return _max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool1d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest value of each window of (N, C, L) or (C, L) (source: ``torch.nn.functional.max_pool1d``)."""
    size = need_tensor("max_pool1d_with_indices" if return_indices else "max_pool1d", input).array.shape
    if return_indices:
        return _indexed_max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode)
    if len(size) not in (2, 3) or not all(size[-2:]):
        raise noted(
            RuntimeError(
                "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for "
                f"input, but got:{list(size)}"
            )
        )
    kernel = one_int("max_pool1d", "kernel_size", kernel_size)
    step = kernel if stride is None or stride in ((), []) else one_int("max_pool1d", "stride", stride)
    around, spread = one_int("max_pool1d", "padding", padding), one_int("max_pool1d", "dilation", dilation)
    for what, number in (("kernel_size", kernel), ("stride", step)):
        if number <= 0:
            raise noted(RuntimeError(f"max_pool1d() {what} must be greater than zero, but got {number}"))
    if around < 0:
        raise noted(RuntimeError(f"max_pool1d() padding must be non-negative, but got {around}"))
    if around > kernel // 2:
        raise noted(
            RuntimeError(
                "max_pool1d() padding should be at most half of kernel size, but got "
                f"padding={around} and kernel_size={kernel}"
            )
        )
    if spread <= 0:
        raise noted(RuntimeError(f"max_pool1d() dilation must be greater than zero, but got {spread}"))
    out = kernels.pooled_size(size[-1], kernel, step, around, spread, ceil_mode)
    if out <= 0:
        raise noted(RuntimeError(f"max_pool1d() Invalid computed output size: {out}"))
    if input.dtype.category != FLOAT:
        raise noted(refuse("max_pool1d_impl", input.array.dtype))
    found = _MAX[2][0].apply((input.unsqueeze(-2), (1, kernel), (1, step), (0, around), (1, spread), (1, out)))
    return found.squeeze(-2)


def _indexed_max_pool1d(input: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool) -> Any:
    """As torch does where indices are asked for: two-dimensional pooling, with its words."""
    expect_2_to_3("max_pool1d", input)
    kernel = one_int("max_pool1d", "kernel_size", kernel_size)
    step = kernel if stride is None or stride in ((), []) else one_int("max_pool1d", "stride", stride)
    found = _max_pool(
        2,
        input.unsqueeze(-2),
        (1, kernel),
        (1, step),
        (0, one_int("max_pool1d", "padding", padding)),
        (1, one_int("max_pool1d", "dilation", dilation)),
        ceil_mode,
        True,
    )
    return found[0].squeeze(-2), found[1].squeeze(-2)


def _with_indices(pool: Any, name: str) -> Any:
    def function(
        input: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        return pool(input, kernel_size, stride, padding, dilation, ceil_mode, True)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`{pool.__name__}` with the indices (source: ``torch.nn.functional.{name}``)."
    return function


max_pool1d_with_indices = _with_indices(max_pool1d, "max_pool1d_with_indices")
max_pool2d_with_indices = _with_indices(max_pool2d, "max_pool2d_with_indices")
max_pool3d_with_indices = _with_indices(max_pool3d, "max_pool3d_with_indices")


# ---------------------------------------------------------------- average pooling
def _avg_pool(
    dims: int,
    input: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Any:
    name = f"avg_pool{dims}d"
    kernel = per_dim(name, "kernel_size", kernel_size, dims)
    if stride is None or (isinstance(stride, (tuple, list)) and not stride):
        step = kernel
    else:
        step = per_dim(name, "stride", stride, dims, "must either be omitted,")
    around = per_dim(name, "padding", padding, dims)
    if need_tensor(name, input).array.ndim <= dims:
        if dims == 2:
            raise noted(
                IndexError(
                    f"Dimension out of range (expected to be in range of [{-input.array.ndim}, "
                    f"{input.array.ndim - 1}], but got -3)"
                )
            )
        raise noted(RuntimeError("non-empty 4D or 5D (batch mode) tensor expected for input"))
    if dims == 2 and input.array.ndim > 4:
        raise noted(
            RuntimeError(
                "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but "
                f"got:{list(input.array.shape)}"
            )
        )
    if divisor_override == 0:
        raise noted(RuntimeError("divisor must be not zero"))
    out = window_sizes(name, input, dims, kernel, step, around, (1,) * dims, ceil_mode)
    if input.dtype is boolean or input.dtype.is_complex:
        raise noted(refuse(f"{name}_out_frame" if dims == 3 else name, input.array.dtype))
    return _AVG[dims].apply((input, kernel, step, around, out, bool(count_include_pad), divisor_override))


def avg_pool2d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    out: Any = None,
) -> Any:
    """The mean of each window of (N, C, H, W) or (C, H, W) (source: ``torch.nn.functional.avg_pool2d``)."""
    if out is not None:
        return into(
            out, avg_pool2d, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
        )
    return _avg_pool(2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool3d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    out: Any = None,
) -> Any:
    """The mean of each window of (N, C, D, H, W) (source: ``torch.nn.functional.avg_pool3d``)."""
    if out is not None:
        return into(
            out, avg_pool3d, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
        )
    return _avg_pool(3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool1d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:
    """The mean of each window of (N, C, L) or (C, L) (source: ``torch.nn.functional.avg_pool1d``)."""
    expect_2_to_3("avg_pool1d", input)
    kernel = one_int("avg_pool1d", "kernel_size", kernel_size)
    step = kernel if stride is None or stride in ((), []) else one_int("avg_pool1d", "stride", stride)
    around = one_int("avg_pool1d", "padding", padding)
    found = _avg_pool(2, input.unsqueeze(-2), (1, kernel), (1, step), (0, around), ceil_mode, count_include_pad, None)
    return found.squeeze(-2)


# ---------------------------------------------------------------- power means
def _lp_pool(pool: Any, kernel: Any, input: Any, norm_type: float, stride: Any, ceil_mode: bool) -> Any:
    count = 1
    for k in kernel:
        count *= k
    mean = pool(input.pow(norm_type), kernel if len(kernel) > 1 else kernel[0], stride, 0, ceil_mode)
    return (mean.sign() * RELU.call1(mean.abs())).mul(count).pow(1.0 / norm_type)


def lp_pool1d(input: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Any:
    """The p-norm of each window (source: ``torch.nn.functional.lp_pool1d``)."""
    return _lp_pool(
        avg_pool1d, (one_int("lp_pool1d", "kernel_size", kernel_size),), input, norm_type, stride, ceil_mode
    )


def lp_pool2d(input: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Any:
    """The p-norm of each window (source: ``torch.nn.functional.lp_pool2d``)."""
    kernel = per_dim("lp_pool2d", "kernel_size", kernel_size, 2)
    return _lp_pool(avg_pool2d, kernel, input, norm_type, stride, ceil_mode)


def lp_pool3d(input: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Any:
    """The p-norm of each window (source: ``torch.nn.functional.lp_pool3d``)."""
    kernel = per_dim("lp_pool3d", "kernel_size", kernel_size, 3)
    return _lp_pool(avg_pool3d, kernel, input, norm_type, stride, ceil_mode)


FUNCTIONS = ["max_pool1d", "max_pool2d", "max_pool3d", "max_pool1d_with_indices", "avg_pool1d"]
METHODS: dict[str, Any] = {}
FUNCTIONAL = {
    "max_pool1d": max_pool1d,
    "max_pool2d": max_pool2d,
    "max_pool3d": max_pool3d,
    "max_pool1d_with_indices": max_pool1d_with_indices,
    "max_pool2d_with_indices": max_pool2d_with_indices,
    "max_pool3d_with_indices": max_pool3d_with_indices,
    "avg_pool1d": avg_pool1d,
    "avg_pool2d": avg_pool2d,
    "avg_pool3d": avg_pool3d,
    "lp_pool1d": lp_pool1d,
    "lp_pool2d": lp_pool2d,
    "lp_pool3d": lp_pool3d,
}
