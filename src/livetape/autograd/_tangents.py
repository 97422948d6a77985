"""Tangents of a row's results from those of its inputs: forward mode, read off the same row as reverse mode.

A formula is linear in its gradient. Where corresponding elements alone depend on each other, its transpose is itself, and
the formula applied to the tangent is the derivative. A linear kernel is applied to the tangents. For all other rows the
formula is transposed by a walk of its own: what it gives for a variable gradient, differentiated along the tangent.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape._tape.backward import run_backward
from livetape._tape.modes import is_recording, local, set_grad
from livetape._tape.record import Op
from livetape._tape.saved import INPUT, PARAM, RESULT, SIZE, Formula, argument_names
from livetape._tape.tensor import TensorBase, shape_of, wrap
from livetape._tape.views import edge_of, needs_gradient
from livetape.dtypes import COMPLEX, FLOAT
from livetape.ops.basics import EXPAND, cast, conj, zeros_like
from livetape.ops.table import LINEAR

_names: dict[Any, tuple[str, ...]] = {}  # of the arguments of spelled-out tangent rules


def tangents_of(op: Op, args: tuple[Any, ...], given: list[Any], results: tuple[Any, ...]) -> list[Any]:
    """The tangents of ``results``, None where there is none.

    given    for each tensor argument of the row its tangent, or None; for a list of tensors a list
    """
    nothing: list[Any] = [None] * len(results)
    if op.tangent is not None:
        found = _spelled(op, args, given, results)
        return list(found) if isinstance(found, tuple) else [found, *nothing[1:]]
    if not op.formulas:
        return nothing
    linear = True if op.view else LINEAR.get(op, False)
    if linear is True:
        found = op.apply(_replaced(op, args, given))
        return list(found) if isinstance(found, tuple) else [found]
    if linear:
        return [_each(op, args, given)]
    if op.is_elementwise() and (op.analytic or not _any_complex(args, results)):
        for formula in op.formulas:
            if len(formula.inputs) != 1:
                break
        else:
            return [_diagonal(op, args, given, results[0])]
    return _transposed(op, args, given, results)


# ---------------------------------------------------------------- what formulas ask for
def value_of(op: Op, position: int, args: tuple[Any, ...], results: tuple[Any, ...], wanted: list[bool]) -> Any:
    """What a formula gets for one of its names, without a node to have saved it."""
    saved = op.saved[position]
    if saved.kind == INPUT or saved.kind == PARAM:
        return args[saved.index]
    if saved.kind == RESULT:
        return results[saved.index]
    if saved.kind == SIZE:
        value = args[saved.index]
        return shape_of(value) if isinstance(value, TensorBase) else [shape_of(v) for v in value]
    return wanted


def _run(
    op: Op, formula: Formula, grads: list[Any], args: tuple[Any, ...], results: tuple[Any, ...], wanted: list[bool]
) -> Any:
    first = grads if formula.takes_all else grads[0]
    return formula.fn(first, *[value_of(op, n, args, results, wanted) for n in formula.needs])


def _any_complex(args: tuple[Any, ...], results: tuple[Any, ...]) -> bool:
    return any(isinstance(v, TensorBase) and v.dtype.category == COMPLEX for v in (*args, *results))


# ---------------------------------------------------------------- the four ways
def _spelled(op: Op, args: tuple[Any, ...], given: list[Any], results: tuple[Any, ...]) -> Any:
    """Run the rule that the row spells out: ``self_t`` is the tangent of ``self``, the rest is as for formulas."""
    names = _names.get(op.tangent)
    if names is None:
        names = _names[op.tangent] = argument_names(op.tangent)
    values = []
    for name in names:
        if name.endswith("_t") and name[:-2] in op.tensors:
            at = op.tensors.index(name[:-2])
            tangent = given[at]
            values.append(zeros_like(args[op.tensor_at[at]]) if tangent is None else tangent)
        elif name in op.params:
            values.append(args[op.params.index(name)])
        elif name.endswith("_size"):
            values.append(shape_of(args[op.params.index(name[:-5])]))
        else:
            values.append(results[int(name.removeprefix("result") or 0)])
    return op.tangent(*values)


def _zero_for(value: Any) -> Any:
    if isinstance(value, TensorBase):
        return zeros_like(value)
    return np.zeros_like(value) if isinstance(value, np.ndarray) else type(value)(0)


def _replaced(op: Op, args: tuple[Any, ...], given: list[Any]) -> tuple[Any, ...]:
    """The arguments with tangents in the places of all differentiable inputs."""
    values = list(args)
    for i, at in enumerate(op.tensor_at):
        if op.of_input[i] is None:
            continue
        tangent = given[i]
        if isinstance(tangent, list):
            values[at] = [_zero_for(v) if t is None else t for v, t in zip(args[at], tangent)]
        else:
            values[at] = _zero_for(args[at]) if tangent is None else tangent
    return tuple(values)


def _each(op: Op, args: tuple[Any, ...], given: list[Any]) -> Any:
    """The sum of the row's values with one input at a time replaced by its tangent."""
    total: Any = None
    for i, at in enumerate(op.tensor_at):
        if given[i] is not None and op.of_input[i] is not None:
            part = op.apply((*args[:at], given[i], *args[at + 1 :]))
            total = part if total is None else total + part
    return total


