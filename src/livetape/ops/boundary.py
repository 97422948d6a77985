"""The public functions and methods: a wrong call of one gives torch's error, in torch's words.

Whatever a call fails with, its arguments are held here, where it comes in from the program, against the signatures that
torch has for it: if they fit none, that is the error. Operations call each other without this. Where no signature is
recorded, or one fits, Python's errors, of a missing argument or of a list that has no `array`, are put in torch's words;
what an operation refuses itself, it words itself.
"""

from __future__ import annotations

import functools
import re
import types
from collections.abc import Callable
from typing import Any

from livetape._tape.explain import note_call, noted, type_name
from livetape._tape.modes import state
from livetape._tape.overriding import MISSED, offer, offered, rescue
from livetape._tape.tensor import TensorBase
from livetape.kernels.compiled import native
from livetape.ops.signatures import refusal

_MADE: dict[Any, Any] = {}
ALSO: dict[Any, str] = {}  # the second module in which programs find a function
_POSITION = re.compile(r"\w+\(\): argument '(\w+)'( \(position -?\d+\)) must be ")
_HINT = "livetape: {} makes a tensor of it."
_NUMPY = {"dim": "axis", "keepdim": "keepdims"}


class Boundary:
    """A function of the public interface, which explains what was wrong with its arguments.

    The twin of the class in C++, which is used where there is one.
    """

    __slots__ = ("__weakref__", "__wrapped__", "_explain", "_module", "_name")

    def __init__(self, function: Callable[..., Any], explain: Callable[..., Exception], module: str, name: str) -> None:
        self.__wrapped__ = function
        self._explain = explain
        self._module, self._name = module, name

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if state.overriding:
            answer = offer(self, args, kwargs)
            if answer is not MISSED:
                return answer
        try:
            return self.__wrapped__(*args, **kwargs)
        except Exception as error:
            answer = rescue(self, args, kwargs)
            if answer is not MISSED:
                return answer
            if error.__traceback__ is not None:
                error.__traceback__ = error.__traceback__.tb_next  # without this frame
            better = self._explain(self.__wrapped__, args, kwargs, error)
            if better is error:
                del better  # or this frame and the error would keep each other
                raise
        try:
            raise better
        finally:
            del better

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __getattribute__(self, name: str) -> Any:
        own = object.__getattribute__
        if name == "__module__":
            return own(self, "_module")
        return own(self, name) if name in _OWN else getattr(own(self, "__wrapped__"), name)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)

    def __reduce__(self) -> str:  # pickled by name, like any function
        return self._name

    def __copy__(self) -> Boundary:
        return self

    def __deepcopy__(self, memo: Any) -> Boundary:
        return self


_OWN = {"__call__", "__class__", "__copy__", "__deepcopy__", "__get__", "__reduce__", "__reduce_ex__", "__wrapped__"}
_OWN |= {"_explain", "_name"}
if native is None:
    checked: Any = Boundary
else:
    checked = native.Boundary
    native.offer_to(offer, rescue, MISSED)
    offered.arming.append(native.arm)


def publish(names: dict[str, Any], listed: list[str], module: str, prefix: str = "") -> None:
    """Put the functions ``listed`` in a module's ``names`` behind a boundary: one for each function and prefix.

    module    where the program finds them
    prefix    what messages put before their names: torch says linalg_inv
    """
    for name in listed:
        function = names[name]
        if isinstance(function, types.FunctionType):  # compiled rows check their arguments themselves
            made = _MADE.get((function, prefix + name))
            if made is None:
                explain = functools.partial(explained, prefix + name)
                made = _MADE[function, prefix + name] = checked(function, explain, module, name)
            else:
                ALSO[made] = module
            names[name] = made


def publish_plain(names: dict[str, Any], listed: list[str], module: str) -> None:
    """The same for functions whose errors need no other words, because torch's are written in Python as well."""
    for name in listed:
        function = names[name]
        if isinstance(function, types.FunctionType):
            made = _MADE.get((function, module + name))
            if made is None:
                if function.__name__ == "functional_" + name:  # beside another of torch's own functions
                    function.__name__ = function.__qualname__ = name
                made = _MADE[function, module + name] = checked(function, _as_it_is, module, name)
            offered.in_python.add(made)
            names[name] = made


def _as_it_is(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception) -> Exception:
    return error


def bind(owner: type) -> None:
    """The same for the methods of a class, whose first argument is the tensor that they are called on."""
    for name, function in list(vars(owner).items()):
        if isinstance(function, types.FunctionType) and not name.startswith("__"):
            setattr(owner, name, as_method(name, function))


def as_method(name: str, function: Any) -> Any:
    """A function behind a boundary, as a method of tensors."""
    return checked(function, functools.partial(explained, "." + name), "livetape", "Tensor." + name)


def shorten(shortcuts: list[tuple[Any, Any, int]], owner: type) -> None:
    """Let compiled shortcuts answer the usual calls of public functions and of the methods of ``owner``.

    shortcuts    the function, what is tried in its place, and how many arguments that takes at most
    """
    if native is None:
        return
    known = {function: (shortcut, limit) for function, shortcut, limit in shortcuts}
    for boundary in (*_MADE.values(), *vars(owner).values()):
        if type(boundary) is checked and boundary.__wrapped__ in known:
            native.shorten(boundary, *known[boundary.__wrapped__])


