"""Discrete Fourier transforms (source: ``torch.fft``).

>>> import livetape as torch
>>> torch.fft.irfft(torch.fft.rfft(torch.tensor([1., 2., 3., 4.])))
tensor([1., 2., 3., 4.])
"""

from __future__ import annotations

from livetape.ops.boundary import publish
from livetape.ops.fft import (
    fft,
    fft2,
    fftfreq,
    fftn,
    fftshift,
    hfft,
    hfft2,
    hfftn,
    ifft,
    ifft2,
    ifftn,
    ifftshift,
    ihfft,
    ihfft2,
    ihfftn,
    irfft,
    irfft2,
    irfftn,
    rfft,
    rfft2,
    rfftfreq,
    rfftn,
)

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "hfft2",
    "hfftn",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "ihfft2",
    "ihfftn",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]
publish(globals(), __all__, "livetape.fft", "fft_")
