"""Parameters and buffers: tensors that a module registers."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from livetape import dtypes, ops
from livetape._tape.modes import is_inferring
from livetape._tape.overriding import _disabled_torch_function_impl
from livetape._tape.tensor import TensorBase, counter_of
from livetape.tensor import Tensor

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "is_lazy"]


class _ParameterMeta(type(Tensor)):  # type: ignore[misc]
    """Counts a tensor of another class that was made a parameter as a Parameter."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if cls is Parameter and isinstance(instance, Tensor) and instance.__dict__.get("_is_param", False):
            return True
        return bool(type.__instancecheck__(cls, instance))


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that is a parameter of the module it is assigned to (source: ``torch.nn.Parameter``).

    Shares the memory of ``data``, and requires a gradient unless told otherwise.
    """

    __torch_function__ = staticmethod(_disabled_torch_function_impl)  # type: ignore[assignment]

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        if data is None:
            data = ops.empty(0)
        kind = type(data)
        if kind is not Tensor and not issubclass(kind, Parameter):
            return _adopt(data, requires_grad)
        if not isinstance(requires_grad, bool):
            raise TypeError(
                "_make_subclass(): argument 'require_grad' (position 3) must be bool, not "
                f"{type(requires_grad).__name__}"
            )
        return _share(cls, data, requires_grad)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """All is done by __new__."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) in memo:
            return memo[id(self)]
        twin = type(self)(self.data.clone(), self.requires_grad)
        memo[id(self)] = twin
        return twin

    def __repr__(self) -> str:  # type: ignore[override]
        return "Parameter containing:\n" + super().__repr__()

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self.__dict__:
            return _rebuild_parameter_with_state, (self.data, self.requires_grad, OrderedDict(), dict(self.__dict__))
        return _rebuild_parameter, (self.data, self.requires_grad, OrderedDict())


def _share(cls: Any, data: Any, requires_grad: bool) -> Any:
    """An object of class ``cls`` on the memory, and the version counter, of ``data``."""
    if requires_grad and data.dtype.category < dtypes.FLOAT:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    if requires_grad and data.inference and not is_inferring():
        raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
    twin = Tensor.__new__(cls)
    TensorBase.__init__(twin)
    twin.array = data.array
    twin.dtype = data.dtype
    twin.version = counter_of(data)
    twin.recorded = requires_grad
    return twin


def _adopt(data: Any, requires_grad: bool) -> Any:
    """A tensor of a class of its own stays one, and is marked as a parameter."""
    twin = data.detach()
    if type(twin) is type(data):
        twin.requires_grad = requires_grad
    else:
        twin = _share(type(data), data, requires_grad)
        twin.__dict__.update(data.__dict__)
    twin._is_param = True
    return twin


def _rebuild_parameter(data: Any, requires_grad: bool, backward_hooks: Any) -> Any:
    param = Parameter(data, requires_grad)
    return param


def _rebuild_parameter_with_state(data: Any, requires_grad: bool, backward_hooks: Any, state: Any) -> Any:
    param = Parameter(data, requires_grad)
    param.__dict__.update(state)
    return param


class _BufferMeta(type(Tensor)):  # type: ignore[misc]
    """Counts a tensor marked as a buffer as a Buffer: a buffer is a plain tensor."""

    def __call__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        if data is None:
            data = ops.empty(0)
        found = data.detach()
        found.requires_grad = data.requires_grad
        found.persistent = persistent
        found._is_buffer = True
        return found

    def __instancecheck__(cls, instance: Any) -> bool:
        if isinstance(instance, Tensor) and instance.__dict__.get("_is_buffer", False):
            return True
        return bool(type.__instancecheck__(cls, instance))


class Buffer(Tensor, metaclass=_BufferMeta):
    """``Buffer(data, persistent=True)``: a tensor that becomes a buffer of the module it is assigned to."""

    __torch_function__ = staticmethod(_disabled_torch_function_impl)  # type: ignore[assignment]
    persistent: bool


# ---------------------------------------------------------------- not yet of any shape

_NO_SHAPE = (
    "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in `load_state_dict` "
    "when trying to load an uninitialized parameter into an initialized one. Call `forward` to initialize the "
    "parameters before accessing their attributes."
)


