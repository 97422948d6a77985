"""livetape: define-by-run automatic differentiation with PyTorch's API and semantics, in typed Python on NumPy.

``import livetape as torch`` is meant literally. This file is the public namespace, and nothing else.
"""

from __future__ import annotations

import importlib
from math import e, inf, nan, pi
from typing import Any

from livetape import autograd, buffers, random
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
    boolean,
    can_cast,
    complex32,
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
from livetape.layout import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    layout,
    memory_format,
    preserve_format,
    sparse_coo,
    strided,
)
from livetape.legacy_types import (
    BFloat16Tensor,
    BoolTensor,
    ByteTensor,
    CharTensor,
    DoubleTensor,
    FloatTensor,
    HalfTensor,
    IntTensor,
    LongTensor,
    ShortTensor,
)
from livetape.printing import set_printoptions
from livetape.random import Generator, default_generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state
from livetape.settings import (
    are_deterministic_algorithms_enabled,
    compile,
    get_deterministic_debug_mode,
    get_float32_matmul_precision,
    is_deterministic_algorithms_warn_only_enabled,
    is_storage,
    set_default_device,
    set_default_tensor_type,
    set_deterministic_debug_mode,
    set_float32_matmul_precision,
    set_flush_denormal,
    set_winograd,
    typename,
    use_deterministic_algorithms,
)
from livetape.size import Size
from livetape.tensor import Tensor
from livetape.thread_modes import ignore_float_errors as _ignore_float_errors
from livetape.threads import get_num_interop_threads, get_num_threads, set_num_interop_threads, set_num_threads
from livetape.version import __version__

import livetape.ops.aten  # isort: skip # as torch.ops.aten
from livetape.ops import *  # isort: skip # torch's functions, listed in ops.__all__; last: `tensor` is one of them

half, float, double = float16, float32, float64
short, int, long, bool = int16, int32, int64, boolean
cfloat, cdouble, chalf = complex64, complex128, complex32
newaxis = None


def _array_of(value: Any) -> Any:
    return value.array if isinstance(value, Tensor) else value


random.bind(_from_array, _array_of)

_ignore_float_errors()
buffers.start()

# Loaded when first used, so that importing livetape is quick: packages, and single names from them.
_PACKAGES = {
    "_C",
    "__future__",
    "accelerator",
    "amp",
    "backends",
    "compiler",
    "cpu",
    "cuda",
    "distributed",
    "distributions",
    "fft",
    "func",
    "futures",
    "hub",
    "inspect",
    "jit",
    "linalg",
    "masked",
    "mps",
    "multiprocessing",
    "nn",
    "optim",
    "overrides",
    "profiler",
    "return_types",
    "serialization",
    "signal",
    "special",
    "storage",
    "testing",
    "types",
    "utils",
    "xpu",
}
_NAMES = {
    "save": "serialization",
    "load": "serialization",
    "vmap": "func",
    "autocast": "amp",
    "UntypedStorage": "storage",
    "TypedStorage": "storage",
    "get_compat": "compat",
    "set_compat": "compat",
    **dict.fromkeys(
        (
            "ctc_loss",
            "gru",
            "gru_cell",
            "lstm",
            "lstm_cell",
            "rnn_relu",
            "rnn_relu_cell",
            "rnn_tanh",
            "rnn_tanh_cell",
        ),
        "nn._vf",
    ),
    **dict.fromkeys(
        ("cond", "sym_float", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not", "sym_sqrt", "sym_sum"), "symbolic"
    ),
    "is_anomaly_enabled": "autograd.anomaly_mode",
    "is_anomaly_check_nan_enabled": "autograd.anomaly_mode",
    **dict.fromkeys(
        (
            "autocast_decrement_nesting",
            "autocast_increment_nesting",
            "clear_autocast_cache",
            "get_autocast_cpu_dtype",
            "get_autocast_dtype",
            "get_autocast_gpu_dtype",
            "is_autocast_cache_enabled",
            "is_autocast_cpu_enabled",
            "is_autocast_enabled",
            "set_autocast_cache_enabled",
            "set_autocast_cpu_dtype",
            "set_autocast_cpu_enabled",
            "set_autocast_dtype",
            "set_autocast_enabled",
            "set_autocast_gpu_dtype",
        ),
        "amp.switches",
    ),
}


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return importlib.import_module("livetape." + name)
    if name in _NAMES:
        return getattr(importlib.import_module("livetape." + _NAMES[name]), name)
    raise AttributeError(f"module 'torch' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *_PACKAGES, *_NAMES})
