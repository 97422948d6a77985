"""Forward mode: dual tensors, their views and changes in place, with reverse mode on either side, and Functions."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import pytest

import livetape as torch
import livetape.autograd.forward_ad as fwAD
from livetape.autograd.forward_ad import dual_level, make_dual, unpack_dual

t = torch.tensor


def dual(values: list[float], tangents: list[float]) -> torch.Tensor:
    return make_dual(t(values), t(tangents))


# ---------------------------------------------------------------- levels
def test_the_level_is_numbered_zero() -> None:
    with dual_level() as level:
        assert level == 0
        assert fwAD._current_level == 0
    assert fwAD._current_level == -1


def test_levels_do_not_nest() -> None:
    with (
        dual_level(),
        pytest.raises(RuntimeError, match="Nested forward mode AD is not supported at the moment"),
        dual_level(),
    ):
        pass


def test_leaving_without_entering() -> None:
    with pytest.raises(RuntimeError, match="Dual level must be a positive number"):
        fwAD.exit_dual_level()


def test_tangents_end_with_the_level() -> None:
    with dual_level():
        d = dual([1.0, 2.0], [3.0, 4.0])
        assert str(d) == "tensor([1., 2.], tangent=tensor([3., 4.]))"
    assert str(d) == "tensor([1., 2.])"
    assert unpack_dual(d) == (d, None)
    with dual_level():
        assert unpack_dual(d * 2).tangent is None


def test_the_decorator() -> None:
    @dual_level()
    def slope(x: float) -> float:
        return unpack_dual(make_dual(t(x), t(1.0)) ** 2).tangent.item()

    assert slope(3.0) == 6.0
    assert slope(4.0) == 8.0


def test_other_threads_are_not_concerned() -> None:
    found = []
    with dual_level():
        d = dual([1.0], [1.0])
        thread = threading.Thread(target=lambda: found.append((d.exp() * 2, unpack_dual(d).tangent)))
        thread.start()
        thread.join()
    assert found[0][1] is None
    assert found[0][0].item() == pytest.approx(5.436563)


def test_nothing_is_loaded_before_it_is_used() -> None:
    code = (
        "import sys, livetape; livetape.ones(2).exp().sum(); "
        "print([m for m in sys.modules if m.startswith('livetape.func') or 'forward_ad' in m or '_dual' in m])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


# ---------------------------------------------------------------- making and unpacking
def test_a_dual_is_a_view() -> None:
    x = t([1.0, 2.0], requires_grad=True)
    with dual_level():
        d = make_dual(x, t([1.0, 1.0]))
        assert d._base is x
        assert type(d.grad_fn).__name__ == "ViewBackward0"
        primal, tangent = unpack_dual(d)
        assert type(primal.grad_fn).__name__ == "Identity"
        assert unpack_dual(primal).tangent is None
        assert tangent.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("primal", "tangent", "error", "text"),
    [
        (t([1, 2]), t([1.0, 1.0]), ValueError, "Expected primal to be floating point or complex, but got: torch.int64"),
        (t([1.0]), t([1]), ValueError, "Expected tangent to be floating point or complex, but got: torch.int64"),
        (
            t([1.0, 1.0]),
            t([1.0]),
            RuntimeError,
            r"Tensor is of size \[2\] while the given forward gradient is of size \[1\]",
        ),
        (3, t([1.0]), AttributeError, "'int' object has no attribute 'is_floating_point'"),
    ],
)
def test_what_cannot_be_dual(primal: object, tangent: object, error: type[Exception], text: str) -> None:
    with dual_level(), pytest.raises(error, match=text):
        make_dual(primal, tangent)


def test_a_second_tangent() -> None:
    with dual_level():
        d = dual([1.0], [1.0])
        with pytest.raises(RuntimeError, match="already has a forward gradient at the same level 0"):
            make_dual(d, t([1.0]))


def test_outside_a_level() -> None:
    with pytest.raises(RuntimeError, match="no level exists, make sure to enter_dual_level"):
        make_dual(t(1.0), t(1.0))


# ---------------------------------------------------------------- operations
def tangent_of(tensor: torch.Tensor) -> list[float]:
    return unpack_dual(tensor).tangent.tolist()


def test_functions() -> None:
    with dual_level():
        d = dual([0.5, 2.0], [1.0, 2.0])
        assert tangent_of(d.exp()) == pytest.approx([1.6487213, 14.778112])
        assert tangent_of(1 / d) == pytest.approx([-4.0, -0.5])
        assert tangent_of(d.prod()) == pytest.approx(3.0)
        assert tangent_of(torch.cat([d, t([3.0])])) == [1.0, 2.0, 0.0]
        assert tangent_of(torch.where(t([True, False]), d, t(0.0))) == [1.0, 0.0]
        assert tangent_of(d.max()) == 2.0
        assert tangent_of(d.sort(descending=True).values) == [2.0, 1.0]
        assert tangent_of(torch.stack([d, d]) @ d) == [9.0, 9.0]
        assert tangent_of(d.to(torch.float64)) == [1.0, 2.0]
        assert unpack_dual(d > 1).tangent is None
        assert unpack_dual(d.to(torch.int32)).tangent is None
        assert unpack_dual(d.detach()).tangent is None


def test_grad_mode_does_not_matter() -> None:
    with dual_level(), torch.no_grad():
        d = dual([2.0], [1.0])
        assert tangent_of(d**3) == [12.0]
        assert tangent_of(d.prod()) == 1.0


def test_a_tangent_of_another_dtype_keeps_it() -> None:
    with dual_level():
        d = make_dual(t([1.0, 2.0]), t([1.0, 1.0], dtype=torch.float64))
        assert unpack_dual(d * d).tangent.dtype is torch.float64


def test_complex_numbers() -> None:
    with dual_level():
        d = make_dual(t([1 + 2j]), t([1 + 0j]))
        assert tangent_of(d * d) == [2 + 4j]
        assert tangent_of(d.abs())[0] == pytest.approx(0.4472136)
        assert tangent_of(d.conj()) == [1 + 0j]
        assert tangent_of(d.real) == [1.0]


def test_out_is_refused() -> None:
    with dual_level(), pytest.raises(NotImplementedError, match="forward AD with mul_out that does not support it"):
        torch.mul(dual([1.0], [1.0]), 2, out=torch.empty(1))


# ---------------------------------------------------------------- in place
def test_changes_in_place() -> None:
    with dual_level():
        d = dual([1.0, 2.0], [1.0, 1.0])
        d.mul_(d)
        assert str(d) == "tensor([1., 4.], tangent=tensor([2., 4.]))"
        d.add_(1)
        assert tangent_of(d) == [2.0, 4.0]
        d.copy_(t([5.0, 5.0]))
        assert tangent_of(d) == [0.0, 0.0]


def test_changes_through_views() -> None:
    with dual_level():
        d = dual([1.0, 2.0], [1.0, 1.0])
        v = d[0]
        v.mul_(3)
        assert tangent_of(d) == [3.0, 1.0]
        d.mul_(2)
        assert tangent_of(v) == 6.0


def test_a_plain_tensor_becomes_dual() -> None:
    with dual_level():
        out = torch.zeros(3)
        before = out[1:]
        out[:2] = dual([1.0, 2.0], [3.0, 4.0])
        assert tangent_of(out) == [3.0, 4.0, 0.0]
        assert tangent_of(before) == [4.0, 0.0]


def test_the_given_tangent_is_left_alone() -> None:
    given = t([1.0, 1.0])
    with dual_level():
        d = make_dual(t([1.0, 2.0]), given)
        d.mul_(3)
        d[0].mul_(2)
        assert tangent_of(d) == [6.0, 3.0]
    assert given.tolist() == [1.0, 1.0]


def test_results_that_share_a_tangent_do_not_share_changes() -> None:
    with dual_level():
        d = dual([1.0, 2.0], [1.0, 1.0])
        shifted = d + 1
        shifted.mul_(2)
        assert tangent_of(d) == [1.0, 1.0]
        assert tangent_of(shifted) == [2.0, 2.0]


def test_shapes_changed_in_place() -> None:
    with dual_level():
        d = make_dual(t([[1.0, 2.0, 3.0]]), t([[4.0, 5.0, 6.0]]))
        d.t_()
        assert tangent_of(d) == [[4.0], [5.0], [6.0]]
        d.squeeze_(1)
        assert tangent_of(d) == [4.0, 5.0, 6.0]


# ---------------------------------------------------------------- with reverse mode
def test_forward_over_reverse() -> None:
    x = t([1.0, 2.0], requires_grad=True)
    with dual_level():
        d = make_dual(x, t([1.0, 1.0]))
        (g,) = torch.autograd.grad((d**3).sum(), d)
        assert tangent_of(g) == [6.0, 12.0]


def test_forward_over_reverse_through_saved_results() -> None:
    x = t([0.5], requires_grad=True)
    with dual_level():
        d = make_dual(x, t([1.0]))
        (g,) = torch.autograd.grad(d.exp().tanh(), d)
        # d2/dx2 tanh(exp(x))
        assert tangent_of(g)[0] == pytest.approx(-0.467686)


def test_reverse_over_forward() -> None:
    x, v = t([1.0, 2.0], requires_grad=True), t([1.0, 1.0], requires_grad=True)
    with dual_level():
        d = make_dual(x, v)
        tangent = unpack_dual(d * d).tangent
        gx, gv = torch.autograd.grad(tangent.sum(), [x, v])
    assert gx.tolist() == [2.0, 2.0]
    assert gv.tolist() == [2.0, 4.0]


def test_backward_inside_a_level() -> None:
    x = t([1.0, 2.0], requires_grad=True)
    with dual_level():
        (make_dual(x, t([1.0, 1.0])) ** 2).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]


# ---------------------------------------------------------------- Functions
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):  # type: ignore[no-untyped-def]
        ctx.save_for_forward(x)
        ctx.k = k
        return x * x * k

    @staticmethod
    def jvp(ctx, x_t, k_t):  # type: ignore[no-untyped-def]
        assert k_t is None
        (x,) = ctx.saved_tensors
        return 2 * x * x_t * ctx.k


def test_the_jvp_of_a_function() -> None:
    with dual_level():
        assert tangent_of(Square.apply(dual([3.0], [1.0]), 2)) == [12.0]


def test_a_function_without_jvp() -> None:
    class Plain(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):  # type: ignore[no-untyped-def]
            return x * 1

    with dual_level(), pytest.raises(NotImplementedError, match="You must implement the jvp function"):
        Plain.apply(dual([3.0], [1.0]))


# ---------------------------------------------------------------- what is refused
def test_levels_and_tangents_of_tangents_are_refused() -> None:
    x = torch.ones(3)
    with fwAD.dual_level():
        dual = fwAD.make_dual(x, x)
        with pytest.raises(RuntimeError, match="Setting a forward grad that itself has a forward gradient"):
            fwAD.make_dual(x * 1, dual)
        with pytest.raises(RuntimeError, match="Invalid level given to _fw_primal"):
            fwAD.unpack_dual(dual, level=1)


def _function(forward: Any, jvp: Any) -> Any:
    return type("Made", (torch.autograd.Function,), {"forward": staticmethod(forward), "jvp": staticmethod(jvp)})


def _positive(ctx: Any, x: Any) -> Any:
    found = x > 0
    ctx.mark_non_differentiable(found)
    return x * 1, found


def _doubled(ctx: Any, x: Any) -> Any:
    ctx.mark_dirty(x)
    return x.mul_(2)


@pytest.mark.parametrize(
    ("forward", "jvp", "words"),
    [
        (lambda ctx, x: x * 2, lambda ctx, t: 3, r"expected Variable or None \(got int\) for grad output 0"),
        (lambda ctx, x: x * 2, lambda ctx, t: (t, t), r"number of forward gradients \(expected 1 but got 2\)"),
        (lambda ctx, x: x.view(3), lambda ctx, t: t * 1, "returning a view .* but the jvp is not returning a view"),
        (_positive, lambda ctx, t: (t, t), "returned a gradient at position 1, but  the corresponding forward output"),
        (
            _doubled,
            lambda ctx, t: t * 2,
            "An inplace custom Function is not modifying the forward mode gradients inplace",
        ),
    ],
)
def test_what_a_jvp_must_not_return(forward: Any, jvp: Any, words: str) -> None:
    with fwAD.dual_level():
        dual = fwAD.make_dual(torch.ones(3), torch.ones(3))
        with pytest.raises(RuntimeError, match=words):
            _function(forward, jvp).apply(dual)


def test_inference_mode_has_no_tangents() -> None:
    with fwAD.dual_level():
        dual = fwAD.make_dual(torch.tensor([2.0, 4.0]), torch.ones(2))
        with torch.inference_mode():
            assert fwAD.unpack_dual(dual * 2).tangent is None
            assert fwAD.unpack_dual(dual).tangent.tolist() == [1.0, 1.0]
        with torch.no_grad():
            assert fwAD.unpack_dual(dual * 2).tangent.tolist() == [2.0, 2.0]
