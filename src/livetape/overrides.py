"""Classes and modes that answer calls of torch's functions themselves (source: ``torch.overrides``).

A class does by a classmethod ``__torch_function__(cls, func, types, args=(), kwargs=None)``; it need not be a tensor. A
mode does for all calls while it is entered.

>>> import livetape as torch
>>> class Seconds(torch.Tensor):
...     pass
>>> Seconds([1., 2.]).mean() * 2
Seconds(3.)
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import types
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import livetape
from livetape import fft, linalg, overridable, special
from livetape._tape.overriding import NO_CLASSES, OFF, ONCE, answers, arm, ask, asked, local, offered
from livetape.nn import functional
from livetape.tensor import Tensor

__all__ = [
    "BaseTorchFunctionMode",
    "TorchFunctionMode",
    "enable_reentrant_dispatch",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "redispatch_function",
    "resolve_name",
    "wrap_torch_function",
]

arm()  # methods are the same objects from now on: programs keep them in tables

# Functions that take no tensors, or make one of any value.
_IGNORED = (
    "arange as_strided as_tensor asarray bartlett_window blackman_window broadcast_shapes can_cast empty "
    "empty_permuted empty_strided eye fill finfo from_file from_numpy frombuffer full get_default_dtype "
    "hamming_window hann_window iinfo initial_seed is_grad_enabled is_inference_mode_enabled is_storage is_tensor "
    "kaiser_window linspace load logspace legacy_tensor manual_seed normal ones promote_types rand rand_like randint "
    "randint_like randn randn_like randperm range result_type save scalar_tensor seed set_default_device "
    "set_default_tensor_type set_printoptions tensor tril_indices triu_indices typename vander vmap zeros"
).split()
_IGNORED_METHODS = (
    "as_subclass __delitem__ __dir__ __hash__ __init__ __init_subclass__ __iter__ __new__ __torch_function__ "
    "_make_subclass new new_empty new_empty_strided new_full new_ones new_tensor new_zeros stride unflatten"
).split()


# ---------------------------------------------------------------- who answers
def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether a mode is entered or the class of an argument answers calls (source: the torch function of that name)."""
    if local.functions == OFF:
        return False
    if local.function_modes:
        return True
    return local.functions < NO_CLASSES and any(answers(type(value)) for value in relevant_args)


def has_torch_function_unary(argument: Any) -> bool:
    """`has_torch_function` for a single argument."""
    return has_torch_function((argument,))


def has_torch_function_variadic(*relevant_args: Any) -> bool:
    """`has_torch_function` for arguments that are not in a tuple."""
    return has_torch_function(relevant_args)


