"""Record the signatures of PyTorch's built-in functions and methods, which its errors about arguments name.

    python tools/record_overloads.py        # with PyTorch; writes src/livetape/ops/signatures.txt

PyTorch is asked for them by calls that fit none: the error of a function with several signatures lists them all. That
of a function with one says no more than its name and number of arguments; it is among the operators' schemas.
The file says how it is written.
"""

from __future__ import annotations

import inspect
import re
import types
import warnings
from pathlib import Path
from typing import Any

import torch

TARGET = Path(__file__).parent.parent / "src/livetape/ops/signatures.txt"
HEAD = """\
# What the built-in functions of PyTorch {version} take, and its methods, whose names begin with a dot: the lines of one
# name are its overloads, in the order in which they are tried. "..." ends the lines of a name that takes more than it
# lists. /N after a type: N integers, of which one stands for all; /n: numbers pass for tensors; ?: None is taken.
# "def": a function written in Python. Written by tools/record_overloads.py.
"""
# These take numbers for tensors; no call tells that of one with several signatures.
NUMBERS = "add sub mul div subtract multiply divide true_divide floor_divide copy to".split()
# No schema has these, or they are behind functions in Python ("inner").
OTHERS = """\
tensor(object data, *, torch.dtype dtype = None, torch.device device = None, bool pin_memory = False, \
bool requires_grad = False, tuple of names names = None)
as_tensor(object data, *, torch.dtype dtype = None, torch.device device = None, bool requires_grad = False)
asarray(object obj, *, torch.dtype dtype = None, torch.device device = None, bool copy = None, \
bool requires_grad = False)
frombuffer(object buffer, *, torch.dtype dtype, int count = -1, int offset = 0, bool requires_grad = False)
.new_tensor(object data, *, torch.dtype dtype = None, torch.device device = None, bool requires_grad = False)
inner.atleast_1d(Tensor input)
inner.atleast_1d(tuple of Tensors tensors)
inner.atleast_2d(Tensor input)
inner.atleast_2d(tuple of Tensors tensors)
inner.atleast_3d(Tensor input)
inner.atleast_3d(tuple of Tensors tensors)
.bincount(Tensor weights = None, int minlength = 0)
.numpy(*, bool force = False)
.polygamma(int n)
.size(int dim = None)
.stride(int dim = None)
"""
CONVERSIONS = "bfloat16 bool byte cdouble cfloat char double float half int long short"
MANY = 40  # more arguments than anything takes
NAMES = {
    "Tensor": "Tensor", "Scalar": "Number", "ScalarType": "torch.dtype", "int": "int", "SymInt": "int",
    "float": "float", "bool": "bool", "str": "str", "Layout": "torch.layout", "Device": "torch.device",
    "MemoryFormat": "torch.memory_format", "Generator": "torch.Generator", "Storage": "torch.Storage",
    "Dimname": "name", "Stream": "Stream",
}  # fmt: skip
LISTS = {
    "Tensor": "tuple of Tensors", "int": "tuple of ints", "SymInt": "tuple of ints", "float": "tuple of floats",
    "Scalar": "tuple of Scalars", "Dimname": "tuple of names", "bool": "tuple of bools",
}  # fmt: skip
FACTORY = (
    "torch.dtype dtype = None", "torch.layout layout = None", "torch.device device = None", "bool pin_memory = False",
)  # fmt: skip
_ARGUMENT = re.compile(r"(\w+(?:\([\w!]+(?: -> \*)?\))?)((?:\[\d*\])?)(\??)((?:\[\])?)(\??) (\w+)(?:=(.*))?")


class Absurd:
    """What no function takes."""


class Argument:
    """One argument in a schema of an operator."""

    def __init__(self, text: str) -> None:
        found = _ARGUMENT.fullmatch(text)
        if found is None:
            raise ValueError(text)
        kind, size, inner, more, outer, self.name, self.default = found.groups()
        self.kind = re.sub(r"\(.*\)", "", kind)
        self.is_list = bool(size or more)
        self.size = size.strip("[]")
        self.optional = bool(outer or (inner and not more))

    def shown(self) -> str:
        kind = LISTS.get(self.kind) if self.is_list else NAMES.get(self.kind)
        if kind is None:
            raise ValueError(self.kind)
        default = "" if self.default is None else f" = {self.default.strip(chr(34))}"
        return f"{kind}{self.marks()} {self.name}{default}"

    def marks(self) -> str:
        size = f"/{self.size}" if self.is_list and self.size and self.kind in ("int", "SymInt", "float") else ""
        return size + ("?" if self.optional and self.default is None else "")


