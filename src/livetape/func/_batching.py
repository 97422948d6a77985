"""The interposer of vmap: an operation on batched tensors is handed to its row's rule as one on whole batches."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape._tape.modes import is_recording
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
from livetape.dtypes import of_numpy
from livetape.func._arrays import DATA, Batched, level_of, serials, shown
from livetape.func._functions import FunctionRules
from livetape.func._rules import expanded, run_batched
from livetape.ops.basics import clone, clone_as, copy_

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
        if tensor.base is not None and level_of(tensor.base) is self and level_of(tensor) is not self:
            self.promote(tensor)  # as its base was
            tensor.view_version = -1
            array = tensor.array
        if type(array) is Batched:
            if array.level is self:
                return array.inner, not array.lifted
            if array.inner is None:
                raise RuntimeError(DATA)
        return tensor, False

    def owns(self, tensor: Any) -> bool:
        """Whether a tensor belongs to this level."""
        return level_of(tensor) is self

    def whole(self, tensor: Any) -> Any:
        """The batch of a tensor, repeated if it is the same for all samples."""
        inner, is_batch = self.opened(tensor)
        return inner if is_batch else expanded(inner, self.size)

    def materialize(self, tensor: Any, below: list[Any] | None = None) -> Any:
        """A tensor with memory of its own for each sample, of this level and of those ``below``."""
        inner, is_batch = self.opened(tensor)
        made = below[-1].materialize(inner, below[:-1]) if below else inner
        if is_batch and made is inner:
            return tensor
        twin = self.batched(made if is_batch else clone_as(expanded(made, self.size), None))
        if level_of(tensor) is self:
            twin.node, twin.output_nr, twin.recorded = tensor.node, tensor.output_nr, tensor.recorded
        return twin

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
        counter_of(target).bump()
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
            op.record(values, (result,))
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
            if op.is_elementwise():
                size = np.broadcast_shapes(*[shape_of(a) for a in args if isinstance(a, TensorBase)])
                raise RuntimeError(
                    f"output with shape {list(shape_of(target))} doesn't match the broadcast shape {[self.size, *size]}"
                )
            raise RuntimeError(_INPLACE)
        recording = is_recording()
        if level_of(target) is not self:
            if not (recording and self.must_record(op, args)):
                return op.inplace(*values)
            self.promote(target)
            values, flags, _ = self.open_all(args)
        check_inplace(target, recording)
        to_record = recording and self.must_record(op, args)
        inner = self.opened(target)[0]
        before = target
        if to_record or (recording and any(isinstance(v, TensorBase) and needs_gradient(v) for v in values)):
            inner_before = clone(inner)  # what is saved must not change
            before = self.batched(inner_before) if flags[0] else self.lift(inner_before)
            before.node = target.node
            before.output_nr = target.output_nr
            before.recorded = target.recorded
            values = tuple([inner_before if v is inner else v for v in values])
        out = run_batched(op, values, flags, self.size) if True in flags else op.apply(values)
        if isinstance(out, tuple):
            out = out[0]
        if shape_of(out) != shape_of(inner):
            raise RuntimeError(
                f"output with shape {list(shape_of(target))} doesn't match the broadcast shape "
                f"{list(shape_of(out)[1 if flags[0] else 0 :])}"
            )
        node = None
        if to_record:
            result = wrap(self.array_of(out, flags[0]), out.dtype, None)
            op.record(self.own(tuple([before if a is target else a for a in args])), (result,))
            node = result.node
        copy_(inner, out)
        counter_of(target).bump()
        if node is not None:
            rebase_history(target, node)
        return target

    def promote(self, tensor: Any) -> None:
        """Make a tensor from below one of this level, the same for all samples: what is written into it is recorded here.

        Its memory stays, and so does its history below, with a twin that is now inside it.
        """
        base = tensor.base
        if base is not None and level_of(base) is not self:
            self.promote(base)
        twin: Any = wrap(tensor.array, tensor.dtype, tensor._size)
        twin.node, twin.output_nr, twin.recorded = tensor.node, tensor.output_nr, tensor.recorded
        if base is not None:
            twin.base = base.array.inner
            twin.version, twin.view_version, twin.creation = twin.base.version, tensor.view_version, tensor.creation
        if KEY in tensor.__dict__:
            twin.__dict__[KEY] = dict(tensor.__dict__[KEY])
        tensor.array = shown(self, twin, True)
        tensor.node, tensor.recorded = None, False
        tensor.view_version = version_of(tensor)

    def reshape(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Give a tensor itself the shape of a view of it."""
        target = args[0]
        view = self.intercept(op, args, {})
        target.array = view.array
        target._size = None
        counter_of(target).bump()
        if view.node is not None and view.recorded:
            target.node, target.output_nr, target.recorded = view.node, 0, True
        if target.base is not None:
            target.view_version = version_of(target)
        return target

    # ------------------------------------------------------------ elsewhere
    def describe(self, tensor: Any) -> str | None:
        """The text of a batched tensor: the whole batch."""
        return tensor.array.described() if level_of(tensor) is self and not tensor.array.lifted else None

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
