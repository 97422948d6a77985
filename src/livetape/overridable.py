"""What is offered to the classes and modes of a program that answer calls, and under which names.

The public functions and most methods offer their calls themselves (`ops.boundary`). The operators, properties and other
special methods of class Tensor do once a program has such a class or mode: `cover` then puts them into the class.
"""

from __future__ import annotations

import functools
import sys
import types
from typing import Any

from livetape._tape.overriding import MISSED, offer, offered
from livetape.ops.boundary import ALSO
from livetape.ops.boundary import checked as _BOUNDARY

# The function that an operator stands for; "" if it is called by its own name.
_OPERATORS = {
    **{f"__{name}__": name for name in ("add", "sub", "mul", "matmul", "ne", "lt", "le", "gt", "ge")},
    **{f"__r{name}__": name for name in ("add", "mul")},
    "__truediv__": "div",
    "__mod__": "remainder",
    **{f"__r{name}__": f"bitwise_{name}" for name in ("and", "or", "xor")},
    **{f"__i{name}__": f"{name}_" for name in ("add", "sub", "mul")},
    "__itruediv__": "div_",
    "__ifloordiv__": "floor_divide_",
    "__imod__": "remainder_",
    **{f"__{name}__": "" for name in ("and", "or", "xor", "lshift", "rshift", "eq", "pow", "floordiv")},
    **{f"__i{name}__": "" for name in ("and", "or", "xor", "lshift", "rshift", "pow")},
    **{f"__r{name}__": "" for name in ("sub", "truediv", "floordiv", "mod", "pow", "matmul", "lshift", "rshift")},
}
_UNARY = {"__neg__": "neg", "__pos__": "positive", "__abs__": "abs", "__invert__": ""}
_SPECIAL = (
    "dir getitem setitem bool float int complex index len contains reversed array array_wrap format repr deepcopy reduce_ex "
    "dlpack dlpack_device"
)
# Methods that torch writes in Python: their handlers get every option, by name.
_IN_PYTHON = (
    "backward dim_order is_shared istft lu norm register_hook register_post_accumulate_grad_hook share_memory_ split stft "
    "storage unique unique_consecutive module_load resize resize_as __rsub__ __rtruediv__ __floordiv__ __rfloordiv__ "
    "__rmod__ __pow__ __ipow__ __rpow__ __rmatmul__ __rlshift__ __rrshift__ __array__ __array_wrap__ __contains__ "
    "__deepcopy__ __len__ __format__ __reduce_ex__ __reversed__ __repr__ __dlpack__ __dlpack_device__"
).split()
# The same among torch's own functions: they are those of ``torch.functional``.
_FUNCTIONAL = (
    "atleast_1d atleast_2d atleast_3d block_diag broadcast_tensors cartesian_prod cdist chain_matmul einsum lu meshgrid "
    "norm pca_lowrank split stft svd_lowrank tensordot unique unique_consecutive unravel_index"
).split()
# Where livetape's parameters are not torch's: how many come without a default, and which torch does not have.
_UNLIKE: dict[str, tuple[int, tuple[str, ...]]] = {
    "torch.functional.split": (2, ("split_size",)),
    "torch.Tensor.split": (2, ("split_size",)),
    "torch.Tensor.__array__": (1, ("copy",)),
    "torch.Tensor.dim_order": (1, ("ambiguity_check",)),
    "torch.Tensor.lu": (1, ("out",)),
    "torch.functional.unravel_index": (1, ()),
    "torch.nn.functional.l1_loss": (2, ("weight",)),
    "torch.nn.functional.layer_norm": (2, ("cudnn_enable",)),
    "torch.nn.functional.rrelu": (1, ("generator",)),
}
# Functions that torch has twice, where livetape has one.
_TWICE = ("sigmoid", "tanh")
_NEVER = "is_tensor legacy_tensor from_numpy broadcast_shapes can_cast promote_types"
_FROM_MODES = "tensor as_tensor asarray scalar_tensor"
# Methods of class Tensor that are not offered.
_UNSEEN = {"as_subclass", "bump_version"}
# What the tape itself writes: setting it is not offered.
_OWN_ATTRIBUTES = {"dtype", "output_nr", "shape"}


def _operator(original: Any, target: Any) -> Any:
    """An operator of two sides, which leaves to the other side what cannot be answered."""

    @functools.wraps(original)
    def method(self: Any, other: Any) -> Any:
        try:
            answer = offer(target or method, (self, other), {})
        except TypeError:
            return NotImplemented
        return original(self, other) if answer is MISSED else answer

    return method


