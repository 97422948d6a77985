"""Ready-made parametrizations (source: ``torch.nn.utils.parametrizations``)."""

from __future__ import annotations

from typing import Any

from livetape import linalg, ops
from livetape.autograd.grad_mode import no_grad
from livetape.nn.modules.conv import _ConvTransposeNd
from livetape.nn.modules.module import Module
from livetape.nn.utils import parametrize
from livetape.nn.utils._norms import as_matrix, norm_except_dim, unit, weight_norm_of
from livetape.tensor import Tensor

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


_ORTHOGONAL_MAPS = ("matrix_exp", "cayley", "householder")


def _is_orthogonal(matrix: Tensor) -> bool:
    rows, columns = matrix.size(-2), matrix.size(-1)
    tolerance = 10.0 * rows * ops.finfo(matrix.dtype).eps
    return bool(ops.allclose(matrix.mH @ matrix, ops.eye(columns, dtype=matrix.dtype), atol=tolerance))


def _orthogonal_part(matrix: Tensor) -> Tensor:
    """The Q of the QR decomposition whose R has a positive diagonal."""
    reflectors, tau = ops.geqrf(matrix)
    found = linalg.householder_product(reflectors, tau)
    return found * reflectors.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)  # type: ignore[no-any-return]


class _Orthogonal(Module):
    """An orthogonal matrix from a free one.

    With ``use_trivialization`` the map runs around ``base``, an orthogonal matrix, so that any start can be expressed.
    """

    base: Tensor | None

    def __init__(self, weight: Tensor, orthogonal_map: str, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x: Tensor) -> Tensor:
        wide = x.size(-2) < x.size(-1)
        if wide:
            x = x.transpose(-2, -1)
        rows, columns = x.size(-2), x.size(-1)
        if self.orthogonal_map == "householder":
            lower = x.tril(diagonal=-1)
            tau = 2.0 / (1.0 + (lower * lower).sum(dim=-2))
            found = linalg.householder_product(lower, tau)
            # The diagonal holds ones, up to sign, and gets no gradient.
            found = found * x.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        else:
            lower = x.tril()
            if rows != columns:
                filling = x.new_zeros(rows, rows - columns).expand(*x.shape[:-2], -1, -1)
                lower = ops.cat([lower, filling], dim=-1)
            skew = lower - lower.mH
            if self.orthogonal_map == "matrix_exp":
                found = linalg.matrix_exp(skew)
            else:
                identity = ops.eye(rows, dtype=skew.dtype)
                found = linalg.solve(ops.add(identity, skew, alpha=-0.5), ops.add(identity, skew, alpha=0.5))
            if rows != columns:
                found = found[..., :columns]
        if "base" in self._buffers:
            found = self.base @ found
        return found.mT if wide else found  # type: ignore[no-any-return]

    def right_inverse(self, value: Tensor) -> Tensor:
        """What ``forward`` maps to ``value``, which is made orthogonal first if there is a base."""
        with no_grad():
            return self._right_inverse(value)

    def _right_inverse(self, value: Tensor) -> Tensor:
        if value.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {value.shape}."
            )
        wide = value.size(-2) < value.size(-1)
        matrix = value.transpose(-2, -1) if wide else value
        rows, columns = matrix.size(-2), matrix.size(-1)
        if "base" not in self._buffers:
            if self.orthogonal_map != "householder":
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                    "use_trivialization=False."
                )
            reflectors, tau = ops.geqrf(matrix)
            diagonal = reflectors.diagonal(dim1=-2, dim2=-1)
            diagonal.sign_()
            diagonal[tau == 0.0] *= -1
            return reflectors.mT if wide else reflectors  # type: ignore[no-any-return]
        if rows != columns:
            filling = ops.randn(*matrix.size()[:-2], rows, rows - columns, dtype=matrix.dtype)
            base = _orthogonal_part(ops.cat([matrix, filling], dim=-1))
        else:
            base = matrix.clone() if _is_orthogonal(matrix) else _orthogonal_part(matrix)
        self.base = base
        minus_identity = ops.zeros_like(value)
        minus_identity.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return minus_identity  # type: ignore[no-any-return]


def orthogonal(
    module: Any, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Any:
    """Keep a weight (or a batch of them) orthogonal, or unitary if complex (Lezcano-Casado 2019).

    ``orthogonal_map``: "matrix_exp", "cayley" or "householder".

    >>> import livetape as torch
    >>> from livetape.nn.utils.parametrizations import orthogonal
    >>> weight = orthogonal(torch.nn.Linear(3, 3)).weight
    >>> torch.allclose(weight @ weight.T, torch.eye(3), atol=1e-6)
    True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in _ORTHOGONAL_MAPS:
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    free = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    return parametrize.register_parametrization(module, name, free, unsafe=True)


class _WeightNorm(Module):
    """A weight from its lengths and directions."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weight_norm_of(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Lengths and directions of a weight."""
        return norm_except_dim(weight, self.dim), weight


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Split a weight into its lengths along ``dim`` and its direction (Salimans & Kingma 2016)."""
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename_old(state_dict: Any, prefix: str, *rest: Any) -> None:
        old, new = prefix + name, f"{prefix}parametrizations.{name}.original"
        if old + "_g" in state_dict and old + "_v" in state_dict:
            state_dict[new + "0"] = state_dict.pop(old + "_g")
            state_dict[new + "1"] = state_dict.pop(old + "_v")

    module._register_load_state_dict_pre_hook(rename_old)
    return module


class _SpectralNorm(Module):
    """A weight divided by its largest singular value, which power iteration follows in training."""

    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        ndim = weight.ndim
        if dim >= ndim or dim < -ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim if dim >= 0 else dim + ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = as_matrix(weight.detach(), self.dim)
            rows, cols = matrix.size()
            u = matrix.new_empty(rows).normal_(0, 1)
            v = matrix.new_empty(cols).normal_(0, 1)
            self.register_buffer("_u", unit(u, eps))
            self.register_buffer("_v", unit(v, eps))
            self._power_method(matrix, 15)  # close from the start

    def _power_method(self, matrix: Tensor, iterations: int) -> None:
        with no_grad():
            for _ in range(iterations):
                self._u.copy_(unit(ops.mv(matrix, self._v), self.eps))
                self._v.copy_(unit(ops.mv(matrix.t(), self._u), self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return unit(weight, self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()  # the tape keeps these, and the next forward changes those
        return weight / ops.dot(u, ops.mv(matrix, v))

    def right_inverse(self, value: Tensor) -> Tensor:
        """The value itself: it gets normalised."""
        return value


def spectral_norm(
    module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Any:
    """Divide a weight by its spectral norm at every access (Miyato et al. 2018)."""
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = 1 if isinstance(module, _ConvTransposeNd) else 0
    return parametrize.register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