def _widened(tangent: Any, size: Any) -> Any:
    return tangent if shape_of(tangent) == size else EXPAND.apply((tangent, size))


def _diagonal(op: Op, args: tuple[Any, ...], given: list[Any], result: Any) -> Any:
    """The formulas themselves, applied to the tangents."""
    total: Any = None
    size = shape_of(result)
    wanted = [t is not None for t in given]
    for formula in op.formulas:
        tangent = given[formula.inputs[0]]
        if tangent is None:
            continue
        part = _run(op, formula, [_widened(tangent, size)], args, (result,), wanted)
        if part is not None:
            total = part if total is None else total + part
    return total


def lifted(tensor: Any) -> Any:
    """The tensor as the newest vmap level sees it, where there is one: what is recorded there must belong there."""
    for interposer in reversed(local.interposers):
        lift = getattr(interposer, "lift", None)
        if lift is not None:
            return lift(tensor)
    return tensor


def _variable(result: Any) -> Any:
    """A gradient to differentiate by."""
    made = lifted(wrap(np.zeros(shape_of(result), result.dtype.np), result.dtype, None))
    made.recorded = True
    return made


def _transposed(op: Op, args: tuple[Any, ...], given: list[Any], results: tuple[Any, ...]) -> list[Any]:
    """Forward mode by reverse mode twice: the formulas' values for variable gradients, and their derivative."""
    all_outputs = any(f.takes_all for f in op.formulas)
    some = results[0].array.size != 0  # then what is empty was not computed
    variables = [
        _variable(r)
        if r.dtype.category >= FLOAT and (nr == 0 or all_outputs) and (r.array.size != 0 or not some)
        else None
        for nr, r in enumerate(results)
    ]
    recording, before = is_recording(), local.grad
    set_grad(True)
    try:
        parts = _parts(op, args, given, results, variables)
    finally:
        set_grad(before)
    edges, tangents = [], []
    for part, tangent in parts:
        edge = edge_of(part)
        if edge is not None:
            edges.append(edge)
            tangents.append(_widened(tangent, shape_of(part)))
    if not edges:
        return [None if v is None else zeros_like(r) for v, r in zip(variables, results)]
    asked = [v for v in variables if v is not None]
    answers = iter(run_backward(edges, tangents, recording, recording, asked, False))
    found = [None if v is None else next(answers) for v in variables]
    if recording and not _any_recorded((*args, *results, *tangents)):
        for value in found:  # it depends on nothing but the variables, which are constants
            if value is not None:
                value.node, value.recorded = None, False
    return [zeros_like(r) if f is None and nr == 0 else f for nr, (r, f) in enumerate(zip(results, found))]


def _any_recorded(values: Any) -> bool:
    for value in values:
        if isinstance(value, TensorBase):
            if needs_gradient(value):
                return True
        elif isinstance(value, (list, tuple)) and _any_recorded(value):
            return True
    return False


def _parts(
    op: Op, args: tuple[Any, ...], given: list[Any], results: tuple[Any, ...], variables: list[Any]
) -> list[Any]:
    """Pairs of a gradient, as a function of the variables, and the tangent of the same input."""
    wanted = [t is not None for t in given]
    mirrored = op.analytic and any(v is not None and v.dtype.category == COMPLEX for v in variables)
    grads = [conj(v) if mirrored and v is not None else v for v in variables]
    found: list[Any] = []
    for formula in op.formulas:
        if not any(wanted[i] for i in formula.inputs):
            continue
        value = _run(op, formula, grads, args, results, wanted)
        if op.listed:
            pairs = list(zip(value, given[0], args[0]))
        else:
            values = value if len(formula.inputs) > 1 else (value,)
            pairs = [(v, given[i], args[op.tensor_at[i]]) for v, i in zip(values, formula.inputs)]
        for part, tangent, input in pairs:
            if part is None or tangent is None:
                continue
            if mirrored:
                part = conj(part)
            if part.dtype.category == COMPLEX and input.dtype.category != COMPLEX:
                part = cast(part, input.dtype)
            found.append((part, tangent))
    return found
