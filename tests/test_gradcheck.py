"""gradcheck and gradgradcheck: they accept right gradients, and reject wrong ones in torch's words."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import pytest

import livetape as torch
from livetape.autograd import Function, gradcheck, gradgradcheck
from livetape.autograd.gradcheck import GradcheckError


def made(forward: Callable[..., Any], backward: Callable[..., Any]) -> Any:
    return type("F", (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)}).apply


def leaf(*values: complex) -> Any:
    kind = torch.complex128 if any(isinstance(v, complex) for v in values) else torch.float64
    return torch.tensor(values, dtype=kind, requires_grad=True)


wrong = made(lambda ctx, t: t * 2, lambda ctx, g: g * 3)


def failure(*args: Any, **options: Any) -> str:
    with pytest.raises(GradcheckError) as caught:
        gradcheck(*args, **options)
    assert gradcheck(*args, **options, raise_exception=False) is False
    return str(caught.value)


# ---------------------------------------------------------------- right gradients
@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize(
    "fn",
    [
        torch.exp,
        lambda t: t * t,
        lambda t: (t.sum(), t * 2),
        lambda t: t[1:],
        lambda t: [t, t * 2],
        lambda t: t,
        lambda t: t.to(torch.complex128),
        lambda t: t * 1j,
        lambda t: torch.zeros(2, dtype=torch.float64),
    ],
)
def test_right_gradients(fn: Callable[[Any], Any], fast: bool) -> None:
    assert gradcheck(fn, (leaf(0.5, 1.5, -2.0),), fast_mode=fast)


@pytest.mark.parametrize("fast", [False, True])
def test_complex_inputs(fast: bool) -> None:
    z = leaf(1.0 + 2.0j, -0.5j)
    for fn in (lambda t: t * t.conj(), torch.exp, lambda t: t.abs(), lambda t: t.real * t.imag, torch.view_as_real):
        assert gradcheck(fn, (z,), fast_mode=fast)
    assert gradgradcheck(torch.exp, (z,), fast_mode=fast)


def test_inputs_of_all_kinds() -> None:
    x = leaf(1.0, 2.0)
    assert gradcheck(lambda a, k, b: a * k * b, (x, 3.0, torch.ones(2, dtype=torch.float64)))
    assert gradcheck(lambda a, b: (a * 2, b * 3), (x, x))
    assert gradcheck(torch.exp, x) and gradcheck(torch.exp, [x])
    assert gradcheck(lambda t: t * 2, (torch.empty(0, dtype=torch.float64, requires_grad=True),))
    assert gradcheck(torch.exp, (torch.tensor(0.5, dtype=torch.float64, requires_grad=True),))


def test_inputs_that_are_not_contiguous() -> None:
    x = torch.arange(6, dtype=torch.float64).reshape(2, 3).t().requires_grad_()
    before = x.tolist()
    assert gradcheck(lambda t: t * t.sum(), (x,)) and gradgradcheck(lambda t: t**3, (x,))
    assert gradcheck(lambda t: t * t.sum(), (x[::2],), fast_mode=True)
    assert x.tolist() == before and x.grad is None


def test_second_derivatives() -> None:
    x = leaf(0.5, 1.5)
    assert gradgradcheck(lambda t: t**3, (x,))
    assert gradgradcheck(lambda t: t**3, (x,), gen_non_contig_grad_outputs=True)
    assert gradgradcheck(lambda t: t**3, (x,), torch.ones(2, dtype=torch.float64, requires_grad=True))


def test_batches_of_gradients() -> None:
    assert gradcheck(torch.exp, (leaf(0.5, 1.5),), check_batched_grad=True)


def test_random_gradients_are_torchs() -> None:
    seen: list[Any] = []

    def backward(ctx: Any, g: Any) -> Any:
        seen.append(g.detach().clone())
        return g * 1

    torch.manual_seed(0)
    gradgradcheck(made(lambda ctx, a: a * 1, backward), (leaf(1.0, 2.0),))
    assert seen[0].tolist() == pytest.approx([0.9401, 0.4156], abs=1e-4)
    assert torch.rand(1).item() == pytest.approx(0.3074, abs=1e-4)


# ---------------------------------------------------------------- wrong gradients
def test_a_wrong_gradient() -> None:
    assert failure(wrong, (leaf(1.0, 2.0),)) == textwrap.dedent("""\
        Jacobian mismatch for output 0 with respect to input 0,
        numerical:tensor([[2.0000, 0.0000],
                [0.0000, 2.0000]], dtype=torch.float64)
        analytical:tensor([[3., 0.],
                [0., 3.]], dtype=torch.float64)
        """)
    assert gradcheck(wrong, (leaf(1.0, 2.0),), atol=2.0)


def test_a_wrong_gradient_in_fast_mode() -> None:
    text = failure(wrong, (leaf(1.0, 2.0),), fast_mode=True)
    first, numeric, analytic, *rest = text.split("\n")
    assert first == "Jacobian mismatch for output 0 with respect to input 0,"
    assert float(numeric.removeprefix("numerical:")) == pytest.approx(1.8447186263627853)
    assert float(analytic.removeprefix("analytical:")) == pytest.approx(2.7670779394229683)
    assert "in fast mode. See: https://github.com/pytorch/pytorch/issues/53876" in "\n".join(rest)
    assert "The max per-element difference (slow mode) is: 1.000" in text


def test_fast_mode_that_is_stricter_than_slow_mode() -> None:
    w = torch.tensor([[1.0, -1.0], [1.0, -1.0]], dtype=torch.float64)
    fn = made(lambda ctx, x: w @ x, lambda ctx, g: (w + 0.00095).t() @ g)
    assert gradcheck(fn, (leaf(1.0, 2.0),))
    text = failure(fn, (leaf(1.0, 2.0),), fast_mode=True)
    assert "Fast gradcheck failed but element-wise differences are small." in text


def test_a_wrong_gradient_of_complex_values() -> None:
    assert failure(wrong, (leaf(1.0 + 2.0j, 2.0j),)).startswith(
        "While considering the imaginary part of complex outputs only, Jacobian mismatch for output 0 with respect to "
        "input 0,\nnumerical:tensor([[0.+2.0000j, 0.+0.0000j],\n        [0.+0.0000j, 0.+2.0000j]], "
        "dtype=torch.complex128)\n"
    )
    assert failure(lambda t: wrong(t) * 1j, (leaf(1.0, 2.0),)).startswith("While considering the imaginary part")


def test_which_output_and_input_are_wrong() -> None:
    text = failure(lambda a, b: (a * 2, wrong(b)), (leaf(1.0), leaf(1.0, 2.0)))
    assert text.startswith("Jacobian mismatch for output 1 with respect to input 1,")
    text = failure(lambda c, a: wrong(a) * c, (torch.ones(2, dtype=torch.float64), leaf(1.0, 2.0)))
    assert text.startswith("Jacobian mismatch for output 0 with respect to input 0,")


@pytest.mark.parametrize(
    ("fn", "message"),
    [
        (lambda t: t * t.detach(), "Jacobian mismatch"),
        (lambda t: t.detach() * 2, "Numerical gradient for function expected to be zero"),
        (made(lambda ctx, t: t * 2, lambda ctx, g: None), "Jacobian mismatch"),
        (made(lambda ctx, t: t.exp(), lambda ctx, g: g * (1 + 1e-2)), "Jacobian mismatch"),
    ],
)
@pytest.mark.parametrize("fast", [False, True])
def test_wrong_gradients(fn: Callable[[Any], Any], message: str, fast: bool) -> None:
    assert failure(fn, (leaf(1.0, 2.0),), fast_mode=fast).startswith(message)


def test_nan_is_wrong() -> None:
    assert failure(lambda t: t * torch.tensor([1.0, float("nan")], dtype=torch.float64), (leaf(1.0, 2.0),))


def test_a_backward_that_changes_from_call_to_call() -> None:
    count = [0]

    def backward(ctx: Any, g: Any) -> Any:
        count[0] += 1
        return g * (1 + 1e-9 * count[0])

    fn = made(lambda ctx, t: t * 1, backward)
    assert failure(fn, (leaf(1.0, 2.0),)).startswith("Backward is not reentrant, i.e., running backward with")
    assert gradcheck(fn, (leaf(1.0, 2.0),), nondet_tol=1e-6)


def test_a_backward_that_ignores_the_incoming_gradient() -> None:
    fn = made(lambda ctx, t: t * 2, lambda ctx, g: torch.full_like(g, 2.0))
    assert failure(fn, (leaf(1.0),)) == "backward not multiplied by grad_output"


def quiet(ctx: Any, t: Any) -> Any:
    ctx.set_materialize_grads(False)
    return t * 2


def test_a_backward_that_gives_something_for_no_gradient() -> None:
    fn = made(quiet, lambda ctx, g: torch.ones(2, dtype=torch.float64) if g is None else g * 2)
    with pytest.warns(UserWarning, match="Backwards compatibility: New undefined gradient support checking"):
        text = failure(fn, (leaf(1.0, 2.0),))
    assert text.startswith("Expected all input grads to be undefined or zero when all output grads are undefined or")
    assert gradcheck(fn, (leaf(1.0, 2.0),), check_undefined_grad=False)


def test_a_backward_that_fails_for_no_gradient() -> None:
    def backward(ctx: Any, g: Any) -> Any:
        if g is None:
            raise RuntimeError("no gradient")
        return g * 2

    with pytest.warns(UserWarning, match="Backwards compatibility"), pytest.raises(GradcheckError) as caught:
        gradcheck(made(quiet, backward), (leaf(1.0, 2.0),))
    assert str(caught.value).startswith("Expected backward function to handle undefined output grads.")
    assert str(caught.value.__cause__) == "no gradient"


def test_a_backward_whose_own_derivative_is_wrong() -> None:
    def forward(ctx: Any, t: Any) -> Any:
        ctx.save_for_backward(t)
        return t * t

    fn = made(forward, lambda ctx, g: 2 * ctx.saved_tensors[0].detach() * g)
    assert gradcheck(fn, (leaf(1.0, 2.0),))
    assert gradgradcheck(fn, (leaf(1.0, 2.0),), raise_exception=False) is False
    with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0"):
        gradgradcheck(fn, (leaf(1.0, 2.0),))


# ---------------------------------------------------------------- what cannot be checked
def test_arguments_that_make_no_sense() -> None:
    x = leaf(1.0, 2.0)
    with pytest.raises(ValueError, match="gradcheck expects at least one input tensor to require gradient"):
        gradcheck(torch.exp, (torch.ones(2, dtype=torch.float64),))
    with pytest.raises(AssertionError, match="Expected at least one of check_forward_ad or check_backward_ad"):
        gradcheck(torch.exp, (x,), check_backward_ad=False)
    with pytest.raises(RuntimeError, match="The 0th input has a dimension with stride 0"):
        gradcheck(torch.exp, (leaf(1.0).expand(3),))
    with pytest.raises(AttributeError, match="'float' object has no attribute 'requires_grad'"):
        gradcheck(lambda t: 3.0, (x,))


def test_single_precision_draws_a_warning() -> None:
    with pytest.warns(UserWarning, match="Input #0 requires gradient and is not a double precision floating point"):
        gradcheck(torch.exp, (torch.ones(2, requires_grad=True),), raise_exception=False)


def test_functions_that_return_something_else_each_time() -> None:
    count = [0]

    def fn(t: Any) -> Any:
        count[0] += 1
        return t * 2 if count[0] < 3 else torch.cat([t, t])

    with pytest.raises(
        AssertionError,
        match=r"same shape when inputs are perturbed on index \(0,\) by 1e-06, but got: "
        r"shapes torch.Size\(\[2\]\) and torch.Size\(\[4\]\)",
    ):
        gradcheck(fn, (leaf(1.0, 2.0),))


def test_inputs_are_put_back_after_an_error() -> None:
    x = leaf(1.0, 2.0)
    count = [0]

    def fn(t: Any) -> Any:
        count[0] += 1
        if count[0] == 3:
            raise KeyError("third")
        return t * 2

    with pytest.raises(KeyError):
        gradcheck(fn, (x,))
    assert x.tolist() == [1.0, 2.0]


# ---------------------------------------------------------------- batches
class ThroughNumpy(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return torch.from_numpy(x.detach().numpy() * 2)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return torch.from_numpy(grad.detach().numpy() * 2)


class Peeking(Function):
    """Gives batches another gradient than single ones, in both modes."""

    @staticmethod
    def forward(x: Any) -> Any:
        return x * 2

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * (3 if str(grad).startswith("Batched") else 2)

    @staticmethod
    def jvp(ctx: Any, tangent: Any) -> Any:
        return tangent * (3 if str(tangent).startswith("Batched") else 2)


def test_batched_gradients() -> None:
    x = leaf(0.5, 1.5)
    for call in (torch.exp, lambda t: t.cumprod(0), lambda t: (t.sum(), t * t)):
        assert gradcheck(call, (x,), check_batched_grad=True)
        assert gradgradcheck(call, (x,), check_batched_grad=True)
    assert gradcheck(ThroughNumpy.apply, (x,))
    with pytest.raises(
        GradcheckError, match=r"While computing batched gradients, got: .*\n\ngradcheck or gradgradcheck"
    ):
        gradcheck(ThroughNumpy.apply, (x,), check_batched_grad=True)
    with pytest.raises(GradcheckError, match=r"(?s)For output 0 and input 0:.*\n\nGot:\ntensor.*\n\nExpected:\ntensor"):
        gradcheck(Peeking.apply, (x,), check_batched_grad=True)
    assert not gradcheck(Peeking.apply, (x,), check_batched_grad=True, raise_exception=False)


def test_batched_tangents() -> None:
    x = leaf(0.5, 1.5)
    assert gradcheck(torch.exp, (x,), check_forward_ad=True, check_batched_forward_grad=True)
    assert gradcheck(
        lambda a, b: (a * b, a.sum()), (x, leaf(1.0, 2.0)), check_forward_ad=True, check_batched_forward_grad=True
    )
    with pytest.raises(
        GradcheckError, match="gradcheck failed while testing batched gradient computation with forward-mode"
    ):
        gradcheck(Peeking.apply, (x,), check_forward_ad=True, check_batched_forward_grad=True)


def test_whole_numbers_have_no_gradient_to_be_zero() -> None:
    x = torch.arange(1.0, 4, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda a: a.long(), (x,))
    with pytest.raises(RuntimeError, match="expected to be zero"):
        gradcheck(lambda a: (a * a).detach(), (x,))
