"""Pooling to a given size, pooling at random windows, and the inverse of max pooling."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape._tape.explain import argument_error, noted
from livetape._tape.tensor import TensorBase, shape_of, wrap
from livetape.dtypes import FLOAT, SCALAR_TYPE, int64
from livetape.kernels import pooling as kernels
from livetape.kernels.sampling import uniform
from livetape.kernels.select import refuse
from livetape.ops.autocasting import single_in_autocast
from livetape.ops.dims import as_int, is_integer
from livetape.ops.pooling import AT_PLACES, PLACES_BACKWARD
from livetape.ops.refuse import must_be_tensors, must_have
from livetape.ops.table import row
from livetape.random import default_generator


# ---------------------------------------------------------------- the rows
def _avg_rows(dims: int) -> Any:
    name, node = f"adaptive_avg_pool{dims}d", f"AdaptiveAvgPool{dims}DBackward"
    backward = row(
        name + "_backward",
        lambda grad_output, size: kernels.adaptive_avg_backward(grad_output, size),
        tensors="grad_output",
        node=node + "Backward0",
        linear=True,
        batch="any",
        grad_output=lambda grad, grad_output_size: forward.apply((grad, tuple(grad_output_size[-dims:]))),
    )
    forward = row(
        name,
        lambda self, output_size: kernels.adaptive_avg(self, output_size),
        node=node + "0",
        linear=True,
        batch="any",
        self=lambda grad, self_size: backward.apply((grad, tuple(self_size[-dims:]))),
    )
    return forward


def _windowed_row(name: str, node: str, dims: int) -> Any:
    """A row of two results, maxima over given windows and their places."""
    return row(
        name,
        lambda self, places: kernels.windowed_max(self, places),
        node=node,
        outputs=2,
        batch="any",
        self=lambda grad, self_size, result1: PLACES_BACKWARD.apply((grad, result1, tuple(self_size[-dims:]))),
    )


_AVG = {dims: _avg_rows(dims) for dims in (2, 3)}
_MAX = {dims: _windowed_row(f"adaptive_max_pool{dims}d", f"AdaptiveMaxPool{dims}DBackward0", dims) for dims in (2, 3)}
_FRACTIONAL = {
    dims: _windowed_row(f"fractional_max_pool{dims}d", f"FractionalMaxPool{dims}DBackward0", dims) for dims in (2, 3)
}
_UNPOOL = {
    dims: row(
        f"max_unpool{dims}d",
        lambda self, indices, size: kernels.put_places(self, indices, size),
        tensors="self indices",
        node=f"MaxUnpool{dims}DBackward0",
        linear=True,
        batch="any",
        self=lambda grad, indices, size: AT_PLACES.apply((grad, indices, len(size))),
    )
    for dims in (2, 3)
}


# ---------------------------------------------------------------- adaptive pooling
def _with_defaults(output_size: Any, size: Any) -> Any:
    """None stands for the input's own size."""
    if isinstance(output_size, (tuple, list)):
        if len(size) <= len(output_size):
            raise noted(ValueError(f"Input dimension should be at least {len(output_size) + 1}"))
        own = size[len(size) - len(output_size) :]
        return tuple([o if wanted is None else wanted for wanted, o in zip(output_size, own)])
    return output_size


def _size_argument(name: str, value: Any, dims: int) -> tuple[int, ...]:
    if is_integer(value):
        return (as_int(value),) * dims
    if not isinstance(value, (tuple, list)):
        raise noted(
            TypeError(
                f"{name}(): argument 'output_size' (position 2) must be tuple of ints, not {type(value).__name__}"
            )
        )
    for at, number in enumerate(value):
        if not is_integer(number):
            raise noted(
                TypeError(
                    f"{name}(): argument 'output_size' (position 2) must be tuple of ints, but found element "
                    f"of type {type(number).__name__} at pos {at}"
                )
            )
    if len(value) != dims:
        raise noted(
            RuntimeError(
                f"{name}: output_size must be {dims}"
                if "avg" in name
                else f"{name}(): internal error: output_size.size() must be {dims}"
            )
        )
    return tuple([as_int(number) for number in value])


def _check_adaptive(name: str, input: Any, dims: int) -> None:
    if not isinstance(input, TensorBase):
        raise noted(argument_error(name, 0, input))
    size = input.array.shape
    if len(size) not in (dims + 1, dims + 2):
        colon = "" if "avg" in name else ":"
        raise noted(RuntimeError(f"{name}(): Expected {dims + 1}D or {dims + 2}D tensor, but got{colon} {list(size)}"))
    for axis in range(len(size) - dims, len(size)):
        if not size[axis]:
            raise noted(
                RuntimeError(
                    f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input "
                    f"has sizes {list(size)} with dimension {axis} being empty"
                )
            )


