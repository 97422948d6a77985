"""Op: run a kernel, and append a node if anything is recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from mypy_extensions import i64, mypyc_attr

from livetape._tape.explain import list_version_error, note_call, result_version_error, version_error
from livetape._tape.lines import note_line, note_unrecorded
from livetape._tape.modes import interpose, is_recording, saved_hooks, state
from livetape._tape.saved import (
    INFERENCE_SAVED,
    INPUT,
    PARAM,
    RESULT,
    SIZE,
    WANTED,
    Formula,
    Packed,
    Plan,
    Saved,
    argument_names,
    connected,
    packed,
    run_unpack_hook,
)
from livetape._tape.tensor import (
    DEFAULT,
    MULTI_OUTPUT,
    NDARRAY,
    NO_GRAD,
    Node,
    TensorBase,
    counter_of,
    make_view,
    node_extras,
    shape_of,
    version_of,
    versions_of,
    wrap,
)
from livetape._tape.views import (
    FREED,
    check_apart,
    check_inplace,
    check_out_shape,
    check_rebase,
    edge_of,
    needs_gradient,
    primitives,
    rebase_history,
    refresh_view,
)
from livetape.dtypes import COMPLEX, FLOAT, dtype, of_numpy

# How the result's dtype follows from the inputs'.
SAME: Final = 0  # the promoted dtype
TO_FLOAT: Final = 1  # the promoted dtype, but the default float for integers
TO_BOOL: Final = 2  # bool: comparisons

copyto: Final = np.copyto


@mypyc_attr(allow_interpreted_subclasses=True)
class Op:
    """A row of the derivative table: a kernel, and a formula for each differentiable input.

    params       names of the kernel's arguments; `tensors` are those that take tensors
    listed       the first argument is a list of tensors, each an input of its own
    view         the kernel returns a view of its first argument
    analytic     the formulas are complex analytic: for complex gradients the engine conjugates around them
    """

    def __init__(self, name: str, kernel: Any, params: tuple[str, ...], tensors: tuple[str, ...]) -> None:
        self.name = name
        self.kernel = kernel
        self.params = params
        self.tensors = tensors
        self.tensor_at: list[int] = [params.index(t) for t in tensors]
        self.listed: bool = False
        self.view: bool = False
        self.analytic: bool = True
        self.outputs: i64 = 1
        self.apart: bool = False  # in place: must not share memory with its other arguments
        self.aligned: bool = False  # nor share memory in other places than the target's own
        self.promotes: i64 = SAME
        self.uniform: bool = False  # every element gets the same value
        self.selects: bool = False  # some elements of the inputs are not used, see unused.py
        self.carries: bool = False  # gradients only move or are added up: what is unused moves alike
        self.masks: bool = False  # `selects`, because the program says which
        self.chooses: bool = False  # and another value takes their place
        self.mixes: bool = False  # gradients are products of matrices
        self.renews: bool = False  # the formulas get None for a result that was changed, and compute it again
        self.uses: Formula | None = None  # otherwise: 0 for the elements of the input that those not used depend on
        self.is_ufunc: bool = isinstance(kernel, np.ufunc)
        self.quick: Any = None  # a kernel in C++ for floating point arrays; it takes an array for the result too
        self.saved: list[Saved] = []
        self.formulas: list[Formula] = []
        self.of_input: list[Formula | None] = [None] * len(tensors)
        self.differentiable: i64 = 0  # the inputs that have a formula, as bits
        self.plans: list[Plan | None] = []
        self.node_class: Any = Node
        self.tangent: Any = None
        self.inplace_class: Any = None

    # ------------------------------------------------------------ the declaration
    def position(self, name: str) -> int:
        """The place of a saved name; unknown names are an error here, at import."""
        for i, known in enumerate(self.saved):
            if known.name == name:
                return i
        if name in self.tensors and not (self.listed and name == self.params[0]):
            made = Saved(name, INPUT, self.params.index(name))
        elif name in self.params:
            made = Saved(name, PARAM, self.params.index(name))
        elif name == "wanted":
            made = Saved(name, WANTED, 0)
        elif name == "result":
            made = Saved(name, RESULT, 0)
        elif name.startswith("result") and name[6:].isdigit():
            made = Saved(name, RESULT, int(name[6:]))
        elif name.endswith("_size") and name[:-5] in self.params:
            made = Saved(name, SIZE, self.params.index(name[:-5]))
        else:
            raise TypeError(f"{self.name}: a formula asks for {name!r}, which is no argument and no result")
        self.saved.append(made)
        return len(self.saved) - 1

    def formula(self, fn: Callable[..., Any], inputs: tuple[str, ...], names: tuple[str, ...]) -> Formula:
        """A function of a gradient, or of ``grads``, and of saved names."""
        places = tuple([self.tensors.index(name) for name in inputs])
        return Formula(fn, places, tuple([self.position(name) for name in names[1:]]), names[0] == "grads")

    def add_formula(self, fn: Callable[..., Any], inputs: tuple[str, ...], names: tuple[str, ...]) -> None:
        """Declare the gradient of ``inputs``: ``fn(grad, *names)``, or ``fn(grads, *names)`` for several outputs."""
        formula = self.formula(fn, inputs, names)
        self.formulas.append(formula)
        for place in formula.inputs:
            self.of_input[place] = formula
            self.differentiable |= 1 << place
        self.plans = [None] * (1 << len(self.tensors))

    def plan(self, mask: i64) -> Plan:
        """What the gradients of the inputs in ``mask`` need."""
        known = self.plans[mask]
        if known is None:
            found: set[int] = set()
            for i, formula in enumerate(self.of_input):
                if formula is not None and mask & (1 << i):
                    found.update(formula.needs)
            known = Plan(tuple(sorted(found)), self.saved)
            self.plans[mask] = known
        return known

    def derivative(op, /, **formulas: Any) -> Op:
        """Declare a formula for each input, by name: ``op.derivative(self=lambda grad, other: grad * other)``."""
        for name, fn in formulas.items():
            if name == "tangent":
                op.tangent = fn
            else:
                op.add_formula(fn, (name,), argument_names(fn))
        return op

    def joint(self, inputs: str, fn: Callable[..., Any]) -> Op:
        """Declare one formula that gives the gradients of several inputs (named in one text) as a tuple."""
        self.add_formula(fn, tuple(inputs.split()), argument_names(fn))
        return self

    # ------------------------------------------------------------ running
    def __repr__(self) -> str:
        return f"<row {self.name}>"

    def arrays(self, values: tuple[Any, ...]) -> list[Any]:
        """The kernel's arguments: tensors become arrays."""
        found: list[Any] = list(values)
        for i in self.tensor_at:
            value = values[i]
            if isinstance(value, TensorBase):
                found[i] = value.array
            elif isinstance(value, (list, tuple)):
                found[i] = [v.array if isinstance(v, TensorBase) else v for v in value]
        return found

    def apply(self, values: tuple[Any, ...]) -> Any:
        """Run the kernel on ``values``, one for each of `params`, and record."""
        if state.interposed != 0:
            return interpose(self, values, {}, self.run_plain)
        try:
            return self.run(values)
        except (RuntimeError, IndexError, ValueError) as error:
            note_call(error, self.name, values)
            raise

    def run_plain(self, *values: Any) -> Any:
        """`apply` below the interposers."""
        return self.run(values)

    def run(self, values: tuple[Any, ...]) -> Any:
        """Run the kernel and record."""
        if self.outputs == 1 and not self.listed:
            if self.view:
                return self.run_view(values)
            return self.run_one(values)
        out = self.kernel(*self.arrays(values))
        if self.view:
            return self.finish_views(values, out)
        first = self.first_tensor(values)
        results = (wrap_like(out, first),) if self.outputs == 1 else tuple([wrap_like(o, first) for o in out])
        node = self.node_for(values, results[0].dtype)
        if node is not None:
            self.attach(node, values, results)
        elif state.watching:
            for result in results:
                note_unrecorded(values, result)
        return results[0] if self.outputs == 1 else results

    def apply2(self, a: TensorBase, b: TensorBase) -> TensorBase:
        """`apply` for a row of two tensors and nothing else."""
        if state.interposed != 0:
            done: TensorBase = interpose(self, (a, b), {}, self.run_plain)
            return done
        quick = self.quick
        out = self.kernel(a.array, b.array) if quick is None else quick(a.array, b.array)
        result = wrap_like(out, a)
        if a.recorded or b.recorded or a.base is not None or b.base is not None:
            return self.record_one((a, b), result)
        return result

    def run_one(self, values: tuple[Any, ...]) -> TensorBase:
        """`run` for the usual row: tensors in, one tensor out."""
        first = values[0]
        like: TensorBase | None = first if isinstance(first, TensorBase) else None
        out: Any
        if (
            self.quick is not None
            and like is not None
            and like.dtype.category == FLOAT
            and like.dtype.itemsize > 2
            and len(values) == 1
        ):
            out = self.quick(like.array)
        elif len(values) == 2 and len(self.tensor_at) == 2:
            second = values[1]
            out = self.kernel(
                first if like is None else like.array, second.array if isinstance(second, TensorBase) else second
            )
        else:
            out = self.kernel(*self.arrays(values))
        return self.record_one(values, wrap_like(out, like))

    def record_one(self, values: tuple[Any, ...], result: TensorBase) -> TensorBase:
        """Append a node for a row of one output if an input needs a gradient."""
        if not self.formulas or result.dtype.category < FLOAT:
            return result
        mask: i64 = 0
        bit: i64 = 1
        differs = False
        plain = state.hooking == 0 and not state.watching  # and nothing saved was ever changed or is a view
        kind = result.dtype
        tensor: TensorBase = result
        for at in self.tensor_at:
            value = values[at]
            if isinstance(value, TensorBase):
                tensor = value  # of this type: each attribute of ``value`` would have it checked again
                if tensor.base is not None:
                    if is_recording():
                        refresh_view(tensor)
                    plain = False
                if tensor.version is not None or tensor.inference:
                    plain = False
                if tensor.recorded:
                    mask |= bit
                    differs = differs or tensor.dtype is not kind
            elif isinstance(value, (list, tuple)) and versions_of(value) != 0:
                plain = False
            bit <<= 1
        mask &= self.differentiable
        if mask == 0 or not is_recording():
            if state.watching:
                note_unrecorded(values, result)
            return result
        node: Node = self.node_class()
        node._op = self
        count = len(self.tensor_at)
        if count == 1:
            node._edges = (edge_of(tensor),)
        elif count == 2:
            node._edges = (
                edge_of(values[self.tensor_at[0]]) if mask & 1 else None,
                edge_of(values[self.tensor_at[1]]) if mask & 2 else None,
            )
        else:
            edges: list[Any] = []
            bit = 1
            for at in self.tensor_at:
                edges.append(edge_of(values[at]) if mask & bit else None)
                bit <<= 1
            node._edges = tuple(edges)
        result.node = node
        result.recorded = True
        if differs:
            self.note_metas(node, values, result)
        plan = self.plan(mask)
        if plain:
            if plan.count != 0:
                node._saved = self.kept(plan, values, result)
        elif plan.count != 0 or state.watching:
            self.save(node, values, (result,), mask)
        return result

    def record(self, values: tuple[Any, ...], results: tuple[Any, ...]) -> None:
        """Append a node for results that were not computed by `run`."""
        if self.outputs == 1 and not self.listed:
            self.record_one(values, results[0])
            return
        node = self.node_for(values, results[0].dtype)
        if node is not None:
            self.attach(node, values, results)

    def kept(self, plan: Plan, values: tuple[Any, ...], result: TensorBase) -> tuple[Any, ...]:
        """Node._saved in the plain case: nothing saved is a view or was ever changed, and no hooks pack it."""
        if plan.count == 1:
            if plan.kind == INPUT or plan.kind == PARAM:
                return plan.only(values[plan.index])
            if plan.kind == RESULT:
                return plan.only(result.array)
            if plan.kind == SIZE:
                sized = values[plan.index]
                if isinstance(sized, TensorBase):
                    return plan.only(shape_of(sized))
        elif plan.in_order:
            sized = values[0]
            if isinstance(sized, TensorBase):
                size = shape_of(sized)
                return (size, values[1], values[2]) if plan.count == 3 else (size, *values[1 : plan.count])
        found: list[Any] = [None] * plan.total
        for position in plan.positions:
            found[position] = self.saved_value(self.saved[position], values, result)
        return tuple(found)

    def saved_value(self, saved: Saved, values: tuple[Any, ...], result: TensorBase) -> Any:
        """What to keep for a saved name, for a row of one output."""
        kind = saved.kind
        if kind == RESULT:
            return result.array
        if kind == WANTED:
            return None
        value = values[saved.index]
        if kind == SIZE:
            return shape_of(value) if isinstance(value, TensorBase) else [shape_of(v) for v in value]
        return value

    def run_view(self, values: tuple[Any, ...]) -> TensorBase:
        """`run` for a row that gives one view of its first argument."""
        base: TensorBase = values[0]
        count = len(values)
        array: Any
        if count == 1:
            array = self.kernel(base.array)
        elif count == 2:
            array = self.kernel(base.array, values[1])
        elif count == 3:
            array = self.kernel(base.array, values[1], values[2])
        else:
            array = self.kernel(*self.arrays(values))
        return self.finish_view(values, array)

    def finish_view(self, values: tuple[Any, ...], array: Any) -> TensorBase:
        """Wrap the view that a kernel returned, and record."""
        base: TensorBase = values[0]
        recording = is_recording()
        if recording and base.base is not None:
            refresh_view(base)
        if type(array) is not NDARRAY:
            array = np.asarray(array)
        view = make_view(base, array, DEFAULT if recording else NO_GRAD)
        if array.dtype is not base.dtype.found:
            view.dtype = of_numpy(array.dtype)
        if recording and base.recorded:
            node: Node = self.node_class()
            node._op = self
            node._edges = (edge_of(base),)
            view.node = node
            view.recorded = True
            plan = self.plan(1)
            if state.watching:
                self.save(node, values, (view,), 1)
            elif plan.count != 0:  # a view saves sizes and arguments, no tensors
                node._saved = self.kept(plan, values, view)
        return view

    def first_tensor(self, values: tuple[Any, ...]) -> TensorBase | None:
        """An input to compare dtypes with."""
        first = values[0]
        if isinstance(first, TensorBase):
            return first
        if self.listed:
            listed: TensorBase = first[0]
            return listed
        return None

    def finish_views(self, values: tuple[Any, ...], out: Any) -> Any:
        """Wrap the list of views that a kernel returned."""
        base: TensorBase = values[0]
        recording = is_recording()
        views = [make_view(base, o, MULTI_OUTPUT if recording else NO_GRAD) for o in out]
        if recording and needs_gradient(base):
            node = self.node_for(values, base.dtype)
            if node is not None:
                self.attach(node, values, tuple(views))
        return tuple(views)

    def node_for(self, values: tuple[Any, ...], kind: dtype) -> Node | None:
        """A node for this call if it is to be recorded: its edges are set, nothing is saved yet."""
        if not self.formulas or kind.category < FLOAT or not is_recording():
            return None
        inputs: Any = values[0] if self.listed else None
        edges: list[Any] = []
        found = False
        if inputs is None:
            for at in self.tensor_at:
                value = values[at]
                edge = edge_of(value) if isinstance(value, TensorBase) else None
                if self.of_input[len(edges)] is None:
                    edge = None
                elif edge is not None or (isinstance(value, TensorBase) and value.recorded):
                    found = True
                edges.append(edge)
        else:
            for value in inputs:
                edge = edge_of(value)
                found = found or edge is not None or value.recorded
                edges.append(edge)
        if not found:
            return None
        node: Node = self.node_class()
        node._op = self
        node._edges = tuple(edges)
        return node

    def attach(self, node: Node, values: tuple[Any, ...], results: tuple[Any, ...]) -> None:
        """Make ``results`` the outputs of ``node``, and save for it what its formulas need."""
        nr: i64 = 0
        several = len(results) > 1
        for result in results:
            tensor: TensorBase = result
            if tensor.dtype.category >= FLOAT:
                tensor.node = node
                tensor.output_nr = nr
                tensor.recorded = True
            nr += 1
        if several:
            node_extras(node).outputs = [(shape_of(r), r.dtype) for r in results]
        mask: i64 = 1
        if not self.listed:
            mask = 0
            for i, edge in enumerate(node._edges):
                if edge is not None:
                    mask |= 1 << i
        self.note_metas(node, values, results[0])
        self.save(node, values, results, mask)

    def note_metas(self, node: Node, values: tuple[Any, ...], result: TensorBase) -> None:
        """Note the inputs whose gradients must be brought to another dtype than the result's."""
        inputs: list[Any] = list(values[0]) if self.listed else [values[at] for at in self.tensor_at]
        for i, edge in enumerate(node._edges):
            if edge is not None and inputs[i].dtype is not result.dtype:
                node._metas = tuple([(None, v.dtype) if isinstance(v, TensorBase) else None for v in inputs])
                break

    def save(self, node: Node, values: tuple[Any, ...], results: tuple[Any, ...], mask: i64) -> None:
        """Save what the formulas of the inputs in ``mask`` need."""
        if state.watching:
            note_line(node)
        plan = self.plan(mask)
        if plan.count == 0:
            return
        kept: list[Any] = [None] * len(self.saved)
        versions: list[int] | None = None
        for position in plan.positions:
            saved = self.saved[position]
            kind = saved.kind
            if kind == INPUT:
                value = values[saved.index]
                kept[position] = value
                if isinstance(value, TensorBase):
                    if value.inference:
                        raise RuntimeError(INFERENCE_SAVED)
                    version = version_of(value)
                    if version != 0:
                        if versions is None:
                            versions = [0] * len(self.saved)
                        versions[position] = int(version)
                elif isinstance(value, (list, tuple)):
                    total = versions_of(value)
                    if total != 0:
                        if versions is None:
                            versions = [0] * len(self.saved)
                        versions[position] = total
            elif kind == PARAM:
                kept[position] = values[saved.index]
            elif kind == RESULT:
                result: TensorBase = results[saved.index]
                kept[position] = result.array
                if result.dtype.category < FLOAT:
                    counter_of(result)  # indices: no node of theirs tells of a later change
                if result.version is not None:
                    if node._counters is None:
                        node._counters = {}
                    node._counters[int(saved.index)] = (result.version, int(result.version.value))
            elif kind == SIZE:
                value = values[saved.index]
                kept[position] = shape_of(value) if isinstance(value, TensorBase) else [shape_of(v) for v in value]
        if state.hooking != 0:
            self.pack(node, kept, results)
        node._saved = tuple(kept)
        if versions is not None:
            node._versions = tuple(versions)

    def pack(self, node: Node, kept: list[Any], results: tuple[Any, ...]) -> None:
        """Hand saved tensors to the thread's saved-tensor hooks."""
        hooks = saved_hooks()
        if hooks is None:
            return
        node_extras(node).packed = True
        for position, saved in enumerate(self.saved):
            if kept[position] is None:
                continue
            if saved.kind == INPUT and isinstance(kept[position], TensorBase):
                kept[position] = packed(hooks, kept[position], edge_of(kept[position]))
            elif saved.kind == INPUT and isinstance(kept[position], (list, tuple)):
                kept[position] = [
                    packed(hooks, v, edge_of(v)) if isinstance(v, TensorBase) else v for v in kept[position]
                ]
            elif saved.kind == RESULT:
                result: TensorBase = results[saved.index]
                kept[position] = packed(hooks, result, None)

    # ------------------------------------------------------------ in place
    def inplace(self, *values: Any) -> Any:
        """Run the kernel and write its result into the first argument."""
        if state.interposed != 0:
            return interpose(self, values, {"inplace": True}, self.run_inplace)
        return self.run_inplace(*values)

    def run_inplace(self, *values: Any) -> Any:
        """`inplace` below the interposers."""
        target: TensorBase = values[0]
        recording = is_recording()
        check_inplace(target, recording, self.uniform, values)
        if self.apart or self.aligned:
            for value in values[1:]:
                if isinstance(value, TensorBase):
                    check_apart(target, value, self.apart)
        out = self.kernel(*self.arrays(values))
        if self.outputs > 1:
            out = out[0]
        self.write(target, out, None, values, recording)
        return target

    def write(self, target: TensorBase, out: Any, kind: dtype | None, values: tuple[Any, ...], recording: bool) -> None:
        """Put ``out`` into ``target``'s memory and its history; what can fail comes before anything is changed."""
        check_out_shape(target, out, kind if kind is not None else of_numpy(out.dtype))
        node = self.node_for(values, target.dtype) if recording else None
        if node is not None:
            check_rebase(target)
            values = self.originals(node, values)
        copyto(target.array, out, casting="unsafe")
        counter_of(target).bump()
        if node is not None:
            self.attach_inplace(node, target, values)

    def originals(self, node: Node, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, with a copy of the first if a formula needs it as it was before the change."""
        mask: i64 = 0
        for i, edge in enumerate(node._edges):
            if edge is not None:
                mask |= 1 << i
        for position in self.plan(mask).positions:
            saved = self.saved[position]
            if saved.kind == INPUT and saved.index == 0:
                target: TensorBase = values[0]
                copy = wrap(target.array.copy(), target.dtype, target._size)
                copy.node = target.node
                copy.output_nr = target.output_nr
                copy.recorded = target.recorded
                return (copy, *values[1:])
        return values

    def attach_inplace(self, node: Node, target: TensorBase, values: tuple[Any, ...]) -> None:
        """Make ``node`` the newest part of the target's history."""
        if self.inplace_class is not None:
            renamed: Node = self.inplace_class()
            renamed._op = self
            renamed._edges = node._edges
            node = renamed
        mask: i64 = 0
        for i, edge in enumerate(node._edges):
            if edge is not None:
                mask |= 1 << i
        metas: list[Any] = []
        differs = False
        for at in self.tensor_at:
            value = values[at]
            if isinstance(value, TensorBase):
                size = shape_of(value)
                metas.append((size, value.dtype))
                differs = differs or value.dtype is not target.dtype or size != shape_of(target)
            else:
                metas.append(None)
        if differs and self.promotes >= SAME and self.is_elementwise():
            node._metas = tuple(metas)
        elif differs:
            node._metas = tuple([None if m is None else (None, m[1]) for m in metas])
        self.save(node, values, (target,), mask)
        if node._versions is not None:
            self.note_changed(node, target, values)
        rebase_history(target, node)

    def note_changed(self, node: Node, target: TensorBase, values: tuple[Any, ...]) -> None:
        """Other saved inputs that share the target's memory were saved before the change: they have lost their values."""
        versions: list[int] = list(node._versions or ())
        for position, saved in enumerate(self.saved):
            if saved.kind == INPUT and saved.index != 0 and versions[position] != 0:
                value = values[saved.index]
                if isinstance(value, TensorBase) and counter_of(value) is target.version:
                    versions[position] -= 1
        node._versions = tuple(versions)

    def is_elementwise(self) -> bool:
        """Whether inputs broadcast to the result's shape."""
        return False

    # ------------------------------------------------------------ backward
    def unpack(self, node: Node, position: i64) -> Any:
        """The value of a saved name, checked against changes since it was saved."""
        kept = node._saved
        if kept is None:
            raise RuntimeError(FREED)
        value = kept[position]
        saved = self.saved[position]
        kind = saved.kind
        if kind == INPUT:
            if isinstance(value, TensorBase):
                expected: i64 = 0
                if node._versions is not None:
                    expected = node._versions[position]
                if version_of(value) != expected:
                    if value.base is not None:
                        refresh_view(value)
                    raise version_error(node, value, int(expected), int(version_of(value)))
                return value
            if isinstance(value, Packed):
                return connected(run_unpack_hook(value), value.edge)
            if isinstance(value, (list, tuple)):
                if node._extras is not None and node._extras.packed:
                    return [connected(run_unpack_hook(v), v.edge) if isinstance(v, Packed) else v for v in value]
                then = 0 if node._versions is None else int(node._versions[position])
                if versions_of(value) != then:
                    raise list_version_error(node, value, then)
            return value
        if kind == RESULT:
            if isinstance(value, Packed):
                again = connected(run_unpack_hook(value), None)
            else:
                again = wrap(value, of_numpy(value.dtype), None)
            counters = node._counters
            if counters is not None and int(saved.index) in counters and not isinstance(value, Packed):
                counter, then = counters[int(saved.index)]
                if counter.value != then:
                    if self.renews:
                        return None
                    raise result_version_error(node, again, int(saved.index), counter, int(then))
                again.version = counter
            if again.dtype.category >= FLOAT:
                again.node = node
                again.output_nr = saved.index
                again.recorded = True
            return again
        return value

    def backward(self, node: Node, grads: list[TensorBase | None], wanted: list[bool]) -> list[TensorBase | None]:
        """The gradients of the inputs that are ``wanted``."""
        extras = node._extras
        if extras is not None and extras.packed:
            return self.unpacking_once(node, grads, wanted)
        return self.backward_of(node, grads, wanted)

    def unpacking_once(self, node: Node, grads: list[TensorBase | None], wanted: list[bool]) -> list[TensorBase | None]:
        """`backward_of`, where several formulas that ask for the same name share one call of the unpack hook."""
        kept: list[Packed] = []
        for saved in node._saved or ():
            for value in saved if isinstance(saved, list) else (saved,):
                if isinstance(value, Packed):
                    kept.append(value)
        try:
            for value in kept:
                value.remember = True
            return self.backward_of(node, grads, wanted)
        finally:
            for value in kept:
                value.remember = False
                value.found = None

    def backward_of(self, node: Node, grads: list[TensorBase | None], wanted: list[bool]) -> list[TensorBase | None]:
        """`backward` for a node that keeps what it saved itself."""
        if self.analytic:
            for g in grads:
                if g is not None and g.dtype.category == COMPLEX:
                    return self.conjugated(node, grads, wanted)
        return self.formulas_of(node, grads, wanted)

    def conjugated(self, node: Node, grads: list[TensorBase | None], wanted: list[bool]) -> list[TensorBase | None]:
        """As `formulas_of` for complex gradients: conj(f(conj(grad))) multiplies by conj(derivative), as torch does."""
        found = self.formulas_of(node, [None if g is None else primitives.conj(g) for g in grads], wanted)
        return [None if g is None else primitives.conj(g) for g in found]

    def formulas_of(self, node: Node, grads: list[TensorBase | None], wanted: list[bool]) -> list[TensorBase | None]:
        """Run the formulas of the inputs that are ``wanted``."""
        found: list[TensorBase | None] = [None] * len(wanted)
        for formula in self.formulas:
            asked = False
            if self.listed:
                asked = True
            else:
                for i in formula.inputs:
                    if wanted[i]:
                        asked = True
            if not asked:
                continue
            first: Any = grads if formula.takes_all else grads[0]
            fn = formula.fn
            needs = formula.needs
            given: Any
            if formula.count == 0:
                given = fn(first)
            elif formula.count == 1:
                given = fn(first, self.argument(node, needs[0], wanted))
            elif formula.count == 2:
                given = fn(first, self.argument(node, needs[0], wanted), self.argument(node, needs[1], wanted))
            else:
                given = fn(first, *[self.argument(node, n, wanted) for n in needs])
            if self.listed:
                return list(given)
            if len(formula.inputs) == 1:
                found[formula.inputs[0]] = given
            else:
                for i, g in zip(formula.inputs, given):
                    if wanted[i]:
                        found[i] = g
        return found

    def argument(self, node: Node, position: i64, wanted: list[bool]) -> Any:
        """What a formula gets for one of its names."""
        if self.saved[position].kind == WANTED:
            return wanted
        return self.unpack(node, position)

    def has_saved_tensors(self, node: Node) -> bool:
        """Whether freeing this node loses anything: only then is a second walk an error."""
        kept = node._saved
        if kept is None:
            return False
        for position, saved in enumerate(self.saved):
            if (saved.kind == INPUT or saved.kind == RESULT) and kept[position] is not None:
                return True
        return False


def wrap_like(out: Any, like: TensorBase | None) -> TensorBase:
    """A tensor around what a kernel returned, often of the dtype of ``like``."""
    if type(out) is not NDARRAY:
        out = np.asarray(out)
    found = out.dtype
    if like is not None and found is like.dtype.found:
        return wrap(out, like.dtype, None)
    return wrap(out, of_numpy(found), None)
