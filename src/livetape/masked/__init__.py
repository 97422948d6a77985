"""Reductions and normalizations of the elements that a mask lets through (source: ``torch.masked``).

mask    bool, broadcasts to the input: True where an element counts. What it leaves out is replaced by a value that
        changes nothing: 0 in a sum, minus infinity in a maximum.
dim     the dimensions to reduce, all by default

Tensors that carry their mask with them (torch's MaskedTensor, a prototype there) are not offered.

>>> import livetape as torch
>>> x = torch.tensor([1., 2., 3.])
>>> torch.masked.mean(x, mask=torch.tensor([True, False, True]))
tensor(2.)
"""

from __future__ import annotations

from livetape.masked._ops import (
    amax,
    amin,
    argmax,
    argmin,
    cumprod,
    cumsum,
    log_softmax,
    logaddexp,
    logsumexp,
    mean,
    median,
    norm,
    normalize,
    prod,
    softmax,
    softmin,
    std,
    sum,
    var,
)
from livetape.masked._ops import (
    input_mask as _input_mask,
)
from livetape.masked._ops import (
    output_mask as _output_mask,
)

__all__ = [
    "_input_mask",
    "_output_mask",
    "amax",
    "amin",
    "argmax",
    "argmin",
    "cumprod",
    "cumsum",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]
