"""A reader of pickles that runs no code: it knows tensors, numbers, texts and collections, and what it was told to trust.

Opcodes have the meaning of Python's pickle; globals are looked up in a table, never imported (source:
``torch._weights_only_unpickler``).
"""

from __future__ import annotations

import pickle
import struct
import warnings
from _codecs import encode
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING
from collections import Counter, OrderedDict
from collections.abc import Callable
from pickle import UnpicklingError
from typing import Any

from livetape import _utils, dtypes
from livetape._saving import names
from livetape._saving.storages import StorageType
from livetape.device import device
from livetape.nn.parameter import Parameter
from livetape.size import Size
from livetape.storage import DTYPES, TypedStorage, UntypedStorage
from livetape.tensor import Tensor

_BLOCKED = ("sys", "os", "posix", "nt")  # never, even if the user trusts something of them
_MAPPINGS = (dict, OrderedDict, Counter)

_trusted: set[Any] = set()


def trust(safe_globals: list[Any]) -> None:
    """Add to what the user trusts: classes and functions, or pairs of one and the path by which files know it."""
    _trusted.update(safe_globals)


def distrust(safe_globals: list[Any] | None = None) -> None:
    """Take away from what the user trusts, all of it by default."""
    _trusted.difference_update(set(_trusted) if safe_globals is None else safe_globals)


def trusted() -> list[Any]:
    """What the user trusts."""
    return list(_trusted)


def trusted_paths() -> dict[str, Any]:
    """What the user trusts, by the path that a file has for it."""
    paths: dict[str, Any] = {}
    for item in _trusted:
        if isinstance(item, tuple):
            if len(item) != 2:
                raise ValueError(
                    "Expected tuple of length 2 (global, str of callable full path), but got tuple of length: "
                    f"{len(item)}"
                )
            if type(item[1]) is not str:
                raise TypeError(
                    f"Expected second item in tuple to be str of callable full path, but got: {type(item[1])}"
                )
            paths[item[1]] = item[0]
        else:
            paths[".".join(names.torch_name(item) or (item.__module__, item.__qualname__))] = item
    return paths


def _allowed() -> dict[str, Any]:
    paths: dict[str, Any] = {
        "collections.OrderedDict": OrderedDict,
        "collections.Counter": Counter,
        "_codecs.encode": encode,
        "builtins.bytearray": bytearray,
        "builtins.set": set,
        "builtins.complex": complex,
        "torch.nn.parameter.Parameter": Parameter,
        "torch.serialization._get_layout": names.get_layout,
        "torch.Size": Size,
        "torch.Tensor": Tensor,
        "torch.device": device,
        "torch.storage.TypedStorage": TypedStorage,
        "torch.storage.UntypedStorage": UntypedStorage,
        "torch._tensor._rebuild_from_type_v2": _utils._rebuild_from_type_v2,
    }
    paths.update({f"torch.{kind.name}": kind for kind in dtypes.ALL})
    paths.update({f"torch.{name}": StorageType(name) for name in DTYPES})
    paths.update(
        {
            f"torch._utils.{name}": function
            for name, function in vars(_utils).items()
            if name.startswith("_rebuild_") and name != "_rebuild_from_type_v2"
        }
    )
    return paths


ALLOWED = _allowed()


def _refused(path: str) -> UnpicklingError:
    path = path.removeprefix("builtins.")
    return UnpicklingError(
        f"Unsupported global: GLOBAL {path} was not an allowed global by default. Please use "
        f"`torch.serialization.add_safe_globals([{path}])` or the `torch.serialization.safe_globals([{path}])` context "
        "manager to allowlist this global if you trust this class/function."
    )


