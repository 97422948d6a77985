"""What torch.func has besides transforms: rearrange, functionalize, debug_unwrap and batch norms without statistics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import livetape as torch
from livetape import _pytree, nn
from livetape.func import debug_unwrap, functionalize, grad, jvp, rearrange, replace_all_batch_norm_modules_, vmap
from livetape.func._rearrange import DimensionBindError

X = torch.arange(24.0).reshape(2, 3, 4)


# ---------------------------------------------------------------- rearrange
@pytest.mark.parametrize(
    ("pattern", "sizes", "shape", "first"),
    [
        ("a b c -> c (a b)", {}, (4, 6), [0, 4, 8, 12, 16, 20]),
        ("a (b1 b2) c -> b2 a c b1", {"b1": 3}, (1, 2, 4, 3), [0, 4, 8, 1, 5, 9]),
        ("... c -> c ...", {}, (4, 2, 3), [0, 4, 8, 12, 16, 20]),
        ("a b c->c b a", {}, (4, 3, 2), [0, 12, 4, 16, 8, 20]),
        ("a b c -> a b c 1", {}, (2, 3, 4, 1), [0, 1, 2, 3, 4, 5]),
        ("a b c -> a () b c", {}, (2, 1, 3, 4), [0, 1, 2, 3, 4, 5]),
        ("(a 1) b c -> a b c 1 1", {}, (2, 3, 4, 1, 1), [0, 1, 2, 3, 4, 5]),
        ("a (b 1) c -> a b c", {}, (2, 3, 4), [0, 1, 2, 3, 4, 5]),
        ("a ... -> ... a", {}, (3, 4, 2), [0, 12, 1, 13, 2, 14]),
        ("a ... c -> (a c) ...", {}, (8, 3), [0, 4, 8, 1, 5, 9]),
        ("... -> (...)", {}, (24,), [0, 1, 2, 3, 4, 5]),
        ("a ... -> (a ...)", {}, (24,), [0, 1, 2, 3, 4, 5]),
        ("b ... -> ... (b)", {}, (3, 4, 2), [0, 12, 1, 13, 2, 14]),
        ("for b c -> b c for", {}, (3, 4, 2), [0, 12, 1, 13, 2, 14]),
        ("a b c -> a b c", {"a": 2}, (2, 3, 4), [0, 1, 2, 3, 4, 5]),
    ],
)
def test_rearrange(pattern: str, sizes: dict[str, int], shape: tuple[int, ...], first: list[int]) -> None:
    found = rearrange(X, pattern, **sizes)
    assert tuple(found.shape) == shape
    assert found.reshape(-1)[:6].tolist() == first


def test_rearrange_takes_lists_and_gives_gradients() -> None:
    assert rearrange([X, X], "n a b c -> a n b c").shape == (2, 2, 3, 4)
    assert rearrange(torch.tensor(1.0), "->").shape == ()
    assert rearrange(torch.tensor(1.0), "-> 1 1").shape == (1, 1)
    x = X.clone().requires_grad_()
    (rearrange(x, "a b c -> c (a b)") * torch.arange(24.0).reshape(4, 6)).sum().backward()
    assert x.grad[0, 0].tolist() == [0, 6, 12, 18]
    assert vmap(lambda t: rearrange(t, "b c -> c b"))(X).shape == (2, 4, 3)


@pytest.mark.parametrize(
    ("pattern", "sizes", "message"),
    [
        ("a b c", {}, "Pattern must contain a single '->' separator"),
        ("a b c -> a b c -> a", {}, "Pattern must contain a single '->' separator"),
        ("a b c -> b", {}, r"only on one side of rearrange expression \(should be on both\): {'a', 'c'}"),
        ("a b -> b a", {}, r"in pattern \(2\) must be equal to the number of dimensions in the tensor \(3\)"),
        ("a b a -> b a", {}, "contains duplicate dimension 'a'"),
        ("(a ...) c -> a ... c", {"a": 2}, "Ellipsis is parenthesis in the left side is not allowed"),
        ("a b c -> a b c ...", {}, "Ellipsis found in right side, but not left side"),
        ("a b c -> a b c", {"q": 2}, "Identifiers not found in rearrange expression: {'q'}"),
        ("a b c -> (a (b c))", {}, "Axis composition is one-level"),
        ("a b c -> a b) c", {}, "Brackets are not balanced"),
        ("a b c -> (a b c", {}, r"Imbalanced parentheses in expression: ' \(a b c'"),
        ("a b c -> a [b c]", {}, r"Unknown character '\['"),
        ("a.b c -> a", {}, "Expression may contain dots only inside ellipsis"),
        ("... b ... -> b", {}, "only one ellipsis for tensor"),
        ("a 2 c -> a c", {}, "rearrange only supports unnamed axes of size 1"),
        ("_a b c -> b", {}, "Invalid axis identifier: _a"),
    ],
)
def test_patterns_that_make_no_sense(pattern: str, sizes: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rearrange(X, pattern, **sizes)


def test_sizes_that_do_not_fit() -> None:
    for pattern, sizes, message in (
        ("a (b1 b2) c -> a b1 b2 c", {}, "cannot infer the sizes of two dimensions at once d1 and d2"),
        ("a (b1 b2) c -> a b1 b2 c", {"b1": 2}, r"inferred dimension does not evenly fit .*: 3 vs \(2, '\?'\)"),
        ("a (b1 b2) c -> a b1 b2 c", {"b1": 2, "b2": 2}, r"do not match \(3 != 4\) when matching .* \(d1, d2\)"),
        ("a b c -> a b c", {"a": 5}, r"do not match \(2 != 5\) when matching dimension pack \(d0,\)"),
    ):
        with pytest.raises(DimensionBindError, match=message):
            rearrange(X, pattern, **sizes)
    with pytest.raises(TypeError, match="rearrange axis lengths must be integers, got: <class 'str'>"):
        rearrange(X, "a b c -> a b c", a="2")  # type: ignore[arg-type]


# ---------------------------------------------------------------- functionalize
def test_changes_of_inputs_are_copied_back_and_results_stand_alone() -> None:
    def changing(a: Any) -> Any:
        b = a + 1
        b.add_(a)
        a.mul_(2)
        return b, a.view(-1), a

    for remove in ("mutations", "mutations_and_views"):
        x = torch.arange(4.0).reshape(2, 2)
        b, flat, same = functionalize(changing, remove=remove)(x)
        assert b.tolist() == [[1, 3], [5, 7]]
        assert flat.tolist() == [0, 2, 4, 6]
        assert x.tolist() == same.tolist() == [[0, 2], [4, 6]]
        flat.zero_()
        assert x.tolist() == [[0, 2], [4, 6]]
    with pytest.raises(RuntimeError, match="received invalid argument for remove=views"):
        functionalize(changing, remove="views")
    assert functionalize(changing).__name__ == "changing"


def test_functionalize_in_transforms() -> None:
    x = torch.arange(4.0).reshape(2, 2)
    slope = (4 * x).tolist()
    assert grad(functionalize(lambda a: (a * 2).mul_(a).sum()))(x).tolist() == slope
    assert functionalize(grad(lambda a: (a * 2).mul_(a).sum()))(x).tolist() == slope
    assert vmap(functionalize(lambda a: (a + 1).add_(a)))(x).tolist() == [[1, 3], [5, 7]]
    assert functionalize(lambda a, b=2: {"k": a * b})(x, b=3)["k"].tolist() == (3 * x).tolist()


# ---------------------------------------------------------------- looks inside
def test_debug_unwrap() -> None:
    x = torch.arange(4.0).reshape(2, 2)
    seen: list[str] = []

    def look(a: Any) -> Any:
        seen.append(repr(debug_unwrap(a)))
        seen.append(repr(debug_unwrap(a, recurse=False)))
        return a * 2

    plain = repr(x)
    for run in (
        lambda: vmap(look)(x),
        lambda: grad(lambda a: look(a).sum())(x),
        lambda: jvp(look, (x,), (x,)),
    ):
        seen.clear()
        run()
        assert seen == [plain, plain]
    seen.clear()
    vmap(vmap(look))(x)
    assert seen == [plain, "BatchedTensor(lvl=1, bdim=0, value=\n    tensor([[0., 1.],\n            [2., 3.]])\n)"]
    assert debug_unwrap(x) is x


def test_a_tensor_that_has_left_its_transform_prints() -> None:
    kept: list[Any] = []
    vmap(lambda a: kept.append(a) or a)(torch.ones(2))
    assert repr(kept[0]) == "BatchedTensor(lvl=1, bdim=0, value=\n    tensor([1., 1.])\n)"


def test_batch_norms_without_statistics() -> None:
    net = nn.Sequential(nn.BatchNorm1d(3), nn.Sequential(nn.BatchNorm2d(2, affine=False)))
    assert replace_all_batch_norm_modules_(net) is net
    assert list(net.buffers()) == []
    assert not net[0].track_running_stats and net[0].num_batches_tracked is None
    assert net[0](torch.randn(4, 3)).mean().abs() < 1e-6


def test_trees_lie_below_what_uses_them() -> None:
    assert torch.utils._pytree.tree_map is _pytree.tree_map
    for path in Path(torch.func.__file__).parent.glob("*.py"):
        assert "livetape.utils" not in path.read_text()
