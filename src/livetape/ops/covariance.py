"""Covariances and correlations of variables."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.tensor import shape_of
from livetape.dtypes import BOOL, COMPLEX, FLOAT, INTEGER, SCALAR_TYPE, int64
from livetape.ops.basics import conj
from livetape.ops.bounds import clip
from livetape.ops.complexes import complex, imag, real
from livetape.ops.matrices import constant, need
from livetape.ops.permuting import t
from livetape.ops.pointwise import sqrt
from livetape.ops.products import mm
from livetape.ops.shape import squeeze, view


def _check_weights(name: str, weights: Any, count: int, integral: bool) -> None:
    kind = "integral" if integral else "floating point"
    label = f"cov(): expected {name} to have"
    if weights.array.ndim > 1:
        raise noted(
            RuntimeError(f"{label} one or fewer dimensions but got {name} with {weights.array.ndim} dimensions")
        )
    if (weights.dtype.category == INTEGER) != integral or (not integral and weights.dtype.category != FLOAT):
        raise noted(RuntimeError(f"{label} {kind} dtype but got {name} with {SCALAR_TYPE[weights.dtype]} dtype"))
    if weights.array.size != count:
        raise noted(
            RuntimeError(
                f"{label} the same numel as there are observations in the input but got {weights.array.size} != {count}"
            )
        )
    if (weights.array < 0).any():
        raise noted(RuntimeError(f"cov(): {name} cannot be negative"))


def cov(input: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    """The covariances of variables, the rows, whose observations are the columns (source: ``torch.cov``).

    fweights    how often each observation was made, integers
    aweights    how much each observation counts
    correction  what is taken off the number of observations before dividing by it

    >>> import livetape as torch
    >>> torch.cov(torch.tensor([[1., 2., 3.], [3., 2., 1.]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    need("cov", "input", input)
    ndim = input.array.ndim
    if ndim > 2:
        raise noted(
            RuntimeError(
                f"cov(): expected input to have two or fewer dimensions but got an input with {ndim} dimensions"
            )
        )
    if input.dtype.category == BOOL:
        raise noted(RuntimeError("cov(): bool dtype is not supported for input"))
    x = view(input, 1, -1) if ndim < 2 else input
    count = shape_of(x)[1]
    if fweights is not None:
        _check_weights("fweights", fweights, count, True)
    if aweights is not None:
        _check_weights("aweights", aweights, count, False)
    weights = fweights if aweights is None else aweights if fweights is None else fweights * aweights
    total = constant(np.asarray(count), int64) if weights is None else weights.sum()
    if weights is not None and total.item() == 0:
        raise noted(RuntimeError("cov(): weights sum to zero, can't be normalized"))
    mean = (x if weights is None else x * weights).sum(1) / total
    if weights is None or correction == 0 or aweights is None:
        freedom = total - correction
    else:
        freedom = total - correction * (weights * aweights).sum() / total
    if freedom.item() <= 0:
        warnings.warn(
            "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations.",
            UserWarning,
            stacklevel=2,
        )
        freedom = freedom * 0
    apart = x - mean.unsqueeze(1)
    other = t(apart if weights is None else apart * weights)
    return squeeze(mm(apart, conj(other)) / freedom)


def corrcoef(input: Any) -> Any:
    """The correlation coefficients of variables, the rows (source: ``torch.corrcoef``).

    >>> import livetape as torch
    >>> torch.corrcoef(torch.tensor([[1., 2., 3.], [3., 2., 1.]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    need("corrcoef", "input", input)
    if input.array.ndim > 2:
        raise noted(
            RuntimeError(
                "corrcoef(): expected input to have two or fewer dimensions but got an input with "
                f"{input.array.ndim} dimensions"
            )
        )
    found = cov(input)
    if found.array.ndim == 0:
        return found / found
    variances = found.diagonal()
    deviation = sqrt(real(variances) if found.dtype.category == COMPLEX else variances)
    found = found / view(deviation, -1, 1) / view(deviation, 1, -1)
    if found.dtype.category == COMPLEX:
        return complex(clip(real(found), -1, 1), clip(imag(found), -1, 1))
    return clip(found, -1, 1)


FUNCTIONS = ["cov", "corrcoef"]
METHODS = {"cov": cov, "corrcoef": corrcoef}
