"""Calls that a program's own classes and modes answer in place of the function that was called.

A class does so by a ``__torch_function__``, a mode by entering (see `livetape.overrides`). None of this is looked at
before a program has such a class or mode: `arm` then lets the public functions and class Tensor `offer` their calls.
"""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable
from typing import Any, Final

from livetape import thread_modes
from livetape._tape.modes import state
from livetape._tape.tensor import factory
from livetape.dtypes import dtype

local: Final[Any] = thread_modes.local

ON: Final = 0
NO_CLASSES: Final = 1  # only modes are asked
OFF: Final = 2
ONCE: Final = -1  # the next call is not offered, those after it are

MISSED: Final[Any] = object()  # nobody answers this call
_BASIC: Final[Any] = frozenset((int, float, bool, str, type(None), complex, slice, type(...), dtype))
_PLAIN_METHOD: Final = (
    "Defining your `__torch_function__` as a plain method is deprecated and will be an error in future, please define "
    "it as a classmethod."
)


class Offered:
    """What is known of the functions whose calls are offered, filled in by the floors above when it is first needed."""

    __slots__ = ("arming", "by_self", "from_modes", "in_python", "name_of", "never", "unlike")

    def __init__(self) -> None:
        self.arming: list[Callable[[], None]] = []  # what `arm` does
        self.never: set[Any] = set()  # functions that nobody may answer
        self.from_modes: set[Any] = set()  # functions that take no tensors: modes alone may answer
        self.in_python: set[Any] = (
            set()
        )  # functions that torch writes in Python: their handlers get all options by name
        self.by_self: set[Any] = set()  # methods that only the tensor's own class may answer
        self.unlike: dict[str, tuple[int, tuple[str, ...]]] = {}  # those of `in_python` that have other parameters than
        # torch's: how many of them get no default, and which are left out
        self.name_of: Any = repr  # the name of a function in messages


offered: Final = Offered()


