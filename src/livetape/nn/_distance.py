"""Distances between all pairs of rows."""

from __future__ import annotations

import numpy as np

from livetape import ops
from livetape._tape.tensor import from_array
from livetape.tensor import Tensor


def pdist(input: Tensor, p: float = 2) -> Tensor:
    """The ``p``-norm distances of all pairs of rows i < j of an (N, M) matrix, in the order (0, 1), (0, 2), ...

    >>> import livetape as torch
    >>> pdist(torch.tensor([[0., 0.], [3., 4.], [0., 1.]]))
    tensor([5.0000, 1.0000, 4.2426])
    """
    if input.dim() != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.dim()}D")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    first, second = np.triu_indices(input.size(0), 1)
    if len(first) == 0:
        return input.new_zeros(0) + input.sum() * 0 if input.requires_grad else input.new_zeros(0)
    rows, others = input[from_array(first)], input[from_array(second)]
    return ops.norm(rows - others, p, 1)