def _method(original: Any, target: Any = None) -> Any:
    """A method whose calls are offered."""

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        answer = offer(target or method, (self, *args), kwargs)
        return original(self, *args, **kwargs) if answer is MISSED else answer

    return method


def _attribute(name: str, original: Any) -> property:
    """A property that offers that it is read, set or deleted, as its ``__get__``, ``__set__`` and ``__delete__``."""

    def read(self: Any) -> Any:
        if sys._getframe(1).f_globals.get("__name__", "").startswith("livetape."):
            return original.__get__(self)  # livetape itself wants to know what is so
        answer = offer(made.__get__, (self,), {}, True)
        return original.__get__(self) if answer is MISSED else answer

    def write(self: Any, value: Any) -> None:
        if name in _OWN_ATTRIBUTES or offer(made.__set__, (self, value), {}) is MISSED:
            original.__set__(self, value)

    def delete(self: Any) -> None:
        if offer(made.__delete__, (self,), {}) is MISSED:
            original.__delete__(self)

    made = property(read, write, delete, original.__doc__)
    ATTRIBUTES[made] = name
    return made


ATTRIBUTES: dict[Any, str] = {}
_NAMES: dict[Any, str] = {}


def cover(tensor: Any) -> None:
    """Let the operators, properties and other methods of class Tensor offer their calls."""
    for name, target in (_OPERATORS | _UNARY).items():
        make = _operator if name in _OPERATORS else _method
        setattr(tensor, name, make(getattr(tensor, name), getattr(tensor, target) if target else None))
    tensor.__rdiv__ = tensor.__rtruediv__
    for name in _SPECIAL.split():
        setattr(tensor, f"__{name}__", _method(getattr(tensor, f"__{name}__")))
    for kind in reversed(tensor.__mro__):
        for name, found in list(vars(kind).items()):
            if (
                name in _UNSEEN
                or (name.startswith("_") and name not in _PRIVATE)
                or vars(tensor).get(name, found) is not found
            ):
                continue
            if isinstance(found, property) or (name in _OWN_ATTRIBUTES and hasattr(found, "__get__")):
                setattr(tensor, name, _attribute(name, found))
            elif isinstance(found, types.FunctionType):
                setattr(tensor, name, _method(found))
    for name in _IN_PYTHON:
        if hasattr(tensor, name):
            offered.in_python.add(getattr(tensor, name))
            if name not in _OPERATORS:
                offered.by_self.add(getattr(tensor, name))
    for name in dir(tensor):
        found = getattr(tensor, name)
        if callable(found) and not isinstance(found, type) and name != "__rdiv__":
            _NAMES.setdefault(found, "torch.Tensor." + name)


_PRIVATE = {"_version", "_base", "_grad", "_backward_hooks"}


def resolved(public: Any) -> str | None:
    """The name of a function of torch, as programs write it; None for others."""
    name = _NAMES.get(public)
    if name is not None:
        return name
    if not isinstance(public, _BOUNDARY):
        return None
    own = public.__reduce__()
    if own in _FUNCTIONAL and public.__module__ == "livetape":
        return f"torch.functional.{own}"
    module = public.__module__ if own in _TWICE else ALSO.get(public, public.__module__)
    return f"torch{module.removeprefix('livetape')}.{own}"


def name_of(public: Any) -> str:
    """What a function is called in messages about it."""
    if isinstance(public, types.MethodWrapperType):
        return f"torch.Tensor.{ATTRIBUTES.get(public.__self__, '?')}.{public.__name__}"
    name = resolved(public)
    if name is None:
        return f"{public.__module__}.{public.__name__}"
    if public in ALSO and public.__module__ == "livetape":
        return f"torch.{public.__reduce__()}"
    module, _, own = name.rpartition(".")
    if module == "torch.nn.functional" and public not in offered.in_python:
        return "torch.nn." + own
    if module in ("torch.linalg", "torch.fft", "torch.special"):
        return f"{module}.{module[6:]}_{own}"
    return name


offered.name_of = name_of


offered.unlike = _UNLIKE


def start(torch: Any, tensor: Any) -> None:
    """Cover class Tensor, and note which functions of the namespace of torch are offered in another way than most."""
    cover(tensor)
    offered.never.update([getattr(torch, name) for name in _NEVER.split() if hasattr(torch, name)])
    offered.from_modes.update([getattr(torch, name) for name in _FROM_MODES.split() if hasattr(torch, name)])
    offered.in_python.update([getattr(torch, name) for name in _FUNCTIONAL if hasattr(torch, name)])
