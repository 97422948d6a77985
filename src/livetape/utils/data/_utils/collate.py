"""Samples into batches (source: ``torch.utils.data._utils.collate``).

`default_collate` stacks tensors, arrays and numbers, and goes into lists, tuples and dicts of them.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from livetape import dtypes, ops
from livetape.tensor import Tensor

__all__ = ["collate", "default_collate", "default_collate_fn_map", "default_convert"]

np_str_obj_array_pattern = re.compile(r"[SaUO]")
default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)

_Map = dict[Any, Callable[..., Any]]


def _mapping(like: Any, values: dict[Any, Any]) -> Any:
    """A mapping of the class, and with the attributes, of ``like``; a plain dict if the class does not allow it."""
    if type(like) is dict:
        return values
    try:
        if isinstance(like, MutableMapping):
            twin = copy.copy(like)
            twin.update(values)
            return twin
        return type(like)(values)
    except TypeError:
        return values


def _sequence(like: Any, values: list[Any]) -> Any:
    """A sequence of the class, and with the attributes, of ``like``; a plain list if the class does not allow it."""
    if type(like) is list:
        return values
    try:
        if isinstance(like, MutableSequence):
            twin = copy.copy(like)
            for i, value in enumerate(values):
                twin[i] = value
            return twin
        return type(like)(values)  # type: ignore[call-arg]
    except TypeError:
        return values


def default_convert(data: Any) -> Any:
    """``data`` with its arrays as tensors; what is neither array nor collection stays.

    >>> import numpy as np
    >>> from livetape.utils.data import default_convert
    >>> default_convert([np.array([0, 1]), "a"])
    [tensor([0, 1]), 'a']
    """
    kind = type(data)
    if isinstance(data, Tensor):
        return data
    if kind.__module__ == "numpy" and kind.__name__ not in ("str_", "string_"):
        if kind.__name__ == "ndarray" and np_str_obj_array_pattern.search(data.dtype.str):
            return data
        return ops.as_tensor(data)
    if isinstance(data, Mapping):
        return _mapping(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, tuple):
        parts = [default_convert(part) for part in data]
        return kind(*parts) if hasattr(data, "_fields") else parts  # of a plain tuple torch makes a list
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _sequence(data, [default_convert(part) for part in data])
    return data


def collate(batch: Any, *, collate_fn_map: _Map | None = None) -> Any:
    """The samples of a batch as one: collections part by part, all else by the function for the class of its elements.

    The class itself is looked up in ``collate_fn_map`` first, then the map's classes in their order as base classes.
    TypeError for elements of other classes, RuntimeError for sequences of unequal length.
    """
    elem = batch[0]
    kind = type(elem)
    if collate_fn_map is not None:
        if kind in collate_fn_map:
            return collate_fn_map[kind](batch, collate_fn_map=collate_fn_map)
        for base, function in collate_fn_map.items():
            if isinstance(elem, base):
                return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(elem, Mapping):
        return _mapping(
            elem, {key: collate([sample[key] for sample in batch], collate_fn_map=collate_fn_map) for key in elem}
        )
    if isinstance(elem, tuple) and hasattr(elem, "_fields"):
        return kind(*(collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch)))
    if isinstance(elem, Sequence):
        size = len(elem)
        if any(len(sample) != size for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch)]
        return columns if isinstance(elem, tuple) else _sequence(elem, columns)
    raise TypeError(default_collate_err_msg_format.format(kind))


def collate_tensor_fn(batch: Any, *, collate_fn_map: _Map | None = None) -> Any:
    """Tensors of one shape, stacked."""
    return ops.stack(batch, 0)


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: _Map | None = None) -> Any:
    """Arrays as one tensor."""
    if np_str_obj_array_pattern.search(batch[0].dtype.str):
        raise TypeError(default_collate_err_msg_format.format(batch[0].dtype))
    return collate([ops.as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: _Map | None = None) -> Any:
    """NumPy numbers as one tensor."""
    return ops.as_tensor(batch)


def collate_float_fn(batch: Any, *, collate_fn_map: _Map | None = None) -> Any:
    """Python floats as one tensor, in double precision."""
    return ops.tensor(batch, dtype=dtypes.float64)


def collate_int_fn(batch: Any, *, collate_fn_map: _Map | None = None) -> Any:
    """Python ints, or bools, as one tensor."""
    return ops.tensor(batch)


def collate_str_fn(batch: Any, *, collate_fn_map: _Map | None = None) -> Any:
    """Texts, left as they are."""
    return batch


default_collate_fn_map: _Map = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_collate(batch: Any) -> Any:
    """A list of samples as one batch, with a new first dimension (source: ``torch.utils.data.default_collate``).

    >>> from livetape.utils.data import default_collate
    >>> default_collate([{"x": 1, "y": "a"}, {"x": 2, "y": "b"}])
    {'x': tensor([1, 2]), 'y': ['a', 'b']}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)
