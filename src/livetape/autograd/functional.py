"""Jacobians, Hessians and their products with vectors (source: ``torch.autograd.functional``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from livetape._tape.modes import local
from livetape._tape.tensor import TensorBase, from_array, shape_of, wrap
from livetape.autograd._vectorized import columns_at_once, rows_at_once
from livetape.autograd.grad_mode import enable_grad, set_grad_enabled
from livetape.gradients import grad
from livetape.ops.basics import detach
from livetape.ops.joining import stack

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

_OUTPUTS = "outputs of the user-provided function"
_STRICT = "This is not allowed in strict mode"


# ---------------------------------------------------------------- arguments and results
def _as_tuple(value: Any, what: str, caller: str) -> tuple[bool, tuple[Any, ...]]:
    """Whether a value was a tuple, and the tuple; anything but tensors is torch's error."""
    is_tuple = isinstance(value, tuple)
    found = value if is_tuple else (value,)
    for k, one in enumerate(found):
        if not isinstance(one, TensorBase):
            which = f"the value at index {k}" if is_tuple else f"the given {what}"
            raise TypeError(
                f"The {what} given to {caller} must be either a Tensor or a tuple of Tensors but {which} "
                f"has type {type(one)}."
            )
    return is_tuple, found


def _fresh(tensors: Sequence[Any], create_graph: bool, need_graph: bool) -> tuple[Any, ...]:
    """The inputs as tensors of this call's own, so that nothing is accumulated into the caller's."""
    return tuple(
        [t.view_as(t) if create_graph and t.requires_grad else detach(t).requires_grad_(need_graph) for t in tensors]
    )


def _finished(value: Any, create_graph: bool) -> Any:
    """Results without history, unless a graph was asked for."""
    if create_graph:
        return value
    if isinstance(value, TensorBase):
        return detach(value)
    return tuple([_finished(v, False) for v in value])


def _unpacked(value: Any, is_tuple: bool) -> Any:
    return value if is_tuple else value[0]


def _zeros(tensor: Any, requires_grad: bool = False) -> Any:
    made = wrap(np.zeros(tensor.array.shape, tensor.array.dtype), tensor.dtype, tensor._size)
    made.recorded = requires_grad
    return made


def _check_v(v: tuple[Any, ...], other: tuple[Any, ...], is_tuple: bool) -> None:
    if len(other) != len(v):
        if is_tuple:
            raise RuntimeError(f"v is a tuple of invalid length: should be {len(other)} but got {len(v)}.")
        raise RuntimeError("The given v should contain a single Tensor.")
    for k, (mine, its) in enumerate(zip(v, other)):
        if shape_of(mine) != shape_of(its):
            where = f"Entry {k} in " if is_tuple else ""
            raise RuntimeError(f"{where}v has invalid size: should be {shape_of(its)!r} but got {shape_of(mine)!r}.")


def _vector_of_inputs(v: Any, inputs: tuple[Any, ...], is_tuple: bool, caller: str, create_graph: bool) -> Any:
    """The vector to multiply with, of the inputs' sizes; None is allowed for a single number."""
    if v is None:
        if len(inputs) != 1 or inputs[0].array.size != 1:
            raise RuntimeError(
                "The vector v can only be None if the input to the user-provided function is a single "
                "Tensor with a single element."
            )
        return None
    v = _fresh(_as_tuple(v, "v", caller)[1], create_graph, False)
    _check_v(v, inputs, is_tuple)
    return v


def _check_depends(tensors: Sequence[Any], stage: str, strict: bool) -> None:
    """In strict mode, raise where something does not depend on the inputs."""
    if not strict:
        return
    for k, tensor in enumerate(tensors):
        if tensor is None:
            raise RuntimeError(f"The output of the user-provided function is independent of input {k}. {_STRICT}.")
        if tensor.requires_grad:
            continue
        if stage == "outputs":
            raise RuntimeError(
                f"Output {k} of the user-provided function does not require gradients. The outputs must "
                "be computed in a differentiable manner from the input when running in strict mode."
            )
        if stage == "grad_inputs":
            raise RuntimeError(
                f"The gradient with respect to input {k} is independent of the inputs of the "
                f"user-provided function. {_STRICT}."
            )
        if stage == "jacobian":
            raise RuntimeError(
                "While computing the hessian, found that the jacobian of the user-provided function with respect to "
                f"input {k} is independent of the input. {_STRICT}. You should ensure that your function is twice "
                "differentiable and that the jacobian depends on the inputs (this would be violated by a linear "
                "function for example)."
            )
        raise RuntimeError(
            f"The hessian of the user-provided function with respect to input {k} is independent of the input. "
            f"{_STRICT}. You should ensure that your function is thrice differentiable and that the hessian depends on "
            "the inputs."
        )


