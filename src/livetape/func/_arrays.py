"""The arrays of batched tensors.

A batched tensor is an ordinary tensor whose array has the shape of one sample: a view of the first, of a class of its own
that remembers the whole batch, a tensor with one dimension more in front. Whatever looks at shapes and dtypes works on the
sample; what would look at values is refused, but for the checks that some operations begin with: they are made of all.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from livetape._tape.explain import with_note
from livetape.func._text import indented
from livetape.ops.basics import detach
from livetape.ops.casting import NO_STORAGE as DATA
from livetape.ops.permuting import movedim

_ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, "
    "please try to rewrite what you're doing with other operations. If error is occurring somewhere inside PyTorch "
    "internals, please file a bug report."
)
_BRANCH = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that "
    "yet, please file an issue at https://github.com/pytorch/pytorch/issues ."
)


serials = itertools.count(1)  # of levels of all kinds: those made inside others have higher ones


def dynamic_error(name: str) -> str:
    """Torch's words for results whose shape differs between samples."""
    return (
        "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over "
        f"aten::{'_unique2' if name == 'unique2' else name}. Please file an issue at "
        "https://github.com/pytorch/pytorch/issues if you need this feature."
    )


def _refusing(name: str, text: str) -> Any:
    def refuse(self: Any, *args: Any, **kwargs: Any) -> Any:
        hint = "livetape: inside vmap a tensor stands for a whole batch; one Python value cannot."
        raise with_note(RuntimeError(text), hint)

    refuse.__name__ = name
    return refuse


class Batched(np.ndarray):
    """The array of a batched tensor: the first sample, and the tensor that holds them all.

    level     the `VmapLevel` it belongs to
    inner     the whole batch, samples along dimension 0
    lifted    True for a tensor that is not batched, but belongs to the level all the same: inner is the tensor itself
    """

    level: Any = None
    inner: Any = None
    lifted: bool = False
    bdim: int = 0  # where the samples of an input lay
    samples: Any = None  # the elements of all samples, for the checks below

    def detached(self) -> Any:
        """The array of a tensor whose batch is detached."""
        return shown(self.level, detach(self.inner), self.lifted)

    def described(self) -> str:
        """The text of the tensor: the whole batch."""
        if self.lifted:
            return repr(self.inner)
        return f"{self.heading()}, value=\n    {indented(repr(self.whole()))}\n)"

    def heading(self) -> str:
        """What the text of the tensor begins with."""
        return f"BatchedTensor(lvl={self.level.number}, bdim={self.bdim}"

    def whole(self) -> Any:
        """The whole batch, samples along the dimension in which they were given."""
        return movedim(self.inner, 0, self.bdim) if self.bdim else self.inner

    def alike(self, made: Any) -> Any:
        """A new tensor, which is to be like this array's tensor, with memory for each sample."""
        for level in reversed(levels_of(self)):
            made = level.materialize(made)
        return made

    def around(self, inner: Any) -> Any:
        """The array of a tensor that is the same but for what is inside."""
        return shown(self.level, inner, self.lifted)

    item = _refusing("item", _ITEM)
    __int__ = _refusing("__int__", _ITEM)
    __float__ = _refusing("__float__", _ITEM)
    __complex__ = _refusing("__complex__", _ITEM)
    __index__ = _refusing("__index__", _ITEM)
    __bool__ = _refusing("__bool__", _BRANCH)
    tolist = _refusing("tolist", DATA)
    tobytes = _refusing("tobytes", DATA)
    nonzero = _refusing("nonzero", _BRANCH)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "__call__" and ufunc.__name__ in _CHECKS and not kwargs:
            return _Check.of(ufunc, inputs)
        raise RuntimeError(DATA)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function.__name__ in _SHAPES:
            return function(*[a.view(np.ndarray) if isinstance(a, Batched) else a for a in args], **kwargs)
        if function.__name__ in ("nonzero", "argwhere", "atleast_1d"):
            raise RuntimeError(dynamic_error("nonzero"))
        raise RuntimeError(DATA)

    # Enough, over all samples, for the checks of arguments that some operations begin with.
    def min(self, *args: Any, **kwargs: Any) -> Any:
        return self._all("min", args, kwargs)

    def max(self, *args: Any, **kwargs: Any) -> Any:
        return self._all("max", args, kwargs)

    def _all(self, name: str, args: Any, kwargs: Any) -> Any:
        if args or kwargs or self.samples is None:
            raise RuntimeError(DATA)
        return getattr(self.samples, name)()

    def view(self, *args: Any) -> Any:  # type: ignore[override]
        made: Any = np.ndarray.view(self, *args)
        if type(made) is Batched and self.samples is not None:
            made.samples = self.samples.view(*args)
        return made

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, _Check):
            return self.samples[key if isinstance(self.samples, Batched) else key.array]
        found = np.ndarray.__getitem__(self, key)
        if not isinstance(found, np.ndarray):
            raise RuntimeError(_ITEM)
        return found