class Schema:
    """A schema of an operator, as text such as ``aten::add(Tensor self, ...) -> Tensor``."""

    def __init__(self, text: str) -> None:
        inside = text[text.index("(") + 1 : text.rindex(") -> ")]
        parts = [part for part in re.split(r", (?![^\[\]]*\])", inside) if part]
        self.plain = len(parts) if "*" not in parts else parts.index("*")
        self.arguments = [Argument(part) for part in parts if part != "*"]
        self.overload = text[: text.index("(")].partition(".")[2]
        changed = [part for part in parts[self.plain :] if re.search(r"\(\w+!\)", part)]
        self.outs = [part.rpartition(" ")[2] for part in changed]  # "out", "values", "indices" and the like


def schemas(name: str) -> list[Schema]:
    found = []
    for one in torch._C._jit_get_schemas_for_operator("aten::" + name):
        try:
            found.append(Schema(str(one)))
        except ValueError:
            continue
    return found


def provoked(function: Any, *args: Any, **kwargs: Any) -> str:
    """What a call says is wrong with it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(*args, **kwargs)
    except Exception as error:
        return str(error)
    return ""


def listed(text: str) -> list[str]:
    """The signatures that an error lists."""
    one = re.search(r", but expected (\(.*\))$", text.strip())
    if one is not None:
        return [one.group(1), "..."]
    return re.findall(r"^ \* (\(.*\))$", text, re.M)


def split(signature: str) -> list[str]:
    return [part for part in re.split(r", (?![^(\[]*[\])])", signature.strip()[1:-1]) if part]


def name_of(parameter: str) -> str:
    return parameter.partition(" = ")[0].rpartition(" ")[2]


def annotated(signature: str, known: list[Schema], method: bool) -> str:
    """A listed signature with what the operator's schema adds to it."""
    if signature == "...":
        return signature
    parts = split(signature)
    names = [name_of(p) for p in parts if p != "*" and name_of(p) not in ("out", "requires_grad", "pin_memory")]
    names = [n for n in names if n not in ("dtype", "layout", "device")]
    best = None
    for schema in known:
        own = [a.name for a in schema.arguments if a.name not in ("dtype", "layout", "device", "pin_memory", "out")]
        if method and own[:1] == ["self"]:
            own = own[1:]
        if [n.replace("input", "self") for n in names] == [n.replace("input", "self") for n in own]:
            best = schema
            break
    if best is None:
        return signature
    marks = {a.name.replace("input", "self"): a.marks() for a in best.arguments}
    out = []
    for part in parts:
        mark = "" if part == "*" or " = None" in part else marks.get(name_of(part).replace("input", "self"), "")
        if mark:
            kind, _, rest = part.partition(" = ")
            kind, _, name = kind.rpartition(" ")
            part = f"{kind}{mark} {name}" + (f" = {rest}" if rest else "")
        elif " = None" in part:
            mark = marks.get(name_of(part), "").replace("?", "")
            kind, _, rest = part.rpartition(f" {name_of(part)} = ")
            part = f"{kind}{mark} {name_of(part)} = {rest}"
        out.append(part)
    return f"({', '.join(out)})"


def takes_out(function: Any, arguments: list[Argument]) -> bool:
    """Whether a function can be called with ``out``: some operators' variants with it are for C++ alone."""
    values = {"Tensor": torch.ones(2), "float": 0.5, "bool": True, "str": ""}
    good = {
        a.name.replace("self", "input"): [values.get(a.kind, 1)] if a.is_list else values.get(a.kind, 1)
        for a in arguments
        if a.default is None
    }
    return "unexpected keyword" not in provoked(function, **good, out=Absurd())


