"""backward() and grad(): the two ways to start a walk."""

from __future__ import annotations

import importlib
import operator
import warnings
from collections import namedtuple
from typing import Any

import numpy as np

from livetape._tape.backward import run_backward
from livetape._tape.explain import noted, with_note
from livetape._tape.lines import cut_of
from livetape._tape.modes import local
from livetape._tape.tensor import Edge, TensorBase, shape_of, wrap
from livetape._tape.views import edge_of, needs_gradient
from livetape.ops import used as used  # what a walk needs of the operations
from livetape.ops.basics import cast
from livetape.size import size_of


class GradientEdge(namedtuple("GradientEdge", ("node", "output_nr", "ownership_token"), defaults=(None,))):
    """A node and the number of one of its outputs (source: ``torch.autograd.graph.GradientEdge``)."""

    _shape: Any = None  # Size and dtype of that output, where they are known
    _kind: Any = None


def _root_grads(outputs: tuple[Any, ...], given: tuple[Any, ...]) -> list[Any]:
    """The gradients to start with, of the outputs' dtypes: those given, or ones for scalars."""
    found: list[Any] = []
    for i, (output, grad) in enumerate(zip(outputs, given)):
        if isinstance(output, GradientEdge):
            size, kind = output._shape, output._kind
        elif isinstance(output, TensorBase):
            size, kind = shape_of(output), output.dtype
        else:
            raise noted(AssertionError("Expected output to be a torch.Tensor"))
        if isinstance(grad, TensorBase):
            if size is not None:
                _check_root_grad(i, grad, size, kind)
                if grad.dtype is not kind:
                    grad = cast(grad, kind)
            found.append(grad)
        elif grad is None:
            if isinstance(output, TensorBase) and not needs_gradient(output):
                found.append(None)
                continue
            if size is None or size.numel() != 1:
                raise noted(RuntimeError("grad can be implicitly created only for scalar outputs"))
            if not kind.is_floating_point:
                raise noted(
                    RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {kind!r}")
                )
            found.append(wrap(np.ones(size, kind.np), kind, size))
        else:
            raise noted(TypeError("gradients can be either Tensors or None, but got " + type(grad).__name__))
    if len(given) < len(outputs):  # of more than there are outputs the rest is not looked at, as in torch
        raise noted(RuntimeError(f"got {len(outputs)} tensors and {len(given)} gradients"))
    return found


def _check_root_grad(i: int, grad: Any, size: Any, kind: Any) -> None:
    """Raise torch's error for a gradient that does not fit output ``i``."""
    if shape_of(grad) != size:
        raise noted(
            RuntimeError(
                f"Mismatch in shape: grad_output[{i}] has a shape of {shape_of(grad)!r} and "
                f"output[{i}] has a shape of {size!r}."
            )
        )
    if grad.dtype.is_complex != kind.is_complex:
        raise noted(
            RuntimeError(
                "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in "
                f"dtype: grad_output[{i}] has a dtype of {grad.dtype!r} and output[{i}] has a dtype of {kind!r}."
            )
        )


IN_TRANSFORM = (
    "backward() called inside a functorch transform. This is not supported, please use functorch.grad or functorch.vjp "
    "instead or call backward() outside of functorch transforms."
)
_CYCLE = (
    "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient which "
    "can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you have to use "
    "this function, make sure to reset the .grad fields of your parameters to None after use to break the cycle and avoid "
    "the leak."
)
_warned: set[str] = set()  # what is said once a process


def _roots(tensors: tuple[Any, ...]) -> list[Any]:
    edges: list[Any] = []
    for i, tensor in enumerate(tensors):
        edge = edge_of(tensor)
        if edge is None:
            cut = cut_of(tensor)
            if cut is not None:
                why = f"livetape: it had a history, which was cut {cut[0]} at {cut[1]}."
            else:
                why = (
                    "livetape: nothing on the way to this tensor requires a gradient: set requires_grad=True on the "
                    "tensors you want gradients of, and check for detach(), item() and no_grad() on the way. "
                    "livetape.inspect.explain_grad(parameter, loss) helps, most of all with record_lines(True) before."
                )
            words = f"element {i} of tensors does not require grad and does not have a grad_fn"
            raise with_note(RuntimeError(words), why)
        edges.append(edge)
    return edges