class _Uninitialized(Tensor):
    """A tensor that gets its shape later, from ``materialize``. It holds no elements until then."""

    __torch_function__ = staticmethod(_disabled_torch_function_impl)  # type: ignore[assignment]
    cls_to_become: type[Any] = Tensor

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """All is done by __new__."""

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Become an ordinary parameter or buffer of this shape, with arbitrary values."""
        self.data = ops.empty(shape, device=device, dtype=self.dtype if dtype is None else dtype)
        self.__class__ = self.cls_to_become  # type: ignore[assignment]

    @property
    def shape(self) -> Any:
        raise RuntimeError(_NO_SHAPE)

    def share_memory_(self) -> Any:
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize "
            "the parameters before calling `module.share_memory()`."
        )

    def __repr__(self) -> str:  # type: ignore[override]
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self), (self.requires_grad, None, self.dtype)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, dtype=self.dtype)
        return memo[id(self)]


# What torch allows on them; attributes that are no methods can be read as well.
_ALLOWED = (
    "size copy_ is_complex is_floating_point half float double char short int long cuda cpu to get_device materialize "
    "share_memory_ as_subclass set_"
).split()
# What operators are called in the message, where it is not their own name.
_OPERATORS = dict(
    [("__iter__", "dim"), ("__neg__", "neg"), ("__pos__", "positive"), ("__abs__", "abs")]
    + [(f"__{name}__", name) for name in ("add", "sub", "mul", "matmul", "ne", "lt", "le", "gt", "ge")]
    + [(f"__r{name}__", name) for name in ("add", "mul")]
    + [("__truediv__", "div"), ("__mod__", "remainder"), ("__rand__", "bitwise_and"), ("__ror__", "bitwise_or")]
    + [(f"__i{name}__", f"{name}_") for name in ("add", "sub", "mul")]
    + [("__itruediv__", "div_"), ("__ifloordiv__", "floor_divide_"), ("__imod__", "remainder_")]
    + [(f"__{name}__", f"__{name}__") for name in ("and", "or", "xor", "lshift", "rshift", "invert", "eq")]
    + [(f"__{name}__", f"__{name}__") for name in ("iand", "ior", "ixor", "ilshift", "irshift")]
    + [(f"__{name}__", f"__{name}__") for name in ("bool", "float", "int", "index", "complex")]
)
_IN_PYTHON = (  # in torch
    "backward dim_order is_shared istft lu norm register_hook register_post_accumulate_grad_hook reinforce split stft "
    "storage unflatten unique unique_consecutive __rsub__ __rfloordiv__ __rmod__ __rpow__ __rmatmul__ __floordiv__ "
    "__len__ __array__ __format__ __contains__ __reversed__"
).split()


def _refusing(name: str) -> Any:
    """A method that says what was tried on a parameter without a shape."""

    def refuse(self: Any, *args: Any, **kwargs: Any) -> Any:
        if name in _IN_PYTHON:
            text = f"<function Tensor.{name} at {id(refuse):#x}>"
        elif name == "__rtruediv__":
            text = f"<function Tensor.__rdiv__ at {id(refuse):#x}>"
        elif name in ("__pow__", "__ipow__"):
            text = f"<function TensorBase.{'pow' if name == '__pow__' else 'pow_'} at {id(refuse):#x}>"
        else:
            kind = "slot wrapper" if name in ("__getitem__", "__setitem__") else "method"
            text = f"<{kind} '{_OPERATORS.get(name, name)}' of 'torch._C.TensorBase' objects>"
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {text}. This error happens when you are using a "
            f"`LazyModule` or explicitly manipulating `torch.nn.parameter.{type(self).__name__}` objects. When using "
            "LazyModules Call `forward` with a dummy batch to initialize the parameters before calling torch functions"
        )

    refuse.__name__ = name
    return refuse


for _name in dir(Tensor):
    _special = _name in _OPERATORS or _name in _IN_PYTHON or _name.strip("_") in (
        "getitem", "setitem", "rtruediv", "pow", "ipow"
    )  # fmt: skip
    _public = not _name.startswith("_") and callable(getattr(Tensor, _name)) and _name not in _ALLOWED
    if _special or _public:
        setattr(_Uninitialized, _name, _refusing("numel" if _name == "nelement" else _name))


class UninitializedParameter(_Uninitialized, Parameter):
    """A parameter that gets its shape later (source: ``torch.nn.UninitializedParameter``)."""

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        return _share(cls, ops.empty(0, device=device, dtype=dtype), requires_grad)


class UninitializedBuffer(_Uninitialized):
    """A buffer that gets its shape later (source: ``torch.nn.UninitializedBuffer``)."""

    cls_to_become = Tensor

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> Any:
        twin = _share(cls, ops.empty(0, device=device, dtype=dtype), requires_grad)
        twin.persistent = persistent
        twin._is_buffer = True
        return twin


def is_lazy(param: Any) -> bool:
    """Whether a parameter or buffer has no shape yet."""
    return isinstance(param, _Uninitialized)