def _adaptive_avg(dims: int, input: Any, output_size: Any) -> Any:
    name = f"adaptive_avg_pool{dims}d"
    must_have("size", input)
    output_size = _with_defaults(output_size, shape_of(input))
    out = _size_argument(name, output_size, dims)
    if any(o < 0 for o in out):
        shown = f"{out[0]}, " + ",".join(map(str, out[1:]))
        raise noted(
            RuntimeError(f"{name}: elements of output_size must be greater than or equal to 0 but received {{{shown}}}")
        )
    _check_adaptive(name, input, dims)
    if input.dtype.category != FLOAT:
        raise noted(refuse(name, input.array.dtype))
    if out == (1,) * dims:
        return input.mean(tuple(range(-dims, 0)), keepdim=True)
    return _AVG[dims].apply((input, out))


def adaptive_avg_pool2d(input: Any, output_size: Any) -> Any:
    """(N, C, H, W) averaged to (N, C, *output_size) (source: ``torch.nn.functional.adaptive_avg_pool2d``)."""
    return _adaptive_avg(2, input, output_size)


@single_in_autocast
def adaptive_avg_pool3d(input: Any, output_size: Any) -> Any:
    """(N, C, D, H, W) averaged to (N, C, *output_size) (source: ``torch.nn.functional.adaptive_avg_pool3d``)."""
    return _adaptive_avg(3, input, output_size)


def _one_size(name: str, input: Any, output_size: Any) -> int:
    if not isinstance(input, TensorBase):
        raise noted(argument_error(name, 0, input))
    if not is_integer(output_size):
        output_size = tuple(output_size)
        if len(output_size) != 1:
            raise noted(
                RuntimeError(f"{name}() argument 'output_size' should contain one int (got {len(output_size)})")
            )
        output_size = output_size[0]
    ndim = input.array.ndim
    if ndim not in (2, 3):
        raise noted(
            RuntimeError(
                f"Expected 2 to 3 dimensions, but got {ndim}-dimensional tensor for argument #1 'self' "
                f"(while checking arguments for {name})"
            )
        )
    return as_int(output_size)


def adaptive_avg_pool1d(input: Any, output_size: Any) -> Any:
    """(N, C, L) averaged to (N, C, output_size) (source: ``torch.nn.functional.adaptive_avg_pool1d``)."""
    out = _one_size("adaptive_avg_pool1d", input, output_size)
    return _adaptive_avg(2, input.unsqueeze(-2), (1, out)).squeeze(-2)


def _adaptive_max(dims: int, input: Any, output_size: Any, return_indices: bool) -> Any:
    name = f"adaptive_max_pool{dims}d"
    must_have("size", input)
    output_size = _with_defaults(output_size, shape_of(input))
    out = _size_argument(name, output_size, dims)
    _check_adaptive(name, input, dims)
    size = input.array.shape
    if any(o < 0 for o in out):
        raise noted(
            RuntimeError(
                f"Trying to create tensor with negative dimension {next(o for o in out if o < 0)}: {[*size[:-dims], *out]}"
            )
        )
    if input.dtype.category != FLOAT:
        raise noted(refuse(name, input.array.dtype))
    places = [kernels.adaptive_places(n, o) for n, o in zip(size[-dims:], out)]
    found = _MAX[dims].apply((input, places))
    return found if return_indices else found[0]


def adaptive_max_pool2d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """The largest values of (N, C, H, W) by windows (source: ``torch.nn.functional.adaptive_max_pool2d``)."""
    return _adaptive_max(2, input, output_size, return_indices)


def adaptive_max_pool3d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """The largest values of (N, C, D, H, W) by windows (source: ``torch.nn.functional.adaptive_max_pool3d``)."""
    return _adaptive_max(3, input, output_size, return_indices)


def adaptive_max_pool1d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """The largest values of (N, C, L) by windows (source: ``torch.nn.functional.adaptive_max_pool1d``)."""
    out = _one_size("adaptive_max_pool1d", input, output_size)
    values, indices = _adaptive_max(2, input.unsqueeze(-2), (1, out), True)
    return (values.squeeze(-2), indices.squeeze(-2)) if return_indices else values.squeeze(-2)


