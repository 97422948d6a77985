"""gradcheck and gradgradcheck: hold derivatives against differences (source: ``torch.autograd.gradcheck``)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from livetape._tape.tensor import TensorBase, from_array, wrap
from livetape._tape.views import edge_of
from livetape.autograd import _jacobians as jacobians
from livetape.autograd._gradcheck_batches import GradcheckError, check_batches, check_forward_batches
from livetape.autograd._jacobians import Analytic, Difference, Directions, as_tuple, differentiable
from livetape.dtypes import FLOAT
from livetape.gradients import grad
from livetape.kernels.draws import unit
from livetape.ops.complexes import imag, real
from livetape.ops.nodes import node_class
from livetape.random import default_generator

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


_NOT_REENTRANT = (
    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different "
    "values, although analytical gradient matches numerical gradient.The tolerance for nondeterminism was {}.\n\n"
    "NOTE: If your op relies on non-deterministic operations i.e., it is listed here:\n"
    "https://pytorch.org/docs/stable/generated/torch.use_deterministic_algorithms.html\n"
    "this failure might be expected.\n\n"
    "If you are adding a new operator, please file an issue and then use one of the\n"
    "workarounds. The workaround depends on how your test invokes gradcheck/gradgradcheck.\n"
    "If the test\n"
    "- manually invokes gradcheck/gradgradcheck, then call gradcheck/gradgradcheck\n"
    "  with `nondet_tol=<tol>` as a keyword argument.\n"
    "- is OpInfo-based (e.g., in test_ops_gradients.py), then modify the OpInfo for the test\n"
    "  to have `gradcheck_nondet_tol=<tol>`.\n"
    "- is a Module test (e.g., in common_nn.py), then modify the corresponding\n"
    "  module_test entry to have `gradcheck_nondet_tol=<tol>`\n"
)

_FAST_MODE = (
    "\nThe above quantities relating the numerical and analytical jacobians are computed \n"
    "in fast mode. See: https://github.com/pytorch/pytorch/issues/53876 for more background \n"
    "about fast mode. Below, we recompute numerical and analytical jacobians in slow mode:\n\n"
    "Numerical:\n {}\nAnalytical:\n{}\n\nThe max per-element difference (slow mode) is: {}.\n"
)

_SLOW_PASSES = (
    "Fast gradcheck failed but element-wise differences are small. This means that the\n"
    "test might've passed in slow_mode!\n\n"
    "If you are adding a new operator, please file an issue and then use one of the\n"
    "workarounds. The workaround depends on how your test invokes gradcheck/gradgradcheck:\n\n"
    "If the test\n"
    "- manually invokes gradcheck/gradgradcheck, then call gradcheck/gradgradcheck\n"
    "  with `fast_mode=False` as a keyword argument.\n"
    "- is OpInfo-based (e.g., in test_ops_gradients.py), then modify the OpInfo for the test\n"
    "  to have `gradcheck_fast_mode=False`\n"
    "- is a Module test (e.g., in common_nn.py), then modify the corresponding\n"
    "  module_test entry to have `gradcheck_fast_mode=False`"
)

_UNDEFINED = (
    ' undefined output grads. Please look at "Notes about undefined output gradients" in '
    '"tools/autograd/derivatives.yaml"'
)


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether the derivatives of ``func`` at ``inputs`` agree with differences (source: ``torch.autograd.gradcheck``).

    inputs               a tensor or a sequence; those that require a gradient are checked, and should be float64 or
                         complex128
    eps, atol, rtol      the step of the differences, and the tolerances
    raise_exception      raise GradcheckError with both Jacobians, rather than return False
    nondet_tol           how far two runs of the same backward may differ
    check_forward_ad     check forward mode too; ``check_backward_ad=False`` leaves only that
    fast_mode            compare along one random direction, not element by element

    >>> import livetape as torch
    >>> x = torch.tensor([0.5, 1.5], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradcheck(torch.exp, (x,))
    True
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    check = _Check(func, as_tuple(inputs), eps, atol, rtol, nondet_tol, fast_mode, check_grad_dtypes)
    try:
        check.run(check_forward_ad, check_backward_ad)
        if check_batched_forward_grad:
            check_forward_batches(check.fn, check.inputs, check.at)
        if check_backward_ad:
            if check_batched_grad:
                check_batches(check.outputs, check.moved)
            check.multiplied()
            if check_undefined_grad:
                check.undefined()
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


class _Check:
    """One call of gradcheck: the function, its inputs and the tolerances."""

    def __init__(
        self,
        fn: Callable[..., Any],
        inputs: tuple[Any, ...],
        eps: float,
        atol: float,
        rtol: float,
        nondet_tol: float,
        fast: bool,
        dtypes: bool,
    ) -> None:
        self.fn = fn
        self.inputs = inputs
        self.eps = eps
        self.atol = atol
        self.rtol = rtol
        self.nondet_tol = nondet_tol
        self.fast = fast
        self.dtypes = dtypes
        _check_inputs(inputs)
        self.at = [k for k, i in enumerate(inputs) if isinstance(i, TensorBase) and i.requires_grad]  # type: ignore[attr-defined]
        self.moved = [inputs[k] for k in self.at]
        self.returned = as_tuple(fn(*inputs))
        self.outputs = differentiable(self.returned)
        self.kept = [k for k, o in enumerate(self.returned) if o.requires_grad]

    def run(self, forward: bool, backward: bool) -> None:
        """Compare Jacobians."""
        if self.fast and self.outputs:
            self._along(forward, backward)
            return
        found = [jacobians.numerical(self.fn, self.inputs, moved, self.eps) for moved in self.moved]
        if not self.outputs:
            floats = [k for k, o in enumerate(self.returned) if o.dtype.category >= FLOAT]  # the others have none
            for difference in found:
                for columns in (difference.real, difference.imag or difference.real):
                    if any(np.any(columns[k] != 0) for k in floats):
                        raise GradcheckError("Numerical gradient for function expected to be zero")
            return
        if backward:
            for part in self._parts(self.outputs):
                for k, output in enumerate(self.outputs):
                    analytic = self._analytic(_part(output, part))
                    for j, (n, a) in enumerate(zip(found, analytic.arrays)):
                        self._compare(a, _joined(n, self.kept[k], part), k, j, part, output.is_complex(), False)
        if forward:
            for part in self._parts(self.moved):
                for j, moved in enumerate(self.moved):
                    other = part == "imaginary" and moved.is_complex()
                    given = jacobians.forward_jacobians(self.fn, self.inputs, self.at[j], 1j if other else 1)
                    for k in range(len(self.outputs)):
                        numeric = (found[j].imag or found[j].real if other else found[j].real)[self.kept[k]]
                        self._compare(given[self.kept[k]], numeric, k, j, part, moved.is_complex(), True)

    def _parts(self, tensors: Sequence[Any]) -> list[str]:
        """Which parts of complex tensors are looked at, one after the other."""
        return ["imaginary", "real"] if any(t.is_complex() for t in tensors) else [""]

    def _analytic(self, output: Any) -> Analytic:
        """The Jacobians of one output, computed twice."""
        first = jacobians.analytical(output, self.moved)
        self._check_attributes(first, jacobians.analytical(output, self.moved))
        return first

    def _check_attributes(self, first: Analytic, second: Analytic) -> None:
        if self.dtypes and not first.types_fit:
            raise GradcheckError("Gradient has dtype mismatch")
        if not first.sizes_fit:
            raise GradcheckError("Analytical gradient has incorrect size")
        for a, b in zip(first.arrays, second.arrays):
            if a.size and np.abs(a - b).max() > self.nondet_tol:
                raise GradcheckError(_NOT_REENTRANT.format(self.nondet_tol))

    def _compare(
        self, analytic: Any, numeric: Any, output: int, input: int, part: str, complex_one: bool, forward: bool
    ) -> None:
        if not _close(analytic, numeric, self.rtol, self.atol):
            raise GradcheckError(
                _mismatch(from_array(analytic), from_array(numeric), output, input, part, complex_one, forward)
            )

    # ------------------------------------------------------------ fast mode
    def _along(self, forward: bool, backward: bool) -> None:
        """Compare derivatives along random directions of the inputs and sums of the outputs with random weights."""
        if forward:
            for part in self._parts(self.moved):
                self._forward_along(part)
        if backward:
            for part in self._parts(self.outputs):
                self._backward_along(part)

    def _forward_along(self, part: str) -> None:
        draw = Directions()
        directions = [draw.of_input(i.array) for i in self.moved]
        for j, moved in enumerate(self.moved):
            array = moved.array
            found = jacobians.numerical_along(self.fn, self.inputs, moved, directions[j], self.eps)
            other = part == "imaginary" and moved.is_complex()
            u = (directions[j][1] * 1j if other else directions[j][0]) if moved.is_complex() else directions[j]
            given = jacobians.tangents(self.fn, self.inputs, self.at[j], u.astype(array.dtype).reshape(array.shape))
            for k in range(len(self.outputs)):
                numeric = (found.imag or found.real if other else found.real)[self.kept[k]]
                analytic = given[self.kept[k]]
                if not _close(analytic, numeric, self.rtol, self.atol * np.abs(u).sum()):
                    text = _mismatch(from_array(analytic), from_array(numeric), k, j, part, moved.is_complex(), True)
                    raise GradcheckError(text + self._slow_report(k, j, part, True))

    def _backward_along(self, part: str) -> None:
        draw = Directions()
        directions = [draw.of_input(i.array) for i in self.moved]
        outputs = [_part(o, part) for o in self.outputs]
        weights = [draw.vector(o.array) for o in outputs]
        found = [
            jacobians.numerical_along(self.fn, self.inputs, moved, u, self.eps)
            for moved, u in zip(self.moved, directions)
        ]
        for k, output in enumerate(outputs):
            v = weights[k]
            first = jacobians.analytical_along(output, self.moved, v)
            self._check_attributes(first, jacobians.analytical_along(output, self.moved, v))
            for j, (moved, u) in enumerate(zip(self.moved, directions)):
                numeric, row = _joined(found[j], self.kept[k], part), first.arrays[j]
                analytic: Any
                if moved.is_complex():
                    analytic = complex(row.real @ u[0], row.imag @ u[1])
                    size = u[0].sum() + u[1].sum()
                    numeric = complex(numeric @ v)
                else:
                    analytic, size, numeric = float(row @ u), u.sum(), float(numeric @ v)
                if not _close(analytic, numeric, self.rtol, self.atol * size * v.sum()):
                    text = _mismatch(analytic, numeric, k, j, part, self.outputs[k].is_complex(), False)
                    raise GradcheckError(text + self._slow_report(k, j, part, False))

    def _slow_report(self, k: int, j: int, part: str, forward: bool) -> str:
        """Both Jacobians, for the message of a failure in fast mode."""
        found = jacobians.numerical(self.fn, self.inputs, self.moved[j], self.eps)
        if forward:
            other = part == "imaginary" and self.moved[j].is_complex()
            numeric = (found.imag or found.real if other else found.real)[self.kept[k]]
            analytic = jacobians.forward_jacobians(self.fn, self.inputs, self.at[j], 1j if other else 1)[self.kept[k]]
        else:
            numeric = _joined(found, self.kept[k], part)
            analytic = jacobians.analytical(_part(self.outputs[k], part), [self.moved[j]]).arrays[0]
        gap = float(np.abs(numeric - analytic).max())
        text = _FAST_MODE.format(from_array(numeric), from_array(analytic), gap)
        return text + _SLOW_PASSES if _close(analytic, numeric, self.rtol, self.atol) else text

    # ------------------------------------------------------------ how backward treats its incoming gradients
    def multiplied(self) -> None:
        """Zeros give zeros, of the inputs' sizes and dtypes."""
        if not self.outputs:
            return
        zeros = [_zeros(o) for o in self.outputs]
        grads = grad(self.outputs, self.moved, zeros, retain_graph=True, allow_unused=True)
        for given, input in zip(grads, self.moved):
            if given is None:
                continue
            if np.any(given.array != 0):
                raise GradcheckError("backward not multiplied by grad_output")
            if given.dtype is not input.dtype:
                raise GradcheckError("grad is incorrect type")
            if given.array.shape != input.array.shape:
                raise GradcheckError("grad is incorrect size")

    def undefined(self) -> None:
        """Gradients that nothing has reached, all at once and one at a time, give none or zeros."""
        count = len(self.outputs)
        for missing in [None] if count < 2 else [None, *range(count)]:
            outputs = [
                _without_gradient(o) if missing is None or k == missing else o
                for k, o in enumerate(differentiable(self.fn(*self.inputs)))
            ]
            if not outputs:
                continue
            try:
                grads = grad(outputs, self.moved, [_zeros(o) for o in outputs], allow_unused=True)
            except RuntimeError as error:
                _warn_undefined()
                raise GradcheckError("Expected backward function to handle" + _UNDEFINED) from error
            for given in grads:
                if given is not None and np.any(given.array != 0):
                    _warn_undefined()
                    raise GradcheckError(
                        "Expected all input grads to be undefined or zero when all output grads are "
                        "undefined or zero." + _UNDEFINED.partition(".")[2]
                    )


