"""Who shares memory with whom, and whose history follows an in-place change."""

from __future__ import annotations

from typing import Any, Final

from mypy_extensions import i64, mypyc_attr

from livetape._tape.explain import op_label
from livetape._tape.lines import note_line
from livetape._tape.modes import is_inferring, state
from livetape._tape.tensor import (
    DEFAULT,
    IN_FUNCTION,
    MULTI_OUTPUT,
    NO_GRAD,
    Edge,
    Node,
    TensorBase,
    node_extras,
    shape_of,
    version_of,
    wrap,
)
from livetape.dtypes import FLOAT, SCALAR_TYPE, can_cast, dtype


class Primitives:
    """The few operations that the tape itself needs. The table gives them at import."""

    __slots__ = (
        "add",
        "as_strided",
        "as_strided_op",
        "cast",
        "clone",
        "clone_as",
        "conj",
        "copy_",
        "equal",
        "gradients",
        "layout_of",
        "leave_out",
        "note_border",
        "parts",
        "product_of_used",
        "retyping",
        "sum_to",
        "zeros",
    )

    def __init__(self) -> None:
        self.add: Any = None  # (tensor, tensor)
        self.as_strided: Any = None  # (tensor, size, strides, offset)
        self.as_strided_op: Any = None  # its row
        self.cast: Any = None  # (tensor, dtype)
        self.clone: Any = None  # (tensor)
        self.clone_as: Any = None  # (tensor, layout)
        self.layout_of: Any = None  # (array): how its memory is laid out, for clone_as
        self.conj: Any = None  # (tensor)
        self.copy_: Any = None  # (tensor, source)
        self.equal: Any = None  # (tensor, tensor or number): where they are equal
        self.leave_out: Any = None  # (grad, used, but): 0 for NaN where ``used`` is 0 and ``but`` does not hold
        self.note_border: Any = None  # (condition, one side, the other side)
        self.parts: Any = None  # (tensor): finite elements, and 1 for those that are not
        self.product_of_used: Any = None  # (grad, used, fn, finite, bad, found): see ops/used.py
        self.gradients: Any = None  # (node, grads, wanted): the engine's way to run a node
        self.retyping: Any = None  # (dtype, dtype): the row that views the one as the other, None if it is the same
        self.sum_to: Any = None  # (tensor, Size)
        self.zeros: Any = None  # (Size, dtype)


primitives: Final = Primitives()

FREED: Final = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
    "after calling backward."
)


def edge_of(tensor: TensorBase) -> Any:
    """What an edge to this tensor leads to: None, a leaf, a Node or an Edge."""
    if tensor.base is not None:
        refresh_view(tensor)
    if not tensor.recorded:
        return None
    node = tensor.node
    if node is None:
        return None if tensor.base is not None and is_borrowing(tensor) else tensor
    if tensor.output_nr == 0:
        return node
    return Edge(node, tensor.output_nr)


def follow_base(view: TensorBase, recorded: bool) -> None:
    """The base was told whether to require gradients; a view without history then says the same, unless it was asked."""
    if recorded:
        view.recorded = view.dtype.category >= FLOAT
    elif view.extras is None or not view.extras.asked:
        view.recorded = False


def is_borrowing(view: TensorBase) -> bool:
    """Whether a view without history requires a gradient only because its base does: its own goes nowhere, as in torch."""
    base = view.base
    if base is None or not base.recorded:
        return False
    return view.extras is None or not view.extras.asked


def needs_gradient(tensor: TensorBase) -> bool:
    """requires_grad, brought up to date for a view whose base has changed."""
    if tensor.base is not None:
        refresh_view(tensor)
    return tensor.recorded