def written(function: Any, text: str, missing: str, known: list[Schema], method: bool) -> str:
    """The only signature of a function, of which errors only tell names and numbers."""
    required = re.findall(r'"(\w+)"', missing)
    count = re.search(r"takes (?:from (\d+) to )?(\d+) positional", text)
    if count is None:
        return ""
    low = int(count.group(1) or count.group(2))
    high = int(count.group(2))
    for schema in known:
        if schema.outs:
            continue
        arguments = schema.arguments
        plain = schema.plain
        if method:
            if not arguments or arguments[0].name != "self":
                continue
            arguments, plain = arguments[1:], plain - 1
        need = [a.name.replace("self", "input") for a in arguments if a.default is None]
        if plain != high or len([a for a in arguments if a.default is None]) != low:
            continue
        if [n.replace("self", "input") for n in required] != need and (required or need):
            continue
        try:
            shown = [a.shown() for a in arguments]
        except ValueError:
            continue
        if not method:
            shown = [
                s.replace(" self", " input") if s == "Tensor self" or s == "tuple of Tensors self" else s for s in shown
            ]
        named = [a.name for a in arguments]
        is_factory = "layout" in named and "pin_memory" in named
        before, after = shown[:plain], shown[plain:]
        outs = [s for s in known if s.outs and not set(s.outs) & set(named)]
        if not method and outs and takes_out(function, arguments):
            several = [s for s in outs if "out" not in [a.name for a in s.arguments]]
            after.insert(0, "tuple of Tensors out = None" if several else "Tensor out = None")
        if is_factory:
            after = [a for a in after if name_of(a) not in ("dtype", "layout", "device", "pin_memory")]
            after += [*FACTORY, "bool requires_grad = False"]
        return f"({', '.join([*before, *(['*', *after] if after else [])])})"
    return ""


def with_numbers(name: str, signature: str) -> str:
    """The signature with marks where a number passes for a tensor."""
    return (
        re.sub(r"Tensor (?=input|other|tensor)", "Tensor/n ", signature) if name.rstrip("_") in NUMBERS else signature
    )


def signatures(name: str, function: Any, method: bool, operator: str) -> list[str]:
    text = provoked(function, *[Absurd()] * MANY)
    known = schemas(operator)
    found = listed(text)
    if found:
        found = [annotated(one, known, method) for one in found]
    elif "takes no arguments" in text:
        return []
    else:
        one = written(function, text, provoked(function), known, method)
        if not one:
            print("no signature:", "." * method + name, "|", text[:100], "|", provoked(function)[:80])
            return []
        found = [one]
    return [with_numbers(name, one) for one in found]


def in_python(name: str, function: Any, method: bool) -> list[str]:
    """What a function takes that is written in Python: only names, and which may be left out."""
    qualified = f"Tensor.{name}" if method else name
    if not provoked(function, *[Absurd()] * MANY).startswith(f"{qualified}() takes"):
        return []
    shown = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in shown:
            shown.append("*")
        shown.append(parameter.name + ("" if parameter.default is parameter.empty else "=0"))
    return [f"def {'.' * method}{name}({', '.join(shown)})\n"]


def builtin(value: Any) -> bool:
    return isinstance(value, (types.BuiltinFunctionType, types.MethodDescriptorType))


def main() -> None:
    lines = [HEAD.format(version=torch.__version__.partition("+")[0])]
    seen = set()
    places = [(torch, ""), (torch.linalg, ""), (torch.fft, ""), (torch.special, ""), (torch.nn.functional, "")]
    skipped = ("_", "as_tensor", "cudnn", "fbgemm", "mkldnn", "miopen", "quantized")
    for place, _ in places:
        for attribute in sorted(vars(place)):
            function = getattr(place, attribute)
            if place is torch and isinstance(function, types.FunctionType) and not attribute.startswith("_"):
                lines += in_python(attribute, function, False)
            name = getattr(function, "__name__", "")
            if not builtin(function) or name in seen or attribute.startswith(skipped):
                continue
            seen.add(name)
            lines += [f"{name}{one}\n" for one in signatures(name, function, False, name)]
    tensor = torch.ones(2)
    for attribute in sorted(dir(torch.Tensor)):
        function = getattr(torch.Tensor, attribute)
        if isinstance(function, types.FunctionType) and not attribute.startswith("_"):
            lines += in_python(attribute, function, True)
        if not builtin(function) or attribute.startswith("_"):
            continue
        found = signatures(attribute, getattr(tensor, attribute), True, attribute)
        lines += [f".{attribute}{one}\n" for one in found]
    lines += [f".{name}(*, torch.memory_format memory_format = None)\n" for name in CONVERSIONS.split()]
    lines.append(OTHERS)
    TARGET.write_text("".join(lines))


if __name__ == "__main__":
    main()
