"""Gradients through eigen- and singular vectors where values repeat: right if the loss does not depend on the choice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import livetape as torch

F64 = torch.float64


def weights(x: Any) -> Any:
    return torch.arange(1.0, x.numel() + 1, dtype=F64).reshape(x.shape).to(x.dtype)


def gradient(f: Any, matrix: Any) -> Any:
    a = torch.tensor(matrix, requires_grad=True)
    found = f(a)
    (found * weights(found)).sum().real.backward()
    return a.grad.numpy()


def orthogonal(n: int, unitary: bool = False) -> Any:
    rng = np.random.default_rng(n)
    square = rng.normal(size=(n, n)) + (1j * rng.normal(size=(n, n)) if unitary else 0)
    return np.linalg.qr(square)[0]


def with_values(values: Any, unitary: bool = False) -> Any:
    q = orthogonal(len(values), unitary)
    return q @ np.diag(values) @ q.conj().T


SYMMETRIC = {
    "identity": np.eye(3),
    "zero": np.zeros((2, 2)),
    "two blocks": np.diag([2.0, 2.0, 5.0, 5.0, 5.0]),
    "batch": np.stack([np.eye(2), np.diag([1.0, 3.0])]),
    "to rounding": with_values([1.0, 1.0, 2.0, 2.0, 2.0]),
    "complex": with_values([1.0, 1.0, 2.0, 3.0], unitary=True),
}


@pytest.mark.parametrize("matrix", SYMMETRIC.values(), ids=SYMMETRIC)
def test_functions_of_symmetric_matrices(matrix: Any) -> None:
    def cube(a: Any) -> Any:
        w, v = torch.linalg.eigh(a)
        return v @ torch.diag_embed(w**3).to(v.dtype) @ v.mH

    direct = gradient(lambda a: a @ a @ a, matrix)
    direct = (direct + direct.conj().swapaxes(-2, -1)) / 2
    np.testing.assert_allclose(gradient(cube, matrix), direct, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("matrix", [np.eye(2), np.array([[2.0, 0.0, 1.0], [0.0, 2.0, 1.0], [0.0, 0.0, 3.0]])])
def test_functions_of_other_matrices(matrix: Any) -> None:
    def square(a: Any) -> Any:
        w, v = torch.linalg.eig(a)
        return (v @ torch.diag(w**2) @ torch.linalg.inv(v)).real

    np.testing.assert_allclose(gradient(square, matrix), gradient(lambda a: a @ a, matrix), atol=1e-12)


RECTANGULAR = {
    "identity": 2 * np.eye(2),
    "zero": np.zeros((2, 2)),
    "rank 1": np.diag([3.0, 0.0, 0.0]),
    "several": np.diag([2.0, 2.0, 1.0, 1.0, 0.0, 0.0]),
    "tall": orthogonal(5)[:, :4] @ np.diag([2.0, 2.0, 1.0, 1.0]) @ orthogonal(4),
    "tall, rank 1": np.vstack([np.diag([1.0, 0.0]), np.zeros((2, 2))]),
    "wide": (orthogonal(5)[:, :4] @ np.diag([2.0, 2.0, 1.0, 1.0]) @ orthogonal(4)).T.copy(),
    "unitary": orthogonal(3, unitary=True),
}


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("matrix", RECTANGULAR.values(), ids=RECTANGULAR)
def test_functions_of_singular_values(matrix: Any, full: bool) -> None:
    def cube(a: Any, power: int) -> Any:
        u, s, vh = torch.linalg.svd(a, full_matrices=full)
        k = s.shape[-1]
        return u[:, :k] @ torch.diag(s**power).to(u.dtype) @ vh[:k]

    np.testing.assert_allclose(gradient(lambda a: cube(a, 1), matrix), gradient(lambda a: a, matrix), atol=1e-10)
    np.testing.assert_allclose(
        gradient(lambda a: cube(a, 3), matrix), gradient(lambda a: a @ a.mH @ a, matrix), atol=1e-10
    )


def test_in_single_precision_and_by_autograd_grad() -> None:
    a = torch.eye(3, requires_grad=True)
    u, s, vh = torch.linalg.svd(a)
    (found,) = torch.autograd.grad((u @ torch.diag(s) @ vh).sum(), a)
    assert found.tolist() == [[1, 1, 1]] * 3
    assert not found.requires_grad
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        torch.autograd.grad(u.sum(), a)


def test_a_loss_that_depends_on_the_choice_has_no_gradient() -> None:
    a = torch.eye(2, dtype=F64, requires_grad=True)
    torch.linalg.eigh(a)[1][0, 1].backward()
    assert not a.grad.isfinite().any()


def test_second_derivatives_there_are_not_known() -> None:
    a = torch.eye(2, dtype=F64, requires_grad=True)
    w, v = torch.linalg.eigh(a)
    (first,) = torch.autograd.grad((v @ torch.diag(w**2) @ v.T).sum(), a, create_graph=True)
    assert first.tolist() == [[2, 2], [2, 2]]
    assert torch.autograd.grad(first.sum(), a)[0].isnan().all()


def test_torch_has_nan() -> None:
    with torch.set_compat("torch"):
        for matrix in (np.eye(2), np.diag([2.0, 2.0])):
            assert np.isnan(
                gradient(lambda a: (lambda w, v: v @ torch.diag(w) @ v.T)(*torch.linalg.eigh(a)), matrix)
            ).all()
            assert np.isnan(
                gradient(lambda a: (lambda u, s, v: u @ torch.diag(s) @ v)(*torch.linalg.svd(a)), matrix)
            ).all()


def test_gradients_of_eigenvectors_are_symmetric() -> None:
    a = torch.diag(torch.tensor([1.0, 2.0], dtype=F64)).requires_grad_()
    w, v = torch.linalg.eigh(a)
    (v @ torch.diag(w**2) @ v.T).sum().backward()
    assert a.grad.tolist() == [[2, 3], [3, 4]]


def test_infinite_matrices_have_no_singular_values() -> None:
    infinite = torch.tensor([[1.0, float("inf")], [0.0, 1.0]])
    s = torch.linalg.svdvals(torch.stack([torch.eye(2), infinite]))
    assert s[0].tolist() == [1, 1]
    assert s[1].isnan().all()
    assert all(part.isnan().all() for part in torch.linalg.svd(infinite))
    assert torch.linalg.eigvals(infinite).isnan().all()
