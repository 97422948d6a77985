"""Discrete Fourier transforms, for ``torch.fft``."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.tensor import TensorBase, shape_of
from livetape.dtypes import COMPLEX, FLOAT, SCALAR_TYPE, complex64, complex128, default, float32, of_numpy
from livetape.kernels import fft as kernels
from livetape.ops.autocasting import single_in_autocast
from livetape.ops.basics import cast, conj
from livetape.ops.complexes import conj_physical, real
from livetape.ops.dims import as_int, is_integer, wrap_dim
from livetape.ops.matrices import constant, need
from livetape.ops.options import finish, kind_or_out
from livetape.ops.padding import constant_pad_nd
from livetape.ops.table import into, row

_NORMS = {None: 0, "backward": 0, "ortho": 1, "forward": 2}


# ---------------------------------------------------------------- the rows
def _weighted(grad: Any, dim: Any, full: int, factor: float) -> Any:
    """A half spectrum with what stands for two points multiplied."""
    kind = of_numpy(grad.array.real.dtype)
    return grad * constant(kernels.middle(shape_of(grad), dim[-1], full, factor, kind.np), kind)


def _r2c_backward(grad: Any, self_size: Any, dim: Any, normalization: int, onesided: bool) -> Any:
    if not onesided:
        return real(C2C.apply((grad, dim, normalization, False)))
    full = self_size[dim[-1]]
    return C2R.apply((_weighted(grad, dim, full, 0.5), dim, normalization, full))


C2C = row(
    "fft_c2c",
    lambda self, dim, normalization, forward: kernels.c2c(self, dim, normalization, forward),
    node="FftC2CBackward0",
    analytic=False,
    linear=True,
    batch="dim",
    self=lambda grad, dim, normalization, forward: C2C.apply((grad, dim, normalization, not forward)),
    dense=True,
)
R2C = row(
    "fft_r2c",
    lambda self, dim, normalization, onesided: kernels.r2c(self, dim, normalization, onesided),
    node="FftR2CBackward0",
    analytic=False,
    linear=True,
    batch="dim",
    self=_r2c_backward,
    dense=True,
)
C2R = row(
    "fft_c2r",
    lambda self, dim, normalization, last_dim_size: kernels.c2r(self, dim, normalization, last_dim_size),
    node="FftC2RBackward0",
    analytic=False,
    linear=True,
    batch="dim",
    self=lambda grad, dim, normalization, last_dim_size: _weighted(
        R2C.apply((grad, dim, normalization, True)), dim, last_dim_size, 2.0
    ),
    dense=True,
)


# ---------------------------------------------------------------- arguments
def _norm(norm: Any, forward: bool) -> int:
    """The scaling of a transform by torch's name."""
    if norm not in _NORMS:
        raise noted(RuntimeError(f'Invalid normalization mode: "{norm}"'))
    number = _NORMS[norm]
    return number if forward else 2 - number


def _promoted(x: Any, want_complex: bool) -> Any:
    """The input as a floating point or complex tensor."""
    kind = x.dtype
    if kind.category < FLOAT:
        kind = default.dtype
    if kind.name not in ("float32", "float64", "complex64", "complex128"):
        raise noted(RuntimeError(f"Unsupported dtype {SCALAR_TYPE[kind]}"))
    if want_complex and kind.category == FLOAT:
        kind = complex64 if kind is float32 else complex128
    return x if x.dtype is kind else cast(x, kind)


def _resized(x: Any, dims: Any, sizes: Any) -> Any:
    """The input cut off or filled up with zeros along ``dims``."""
    pads = [0] * (2 * x.array.ndim)
    for dim, size in zip(dims, sizes):
        have = shape_of(x)[dim]
        if size < have:
            x = x.narrow(dim, 0, size)
        elif size > have:
            pads[2 * (x.array.ndim - 1 - dim) + 1] = size - have
    if any(pads):
        while not (pads[-1] or pads[-2]):
            del pads[-2:]
        x = constant_pad_nd(x, pads)
    return x


