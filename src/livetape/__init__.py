"""livetape: define-by-run automatic differentiation with PyTorch's API, in typed Python on NumPy."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as _np

from livetape import ops as _ops
from livetape.version import __version__
from livetape import autograd, dtypes as _dtypes
from livetape.autograd import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from livetape.device import device
from livetape.dtypes import (
    bfloat16,
    can_cast,
    complex64,
    complex128,
    dtype,
    float16,
    float32,
    float64,
    get_default_dtype,
    int8,
    int16,
    int32,
    int64,
    promote_types,
    set_default_dtype,
    uint8,
    uint16,
    uint32,
    uint64,
)
from livetape.dtypes import boolean as bool
from livetape.dtypes import complex32
from livetape.layout import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    layout,
    memory_format,
    preserve_format,
    strided,
)
from livetape.printing import set_printoptions
from livetape.size import Size
from livetape.tensor import Tensor

half = float16
float = float32
double = float64
short = int16
int = int32
long = int64
cfloat = complex64
cdouble = complex128
chalf = complex32

for _module in _ops.MODULES:
    for _name in getattr(_module, "FUNCTIONS", ()):
        if hasattr(_module, _name):
            globals()[_name] = getattr(_module, _name)

# torch computes inf and nan without a word
_np.seterr(all="ignore")

_LAZY = {"nn", "optim", "utils", "linalg", "fft", "special", "func", "distributions", "random", "inspect", "jit", "backends",
         "cuda", "return_types", "hub", "multiprocessing", "testing", "amp", "types", "alias", "serialization", "futures"}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return importlib.import_module("livetape." + name)
    raise AttributeError(f"module 'torch' has no attribute '{name}'")