def explained(name: str, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception) -> Exception:
    """Torch's error for Python's, or ``error`` itself.

    name    what messages call the function; with a dot before it, it is a method
    """
    method = name.startswith(".")
    refused = refusal(name, args[1:] if method else args, kwargs)
    if refused is not None:
        return _in_place_of(error, refused, name.lstrip("."), [*args, *kwargs.values()])
    if not isinstance(error, (TypeError, AttributeError)):
        return error
    name = name.lstrip(".")
    code = _behind(function).__code__
    if isinstance(error, AttributeError):
        return _not_a_tensor(name, code, args, kwargs, error, method) or error
    if not _began(error):
        return _wrong_number(name, _behind(function), args, kwargs, method) or error
    _count_as_called(code, args, kwargs, error, method)
    return error


def _in_place_of(error: Exception, refused: TypeError, name: str, values: list[Any]) -> TypeError:
    """The error of a call that fits no signature, with the notes of the one that it led to."""
    for note in getattr(error, "__notes__", ()):
        if not note.startswith("livetape: in "):
            refused.add_note(note)
    if str(refused).endswith("must be Tensor, not numpy.ndarray"):
        refused.add_note(_HINT.format("torch.from_numpy(x) or torch.tensor(x)"))
    elif "must be Tensor, not " in str(refused):
        refused.add_note(_HINT.format("torch.tensor(x)"))
    note_call(refused, name, values)
    return refused


def _began(error: Exception) -> bool:
    """Whether the function ran, and not only one that hands all its arguments on."""
    entry = error.__traceback__
    while entry is not None:
        code = entry.tb_frame.f_code
        if code.co_argcount or code.co_flags & 12 != 12:  # not *args, **kwargs
            return True
        entry = entry.tb_next
    return False


def _behind(function: Any) -> Any:
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


def _not_a_tensor(
    name: str, code: types.CodeType, args: tuple[Any, ...], kwargs: dict[str, Any], error: AttributeError, method: bool
) -> Exception | None:
    """The error for an argument that was used like a tensor and is none."""
    value = error.obj
    if isinstance(value, (TensorBase, types.ModuleType)) or (value is None and error.name is None):
        return None
    for index, given in enumerate(args):
        if given is value and not (method and index == 0):
            if index >= code.co_argcount:
                return None
            where = f" (position {index if method else index + 1})"
            return _must_be_tensor(name, code.co_varnames[index], where, value)
        if isinstance(given, (list, tuple)):
            for at, element in enumerate(given):
                if element is value:
                    place = index - 1 if method else index
                    text = f"expected Tensor as element {at} in argument {place}, but got {type_name(value)}"
                    return noted(TypeError(text))
    for key, given in kwargs.items():
        if given is value:
            return _must_be_tensor(name, key, "", value)
    return None


def _count_as_called(
    code: types.CodeType, args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception, method: bool
) -> None:
    """Correct the position of an argument in a message: methods do not count their tensor, names have no position."""
    found = _POSITION.match(str(error))
    if found is None:
        return
    argument, position = found.groups()
    names = code.co_varnames[: code.co_argcount]
    text = str(error)
    if argument in kwargs or _NUMPY.get(argument) in kwargs:
        given = kwargs.get(argument, kwargs.get(_NUMPY.get(argument, "")))
        text = re.sub("but found element of type .* at pos 0", f"not {type_name(given)}", text.replace(position, ""))
    elif argument in names or (names and code.co_flags & 4):  # *args
        index = names.index(argument) if argument in names else len(names)
        if index < len(args):
            text = text.replace(position, f" (position {index if method else index + 1})")
    error.args = (text,)


def _must_be_tensor(name: str, argument: str, where: str, value: Any) -> TypeError:
    error = TypeError(f"{name}(): argument '{argument}'{where} must be Tensor, not {type_name(value)}")
    hint = "torch.from_numpy(x) or torch.tensor(x)" if type_name(value) == "numpy.ndarray" else "torch.tensor(x)"
    noted(error).add_note(_HINT.format(hint))
    return error


def _wrong_number(
    name: str, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], method: bool
) -> Exception | None:
    """The error for a call whose arguments do not fit the function's parameters."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    defaults = len(function.__defaults__ or ())
    required = names[: len(names) - defaults]
    first = 1 if method else 0
    missing = [n for n in required[len(args) :] if n not in kwargs]
    known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    if missing:
        plural = "s" if len(missing) == 1 else ""  # sic
        shown = ", ".join([f'"{n}"' for n in missing])
        return noted(TypeError(f"{name}() missing {len(missing)} required positional argument{plural}: {shown}"))
    takes = len(names) - first
    if method and takes == 0:
        count = len(args) - first
        given = "keyword arguments" if kwargs else f"arguments ({count} given)"
        return noted(TypeError(f"TensorBase.{name}() takes no {given}"))
    if len(args) > len(names) and all(name in known for name in kwargs):
        low = len(required) - first
        number = f"{takes}" if low == takes else f"from {low} to {takes}"
        plural = "" if takes == 1 else "s"
        were = "was" if len(args) - first == 1 else "were"
        return noted(
            TypeError(f"{name}() takes {number} positional argument{plural} but {len(args) - first} {were} given")
        )
    return None