def _points(size: int) -> None:
    if size < 1:
        raise noted(RuntimeError(f"Invalid number of data points ({size}) specified"))


def _length(name: str, n: Any) -> int | None:
    if n is not None and not is_integer(n):
        raise noted(TypeError(f"{name}(): argument 'n' must be int, not {type(n).__name__}"))
    return None if n is None else as_int(n)


def _axis(name: str, x: Any, dim: Any) -> int:
    need(name, "input", x)
    if x.array.ndim == 0:
        raise noted(IndexError(f"Dimension specified as {dim} but tensor has no dimensions"))
    return wrap_dim(dim, x.array.ndim, name, position=0)


def _axes(x: Any, s: Any, dim: Any) -> tuple[tuple[int, ...], list[int]]:
    """The dimensions of a transform of several, and its sizes there: -1 keeps the input's."""
    size = shape_of(x)
    ndim = len(size)
    given = None if dim is None else (as_int(dim),) if is_integer(dim) else tuple(as_int(d) for d in dim)
    wanted = None if s is None else (as_int(s),) if is_integer(s) else tuple(as_int(n) for n in s)
    if given is not None:
        if given and not ndim:
            raise noted(IndexError(f"Dimension specified as {given[0]} but tensor has no dimensions"))
        dims = tuple([wrap_dim(d, ndim) for d in given])
        if len(set(dims)) != len(dims):
            raise noted(RuntimeError("FFT dims must be unique"))
    if wanted is not None:
        if given is not None and len(given) != len(wanted):
            raise noted(RuntimeError("When given, dim and shape arguments must have the same length"))
        if len(wanted) > ndim:
            raise noted(
                RuntimeError(f"Got shape with {len(wanted)} values but input tensor only has {ndim} dimensions.")
            )
    if given is None:
        dims = tuple(range(0 if wanted is None else ndim - len(wanted), ndim))
    sizes = [size[d] for d in dims] if wanted is None else [size[d] if n == -1 else n for d, n in zip(dims, wanted)]
    return dims, sizes


# ---------------------------------------------------------------- one dimension
def _c2c(name: str, x: Any, n: Any, dim: Any, norm: Any, forward: bool) -> Any:
    axis, n = _axis(name, x, dim), _length(name, n)
    x = _promoted(x, False)
    scale = _norm(norm, forward)
    size = shape_of(x)[axis] if n is None else n
    _points(size)
    x = x if n is None else _resized(x, (axis,), (n,))
    if x.dtype.category == COMPLEX:
        return C2C.apply((x, (axis,), scale, forward))
    found = R2C.apply((x, (axis,), scale, False))
    return found if forward else conj(found)


@single_in_autocast
def fft(input: Any, n: Any = None, dim: Any = -1, norm: Any = None, *, out: Any = None) -> Any:
    """The discrete Fourier transform along ``dim``, of ``n`` points (source: ``torch.fft.fft``).

    norm: "backward" (no scaling), "ortho" (by the root of 1/n) or "forward" (by 1/n).

    >>> import livetape as torch
    >>> torch.fft.fft(torch.tensor([1., 2., 3., 4.]))
    tensor([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j])
    """
    if out is not None:
        return _into(out, fft, input, n, dim, norm)
    return _c2c("fft_fft", input, n, dim, norm, True)


@single_in_autocast
def ifft(input: Any, n: Any = None, dim: Any = -1, norm: Any = None, *, out: Any = None) -> Any:
    """The inverse of `fft` (source: ``torch.fft.ifft``)."""
    if out is not None:
        return _into(out, ifft, input, n, dim, norm)
    return _c2c("fft_ifft", input, n, dim, norm, False)