def geometry(tensor: TensorBase, base: TensorBase) -> tuple[Any, list[int], int]:
    """Size, strides and offset, in elements, of a view in its base."""
    itemsize = tensor.array.itemsize
    offset = tensor.array.__array_interface__["data"][0] - base.array.__array_interface__["data"][0]
    return shape_of(tensor), [s // itemsize for s in tensor.array.strides], offset // itemsize


def refresh_view(view: TensorBase) -> None:
    """Give a view whose base has changed since it was made its new history: a strided piece of the base."""
    version = version_of(view)
    if version == view.view_version:
        if view.node is None:
            whole = view.base
            if whole is not None and whole.recorded != view.recorded:
                follow_base(view, whole.recorded)
        return
    base = view.base
    if base is None or not base.recorded:
        view.view_version = version
        return
    if view.creation != DEFAULT:
        raise rebase_error(view, True)
    size, strides, offset = geometry(view, base)
    source = base
    edge = edge_of(base)
    turning = primitives.retyping(base.dtype, view.dtype)
    if turning is not None:
        turned: Node = turning.node_class()
        turned._op = turning
        turned._edges = (edge,)
        edge = turned
        source = wrap(turning.kernel(base.array), view.dtype, None)
    op = primitives.as_strided_op
    node: Node = op.node_class()
    node._op = op
    node._edges = (edge,)
    op.save(node, (source, size, strides, offset, primitives.layout_of(source.array)), (view,), 1)
    move_retained(view, node)
    view.node = node
    view.output_nr = 0
    view.recorded = True
    view.view_version = version


def is_stale(view: TensorBase) -> bool:
    """Whether a view's base was changed in a way that leaves the view without a history: it has none to ask for."""
    base = view.base
    if base is None or view.creation == DEFAULT or not base.recorded:
        return False
    return version_of(view) != view.view_version


def rebase_error(view: TensorBase, indirect: bool) -> RuntimeError:
    """Why a view's base may not be changed through it."""
    node = view.node
    change = "its base or another view of its base has been" if indirect else "is being"
    if node is None:
        text = f"A view was created in no_grad mode and {change} modified inplace with grad mode enabled."
    else:
        text = f"Output {int(view.output_nr)} of {op_label(node)} is a view and {change} modified inplace."
    creation = view.creation
    if creation == MULTI_OUTPUT:
        return RuntimeError(
            text
            + " This view is the output of a function that returns multiple views. Such functions do not allow the "
            "output views to be modified inplace. You should replace the inplace operation by an out-of-place one."
        )
    if creation == IN_FUNCTION:
        return RuntimeError(
            text + " This view was created inside a custom Function (or because an input was returned as-is) and the "
            "autograd logic to handle view+inplace would override the custom backward associated with the custom "
            "Function, leading to incorrect gradients. This behavior is forbidden. You can fix this by cloning the "
            "output of the custom Function."
        )
    mode, where = ("no_grad mode", "no_grad") if creation == NO_GRAD else ("inference mode", "inference_mode")
    now = "with grad mode enabled" if creation == NO_GRAD else "in normal mode"
    what = "A view" if node is None else f"Output {int(view.output_nr)} of {op_label(node)} is a view of a view which"
    return RuntimeError(
        f"{what} was created in {mode} and {change} modified inplace {now}. Given that this use case is ambiguous and "
        "error-prone, it is forbidden. You can clarify your code by moving both the view and the inplace either both inside "
        f"the {where} block (if you don't want the inplace to be tracked) or both outside (if you want the inplace to be "
        "tracked)."
    )


def leaf_error(what: str) -> RuntimeError:
    """A leaf, or a view of one, is to be changed in place while that is recorded."""
    error = RuntimeError(f"{what} that requires grad is being used in an in-place operation.")
    error.add_note(
        "livetape: its gradient would be that of a value which is no longer there. Change it under torch.no_grad(), as "
        "optimisers do, or change a clone(): x = x.clone()."
    )
    return error


def check_inplace(target: TensorBase, recording: bool, uniform: bool = False, others: tuple[Any, ...] = ()) -> None:
    """Raise torch's error if this tensor must not be changed in place now, with arguments ``others``.

    ``uniform`` says that all its elements get the same value: then they may share memory.
    """
    if target.inference and not is_inferring():
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal "
            "tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details."
        )
    base = target.base
    if recording:
        if base is not None:
            if target.creation != DEFAULT and (target.recorded or base.recorded or is_any_recorded(others)):
                raise rebase_error(target, False)
            refresh_view(target)
            if target.recorded and base.node is None:
                raise leaf_error("a view of a leaf Variable")
        if target.recorded and target.node is None:
            raise leaf_error("a leaf Variable")
    if not uniform:
        check_distinct(target.array)


def is_any_recorded(values: tuple[Any, ...]) -> bool:
    """Whether an argument requires a gradient."""
    for value in values:
        if isinstance(value, TensorBase) and value.recorded:
            return True
    return False


def shares_elements(array: Any) -> bool:
    """Whether an array is expanded: a dimension of several elements is one element in memory."""
    if 0 in array.strides and array.size:
        for extent, stride in zip(array.shape, array.strides):
            if stride == 0 and extent > 1:
                return True
    return False


def check_distinct(array: Any) -> None:
    """Raise torch's error if elements share memory, so that no values can be written."""
    if shares_elements(array):
        raise shared_error()


def shared_error() -> RuntimeError:
    """Torch's words for a tensor that cannot be written since its elements share memory."""
    return RuntimeError(
        "unsupported operation: more than one element of the written-to tensor refers to a single memory "
        "location. Please clone() the tensor before performing the operation."
    )


def check_apart(target: TensorBase, source: TensorBase, strict: bool = False) -> None:
    """Raise torch's error if a change of ``target`` would change elements of ``source`` in other places than its own.

    With ``strict`` it must not change any elements of it.
    """
    if target is source:
        if not strict:
            return
        raise overlap_error()
    if not (has_base_of(target, source) or has_base_of(source, target)):
        return
    mine = target.array
    other = source.array
    if mine.size == 0 or other.size == 0 or not (is_dense(mine) and is_dense(other)):
        return
    start: int = mine.__array_interface__["data"][0]
    first: int = other.__array_interface__["data"][0]
    if start == first and mine.nbytes == other.nbytes:
        apart = not strict and mine.strides == other.strides
    else:
        apart = start + mine.nbytes <= first or first + other.nbytes <= start
    if not apart:
        raise overlap_error()


