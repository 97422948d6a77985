"""What a result does not use: elements that where(), masks and indices leave out.

The gradient of such an element is 0, and so are those of all that it alone was computed from, whatever the derivatives on
the way: infinite at sqrt(0), undefined at sqrt(-1). Multiplied out they give NaN, which this replaces by 0, unless
`livetape.compat` asks for torch's answers. An element whose gradient is 0 for another reason, a factor 0 say, keeps NaN.

Rows that leave elements out say so (``selects=``). From them an `Unused` goes down the tape along with the gradient, and
is worked out only if a derivative gives NaN: by the rows' own formulas, applied to ones.
"""

from __future__ import annotations

import weakref
from typing import Any, Final

import numpy as np
from mypy_extensions import i64

from livetape._tape.modes import local, set_grad, state
from livetape._tape.record import Op
from livetape._tape.saved import INPUT, RESULT, WANTED, Formula, Packed
from livetape._tape.tensor import Edge, Node, TensorBase, Vertex, shape_of, tensor_extras, wrap
from livetape._tape.views import CopySlicesBase, copied_slices, primitives
from livetape.compat import compat
from livetape.dtypes import COMPLEX, FLOAT, dtype, of_numpy

vdot: Final = np.vdot
LONGEST: Final = 100  # steps that one Unused may be away from its beginning: freeing it recurses


class Unused:
    """Which elements of a gradient nothing uses; worked out when first asked for."""

    __slots__ = (
        "above",
        "beside",
        "borders",
        "depth",
        "far",
        "formula",
        "given",
        "kept",
        "listed",
        "place",
        "size",
        "slices",
        "used",
    )

    def __init__(self, above: Unused | None) -> None:
        self.above = above  # of the gradient that this one came from
        self.beside: Unused | None = None  # of the other part of a sum
        # (tensor, other side) of the comparisons that decided what is left out
        self.borders: tuple[Any, ...] = () if above is None else above.borders
        self.depth: i64 = 0 if above is None else above.depth + 1
        self.far: bool = False if above is None else above.far  # whether products of matrices hand it on
        self.formula: Formula | None = None
        self.kept: list[Any] = []  # what the formula needs
        self.given: list[Any] = []  # (size, dtype) of the gradients of the outputs, None for those without
        self.size: Any = None  # what the gradient was summed to
        self.slices: CopySlicesBase | None = None  # in the place of a formula
        self.listed: bool = False
        self.place: i64 = 0  # which of the formula's results
        self.used: TensorBase | None = None

    def indicator(self) -> TensorBase:
        """A tensor that is 0 where an element is not used."""
        recording = bool(local.grad)
        set_grad(False)
        try:
            stack: list[Unused] = [self]
            while stack:
                top = stack[-1]
                if top.above is not None and top.above.used is None:
                    stack.append(top.above)
                elif top.beside is not None and top.beside.used is None:
                    stack.append(top.beside)
                else:
                    if top.used is None:
                        top.used = top.compute()
                    stack.pop()
        finally:
            set_grad(recording)
        used = self.used
        assert used is not None
        return used

    def compute(self) -> TensorBase:
        """`indicator`, once those it rests on are known."""
        above: Any = None if self.above is None else self.above.used
        if self.beside is not None:
            total: TensorBase = primitives.add(above, self.beside.used)
            return total
        ones: list[Any] = [None if g is None else full_of_ones(g[0], g[1]) for g in self.given]
        result: Any = above if above is not None else ones[0]
        formula = self.formula
        if self.slices is not None:
            wanted = [False] * len(self.slices._edges)
            wanted[self.place] = True
            result = self.slices._run([result], wanted)[self.place]
        elif formula is not None:
            if formula.takes_all:
                result = formula.fn(ones if above is None else [above], *self.kept)
            else:
                result = formula.fn(result, *self.kept)
            if self.listed or len(formula.inputs) > 1:
                result = result[int(self.place)]
        if self.size is not None and shape_of(result) != self.size:
            result = primitives.sum_to(result, self.size)
        found: TensorBase = result
        return found


