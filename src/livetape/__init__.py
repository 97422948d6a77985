"""livetape: define-by-run automatic differentiation with PyTorch's API, in typed Python on NumPy."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as _np

from livetape import autograd, random
from livetape import ops as _ops
from livetape._tape.tensor import from_array as _from_array
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
from livetape.random import Generator, default_generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state
from livetape.size import Size
from livetape.tensor import Tensor
from livetape.threads import get_num_interop_threads, get_num_threads, set_num_interop_threads, set_num_threads
from livetape.version import __version__



def _array_of(tensor: Any) -> Any:
    return tensor.array


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

random.bind(_from_array, _array_of)

# torch computes inf and nan without a word
_np.seterr(all="ignore")

_LAZY = {"nn", "optim", "utils", "linalg", "fft", "special", "func", "distributions", "inspect", "jit", "backends",
         "cuda", "return_types", "hub", "multiprocessing", "testing", "amp", "types", "alias", "serialization", "futures"}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return importlib.import_module("livetape." + name)
    raise AttributeError(f"module 'torch' has no attribute '{name}'")