def overlap_error() -> RuntimeError:
    """Torch's words for a tensor whose change would change another that is read."""
    return RuntimeError(
        "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
        "location. Please clone() the tensor before performing the operation."
    )


def has_base_of(view: TensorBase, tensor: TensorBase) -> bool:
    """Whether a tensor is a view of another, or of the same base, or shares its memory after `detach`."""
    base = view.base
    if base is not None:
        return base is tensor or base is tensor.base or (base.version is not None and base.version is tensor.version)
    return view.version is not None and view.version is tensor.version


def is_dense(array: Any) -> bool:
    """Whether the elements fill their memory, in any order of the dimensions."""
    if array.flags.c_contiguous or array.flags.f_contiguous:
        return True
    expected: int = array.itemsize
    for stride, extent in sorted(zip(array.strides, array.shape)):
        if extent != 1:
            if stride != expected:
                return False
            expected = stride * extent
    return True


def check_rebase(target: TensorBase) -> None:
    """Raise torch's error if the history of this view's base must not be rewritten, before anything is changed."""
    if target.base is not None and target.creation != DEFAULT:
        raise rebase_error(target, False)


def check_out_shape(target: TensorBase, out: Any, kind: dtype) -> None:
    """Raise torch's error if ``out``, of dtype ``kind``, cannot be written into the target."""
    if not can_cast(kind, target.dtype):
        raise RuntimeError(
            f"result type {SCALAR_TYPE[kind]} can't be cast to the desired output type {SCALAR_TYPE[target.dtype]}"
        )
    if out.shape != target.array.shape:
        raise RuntimeError(
            f"output with shape {list(target.array.shape)} doesn't match the broadcast shape {list(out.shape)}"
        )


@mypyc_attr(allow_interpreted_subclasses=True)
class CopySlicesBase(Node):
    """The history of a tensor after an in-place change of one of its views (source: torch's ``CopySlices``).

    The gradient of the base is the incoming one, except in the view's place, where the change's own node decides.
    """

    __slots__ = ("fn", "kind", "layout", "offset", "size", "strides")

    def __init__(self) -> None:
        super().__init__()
        self.fn: Any = None
        self.kind: Any = None  # the view's dtype: the real parts of a complex base, or pairs of a real one
        self.layout: Any = None
        self.size: Any = None
        self.strides: Any = None
        self.offset: i64 = 0

    def _run(self, grads: list[TensorBase | None], wanted: list[bool]) -> list[TensorBase | None]:
        grad = grads[0]
        if grad is None:
            return [None] * len(wanted)
        if self.fn is None:
            raise RuntimeError(FREED)
        whole = primitives.clone_as(grad, self.layout)
        turning = primitives.retyping(whole.dtype, self.kind)
        source = whole if turning is None else turning.apply((whole,))
        piece = primitives.as_strided(source, self.size, self.strides, int(self.offset))
        inner: list[TensorBase | None] = primitives.gradients(self.fn, [primitives.clone(piece)], wanted)
        if wanted[0]:
            first = inner[0]
            if first is None:
                first = primitives.zeros(self.size, source.dtype)
            primitives.copy_(piece, first)
            inner[0] = whole
        return inner

    def _release(self) -> None:
        self.fn = None
        self._freed = True


def copied_slices(node: CopySlicesBase) -> CopySlicesBase:
    """A node like this one, which keeps what it saved for itself."""
    twin: CopySlicesBase = copy_slices.cls()
    twin.fn = node.fn
    twin.kind = node.kind
    twin.layout = node.layout
    twin.size = node.size
    twin.strides = node.strides
    twin.offset = node.offset
    twin._edges = node._edges
    return twin


class CopySlicesClass:
    """The class of the nodes that rebase_history makes, given by the floor above so that it has torch's name."""

    def __init__(self) -> None:
        self.cls: Any = CopySlicesBase


copy_slices: Final = CopySlicesClass()


def rebase_history(target: TensorBase, node: Node) -> None:
    """Make ``node``, the newest in-place change of ``target``, its grad_fn; for a view, rewrite its base's history."""
    if state.watching and node._code is None:
        note_line(node)
    base = target.base
    if base is None:
        move_retained(target, node)
        target.node = node
        target.output_nr = 0
        target.recorded = True
        return
    size, strides, offset = geometry(target, base)
    slices: CopySlicesBase = copy_slices.cls()
    if state.watching:
        note_line(slices)
    slices.fn = node
    slices.kind = target.dtype
    slices.size = size
    slices.strides = strides
    slices.offset = offset
    slices.layout = primitives.layout_of(base.array)
    slices._edges = (edge_of(base), *node._edges[1:])
    move_retained(base, slices)
    base.node = slices
    base.output_nr = 0
    base.recorded = True
    target.view_version = -1  # stale: the next look gives the view its new history
    refresh_view(target)


def move_retained(target: TensorBase, node: Node) -> None:
    """retain_grad follows a tensor to its new grad_fn; its hooks stay with the old one."""
    old = target.node
    if old is None or old._extras is None or old._extras.retained is None:
        return
    kept = old._extras.retained.pop(int(target.output_nr), None)
    if kept is not None:
        node_extras(node).retained = {0: kept}