class Unpickler:
    """Reads one pickle from where a file object stands. ``persistent_load`` gives the storages.

    UnpicklingError for anything that is not allowed; EOFError if the file ends too early.
    """

    def __init__(self, file: Any, *, encoding: str = "bytes") -> None:
        self.encoding = encoding
        self.read: Callable[[int], bytes] = file.read
        self.readline: Callable[[], bytes] = file.readline
        self.memo: dict[int, Any] = {}
        self.stack: list[Any] = []
        self.marked: list[list[Any]] = []
        self.trusted = trusted_paths()
        self.inspected: set[str] | None = None  # a set: collect the paths of globals, and make nothing

    def persistent_load(self, pid: Any) -> Any:
        """The storage of an id."""
        raise UnpicklingError("unsupported persistent id encountered")

    def load(self) -> Any:
        """The object."""
        read = self.read
        steps = STEPS
        try:
            while True:
                code = read(1)
                if code == pickle.STOP:
                    return self.stack.pop()
                step = steps.get(code)
                if step is None:
                    if not code:
                        raise EOFError
                    raise UnpicklingError(f"Unsupported operand {code[0]}")
                step(self)
        except (IndexError, struct.error, UnicodeDecodeError) as fault:
            raise UnpicklingError(f"the pickle is damaged: {fault}") from fault

    # ------------------------------------------------------------ the stack
    def number(self, form: str) -> Any:
        """The number that comes next in the file."""
        return struct.unpack(form, self.read(struct.calcsize(form)))[0]

    def push(self, value: Any) -> None:
        """Onto the stack."""
        self.stack.append(value)

    def since_mark(self) -> list[Any]:
        """What was pushed since the last mark, taken off."""
        items = self.stack
        self.stack = self.marked.pop()
        return items

    def recall(self, index: int) -> None:
        """Push what was remembered."""
        try:
            self.stack.append(self.memo[index])
        except KeyError:
            raise UnpicklingError(f"Memo value not found at index {index}") from None

    # ------------------------------------------------------------ what could run code
    def push_global(self, module: str, name: str) -> None:
        """Push a class or function that is allowed."""
        if (module, name) in NAME_MAPPING:  # what Python 2 called it
            module, name = NAME_MAPPING[module, name]
        module = IMPORT_MAPPING.get(module, module)
        path = f"{module}.{name}"
        if self.inspected is not None:
            self.inspected.add(path)
            self.push(None)
        elif module in _BLOCKED:
            raise UnpicklingError(f"Trying to load unsupported GLOBAL {path} whose module {module} is blocked.")
        elif path in ALLOWED:
            self.push(ALLOWED[path])
        elif path in self.trusted:
            self.push(self.trusted[path])
        else:
            raise _refused(path)

    def permits(self, thing: Any) -> bool:
        """Whether this very object is one of the allowed globals."""
        return any(thing is known for table in (ALLOWED, self.trusted) for known in table.values())

    def new_object(self) -> None:
        """An object of an allowed class, without calling its __init__."""
        args = self.stack.pop()
        cls = self.stack.pop()
        if self.inspected is not None:
            self.push(None)
        elif cls is Parameter:
            self.push(Parameter(*args))
        elif self.permits(cls):
            self.push(cls.__new__(cls, *args))
        else:
            raise UnpicklingError(
                "Can only create new object for nn.Parameter or classes allowlisted via "
                f"`add_safe_globals` but got {cls}"
            )

    def reduce(self) -> None:
        """The result of an allowed function or class."""
        args = self.stack.pop()
        function = self.stack[-1]
        if self.inspected is not None:
            return
        if not self.permits(function):
            text = f"Trying to call reduce for unrecognized function {function}"
            if hasattr(function, "__self__"):
                text += f" which belongs to {function.__self__}"
            raise UnpicklingError(text)
        self.stack[-1] = function(*args)

    def build(self) -> None:
        """Give an object of an allowed class its state."""
        state = self.stack.pop()
        target = self.stack[-1]
        if self.inspected is not None:
            return
        kind = type(target)
        if kind is Tensor:  # of the first versions of torch
            made = _utils._rebuild_tensor(*state)
            target.array, target.dtype, target._size = made.array, made.dtype, None
        elif kind is OrderedDict:
            target.__dict__.update(state)
        elif not self.permits(kind):
            raise UnpicklingError(
                "Can only build Tensor, Parameter, OrderedDict or types allowlisted via "
                f"`add_safe_globals`, but got {kind}"
            )
        elif hasattr(target, "__setstate__"):
            target.__setstate__(state)
        else:
            attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
            if attributes:
                target.__dict__.update(attributes)
            for name, value in (slots or {}).items():
                setattr(target, name, value)

    def persistent(self) -> None:
        """A storage."""
        pid = self.stack.pop()
        if self.inspected is not None:
            self.push(None)
            return
        if type(pid) is not tuple and type(pid) is not int:
            raise UnpicklingError(f"persistent_load id must be tuple or int, but got {type(pid)}")
        if type(pid) is tuple and pid and pid[0] not in ("storage", b"storage"):
            raise UnpicklingError(f"Only persistent_load of storage is allowed, but got {type(pid[0])}")
        self.push(self.persistent_load(pid))

    # ------------------------------------------------------------ collections
    def extend(self, items: list[Any], verb: str) -> None:
        """Add to a list."""
        target = self.stack[-1]
        if self.inspected is not None:
            return
        if type(target) is not list:
            raise UnpicklingError(f"Can only {verb} lists, but got {type(target)}")
        target.extend(items)

    def set_items(self, items: list[Any], code: str) -> None:
        """Set keys of a dict."""
        target = self.stack[-1]
        if self.inspected is not None:
            return
        if type(target) not in _MAPPINGS:
            raise UnpicklingError(
                f"Can only {code} for dict, collections.OrderedDict, collections.Counter, but got {type(target)}"
            )
        for i in range(0, len(items), 2):
            target[items[i]] = items[i + 1]

    def add_items(self) -> None:
        """Add to a set."""
        items = self.since_mark()
        target = self.stack[-1]
        if self.inspected is not None:
            return
        if type(target) is not set:
            raise UnpicklingError(f"Can only add to sets, but got {type(target)}")
        target.update(items)

    def text(self, size: int) -> None:
        """A text in UTF-8."""
        self.push(str(self.read(size), "utf-8", "surrogatepass"))

    def old_text(self) -> None:
        """A text of Python 2."""
        data = self.read(self.number("<B"))
        self.push(data if self.encoding == "bytes" else data.decode(self.encoding, "strict"))

    def protocol(self) -> None:
        """The pickle's version."""
        version = self.number("<B")
        if version != 2 and self.inspected is None:
            warnings.warn(
                f"Detected pickle protocol {version} in the checkpoint, which was not the default pickle protocol used by "
                "`torch.load` (2). The weights_only Unpickler might not support all instructions implemented by this "
                "protocol, please file an issue for adding support if you encounter this.",
                stacklevel=5,
            )

    def mark(self) -> None:
        """Remember this place of the stack."""
        self.marked.append(self.stack)
        self.stack = []


