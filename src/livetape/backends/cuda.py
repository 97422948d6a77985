"""CUDA libraries, which there are none of (source: ``torch.backends.cuda``)."""

from __future__ import annotations

import enum
from types import SimpleNamespace
from typing import Any

matmul = SimpleNamespace(
    allow_tf32=False,
    allow_fp16_reduced_precision_reduction=True,
    allow_bf16_reduced_precision_reduction=True,
    allow_fp16_accumulation=False,
    fp32_precision="none",
)
_attention = {"flash": True, "math": True, "mem_efficient": True, "cudnn": True, "reduced": False}


class _LinalgBackend(enum.Enum):
    Default = 0
    Cusolver = 1
    Magma = 2


class _BlasBackend(enum.Enum):
    Default = 0
    Cublas = 1
    Cublaslt = 2
    Ck = 3


_libraries: dict[str, Any] = {"linalg": _LinalgBackend.Default, "blas": _BlasBackend.Default}


def is_built() -> bool:
    """False."""
    return False


def _prefer(which: str, kind: Any, backend: Any) -> Any:
    if backend is not None:
        names = {member.name.lower(): member for member in kind}
        if isinstance(backend, str):
            if backend.lower() not in names:
                raise RuntimeError(f"Unknown input value. Choose from: {', '.join(names)}.")
            backend = names[backend.lower()]
        if not isinstance(backend, kind):
            raise RuntimeError("Unknown input value type.")
        _libraries[which] = backend
    return _libraries[which]


def preferred_linalg_library(backend: Any = None) -> Any:
    """Name the library for linear algebra on CUDA devices; the one named last."""
    return _prefer("linalg", _LinalgBackend, backend)


def preferred_blas_library(backend: Any = None) -> Any:
    """Name the library for matrix products on CUDA devices; the one named last."""
    return _prefer("blas", _BlasBackend, backend)


def flash_sdp_enabled() -> bool:
    """The switch's state."""
    return _attention["flash"]


def enable_flash_sdp(enabled: bool) -> None:
    """Set the switch."""
    _attention["flash"] = bool(enabled)


def math_sdp_enabled() -> bool:
    """The switch's state."""
    return _attention["math"]


def enable_math_sdp(enabled: bool) -> None:
    """Set the switch."""
    _attention["math"] = bool(enabled)


def mem_efficient_sdp_enabled() -> bool:
    """The switch's state."""
    return _attention["mem_efficient"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Set the switch."""
    _attention["mem_efficient"] = bool(enabled)


def cudnn_sdp_enabled() -> bool:
    """The switch's state."""
    return _attention["cudnn"]


def enable_cudnn_sdp(enabled: bool) -> None:
    """Set the switch."""
    _attention["cudnn"] = bool(enabled)


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    """The switch's state."""
    return _attention["reduced"]


def allow_fp16_bf16_reduction_math_sdp(enabled: bool) -> None:
    """Set the switch."""
    _attention["reduced"] = bool(enabled)


def is_flash_attention_available() -> bool:
    """False."""
    return False


def can_use_flash_attention(params: Any, debug: bool = False) -> bool:
    """False."""
    return False


def can_use_efficient_attention(params: Any, debug: bool = False) -> bool:
    """False."""
    return False


def can_use_cudnn_attention(params: Any, debug: bool = False) -> bool:
    """False."""
    return False
