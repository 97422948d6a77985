"""Hooks of modules: the registries, the registering methods, and the call that runs them."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from livetape.hooks import RemovableHandle
from livetape.nn.modules._backward_hook import BackwardHook, legacy_backward_hooks
from livetape.tensor import Tensor

Hook = Callable[..., Any]

global_forward_pre_hooks: OrderedDict[int, Hook] = OrderedDict()
global_forward_hooks: OrderedDict[int, Hook] = OrderedDict()
global_forward_hooks_with_kwargs: OrderedDict[int, bool] = OrderedDict()
global_forward_hooks_always_called: OrderedDict[int, bool] = OrderedDict()
global_backward_pre_hooks: OrderedDict[int, Hook] = OrderedDict()
global_backward_hooks: OrderedDict[int, Hook] = OrderedDict()
global_parameter_registration_hooks: OrderedDict[int, Hook] = OrderedDict()
global_module_registration_hooks: OrderedDict[int, Hook] = OrderedDict()
global_buffer_registration_hooks: OrderedDict[int, Hook] = OrderedDict()


class _GlobalKind:
    """Whether the global backward hooks are of the full kind; None while there are none."""

    full: bool | None = None


_MIXED_MODULE = (
    "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only one of them."
)
_MIXED_GLOBAL = (
    "Cannot use both regular backward hooks and full backward hooks as a "
    "global Module hook. Please use only one of them."
)


class _Progress:
    """How far a call with hooks has come: the always-called hooks that had their turn, and the result so far."""

    def __init__(self) -> None:
        self.ran: set[int] = set()
        self.result: Any = None


class HookMethods:
    """The part of Module that registers hooks, and calls ``forward`` when there are any."""

    # Set on an instance by the first hook it gets, and on the class by the first global one: while both are
    # False a call goes straight to forward. The flag says "look": it is cleared by a call
    # that finds none.
    _hooked: bool = False

    _is_full_backward_hook: bool | None
    _backward_pre_hooks: OrderedDict[int, Hook]
    _backward_hooks: OrderedDict[int, Hook]
    _forward_pre_hooks: OrderedDict[int, Hook]
    _forward_pre_hooks_with_kwargs: OrderedDict[int, bool]
    _forward_hooks: OrderedDict[int, Hook]
    _forward_hooks_with_kwargs: OrderedDict[int, bool]
    _forward_hooks_always_called: OrderedDict[int, bool]
    forward: Callable[..., Any]

    def register_forward_pre_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before every forward; what it returns, if anything, replaces the arguments."""
        handle = RemovableHandle(self._forward_pre_hooks, extra_dict=self._forward_pre_hooks_with_kwargs)
        self._forward_pre_hooks[handle.id] = hook
        if with_kwargs:
            self._forward_pre_hooks_with_kwargs[handle.id] = True
        if prepend:
            self._forward_pre_hooks.move_to_end(handle.id, last=False)
        self.__dict__["_hooked"] = True
        return handle

    def register_forward_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args, output)`` after every forward; what it returns, if anything, replaces the
        output."""
        handle = RemovableHandle(
            self._forward_hooks, extra_dict=[self._forward_hooks_with_kwargs, self._forward_hooks_always_called]
        )
        self._forward_hooks[handle.id] = hook
        if with_kwargs:
            self._forward_hooks_with_kwargs[handle.id] = True
        if always_call:
            self._forward_hooks_always_called[handle.id] = True
        if prepend:
            self._forward_hooks.move_to_end(handle.id, last=False)
        self.__dict__["_hooked"] = True
        return handle

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` before the module's backward; a result replaces ``grad_output``."""
        handle = RemovableHandle(self._backward_pre_hooks)
        self._backward_pre_hooks[handle.id] = hook
        if prepend:
            self._backward_pre_hooks.move_to_end(handle.id, last=False)
        self.__dict__["_hooked"] = True
        return handle

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` once the input gradients are known; a result replaces them."""
        if self._is_full_backward_hook is False:
            raise RuntimeError(_MIXED_MODULE)
        self._is_full_backward_hook = True
        handle = RemovableHandle(self._backward_hooks)
        self._backward_hooks[handle.id] = hook
        if prepend:
            self._backward_hooks.move_to_end(handle.id, last=False)
        self.__dict__["_hooked"] = True
        return handle

    def register_backward_hook(self, hook: Hook) -> RemovableHandle:
        """Deprecated: ``hook`` sees the gradients of the last operation only; use ``register_full_backward_hook``."""
        if self._is_full_backward_hook is True:
            raise RuntimeError(_MIXED_MODULE)
        self._is_full_backward_hook = False
        handle = RemovableHandle(self._backward_hooks)
        self._backward_hooks[handle.id] = hook
        self.__dict__["_hooked"] = True
        return handle

    def _get_backward_hooks(self) -> tuple[list[Hook], list[Hook]]:
        full: list[Hook] = []
        legacy: list[Hook] = []
        if _GlobalKind.full is not None:
            (full if _GlobalKind.full else legacy).extend(global_backward_hooks.values())
        if self._is_full_backward_hook is not None:
            (full if self._is_full_backward_hook else legacy).extend(self._backward_hooks.values())
        return full, legacy

    def _get_backward_pre_hooks(self) -> list[Hook]:
        return [*global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._hooked:
            return self._call_impl(*args, **kwargs)
        if kwargs:
            return self.forward(*args, **kwargs)
        return self.forward(*args)  # without a dictionary to copy

    def _wrapped_call_impl(self, *args: Any, **kwargs: Any) -> Any:
        return self(*args, **kwargs)

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        if not (
            self._backward_hooks
            or self._backward_pre_hooks
            or self._forward_hooks
            or self._forward_pre_hooks
            or global_forward_hooks
            or global_forward_pre_hooks
            or global_backward_hooks
            or global_backward_pre_hooks
        ):
            self.__dict__.pop("_hooked", None)  # all are gone again
            HookMethods._hooked = False
            return self.forward(*args, **kwargs)
        progress = _Progress()
        try:
            return self._call_hooked(progress, args, kwargs)
        except Exception:
            if self._forward_hooks_always_called or global_forward_hooks_always_called:
                self._call_remaining(progress, args, kwargs)
            raise

    def _call_hooked(self, progress: _Progress, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """One forward with all hooks."""
        for number, hook in [*global_forward_pre_hooks.items(), *self._forward_pre_hooks.items()]:
            if number in self._forward_pre_hooks_with_kwargs:
                replaced = hook(self, args, kwargs)
                if replaced is not None:
                    if not (isinstance(replaced, tuple) and len(replaced) == 2):
                        raise RuntimeError(
                            "forward pre-hook must return None or a tuple "
                            f"of (new_args, new_kwargs), but got {replaced}."
                        )
                    args, kwargs = replaced
            else:
                replaced = hook(self, args)
                if replaced is not None:
                    args = replaced if isinstance(replaced, tuple) else (replaced,)

        full, legacy = self._get_backward_hooks()
        pre = self._get_backward_pre_hooks()
        backward = BackwardHook(self, full, pre) if full or pre else None
        if backward is not None:
            args = backward.setup_input_hook(args)
        result = progress.result = self.forward(*args, **kwargs)
        for number, hook in [*global_forward_hooks.items(), *self._forward_hooks.items()]:
            if number in self._forward_hooks_always_called or number in global_forward_hooks_always_called:
                progress.ran.add(number)
            if number in self._forward_hooks_with_kwargs or number in global_forward_hooks_with_kwargs:
                replaced = hook(self, args, kwargs, result)
            else:
                replaced = hook(self, args, result)
            if replaced is not None:
                result = progress.result = replaced
        if backward is not None:
            if not isinstance(result, (Tensor, tuple)):
                warnings.warn(
                    "For backward hooks to be called, module output should be a Tensor or a tuple of "
                    f"Tensors but received {type(result)}",
                    stacklevel=2,
                )
            result = backward.setup_output_hook(result)
        if legacy:
            legacy_backward_hooks(self, legacy, args, result)
        return result

    def _call_remaining(self, progress: _Progress, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """After an error: the always-called hooks that have not run yet, with the last result known, or None."""
        for scope, hooks, always, with_kwargs in (
            (
                "global module forward hook",
                global_forward_hooks,
                global_forward_hooks_always_called,
                global_forward_hooks_with_kwargs,
            ),
            (
                "module forward hook",
                self._forward_hooks,
                self._forward_hooks_always_called,
                self._forward_hooks_with_kwargs,
            ),
        ):
            for number, hook in list(hooks.items()):
                if number not in always or number in progress.ran:
                    continue
                try:
                    if number in with_kwargs:
                        hook(self, args, kwargs, progress.result)
                    else:
                        hook(self, args, progress.result)
                except Exception as error:
                    warnings.warn(
                        f"{scope} with ``always_call=True`` raised an exception "
                        f"that was silenced as another error was raised in forward: {error}",
                        stacklevel=2,
                    )


def _register_global(hooks: OrderedDict[int, Hook], hook: Hook, extra: Any = None) -> RemovableHandle:
    handle = RemovableHandle(hooks) if extra is None else RemovableHandle(hooks, extra_dict=extra)
    hooks[handle.id] = hook
    HookMethods._hooked = True
    return handle


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, args)`` before the forward of every module."""
    return _register_global(global_forward_pre_hooks, hook)


def register_module_forward_hook(
    hook: Hook, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call ``hook(module, args, output)`` after the forward of every module."""
    handle = _register_global(
        global_forward_hooks, hook, [global_forward_hooks_with_kwargs, global_forward_hooks_always_called]
    )
    if with_kwargs:
        global_forward_hooks_with_kwargs[handle.id] = True
    if always_call:
        global_forward_hooks_always_called[handle.id] = True
    return handle


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` before the backward of every module."""
    return _register_global(global_backward_pre_hooks, hook)


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` in the backward of every module."""
    if _GlobalKind.full is False:
        raise RuntimeError(_MIXED_GLOBAL)
    _GlobalKind.full = True
    return _register_global(global_backward_hooks, hook)


def register_module_backward_hook(hook: Hook) -> RemovableHandle:
    """Deprecated: see ``Module.register_backward_hook``."""
    if _GlobalKind.full is True:
        raise RuntimeError(_MIXED_GLOBAL)
    _GlobalKind.full = False
    return _register_global(global_backward_hooks, hook)


def register_module_parameter_registration_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, name, parameter)`` whenever a parameter is registered; a result replaces it."""
    return _register_registration(global_parameter_registration_hooks, hook)


def register_module_buffer_registration_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, name, buffer)`` whenever a buffer is registered; a result replaces it."""
    return _register_registration(global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, name, submodule)`` whenever a child is registered; a result replaces it."""
    return _register_registration(global_module_registration_hooks, hook)


def _register_registration(hooks: OrderedDict[int, Hook], hook: Hook) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle
