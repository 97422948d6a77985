"""How tensors are made of what is in a file (source: ``torch._utils``). Files call these functions by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from livetape._tape.explain import with_note
from livetape._tape.tensor import from_array
from livetape.nn.parameter import Parameter
from livetape.storage import TypedStorage
from livetape.tensor import Tensor


def _is_count(values: Any) -> bool:
    return isinstance(values, tuple) and all(type(value) is int and value >= 0 for value in values)


def _window(storage: Any, kind: Any, offset: Any, size: Any, stride: Any) -> Any:
    """The elements of a storage at the given places, all in numbers of elements, and all inside."""
    if not isinstance(storage, TypedStorage) and hasattr(storage, "untyped"):
        storage = TypedStorage(wrap_storage=storage.untyped(), dtype=kind)
    if not isinstance(storage, TypedStorage):
        raise TypeError(f"expected a storage, but got {type(storage).__name__}")
    size, stride = tuple(size), tuple(stride)
    if not _is_count(size) or not _is_count(stride) or not _is_count((offset,)) or len(size) != len(stride):
        raise RuntimeError(
            f"sizes {list(size)}, strides {list(stride)} and storage offset {offset} are not those of a tensor"
        )
    if 0 in size:
        return np.empty(size, kind.np)
    last = offset + sum((count - 1) * step for count, step in zip(size, stride))
    if last >= storage.nbytes() // kind.itemsize:
        raise with_note(
            RuntimeError("Trying to resize storage that is not resizable"),
            f"A tensor of size {list(size)}, stride {list(stride)} and offset {offset} does not fit into the "
            f"{storage.nbytes()} bytes that the file has for it.",
        )
    return np.ndarray(
        size, kind.np, storage.untyped().memory, offset * kind.itemsize, tuple(step * kind.itemsize for step in stride)
    )


def _rebuild(storage: Any, kind: Any, offset: Any, size: Any, stride: Any, requires_grad: Any, metadata: Any) -> Any:
    made = from_array(_window(storage, kind, offset, size, stride))
    for mark, undo in (("conj", np.conjugate), ("neg", np.negative)):  # torch's lazy operations
        if metadata and metadata.get(mark):
            _when_read(storage, made, undo)
    if requires_grad:
        made.requires_grad = True  # type: ignore[attr-defined]
    return made


def _when_read(storage: Any, tensor: Any, function: Callable[[Any], Any]) -> None:
    """Apply a function to the elements: later, if the storage is still to be read."""

    def apply() -> None:
        tensor.array = function(tensor.array)

    later = getattr(storage, "later", None)
    if later is None:
        apply()
    else:
        later.append(apply)


def _rebuild_tensor(storage: Any, storage_offset: Any, size: Any, stride: Any) -> Any:
    return _rebuild(storage, storage.dtype, storage_offset, size, stride, False, None)


def _rebuild_tensor_v2(
    storage: Any,
    storage_offset: Any,
    size: Any,
    stride: Any,
    requires_grad: Any,
    backward_hooks: Any,
    metadata: Any = None,
) -> Any:
    return _rebuild(storage, storage.dtype, storage_offset, size, stride, requires_grad, metadata)


def _rebuild_tensor_v3(
    storage: Any,
    storage_offset: Any,
    size: Any,
    stride: Any,
    requires_grad: Any,
    backward_hooks: Any,
    dtype: Any,
    metadata: Any = None,
) -> Any:
    return _rebuild(storage, dtype, storage_offset, size, stride, requires_grad, metadata)


def _rebuild_parameter(data: Any, requires_grad: Any, backward_hooks: Any) -> Any:
    return Parameter(data, requires_grad)


def _rebuild_parameter_with_state(data: Any, requires_grad: Any, backward_hooks: Any, state: Any) -> Any:
    return _set_obj_state(Parameter(data, requires_grad), state)


def _set_obj_state(obj: Any, state: Any) -> Any:
    """Give a tensor the attributes that the program set. Its own parts are none of a file's business."""
    if isinstance(state, tuple) and len(state) != 2:
        raise RuntimeError(f"Invalid serialized state: {state}")
    attributes, slots = state if isinstance(state, tuple) else (state, None)
    obj.__dict__.update(attributes or {})
    for name, value in (slots or {}).items():
        if hasattr(Tensor, name):
            raise RuntimeError(f"Invalid serialized state: a tensor's {name} is not to be set")
        setattr(obj, name, value)
    return obj


def _rebuild_from_type_v2(func: Any, new_type: Any, args: Any, state: Any) -> Any:
    made = func(*args)
    if type(made) is not new_type:
        made = made.as_subclass(new_type)
    if getattr(type(made), "__setstate__", None) is not getattr(Tensor, "__setstate__", None):
        made.__setstate__(state)
        return made
    return _set_obj_state(made, state)


def _refuse(kind: str) -> Callable[..., Any]:
    def rebuild(*args: Any) -> Any:
        raise RuntimeError(f"livetape has no {kind} tensors, and this file holds one.")

    return rebuild


_rebuild_sparse_tensor = _refuse("sparse")
_rebuild_nested_tensor = _refuse("nested")
_rebuild_qtensor = _refuse("quantized")
_rebuild_wrapper_subclass = _refuse("wrapped")
_rebuild_meta_tensor_no_storage = _refuse("meta")


def _rebuild_device_tensor_from_numpy(data: Any, dtype: Any, device: Any, requires_grad: Any) -> Any:
    made = from_array(np.array(data)).to(dtype=dtype)  # type: ignore[attr-defined]
    return made.requires_grad_(bool(requires_grad))


def _rebuild_device_tensor_from_cpu_tensor(data: Any, dtype: Any, device: Any, requires_grad: Any) -> Any:
    return data.to(dtype=dtype).detach().requires_grad_(bool(requires_grad))