def _as_tuple(value: Any) -> tuple[Any, ...]:
    """A tuple of one tensor or edge, or of what ``value`` lists; anything else raises Python's TypeError, as in torch."""
    return (value,) if isinstance(value, (TensorBase, GradientEdge)) else tuple(value)


def _flag(value: Any) -> bool:
    """A switch, which torch takes for a number from 0 to 255."""
    if value is True or value is False:
        return bool(value)
    number = operator.index(value)
    if not 0 <= number < 256:
        word = "greater than maximum" if number > 0 else "less than minimum"
        raise noted(OverflowError(f"unsigned byte integer is {word}"))
    return number != 0


def _edge(value: Any) -> Any:
    """An edge to a tensor or a GradientEdge."""
    if isinstance(value, GradientEdge):
        node, nr = value.node, value.output_nr
        variable = getattr(node, "variable", None)
        if variable is not None:
            return variable
        return node if nr == 0 else Edge(node, nr)
    if not isinstance(value, TensorBase):
        raise noted(RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(value).__name__}"))
    return edge_of(value)


def _target(value: Any, edge: Any) -> Any:
    """What collects the gradient of an input; one that gradients never reach is itself."""
    if edge is not None:
        return edge
    if isinstance(value, TensorBase) and value.recorded:
        return value
    raise noted(RuntimeError("One of the differentiated Tensors does not require grad"))


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Add the gradient of ``tensors`` to the ``.grad`` of every leaf they depend on (source: ``torch.autograd.backward``).

    tensors, grad_tensors    tensors, and the gradients to start with (None for a scalar: 1)
    retain_graph             keep the tape for another walk; default: ``create_graph``
    create_graph             record the walk itself, for higher derivatives
    inputs                   only these leaves receive a gradient
    """
    if local.levels:
        raise noted(RuntimeError(IN_TRANSFORM))
    if grad_variables is not None:
        warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2)
        if grad_tensors is not None:
            raise noted(
                RuntimeError(
                    "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only use "
                    "`grad_tensors`."
                )
            )
        grad_tensors = grad_variables
    outputs = _as_tuple(tensors)
    targets = None if inputs is None else _as_tuple(inputs)
    if targets is not None and len(targets) == 0:
        raise noted(RuntimeError("`inputs` argument to `backward()` cannot be empty."))
    given = (None,) * len(outputs) if grad_tensors is None else _as_tuple(grad_tensors)
    grads = _root_grads(outputs, given)
    edges = [_edge(t) for t in outputs]
    if None in edges:
        _roots(outputs)
    wanted = None
    if targets is not None:
        wanted = []
        for value in targets:
            edge = _edge(value)
            if isinstance(value, TensorBase) and (edge is None or value.node is not None):
                value.retain_grad()  # type: ignore[attr-defined]
            wanted.append(_target(value, edge))
    if len(edges) == 0:
        return
    create_graph = _flag(create_graph)
    keep = create_graph if retain_graph is None else _flag(retain_graph)
    if create_graph and "cycle" not in _warned:
        _warned.add("cycle")
        warnings.warn(_CYCLE, UserWarning, stacklevel=3)
    run_backward(edges, grads, keep, create_graph, wanted, True)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The gradients of ``outputs`` with respect to ``inputs``; no ``.grad`` is touched (source: ``torch.autograd.grad``).

    >>> import livetape as torch
    >>> x = torch.tensor(3., requires_grad=True)
    >>> torch.autograd.grad(x ** 2, x)
    (tensor(6.),)
    """
    if materialize_grads and allow_unused is False:
        raise noted(
            ValueError(
                "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
            )
        )
    allow = _flag(materialize_grads if allow_unused is None else allow_unused)
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for other "
            "parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    outs = (outputs,) if isinstance(outputs, (TensorBase, GradientEdge)) else tuple(outputs)
    if isinstance(inputs, dict):
        values = tuple(inputs.values())
        named = grad(
            outputs, values, grad_outputs, retain_graph, create_graph, True, allow, is_grads_batched, materialize_grads
        )
        return dict(zip(inputs, named))  # type: ignore[return-value]
    ins = (inputs,) if isinstance(inputs, (TensorBase, GradientEdge)) else tuple(inputs)
    if not ins:
        raise noted(RuntimeError("`inputs` argument to `grad()` cannot be empty."))
    given = (None,) * len(outs) if grad_outputs is None else _as_tuple(grad_outputs)
    create_graph = _flag(create_graph)
    keep = create_graph if retain_graph is None else _flag(retain_graph)
    if is_grads_batched:
        return _batched(outs, ins, given, keep, create_graph, allow, materialize_grads)
    grads = _root_grads(outs, given)
    edges = [_edge(o) for o in outs]
    if None in edges:
        _roots(outs)
    wanted = []
    for value in ins:
        wanted.append(_target(value, _edge(value)))
    found = run_backward(edges, grads, keep, create_graph, wanted, False)
    for i, value in enumerate(found):
        if value is None:
            if not allow:
                raise with_note(
                    RuntimeError(
                        f"The differentiated Tensor at index {i} appears to not have been used in the graph. Set "
                        "allow_unused=True if this is the desired behavior."
                    ),
                    f"livetape: livetape.inspect.explain_grad(inputs[{i}], outputs) says why.",
                )
    return tuple(_materialized(found, ins, create_graph) if materialize_grads else found)


