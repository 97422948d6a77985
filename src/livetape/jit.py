"""TorchScript's names (source: ``torch.jit``). There is no TorchScript here: what is scripted or traced runs as Python.

``script`` and ``trace`` give back the function or module itself, so a program that uses them to run faster prints what it
did. Saving such a module is not possible: save its ``state_dict`` with ``torch.save``.
"""

from __future__ import annotations

import builtins
import collections.abc
import contextlib
import typing
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple, NoReturn

from livetape.autograd.grad_mode import no_grad
from livetape.futures import Future
from livetape.nn.modules.module import Module
from livetape.random import get_rng_state, set_rng_state

__all__ = [
    "Attribute",
    "CompilationUnit",
    "Error",
    "Final",
    "Future",
    "ScriptFunction",
    "ScriptModule",
    "TracerWarning",
    "annotate",
    "export",
    "fork",
    "freeze",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "load",
    "optimize_for_inference",
    "optimized_execution",
    "save",
    "script",
    "script_if_tracing",
    "script_method",
    "set_fusion_strategy",
    "strict_fusion",
    "trace",
    "trace_module",
    "unused",
    "wait",
]

_NO_SCRIPT = "livetape runs no TorchScript. Save the module's state_dict with torch.save, and load that."


class Error(RuntimeError):
    """Never raised here; named in ``except`` clauses."""


class TracerWarning(Warning):
    """Never given here; named in filters of warnings."""


class TracingCheckError(Exception):
    """Never raised here; named in ``except`` clauses."""


class ScriptWarning(Warning):
    """Never given here; named in filters of warnings."""


class Attribute(NamedTuple):
    """A value with the type that TorchScript would give it."""

    value: Any
    type: Any


class ScriptModule(Module):
    """A module; nothing is an instance of it unless it says so."""


RecursiveScriptModule = ScriptModule
TopLevelTracedModule = ScriptModule


class ScriptFunction:
    """The class of scripted functions in torch: nothing is an instance of it here."""


class CompilationUnit:
    """Source text of TorchScript: RuntimeError, since none is run here."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse()


def _refuse() -> NoReturn:
    raise RuntimeError(_NO_SCRIPT)


def _deprecated(name: str, instead: str) -> None:
    warnings.warn(f"`torch.jit.{name}` is deprecated. {instead}", DeprecationWarning, stacklevel=3)


_EITHER = "Please switch to `torch.compile` or `torch.export`."
_COMPILE = "Please use `torch.compile` instead."
_EXPORT = "Please switch to `torch.export`."


# ---------------------------------------------------------------- compiling


def script(
    obj: Any,
    optimize: Any = None,
    _frames_up: int = 0,
    _rcb: Any = None,
    example_inputs: Any = None,
) -> Any:
    """The function, module or class itself."""
    _deprecated("script", _EITHER)
    if not callable(obj):
        raise TypeError(f"{type(obj)} is a built-in class")
    return obj


def trace(
    func: Any,
    example_inputs: Any = None,
    optimize: Any = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    _force_outplace: bool = False,
    _module_class: Any = None,
    _compilation_unit: Any = None,
    example_kwarg_inputs: Any = None,
    _store_inputs: bool = True,
) -> Any:
    """The function or module itself, after a run for the example, which leaves the random state alone.

    Unlike torch's traces it decides anew in every call what depends on the values.
    """
    _deprecated("trace", _EITHER)
    args, kwargs = _example(example_inputs), example_kwarg_inputs or {}
    if example_inputs is None and not kwargs:
        raise TypeError("'NoneType' object is not iterable")
    before = get_rng_state()
    with no_grad():
        func(*args, **kwargs)
    set_rng_state(before)
    return func


def _example(inputs: Any) -> tuple[Any, ...]:
    if inputs is None:
        return ()
    return inputs if builtins.isinstance(inputs, tuple) else (inputs,)


def trace_module(
    mod: Any,
    inputs: dict[str, Any],
    optimize: Any = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """The module itself, after a run of the methods that ``inputs`` names."""
    _deprecated("trace_method", _EITHER)
    if not builtins.isinstance(inputs, dict):
        raise AttributeError("expected a dictionary of (method_name, input) pairs")
    before = get_rng_state()
    with no_grad():
        for name, example in inputs.items():
            (mod if name == "forward" else getattr(mod, name))(*_example(example))
    set_rng_state(before)
    return mod


def script_if_tracing(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself."""
    return fn