def _into(out: Any, function: Any, *args: Any) -> Any:
    name = function.__name__
    wants_real = name.removesuffix("2").removesuffix("n") in ("irfft", "hfft")
    if isinstance(out, TensorBase) and (out.dtype.category == COMPLEX) == wants_real:
        kind = "floating point" if wants_real else "complex"
        raise noted(RuntimeError(f"{name} expects a {kind} output tensor, but got {SCALAR_TYPE[out.dtype]}"))
    return into(out, function, *args)


def _r2c(name: str, x: Any, n: Any, dim: Any, norm: Any, forward: bool) -> Any:
    axis, n = _axis(name, x, dim), _length(name, n)
    if x.dtype.category == COMPLEX:
        raise noted(RuntimeError(f"{name[4:]} expects a real input tensor, but got {SCALAR_TYPE[x.dtype]}"))
    x = _promoted(x, False)
    scale = _norm(norm, forward)
    _points(shape_of(x)[axis] if n is None else n)
    found = R2C.apply((x if n is None else _resized(x, (axis,), (n,)), (axis,), scale, True))
    return found if forward else conj(found)


@single_in_autocast
def rfft(input: Any, n: Any = None, dim: Any = -1, norm: Any = None, *, out: Any = None) -> Any:
    """The half of `fft` for real input from which the other half follows: n // 2 + 1 numbers (source: ``torch.fft.rfft``).

    >>> import livetape as torch
    >>> torch.fft.rfft(torch.tensor([1., 2., 3., 4.]))
    tensor([10.+0.j, -2.+2.j, -2.+0.j])
    """
    if out is not None:
        return _into(out, rfft, input, n, dim, norm)
    return _r2c("fft_rfft", input, n, dim, norm, True)


@single_in_autocast
def ihfft(input: Any, n: Any = None, dim: Any = -1, norm: Any = None, *, out: Any = None) -> Any:
    """The inverse of `hfft` (source: ``torch.fft.ihfft``)."""
    if out is not None:
        return _into(out, ihfft, input, n, dim, norm)
    return _r2c("fft_ihfft", input, n, dim, norm, False)


