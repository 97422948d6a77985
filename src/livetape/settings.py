"""Process-wide switches that programs set: kept, reported back, and honoured where there is something to honour."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from livetape.dtypes import set_default_dtype
from livetape.kernels import convolution

_state: dict[str, Any] = {"deterministic": False, "warn_only": False, "precision": "highest", "winograd": True}


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Every operation here is deterministic; this turns off Winograd's products as well, see `set_winograd`.

    Source: ``torch.use_deterministic_algorithms``.
    """
    for name, value in (("mode", mode), ("warn_only", warn_only)):
        if not isinstance(value, bool):
            where = " (position 1)" if name == "mode" else ""
            raise TypeError(
                f"_set_deterministic_algorithms(): argument '{name}'{where} must be bool, not {type(value).__name__}"
            )
    _state["deterministic"], _state["warn_only"] = mode, warn_only
    convolution.use_winograd(_state["winograd"] and not mode)


def are_deterministic_algorithms_enabled() -> bool:
    """What `use_deterministic_algorithms` was told (source: the torch function of that name)."""
    return bool(_state["deterministic"])


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """What `use_deterministic_algorithms` was told of ``warn_only`` (source: the torch function of that name)."""
    return bool(_state["warn_only"])


_DEBUG_MODES = {"default": 0, "warn": 1, "error": 2}


def set_deterministic_debug_mode(debug_mode: Any) -> None:
    """`use_deterministic_algorithms` by a name or number: default, warn, error (source: the torch function)."""
    if not isinstance(debug_mode, (str, int)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str):
        if debug_mode not in _DEBUG_MODES:
            raise RuntimeError(
                f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}"
            )
        debug_mode = _DEBUG_MODES[debug_mode]
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    use_deterministic_algorithms(debug_mode > 0, warn_only=debug_mode == 1)


def get_deterministic_debug_mode() -> int:
    """0, 1 or 2: see `set_deterministic_debug_mode` (source: ``torch.get_deterministic_debug_mode``)."""
    return 0 if not _state["deterministic"] else 1 if _state["warn_only"] else 2


def set_winograd(mode: bool) -> None:
    """Whether float32 convolutions of 3x3 with stride 1 may take fewer products (Lavin and Gray 2015); at first they may.

    Their rounding errors are then about twice those of plain sums. Not torch's: it has such a switch for CUDA alone.

    >>> import livetape as torch
    >>> torch.set_winograd(False)
    >>> torch.set_winograd(True)
    """
    _state["winograd"] = bool(mode)
    convolution.use_winograd(_state["winograd"] and not _state["deterministic"])


def set_float32_matmul_precision(precision: str) -> None:
    """Accepted: products are always computed in full precision (source: ``torch.set_float32_matmul_precision``)."""
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(
            f"_assert_async_float32_matmul_precision: {precision!r} is not one of 'highest', 'high', 'medium'"
        )
    _state["precision"] = precision


def get_float32_matmul_precision() -> str:
    """What `set_float32_matmul_precision` was told (source: ``torch.get_float32_matmul_precision``)."""
    return str(_state["precision"])


def set_flush_denormal(mode: bool) -> bool:
    """False: subnormal numbers are kept (source: ``torch.set_flush_denormal``)."""
    return False


def set_default_device(device: Any) -> None:
    """Accepted for the CPU (source: ``torch.set_default_device``)."""
    if device is not None and str(device).split(":")[0] != "cpu":
        raise AssertionError("Torch not compiled with CUDA enabled")


def set_default_tensor_type(t: Any) -> None:
    """Set the default dtype by a tensor type such as torch.DoubleTensor (source: ``torch.set_default_tensor_type``)."""
    set_default_dtype(t.dtype)


def compile(model: Any = None, **options: Any) -> Any:
    """The function or module itself: the tape needs no compilation (source: ``torch.compile``)."""
    if model is None:

        def decorate(target: Callable[..., Any]) -> Any:
            return target

        return decorate
    return model


def is_storage(obj: Any, /) -> bool:
    """Whether ``obj`` is a storage (source: ``torch.is_storage``)."""
    return type(obj).__name__ in ("TypedStorage", "UntypedStorage")


def typename(obj: Any, /) -> str:
    """The full name of an object's type (source: ``torch.typename``)."""
    kind = type(obj) if not isinstance(obj, type) else obj
    if kind is not obj and hasattr(obj, "array") and hasattr(obj, "grad_fn"):
        return str(obj.type())
    if kind.__module__ in ("builtins", "__builtin__", ""):
        return kind.__qualname__
    package, dot, rest = kind.__module__.partition(".")
    return f"{'torch' if package == 'livetape' else package}{dot}{rest}.{kind.__qualname__}"