_SHAPES = {
    "shares_memory",
    "may_share_memory",
    "ndim",
    "shape",
    "size",
    "iscomplexobj",
    "empty_like",
    "zeros_like",
    "ones_like",
}
_CHECKS = {
    "absolute",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "equal",
    "not_equal",
    "isnan",
    "isinf",
    "isfinite",
    "logical_and",
    "logical_or",
    "logical_not",
    "bitwise_and",
    "bitwise_or",
    "invert",
}


class _Check:
    """Numbers for every element of every sample, that can be compared, and asked whether any or all are true."""

    __array_ufunc__: Any = None
    __hash__: Any = None
    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    @staticmethod
    def of(ufunc: Any, inputs: Any) -> _Check:
        """The comparison of a batched array with a number, or of two batched arrays."""
        values = []
        for value in inputs:
            if isinstance(value, Batched):
                if value.samples is None:
                    raise RuntimeError(DATA)
                value = value.samples
            elif np.ndim(value):
                raise RuntimeError(DATA)
            values.append(value)
        found = ufunc(*values)
        return found if isinstance(found, _Check) else _Check(found)

    def any(self) -> bool:
        """Whether any element of any sample is true."""
        return bool(self.array.any())

    def all(self) -> bool:
        """Whether all elements of all samples are true."""
        return bool(self.array.all())

    def __and__(self, other: Any) -> _Check:
        return _Check(self.array & other.array)

    def __or__(self, other: Any) -> _Check:
        return _Check(self.array | other.array)

    def __invert__(self) -> _Check:
        return _Check(~self.array)

    def __lt__(self, other: Any) -> _Check:
        return _Check(self.array < other)

    def __le__(self, other: Any) -> _Check:
        return _Check(self.array <= other)

    def __gt__(self, other: Any) -> _Check:
        return _Check(self.array > other)

    def __ge__(self, other: Any) -> _Check:
        return _Check(self.array >= other)

    def __eq__(self, other: object) -> Any:
        return _Check(self.array == other)

    def __ne__(self, other: object) -> Any:
        return _Check(self.array != other)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise RuntimeError(DATA)

    __getitem__ = __array__ = __len__ = _refusing("__array__", DATA)
    __bool__ = _refusing("__bool__", _BRANCH)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function.__name__ in ("any", "all") and len(args) == 1 and not kwargs:
            return getattr(self, function.__name__)()
        raise RuntimeError(DATA)


def shown(level: Any, inner: Any, lifted: bool) -> Any:
    """The array that a tensor of a vmap level has."""
    array = inner.array
    if type(array) is Batched and array.level is not None and array.level.serial >= level.serial:
        raise RuntimeError("livetape: a batch of a level of vmap would hold one of a level inside it")
    made: Any
    if lifted:
        made = np.ndarray.view(array, Batched)
    elif array.shape[0]:
        made = np.ndarray.view(np.ndarray.__getitem__(array, (0, ...)), Batched)
    else:
        made = np.zeros(array.shape[1:], array.dtype).view(Batched)
    made.samples = array
    made.level = level
    made.inner = inner
    made.lifted = lifted
    made.flags.writeable = False
    return made


def levels_of(array: Any) -> list[Any]:
    """The levels on which an array is batched, the newest first."""
    found = []
    while type(array) is Batched:
        if not array.lifted:
            found.append(array.level)
        array = array.inner.array
    return found


def level_of(tensor: Any) -> Any:
    """The vmap level that a tensor belongs to, or None."""
    array = tensor.array
    return array.level if type(array) is Batched else None