def is_tensor_like(inp: Any) -> bool:
    """Whether this is a tensor, or of a class that has a ``__torch_function__``."""
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """The answer to ``public_api(*args, **kwargs)`` of modes and of the classes of ``relevant_args``.

    They are asked in order: the newest mode, then subclasses before their bases, then from left to right. TypeError
    if all return NotImplemented.
    """
    return ask(public_api, asked(relevant_args, True), args, kwargs, True)


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator for functions that classes and modes may answer; ``dispatcher`` gives the relevant ones of its arguments.

    >>> import livetape as torch
    >>> @torch.overrides.wrap_torch_function(lambda a, b: (a, b))
    ... def apart(a, b):
    ...     return (a - b).abs()
    >>> apart(torch.tensor(1.), torch.tensor(3.))
    tensor(2.)
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant_args = dispatcher(*args, **kwargs)
            if has_torch_function(relevant_args):
                return handle_torch_function(wrapped, relevant_args, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped

    return decorate


def redispatch_function(func: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
    """``func(*args, **kwargs)``, not answered by classes and modes itself; what it calls in turn is offered to them."""
    before = local.functions
    if before == 0:
        local.functions = ONCE
    try:
        return func(*args, **(kwargs or {}))
    finally:
        local.functions = before


@contextlib.contextmanager
def enable_reentrant_dispatch() -> Iterator[None]:
    """For use within ``__torch_dispatch__``, which livetape does not call: RuntimeError, as anywhere else in torch."""
    raise RuntimeError("Accessing torch dispatch state outside of '__torch_dispatch__' is not allowed.")
    yield


# ---------------------------------------------------------------- modes
class TorchFunctionMode:
    """A mode: while it is entered, its ``__torch_function__`` answers all calls, but for those that it makes itself.

    >>> import livetape as torch
    >>> class Loud(torch.overrides.TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(torch.overrides.resolve_name(func))
    ...         return func(*args, **(kwargs or {}))
    >>> with Loud():
    ...     x = torch.ones(2) + 1
    torch.ones
    torch.Tensor.add
    """

    def __init__(self) -> None:
        pass

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        local.function_modes = (*local.function_modes, self)
        return self

    def __exit__(self, *error: Any) -> None:
        local.function_modes = local.function_modes[:-1]

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """An object of the class; it need not be entered by this name any more."""
        warnings.warn(
            "`Mode.push()` is no longer necessary and can be replaced with just `with Mode()`",
            UserWarning,
            stacklevel=2,
        )
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that answers every call by making it."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def _get_current_function_mode() -> Any:
    return local.function_modes[-1] if local.function_modes else None


def _get_current_function_mode_stack() -> list[Any]:
    return list(local.function_modes)


# ---------------------------------------------------------------- what can be answered
@functools.cache
def get_default_nowrap_functions() -> set[Any]:
    """The functions whose results `Tensor.__torch_function__` leaves as they are."""
    return {Tensor._base.__get__, Tensor.grad.__get__, Tensor._grad.__get__}  # type: ignore[attr-defined]


@functools.cache
def get_ignored_functions() -> set[Any]:
    """Public functions that classes cannot answer."""
    found = {getattr(livetape, name) for name in _IGNORED if hasattr(livetape, name)}
    return found | {getattr(Tensor, name) for name in _IGNORED_METHODS if hasattr(Tensor, name)}


@functools.cache
def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """The functions that classes and modes can answer, by module or class."""
    ignored = get_ignored_functions()
    found: dict[Any, list[Callable[..., Any]]] = {}
    for module, names in (
        (livetape, livetape.ops.__all__),
        (functional, functional.__all__),
        (linalg, linalg.__all__),
        (fft, fft.__all__),
        (special, special.__all__),
    ):
        functions = [getattr(module, name) for name in names if hasattr(getattr(module, name), "__wrapped__")]
        found[module] = [function for function in functions if function not in ignored]
    found[Tensor] = [
        method
        for name in dir(Tensor)
        if isinstance(method := getattr(Tensor, name), types.FunctionType) or hasattr(method, "__wrapped__")
        if method not in ignored and (name.startswith("__") or not name.startswith("_"))
    ]
    for attribute in overridable.ATTRIBUTES:
        found[attribute] = [attribute.__get__]
    return found


@functools.cache
def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., Any]]:
    """For each function that can be answered, one of the same signature that gives -1."""
    found: dict[Callable[..., Any], Callable[..., Any]] = {}
    for functions in get_overridable_functions().values():
        for function in functions:
            found[function] = _constant(function)
    return found


def _constant(function: Callable[..., Any]) -> Callable[..., Any]:
    def constant(*args: Any, **kwargs: Any) -> int:
        return -1

    with contextlib.suppress(TypeError, ValueError):
        constant.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return constant


@functools.cache
def _methods() -> set[Any]:
    return {method for name in dir(Tensor) if callable(method := getattr(Tensor, name))}


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether a function is a method of tensors, or reads one of their properties."""
    return func.__name__ == "__get__" or func in _methods()


def resolve_name(f: Callable[..., Any]) -> str | None:
    """The name of a function that can be answered, such as torch.Tensor.add; None for others.

    >>> import livetape as torch
    >>> torch.overrides.resolve_name(torch.Tensor.T.__get__), torch.overrides.resolve_name(len)
    ('torch.Tensor.T.__get__', None)
    """
    if isinstance(f, types.MethodWrapperType):
        return offered.name_of(f) if getattr(f, "__self__", None) in overridable.ATTRIBUTES else None
    return overridable.resolved(f)