def _warn_undefined() -> None:
    warnings.warn(
        "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but "
        "it may break existing callers of this function. If this is true for you, you can call this function "
        'with "check_undefined_grad=False" to disable the feature',
        stacklevel=4,
    )


class _UndefinedGrad(node_class("UndefinedGradBackward")):  # type: ignore[misc]
    """A node that lets no gradient through."""

    __slots__ = ()

    def _run(self, grads: Any, wanted: Any) -> Any:
        return [None] * len(wanted)


def _without_gradient(output: Any) -> Any:
    node = _UndefinedGrad()
    node._edges = (edge_of(output),)
    twin = wrap(output.array, output.dtype, output._size)
    twin.node = node
    twin.recorded = True
    return twin


def _zeros(tensor: Any) -> Any:
    return wrap(np.zeros(tensor.array.shape, tensor.array.dtype), tensor.dtype, tensor._size)


def _part(output: Any, part: str) -> Any:
    """The real or imaginary part of a complex output."""
    if not part or not output.is_complex():
        return output
    return imag(output) if part == "imaginary" else real(output)


def _joined(found: Difference, k: int, part: str) -> Any:
    """The numerical Jacobian of a part of output ``k``, as backward's convention has it for complex inputs."""
    along = [found.real[k]] if found.imag is None else [found.real[k], found.imag[k]]
    if along[0].dtype.kind == "c":
        along = [a.imag if part == "imaginary" else a.real for a in along]
    return along[0] if len(along) == 1 else along[0] + 1j * along[1]