def _gradients(
    outputs: Sequence[Any],
    inputs: Sequence[Any],
    seeds: Sequence[Any] | None = None,
    create_graph: bool = False,
    retain_graph: bool | None = None,
) -> tuple[Any, ...]:
    """As `grad`, for outputs of which some may not require a gradient; None for inputs that play no part."""
    kept = [k for k, o in enumerate(outputs) if o is not None and o.requires_grad]
    if not kept:
        return (None,) * len(inputs)
    return grad(
        [outputs[k] for k in kept],
        inputs,
        None if seeds is None else [seeds[k] for k in kept],
        create_graph=create_graph,
        retain_graph=retain_graph,
        allow_unused=True,
    )


_INDEPENDENT = {
    "back": "The output of the user-provided function is independent of input {}. " + _STRICT + ".",
    "back_trick": "The gradient with respect to the input is independent of entry {} in the grad_outputs when using "
    "the double backward trick to compute forward mode gradients. " + _STRICT + ".",
    "double_back": "The jacobian of the user-provided function is independent of input {}. " + _STRICT + ".",
    "double_back_trick": "The hessian of the user-provided function is independent of entry {} in the grad_jacobian. "
    + _STRICT
    + " as it prevents from using the double backward trick to replace forward mode AD.",
}


def _filled(grads: Sequence[Any], like: Sequence[Any], strict: bool, create_graph: bool, stage: str) -> tuple[Any, ...]:
    """The gradients with zeros in place of None, which is an error in strict mode."""
    found = []
    for k, (given, tensor) in enumerate(zip(grads, like)):
        if given is None:
            if strict:
                raise RuntimeError(_INDEPENDENT[stage].format(k))
            given = _zeros(tensor)
        elif strict and create_graph and not given.requires_grad:
            what = "hessian" if "double" in stage else "jacobian"
            raise RuntimeError(
                f"The {what} of the user-provided function is independent of input {k}. {_STRICT} when "
                "create_graph=True."
            )
        found.append(given)
    return tuple(found)


