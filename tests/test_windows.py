"""torch.signal.windows: weights, options and errors as PyTorch has them."""

from __future__ import annotations

import pytest

import livetape as torch
from livetape.signal import windows

# of 5 weights: the first three and the last, symmetric and not
WEIGHTS = {
    "bartlett": ([0.0, 0.5, 1.0, 0.0], [0.0, 0.4, 0.8, 0.4]),
    "blackman": ([0.0, 0.34, 1.0, 0.0], [0.0, 0.2007701432625, 0.8492298567375, 0.2007701432625]),
    "cosine": (
        [0.3090169943749, 0.8090169943749, 1.0, 0.3090169943749],
        [0.2588190451025, 0.7071067811865, 0.9659258262891, 0.7071067811865],
    ),
    "exponential": (
        [0.1353352832366, 0.3678794411714, 1.0, 0.1353352832366],
        [0.0820849986239, 0.2231301601484, 0.6065306597126, 0.2231301601484],
    ),
    "gaussian": (
        [0.1353352832366, 0.6065306597126, 1.0, 0.1353352832366],
        [0.0439369336234, 0.3246524673583, 0.8824969025846, 0.3246524673583],
    ),
    "hamming": ([0.08, 0.54, 1.0, 0.08], [0.08, 0.3978521825875, 0.9121478174125, 0.3978521825875]),
    "hann": ([0.0, 0.5, 1.0, 0.0], [0.0, 0.3454915028125, 0.9045084971875, 0.3454915028125]),
    "kaiser": (
        [5.27734413e-05, 0.2156727447590, 1.0, 5.27734413e-05],
        [5.27734413e-05, 0.1017196877096, 0.7929398341015, 0.1017196877096],
    ),
    "nuttall": ([0.0003628, 0.2269824, 1.0, 0.0003628], [0.0003628, 0.1105152530499, 0.7982580969501, 0.1105152530499]),
}


@pytest.mark.parametrize("name", WEIGHTS)
def test_weights(name):
    make = getattr(windows, name)
    for sym, expected in zip((True, False), WEIGHTS[name]):
        found = make(5, sym=sym, dtype=torch.float64).tolist()
        assert found[:3] + found[4:] == pytest.approx(expected, abs=1e-12)
    assert make(0).shape == (0,)
    assert make(1).tolist() == [1.0]
    assert make(3).dtype is torch.float32


def test_options():
    assert windows.general_cosine(3, a=[0.5, 0.2, 0.3]).tolist() == pytest.approx([0.6, 1.0, 0.6])
    assert windows.exponential(5, center=1.0, sym=False)[1].item() == 1.0
    assert windows.kaiser(5, beta=0.0).tolist() == [1.0] * 5
    assert windows.hann(5, requires_grad=True).grad_fn.name() == "SumBackward1"


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: windows.hann(-1), ValueError, "general_cosine requires non-negative window length, got M=-1"),
        (lambda: windows.blackman(-1), ValueError, "blackman requires non-negative window length, got M=-1"),
        (lambda: windows.hann(5, dtype=torch.int64), ValueError, "expects float32 or float64 dtypes, got: torch.int64"),
        (lambda: windows.exponential(5, tau=0), ValueError, "Tau must be positive, got: 0 instead."),
        (lambda: windows.exponential(5, center=1.0), ValueError, "Center must be None for symmetric windows"),
        (lambda: windows.gaussian(5, std=0), ValueError, "Standard deviation must be positive, got: 0 instead."),
        (lambda: windows.kaiser(5, beta=-1), ValueError, "beta must be non-negative, got: -1 instead."),
        (lambda: windows.general_cosine(5, a=[]), ValueError, "Coefficients cannot be empty"),
        (lambda: windows.general_cosine(5, a=3), TypeError, "Coefficients must be a list/tuple"),
    ],
)
def test_errors(call, kind, message):
    with pytest.raises(kind, match=message):
        call()