def _c2r(name: str, x: Any, n: Any, dim: Any, norm: Any, forward: bool) -> Any:
    axis, n = _axis(name, x, dim), _length(name, n)
    x = _promoted(x, True)
    scale = _norm(norm, forward)
    size = 2 * (shape_of(x)[axis] - 1) if n is None else n
    _points(size)
    if n is not None:
        x = _resized(x, (axis,), (n // 2 + 1,))
    return C2R.apply((conj(x) if forward else x, (axis,), scale, size))


@single_in_autocast
def irfft(input: Any, n: Any = None, dim: Any = -1, norm: Any = None, *, out: Any = None) -> Any:
    """The inverse of `rfft`, of ``n`` points, by default an even number (source: ``torch.fft.irfft``)."""
    if out is not None:
        return _into(out, irfft, input, n, dim, norm)
    return _c2r("fft_irfft", input, n, dim, norm, False)


@single_in_autocast
def hfft(input: Any, n: Any = None, dim: Any = -1, norm: Any = None, *, out: Any = None) -> Any:
    """The transform of a signal whose half is given, the other half its mirrored conjugate: real numbers.

    Source: ``torch.fft.hfft``.
    """
    if out is not None:
        return _into(out, hfft, input, n, dim, norm)
    return _c2r("fft_hfft", input, n, dim, norm, True)


# ---------------------------------------------------------------- several dimensions
def _c2c_n(name: str, x: Any, s: Any, dim: Any, norm: Any, forward: bool) -> Any:
    need(name, "input", x)
    dims, sizes = _axes(x, s, dim)
    x = _promoted(x, True)
    for size in sizes:
        _points(size)
    return C2C.apply((_resized(x, dims, sizes), dims, _norm(norm, forward), forward))


@single_in_autocast
def fftn(input: Any, s: Any = None, dim: Any = None, norm: Any = None, *, out: Any = None) -> Any:
    """`fft` along several dimensions, by default all (source: ``torch.fft.fftn``)."""
    if out is not None:
        return _into(out, fftn, input, s, dim, norm)
    return _c2c_n("fft_fftn", input, s, dim, norm, True)


@single_in_autocast
def ifftn(input: Any, s: Any = None, dim: Any = None, norm: Any = None, *, out: Any = None) -> Any:
    """The inverse of `fftn` (source: ``torch.fft.ifftn``)."""
    if out is not None:
        return _into(out, ifftn, input, s, dim, norm)
    return _c2c_n("fft_ifftn", input, s, dim, norm, False)


def _need_axes(name: str, dims: Any) -> None:
    if not dims:
        raise noted(RuntimeError(f"{name[4:]} must transform at least one axis"))


@single_in_autocast
def rfftn(input: Any, s: Any = None, dim: Any = None, norm: Any = None, *, out: Any = None) -> Any:
    """`fftn` of real input, a half of the last dimension (source: ``torch.fft.rfftn``)."""
    if out is not None:
        return _into(out, rfftn, input, s, dim, norm)
    need("fft_rfftn", "input", input)
    if input.dtype.category == COMPLEX:
        raise noted(RuntimeError(f"rfftn expects a real-valued input tensor, but got {SCALAR_TYPE[input.dtype]}"))
    dims, sizes = _axes(input, s, dim)
    x = _promoted(input, False)
    _need_axes("fft_rfftn", dims)
    for size in sizes:
        _points(size)
    return R2C.apply((_resized(x, dims, sizes), dims, _norm(norm, True), True))


def _c2r_arguments(name: str, x: Any, s: Any, dim: Any) -> tuple[Any, tuple[int, ...], int]:
    """The input brought to size, the dimensions and the size of the last one in the result."""
    need(name, "input", x)
    dims, sizes = _axes(x, s, dim)
    _need_axes(name, dims)
    last = s if s is None else (s if is_integer(s) else s[-1])
    full = 2 * (sizes[-1] - 1) if last is None or last == -1 else sizes[-1]
    _points(full)
    for size in sizes[:-1]:
        _points(size)
    return _resized(_promoted(x, True), dims, [*sizes[:-1], full // 2 + 1]), dims, full


@single_in_autocast
def irfftn(input: Any, s: Any = None, dim: Any = None, norm: Any = None, *, out: Any = None) -> Any:
    """The inverse of `rfftn` (source: ``torch.fft.irfftn``)."""
    if out is not None:
        return _into(out, irfftn, input, s, dim, norm)
    x, dims, full = _c2r_arguments("fft_irfftn", input, s, dim)
    return C2R.apply((x, dims, _norm(norm, False), full))


def hfftn(input: Any, s: Any = None, dim: Any = None, norm: Any = None, *, out: Any = None) -> Any:
    """`hfft` along several dimensions, the last of which holds a half (source: ``torch.fft.hfftn``)."""
    if out is not None:
        return _into(out, hfftn, input, s, dim, norm)
    x, dims, full = _c2r_arguments("fft_hfftn", input, s, dim)
    scale = _norm(norm, True)
    if len(dims) > 1:
        x = C2C.apply((x, dims[:-1], scale, True))
    return C2R.apply((conj(x), dims[-1:], scale, full))


def ihfftn(input: Any, s: Any = None, dim: Any = None, norm: Any = None, *, out: Any = None) -> Any:
    """The inverse of `hfftn` (source: ``torch.fft.ihfftn``)."""
    if out is not None:
        return _into(out, ihfftn, input, s, dim, norm)
    need("fft_ihfftn", "input", input)
    if input.dtype.category == COMPLEX:
        raise noted(RuntimeError(f"Only supports floating-point dtypes, but found: {SCALAR_TYPE[input.dtype]}"))
    dims, sizes = _axes(input, s, dim)
    _need_axes("fft_ihfftn", dims)
    for size in sizes:
        _points(size)
    scale = _norm(norm, False)
    half = R2C.apply((_resized(_promoted(input, False), dims, sizes), dims[-1:], scale, True))
    if len(dims) == 1:
        return conj(half)
    return C2C.apply((conj_physical(half), dims[:-1], scale, False))


@single_in_autocast
def fft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: Any = None, *, out: Any = None) -> Any:
    """`fft` along two dimensions (source: ``torch.fft.fft2``)."""
    return fftn(input, s, dim, norm, out=out)


@single_in_autocast
def ifft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: Any = None, *, out: Any = None) -> Any:
    """The inverse of `fft2` (source: ``torch.fft.ifft2``)."""
    return ifftn(input, s, dim, norm, out=out)


@single_in_autocast
def rfft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: Any = None, *, out: Any = None) -> Any:
    """`rfftn` along two dimensions (source: ``torch.fft.rfft2``)."""
    return rfftn(input, s, dim, norm, out=out)


@single_in_autocast
def irfft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: Any = None, *, out: Any = None) -> Any:
    """The inverse of `rfft2` (source: ``torch.fft.irfft2``)."""
    return irfftn(input, s, dim, norm, out=out)