def adaptive_max_pool1d_with_indices(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """`adaptive_max_pool1d` with the indices."""
    return adaptive_max_pool1d(input, output_size, True)


def adaptive_max_pool2d_with_indices(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """`adaptive_max_pool2d` with the indices."""
    return adaptive_max_pool2d(input, output_size, True)


def adaptive_max_pool3d_with_indices(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """`adaptive_max_pool3d` with the indices."""
    return adaptive_max_pool3d(input, output_size, True)


# ---------------------------------------------------------------- the inverse of max pooling
def _numbers(value: Any, dims: int) -> tuple[int, ...]:
    return (as_int(value),) * dims if is_integer(value) else tuple([as_int(v) for v in value])


def _unpooled_size(size: Any, kernel: Any, stride: Any, padding: Any, output_size: Any) -> tuple[int, ...]:
    dims = len(kernel)
    default = tuple([(n - 1) * s + k - 2 * p for n, s, k, p in zip(size[len(size) - dims :], stride, kernel, padding)])
    if output_size is None:
        return default
    wanted = tuple(output_size)
    if len(wanted) == dims + 2:
        wanted = wanted[2:]
    if len(wanted) != dims:
        raise noted(
            ValueError(
                f"output_size should be a sequence containing {dims} or {dims + 2} elements, but it has a "
                f"length of '{len(wanted)}'"
            )
        )
    for axis, (n, d, s) in enumerate(zip(wanted, default, stride)):
        if not d - s < n < d + s:
            raise noted(ValueError(f'invalid output_size "{wanted}" (dim {axis} must be between {d - s} and {d + s})'))
    return wanted


def _unpool(dims: int, input: Any, indices: Any, kernel_size: Any, stride: Any, padding: Any, output_size: Any) -> Any:
    kernel = _numbers(kernel_size, dims)
    step = kernel if stride is None else _numbers(stride, dims)
    must_have("size", input)
    out = _unpooled_size(tuple(shape_of(input)), kernel, step, _numbers(padding, dims), output_size)
    must_be_tensors(f"max_unpool{dims}d", input=input, indices=indices)
    if indices.dtype is not int64:
        raise noted(RuntimeError(f"elements in indices should be type int64 but got: {SCALAR_TYPE[indices.dtype]}"))
    size = input.array.shape
    if len(size) not in (dims + 1, dims + 2):
        raise noted(
            RuntimeError(
                f"Input to max_unpooling{dims}d should be a {dims + 1}d or {dims + 2}d Tensor, but got a "
                f"tensor with {len(size)} dimensions."
            )
        )
    if indices.array.shape != size:
        raise noted(
            RuntimeError(
                f"Expected shape of indices to be same as that of the input tensor ({list(size)}) but got "
                f"indices tensor with shape: {list(indices.array.shape)}"
            )
        )
    places, count = indices.array, int(np.prod(out))
    bad = (places < 0) | (places >= count)
    if bad.any():
        raise noted(
            RuntimeError(
                f"Found an invalid max index: {int(places[bad][0])} (output volumes are of size {'x'.join(map(str, out))})"
            )
        )
    return _UNPOOL[dims].apply((input, indices, out))


def max_unpool2d(
    input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Any:
    """Maxima put back where `max_pool2d` found them, 0 elsewhere (source: ``torch.nn.functional.max_unpool2d``)."""
    return _unpool(2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(
    input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Any:
    """Maxima put back where `max_pool3d` found them, 0 elsewhere (source: ``torch.nn.functional.max_unpool3d``)."""
    return _unpool(3, input, indices, kernel_size, stride, padding, output_size)


def max_unpool1d(
    input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Any:
    """Maxima put back where `max_pool1d` found them, 0 elsewhere (source: ``torch.nn.functional.max_unpool1d``)."""
    kernel = _numbers(kernel_size, 1)
    step = kernel if stride is None else _numbers(stride, 1)
    wanted = None if output_size is None else tuple(output_size)
    must_have("size", input)
    out = _unpooled_size(tuple(shape_of(input)), kernel, step, _numbers(padding, 1), wanted)
    found = (
        _unpool(2, input.unsqueeze(-2), indices.unsqueeze(-2), (1, *kernel), (1, *step), 0, (1, *out))
        if wanted is None
        else _UNPOOL[2].apply((input.unsqueeze(-2), indices.unsqueeze(-2), (1, *out)))
    )
    return found.squeeze(-2)


# ---------------------------------------------------------------- fractional max pooling
def _fractional(
    dims: int, input: Any, kernel_size: Any, output_size: Any, output_ratio: Any, return_indices: bool, samples: Any
) -> Any:
    name = f"fractional_max_pool{dims}d"
    if output_size is None and output_ratio is None:
        raise noted(ValueError(f"{name} requires specifying either an output_size or an output_ratio"))
    must_have("size" if output_size is None else "dim", input)
    size = input.array.shape
    if output_size is None:
        ratio = (output_ratio,) * dims if not isinstance(output_ratio, (tuple, list)) else tuple(output_ratio)
        out = tuple([int(n * r) for n, r in zip(size[-dims:], ratio)])
    else:
        out = _numbers(output_size, dims)
    if len(size) not in (dims + 1, dims + 2):
        if len(size) > dims:
            where = f"{name}()" if dims == 2 else f"{name}_out()"
            raise noted(RuntimeError(f"{where}: Expected {dims + 1}D or {dims + 2}D tensor, but got: {list(size)}"))
        raise noted(
            IndexError(
                f"Dimension out of range (expected to be in range of [{-len(size)}, {len(size) - 1}], but got {-dims - 1})"
            )
        )
    kernel = _numbers(kernel_size, dims)
    batch = size[0] if len(size) == dims + 2 else 1
    if samples is None:
        kind = input.dtype
        samples = wrap(uniform(default_generator.bits, (batch, size[-dims - 1], dims), kind.np), kind, None)
    words = ("time", "height", "width")[3 - dims :]
    for word, n, k, o in zip(words, size[-dims:], kernel, out):
        if o + k - 1 > n:
            raise noted(RuntimeError(f"{name}(): pool {word} {k} too large relative to input {word} {n}"))
    places = []
    for at in range(dims):
        # torch's samples are for the last dimension first, in three dimensions for the first one first
        column = samples.array[..., at if dims == 3 else dims - 1 - at]
        starts = kernels.fractional_starts(column, size[len(size) - dims + at], out[at], kernel[at])
        table = starts[..., None] + np.arange(kernel[at])
        places.append(table if len(size) == dims + 2 else table[0])
    found = _FRACTIONAL[dims].apply((input, places))
    return found if return_indices else found[0]


def fractional_max_pool2d(
    input: Any,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Any = None,
) -> Any:
    """The largest values of windows at random places (source: ``torch.nn.functional.fractional_max_pool2d``)."""
    return _fractional(2, input, kernel_size, output_size, output_ratio, return_indices, _random_samples)


def fractional_max_pool3d(
    input: Any,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Any = None,
) -> Any:
    """The largest values of windows at random places (source: ``torch.nn.functional.fractional_max_pool3d``)."""
    return _fractional(3, input, kernel_size, output_size, output_ratio, return_indices, _random_samples)


def fractional_max_pool2d_with_indices(*args: Any, **kwargs: Any) -> Any:
    """`fractional_max_pool2d` with the indices."""
    return fractional_max_pool2d(*args, **{**kwargs, "return_indices": True})


def fractional_max_pool3d_with_indices(*args: Any, **kwargs: Any) -> Any:
    """`fractional_max_pool3d` with the indices."""
    return fractional_max_pool3d(*args, **{**kwargs, "return_indices": True})


FUNCTIONS = ["adaptive_avg_pool1d", "adaptive_max_pool1d"]
METHODS: dict[str, Any] = {}
FUNCTIONAL = {
    "adaptive_avg_pool1d": adaptive_avg_pool1d,
    "adaptive_avg_pool2d": adaptive_avg_pool2d,
    "adaptive_avg_pool3d": adaptive_avg_pool3d,
    "adaptive_max_pool1d": adaptive_max_pool1d,
    "adaptive_max_pool2d": adaptive_max_pool2d,
    "adaptive_max_pool3d": adaptive_max_pool3d,
    "adaptive_max_pool1d_with_indices": adaptive_max_pool1d_with_indices,
    "adaptive_max_pool2d_with_indices": adaptive_max_pool2d_with_indices,
    "adaptive_max_pool3d_with_indices": adaptive_max_pool3d_with_indices,
    "max_unpool1d": max_unpool1d,
    "max_unpool2d": max_unpool2d,
    "max_unpool3d": max_unpool3d,
    "fractional_max_pool2d": fractional_max_pool2d,
    "fractional_max_pool3d": fractional_max_pool3d,
    "fractional_max_pool2d_with_indices": fractional_max_pool2d_with_indices,
    "fractional_max_pool3d_with_indices": fractional_max_pool3d_with_indices,
}
