"""The interposer of vmap: tensors that stand for a batch of tensors.

A batched tensor is an ordinary tensor whose array has the shape of one sample: a view of the first, of a class of its own
that remembers the whole batch, a tensor with one dimension more in front. An operation on batched tensors is handed to its
row's rule as an operation on the whole batches. Whatever looks at shapes and dtypes works on the sample; what would look at
values is refused by the array itself.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from livetape._tape.modes import is_recording
from livetape._tape.record import TO_BOOL
from livetape._tape.tensor import (
    DEFAULT,
    MULTI_OUTPUT,
    NO_GRAD,
    TensorBase,
    counter_of,
    make_view,
    shape_of,
    version_of,
    wrap,
)
from livetape._tape.views import check_inplace, needs_gradient, rebase_history
from livetape.autograd._dual import KEY, run_below
from livetape.dtypes import BOOL, of_numpy
from livetape.func._functions import FunctionRules
from livetape.func._rules import dynamic_error, expanded, run_batched
from livetape.ops.basics import clone, clone_as, copy_, detach

_ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, "
    "please try to rewrite what you're doing with other operations. If error is occurring somewhere inside PyTorch "
    "internals, please file a bug report."
)
_BRANCH = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that "
    "yet, please file an issue at https://github.com/pytorch/pytorch/issues ."
)
_DATA = "Cannot access data pointer of Tensor that doesn't have storage"
_RANDOM = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
    "randomness flags on vmap or perform the randomness operation out of vmap"
)
_SAME_BATCHED = (
    "Vmap does not currently support same randomness with a batched tensor input. Please file an issue with functorch"
)
_DIFFERENT_UNBATCHED = (
    "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same randomness. If "
    "this is necessary for your usage, please file an issue with functorch."
)
_INPLACE = (
    "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that "
    "has more elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over in a "
    "vmap. Please try to use out-of-place operators instead of inplace arithmetic. If said operator is being called inside "
    "the PyTorch framework, please file a bug report instead."
)


serials = itertools.count(1)  # of levels of all kinds: those made inside others have higher ones


def _refusing(name: str, text: str) -> Any:
    def refuse(self: Any, *args: Any, **kwargs: Any) -> Any:
        error = RuntimeError(text)
        error.add_note("livetape: inside vmap a tensor stands for a whole batch; one Python value cannot.")
        raise error

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
    samples: Any = None  # the elements of all samples, for the checks below

    def detached(self) -> Any:
        """The array of a tensor whose batch is detached."""
        return shown(self.level, detach(self.inner), self.lifted)

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
    tolist = _refusing("tolist", _DATA)
    tobytes = _refusing("tobytes", _DATA)
    nonzero = _refusing("nonzero", _BRANCH)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "__call__" and ufunc.__name__ in _CHECKS and not kwargs:
            return _Check.of(ufunc, inputs)
        raise RuntimeError(_DATA)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function.__name__ in _SHAPES:
            return function(*[a.view(np.ndarray) if isinstance(a, Batched) else a for a in args], **kwargs)
        if function.__name__ in ("nonzero", "argwhere", "atleast_1d"):
            raise RuntimeError(dynamic_error("nonzero"))
        raise RuntimeError(_DATA)

    # Enough, over all samples, for the checks of arguments that some operations begin with.
    def min(self, *args: Any, **kwargs: Any) -> Any:
        return self._all("min", args, kwargs)

    def max(self, *args: Any, **kwargs: Any) -> Any:
        return self._all("max", args, kwargs)

    def _all(self, name: str, args: Any, kwargs: Any) -> Any:
        if args or kwargs or self.samples is None:
            raise RuntimeError(_DATA)
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
    """A truth value for every element of every sample, that can be asked whether any or all are true."""

    __array_ufunc__: Any = None
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
                    raise RuntimeError(_DATA)
                value = value.samples
            elif np.ndim(value):
                raise RuntimeError(_DATA)
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

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function.__name__ in ("any", "all") and len(args) == 1 and not kwargs:
            return getattr(self, function.__name__)()
        raise RuntimeError(_DATA)


def shown(level: Any, inner: Any, lifted: bool) -> Any:
    """The array that a tensor of a vmap level has."""
    array = inner.array
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


class VmapLevel(FunctionRules):
    """One level of vmap (source: ``torch.func.vmap``)."""

    def __init__(self, size: int, randomness: str, number: int) -> None:
        self.serial = next(serials)
        self.size = size
        self.randomness = randomness
        self.number = number
        self.records_below = False  # whether any batch was seen to be recorded on the tape below

    # ------------------------------------------------------------ in and out
    def batched(self, inner: Any) -> Any:
        """The tensor that stands for the samples of ``inner`` along its dimension 0."""
        self.records_below = self.records_below or bool(inner.recorded)
        return wrap(shown(self, inner, False), inner.dtype, None)

    def lift(self, tensor: Any) -> Any:
        """A tensor of this level that is the same for all samples."""
        if level_of(tensor) is self:
            return tensor
        self.records_below = self.records_below or needs_gradient(tensor)
        twin: Any = wrap(shown(self, tensor, True), tensor.dtype, None)
        if KEY in tensor.__dict__:  # tangents of levels above this one
            twin.__dict__[KEY] = dict(tensor.__dict__[KEY])
        return twin

    def opened(self, tensor: Any) -> tuple[Any, bool]:
        """What is inside a tensor, and whether that is a batch."""
        array = tensor.array
        if type(array) is Batched:
            if array.level is self:
                return array.inner, not array.lifted
            if array.inner is None:
                raise RuntimeError(_DATA)
        return tensor, False

    def owns(self, tensor: Any) -> bool:
        """Whether a tensor belongs to this level."""
        return level_of(tensor) is self

    def whole(self, tensor: Any) -> Any:
        """The batch of a tensor, repeated if it is the same for all samples."""
        inner, is_batch = self.opened(tensor)
        return inner if is_batch else expanded(inner, self.size)

    def materialize(self, tensor: Any) -> Any:
        """A tensor with memory of its own for each sample."""
        if level_of(tensor) is self and not tensor.array.lifted:
            return tensor
        return self.batched(clone_as(expanded(self.opened(tensor)[0], self.size), None))

    # ------------------------------------------------------------ operations
    def intercept(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run an operation on whole batches."""
        values, flags, mine = self.open_all(args)
        random = "law" in op.params or "bits" in op.params
        if random:
            if self.randomness == "error":
                raise RuntimeError(_RANDOM)
            if self.randomness == "different":
                if True not in flags and "inplace" in kwargs:
                    raise RuntimeError(_DIFFERENT_UNBATCHED)
                values, flags = self.all_batched(op, args, values, flags, "inplace" in kwargs)
                mine = True
            elif True in flags and "law" not in op.params:
                raise RuntimeError(_SAME_BATCHED)
            elif mine and "law" in op.params:
                return self.same_for_all(op, args, values, kwargs)
        if not mine:
            return run_below(op, args, kwargs)
        if "inplace" in kwargs:
            return self.change(op, args, values, flags)
        if kwargs:
            return self.reshape(op, args, kwargs)
        if True in flags:
            out = run_batched(op, values, flags, self.size)
        else:
            out = op.apply(values)
        return self.finish(op, args, out, True in flags)

    def open_all(self, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[Any], bool]:
        """The arguments without this level, which of them are batches, and whether any belonged to the level.

        For a list of tensors the flag is True if any of them is a batch; then all are made batches.
        """
        values: list[Any] = []
        flags: list[bool] = []
        mine = False
        for value in args:
            if isinstance(value, TensorBase):
                inner, is_batch = self.opened(value)
                mine = mine or inner is not value
                values.append(inner)
                flags.append(is_batch)
            elif type(value) in (list, tuple) and any(isinstance(v, TensorBase) for v in value):
                pairs = [self.opened(v) if isinstance(v, TensorBase) else (v, False) for v in value]
                mine = mine or any(p[0] is not v for p, v in zip(pairs, value))
                any_batch = any(p[1] for p in pairs)
                values.append([self.batch_of(p, any_batch) for p in pairs])
                flags.append(any_batch)
            else:
                values.append(value)
                flags.append(False)
        return tuple(values), flags, mine

    def batch_of(self, pair: tuple[Any, bool], wanted: bool) -> Any:
        """A tensor that was opened, as a batch if one is wanted."""
        inner, is_batch = pair
        return expanded(inner, self.size) if wanted and not is_batch and isinstance(inner, TensorBase) else inner

    def all_batched(
        self, op: Any, args: tuple[Any, ...], values: tuple[Any, ...], flags: list[bool], inplace: bool
    ) -> tuple[tuple[Any, ...], list[bool]]:
        """The arguments with every tensor a batch: each sample is to draw numbers of its own."""
        found = list(values)
        which = [isinstance(v, TensorBase) for v in values]
        for at in op.tensor_at:
            if which[at] and not flags[at]:
                found[at] = expanded(values[at], self.size)
        if "law" in op.params and not inplace:  # what the tensor holds does not matter
            found[0] = wrap(np.empty((self.size, *shape_of(args[0])), args[0].dtype.np), args[0].dtype, None)
        return tuple(found), which

    def same_for_all(self, op: Any, args: tuple[Any, ...], values: tuple[Any, ...], kwargs: Any) -> Any:
        """Random numbers for one sample, used for all."""
        target = args[0]
        drawn = op.apply((wrap(np.empty(shape_of(target), target.dtype.np), target.dtype, None), *values[1:]))
        if "inplace" in kwargs:
            return copy_(target, drawn) if self.opened(target)[1] is False else self.overwrite(target, drawn)
        return drawn

    def overwrite(self, target: Any, value: Any) -> Any:
        """Copy a value for one sample into all samples of a batched tensor."""
        copy_(self.opened(target)[0], value)
        counter_of(target).value += 1
        return target

    def finish(self, op: Any, args: tuple[Any, ...], out: Any, is_batch: bool) -> Any:
        """Results of this level: batches as tensors, recorded if the arguments were recorded on this level."""
        if isinstance(out, tuple):
            arrays = [self.array_of(o, is_batch) for o in out]
            if op.view:
                return make_views(op, self.own(args), arrays)
            results = tuple([wrap(a, o.dtype, None) for a, o in zip(arrays, out)])
            if self.must_record(op, args):
                values = self.own(args)
                node = op.node_for(values, results[0].dtype)
                if node is not None:
                    op.attach(node, values, results)
            return results
        array = self.array_of(out, is_batch)
        if op.view:
            return make_views(op, self.own(args), [array])[0]
        result = wrap(array, out.dtype, None)
        if self.must_record(op, args):
            values = self.own(args)
            record(op, values, result)
        return result

    def array_of(self, inner: Any, is_batch: bool) -> Any:
        """The array of a result."""
        self.records_below = self.records_below or bool(inner.recorded)
        return shown(self, inner, not is_batch)

    def must_record(self, op: Any, args: tuple[Any, ...]) -> bool:
        """Whether a tensor of this level among the arguments is recorded."""
        if not op.formulas or not is_recording():
            return False
        for value in args:
            for tensor in value if type(value) in (list, tuple) else (value,):
                if isinstance(tensor, TensorBase) and level_of(tensor) is self and needs_gradient(tensor):
                    return True
        return False

    def own(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments as tensors of this level: what is recorded below is no variable here."""
        found: list[Any] = []
        for value in args:
            if isinstance(value, TensorBase):
                found.append(self.lift(value))
            elif type(value) in (list, tuple):
                found.append(type(value)([self.lift(v) if isinstance(v, TensorBase) else v for v in value]))
            else:
                found.append(value)
        return tuple(found)

    # ------------------------------------------------------------ in place
    def change(self, op: Any, args: tuple[Any, ...], values: tuple[Any, ...], flags: list[bool]) -> Any:
        """Run an operation in place: the batch is overwritten with what the operation gives."""
        target = args[0]
        if not flags[0] and True in flags:
            raise RuntimeError(_INPLACE)
        if level_of(target) is not self:
            return op.inplace(*values)
        recording = is_recording()
        check_inplace(target, recording)
        record = recording and self.must_record(op, args)
        if record:
            inner, is_batch = self.opened(target)
            before = self.batched(clone(inner)) if is_batch else self.lift(clone(inner))
            before.node = target.node
            before.output_nr = target.output_nr
            before.recorded = target.recorded
            args = tuple([before if a is target else a for a in args])
            values, flags, _ = self.open_all(args)
        out = run_batched(op, values, flags, self.size) if True in flags else op.apply(values)
        if isinstance(out, tuple):
            out = out[0]
        inner = self.opened(target)[0]
        if shape_of(out) != shape_of(inner):
            raise RuntimeError(
                f"output with shape {list(shape_of(target))} doesn't match the broadcast shape "
                f"{list(shape_of(out)[1 if flags[0] else 0 :])}"
            )
        node = None
        if record:
            result = wrap(self.array_of(out, flags[0]), out.dtype, None)
            own = self.own(args)
            record(op, own, result)
            node = result.node
        copy_(inner, out)
        counter_of(target).value += 1
        if node is not None:
            rebase_history(target, node)
        return target

    def reshape(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Give a tensor itself the shape of a view of it."""
        target = args[0]
        view = self.intercept(op, args, {})
        target.array = view.array
        target._size = None
        counter_of(target).value += 1
        if view.node is not None and view.recorded:
            target.node, target.output_nr, target.recorded = view.node, 0, True
        if target.base is not None:
            target.view_version = version_of(target)
        return target

    # ------------------------------------------------------------ elsewhere
    def describe(self, tensor: Any) -> str | None:
        """The text of a batched tensor: the whole batch."""
        if level_of(tensor) is not self or tensor.array.lifted:
            return None
        text = repr(tensor.array.inner).replace("\n", "\n    ")
        return f"BatchedTensor(lvl={self.number}, bdim=0, value=\n    {text}\n)"

    def refuse_out(self, name: str, tensors: list[Any]) -> None:
        """Refuse ``out=`` where a tensor is batched: its memory is not what the result is written into."""
        if any(level_of(t) is self for t in tensors):
            raise RuntimeError(
                f"vmap: {name}() with out=... is not supported on batched tensors; use its result instead"
            )


def make_views(op: Any, values: tuple[Any, ...], arrays: list[Any]) -> tuple[Any, ...]:
    """Tensors around the arrays of views of ``values[0]``, recorded if that is."""
    base = values[0]
    recording = is_recording()
    several = op.outputs != 1
    recorded = needs_gradient(base)
    views = tuple(
        [make_view(base, a, NO_GRAD if not recording else MULTI_OUTPUT if several else DEFAULT) for a in arrays]
    )
    for view in views:
        if view.array.dtype is not base.array.dtype:
            view.dtype = of_numpy(view.array.dtype)
    node = op.node_for(values, base.dtype) if recording and recorded else None
    if node is not None:
        op.attach(node, values, views)
    return views


def record(op: Any, values: tuple[Any, ...], result: Any) -> None:
    """Append a node for a single result that was not run by the row itself."""
    if op.is_elementwise():
        record_elementwise(op, values, result)
    elif op.listed:
        node = op.node_for(values, result.dtype)
        if node is not None:
            op.attach(node, values, (result,))
    else:
        op.record_one(values, result)


def record_elementwise(op: Any, values: tuple[Any, ...], result: Any) -> None:
    """Append a node for a result of an elementwise row that was not run by the row itself."""
    node = op.node_for(values, result.dtype)
    if node is None or op.promotes == TO_BOOL or result.dtype.category == BOOL:
        return
    result.node = node
    result.recorded = True
    tensors = [values[at] for at in op.tensor_at]
    node._metas = tuple([(shape_of(t), t.dtype) if isinstance(t, TensorBase) else None for t in tensors])
    mask = 0
    for i, edge in enumerate(node._edges):
        if edge is not None:
            mask |= 1 << i
    op.save(node, values, (result,), mask)
