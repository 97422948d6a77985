"""Transforms that differentiate: grad, vjp, jvp, Jacobians and Hessians (source: ``torch.func``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from livetape._pytree import tree_flatten, tree_map, tree_unflatten, treespec_pprint
from livetape._tape.modes import local
from livetape._tape.tensor import TensorBase, shape_of
from livetape.autograd._dual import KEY, DualLevel, linked, size_error
from livetape.dtypes import FLOAT
from livetape.func._levels import (
    GradLevel,
    Transform,
    check_outputs,
    chosen,
    replaced,
    wrapped,
)
from livetape.gradients import _root_grads
from livetape.ops.basics import zeros_like

_VJP = "vjp(f, *primals)"
_JVP = "jvp(f, primals, tangents)"
_GRAD = "grad_and_value(f)(*args)"


def _output_and_aux(output: Any, where: str) -> Any:
    if not isinstance(output, tuple) or len(output) != 2:
        raise RuntimeError(f"{where}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return output


def _closed_tree(level: GradLevel, tree: Any) -> Any:
    """Auxiliary results, which may hold nothing but tensors."""
    leaves, spec = tree_flatten(tree)
    _check_aux(leaves)
    return tree_unflatten(level.closed(leaves), spec)


def _check_aux(leaves: list[Any]) -> None:
    for leaf in leaves:
        if not isinstance(leaf, TensorBase):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(leaf)}")


# ---------------------------------------------------------------- grad
def grad_and_value(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that returns the gradient of ``func``, and its value (source: ``torch.func.grad_and_value``).

    >>> import livetape as torch
    >>> torch.func.grad_and_value(lambda x: x ** 2)(torch.tensor(3.))
    (tensor(6.), tensor(9.))
    """

    def inner(*args: Any, **kwargs: Any) -> Any:
        inputs = chosen(args, argnums)
        with GradLevel() as level:
            variables = tree_map(level.variable, inputs)
            output = func(*replaced(args, argnums, variables), **kwargs)
            aux = None
            if has_aux:
                output, aux = _output_and_aux(output, _GRAD)
            if not isinstance(output, TensorBase):
                raise RuntimeError(f"{_GRAD}: Expected f(*args) to return a Tensor, got {type(output)}")
            if output.array.ndim:
                raise RuntimeError(
                    f"{_GRAD}: Expected f(*args) to return a scalar Tensor, got tensor with "
                    f"{output.array.ndim} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
                )
            flat, spec = tree_flatten(variables)
            if output.recorded:
                grads = level.pull([output], flat, _root_grads((output,), (None,)), False)
            else:
                grads = [zeros_like(v) for v in flat]
            value = level.closed([output])[0]
            if has_aux:
                value = (value, _closed_tree(level, aux))
        return tree_unflatten(grads, spec), value

    return wrapped(func, inner)