def _line(u: Unpickler) -> str:
    return u.readline()[:-1].decode("utf-8")


def _tuple(count: int) -> Callable[[Unpickler], None]:
    def step(u: Unpickler) -> None:
        if len(u.stack) < count:
            raise IndexError("a tuple of more than there is")
        u.stack[-count:] = [tuple(u.stack[-count:])]

    return step


def _two(u: Unpickler) -> list[Any]:
    value = u.stack.pop()
    return [u.stack.pop(), value]


STEPS: dict[bytes, Callable[[Unpickler], Any]] = {
    pickle.GLOBAL: lambda u: u.push_global(_line(u), _line(u)),
    pickle.STACK_GLOBAL: lambda u: u.push_global(*_two(u)),
    pickle.NEWOBJ: Unpickler.new_object,
    pickle.REDUCE: Unpickler.reduce,
    pickle.BUILD: Unpickler.build,
    pickle.BINPERSID: Unpickler.persistent,
    pickle.PROTO: Unpickler.protocol,
    pickle.MARK: Unpickler.mark,
    pickle.FRAME: lambda u: u.number("<Q"),
    pickle.APPEND: lambda u: u.extend([u.stack.pop()], "append to"),
    pickle.APPENDS: lambda u: u.extend(u.since_mark(), "extend"),
    pickle.SETITEM: lambda u: u.set_items(_two(u), "SETITEM"),
    pickle.SETITEMS: lambda u: u.set_items(u.since_mark(), "SETITEMS"),
    pickle.ADDITEMS: Unpickler.add_items,
    pickle.FROZENSET: lambda u: u.push(frozenset(u.since_mark())),
    pickle.TUPLE: lambda u: u.push(tuple(u.since_mark())),
    pickle.TUPLE1: _tuple(1),
    pickle.TUPLE2: _tuple(2),
    pickle.TUPLE3: _tuple(3),
    pickle.NONE: lambda u: u.push(None),
    pickle.NEWFALSE: lambda u: u.push(False),
    pickle.NEWTRUE: lambda u: u.push(True),
    pickle.EMPTY_TUPLE: lambda u: u.push(()),
    pickle.EMPTY_LIST: lambda u: u.push([]),
    pickle.EMPTY_DICT: lambda u: u.push({}),
    pickle.EMPTY_SET: lambda u: u.push(set()),
    pickle.BININT: lambda u: u.push(u.number("<i")),
    pickle.BININT1: lambda u: u.push(u.number("<B")),
    pickle.BININT2: lambda u: u.push(u.number("<H")),
    pickle.BINFLOAT: lambda u: u.push(u.number(">d")),
    pickle.LONG1: lambda u: u.push(pickle.decode_long(u.read(u.number("<B")))),
    pickle.LONG4: lambda u: u.push(pickle.decode_long(u.read(max(0, u.number("<i"))))),
    pickle.BINUNICODE: lambda u: u.text(u.number("<I")),
    pickle.SHORT_BINUNICODE: lambda u: u.text(u.number("<B")),
    pickle.BINUNICODE8: lambda u: u.text(u.number("<Q")),
    pickle.SHORT_BINSTRING: Unpickler.old_text,
    pickle.BINBYTES: lambda u: u.push(u.read(u.number("<I"))),
    pickle.SHORT_BINBYTES: lambda u: u.push(u.read(u.number("<B"))),
    pickle.BINBYTES8: lambda u: u.push(u.read(u.number("<Q"))),
    pickle.BYTEARRAY8: lambda u: u.push(bytearray(u.read(u.number("<Q")))),
    pickle.BINGET: lambda u: u.recall(u.number("<B")),
    pickle.LONG_BINGET: lambda u: u.recall(u.number("<I")),
    pickle.BINPUT: lambda u: u.memo.__setitem__(u.number("<B"), u.stack[-1]),
    pickle.LONG_BINPUT: lambda u: u.memo.__setitem__(u.number("<I"), u.stack[-1]),
    pickle.MEMOIZE: lambda u: u.memo.__setitem__(len(u.memo), u.stack[-1]),
}


def load(file: Any, *, encoding: str = "ASCII") -> Any:
    """The object of the pickle at which a file object stands, without storages."""
    return Unpickler(file, encoding=encoding).load()


def globals_in(file: Any) -> set[str]:
    """The paths of the globals that a pickle asks for. Nothing is made of it."""
    unpickler = Unpickler(file)
    unpickler.inspected = set()
    unpickler.load()
    return unpickler.inspected