def full_of_ones(size: Any, kind: dtype) -> TensorBase:
    return wrap(np.ones(size, kind.np), kind, size)


def joined(first: Unused | None, second: Unused | None) -> Unused | None:
    """What neither part of a sum of two gradients uses."""
    if first is None or second is None:
        return None
    if first is second:
        return first
    both = Unused(first)
    both.beside = second
    both.borders = first.borders + second.borders
    both.far = first.far and second.far
    if second.depth >= both.depth:
        both.depth = second.depth + 1
    return both if both.depth < LONGEST else None


# ---------------------------------------------------------------- down the tape
def passed_on(
    node: Node, grads: list[TensorBase | None], wanted: list[bool], unused: Unused | None
) -> list[Unused | None] | None:
    """What is unused of the gradients that a node hands on; asked before the node lets go of what it saved."""
    if compat.torch or (unused is not None and unused.depth >= LONGEST):
        return None
    for g in grads:
        if g is not None and g.dtype.category != FLOAT:
            return None
    row: Any = node._op
    far = (unused is not None and unused.far) or (row is not None and row.masks)
    found: list[Unused | None] | None = None
    for i, edge in enumerate(node._edges):
        if wanted[i] and leads_on(edge, far):
            step = stepped(node, grads, wanted, unused, i)
            if step is not None:
                if found is None:
                    found = [None] * len(wanted)
                found[i] = step
    return found


def leads_on(edge: Any, far: bool) -> bool:
    """Whether an edge leads to a node that looks at what is unused, or hands it on."""
    vertex: Vertex = edge.node if isinstance(edge, Edge) else edge
    if not isinstance(vertex, Node):
        return False
    if vertex._op is None:
        return isinstance(vertex, CopySlicesBase)
    row: Op = vertex._op
    return row.selects or row.carries or row.uses is not None or row.is_elementwise() or (far and row.mixes)


def stepped(
    node: Node, grads: list[TensorBase | None], wanted: list[bool], unused: Unused | None, at: int
) -> Unused | None:
    """What is unused of the gradient of input ``at``."""
    step = Unused(unused)
    if unused is None:
        step.given = [None if g is None else (shape_of(g), g.dtype) for g in grads]
    step.place = at
    if isinstance(node, CopySlicesBase):
        if state.interposed != 0:  # it writes in place, which batches may refuse
            return None
        step.slices = copied_slices(node)
        return step
    if node._op is None:
        return None
    row: Op = node._op
    metas = node._metas
    if metas is not None and metas[at] is not None:
        step.size = metas[at][0]
    formula: Formula | None
    if row.selects or row.carries or row.mixes:
        formula = row.formulas[0] if row.listed else row.of_input[at]
    elif row.uses is not None:
        formula = row.uses
    elif row.is_elementwise():
        return unused if step.size is None else step
    else:
        return None
    if formula is None or (unused is None and not formula.takes_all and grads[0] is None):
        return None
    if row.masks:
        step.far = True
    step.formula = formula
    step.listed = row.listed
    if len(formula.inputs) > 1:
        step.place = formula.inputs.index(at)
    if formula.count != 0:
        kept = saved_for(node, row, formula, wanted)
        if kept is None:
            return None
        step.kept = kept
        for i, value in enumerate(kept):
            if not isinstance(value, TensorBase):
                continue
            if row.mixes and row.saved[formula.needs[i]].kind == INPUT:
                kept[i] = full_of_ones(shape_of(value), value.dtype)
            elif row.chooses and value.extras is not None and value.extras.border is not None:
                step.borders = step.borders + value.extras.border
    return step


def saved_for(node: Node, row: Op, formula: Formula, wanted: list[bool]) -> list[Any] | None:
    """What a formula needs of what a node saved; None where hooks keep it."""
    saved = node._saved
    if saved is None:
        return None
    kept: list[Any] = []
    for position in formula.needs:
        kind = row.saved[position].kind
        value = saved[position]
        if isinstance(value, Packed):
            return None
        if kind == RESULT:
            value = wrap(value, of_numpy(value.dtype), None)
        elif kind == WANTED:
            value = wanted
        kept.append(value)
    return kept


