"""class Tensor: torch's properties and methods on the tape's TensorBase."""

from __future__ import annotations

import copy
import math
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from livetape import _memory, dtypes, gradients, ops, overridable, printing, shared
from livetape import storage as storages
from livetape._tape.backward import backward_from
from livetape._tape.explain import noted
from livetape._tape.lines import note_detached
from livetape._tape.modes import describe, is_inferring, local, state
from livetape._tape.overriding import NO_CLASSES, _disabled_torch_function_impl, arm, offered, unseen
from livetape._tape.tensor import (
    TensorBase,
    counter_of,
    factory,
    node_extras,
    shape_of,
    tensor_extras,
    version_of,
    wrap,
)
from livetape._tape.views import is_stale, needs_gradient, refresh_view
from livetape.device import device
from livetape.hooks import RemovableHandle
from livetape.layout import strided
from livetape.methods import Methods
from livetape.ops import casting
from livetape.ops.copies import alias
from livetape.ops.nodes import GradNode, accumulator_of

_CPU = device("cpu")
_NON_LEAF_GRAD = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be populated "
    "during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, use .retain_grad() "
    "on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you access the leaf Tensor instead. See "
    "github.com/pytorch/pytorch/pull/30531 for more information."
)
_IN_TRANSFORM = (
    "You are attempting to call Tensor.{0}() {1}inside of a function being transformed by a functorch transform. This is "
    "unsupported, please attempt to use the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call {0}() "
    "outside of a function being transformed instead."
)
_OR_PERHAPS = "(or perhaps using torch.autograd.functional.* APIs) "
_TO_SCALAR = (
    "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\nConsider using "
    "tensor.detach() first."
)
_warned: set[str] = set()