def hfft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: Any = None, *, out: Any = None) -> Any:
    """`hfftn` along two dimensions (source: ``torch.fft.hfft2``)."""
    return hfftn(input, s, dim, norm, out=out)


def ihfft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: Any = None, *, out: Any = None) -> Any:
    """The inverse of `hfft2` (source: ``torch.fft.ihfft2``)."""
    return ihfftn(input, s, dim, norm, out=out)


# ---------------------------------------------------------------- frequencies
def _frequencies(
    name: str,
    whole: Any,
    n: int,
    d: float,
    dtype: Any,
    device: Any,
    requires_grad: Any,
    layout: Any,
    pin_memory: Any,
    out: Any,
) -> Any:
    if n < 0:
        raise noted(RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]"))
    kind = kind_or_out(name, dtype, out)
    if kind.category < FLOAT:
        raise noted(RuntimeError(f"{name[4:]} requires a floating point or complex dtype"))
    made = whole(n).astype(kind.np) * np.asarray(1 / (n * d) if n else 0, kind.np)
    return finish(name, made, kind, device, requires_grad, layout, pin_memory, out)


def fftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: Any = False,
) -> Any:
    """The frequencies of an `fft` of n points that are ``d`` apart, in its order (source: ``torch.fft.fftfreq``).

    >>> import livetape as torch
    >>> torch.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    return _frequencies(
        "fft_fftfreq",
        lambda n: np.fft.ifftshift(np.arange(n) - n // 2),
        n,
        d,
        dtype,
        device,
        requires_grad,
        layout,
        pin_memory,
        out,
    )


def rfftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: Any = False,
) -> Any:
    """The frequencies of an `rfft` of n points that are ``d`` apart (source: ``torch.fft.rfftfreq``)."""
    return _frequencies(
        "fft_rfftfreq", lambda n: np.arange(n // 2 + 1), n, d, dtype, device, requires_grad, layout, pin_memory, out
    )


def _shifted(name: str, x: Any, dim: Any, inverse: bool) -> Any:
    need(name, "input", x)
    ndim = x.array.ndim
    dims = range(ndim) if dim is None else (dim,) if is_integer(dim) else dim
    axes = tuple([wrap_dim(d, ndim) for d in dims])
    size = shape_of(x)
    return x.roll(tuple([(size[d] + 1) // 2 if inverse else size[d] // 2 for d in axes]), axes)


def fftshift(input: Any, dim: Any = None) -> Any:
    """What `fft` gives with frequency 0 in the middle, along all dimensions or ``dim`` (source: ``torch.fft.fftshift``)."""
    return _shifted("fft_fftshift", input, dim, False)


def ifftshift(input: Any, dim: Any = None) -> Any:
    """The inverse of `fftshift` (source: ``torch.fft.ifftshift``)."""
    return _shifted("fft_ifftshift", input, dim, True)
