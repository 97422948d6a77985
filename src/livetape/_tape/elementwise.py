"""Elementwise: operations on corresponding elements, with broadcasting and promotion; the hot path of the tape."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from mypy_extensions import i64, mypyc_attr

from livetape import size as sizes
from livetape._tape.explain import argument_error, binary_error, check_expands
from livetape._tape.lines import note_unrecorded
from livetape._tape.modes import interpose, is_recording, state
from livetape._tape.promotion import promote
from livetape._tape.record import TO_BOOL, TO_FLOAT, Op
from livetape._tape.saved import INPUT, RESULT
from livetape._tape.tensor import NDARRAY, Edge, Node, TensorBase, counter_of, shape_of, wrap
from livetape._tape.views import (
    check_apart,
    check_inplace,
    check_out_shape,
    check_rebase,
    edge_of,
    primitives,
    refresh_view,
)
from livetape.dtypes import FLOAT, INTEGER, boolean, default, dtype, of_numpy

SCALAR: Final[Any] = sizes.SCALAR


def is_number(value: Any) -> bool:
    """Whether an operand is a number or a tensor of no dimensions."""
    return not isinstance(value, TensorBase) or value.array.ndim == 0


def exactly(value: Any) -> Any:
    """A number or a tensor of no dimensions as a float32."""
    return value.array.astype(np.float32) if isinstance(value, TensorBase) else np.float32(value)


@mypyc_attr(allow_interpreted_subclasses=True)
class Elementwise(Op):
    """An operation on corresponding elements: inputs broadcast and promote; the kernel is a ufunc or takes like one.

    Beside the tensors, an argument called ``other`` or ``exponent`` takes part in the promotion, also as a number.
    """

    def __init__(self, name: str, kernel: Any, params: tuple[str, ...], tensors: tuple[str, ...]) -> None:
        super().__init__(name, kernel, params, tensors)
        self.orders: bool = False  # tells which side is larger
        self.exact: bool = False  # a number beside a float of two bytes is not rounded to it first
        self.operands: list[int] = [i for i, p in enumerate(params) if p in tensors or p == "other" or p == "exponent"]

    def is_elementwise(self) -> bool:
        return True

    # ------------------------------------------------------------ one argument
    def call1(self, a: Any) -> TensorBase:
        """Run a one-argument row."""
        if not isinstance(a, TensorBase):
            raise argument_error(self.name, 0, a)
        if state.interposed != 0:
            done: TensorBase = interpose(self, (a,), {}, self.run1)
            return done
        return self.run1(a)

    def run1(self, a: TensorBase) -> TensorBase:
        """`call1` below the interposers."""
        kind = a.dtype
        x = a.array
        if kind.category < FLOAT:
            if self.promotes == TO_FLOAT:
                kind = default.dtype
                x = x.astype(kind.np)
        size = a._size
        out: Any
        if self.quick is not None and kind.category == FLOAT:
            out = self.quick(x)
        elif size is SCALAR and self.is_ufunc:
            out = self.kernel(x, out=...)
        else:
            out = self.kernel(x)
            if type(out) is not NDARRAY:
                out = np.asarray(out)
        if self.promotes == TO_BOOL:
            kind = boolean
        elif out.dtype is not kind.found:
            kind = of_numpy(out.dtype)
        result = wrap(out, kind, size)
        if self.formulas:
            if a.base is not None and is_recording():
                refresh_view(a)
            if a.recorded and is_recording() and kind.category >= FLOAT:
                node: Node = self.node_class()
                node._op = self
                if a.node is None:
                    node._edges = (a if a.base is None else edge_of(a),)
                elif a.output_nr == 0:
                    node._edges = (a.node,)
                else:
                    node._edges = (Edge(a.node, a.output_nr),)
                result.node = node
                result.recorded = True
                if kind is not a.dtype:
                    node._metas = ((None, a.dtype),)
                plan = self.plan(1)
                if state.watching or state.hooking != 0 or a.version is not None or a.base is not None:
                    self.save(node, (a,), (result,), 1)
                elif plan.count != 0:
                    node._saved = self.kept(plan, (a,), result)
            elif state.watching:
                note_unrecorded((a,), result)
        return result

    # ------------------------------------------------------------ two arguments
    def call2(self, a: Any, b: Any) -> TensorBase:
        """Run a two-argument row; either argument may be a Python number."""
        if isinstance(a, TensorBase):
            if isinstance(b, TensorBase):
                return self.pair(a, b)
            if type(b) is float or type(b) is int:
                return self.number(a, b)
        return self.mixed(a, b)

    def pair(self, a: TensorBase, b: TensorBase) -> TensorBase:
        """`call2` for two tensors: the plain case is two of the same dtype and shape."""
        kind = a.dtype
        if kind is not b.dtype or state.interposed != 0 or (self.promotes == TO_FLOAT and kind.category < FLOAT):
            return self.mixed(a, b)
        size = shape_of(a)
        other = shape_of(b)
        if size is not other and size != other:
            return self.mixed(a, b)
        out: Any
        if self.quick is not None and kind.category == FLOAT:
            out = self.quick(a.array, b.array)
        elif size is SCALAR and self.is_ufunc:
            out = self.kernel(a.array, b.array, out=...)
        else:
            out = self.kernel(a.array, b.array)
            if type(out) is not NDARRAY:
                out = np.asarray(out)
        if self.promotes == TO_BOOL:
            return self.told(out, size, a, b)
        result = wrap(out, kind, size)
        if a.recorded or b.recorded or a.base is not None or b.base is not None or state.watching:
            self.record2(a, b, result, False)
        return result

    def number(self, a: TensorBase, b: Any) -> TensorBase:
        """`call2` for a tensor and a Python float or int: the plain case is a number that does not change the dtype."""
        kind = a.dtype
        if (
            state.interposed != 0
            or (self.exact and kind.itemsize == 2)
            or not (
                kind.category >= FLOAT or (kind.category == INTEGER and type(b) is int and self.promotes != TO_FLOAT)
            )
        ):
            return self.mixed(a, b)
        size = a._size
        out: Any
        if self.quick is not None and kind.category == FLOAT:
            out = self.quick(a.array, kind.scalar(b))
        elif size is SCALAR and self.is_ufunc:
            out = self.kernel(a.array, kind.scalar(b), out=...)
        else:
            out = self.kernel(a.array, kind.scalar(b))
            if type(out) is not NDARRAY:
                out = np.asarray(out)
        if self.promotes == TO_BOOL:
            return self.told(out, size, a, b)
        result = wrap(out, kind, size)
        if a.recorded or a.base is not None or state.watching:
            self.record2(a, b, result, False)
        return result

    def mixed(self, a: Any, b: Any) -> TensorBase:
        """`call2` in general: with promotion, broadcasting and interposers."""
        if state.interposed != 0:
            done: TensorBase = interpose(self, (a, b), {}, self.run2)
            return done
        return self.run2(a, b)

    def run2(self, a: Any, b: Any) -> TensorBase:
        """`mixed` below the interposers."""
        kind = promote(self.name, a, b)
        if self.promotes == TO_FLOAT and kind.category < FLOAT:
            kind = default.dtype
        x = a.array if isinstance(a, TensorBase) else kind.scalar(a)
        y = b.array if isinstance(b, TensorBase) else kind.scalar(b)
        wide = kind.np
        if x.dtype is not wide:
            x = x.astype(wide)
        if y.dtype is not wide:
            y = y.astype(wide)
        size: Any = None
        if isinstance(a, TensorBase):
            size = shape_of(a)
            if isinstance(b, TensorBase) and size != shape_of(b):
                size = None
        elif isinstance(b, TensorBase):
            size = shape_of(b)
        kernel = self.quick if self.quick is not None and kind.category == FLOAT else self.kernel
        try:
            out: Any
            if self.exact and kind.itemsize == 2 and kind.category == FLOAT and is_number(b):
                out = kernel(x.astype(np.float32), exactly(b)).astype(wide)
            else:
                out = kernel(x, y)
        except ValueError:
            raise binary_error(self.name, a, b) from None
        if type(out) is not NDARRAY:
            out = np.asarray(out)
        if self.promotes == TO_BOOL:
            return self.told(out, size, a, b)
        result = wrap(out, kind, size)
        self.record2(a, b, result, True)
        return result

    def told(self, out: Any, size: Any, a: Any, b: Any) -> TensorBase:
        """The result of a comparison."""
        result = wrap(out, boolean, size)
        if self.orders:
            if (isinstance(a, TensorBase) and a.recorded) or (isinstance(b, TensorBase) and b.recorded):
                primitives.note_border(result, a, b)
        return result

    def record2(self, a: Any, b: Any, result: TensorBase, differs: bool) -> None:
        """Append a node for a two-argument call if an input needs a gradient."""
        if not self.formulas or result.dtype.category < FLOAT:
            return
        x: TensorBase | None = a if isinstance(a, TensorBase) else None  # each attribute of ``a`` would ask again
        y: TensorBase | None = b if isinstance(b, TensorBase) else None
        plain = state.hooking == 0 and not state.watching  # and no input was ever changed or is a view
        mask: i64 = 0
        recording = is_recording()
        if x is not None:
            if x.base is not None or x.version is not None or x.inference:
                plain = False
                if recording and x.base is not None:
                    refresh_view(x)
            if x.recorded and self.of_input[0] is not None:
                mask = 1
        if y is not None:
            if y.base is not None or y.version is not None or y.inference:
                plain = False
                if recording and y.base is not None:
                    refresh_view(y)
            if y.recorded and len(self.of_input) > 1 and self.of_input[1] is not None:
                mask |= 2
        if mask == 0 or not recording:
            if state.watching:
                note_unrecorded((a, b), result)
            return
        node: Node = self.node_class()
        node._op = self
        first = edge_of(x) if x is not None and mask & 1 else None
        if len(self.tensors) == 1:
            node._edges = (first,)
        else:
            node._edges = (first, edge_of(y) if y is not None and mask & 2 else None)
        result.node = node
        result.recorded = True
        if differs:
            node._metas = (
                None if x is None else (shape_of(x), x.dtype),
                None if y is None else (shape_of(y), y.dtype),
            )
        plan = self.plan(mask)
        if plain and plan.count == 1 and plan.kind == INPUT:
            node._saved = plan.only(a if plan.index == 0 else b)
        elif plain and plan.count == 1 and plan.kind == RESULT:
            node._saved = plan.only(result.array)
        elif plan.count != 0 or state.watching:
            self.save(node, (a, b), (result,), mask)

    def run(self, values: tuple[Any, ...]) -> Any:
        count = len(values)
        if count == 1:
            return self.run1(values[0])
        if count == 2 and len(self.operands) == 2:
            return self.run2(values[0], values[1])
        return self.run_many(values)

    def prepared(self, values: tuple[Any, ...], kind: dtype) -> list[Any]:
        """The kernel's arguments: operands as arrays of dtype ``kind``."""
        arrays: list[Any] = list(values)
        wide = kind.np
        for at in self.operands:
            value = values[at]
            if isinstance(value, TensorBase):
                x = value.array
                arrays[at] = x if x.dtype is wide else x.astype(wide)
            else:
                arrays[at] = kind.scalar(value)
        return arrays

    def common_dtype(self, values: tuple[Any, ...]) -> dtype:
        """What the operands promote to."""
        first = values[self.operands[0]]
        same = isinstance(first, TensorBase)
        for at in self.operands:
            value = values[at]
            same = same and isinstance(value, TensorBase) and value.dtype is first.dtype
        kind: dtype = first.dtype if same else promote(self.name, *[values[at] for at in self.operands])
        if self.promotes == TO_FLOAT and kind.category < FLOAT:
            kind = default.dtype
        return kind

    def run_many(self, values: tuple[Any, ...]) -> TensorBase:
        """Run a row with three tensors, or with arguments that are no tensors."""
        kind = self.common_dtype(values)
        try:
            out: Any = self.kernel(*self.prepared(values, kind))
        except ValueError:
            raise binary_error(self.name, *[values[at] for at in self.tensor_at]) from None
        if type(out) is not NDARRAY:
            out = np.asarray(out)
        result = wrap(out, boolean if self.promotes == TO_BOOL else kind, None)
        self.record(values, (result,))
        return result

    def record(self, values: tuple[Any, ...], results: tuple[Any, ...]) -> None:
        result: TensorBase = results[0]
        node = self.node_for(values, result.dtype)
        if node is None:
            if state.watching:
                note_unrecorded(values, result)
            return
        result.node = node
        result.recorded = True
        size = shape_of(result)
        differs = False
        metas: list[Any] = []
        for at in self.tensor_at:
            t = values[at]
            if isinstance(t, TensorBase):
                differs = differs or t.dtype is not result.dtype or shape_of(t) != size
                metas.append((shape_of(t), t.dtype))
            else:
                metas.append(None)
        if differs:
            node._metas = tuple(metas)
        mask: i64 = 0
        for i, edge in enumerate(node._edges):
            if edge is not None:
                mask |= 1 << i
        self.save(node, values, (result,), mask)

    # ------------------------------------------------------------ in place
    def run_inplace(self, *values: Any) -> Any:
        target: TensorBase = values[0]
        recording = is_recording()
        check_inplace(target, recording, False, values)
        tensors: list[Any] = [values[at] for at in self.tensor_at]
        for t in tensors:
            if isinstance(t, TensorBase):
                check_apart(target, t)
        kind = self.common_dtype(values)
        if kind.category > FLOAT and target.dtype.category <= FLOAT and self.promotes != TO_BOOL:
            check_out_shape(target, target.array, kind)  # comes before what a kernel says of complex numbers
        arrays = self.prepared(values, kind)
        out: Any
        if self.exact and kind.itemsize == 2 and kind.category == FLOAT and is_number(values[1]):
            out = self.kernel(arrays[0].astype(np.float32), exactly(values[1])).astype(kind.np)
            self.write(target, out, kind, values, recording)
            return target
        direct = self.quick is not None and kind.category == FLOAT
        if (self.is_ufunc or direct) and kind is target.dtype and self.promotes != TO_BOOL:
            # straight into the target's memory; a shape that does not fit is found before anything is written
            for t in tensors[1:]:
                if isinstance(t, TensorBase) and shape_of(t) is not shape_of(target):
                    check_expands(self.name, target, t)
            node = self.node_for(values, kind) if recording else None
            if node is not None:
                check_rebase(target)
                values = self.originals(node, values)
            if direct:
                self.quick(*arrays, target.array)
            else:
                self.kernel(*arrays, out=target.array)
            counter_of(target).bump()
            if node is not None:
                self.attach_inplace(node, target, values)
            return target
        try:
            out = self.kernel(*arrays)
        except ValueError:
            raise binary_error(self.name, *tensors) from None
        if type(out) is not NDARRAY:
            out = np.asarray(out)
        self.write(target, out, kind if self.promotes != TO_BOOL else boolean, values, recording)
        return target