# ---------------------------------------------------------------- products with the Jacobian
def vjp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The outputs of ``func``, and ``v`` times its Jacobian (source: ``torch.autograd.functional.vjp``).

    inputs          a tensor or a tuple of tensors
    v               as the outputs; may be left out for a single number
    create_graph    make the results differentiable
    strict          raise where an output does not depend on an input, rather than give zeros

    >>> import livetape as torch
    >>> torch.autograd.functional.vjp(lambda x: x ** 2, torch.tensor([1., 2.]), torch.tensor([1., 10.]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    with enable_grad():
        is_input_tuple, inputs = _as_tuple(inputs, "inputs", "vjp")
        inputs = _fresh(inputs, create_graph, True)
        is_output_tuple, outputs = _as_tuple(func(*inputs), _OUTPUTS, "vjp")
        _check_depends(outputs, "outputs", strict)
        if v is not None:
            v = _fresh(_as_tuple(v, "v", "vjp")[1], create_graph, False)
            _check_v(v, outputs, is_output_tuple)
        elif len(outputs) != 1 or outputs[0].array.size != 1:
            raise RuntimeError(
                "The vector v can only be None if the user-provided function returns a single Tensor "
                "with a single element."
            )
    with set_grad_enabled(create_graph or local.grad):
        found = _filled(_gradients(outputs, inputs, v, create_graph), inputs, strict, create_graph, "back")
    return (
        _unpacked(_finished(outputs, create_graph), is_output_tuple),
        _unpacked(_finished(found, create_graph), is_input_tuple),
    )


def jvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The outputs of ``func``, and its Jacobian times ``v`` (source: ``torch.autograd.functional.jvp``).

    Arguments as for `vjp`, with ``v`` like the inputs. Two backward passes: the gradient is linear in the gradient it
    starts with, and the derivative of that is the product.

    >>> import livetape as torch
    >>> torch.autograd.functional.jvp(lambda x: x ** 2, torch.tensor([1., 2.]), torch.tensor([1., 10.]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    with enable_grad():
        is_input_tuple, inputs = _as_tuple(inputs, "inputs", "jvp")
        inputs = _fresh(inputs, create_graph, True)
        v = _vector_of_inputs(v, inputs, is_input_tuple, "jvp", create_graph)
        is_output_tuple, outputs = _as_tuple(func(*inputs), _OUTPUTS, "jvp")
        _check_depends(outputs, "outputs", strict)
        seeds = tuple([_zeros(o, True) for o in outputs])
        backward = _gradients(outputs, inputs, seeds, create_graph=True)
        _check_depends(backward, "grad_inputs", strict)
    with set_grad_enabled(create_graph or local.grad):
        found = _filled(_gradients(backward, seeds, v, create_graph), outputs, strict, create_graph, "back_trick")
    return (
        _unpacked(_finished(outputs, create_graph), is_output_tuple),
        _unpacked(_finished(found, create_graph), is_output_tuple),
    )


# ---------------------------------------------------------------- products with the Hessian
def _scalar_output(value: Any, caller: str, strict: bool) -> Any:
    """The one number that a function returned."""
    is_tuple, outputs = _as_tuple(value, _OUTPUTS, caller)
    _check_depends(outputs, "outputs", strict)
    if is_tuple:
        raise RuntimeError(f"The function given to {caller} should return a single Tensor")
    if value.array.size != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {caller} should contain a single element")
    return value


def vhp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The value of a scalar ``func``, and ``v`` times its Hessian (source: ``torch.autograd.functional.vhp``).

    >>> import livetape as torch
    >>> torch.autograd.functional.vhp(lambda x: (x ** 3).sum(), torch.tensor([1., 2.]), torch.tensor([1., 10.]))
    (tensor(9.), tensor([  6., 120.]))
    """
    with enable_grad():
        is_tuple, inputs = _as_tuple(inputs, "inputs", "vhp")
        inputs = _fresh(inputs, create_graph, True)
        v = _vector_of_inputs(v, inputs, is_tuple, "vhp", create_graph)
        output = _scalar_output(func(*inputs), "vhp", strict)
        slopes = _gradients((output,), inputs, create_graph=True)
        _check_depends(slopes, "jacobian", strict)
    with set_grad_enabled(create_graph or local.grad):
        found = _filled(_gradients(slopes, inputs, v, create_graph), inputs, strict, create_graph, "double_back")
    return _finished(output, create_graph), _unpacked(_finished(found, create_graph), is_tuple)


def hvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The value of a scalar ``func``, and its Hessian times ``v`` (source: ``torch.autograd.functional.hvp``).

    `vhp` gives the same wherever the Hessian is symmetric, with one pass less.

    >>> import livetape as torch
    >>> torch.autograd.functional.hvp(lambda x: (x ** 3).sum(), torch.tensor([1., 2.]), torch.tensor([1., 10.]))
    (tensor(9.), tensor([  6., 120.]))
    """
    with enable_grad():
        is_tuple, inputs = _as_tuple(inputs, "inputs", "hvp")
        inputs = _fresh(inputs, create_graph, True)
        v = _vector_of_inputs(v, inputs, is_tuple, "hvp", create_graph)
        output = _scalar_output(func(*inputs), "hvp", strict)
        slopes = _gradients((output,), inputs, create_graph=True)
        _check_depends(slopes, "jacobian", strict)
        seeds = tuple([_zeros(i, True) for i in inputs])
        backward = _gradients(slopes, inputs, seeds, create_graph=True)
        _check_depends(backward, "hessian", strict)
    with set_grad_enabled(create_graph or local.grad):
        found = _filled(_gradients(backward, seeds, v, create_graph), inputs, strict, create_graph, "double_back_trick")
    return _finished(output, create_graph), _unpacked(_finished(found, create_graph), is_tuple)


# ---------------------------------------------------------------- whole matrices
def _row(output: Any, inputs: tuple[Any, ...], k: int, create_graph: bool) -> tuple[Any, ...]:
    """The gradients of element ``k`` of an output."""
    seed = np.zeros(output.array.size, output.array.dtype)
    seed[k] = 1
    start = from_array(seed.reshape(output.array.shape))
    return _gradients((output,), inputs, (start,), create_graph, retain_graph=True)


def _rows(output: Any, at: int, inputs: tuple[Any, ...], create_graph: bool, strict: bool) -> tuple[Any, ...]:
    """The Jacobians of one output with respect to all inputs."""
    columns: list[list[Any]] = [[] for _ in inputs]
    for k in range(output.array.size):
        for i, given in enumerate(_row(output, inputs, k, create_graph)):
            if given is None:
                if strict:
                    raise RuntimeError(
                        f"Output {at} of the user-provided function is independent of input {i}. {_STRICT}."
                    )
                given = _zeros(inputs[i])
            elif strict and create_graph and not given.requires_grad:
                raise RuntimeError(
                    f"The jacobian of the user-provided function is independent of input {at}. "
                    f"{_STRICT} when create_graph=True."
                )
            columns[i].append(given)
    return tuple([stack(rows, 0).view((*shape_of(output), *shape_of(i))) for rows, i in zip(columns, inputs)])


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of ``func``: for each output and input a tensor of the output's shape followed by the input's.

    Source: ``torch.autograd.functional.jacobian``. A tuple of inputs gives a tuple, of outputs a tuple of those.
    ``create_graph`` and ``strict`` as for `vjp`. With ``vectorize`` all rows are computed by one backward, by vmap;
    with ``strategy="forward-mode"`` all columns by one forward an input.

    >>> import livetape as torch
    >>> torch.autograd.functional.jacobian(lambda x: x ** 2, torch.tensor([1., 2.]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function '
            'has more outputs than inputs, "forward-mode" tends to be more performant. Otherwise, '
            'prefer to use "reverse-mode".'
        )
    caller = "torch.autograd.functional.jacobian"
    if strategy == "forward-mode":
        other = 'strategy="forward-mode"` are not supported together (yet). Please either set'
        if create_graph:
            raise NotImplementedError(
                f'{caller}: `create_graph=True` and `{other} `create_graph=False` or `strategy="reverse-mode"`.'
            )
        if strict:
            raise RuntimeError(f'{caller}: `strict=True` and `{other} `strict=False` or `strategy="reverse-mode"`.')
        if not vectorize:
            raise NotImplementedError(
                "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly "
                "implemented for `vectorize=True`."
            )
        is_input_tuple, inputs = _as_tuple(inputs, "inputs", "jacobian")
        is_tuple = [False]

        def checked(value: Any) -> tuple[Any, ...]:
            is_tuple[0], outputs = _as_tuple(value, _OUTPUTS, "jacobian")
            return outputs

        columns = columns_at_once(func, inputs, checked)
        if is_input_tuple:  # torch returns lists here
            return columns if is_tuple[0] else columns[0]
        return _unpacked(tuple([row[0] for row in columns]), is_tuple[0])
    with enable_grad():
        is_input_tuple, inputs = _as_tuple(inputs, "inputs", "jacobian")
        inputs = _fresh(inputs, create_graph, True)
        is_output_tuple, outputs = _as_tuple(func(*inputs), _OUTPUTS, "jacobian")
        _check_depends(outputs, "outputs", strict)
        if vectorize and strict:
            raise RuntimeError(
                f"{caller}: `strict=True` and `vectorized=True` are not supported together. Please "
                "either set `strict=False` or `vectorize=False`."
            )
        for output in outputs:
            if output.is_complex() and output.requires_grad and not vectorize:
                raise RuntimeError(
                    f"grad can be implicitly created only for real scalar outputs but got {output.dtype!r}"
                )
        if vectorize:
            found = [rows_at_once(output, inputs, create_graph) for output in outputs]
        else:
            found = [_rows(output, k, inputs, create_graph, strict) for k, output in enumerate(outputs)]
        found = [_finished(rows, create_graph) for rows in found]
    each = tuple([_unpacked(rows, is_input_tuple) for rows in found])
    return _unpacked(each, is_output_tuple)


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of a scalar ``func`` (source: ``torch.autograd.functional.hessian``); arguments as for `jacobian`.

    A tuple of inputs gives a tuple of tuples.

    >>> import livetape as torch
    >>> torch.autograd.functional.hessian(lambda x: (x ** 3).sum(), torch.tensor([1., 2.]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    is_tuple, inputs = _as_tuple(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def single(*args: Any) -> Any:
        return _scalar_output(func(*args), "hessian", strict).squeeze()

    def slopes(*args: Any) -> Any:
        if outer_jacobian_strategy == "forward-mode":  # the inner Jacobian would detach what requires no gradient
            for t in args:
                if not t.requires_grad:
                    t.requires_grad = True
        found = jacobian(single, args, create_graph=True)
        _check_depends(found, "jacobian", strict)
        return found

    found = jacobian(slopes, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
    return found if is_tuple else found[0][0]