def _close(a: Any, b: Any, rtol: float, atol: float) -> bool:
    return bool(np.allclose(a, b, rtol=rtol, atol=atol))


def _mismatch(analytic: Any, numeric: Any, output: int, input: int, part: str, complex_one: bool, forward: bool) -> str:
    mode = "computed with forward mode " if forward else ""
    kind = "inputs" if forward else "outputs"
    prefix = f"While considering the {part} part of complex {kind} only, " if complex_one and part else ""
    return (
        f"{prefix}Jacobian {mode}mismatch for output {output} with respect to input {input},\n"
        f"numerical:{numeric}\nanalytical:{analytic}\n"
    )


def _check_inputs(inputs: tuple[Any, ...]) -> None:
    """Raise torch's errors for inputs that cannot be checked."""
    found = False
    for k, input in enumerate(inputs):
        if not isinstance(input, TensorBase) or not input.requires_grad:  # type: ignore[attr-defined]
            continue
        found = True
        if input.array.dtype not in (np.float64, np.complex128):
            warnings.warn(
                f"Input #{k} requires gradient and is not a double precision floating point or complex. This "
                "check will likely fail if all the inputs are not of double precision floating point or "
                "complex. ",
                stacklevel=4,
            )
        if input.array.size and any(s == 0 and n > 1 for s, n in zip(input.array.strides, input.array.shape)):
            raise RuntimeError(
                f"The {k}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                "non-overlapping to be able to compute the numerical gradients correctly. You should call .contiguous "
                "on the input before passing it to gradcheck."
            )
    if not found:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )


# ---------------------------------------------------------------- second order
def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """As `gradcheck` for the gradients of ``func`` (source: ``torch.autograd.gradgradcheck``).

    grad_outputs    the incoming gradients; default: random ones in [-1, 1)

    >>> import livetape as torch
    >>> x = torch.tensor([0.5, 1.5], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradgradcheck(torch.exp, (x,))
    True
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    if check_undefined_grad and not check_rev_over_rev:
        raise AssertionError("Setting check_undefined_grad=True requires check_rev_over_rev to be True")
    if check_batched_grad and not check_rev_over_rev:
        raise AssertionError("Setting check_batched_grad=True requires check_rev_over_rev to be True")
    inputs = as_tuple(inputs)
    if grad_outputs is None:
        seeds = tuple([_random_like(o, gen_non_contig_grad_outputs) for o in differentiable(func(*inputs))])
    else:
        seeds = as_tuple(grad_outputs)
    count = len(seeds)

    def gradients(*args: Any) -> tuple[Any, ...]:
        given, weights = args[: len(args) - count], args[len(args) - count :]
        outputs = differentiable(func(*given))
        moved = [g for g in given if isinstance(g, TensorBase) and g.requires_grad]  # type: ignore[attr-defined]
        found = grad(outputs, moved, weights, create_graph=True, allow_unused=True)
        return tuple([g for g in found if g is not None])

    return gradcheck(
        gradients,
        inputs + seeds,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        fast_mode=fast_mode,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        masked=masked,
    )


def _uniform(shape: tuple[int, ...], kind: Any) -> Any:
    """Numbers in [-1, 1) from the default generator, drawn as torch draws them."""
    if kind.kind == "c":
        return _uniform((*shape, 2), np.empty(0, kind).real.dtype).view(kind).reshape(shape)
    return np.asarray(unit(default_generator.bits, shape, kind) * 2 - 1, kind)  # 0-d too


def _random_like(output: Any, strided: bool) -> Any:
    shape, kind = output.array.shape, output.array.dtype
    if strided and output.array.size > 1 and shape:
        array = _uniform((*shape[:-1], 2 * shape[-1]), kind)[..., 1::2]
    else:
        array = _uniform(shape, kind)
    made = wrap(array, output.dtype, None)
    made.recorded = True
    return made