class Tensor(Methods):
    """A multi-dimensional array that may take part in the tape (source: ``torch.Tensor``)."""

    __slots__ = ("__dict__", "__weakref__")
    if TYPE_CHECKING:  # programs give tensors attributes of their own

        def __getattr__(self, name: str) -> Any: ...

    __array_priority__ = 1000
    __getstate__ = object.__getstate__  # not the compiled base's, which would give the tape's view of the tensor

    def __init_subclass__(cls, *, answers: bool = True, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__new__" in vars(cls) and "__init__" not in vars(cls):  # what it makes is not to be filled once more
            cls.__init__ = _made_already  # type: ignore[assignment]
        if answers and cls.__torch_function__ is not _disabled_torch_function_impl:
            arm()
            if "__new__" in vars(cls) or "__init__" in vars(cls):  # which count on the elements being there already
                cls.__bases__ = tuple([_Filled if base is Tensor else base for base in cls.__bases__])

    # ------------------------------------------------------------ what it is
    @property
    def requires_grad(self) -> bool:
        """Whether gradients are recorded for this tensor."""
        if self.base is not None and is_stale(self):
            return True
        return needs_gradient(self)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if type(value) is not bool:
            raise noted(RuntimeError("requires_grad must be a bool"))
        if self.node is not None and needs_gradient(self):
            words = "you can only change requires_grad flags of leaf variables."
            if not value:
                words += (
                    " If you want to use a computed variable in a subgraph that doesn't require differentiation use "
                    "var_no_grad = var.detach()."
                )
            raise noted(RuntimeError(words))
        if value and self.dtype.category < dtypes.FLOAT:
            raise noted(RuntimeError("only Tensors of floating point and complex dtype can require gradients"))
        self._set_recorded(value)

    @requires_grad.deleter
    def requires_grad(self) -> None:
        raise noted(RuntimeError("requires_grad must be a bool"))

    def _set_recorded(self, value: bool) -> None:
        if value and self.inference and not is_inferring():
            raise noted(
                RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
            )
        self.recorded = bool(value)
        if self.base is not None:
            tensor_extras(self).asked = self.recorded

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set ``requires_grad`` in place (source: ``torch.Tensor.requires_grad_``)."""
        if type(requires_grad) is not bool:
            raise noted(
                TypeError(
                    "requires_grad_(): argument 'requires_grad' (position 1) must be bool, not "
                    f"{type(requires_grad).__name__}"
                )
            )
        if local.levels and requires_grad:
            raise noted(RuntimeError(_IN_TRANSFORM.format("requires_grad_", _OR_PERHAPS)))
        if self.node is not None and needs_gradient(self) and not requires_grad:
            raise noted(
                RuntimeError(
                    "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a "
                    "subgraph that doesn't require differentiation use var_no_grad = var.detach()."
                )
            )
        if requires_grad and self.dtype.category < dtypes.FLOAT:
            raise noted(RuntimeError("only Tensors of floating point dtype can require gradients"))
        if self.node is None:
            self._set_recorded(requires_grad)
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether the program made this tensor itself, rather than an operation on recorded tensors."""
        return not needs_gradient(self) or self.node is None

    @property
    def grad_fn(self) -> Any:
        """The node that made this tensor; None for a leaf."""
        if self.base is not None:
            refresh_view(self)
        return self.node if self.recorded else None

    @property
    def grad(self) -> Any:
        """The gradient that backward() has accumulated, or None."""
        if (
            self._gradient is None
            and self.node is not None
            and needs_gradient(self)
            and not (self.extras is not None and self.extras.retains)
        ):
            warnings.warn(_NON_LEAF_GRAD, UserWarning, stacklevel=2)
        return self._gradient

    @grad.setter
    def grad(self, value: Any) -> None:
        if value is None:
            self._gradient = None
            return
        if not isinstance(value, TensorBase):
            raise noted(
                TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
            )
        if value is self:
            raise noted(RuntimeError("can't assign Variable as its own grad"))
        kind = self._grad_dtype()
        if kind is not None and value.dtype is not kind:
            raise noted(
                RuntimeError(
                    f"attempting to assign a gradient with dtype '{dtypes.C_NAME[value.dtype]}' to a tensor with grad_dtype "
                    f"'{dtypes.SCALAR_TYPE[kind]}'. The gradient must match the tensor's grad_dtype (defaults to the "
                    "tensor's dtype). You can set the tensor's grad_dtype attribute with a specific dtype, or None to allow any "
                    "dtype. Set grad_dtype with caution. Diverging the dtypes of a tensor and its gradient may break downstream "
                    "systems that assume they match."
                )
            )
        if shape_of(value) != shape_of(self):
            raise noted(
                RuntimeError(
                    f"attempting to assign a gradient of size '{list(shape_of(value))}' to a tensor of size "
                    f"'{list(shape_of(self))}'. Please ensure that the gradient and the tensor are the same size"
                )
            )
        self._gradient = value

    @grad.deleter
    def grad(self) -> None:
        self._gradient = None

    _grad = grad

    def _grad_dtype(self) -> Any:
        """The dtype that gradients of this leaf have, None for any."""
        kind = False if self.extras is None else self.extras.grad_dtype
        return self.dtype if kind is False else kind

    @property
    def grad_dtype(self) -> Any:
        """The dtype that ``.grad`` has, the leaf's own unless it is set; None takes gradients as they come.

        >>> import livetape as torch
        >>> x = torch.ones(2, requires_grad=True)
        >>> x.grad_dtype = torch.float64
        >>> x.sum().backward()
        >>> x.grad
        tensor([1., 1.], dtype=torch.float64)
        """
        if self.node is not None and self.recorded:
            raise noted(RuntimeError("grad_dtype can only be accessed on leaf tensors."))
        return self._grad_dtype()

    @grad_dtype.setter
    def grad_dtype(self, value: Any) -> None:
        if value is not None and not isinstance(value, dtypes.dtype):
            raise noted(RuntimeError(f"grad_dtype must be a torch.dtype or None, but got {type(value).__name__}"))
        if self.node is not None and self.recorded:
            raise noted(RuntimeError("grad_dtype can only be set on leaf tensors."))
        before = self._gradient
        if value is not None and before is not None and before.dtype is not value:
            raise noted(
                RuntimeError(
                    f"Cannot set grad_dtype to '{dtypes.SCALAR_TYPE[value]}' because there is already a gradient with dtype "
                    f"'{dtypes.C_NAME[before.dtype]}'. Please clear the gradient (.grad = None) before changing grad_dtype, or "
                    "ensure the new grad_dtype matches the existing gradient's dtype."
                )
            )
        tensor_extras(self).grad_dtype = value

    @property
    def data(self) -> Tensor:
        """The same memory, unknown to the tape: changes through it go unnoticed."""
        return casting.data_of(self)

    @data.setter
    def data(self, value: Any) -> None:
        casting.set_data(self, value)

    def detach_(self) -> Tensor:
        """Forget this tensor's history (source: ``torch.Tensor.detach_``)."""
        if self.base is not None:
            raise noted(
                RuntimeError(
                    "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for "
                    "training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence "
                    "detach_() cannot be called on these gradients. To fix this error, please refer to the Optimizer.zero_grad() "
                    "function in torch/optim/optimizer.py as the solution."
                )
            )
        if is_inferring():
            return self  # nothing is recorded here, and nothing forgotten
        if state.watching:
            note_detached(self, self, "detach_")
        self.node = None
        self.output_nr = 0
        self.recorded = False
        if state.interposed:
            for interposer in local.interposers:
                if hasattr(interposer, "forget"):
                    interposer.forget(self)
        return self

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the extent of one dimension (source: ``torch.Tensor.size``)."""
        size = shape_of(self)
        if dim is None:
            return size
        n = len(size)
        if not -n <= dim < n:
            low, high = (-1, 0) if n == 0 else (-n, n - 1)
            raise noted(
                IndexError(f"Dimension out of range (expected to be in range of [{low}, {high}], but got {dim})")
            )
        return size[dim]

    def dim(self) -> int:
        """The number of dimensions (source: ``torch.Tensor.dim``)."""
        return int(self.array.ndim)

    ndimension = dim

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return int(self.array.ndim)

    def numel(self) -> int:
        """The number of elements (source: ``torch.Tensor.numel``)."""
        return int(self.array.size)

    nelement = numel

    def stride(self, dim: int | None = None) -> Any:
        """The distance in memory, in elements, between neighbours along each dimension (source: ``torch.Tensor.stride``)."""
        array = self.array
        if array.size or any(array.strides):
            found = tuple([s // array.itemsize for s in array.strides])
        else:  # NumPy gives an empty array zeros, unless it is part of another
            found = tuple([math.prod([max(n, 1) for n in array.shape[i + 1 :]]) for i in range(array.ndim)])
        return found if dim is None else found[dim]

    def storage_offset(self) -> int:
        """Where this tensor begins in its memory, in elements (source: ``torch.Tensor.storage_offset``)."""
        return ops.storage_offset(self)

    def element_size(self) -> int:
        """The bytes of an element (source: ``torch.Tensor.element_size``)."""
        return int(self.dtype.itemsize)

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        return int(self.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return int(self.array.size * self.dtype.itemsize)

    @property
    def device(self) -> Any:
        """Where the memory is: always the CPU."""
        return _CPU

    @property
    def layout(self) -> Any:
        """How elements lie in memory: always strided."""
        return strided

    is_cuda = is_sparse = is_sparse_csr = is_quantized = is_mkldnn = is_meta = is_mps = is_xpu = is_nested = False
    is_xla = is_ipu = is_maia = is_mtia = is_vulkan = False
    is_cpu = True
    names: Any = None

    def is_floating_point(self) -> bool:
        """Whether the dtype is a floating point one (source: ``torch.Tensor.is_floating_point``)."""
        return bool(self.dtype.is_floating_point)

    def is_complex(self) -> bool:
        """Whether the dtype is complex (source: ``torch.Tensor.is_complex``)."""
        return bool(self.dtype.is_complex)

    def is_signed(self) -> bool:
        """Whether the dtype is signed (source: ``torch.Tensor.is_signed``)."""
        return bool(self.dtype.is_signed)

    def is_inference(self) -> bool:
        """Whether this tensor was made in inference mode (source: ``torch.Tensor.is_inference``)."""
        return bool(self.inference)

    def is_pinned(self, device: Any = None) -> bool:
        """False: there is no other device to copy to (source: ``torch.Tensor.is_pinned``)."""
        return False

    def pin_memory(self, device: Any = None) -> Tensor:
        """The tensor itself (source: ``torch.Tensor.pin_memory``)."""
        return self

    @property
    def _version(self) -> int:
        if self.inference:
            raise noted(RuntimeError("Inference tensors do not track version counter."))
        return int(version_of(self))

    @property
    def _base(self) -> Any:
        return self.base

    def _is_view(self) -> bool:
        return self.base is not None

    @property
    def name(self) -> Any:
        """The name given to the tensor, or None."""
        return None if self.extras is None else self.extras.name

    @name.setter
    def name(self, value: str) -> None:
        tensor_extras(self).name = value

    # ------------------------------------------------------------ gradients
    def backward(
        self, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None
    ) -> None:
        """Add this tensor's gradient to the ``.grad`` of every leaf it depends on (source: ``torch.Tensor.backward``).

        >>> import livetape as torch
        >>> x = torch.tensor([1., 2.], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad
        tensor([2., 4.])
        """
        if local.levels:
            raise noted(RuntimeError(gradients.IN_TRANSFORM))
        if gradient is None and inputs is None and not create_graph and backward_from(self, bool(retain_graph), False):
            return
        gradients.backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    def retain_grad(self) -> None:
        """Keep the gradient of this non-leaf tensor in ``.grad`` (source: ``torch.Tensor.retain_grad``)."""
        if not needs_gradient(self):
            raise noted(RuntimeError("can't retain_grad on Tensor that has requires_grad=False"))
        if local.levels:
            raise noted(RuntimeError(_IN_TRANSFORM.format("retain_grad", "")))
        node = self.grad_fn
        extras = tensor_extras(self)
        if node is None or extras.retains:
            return
        extras.retains = True
        kept = node_extras(node)
        if kept.retained is None:
            kept.retained = {}
        kept.retained[int(self.output_nr)] = weakref.ref(self)

    @property
    def retains_grad(self) -> bool:
        """Whether `retain_grad` was asked for."""
        return self.extras is not None and bool(self.extras.retains)

    def register_hook(self, hook: Any) -> RemovableHandle:
        """Call ``hook(grad)`` when the gradient is there; it may return another (source: ``torch.Tensor.register_hook``)."""
        if not needs_gradient(self):
            raise noted(RuntimeError("cannot register a hook on a tensor that doesn't require gradient"))
        node = self.grad_fn
        if node is None:
            extras = tensor_extras(self)
            if extras.hooks is None:
                extras.hooks = OrderedDict()
            return RemovableHandle.added(extras.hooks, hook)
        kept = node_extras(node)
        if kept.tensor_hooks is None:
            kept.tensor_hooks = {}
        return RemovableHandle.added(kept.tensor_hooks.setdefault(int(self.output_nr), OrderedDict()), hook)

    def register_post_accumulate_grad_hook(self, hook: Any) -> RemovableHandle:
        """Call ``hook(tensor)`` after a leaf has received its gradient (source: the torch method of that name)."""
        if not needs_gradient(self):
            raise noted(RuntimeError("cannot register a hook on a tensor that doesn't require gradient"))
        if self.grad_fn is not None:
            raise noted(RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors"))
        extras = tensor_extras(self)
        if extras.accumulate_hooks is None:
            extras.accumulate_hooks = OrderedDict()
        return RemovableHandle.added(extras.accumulate_hooks, hook)

    @property
    def _backward_hooks(self) -> Any:
        return None if self.extras is None else self.extras.hooks

    def _gradient_edge(self) -> tuple[Any, int]:
        node: GradNode | None = self.grad_fn
        return (accumulator_of(self), 0) if node is None else (node, int(self.output_nr))

    # ------------------------------------------------------------ as a Python value
    def __repr__(self, *, tensor_contents: Any = None) -> str:
        text = None
        if tensor_contents is None:
            if local.levels:
                text = local.levels[-1].text_of(self)
            elif state.interposed:
                text = describe(self)
        if text is None and hasattr(self.array, "described"):  # it has left the transform that it belongs to
            text = self.array.described()
        return printing.tensor_str(self, contents=tensor_contents) if text is None else text

    def __format__(self, spec: str) -> str:
        return printing.tensor_format(self, spec)

    def __bool__(self) -> bool:
        array = self.array
        if array.size != 1:
            if array.size == 0:
                raise noted(RuntimeError("Boolean value of Tensor with no values is ambiguous"))
            raise noted(RuntimeError("Boolean value of Tensor with more than one value is ambiguous"))
        return bool(array.reshape(()))

    def _scalar(self) -> Any:
        if self.array.size != 1:
            raise noted(ValueError("only one element tensors can be converted to Python scalars"))
        if needs_gradient(self) and "scalar" not in _warned:
            _warned.add("scalar")
            warnings.warn(_TO_SCALAR, UserWarning, stacklevel=3)
        return casting.item(self)

    def __float__(self) -> float:
        value = self._scalar()
        if isinstance(value, complex):
            if value.imag != 0:
                raise noted(RuntimeError("value cannot be converted to type double without overflow"))
            value = value.real
        return float(value)

    def __int__(self) -> int:
        value = self._scalar()
        if isinstance(value, complex):
            if value.imag != 0:
                raise noted(RuntimeError("value cannot be converted to type int64_t without overflow"))
            value = value.real
        return int(value)

    def __complex__(self) -> complex:
        return complex(self._scalar())

    def __index__(self) -> int:
        if self.array.size != 1 or self.dtype.category >= dtypes.FLOAT:
            raise noted(TypeError("only integer tensors of a single element can be converted to an index"))
        return int(self.array.reshape(()))

    def __len__(self) -> int:
        if self.array.ndim == 0:
            raise noted(TypeError("len() of a 0-d tensor"))
        return int(self.array.shape[0])

    def __iter__(self) -> Iterator[Any]:
        if self.array.ndim == 0:
            raise noted(TypeError("iteration over a 0-d tensor"))
        return iter(self.unbind(0))

    def __reversed__(self) -> Tensor:
        return self if self.array.ndim == 0 else ops.flip(self, (0,))

    def __contains__(self, element: Any) -> bool:
        if isinstance(element, (TensorBase, int, float, complex, bool, np.generic)):
            return bool(ops.any(self == element))
        raise noted(
            RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")
        )

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        array = casting.numpy(self)
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        if array.dtype == np.bool_:
            array = array.astype(np.uint8)
        return ops.from_numpy(np.asarray(array))

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if local.levels:
            storages.untyped_storage(self)  # refuses where there is none
        if self.node is not None and needs_gradient(self):
            raise noted(
                RuntimeError(
                    "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  If "
                    "you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, see "
                    "https://github.com/pytorch/pytorch/pull/103001"
                )
            )
        if id(self) in memo:
            return memo[id(self)]
        twin = _like(type(self), _array_copy(self, memo), self)
        memo[id(self)] = twin
        twin.recorded = self.recorded
        if self._gradient is not None:
            twin._gradient = self._gradient.__deepcopy__(memo)  # type: ignore[attr-defined]
        for key, value in self.__dict__.items():
            twin.__dict__[key] = _deepcopy(value, memo)
        return twin

    def __copy__(self) -> Any:
        twin = _like(type(self), self.array, self)
        twin.recorded = self.recorded
        twin.__dict__.update(self.__dict__)
        return twin

    def __reduce_ex__(self, protocol: Any) -> Any:
        if local.levels:
            storages.untyped_storage(self)  # refuses where there is none
        state = dict(self.__dict__) or None
        cls = None if type(self) is Tensor else type(self)  # torch's name of the class is no place to import it from
        return (rebuild_tensor, (cls, self.array, self.dtype.name, needs_gradient(self), state))

    def __dir__(self) -> list[str]:
        return sorted(set(super().__dir__()) - _INTERNAL)

    is_shared = shared.is_shared
    share_memory_ = shared.share_memory_
    set_ = _memory.set_
    untyped_storage = storages.untyped_storage
    storage = storages.storage
    _typed_storage = storages.typed_storage

    @classmethod
    def _make_subclass(cls, subclass: Any, data: Any, require_grad: bool = False) -> Any:
        _check_subclass(subclass)
        if not isinstance(data, TensorBase):
            raise noted(
                TypeError(f"_make_subclass(): argument 'data' (position 2) must be Tensor, not {type(data).__name__}")
            )
        if require_grad and data.dtype.category < dtypes.FLOAT:
            raise noted(RuntimeError("Only Tensors of floating point and complex dtype can require gradients"))
        twin = _like(subclass, data.array, data)
        twin.version = counter_of(data)
        twin.recorded = bool(require_grad)
        return twin

    def as_subclass(self, cls: Any) -> Any:
        """The same tensor as an object of a subclass (source: ``torch.Tensor.as_subclass``)."""
        _check_subclass(cls)
        return _become(_like(cls, self.array, self), unseen(alias, self))

    def module_load(self, other: Any, assign: bool = False) -> Any:
        """What ``Module.load_state_dict`` swaps in for this tensor, if it swaps (source: ``Tensor.module_load``)."""
        return other.detach() if assign else self.copy_(other).detach()

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """What ``func`` gives, as objects of this class (source: ``torch.Tensor.__torch_function__``)."""
        if not all(issubclass(cls, kind) for kind in types):
            return NotImplemented
        before = local.functions
        local.functions = max(before, NO_CLASSES)
        try:
            found = func(*args, **(kwargs or {}))
            return found if cls is Tensor or func in _as_they_are() else _convert(found, cls)
        finally:
            local.functions = before


def _check_subclass(cls: Any) -> None:
    """Torch's error for what is no class of tensors."""
    if not isinstance(cls, type):
        raise noted(TypeError(f"cls must be a type (got {type(cls).__name__})"))
    if not issubclass(cls, Tensor):
        raise noted(
            TypeError(
                "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure your "
                "class inherits from Tensor."
            )
        )


def _become(tensor: Any, view: Any) -> Any:
    """Put a tensor in the place of a new one, or a new view, that nobody else holds."""
    for name in _STATE:
        setattr(tensor, name, getattr(view, name))
    return tensor


_STATE = "array dtype base version view_version creation node output_nr recorded inference".split()


class _Filled(Tensor, answers=False):
    """A base of subclasses with a ``__new__`` or ``__init__`` of their own: its ``__new__`` makes the whole tensor, as torch's.

    Tensor's does not, its ``__init__`` fills a tensor: new tensors are made often, and faster so.
    """

    __slots__ = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        made = Tensor.__new__(cls)
        TensorBase.__init__(made, *args)
        return made

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """All is done by __new__."""


def _as_they_are() -> Any:
    """Properties whose tensors stay of the class that they are of."""
    return (Tensor._base.__get__, Tensor.grad.__get__, Tensor._grad.__get__)  # type: ignore[attr-defined]


def _convert(found: Any, cls: Any) -> Any:
    """A result, or each of a tuple or list of results, as an object of a class of tensors."""
    if isinstance(found, Tensor):
        return found if isinstance(found, cls) else found.as_subclass(cls)
    if isinstance(found, (tuple, list)):
        return type(found)(tuple([_convert(one, cls) for one in found]))
    return found


Tensor.__module__ = "torch"
_INTERNAL = {"array", "base", "creation", "extras", "inference", "node", "recorded", "slot", "version", "view_version"}


def _deepcopy(value: Any, memo: dict[int, Any]) -> Any:
    """A deep copy of an attribute of a tensor."""
    return copy.deepcopy(value, memo)


def _array_copy(tensor: Any, memo: dict[Any, Any]) -> Any:
    """A copy of a tensor's memory for ``copy.deepcopy``: tensors that share memory have copies that share theirs."""
    array = tensor.array
    root = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    known = memo.get(("memory", id(root)))
    if known is None:
        if not root.flags.forc or (tensor.base is None and root.nbytes != array.nbytes):
            return array.copy("K")
        known = memo["memory", id(root)] = root.copy("K")
    offset = array.__array_interface__["data"][0] - root.__array_interface__["data"][0]
    return np.ndarray(array.shape, array.dtype, known.data, offset, array.strides)


def _like(cls: Any, array: Any, source: Any) -> Any:
    """An object of a tensor class around ``array``, with the dtype of ``source``."""
    twin = Tensor.__new__(cls)
    TensorBase.__init__(twin)
    twin.array = array
    twin.dtype = source.dtype
    return twin


def rebuild_tensor(cls: Any, array: Any, dtype: str, requires_grad: bool, state: Any) -> Any:
    """A pickled tensor: its values, as a leaf."""
    twin = _like(cls or Tensor, array, wrap(array, dtypes.by_name(dtype), None))
    twin.recorded = requires_grad
    if state:
        twin.__dict__.update(state)
    return twin


def _made_already(tensor: Any, *args: Any, **kwargs: Any) -> None:
    """``__init__`` of subclasses that do all in ``__new__``."""


def _fill_legacy(tensor: Any, args: tuple[Any, ...]) -> None:
    """``torch.Tensor(2, 3)``: uninitialised of that size; ``torch.Tensor([1, 2])``: these values, as floats."""
    made = unseen(ops.legacy_tensor, *args)
    _become(tensor, unseen(alias, args[0]) if len(args) == 1 and isinstance(args[0], TensorBase) else made)


def _read_only(name: str, found: Any) -> property:
    """A property, or a constant, that refuses to be set with torch's words."""

    def refuse(self: Any, value: Any = None) -> None:
        raise AttributeError(f"attribute '{name}' of 'torch._C.TensorBase' objects is not writable")

    read = found.fget if isinstance(found, property) else lambda self: found
    return property(read, refuse, refuse, found.__doc__ if isinstance(found, property) else None)


for _name, _found in list(vars(Tensor).items()):
    if (isinstance(_found, property) and _found.fset is None) or (_name.startswith("is_") and isinstance(_found, bool)):
        setattr(Tensor, _name, _read_only(_name, _found))
for _name in ("T", "H", "mT", "mH"):
    setattr(Tensor, _name, _read_only(_name, getattr(Tensor, _name)))

offered.arming.append(lambda: overridable.start(ops, Tensor))
factory.tensor = Tensor
factory.legacy = _fill_legacy