# ---------------------------------------------------------------- where a derivative gave NaN
def settle(
    node: Node,
    row: Op,
    grads: list[TensorBase | None],
    wanted: list[bool],
    found: list[TensorBase | None],
    unused: Unused,
) -> None:
    """Put 0 for NaN where a derivative was not needed at all."""
    if compat.torch or not (row.is_elementwise() or row.uses is not None or row.mixes):
        return
    for i in range(len(found)):
        g = found[i]
        if g is None or g.dtype.category == COMPLEX or not (rests_on_tensors(node, row, i) and may_have_nan(g)):
            continue
        if row.mixes:
            found[i] = product_of_used(node, row, grads, wanted, g, unused, i)
            continue
        used = unused.indicator()
        if row.uses is not None:
            step = stepped(node, [g], wanted, unused, i)
            if step is None:
                continue
            used = step.indicator()
        if shape_of(used) == shape_of(g):
            found[i] = primitives.leave_out(g, used, border_at(node._edges[i], unused))


def rests_on_tensors(node: Node, row: Op, at: int) -> bool:
    """Whether a derivative depends on tensors, or on a number that makes NaN of 0."""
    formula = row.of_input[at]
    saved = node._saved
    if formula is None or saved is None:
        return False
    for position in formula.needs:
        kind = row.saved[position].kind
        value = saved[position]
        if kind == RESULT or isinstance(value, (TensorBase, Packed)):
            return True
        if isinstance(value, float) and (value == 0 or value - value != 0):
            return True
        if value == 0 and isinstance(value, int):
            return True
    return False


def may_have_nan(grad: TensorBase) -> bool:
    """False if no element is NaN."""
    if state.interposed != 0:
        return True
    array: Any = grad.array
    total: Any = vdot(array, array) if grad.dtype.itemsize > 2 else array.sum()  # NaN if an element is
    return bool(total != total)


def product_of_used(
    node: Node, row: Op, grads: list[TensorBase | None], wanted: list[bool], grad: TensorBase, unused: Unused, at: int
) -> TensorBase:
    """A gradient that is a sum of products: those whose gradient is unused are left out, whatever the other factor is."""
    formula = row.of_input[at]
    if formula is None or formula.takes_all or len(formula.inputs) > 1 or formula.count == 0:
        return grad
    kept = saved_for(node, row, formula, wanted)
    if kept is None:
        return grad
    finite: list[Any] = list(kept)
    bad: list[Any] = list(kept)
    for i, value in enumerate(kept):
        if isinstance(value, TensorBase) and row.saved[formula.needs[i]].kind == INPUT:
            finite[i], bad[i] = primitives.parts(value)
    found: TensorBase = primitives.product_of_used(grads[0], unused.indicator(), formula.fn, finite, bad, grad)
    return found


# ---------------------------------------------------------------- at the border
def note_border(condition: TensorBase, a: Any, b: Any) -> None:
    """Let the result of an order comparison remember what was compared: where both sides are equal is its border."""
    border: tuple[Any, ...] = ()
    if isinstance(a, TensorBase) and a.recorded:
        border = ((weakref.ref(a), weakref.ref(b) if isinstance(b, TensorBase) else b),)
    if isinstance(b, TensorBase) and b.recorded:
        border = (*border, (weakref.ref(b), weakref.ref(a) if isinstance(a, TensorBase) else a))
    tensor_extras(condition).border = border


def border_at(edge: Any, unused: Unused) -> Any:
    """Where an input lies on the border of a comparison of it: there what was not chosen is one of two neighbours.

    If its derivative is infinite the whole has none, and torch's NaN is right.
    """
    for reference, other in unused.borders:
        tensor: Any = reference()
        if tensor is None:
            continue
        here = tensor if tensor.node is None else tensor.node
        nr: i64 = tensor.output_nr if tensor.node is not None else 0
        if isinstance(edge, Edge):
            if edge.node is not here or edge.output_nr != nr:
                continue
        elif edge is not here or nr != 0:
            continue
        side: Any = other() if isinstance(other, weakref.ref) else other
        if side is not None:
            return primitives.equal(tensor, side)
    return None