def grad(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that returns the gradient of ``func``, which gives a scalar (source: ``torch.func.grad``).

    argnums    the arguments to differentiate by: an int, or a tuple of ints for a tuple of gradients; trees of tensors
               have trees of gradients
    has_aux    ``func`` returns (value, more tensors), and the result is (gradient, more tensors)

    >>> import livetape as torch
    >>> from livetape.func import grad
    >>> grad(torch.sin)(torch.tensor(0.))
    tensor(1.)
    >>> grad(grad(lambda x: x ** 4))(torch.tensor(2.))
    tensor(48.)
    """
    both = grad_and_value(func, argnums, has_aux)

    def inner(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return wrapped(func, inner)


# ---------------------------------------------------------------- vjp
class _Pullback:
    """A function's value at some primals, and the walk from there back to them."""

    def __init__(self, func: Callable[..., Any], primals: tuple[Any, ...], has_aux: bool) -> None:
        with GradLevel() as level:
            self.level = level
            variables = tree_map(level.variable, primals)
            output = func(*variables)
            self.aux: Any = None
            if has_aux:
                output, aux = _output_and_aux(output, _VJP)
                self.aux = _closed_tree(level, aux)
            self.outputs, self.spec = tree_flatten(output)
            check_outputs(self.outputs, _VJP)
            for each in self.outputs:
                if each.dtype.category < FLOAT:
                    raise RuntimeError(
                        "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype "
                        f"{each.dtype}"
                    )
            self.inputs, self.input_spec = tree_flatten(variables)
            self.values = level.closed(self.outputs)

    def flat(self, cotangents: list[Any], keep: bool = True, create: bool | None = None) -> list[Any]:
        """The gradients, as a list, for cotangents given as a list."""
        grads = _root_grads(tuple(self.outputs), tuple(cotangents))
        before = local.grad
        return self.level.pull(self.outputs, self.inputs, grads, keep, create if before else False)

    def __call__(self, cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        flat, spec = tree_flatten(cotangents)
        if spec != self.spec:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
                f"cotangents: {treespec_pprint(spec)}, primal output: {treespec_pprint(self.spec)}"
            )
        return tree_unflatten(self.flat(flat, retain_graph, create_graph), self.input_spec)


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """``func(*primals)``, and a function from cotangents of it to a tuple of gradients (source: ``torch.func.vjp``).

    >>> import livetape as torch
    >>> value, pull = torch.func.vjp(lambda x: x ** 2, torch.tensor([1., 2.]))
    >>> pull(torch.tensor([1., 10.]))
    (tensor([ 2., 40.]),)
    """
    pulled = _Pullback(func, primals, has_aux)
    output = tree_unflatten(pulled.values, pulled.spec)

    def vjp_fn(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        return pulled(cotangents, retain_graph, create_graph)

    return (output, vjp_fn, pulled.aux) if has_aux else (output, vjp_fn)


# ---------------------------------------------------------------- jvp
def _check_pair(primals: Any, tangents: Any) -> tuple[list[Any], list[Any], Any]:
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{_JVP}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    flat, spec = tree_flatten(primals)
    along, other = tree_flatten(tangents)
    if spec != other:
        raise RuntimeError(
            f"{_JVP}: Expected primals and tangents to have the same python structure. For example, if primals "
            "is a tuple of 3 tensors, tangents also must be. Got primals with structure "
            f"{spec} and tangents with structure {other}"
        )
    for values, name in ((flat, "primals"), (along, "tangents")):
        for value in values:
            if not isinstance(value, TensorBase):
                raise RuntimeError(f"{_JVP}: Expected {name} to only contain Tensors, got {type(value)}")
        if not values:
            raise RuntimeError(f"{_JVP}: Expected {name} to contain at least one Tensor.")
    return flat, along, spec


def _dual(level: DualLevel, primal: Any, tangent: Any) -> Any:
    if primal.dtype.category < FLOAT:
        raise ValueError(f"Expected primal to be floating point or complex, but got: {primal.dtype}")
    if tangent.dtype.category < FLOAT:
        raise ValueError(f"Expected tangent to be floating point or complex, but got: {tangent.dtype}")
    if shape_of(tangent) != shape_of(primal):
        raise RuntimeError(size_error(primal, tangent))
    twin = linked(primal)
    level.set(twin, tangent, False)
    return twin


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """``func(*primals)``, and its derivative along ``tangents``, by forward mode (source: ``torch.func.jvp``).

    >>> import livetape as torch
    >>> torch.func.jvp(lambda x: x ** 2, (torch.tensor([1., 2.]),), (torch.tensor([1., 10.]),))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    flat, along, spec = _check_pair(primals, tangents)
    level = DualLevel(True)
    with Transform(level):
        duals = [_dual(level, p, t) for p, t in zip(flat, along)]
        output = func(*tree_unflatten(duals, spec))
        aux: Any = None
        if has_aux:
            output, aux = _output_and_aux(output, _JVP)
            _check_aux(tree_flatten(aux)[0])
        outputs, out_spec = tree_flatten(output)
        check_outputs(outputs, _JVP)
        found = [level.tangent(o) for o in outputs]
    if strict and any(t is None for t in found):
        raise RuntimeError(
            f"{_JVP[:-1]}, strict=True): The output of f is independent of the inputs. This is not allowed with "
            "strict=True."
        )
    values = tree_unflatten([_primal(level, o) for o in outputs], out_spec)
    moved = tree_unflatten([zeros_like(o) if t is None else t for o, t in zip(outputs, found)], out_spec)
    return (values, moved, aux) if has_aux else (values, moved)


def _primal(level: DualLevel, tensor: Any) -> Any:
    """A result without the level's tangent."""
    held = tensor.__dict__.get(KEY)
    if held is not None:
        held.pop(level.number, None)
    return tensor


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """``func(*primals)``, and its derivative there as a linear function of tangents (source: ``torch.func.linearize``).

    The function is run once; each tangent then costs one walk.

    >>> import livetape as torch
    >>> value, push = torch.func.linearize(lambda x: x ** 2, torch.tensor([1., 2.]))
    >>> push(torch.tensor([1., 0.]))
    tensor([2., 0.])
    """
    flat, spec = tree_flatten(primals)
    pulled = _Pullback(func, primals, False)
    level = pulled.level
    with GradLevel() as second:
        variables = [second.variable(zeros_like(o)) for o in pulled.outputs]
        slopes = pulled.flat(variables, True, True)

    def jvp_fn(*tangents: Any) -> Any:
        along, other = tree_flatten(tangents)
        if other != spec:
            raise RuntimeError(f"Expected the tangents {other} to have the same argspec as the primals {spec}")
        for i, (primal, tangent) in enumerate(zip(flat, along)):
            if tangent.shape != primal.shape:
                raise RuntimeError(
                    f"tangent:{i} with shape {tangent.shape} in flattened pytree doesn't match the shape "
                    f"{primal.shape} of the corresponding primal."
                )
            if tangent.dtype is not primal.dtype:
                raise RuntimeError(
                    f"tangent:{i} with dtype {tangent.dtype} in flattened pytree doesn't match the dtype "
                    f"{primal.dtype} of the corresponding primal."
                )
        found = second.pull(slopes, variables, along, True)
        return tree_unflatten(level.closed(found), pulled.spec)

    return tree_unflatten(pulled.values, pulled.spec), jvp_fn
