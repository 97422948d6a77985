"""Short-time Fourier transforms: spectra of overlapping pieces of a signal, and the signal from them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.tensor import shape_of
from livetape.dtypes import COMPLEX, FLOAT, SCALAR_TYPE
from livetape.ops.autocasting import single_in_autocast
from livetape.ops.basics import as_strided
from livetape.ops.complexes import view_as_real
from livetape.ops.fft import C2C, C2R, R2C
from livetape.ops.matrices import constant, need
from livetape.ops.padding import constant_pad_nd, pad
from livetape.ops.shape import view
from livetape.ops.unfolding import UNFOLD_BACKWARD
from livetape.size import size_of

_warned: set[str] = set()


def _warn_once(message: str) -> None:
    if message not in _warned:
        _warned.add(message)
        warnings.warn(message, UserWarning, stacklevel=3)


def _tensor_name(tensor: Any) -> str:
    return f"torch.{SCALAR_TYPE[tensor.dtype]}Tensor"


def _given(value: Any) -> Any:
    return value if value is None else int(value)


def _shown(window: Any) -> str:
    return "None" if window is None else f"{_tensor_name(window)}{{{list(shape_of(window))}}}"


def _centred(window: Any, n_fft: int, win_length: int, like: Any) -> Any:
    """The window with zeros on both sides, as long as a transform."""
    if window is None:
        window = constant(np.ones(win_length), like)
    if win_length < n_fft:
        left = (n_fft - win_length) // 2
        window = constant_pad_nd(window, (left, n_fft - win_length - left))
    return window


# ---------------------------------------------------------------- spectra
@single_in_autocast
def stft(
    input: Any,
    n_fft: int,
    hop_length: Any = None,
    win_length: Any = None,
    window: Any = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: Any = None,
    return_complex: Any = None,
    align_to_window: Any = None,
) -> Any:
    """The Fourier transforms of pieces of a signal [(batch,) samples]: [(batch,) frequencies, pieces].

    n_fft         the samples in a piece
    hop_length    from a piece to the next; a quarter of n_fft by default
    window        weights of the samples of a piece, win_length of them, by default ones
    center        pieces are centred on their samples: the signal is padded on both sides, as pad_mode says
    onesided      half of the frequencies, of which the others follow for real signals

    Source: ``torch.stft``.
    """
    need("stft", "input", input)
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    if center:
        if align_to_window is not None:
            raise noted(RuntimeError("stft align_to_window should only be set when center = false"))
        ndim = input.array.ndim
        size = (*[1] * (3 - ndim), *shape_of(input))
        padded = pad(view(input, size), (n_fft // 2, n_fft // 2), pad_mode)
        input = view(padded, shape_of(padded)[-ndim:])
    return _stft(input, n_fft, hop, length, window, normalized, onesided, return_complex, align_to_window)


def _stft(
    x: Any,
    n_fft: int,
    hop: int,
    length: int,
    window: Any,
    normalized: bool,
    onesided: Any,
    return_complex: Any,
    align: Any,
) -> Any:
    size = shape_of(x)
    call = (
        f"stft({_tensor_name(x)}{list(size)}, n_fft={n_fft}, hop_length={hop}, win_length={length}, "
        f"window={_shown(window)}, normalized={int(normalized)}, onesided={_given(onesided)}, "
        f"return_complex={_given(return_complex)}, align_to_window={_given(align)}) "
    )
    if window is None:
        _warn_once(
            "A window was not provided. A rectangular window will be applied,which is known to cause spectral leakage. "
            "Other windows such as torch.hann_window or torch.hamming_window are recommended to reduce spectral "
            "leakage.To suppress this warning and use a rectangular window, explicitly set `window=torch.ones(n_fft, "
            "device=<device>)`."
        )
    twofold = x.dtype.category == COMPLEX or (window is not None and window.dtype.category == COMPLEX)
    if return_complex is None and not twofold:
        raise noted(
            RuntimeError(
                "stft requires the return_complex parameter be given for real inputs, and will further require that "
                "return_complex=True in a future PyTorch release."
            )
        )
    if return_complex is False:
        _warn_once(
            "stft with return_complex=False is deprecated. In a future pytorch release, stft will return complex "
            "tensors for all inputs, and return_complex=False will raise an error.\nNote: you can still call "
            "torch.view_as_real on the complex output to recover the old return format."
        )
    if x.dtype.category < FLOAT:
        raise noted(RuntimeError(call + ": expected a tensor of floating point or complex values"))
    if not 1 <= len(size) <= 2:
        raise noted(RuntimeError(call + ": expected a 1D or 2D tensor"))
    if not 0 < n_fft <= size[-1]:
        raise noted(RuntimeError(f"{call}: expected 0 < n_fft < {size[-1]}, but got n_fft={n_fft}"))
    if hop <= 0:
        raise noted(RuntimeError(f"{call}: expected hop_length > 0, but got hop_length={hop}"))
    if not 0 < length <= n_fft:
        raise noted(RuntimeError(f"{call}: expected 0 < win_length <= n_fft, but got win_length={length}"))
    if window is not None and shape_of(window) != (length,):
        raise noted(
            RuntimeError(
                f"{call}: expected a 1D window tensor of size equal to win_length={length}, but got window with size "
                f"{list(shape_of(window))}"
            )
        )
    half = not twofold if onesided is None else onesided
    if half and twofold:
        raise noted(RuntimeError("Cannot have onesided output if window or input is complex"))
    flat = len(size) == 1
    if flat:
        x = x.unsqueeze(0)
    start, span = 0, n_fft
    if align:
        start, span = (n_fft - length) // 2, length
        x = constant_pad_nd(x, (start, n_fft - length - start))
    pieces = 1 + (size[-1] - span) // hop
    batch = shape_of(x)[0]
    row, step = [s // x.array.itemsize for s in x.array.strides]
    frames = as_strided(x, (batch, pieces, n_fft), (row, hop * step, step))
    if window is not None or length < n_fft:
        frames = frames * _centred(window, n_fft, length, x.dtype)
    if frames.dtype.category == COMPLEX:
        found = C2C.apply((frames, (2,), int(normalized), True))
    else:
        found = R2C.apply((frames, (2,), int(normalized), bool(half)))
    found = found.transpose_(1, 2)
    if flat:
        found = found.squeeze_(0)
    return view_as_real(found) if return_complex is False else found


# ---------------------------------------------------------------- signals
def istft(
    input: Any,
    n_fft: int,
    hop_length: Any = None,
    win_length: Any = None,
    window: Any = None,
    center: bool = True,
    normalized: bool = False,
    onesided: Any = None,
    length: Any = None,
    return_complex: bool = False,
) -> Any:
    """The signal from its `stft`, ``length`` samples of it (source: ``torch.istft``)."""
    need("istft", "input", input)
    hop = n_fft // 4 if hop_length is None else hop_length
    span = n_fft if win_length is None else win_length
    size = shape_of(input)
    call = (
        f"istft(CPU{SCALAR_TYPE[input.dtype]}Type{list(size)}, n_fft={n_fft}, hop_length={hop}, win_length={span}, "
        f"window={_shown(window)}, center={int(center)}, normalized={int(normalized)}, onesided={_given(onesided)}, "
        f"length={_given(length)}, return_complex={int(return_complex)}) "
    )
    if window is None:
        _warn_once(
            "A window was not provided. A rectangular window will be applied.Please provide the same window used by stft "
            "to make the inversion lossless.To suppress this warning and use a rectangular window, explicitly set "
            "`window=torch.ones(n_fft, device=<device>)`."
        )
    if input.dtype.category != COMPLEX:
        raise noted(
            RuntimeError(
                "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
            )
        )
    if len(size) < 2:
        raise noted(IndexError("Dimension out of range (expected to be in range of [-2, 1], but got -3)"))
    if not 2 <= len(size) <= 3:
        raise noted(RuntimeError(f"{call}: expected a tensor with 3 or 4 dimensions, but got {len(size) + 1}"))
    if input.array.size == 0:
        raise noted(RuntimeError(call + ": input tensor cannot be empty."))
    half = (size[-2] != n_fft) if onesided is None else onesided
    if half and size[-2] != n_fft // 2 + 1:
        raise noted(
            RuntimeError(
                f"{call}: expected the frequency dimension (3rd to the last) of the input tensor to match n_fft / 2 + "
                f"1 when onesided=True, but got {size[-2]}"
            )
        )
    if not half and size[-2] != n_fft:
        raise noted(
            RuntimeError(
                f"{call}: expected the frequency dimension (3rd to the last) of the input tensor to match n_fft when "
                f"onesided=False, but got {size[-2]}"
            )
        )
    if not 0 < hop <= span:
        raise noted(RuntimeError(call + ": expected 0 < hop_length <= win_length"))
    if not 0 < span <= n_fft:
        raise noted(RuntimeError(call + ": expected 0 < win_length <= n_fft"))
    if window is not None and shape_of(window) != (span,):
        raise noted(RuntimeError(call + ": Invalid window shape. window has to be 1D and length of `win_length`"))
    if half and (return_complex or (window is not None and window.dtype.category == COMPLEX)):
        raise noted(RuntimeError("Cannot have onesided output if window or input is complex"))
    x = input.unsqueeze(0) if len(size) == 2 else input
    spectra = x.transpose(1, 2)
    scale = 1 if normalized else 2
    if return_complex:
        pieces = C2C.apply((spectra, (2,), scale, False))
    else:
        if not half:
            spectra = spectra.narrow(2, 0, n_fft // 2 + 1)
        pieces = C2R.apply((spectra, (2,), scale, n_fft))
    signal = _joined(pieces, _centred(window, n_fft, span, input.real.dtype), hop, center, length, call)
    return signal.squeeze(0) if len(size) == 2 else signal


def _joined(pieces: Any, window: Any, hop: int, center: bool, length: Any, call: str) -> Any:
    """The sum of overlapping pieces, divided by that of the squared windows."""
    batch, count, n_fft = shape_of(pieces)
    full = n_fft + hop * (count - 1)
    signal = UNFOLD_BACKWARD.apply((pieces * window, size_of((batch, full)), 1, n_fft, hop))
    squares = (window * window).expand(1, count, n_fft)
    weights = UNFOLD_BACKWARD.apply((squares, size_of((1, full)), 1, n_fft, hop))
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else full - n_fft // 2 if center else full
    kept = min(end, full) - start
    signal, weights = signal.narrow(1, start, kept), weights.narrow(1, start, kept)
    if np.abs(weights.array).min(initial=np.inf) < 1e-11:
        raise noted(RuntimeError(call + "window overlap add min: 1\n[ CPUBoolType{} ]"))
    found = signal / weights
    if end > full:
        _warn_once(
            "The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail. "
            "Please check your center and hop_length settings."
        )
        found = constant_pad_nd(found, (0, end - full))
    return found


FUNCTIONS = ["stft", "istft"]
METHODS = {"stft": stft, "istft": istft}
