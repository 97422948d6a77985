"""Some eigenpairs of a large symmetric matrix, against those that `torch.linalg.eigh` finds of the whole."""

from __future__ import annotations

import numpy as np
import pytest

import livetape as torch

_g = np.random.default_rng(0)
_half = torch.tensor(_g.standard_normal((24, 24)))
A = _half + _half.mT
B = _half @ _half.mT + torch.eye(24, dtype=torch.float64)
X = torch.tensor(_g.standard_normal((24, 3)))


@pytest.mark.parametrize("largest", [True, False])
def test_pairs_and_their_gradients(largest: bool) -> None:
    weights = torch.arange(1.0, 25, dtype=torch.float64)[:, None]

    def loss(values, vectors):
        return (values**2).sum() + (vectors**2 * weights).sum()

    a = A.clone().requires_grad_()
    values, vectors = torch.lobpcg(a, X=X, tol=1e-11, largest=largest)
    (found,) = torch.autograd.grad(loss(values, vectors), a)
    whole = torch.linalg.eigh((a + a.mT) / 2)
    order = [-1, -2, -3] if largest else [0, 1, 2]
    torch.testing.assert_close(values, whole.eigenvalues[order])
    (wanted,) = torch.autograd.grad(loss(whole.eigenvalues[order], whole.eigenvectors[:, order]), a)
    torch.testing.assert_close(found, wanted, rtol=1e-6, atol=1e-6)


def test_generalized() -> None:
    values, vectors = torch.lobpcg(A, k=2, B=B, X=X, tol=1e-10)
    torch.testing.assert_close(A @ vectors, B @ vectors * values, rtol=0, atol=1e-7)
    torch.testing.assert_close(vectors.mT @ B @ vectors, torch.eye(2, dtype=torch.float64))


def test_batches_and_dtypes() -> None:
    values, vectors = torch.lobpcg(torch.stack([A, 2 * A]).float(), k=2)
    torch.testing.assert_close(values[1], 2 * values[0], rtol=1e-4, atol=1e-4)
    assert values.dtype == vectors.dtype == torch.float32
    assert vectors.shape == (2, 24, 2)


def test_a_preconditioner_saves_steps() -> None:
    far = torch.diag(torch.arange(1.0, 61, dtype=torch.float64) ** 2)
    start = torch.tensor(_g.standard_normal((60, 2)))
    steps = []
    for inverse in (None, torch.linalg.inv(far)):
        seen = []
        torch.lobpcg(far, X=start, iK=inverse, largest=False, tracker=seen.append)
        steps.append(len(seen))
        assert seen[-1].ivars["istep"] == len(seen)
        assert seen[-1].tvars["rerr"].max() < 1.5e-8
    assert steps[1] < 12 < steps[0]


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (
            lambda: torch.lobpcg(A, k=9),
            ValueError,
            "number of A rows (=24) is smaller than 3 x the number of requested",
        ),
        (lambda: torch.lobpcg(A[:3]), AssertionError, "A must be square, got shape torch.Size([3, 24])"),
        (lambda: torch.lobpcg(A, B=B[:3, :3]), AssertionError, "A and B must have same shape"),
        (
            lambda: torch.lobpcg(A, X=X[:5]),
            AssertionError,
            "X shape mismatch: got torch.Size([5, 3]), expected (24, 3)",
        ),
        (
            lambda: torch.lobpcg(A.int()),
            RuntimeError,
            "expected m1 and m2 to have the same dtype, but got: int != float",
        ),
    ],
)
def test_words_of_errors(call, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as error:
        call()
    assert text in str(error.value)
