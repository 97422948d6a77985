"""How a row of the derivative table is declared, and the public function that follows from it.

A row names its forward kernel and one formula an input; see `Op`. The node class, the in-place variant and ``out=``
follow from it. `TABLE` holds every row by name.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from livetape._tape.elementwise import Elementwise
from livetape._tape.explain import noted
from livetape._tape.modes import is_inferring, is_recording, local, set_grad, state
from livetape._tape.record import SAME, TO_BOOL, TO_FLOAT, Op
from livetape._tape.saved import argument_names
from livetape._tape.tensor import TensorBase, counter_of, shape_of
from livetape._tape.views import check_inplace, needs_gradient
from livetape.kernels.elements import quick
from livetape.kernels.resizing import resized
from livetape.ops.nodes import node_class
from livetape.ops.outputs import check_memory, check_output, tensors_among
from livetape.thread_modes import casting

TABLE: dict[str, Op] = {}
LINEAR: dict[Op, bool | str] = {}  # of the rows that declare it: see `row`
BATCH: dict[Op, Any] = {}  # likewise
DIFFERS: dict[str, str] = {}  # row: where torch is wrong, and `livetape.compat` chooses
_PROMOTES = {"same": SAME, "float": TO_FLOAT, "bool": TO_BOOL}


def camel(name: str) -> str:
    """log_softmax becomes LogSoftmax, as in the names of torch's nodes."""
    return "".join(part[:1].upper() + part[1:] for part in name.strip("_").split("_"))


def _register(op: Op, node: str | None, key: str | None, differs: str) -> None:
    op.node_class = node_class(node or camel(op.name) + "Backward0")
    key = key or op.name
    if key in TABLE:
        raise noted(TypeError(f"two rows are called {key!r}"))
    TABLE[key] = op
    if differs:
        DIFFERS[key] = differs


def row(
    name: str,
    kernel: Callable[..., Any],
    *,
    params: str | None = None,
    tensors: str = "self",
    node: str | None = None,
    inplace_node: str | None = None,
    listed: bool = False,
    view: bool = False,
    outputs: int = 1,
    analytic: bool = True,
    key: str | None = None,
    apart: bool = False,
    linear: bool | str = False,
    batch: Any = None,
    differs: str = "",
    selects: bool | str = False,
    mixes: bool = False,
    uses: Callable[..., Any] | None = None,
    dense: bool = False,
    **formulas: Callable[..., Any],
) -> Op:
    """Declare an operation whose kernel is a function on arrays.

    params     the kernel's arguments, where it is no Python function that tells them
    tensors    the kernel's arguments that take tensors, separated by spaces
    node       the node's name; default: CamelCase of ``name`` + "Backward0"
    listed     the first argument is a list of tensors
    view       the kernel returns a view of its first argument
    outputs    how many results it returns (0: a list of any length)
    analytic   False where complex gradients are handled by the formulas themselves
    key        its name in the table, where several rows share ``name``
    apart      its in-place variant must not share memory with its other arguments
    linear     True: the kernel is linear in its differentiable inputs together, so that forward mode applies it to the
               tangents; "each": it is linear in each of them, the others held
    batch      how the row runs on batches, see `livetape.func._rules`
    differs    where torch's answer is wrong and `livetape.compat` chooses: the words of docs/differences.md
    selects    some elements of the inputs may not be used: `livetape._tape.unused` follows them; "masked": because the
               program says which, then through products of matrices as well
    mixes      each gradient is a sum of products with another input (linear="each" implies it)
    uses       from a tensor that is 0 where elements of the result are not used, the same for the first input; also from
               what the formulas need. Elementwise and linear rows do without
    dense      its results are contiguous, whatever the order of its arguments' memory
    """
    op = Op(name, kernel, tuple(params.split()) if params else argument_names(kernel), tuple(tensors.split()))
    if dense:
        op.kernel = laid_out(kernel)
    op.listed = listed
    op.apart = apart
    op.view = view
    op.outputs = outputs
    op.analytic = analytic
    _register(op, node, key, differs)
    if inplace_node:
        op.inplace_class = node_class(inplace_node)
    if linear:
        LINEAR[op] = linear
    if batch is not None:
        BATCH[op] = batch
    op.selects = bool(selects)
    op.masks = selects == "masked"
    op.carries = linear is True or view
    op.mixes = mixes or linear == "each"
    op.derivative(**formulas)
    if uses is not None:
        op.uses = op.formula(uses, (op.tensors[0],), argument_names(uses))
    return op


