"""Samples of ops/fft.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from samples import Sample, rng

_g = rng(33)


def _n(*shape: int) -> Any:
    return np.asarray(_g.standard_normal(shape))


def _c(*shape: int) -> Any:
    return np.asarray(_g.standard_normal(shape) + 1j * _g.standard_normal(shape))


_NORMS = [{}, {"norm": "ortho"}, {"norm": "forward"}]

SAMPLES: list[Sample] = [
    *[
        Sample("fft_c2c", f"fft.{f}", (x,), k)
        for f in ("fft", "ifft")
        for x in (_c(4), _c(2, 3), _c(3, 2).T)
        for k in _NORMS
    ],
    *[
        Sample("fft_r2c", f"fft.{f}", (x,), k)
        for f in ("fft", "ifft", "rfft", "ihfft")
        for x in (_n(4), _n(2, 3), _n(1))
        for k in _NORMS
    ],
    *[Sample("fft_c2r", f"fft.{f}", (x,), k) for f in ("irfft", "hfft") for x in (_c(3), _c(2, 4)) for k in _NORMS],
    *[Sample("fft_c2r", f"fft.{f}", (_c(3), n)) for f in ("irfft", "hfft") for n in (2, 3, 5, 8)],
    *[Sample("fft_c2c", "fft.fft", (_c(4, 3), n), {"dim": 0}) for n in (3, 6)],
    Sample("fft_r2c", "fft.rfft", (_n(4, 3), 6), {"dim": 0}),
    Sample("fft_c2r", "fft.irfft", (_n(3),)),
    *[
        Sample("fft_c2c", f"fft.{f}", (_c(2, 3, 2),), k)
        for f in ("fftn", "ifftn", "fft2", "ifft2")
        for k in ({}, {"s": (4, 2)})
    ],
    *[
        Sample("fft_r2c", f"fft.{f}", (_n(2, 3, 4),), k)
        for f in ("rfftn", "ihfftn", "rfft2", "ihfft2")
        for k in ({}, {"s": (4, 3)})
    ],
    *[
        Sample("fft_c2r", f"fft.{f}", (_c(2, 3, 3),), k)
        for f in ("irfftn", "hfftn", "irfft2", "hfft2")
        for k in ({}, {"s": (4, 3)})
    ],
    Sample("roll", "fft.fftshift", (_n(3, 4),)),
    Sample("roll", "fft.ifftshift", (_n(3, 4),), {"dim": 1}),
]

_WINDOW = np.hanning(8) + 0.1
SAMPLES += [
    *[
        Sample("fft_r2c", "stft", (x, 8), {"window": _WINDOW, "return_complex": True, **k})
        for x in (_n(20), _n(2, 20))
        for k in (
            {},
            {"center": False, "hop_length": 3},
            {"onesided": False, "normalized": True},
            {"win_length": 8, "pad_mode": "constant"},
        )
    ],
    Sample("fft_c2c", "stft", (_c(20), 8), {"window": _WINDOW, "return_complex": True}),
    *[
        Sample("fft_c2r", "istft", (x, 8), {"window": _WINDOW, **k})
        for x in (_c(5, 6), _c(2, 5, 6))
        for k in ({}, {"center": False}, {"length": 9, "normalized": True})
    ],
    Sample("fft_c2c", "istft", (_c(8, 6), 8), {"window": _WINDOW, "onesided": False, "return_complex": True}),
]
