"""What torch's built-in functions take, and its words for a call that fits none of a function's signatures.

Nothing here is read until a call has failed: then the call is held against the recorded signatures of its function, in
the order in which torch tries them, and if none fits the error says so as torch does.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import numpy as np

from livetape._tape.explain import noted, type_name
from livetape._tape.tensor import TensorBase
from livetape._tape.views import needs_gradient
from livetape.ops.dims import is_integer

_PARAMETER = re.compile(r"(?P<kind>.+?)(?P<size>/\d+|/n)?(?P<none>\?)? (?P<name>\w+)(?: = (?P<default>.*))?")
_MARK = re.compile(r"(/\d+|/n)?\??(?= \w+( = |, |\)))")
_OTHER_NAMES = {"dim": ("axis",), "keepdim": ("keepdims",), "input": ("x", "a", "x1"), "other": ("x2",)}
_PYTHON_TYPES = (float, int, bool, complex)
_MISMATCH = "      didn't match because some of the "


class Parameter:
    """One parameter of a signature."""

    __slots__ = ("keyword_only", "kind", "name", "none", "numbers", "optional", "size")

    def __init__(self, text: str, keyword_only: bool) -> None:
        found = _PARAMETER.fullmatch(text)
        assert found is not None, text
        self.name, self.kind = found["name"], found["kind"]
        self.optional = found["default"] is not None
        self.none = found["default"] == "None" or found["none"] is not None
        self.numbers = found["size"] == "/n"
        self.size = found["size"] is not None and not self.numbers
        self.keyword_only = keyword_only

    def of(self, keywords: dict[str, Any]) -> tuple[str, Any]:
        """The name by which it is among the keyword arguments, and its value there."""
        for name in (self.name, *_OTHER_NAMES.get(self.name, ())):
            if name in keywords:
                return name, keywords[name]
        return "", None

    def takes(self, value: Any, index: int) -> bool:
        """Whether ``value`` is of the right type; TypeError for a list with something else than tensors in it."""
        kind = self.kind
        if kind.startswith("tuple of "):
            return self._takes_list(kind.removeprefix("tuple of "), value, index)
        if kind == "Tensor":
            return is_tensor(value) or (self.numbers and _is_number(value, complex))
        if kind == "int":
            return _is_int(value)
        if kind in ("Number", "float"):
            if isinstance(value, TensorBase):
                return value.array.ndim == 0 and not needs_gradient(value)
            return _is_number(value, complex if kind == "Number" else float)
        if kind == "bool":
            return isinstance(value, bool)
        if kind == "str":
            return isinstance(value, str)
        if kind == "torch.dtype":
            return type_name(value) == kind or any(value is one for one in _PYTHON_TYPES)
        if kind == "torch.device":
            return isinstance(value, str) or is_integer(value) or type_name(value) == kind
        if kind in ("torch.layout", "torch.memory_format"):
            return type_name(value) == kind
        if kind == "torch.Generator":
            return type(value).__name__ == "Generator"
        if kind == "torch.Storage":
            return type(value).__name__.endswith("Storage")
        return True

    def _takes_list(self, element: str, value: Any, index: int) -> bool:
        if not isinstance(value, (tuple, list)):
            return self.size and element == "ints" and _is_int(value)
        if element == "Tensors":
            for at, one in enumerate(value):
                if not is_tensor(one):
                    text = f"expected Tensor as element {at} in argument {index}, but got {type_name(one)}"
                    raise noted(TypeError(text))
            return True
        if element == "ints":
            return not value or _may_begin(value[0])
        if element == "Scalars":
            return all(isinstance(one, TensorBase) or _is_number(one, complex) for one in value)
        if element == "floats":
            return not value or isinstance(value[0], TensorBase) or _is_number(value[0], complex)
        return True


class Signature:
    """One signature: its parameters, and how errors write it."""

    def __init__(self, text: str) -> None:
        self.shown = _MARK.sub("", text)
        plain, _, named = text[1:-1].partition("*")
        parameters = [Parameter(part, False) for part in _split(plain)]
        self.plain = len(parameters)
        self.parameters = parameters + [Parameter(part, True) for part in _split(named)]
        self.required = len([p for p in self.parameters if not p.optional])
        # The part of torch that says which argument was wrong knows no defaults and takes "*" for a parameter.
        self.pieces = [piece.rpartition(" ")[::2] for piece in self.shown[1:-1].split(", ")]

    def misfit(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        """What is wrong with a call, or None."""
        given = len(args)
        spread = self.plain == 1 and self.parameters[0].kind == "tuple of ints"
        if given > self.plain and not spread:
            return self._too_many(name, given)
        at = used = 0
        for index, parameter in enumerate(self.parameters):
            if at < given:
                if parameter.keyword_only:
                    return self._too_many(name, given)
                keyword, value, absent = "", args[at], False
            else:
                keyword, value = parameter.of(kwargs)
                absent = keyword == ""
            if absent and not parameter.optional:
                return self._missing(name, index)
            if not absent and not (value is None and parameter.none) and not parameter.takes(value, index):
                if not (spread and index == 0 and not keyword and _may_begin(args[0])):
                    if given > self.plain and index == 0:
                        return self._too_many(name, given)
                    return _wrong(name, parameter, value, "" if keyword else f" (position {at + 1})")
                at = given
            elif not absent:
                at += not keyword
                used += keyword != ""
        if at < given:
            return self._too_many(name, given)
        return self._unknown(name, kwargs, given) if used < len(kwargs) else None

    def unreadable(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        """What is wrong with a list of integers beyond its beginning, in a call that fits."""
        for index, parameter in enumerate(self.parameters):
            if parameter.kind == "tuple of ints":
                value = args[index] if index < len(args) else parameter.of(kwargs)[1]
                if self.plain == 1 and index == 0 and args and not isinstance(value, (tuple, list)):
                    value = args
                for at, one in enumerate(value if isinstance(value, (tuple, list)) else ()):
                    if not isinstance(one, bool) and not _may_begin(one):
                        return (
                            f"{name}(): argument '{parameter.name}' failed to unpack the object at pos {at + 1} with "
                            f'error "type must be tuple of ints,but got {type_name(one)}"'
                        )
        return None

    def _too_many(self, name: str, given: int) -> str:
        if self.required != self.plain:
            return f"{name}() takes from {self.required} to {self.plain} positional arguments but {given} were given"
        plural, were = "" if self.plain == 1 else "s", "was" if given == 1 else "were"
        return f"{name}() takes {self.plain} positional argument{plural} but {given} {were} given"

    def _missing(self, name: str, index: int) -> str:
        missing = [f'"{p.name}"' for p in self.parameters[index:] if not p.optional]
        plural = "s" if len(missing) == 1 else ""  # sic
        return f"{name}() missing {len(missing)} required positional argument{plural}: {', '.join(missing)}"

    def _unknown(self, name: str, kwargs: dict[str, Any], given: int) -> str:
        for key in kwargs:
            places = [i for i, p in enumerate(self.parameters) if p.of({key: None})[0]]
            if not places:
                return f"{name}() got an unexpected keyword argument '{key}'"
            if places[0] < given:
                return f"{name}() got multiple values for argument '{key}'"
        return f"{name}() got invalid keyword arguments"

    def counts(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        return len(args) + len(kwargs) == len(self.pieces)

    def wrong_keywords(self, kwargs: dict[str, Any]) -> list[str]:
        known = [name for _, name in self.pieces[len(self.pieces) - len(kwargs) :]]
        return [key for key in _order(kwargs) if key not in known]

    def marked(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """The types of the arguments, each that is not the one asked for between exclamation marks."""
        out = []
        for at, (kind, name) in enumerate(self.pieces):
            value = args[at] if at < len(args) else kwargs[name]
            shown = type_name(value)
            same = shown == kind or (kind == "float" and shown == "int")
            if isinstance(value, (tuple, list)):
                inside = ", ".join([type_name(one) for one in value])
                if isinstance(value, tuple):
                    shown = f"{shown} of ({inside}{',' if len(value) == 1 else ''})"
                else:
                    shown = f"{shown} of [{inside}]"
            shown = shown if at < len(args) else f"{name}={shown}"
            out.append(shown if same else f"!{shown}!")
        text = "".join([f"{one}, " for one in out])
        return f"({text[:-2] if args else text})"


def refusal(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> TypeError | None:
    """The error of a call that fits no signature of ``name``; None if one fits, or if none is known.

    name    as in the recorded list: a method's has a dot before it, and ``args`` are without its tensor; "inner." stands
            before those that torch's functions in Python call
    """
    lines = _table().get(name)
    if lines is None:
        lines = _table().get("def " + name)
        return None if lines is None else _in_python(name, lines[0], args, kwargs)
    signatures = _signatures(lines)
    name = name.rpartition(".")[2]
    try:
        for one in signatures:
            text = one.misfit(name, args, kwargs)
            if text is None:
                text = one.unreadable(name, args, kwargs)
                return None if text is None else TypeError(text)
        count = len(args) + len(kwargs)
        likely = [one for one in signatures if len(lines) == 1 or one.required <= count <= len(one.parameters)]
        if len(likely) == 1:
            return TypeError(likely[0].misfit(name, args, kwargs))
        return TypeError(_no_overload(name, signatures, args, kwargs))
    except TypeError as error:  # of a list that is not of tensors
        return TypeError(str(error))


def _in_python(name: str, parameters: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> TypeError | None:
    """Python's error of a call that does not fit a function's parameters; it names the function by its qualified name."""
    function = eval(f"lambda {parameters[1:-1]}: None")  # of the recorded list alone
    method = name.startswith(".")
    function.__qualname__ = "Tensor" + name if method else name
    try:
        function(*((None, *args) if method else args), **kwargs)
    except TypeError as error:
        return TypeError(str(error))
    return None


def is_tensor(value: Any) -> bool:
    """Whether torch takes ``value`` for a tensor: one, or an object that stands in for one."""
    return isinstance(value, TensorBase) or hasattr(type(value), "__torch_function__")


def _no_overload(name: str, signatures: tuple[Signature, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    named = [f"{key}={type_name(kwargs[key])}" for key in _order(kwargs)]
    got = "".join([f"{one}, " for one in [*map(type_name, args), *named]])
    got = f"got ({got[:-2] if args else got})"
    text = f"{name}() received an invalid combination of arguments - "
    if len(signatures) == 1:
        one = signatures[0]
        if one.counts(args, kwargs):
            wrong = one.wrong_keywords(kwargs)
            got = (
                f"got unrecognized keyword arguments: {', '.join(wrong)}"
                if wrong
                else "got " + one.marked(args, kwargs)
            )
        return f"{text}{got}, but expected {one.shown}"
    text += f"{got}, but expected one of:\n"
    for one in signatures:
        text += f" * {one.shown}\n"
        if one.counts(args, kwargs):
            wrong = one.wrong_keywords(kwargs)
            if wrong:
                text += f"{_MISMATCH}keywords were incorrect: {', '.join(wrong)}\n"
            else:
                text += f"{_MISMATCH}arguments have invalid types: {one.marked(args, kwargs)}\n"
    return text


def _wrong(name: str, parameter: Parameter, value: Any, where: str) -> str:
    text = f"{name}(): argument '{parameter.name}'{where} must be {parameter.kind}, "
    if where and parameter.kind == "tuple of ints" and isinstance(value, (tuple, list)):
        return f"{text}but found element of type {type_name(value[0])} at pos 0"
    return f"{text}not {type_name(value)}"


def _order(kwargs: dict[str, Any]) -> list[str]:
    """Keyword arguments in the order of torch's errors, which is that of a hash table of 13 chains.

    A new one goes to the front, or if its chain is there already, to the front of that.
    """
    names: list[str] = []
    chains: list[int] = []
    for name in kwargs:
        chain = _hash(name.encode()) % 13
        at = chains.index(chain) if chain in chains else 0
        names.insert(at, name)
        chains.insert(at, chain)
    return names


def _hash(text: bytes) -> int:
    """The 64-bit MurmurHash of the standard library that PyTorch is built with."""
    mask, factor = 2**64 - 1, 0xC6A4A7935BD1E995
    found = 0xC70F6907 ^ (len(text) * factor & mask)
    whole = len(text) & ~7
    for at in range(0, whole, 8):
        word = int.from_bytes(text[at : at + 8], "little") * factor & mask
        word = (word ^ (word >> 47)) * factor & mask
        found = (found ^ word) * factor & mask
    if whole < len(text):
        found = (found ^ int.from_bytes(text[whole:], "little")) * factor & mask
    found = (found ^ (found >> 47)) * factor & mask
    return found ^ (found >> 47)


def _may_begin(value: Any) -> bool:
    """Whether a list of integers may begin with ``value``: the others are looked at later."""
    if isinstance(value, TensorBase):
        return value.array.size == 1 and value.array.dtype.kind in "iub"
    return _is_int(value)


def _is_int(value: Any) -> bool:
    return is_integer(value) and not isinstance(value, np.ndarray)


def _is_number(value: Any, largest: type) -> bool:
    if isinstance(value, (int, float, np.integer, np.floating, np.bool_)):
        return True
    return largest is complex and isinstance(value, (complex, np.complexfloating))


def _split(text: str) -> list[str]:
    return [part for part in re.split(r", (?![^\[]*\])", text.strip(", ")) if part]


@functools.cache
def _table() -> dict[str, tuple[str, ...]]:
    """The recorded lines of each name."""
    found: dict[str, list[str]] = {}
    for line in Path(__file__).with_name("signatures.txt").read_text(encoding="utf-8").splitlines():
        name, _, rest = line.partition("(")
        if name.startswith("#"):
            continue
        if rest:
            found.setdefault(name, []).append("(" + rest)
        else:
            found[name.removesuffix("...")].append("...")
    return {name: tuple(lines) for name, lines in found.items()}


@functools.cache
def _signatures(lines: tuple[str, ...]) -> tuple[Signature, ...]:
    return tuple([Signature(line) for line in lines if line != "..."])