def laid_out(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel whose results are contiguous."""

    def found(*values: Any) -> Any:
        out = kernel(*values)
        if type(out) is tuple:
            return tuple([array if array.flags.c_contiguous else array.copy("C") for array in out])
        return out if out.flags.c_contiguous else out.copy("C")

    return found


def elementwise(
    name: str,
    kernel: Callable[..., Any],
    *,
    params: str | None = None,
    tensors: str | None = None,
    promote: str = "same",
    node: str | None = None,
    analytic: bool = True,
    key: str | None = None,
    differs: str = "",
    selects: bool = False,
    **formulas: Callable[..., Any],
) -> Elementwise:
    """Declare an operation on corresponding elements.

    promote    "same": the promoted dtype; "float": the default float for integers; "bool": bool
    params     the kernel's arguments, for a ufunc of more than two or fewer than its own
    differs, selects   as for `row`
    """
    if params is not None:
        names = tuple(params.split())
    elif isinstance(kernel, np.ufunc):
        names = ("self", "other")[: kernel.nin]
    else:
        names = argument_names(kernel)
    op = Elementwise(
        name, kernel, names, tuple((tensors or " ".join(n for n in names if n in ("self", "other"))).split())
    )
    op.promotes = _PROMOTES[promote]
    op.analytic = analytic
    op.quick = quick(kernel)
    _register(op, node, key, differs)
    op.selects = selects
    op.derivative(**formulas)
    return op


def unary(
    name: str,
    kernel: Callable[..., Any],
    doc: str,
    *,
    promote: str = "float",
    node: str | None = None,
    analytic: bool = True,
    differs: str = "",
    **formulas: Any,
) -> Any:
    """Declare a one-argument elementwise operation and return its public function.

    The function carries the row as ``.row`` and its in-place variant as ``.inplace``.
    """
    op = elementwise(
        name, kernel, params="self", promote=promote, node=node, analytic=analytic, differs=differs, **formulas
    )
    call, change = op.call1, op.inplace

    def function(input: Any, *, out: Any = None) -> Any:
        if out is None:
            return call(input)
        return into(out, function, input)

    def inplace(self: Any) -> Any:
        return change(self)

    return named(function, inplace, op, doc)


def binary(
    name: str,
    kernel: Callable[..., Any],
    doc: str,
    *,
    promote: str = "same",
    node: str | None = None,
    analytic: bool = True,
    differs: str = "",
    **formulas: Any,
) -> Any:
    """Declare a two-argument elementwise operation and return its public function, as `unary` does."""
    op = elementwise(
        name,
        kernel,
        params="self other",
        tensors="self other",
        promote=promote,
        node=node,
        analytic=analytic,
        differs=differs,
        **formulas,
    )
    call, change = op.call2, op.inplace

    def function(input: Any, other: Any, *, out: Any = None) -> Any:
        if out is None:
            return call(input, other)
        return into(out, function, input, other)

    def inplace(self: Any, other: Any) -> Any:
        return change(self, other)

    return named(function, inplace, op, doc)


def named(function: Any, inplace: Any, op: Op, doc: str, name: str | None = None) -> Any:
    """A public function that carries its row and its in-place variant, if it has one, under the row's name or another."""
    name = name or op.name
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{doc}\n\nSource: ``torch.{name}``."
    function.row = op
    if inplace is not None:
        inplace.__name__ = inplace.__qualname__ = name + "_"
        inplace.__doc__ = f"In-place `{name}`."
        function.inplace = inplace
    return function


def into(out: Any, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Run ``function`` and write its result into the tensor (or tuple of tensors) ``out``, which is resized to fit."""
    name = function.__name__
    targets = (out,) if isinstance(out, TensorBase) else tuple(out)
    if state.interposed != 0:
        for interposer in local.interposers:
            refuse = getattr(interposer, "refuse_out", None)
            if refuse is not None:
                refuse(name, [v for v in (*args, *kwargs.values(), *targets) if isinstance(v, TensorBase)])
    if is_recording():
        for value in (*args, *kwargs.values(), *targets):
            if isinstance(value, TensorBase) and needs_gradient(value):
                raise noted(
                    RuntimeError(
                        f"{name}(): functions with out=... arguments don't support automatic differentiation, "
                        "but one of the arguments requires grad."
                    )
                )
    if not is_inferring():
        for target in targets:
            if target.inference:
                check_inplace(target, False)
    before, stack = local.grad, local.interposers
    set_grad(False)
    if casting.threads:  # autocast leaves functions with out= alone
        local.interposers = tuple([i for i in stack if i is not casting.current()])
    try:
        found = function(*args, **kwargs)
    finally:
        set_grad(before)
        local.interposers = stack
    results = (found,) if isinstance(found, TensorBase) else tuple(found)
    for target, result in zip(targets, results):
        check_output(function, target, result, len(results) > 1)
    check_memory(name, tensors_among((*args, *kwargs.values())), targets, results)
    for target, result in zip(targets, results):
        size = shape_of(result)
        if size != shape_of(target):
            if target.array.size:
                warnings.warn(
                    f"An output with one or more elements was resized since it had shape {list(shape_of(target))}, which "
                    f"does not match the required output shape {list(size)}. This behavior is deprecated, and in a future "
                    "PyTorch release outputs will not be resized unless they have zero elements. You can explicitly reuse "
                    "an out tensor t by resizing it, inplace, to zero elements with t.resize_(0).",
                    UserWarning,
                    stacklevel=3,
                )
            target.array = resized(target.array, size)
            target._size = size
        np.copyto(target.array, result.array, casting="unsafe")
        counter_of(target).bump()
    if isinstance(out, TensorBase):
        return out
    if hasattr(found, "_fields"):
        return type(found)(*targets)
    return (getattr(found, "into", None) or type(found))(targets)
