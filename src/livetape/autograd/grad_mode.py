"""no_grad, enable_grad, set_grad_enabled and inference_mode: context managers and decorators."""

from __future__ import annotations

import functools
import sys
import warnings
from typing import Any

from livetape._tape.modes import local, set_grad, set_modes
from livetape._tape.tensor import TensorBase, counter_of, version_of


def is_grad_enabled() -> bool:
    """Whether this thread records (source: ``torch.is_grad_enabled``)."""
    return bool(local.grad)


def is_inference_mode_enabled() -> bool:
    """Whether this thread is in inference mode (source: ``torch.is_inference_mode_enabled``)."""
    return bool(local.inference)


class _ModeContext:
    """A mode as a context manager and decorator. As in torch, one object remembers one state: the last it entered from."""

    def __init__(self) -> None:
        self._before = (True, False)

    def clone(self) -> Any:
        """A fresh context of the same kind, one for each decorated call."""
        return type(self)()

    def _enter(self, grad: bool, inference: bool) -> None:
        self._before = (local.grad, local.inference)
        set_modes(grad, inference)

    def __exit__(self, *error: Any) -> None:
        set_modes(*self._before)

    def __enter__(self) -> Any:
        raise TypeError("an abstract mode")

    def __call__(self, target: Any) -> Any:
        return decorated(self.clone, target)


def decorated(make: Any, target: Any) -> Any:
    """``target`` (a function, generator function or class) run inside a context from ``make()``."""
    if isinstance(target, type):
        warnings.warn(
            "Decorating classes is deprecated and will be disabled in future versions. You should only decorate "
            "functions or methods. To preserve the current behavior of class decoration, you can directly decorate "
            "the `__init__` method and nothing else.",
            FutureWarning,
            stacklevel=3,
        )
        target.__init__ = decorated(make, target.__init__)  # type: ignore[misc]
        return target
    if _is_generator(target):
        return _generator(make, target)

    @functools.wraps(target)
    def inside(*args: Any, **kwargs: Any) -> Any:
        with make():
            return target(*args, **kwargs)

    return inside


def _is_generator(target: Any) -> bool:
    code = getattr(getattr(target, "__func__", target), "__code__", None)
    return bool(code is not None and code.co_flags & 0x20)


def _generator(make: Any, target: Any) -> Any:
    """The mode holds while the generator runs, not while its user does."""

    @functools.wraps(target)
    def inside(*args: Any, **kwargs: Any) -> Any:
        generator = target(*args, **kwargs)
        try:
            with make():
                response = generator.send(None)
            while True:
                try:
                    request = yield response
                except GeneratorExit:
                    with make():
                        generator.close()
                    raise
                except BaseException:
                    with make():
                        response = generator.throw(sys.exc_info()[1])
                else:
                    with make():
                        response = generator.send(request)
        except StopIteration as stop:
            return stop.value

    return inside


class no_grad(_ModeContext):
    """Operations inside append nothing to the tape (source: ``torch.no_grad``).

    >>> import livetape as torch
    >>> x = torch.ones(1, requires_grad=True)
    >>> with torch.no_grad():
    ...     print((x * 2).requires_grad)
    False
    """

    def __new__(cls, orig_func: Any = None) -> Any:
        self = super().__new__(cls)
        if orig_func is None:
            return self
        self.__init__()  # type: ignore[misc]
        return self(orig_func)

    def __init__(self, orig_func: Any = None) -> None:
        super().__init__()

    def __enter__(self) -> None:
        self._enter(False, local.inference)


class enable_grad(no_grad):
    """Operations inside are recorded, also within `no_grad` (source: ``torch.enable_grad``)."""

    def __enter__(self) -> None:
        self._enter(True, local.inference)


class set_grad_enabled(_ModeContext):
    """Switch recording on or off: at once as a call, or for a block (source: ``torch.set_grad_enabled``)."""

    def __init__(self, mode: bool) -> None:
        if type(mode) is not bool:
            raise TypeError(
                f"set_grad_enabled(): argument 'enabled' (position 1) must be bool, not {type(mode).__name__}"
            )
        super().__init__()
        self.mode = mode
        self.prev = bool(local.grad)
        set_grad(self.mode)

    def __call__(self, target: Any) -> Any:
        set_grad(self.prev)
        return decorated(self.clone, target)

    def __enter__(self) -> None:
        set_grad(self.mode)

    def __exit__(self, *error: Any) -> None:
        set_grad(self.prev)

    def __str__(self) -> str:
        return f"{type(self).__module__}.set_grad_enabled(mode={self.mode})"

    def __repr__(self) -> str:
        return str(self)

    def clone(self) -> Any:
        return type(self)(self.mode)


class inference_mode(_ModeContext):
    """As `no_grad`, and the tensors made inside can never be recorded (source: ``torch.inference_mode``)."""

    def __new__(cls, mode: Any = True) -> Any:
        self = super().__new__(cls)
        if isinstance(mode, bool):
            return self
        self.__init__()  # type: ignore[misc]
        return self(mode)

    def __init__(self, mode: Any = True) -> None:
        super().__init__()
        self.mode = mode if isinstance(mode, bool) else True

    def __enter__(self) -> None:
        self._enter(not self.mode, self.mode)

    def clone(self) -> Any:
        return type(self)(self.mode)


class set_multithreading_enabled(_ModeContext):
    """Accepted for compatibility: the walk runs in the calling thread (source: the torch class of that name)."""

    def __init__(self, mode: bool) -> None:
        super().__init__()
        self.mode = mode

    def __enter__(self) -> None:
        self._enter(local.grad, local.inference)

    def clone(self) -> Any:
        return type(self)(self.mode)


class enforce_grad_layout_policy:
    """Whether gradients get the strides of their leaves: at once as a call, or for a block (source: torch's class).

    With False a gradient that nobody else sees is kept as it comes, whatever its strides.
    """

    def __init__(self, enable: bool = True) -> None:
        self.prev = local.lays_out
        self.mode = enable
        local.lays_out = enable

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        local.lays_out = self.prev

    def __call__(self, func: Any) -> Any:
        local.lays_out = self.prev
        return decorated(lambda: type(self)(self.mode), func)


class _unsafe_preserve_version_counter:
    """Changes in place inside the block are not counted; the gradients that need the old values will be wrong."""

    def __init__(self, tensors: Any) -> None:
        self.tensors = (tensors,) if isinstance(tensors, TensorBase) else tuple(tensors)
        self.prev_versions = tuple([int(version_of(t)) for t in self.tensors])

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        for tensor, version in zip(self.tensors, self.prev_versions):
            counter_of(tensor).value = version
