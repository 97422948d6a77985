"""The kinds of nodes of trees of containers, and the keys that lead to their children."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from typing import Any

from livetape.return_types import Results
from livetape.size import Size

KeyPath = tuple[Any, ...]


# ---------------------------------------------------------------- keys: how a node leads to a child
class _Key:
    """One step from a node to a child."""

    __slots__ = ("key",)

    def __init__(self, key: Any) -> None:
        self.key = key

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.key == self.key  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((type(self).__name__, self.key))


class MappingKey(_Key):
    """The key of a dictionary."""

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def __repr__(self) -> str:
        return f"MappingKey(key={self.key!r})"

    def get(self, mapping: Any) -> Any:
        """The child that the key leads to."""
        return mapping[self.key]


class SequenceKey(_Key):
    """A place in a sequence."""

    @property
    def idx(self) -> int:
        """The place."""
        return int(self.key)

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def __repr__(self) -> str:
        return f"SequenceKey(idx={self.key!r})"

    def get(self, sequence: Any) -> Any:
        """The child at that place."""
        return sequence[self.key]


class GetAttrKey(_Key):
    """The name of an attribute."""

    @property
    def name(self) -> str:
        """The name."""
        return str(self.key)

    def __str__(self) -> str:
        return f".{self.key}"

    def __repr__(self) -> str:
        return f"GetAttrKey(name={self.key!r})"

    def get(self, obj: Any) -> Any:
        """The attribute's value."""
        return getattr(obj, self.key)


def keystr(path: KeyPath) -> str:
    """A path as it would be written in Python."""
    return "".join([str(key) for key in path])


def key_get(obj: Any, path: KeyPath) -> Any:
    """What a path leads to."""
    for key in path:
        obj = key.get(obj)
    return obj


# ---------------------------------------------------------------- kinds of nodes
class NodeDef:
    """How nodes of a type come apart and together."""

    __slots__ = ("dump", "flatten_fn", "flatten_with_keys_fn", "load", "serialized", "type", "unflatten_fn")

    def __init__(
        self,
        type_: Any,
        flatten: Any,
        unflatten: Any,
        with_keys: Any,
        serialized: str | None = None,
        dump: Any = None,
        load: Any = None,
    ) -> None:
        self.type = type_
        self.flatten_fn = flatten
        self.unflatten_fn = unflatten
        self.flatten_with_keys_fn = with_keys
        self.serialized = serialized
        self.dump = dump
        self.load = load


SUPPORTED_NODES: dict[Any, NodeDef] = {}


def _add(type_: Any, flatten: Any, unflatten: Any, keys: Any) -> None:
    def with_keys(node: Any) -> Any:
        children, context = flatten(node)
        return list(zip(keys(node), children)), context

    module = getattr(type_, "__module__", "builtins")
    SUPPORTED_NODES[type_] = NodeDef(type_, flatten, unflatten, with_keys, f"{module}.{type_.__name__}")


def _places(node: Any) -> list[SequenceKey]:
    return [SequenceKey(i) for i in range(len(node))]


def _names(node: Any) -> list[MappingKey]:
    return [MappingKey(key) for key in node]


def _of_dict(node: Any) -> tuple[list[Any], Any]:
    return list(node.values()), list(node)


_add(tuple, lambda n: (list(n), None), lambda c, _: tuple(c), _places)
_add(list, lambda n: (n, None), lambda c, _: list(c), _places)
_add(dict, _of_dict, lambda c, keys: dict(zip(keys, c)), _names)
_add(namedtuple, lambda n: (list(n), type(n)), lambda c, cls: cls(*c), lambda n: [GetAttrKey(f) for f in n._fields])
_add(OrderedDict, _of_dict, lambda c, keys: OrderedDict(zip(keys, c)), _names)
_add(
    defaultdict,
    lambda n: (list(n.values()), [n.default_factory, list(n)]),
    lambda c, context: defaultdict(context[0], zip(context[1], c)),
    _names,
)
_add(deque, lambda n: (list(n), n.maxlen), lambda c, maxlen: deque(c, maxlen=maxlen), _places)
_add(Size, lambda n: (list(n), None), lambda c, _: tuple(c), _places)

DICTS = (dict, OrderedDict, defaultdict)


def register_pytree_node(
    cls: type[Any],
    flatten_fn: Callable[[Any], Any],
    unflatten_fn: Callable[[Any, Any], Any],
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Any = None,
    from_dumpable_context: Any = None,
    flatten_with_keys_fn: Any = None,
) -> None:
    """Make a class a kind of node: ``flatten_fn(node)`` gives (children, context), ``unflatten_fn(children, context)`` the node.

    Raises ValueError if the class is a kind of node already.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    SUPPORTED_NODES[cls] = NodeDef(
        cls,
        flatten_fn,
        unflatten_fn,
        flatten_with_keys_fn,
        serialized_type_name,
        to_dumpable_context,
        from_dumpable_context,
    )


_register_pytree_node = register_pytree_node


def register_dataclass(
    cls: type[Any],
    *,
    field_names: list[str] | None = None,
    drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:
    """Make a dataclass a kind of node, its fields the children."""
    names = (
        field_names
        if field_names is not None
        else [name for name in cls.__dataclass_fields__ if name not in (drop_field_names or ())]
    )  # type: ignore[attr-defined]

    def flatten(node: Any) -> tuple[list[Any], Any]:
        return [getattr(node, name) for name in names], names

    def with_keys(node: Any) -> tuple[list[Any], Any]:
        return [(GetAttrKey(name), getattr(node, name)) for name in names], names

    register_pytree_node(
        cls,
        flatten,
        lambda children, context: cls(**dict(zip(context, children))),
        serialized_type_name=serialized_type_name,
        flatten_with_keys_fn=with_keys,
    )


def _deregister_pytree_node(cls: type[Any]) -> None:
    SUPPORTED_NODES.pop(cls, None)


def is_namedtuple_class(cls: Any) -> bool:
    """Whether a class is one that ``collections.namedtuple`` made, or a subclass of such."""
    return (
        isinstance(cls, type)
        and issubclass(cls, tuple)
        and isinstance(getattr(cls, "_fields", None), tuple)
        and callable(getattr(cls, "_make", None))
    )


def is_namedtuple(obj: Any) -> bool:
    """Whether an object is a named tuple or the class of such."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_namedtuple_instance(obj: Any) -> bool:
    """Whether an object is a named tuple."""
    return is_namedtuple_class(type(obj))


def kind_of(tree: Any) -> NodeDef | None:
    """The kind of node that an object is, None for a leaf."""
    cls = type(tree)
    found = SUPPORTED_NODES.get(cls)
    if found is None and issubclass(cls, tuple):
        if issubclass(cls, Results):
            _add(cls, lambda n: (list(n), None), lambda c, _, cls=cls: cls(c), _places)
            return SUPPORTED_NODES[cls]
        if is_namedtuple_class(cls):
            return SUPPORTED_NODES[namedtuple]
    return found
