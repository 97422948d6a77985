"""Linear algebra: what samples of single rows cannot show, torch's errors, and the kernels at sizes of several blocks."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import livetape as torch
from livetape.autograd.gradcheck import gradcheck, gradgradcheck
from livetape.kernels import matrices, triangular

L = torch.linalg


def rand(*shape: int, dtype: Any = np.float64, seed: int = 0) -> Any:
    g = np.random.default_rng(seed)
    x = g.standard_normal(shape)
    return (x + 1j * g.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def leaf(*shape: int, dtype: Any = np.float64, seed: int = 0) -> Any:
    return torch.from_numpy(rand(*shape, dtype=dtype, seed=seed)).requires_grad_()


def hermitian(x: Any) -> Any:
    return x + x.mH


def positive(x: Any) -> Any:
    return x @ x.mH + torch.eye(x.shape[-1], dtype=x.dtype)


# what is the same for any choice of signs and phases
FREE_OF_CHOICE = {
    "cholesky": lambda x: L.cholesky(positive(x)),
    "cholesky upper": lambda x: L.cholesky(positive(x), upper=True),
    "cholesky_solve": lambda x: torch.cholesky_solve(x, x.tril() + 2 * torch.eye(3)),
    "cholesky_solve upper": lambda x: torch.cholesky_solve(x, x.triu() + 2 * torch.eye(3), True),
    "cholesky_inverse": lambda x: torch.cholesky_inverse(x.tril() + 2 * torch.eye(3)),
    "cholesky_inverse upper": lambda x: torch.cholesky_inverse(x.triu() + 2 * torch.eye(3), True),
    "eigvalsh": lambda x: L.eigvalsh(hermitian(x)),
    "eigh": lambda x: (lambda values, v: (v * values.exp().unsqueeze(-2)) @ v.mH)(*L.eigh(hermitian(x))),
    "eigh sizes": lambda x: L.eigh(hermitian(x), "U").eigenvectors.abs(),
    "eig": lambda x: (lambda values, v: v @ torch.diag_embed(values**2) @ L.inv(v))(*L.eig(x)),
    "eig sizes": lambda x: L.eig(x).eigenvectors.abs(),
    "svd": lambda x: (lambda u, s, vh: (u * s.sin().unsqueeze(-2)) @ vh)(*L.svd(x, full_matrices=False)),
    "svd sizes": lambda x: (lambda u, s, vh: (u[..., :2].abs(), s, vh[..., :2, :].abs()))(*L.svd(x[..., :2])),
    "svd wide": lambda x: (lambda u, s, vh: (u.abs(), vh[..., :2, :].abs()))(*L.svd(x[..., :2, :])),
    "pinv hermitian": lambda x: L.pinv(hermitian(x), hermitian=True),
}


@pytest.mark.parametrize("kind", [np.float64, np.complex128])
@pytest.mark.parametrize("name", FREE_OF_CHOICE)
def test_gradients_that_do_not_depend_on_signs(name: str, kind: Any) -> None:
    function = FREE_OF_CHOICE[name]
    x = leaf(3, 3, dtype=kind, seed=3)
    assert gradcheck(function, (x,))
    assert gradgradcheck(function, (x,))
    if "cholesky_" not in name:
        assert gradcheck(function, (leaf(2, 3, 3, dtype=kind, seed=4),))


def test_forward_mode_agrees() -> None:
    x, tangent = leaf(3, 3, seed=3), torch.from_numpy(rand(3, 3, seed=5))
    for name in ("cholesky", "eigh", "svd", "cholesky_inverse"):
        function = FREE_OF_CHOICE[name]
        _, jvp = torch.func.jvp(function, (x.detach(),), (tangent,))
        step = 1e-6
        want = (function(x.detach() + step * tangent) - function(x.detach() - step * tangent)) / (2 * step)
        np.testing.assert_allclose(jvp.numpy(), want.numpy(), rtol=1e-6, atol=1e-7)


def test_batches_as_vmap_runs_them() -> None:
    x, b = torch.from_numpy(rand(4, 3, 3)), torch.from_numpy(rand(4, 3))
    for function in (L.inv, L.det, torch.func.grad(lambda a: L.slogdet(a)[1]), L.svdvals, L.matrix_exp):
        got = torch.func.vmap(function)(x)
        np.testing.assert_allclose(got.numpy(), torch.stack([function(a) for a in x]).numpy(), rtol=1e-10)
    for arguments, dims in (((x, b), 0), ((x[0], b), (None, 0)), ((x, b[0]), (0, None))):
        got = torch.func.vmap(L.solve, dims)(*arguments)
        np.testing.assert_allclose(
            got.numpy(),
            L.solve(*arguments[:1], arguments[1].unsqueeze(-1)).squeeze(-1).numpy() if dims == 0 else got.numpy(),
        )
        np.testing.assert_allclose(
            (arguments[0] @ got.unsqueeze(-1)).squeeze(-1).numpy(),
            np.broadcast_to(arguments[1].numpy(), got.shape),
            rtol=1e-9,
        )


def test_determinants_of_singular_matrices_have_derivatives() -> None:
    x = torch.tensor([[1.0, 2.0], [2.0, 4.0]], dtype=torch.float64, requires_grad=True)
    L.det(x).backward()
    np.testing.assert_allclose(x.grad.numpy(), [[4, -2], [-2, 1]], atol=1e-12)


def test_degenerate_singular_values() -> None:
    x = torch.eye(3, dtype=torch.float64, requires_grad=True)
    L.matrix_norm(x, "nuc").backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.eye(3))
    y = torch.eye(3, dtype=torch.float64, requires_grad=True)
    L.eigvalsh(y).sum().backward()
    np.testing.assert_array_equal(y.grad.numpy(), np.eye(3))


def test_phases_that_a_loss_depends_on_are_refused() -> None:
    for function, name in (
        (lambda x: L.svd(x)[0], "svd_backward: The singular vectors"),
        (lambda x: L.eigh(x)[1], "linalg_eigh_backward: The eigenvectors"),
        (lambda x: L.eig(x)[1], "linalg_eig_backward: The eigenvectors"),
    ):
        x = leaf(3, 3, dtype=np.complex128)
        with pytest.raises(RuntimeError, match=name):
            function(x).imag.sum().backward()


def test_nan_spreads_over_the_whole_matrix() -> None:
    x = torch.stack((torch.eye(2), torch.tensor([[float("nan"), 1.0], [1.0, 1.0]])))
    assert L.inv(x).isnan().tolist() == [[[False] * 2] * 2, [[True] * 2] * 2]
    assert L.solve(x, torch.ones(2)).isnan().tolist() == [[False] * 2, [True] * 2]


# ---------------------------------------------------------------- nodes, results and errors
def test_nodes_are_named_as_torch_names_them() -> None:
    a, r = leaf(3, 3), leaf(4, 3)
    found = {
        "LinalgInvExBackward0": L.inv(a),
        "LinalgDetBackward0": torch.det(a),
        "LinalgSlogdetBackward0": torch.slogdet(a)[1],
        "LinalgSolveExBackward0": L.solve(a, a[0]),
        "LinalgSolveTriangularBackward0": L.solve_triangular(a, a, upper=True),
        "LinalgCholeskyExBackward0": L.cholesky(positive(a)),
        "LinalgQrBackward0": L.qr(r)[1],
        "LinalgSvdBackward0": L.svdvals(r),
        "LinalgEighBackward0": L.eigvalsh(a),
        "LinalgEigBackward0": L.eigvals(a),
        "LinalgLuBackward0": L.lu(a)[1],
        "LinalgLuFactorExBackward0": L.lu_factor(a)[0],
        "LuUnpackBackward0": torch.lu_unpack(*L.lu_factor(a))[1],
        "LinalgLuSolveBackward0": L.lu_solve(*L.lu_factor(a), a),
        "LinalgLstsqBackward0": L.lstsq(r, r)[0],
        "LinalgPinvBackward0": L.pinv(r),
        "LinalgMatrixExpBackward0": torch.matrix_exp(a),
        "LinalgCrossBackward0": L.cross(a, a),
        "LinalgHouseholderProductBackward0": L.householder_product(r, a[0]),
        "OrmqrBackward0": torch.ormqr(r, a[0], r),
        "GeqrfBackward0": torch.geqrf(r)[0],
        "NotImplemented": L.ldl_factor(positive(a))[0],
        "VdotBackward0": L.vecdot(a[0], a[1]),
        "AmaxBackward0": L.matrix_norm(r, 2),
        "CdistBackward0": torch.cdist(a, r),
        "PdistBackward0": torch.pdist(a),
        "RenormBackward0": torch.renorm(a, 2, 0, 1),
        "SqueezeBackward0": torch.cov(a),
        "ClampBackward1": torch.corrcoef(a),
        "FftR2CBackward0": torch.fft.rfft(a),
        "FftC2CBackward0": torch.fft.fftn(a),
        "FftC2RBackward0": torch.fft.irfft(a),
    }
    for name, y in found.items():
        assert type(y.grad_fn).__name__ == name
    assert not L.lu(a)[0].requires_grad
    assert not L.lstsq(r, r, driver="gelsd").singular_values.requires_grad


def test_results_are_named_tuples() -> None:
    eye = torch.eye(2)
    assert repr(L.slogdet(eye)) == "torch.return_types.linalg_slogdet(\nsign=tensor(1.),\nlogabsdet=tensor(0.))"
    assert repr(torch.slogdet(eye)) == "torch.return_types.slogdet(\nsign=tensor(1.),\nlogabsdet=tensor(0.))"
    _, s, _ = L.svd(eye)
    assert s.tolist() == [1, 1]
    assert L.inv_ex(torch.zeros(2, 2)).info.item() == 1
    assert L.solve_ex(eye, eye).info.dtype is torch.int32
    _, pivots = L.lu_factor(torch.tensor([[0.0, 2.0], [4.0, 1.0]]))
    assert pivots.tolist() == [2, 2]


ONE, SINGULAR = torch.ones(3, 3), torch.tensor([[1.0, 2.0], [2.0, 4.0]])
ERRORS = [
    (
        lambda: L.inv(SINGULAR),
        "_LinAlgError",
        "linalg.inv: The diagonal element 2 is zero, the inversion could not be completed because "
        "the input matrix is singular.",
    ),
    (
        lambda: L.inv(torch.stack((torch.eye(2), SINGULAR))),
        "_LinAlgError",
        "linalg.inv: (Batch element 1): The diagonal element 2 is "
        "zero, the inversion could not be completed because the input matrix is singular.",
    ),
    (
        lambda: L.inv_ex(SINGULAR, check_errors=True),
        "_LinAlgError",
        "linalg.inv_ex: The diagonal element 2 is zero, the inversion could "
        "not be completed because the input matrix is singular.",
    ),
    (
        lambda: L.solve(SINGULAR, torch.ones(2)),
        "_LinAlgError",
        "torch.linalg.solve: The solver failed because the input matrix is singular.",
    ),
    (
        lambda: L.cholesky(-torch.eye(2)),
        "_LinAlgError",
        "linalg.cholesky: The factorization could not be completed because the input is "
        "not positive-definite (the leading minor of order 1 is not positive-definite).",
    ),
    (
        lambda: L.lu_factor(SINGULAR),
        "RuntimeError",
        "torch.linalg.lu_factor: U[2,2] is zero and using it on lu_solve would result in a "
        "division by zero. If you still want to perform the factorization, consider calling linalg.lu(A, pivot) or "
        "linalg.lu_factor_ex(A, pivot)",
    ),
    (
        lambda: L.svd(torch.tensor([[float("nan")]])),
        "_LinAlgError",
        "linalg.svd: The algorithm failed to converge because the input matrix contained non-finite values.",
    ),
    (
        lambda: L.eig(torch.tensor([[float("nan")]])),
        "RuntimeError",
        "torch.linalg.eig: input tensor should not contain infs or NaNs.",
    ),
    (
        lambda: L.det(torch.ones(2, 3)),
        "RuntimeError",
        "linalg.det: A must be batches of square matrices, but they are 2 by 3 matrices",
    ),
    (lambda: L.det(torch.ones(2)), "RuntimeError", "linalg.det: The input tensor A must have at least 2 dimensions."),
    (
        lambda: L.det(torch.ones(2, 2).long()),
        "RuntimeError",
        "linalg.det: Expected a floating point or complex tensor as input. Got Long",
    ),
    (lambda: L.inv(ONE.half()), "RuntimeError", "linalg.inv: Low precision dtypes not supported. Got Half"),
    (lambda: L.qr(ONE.half()), "NotImplementedError", "\"geqrf_cpu\" not implemented for 'Half'"),
    (lambda: L.det([[1.0]]), "TypeError", "linalg_det(): argument 'A' (position 1) must be Tensor, not list"),
    (lambda: torch.det([[1.0]]), "TypeError", "det(): argument 'input' (position 1) must be Tensor, not list"),
    (
        lambda: L.solve(ONE, torch.ones(2, 2)),
        "RuntimeError",
        "linalg.solve: Incompatible shapes of A and B for the equation AX = B (3x3 and 2x2)",
    ),
    (
        lambda: L.solve(ONE, ONE.double()),
        "RuntimeError",
        "linalg.solve: Expected A and B to have the same dtype, but found A of type Float and B of type Double instead",
    ),
    (
        lambda: L.solve_triangular(ONE, ONE),
        "TypeError",
        'linalg_solve_triangular() missing 1 required positional arguments: "upper"',
    ),
    (
        lambda: L.qr(ONE, "x"),
        "RuntimeError",
        "qr received unrecognized mode 'x' but expected one of 'reduced' (default), 'r', or 'complete'",
    ),
    (lambda: L.eigh(ONE, "X"), "RuntimeError", "Expected UPLO argument to be 'L' or 'U', but got X"),
    (lambda: L.matrix_norm(ONE, 5), "RuntimeError", "linalg.matrix_norm: Order 5 not supported."),
    (
        lambda: L.norm(torch.ones(2, 2, 2), 2),
        "RuntimeError",
        "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got 3D.",
    ),
    (
        lambda: L.cond(torch.ones(2, 3), 1),
        "RuntimeError",
        "linalg.cond(ord=1): A must be batches of square matrices, but they are 2 by 3 matrices",
    ),
    (
        lambda: L.multi_dot([ONE, torch.ones(2, 2)]),
        "RuntimeError",
        "multi_dot(): tensors 0 and 1 with shapes [3, 3] and [2, 2] cannot be multiplied",
    ),
    (
        lambda: L.cross(torch.ones(2, 2), torch.ones(2, 2)),
        "RuntimeError",
        "linalg.cross: inputs dimension -1 must have length 3. Got 2 and 2",
    ),
    (
        lambda: L.matrix_power(ONE, 1.5),
        "TypeError",
        "linalg_matrix_power(): argument 'n' (position 2) must be int, not float",
    ),
    (
        lambda: L.lstsq(ONE, torch.ones(2, 2)),
        "RuntimeError",
        "torch.linalg.lstsq: input.size(-2) should match other.size(-2)",
    ),
    (
        lambda: torch.cdist(ONE, torch.ones(3, 2)),
        "RuntimeError",
        "X1 and X2 must have the same number of columns. X1: 3 X2: 2",
    ),
    (
        lambda: torch.renorm(torch.ones(3), 2, 0, 1),
        "RuntimeError",
        "renorm: input needs at least 2 dimensions, got 1 dimensions",
    ),
    (
        lambda: torch.cov(torch.ones(2, 2, 2)),
        "RuntimeError",
        "cov(): expected input to have two or fewer dimensions but got an input with 3 dimensions",
    ),
    (lambda: torch.fft.fft(ONE, norm="x"), "RuntimeError", 'Invalid normalization mode: "x"'),
    (lambda: torch.fft.fft(ONE, n=0), "RuntimeError", "Invalid number of data points (0) specified"),
    (lambda: torch.fft.rfft(ONE + 0j), "RuntimeError", "rfft expects a real input tensor, but got ComplexFloat"),
    (lambda: torch.fft.fft(ONE.half()), "RuntimeError", "Unsupported dtype Half"),
    (lambda: torch.fft.fftn(ONE, dim=(0, 0)), "RuntimeError", "FFT dims must be unique"),
]


@pytest.mark.parametrize("at", range(len(ERRORS)))
def test_errors_are_torchs(at: int) -> None:
    function, kind, message = ERRORS[at]
    with pytest.raises(Exception) as raised:
        function()
    assert (type(raised.value).__name__, str(raised.value)) == (kind, message)


def test_the_error_is_a_runtime_error_that_can_be_pickled() -> None:
    assert issubclass(L.LinAlgError, RuntimeError)
    again = pickle.loads(pickle.dumps(L.LinAlgError("singular")))
    assert type(again) is L.LinAlgError
    assert str(again) == "singular"


# ---------------------------------------------------------------- kernels
@pytest.mark.parametrize("kind", [np.float64, np.complex128])
@pytest.mark.parametrize("shape", [(1, 1), (20, 20), (70, 70), (40, 75), (75, 40), (3, 33, 33), (0, 4), (2, 3, 5)])
def test_lu_by_blocks(shape: Any, kind: Any) -> None:
    a = rand(*shape, dtype=kind)
    packed, pivots, info = triangular.lu_factor(a)
    lower, upper = triangular.lower_of(packed), triangular.upper_of(packed)
    np.testing.assert_allclose(triangular.permutation(pivots, shape[-2], kind) @ lower @ upper, a, atol=1e-12)
    assert not info.any()
    if kind is np.float64:
        assert np.abs(lower).max(initial=0) <= 1


@pytest.mark.parametrize("adjoint", [False, True])
@pytest.mark.parametrize("left", [False, True])
def test_systems_from_factors(left: bool, adjoint: bool) -> None:
    a, b = rand(2, 40, 40, dtype=np.complex128), rand(2, 40, 40, dtype=np.complex128, seed=1)
    x = triangular.lu_solve(*triangular.lu_factor(a)[:2], b, left, adjoint)
    matrix = a.conj().swapaxes(-2, -1) if adjoint else a
    np.testing.assert_allclose(matrix @ x if left else x @ matrix, b, atol=1e-9)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("unit", [False, True])
def test_triangular_systems_by_blocks(upper: bool, left: bool, unit: bool) -> None:
    a = rand(50, 50) / 50 + np.eye(50)
    b = rand(50, 50, seed=1)
    part = np.triu(a) if upper else np.tril(a)
    if unit:
        np.fill_diagonal(part, 1)
    x = triangular.solve_triangular(a, b, upper, left, unit)
    np.testing.assert_allclose(part @ x if left else x @ part, b, atol=1e-10)


@pytest.mark.parametrize("size", [1e-3, 1.0, 30.0])
def test_exponentials_of_symmetric_matrices(size: float) -> None:
    a = size * (rand(2, 4, 4) + rand(2, 4, 4).swapaxes(-2, -1)) / 8
    values, vectors = np.linalg.eigh(a)
    want = (vectors * np.exp(values)[..., None, :]) @ vectors.swapaxes(-2, -1)
    np.testing.assert_allclose(matrices.matrix_exp(a), want, rtol=1e-10, atol=1e-12)
    single = matrices.matrix_exp(a.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, want, rtol=1e-4, atol=1e-5 * np.abs(want).max())


def test_euclidean_distances_of_many_rows_are_close_to_exact_ones() -> None:
    x, y = torch.from_numpy(rand(60, 5)), torch.from_numpy(rand(40, 5, seed=1))
    exact = torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")
    np.testing.assert_allclose(torch.cdist(x, y).numpy(), exact.numpy(), rtol=1e-9)


# ---------------------------------------------------------------- signals, and approximations
@pytest.mark.parametrize("periodic", [False, True])
def test_windows_are_numpys(periodic: bool) -> None:
    for name, numpys in (
        ("hann", np.hanning),
        ("hamming", np.hamming),
        ("blackman", np.blackman),
        ("bartlett", np.bartlett),
    ):
        for n in (1, 2, 5, 8):
            got = getattr(torch, name + "_window")(n, periodic, dtype=torch.float64)
            want = numpys(n + 1)[:n] if periodic and n > 1 else numpys(n)
            np.testing.assert_allclose(got.numpy(), want, atol=1e-15)
    got = torch.kaiser_window(6, periodic, 9.0, dtype=torch.float64)
    np.testing.assert_allclose(got.numpy(), np.kaiser(7 if periodic else 6, 9.0)[:6], rtol=1e-12)
    assert torch.blackman_window(3).tolist()[0] == np.float32(-2.9802322387695312e-08)


def test_signals_come_back_from_their_spectra() -> None:
    x, window = torch.from_numpy(rand(2, 64)), torch.hann_window(16, dtype=torch.float64)
    spectra = torch.stft(x, 16, window=window, return_complex=True)
    assert spectra.shape == (2, 9, 17)
    np.testing.assert_allclose(torch.istft(spectra, 16, window=window, length=64).numpy(), x.numpy(), atol=1e-12)


def test_few_singular_values_of_matrices_of_low_rank() -> None:
    x = torch.from_numpy(rand(30, 3) @ rand(3, 20, seed=1))
    u, s, v = torch.svd_lowrank(x, q=3)
    np.testing.assert_allclose(((u * s) @ v.mT).numpy(), x.numpy(), atol=1e-10)
    _, s, _ = torch.pca_lowrank(x, q=3)
    np.testing.assert_allclose(s.numpy(), np.linalg.svd(x.numpy() - x.numpy().mean(0))[1][:3], rtol=1e-8)


def test_the_determinant_of_a_number_is_linear():
    x = torch.tensor([[[1 + 2j]], [[3j]]], dtype=torch.complex128, requires_grad=True)
    weight = torch.ones(2, dtype=torch.complex128, requires_grad=True)
    (found,) = torch.autograd.grad(torch.linalg.det(x), x, weight, create_graph=True)
    assert found.flatten().tolist() == [1, 1]
    assert torch.autograd.grad(found.abs().sum(), x, allow_unused=True) == (None,)