def _disabled_torch_function_impl(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The ``__torch_function__`` of classes that do not take part (source: ``torch._C._disabled_torch_function_impl``)."""
    before = local.functions
    local.functions = max(before, NO_CLASSES)
    try:
        return func(*args, **(kwargs or {}))
    finally:
        local.functions = before


def unseen(call: Callable[..., Any], *args: Any) -> Any:
    """``call(*args)``, whose own calls are offered to nobody: the formulas of a backward."""
    before = local.functions
    local.functions = OFF
    try:
        return call(*args)
    finally:
        local.functions = before


def arm() -> None:
    """From now on, calls are offered to classes and modes."""
    if not state.overriding:
        state.overriding = True
        for step in offered.arming:
            step()


def answers(kind: Any) -> bool:
    """Whether a class has a ``__torch_function__`` that takes part. Tensor's own does not count."""
    if kind is factory.tensor or kind in _BASIC:
        return False
    handler = getattr(kind, "__torch_function__", None)
    return handler is not None and handler is not _disabled_torch_function_impl


def _consider(value: Any, found: list[Any], plain: bool) -> None:
    """Add a value to those that are asked, unless its class is there: subclasses first, then from left to right."""
    kind = type(value)
    if not (answers(kind) or (plain and kind is factory.tensor)):
        return
    at = len(found)
    for i, known in enumerate(found):
        other = type(known)
        if other is kind:
            return
        if at == len(found) and issubclass(kind, other):
            at = i
    found.insert(at, value)


def asked(args: Any, plain: bool = False) -> list[Any]:
    """The arguments, and elements of lists among them, whose classes are asked to answer, one of a class, in order.

    plain    count tensors of no subclass too
    """
    found: list[Any] = []
    for value in args:
        if isinstance(value, (tuple, list)):
            for element in value:
                _consider(element, found, plain)
        else:
            _consider(value, found, plain)
    return found


def concerns(args: Any, kwargs: dict[str, Any]) -> bool:
    """Whether there is an argument whose class may answer: a quick look before `asked`."""
    tensor = factory.tensor
    for value in (*args, *kwargs.values()) if kwargs else args:
        kind = type(value)
        if kind is tensor or kind in _BASIC:
            continue
        if isinstance(value, (tuple, list)):
            for element in value:
                if answers(type(element)):
                    return True
        if answers(kind):
            return True
    return False


def offer(public: Any, args: tuple[Any, ...], kwargs: dict[str, Any], own: bool = False) -> Any:
    """What the modes and classes that a call concerns make of it; `MISSED` if there are none.

    own    the first argument is asked whatever its class: torch's properties do
    """
    functions = local.functions
    if functions == OFF:
        return MISSED
    if functions == ONCE:
        local.functions = ON
        return MISSED
    modes = local.function_modes
    if not modes and (functions != ON or not concerns(args, kwargs)):
        return MISSED
    if public in offered.never or (not modes and public in offered.from_modes):
        return MISSED
    python = public in offered.in_python
    if python:
        args, kwargs = by_name(public, args, kwargs)
    if own or public in offered.by_self:
        if not modes and not answers(type(args[0])):
            return MISSED
        found = [args[0]]
    elif functions != ON:
        found = []
    else:
        found = asked((*args, *kwargs.values()), python)
    return ask(public, found, args, kwargs, python)


def by_name(public: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments as torch's functions in Python hand them on: those that have a default by name, with the defaults."""
    function = public
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = getattr(function, "__code__", None)
    if code is None:
        return args, kwargs
    count = code.co_argcount
    names = code.co_varnames[: count + code.co_kwonlyargcount]
    defaults = function.__defaults__ or ()
    required, hidden = offered.unlike.get(offered.name_of(public), (count - len(defaults), ()))
    optional = names[required:count]
    named = dict(zip(optional, defaults[len(defaults) - len(optional) :]))
    named.update(function.__kwdefaults__ or {})
    if len(args) > count:  # *args
        return args, {**named, **kwargs}
    for name, value in zip(names[required:count], args[required:]):
        named[name] = value
    placed = list(args[:required])
    rest = dict(kwargs)
    for name in names[len(placed) : required]:
        if name not in rest:
            return args, kwargs  # a wrong call: the function itself will say so
        placed.append(rest.pop(name))
    named.update(rest)
    for name in hidden:
        named.pop(name, None)
    return tuple(placed), named


def ask(public: Any, found: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any], python: bool) -> Any:
    """The answer of the newest mode, or of the first class that has one; TypeError if none has."""
    kinds = tuple([type(value) for value in found])
    given: tuple[Any, ...] = (args, kwargs) if kwargs or python else (args,)
    modes = local.function_modes
    mode: Any = None
    if modes:
        mode = modes[-1]
        local.function_modes = modes[:-1]
        try:
            answer = mode.__torch_function__(public, kinds, *given)
        finally:
            local.function_modes = modes
        if answer is not NotImplemented:
            return answer
    if mode is None or python:
        if len(found) == 1 and type(found[0]) is factory.tensor:
            found = []
        for value in found:
            handler = value.__torch_function__
            if isinstance(handler, types.MethodType) and handler.__self__ is value:
                warnings.warn(_PLAIN_METHOD, UserWarning, stacklevel=2)
            answer = handler(public, kinds, *given)
            if answer is not NotImplemented:
                return answer
    raise TypeError(_unanswered(public, found, mode, python))


def _unanswered(public: Any, found: list[Any], mode: Any, python: bool) -> str:
    """The message when all those asked have returned NotImplemented."""
    name = offered.name_of(public)
    if python:
        shown = f"[{', '.join([repr(type(value)) for value in found])}]"
        text = f"no implementation found for '{name}' on types that implement __torch_function__: {shown}"
        return text if mode is None else f"{text} nor in mode {mode!r}"
    if mode is not None:
        lines = [f"  - mode object {mode!r}\n"]
    else:
        lines = [f"  - tensor subclass {type(value)!r}\n" for value in found]
    return (
        f"Multiple dispatch failed for '{name}'; all __torch_function__ handlers returned NotImplemented:\n\n"
        f"{''.join(lines)}\nFor more information, try re-running with TORCH_LOGS=not_implemented"
    )


def rescue(public: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The answer to a call that has failed, if a class that is no tensor has one: what nobody has looked for yet."""
    if state.overriding or not concerns(args, kwargs):
        return MISSED
    arm()
    return offer(public, args, kwargs)