def script_method(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The method itself."""
    _deprecated("script_method", _EITHER)
    return fn


def is_scripting() -> bool:
    """False."""
    return False


def is_tracing() -> bool:
    """False."""
    return False


# ---------------------------------------------------------------- marks in classes and functions


def export(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The method itself."""
    return fn


def unused(fn: Any) -> Any:
    """The method itself."""
    return fn


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """The method itself, or a decorator that gives it."""
    return drop if callable(drop) else lambda fn: fn


def interface(obj: Any) -> Any:
    """The class itself."""
    _deprecated("interface", _COMPILE)
    return obj


def annotate(the_type: Any, the_value: Any) -> Any:
    """The value itself."""
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether a value, with what it holds, is of a type such as ``list[int]``."""
    if builtins.isinstance(target_type, tuple):
        return any(isinstance(obj, kind) for kind in target_type)
    origin, inner = typing.get_origin(target_type), typing.get_args(target_type)
    if origin is None:
        return builtins.isinstance(obj, target_type)
    if origin is typing.Union or str(origin) == "<class 'types.UnionType'>":
        return any(isinstance(obj, kind) for kind in inner)
    if not builtins.isinstance(obj, origin):
        return False
    if issubclass(origin, tuple):
        if len(inner) == 2 and inner[1] is Ellipsis:
            return all(isinstance(item, inner[0]) for item in obj)
        return len(inner) == len(obj) and all(map(isinstance, obj, inner))
    if issubclass(origin, collections.abc.Mapping):
        return all(isinstance(key, inner[0]) and isinstance(value, inner[1]) for key, value in obj.items())
    return all(isinstance(item, inner[0]) for item in obj)


# ---------------------------------------------------------------- running


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future[Any]:
    """A future of ``func(*args, **kwargs)``, which runs at once."""
    _deprecated("fork", _COMPILE)
    future: Future[Any] = Future()
    try:
        found = func(*args, **kwargs)
    except Exception as error:
        future.set_exception(error)
    else:
        future.set_result(found)
    return future


def wait(future: Future[Any]) -> Any:
    """The value of a future."""
    _deprecated("wait", _COMPILE)
    return future.wait()


def freeze(mod: Any, preserved_attrs: Any = None, optimize_numerics: bool = True, optimize: Any = None) -> Any:
    """The module itself, which must be in evaluation mode."""
    _deprecated("freeze", _COMPILE)
    if mod.training:
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. Please call .eval() on your module before "
            "freezing."
        )
    return mod


def optimize_for_inference(mod: Any, other_methods: Any = None) -> Any:
    """The module itself."""
    _deprecated("optimize_for_inference", _COMPILE)
    return mod


def run_frozen_optimizations(mod: Any, optimize_numerics: bool = True, preserved_methods: Any = None) -> None:
    """Accepted: there is nothing to rewrite."""


def set_fusion_strategy(strategy: Any) -> Any:
    """Accepted: nothing is fused."""
    _deprecated("set_fusion_strategy", _COMPILE)
    return [("STATIC", 2), ("DYNAMIC", 10)]


def enable_onednn_fusion(enabled: bool) -> None:
    """Accepted: nothing is fused."""


def onednn_fusion_enabled() -> bool:
    """False."""
    return False


@contextlib.contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """A context that changes nothing."""
    yield


class strict_fusion(contextlib.nullcontext[None]):
    """A context that changes nothing."""


# ---------------------------------------------------------------- files


def save(m: Any, f: Any, _extra_files: Any = None) -> None:
    """RuntimeError: a file of TorchScript holds its code, which there is none of."""
    _deprecated("save", _EXPORT)
    _refuse()


def load(f: Any, map_location: Any = None, _extra_files: Any = None, _restore_shapes: bool = False) -> Any:
    """RuntimeError: a file of TorchScript holds its code, which is not run here."""
    _deprecated("load", _EXPORT)
    _refuse()