def _materialized(found: list[Any], ins: tuple[Any, ...], create_graph: bool) -> list[Any]:
    """Gradients with zeros in the place of those that are missing."""
    for i, (value, input) in enumerate(zip(found, ins)):
        if value is None:
            if isinstance(input, GradientEdge):
                raise noted(RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge"))
            found[i] = wrap(np.zeros(shape_of(input), input.dtype.np), input.dtype, input._size)
            found[i].recorded = create_graph
    return found


_NO_BATCH = (
    "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim tensor "
    "to a number"
)


def _batched(
    outs: Any, ins: Any, given: Any, keep: bool, create_graph: bool, allow: bool, materialize: bool
) -> tuple[Any, ...]:
    """One walk, with batches for gradients: ``given`` stacks them in its first dimension."""
    for i, (output, g) in enumerate(zip(outs, given)):
        if not isinstance(g, TensorBase):
            continue
        if isinstance(output, GradientEdge):
            if output._shape is not None and tuple(g.array.shape[1:]) != output._shape:
                raise noted(RuntimeError("Batched grads are not supported with GradientEdge"))
            continue
        if g.array.ndim == 0:
            raise noted(IndexError(_NO_BATCH))
        if g.array.shape[1:] != output.array.shape:  # torch names the gradient's shape without two dimensions
            raise noted(
                RuntimeError(
                    "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. "
                    "The sizes of the remaining dimensions are expected to match the shape of corresponding output, but a "
                    f"mismatch was detected: grad_output[{i}] has a shape of {size_of(g.array.shape[2:])!r} and output[{i}] has "
                    f"a shape of {shape_of(output)!r}. If you only want some tensors in `grad_output` to be considered batched, "
                    "consider using vmap."
                )
            )
    given = [_root_grads((o,), (None,))[0] if g is None else g for o, g in zip(outs, given)]
    known: list[Any] = []  # which of the results there are

    def vjp(*seeds: Any) -> tuple[Any, ...]:
        found = grad(outs, ins, seeds, keep, create_graph, True, allow)
        known[:] = [g is not None for g in found]
        return tuple([g for g in found if g is not None])

    vmap = importlib.import_module("livetape.func").vmap  # it lies above, and is loaded when it is needed
    results = iter(vmap(vjp, 0)(*given))
    found = [next(results) if there else None for there in known]
    return tuple(_materialized(found, ins, create_graph) if materialize else found)
