"""Random numbers whose laws are given by tensors: coins, normal numbers, counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape._tape.explain import broadcast_error, noted
from livetape._tape.modes import state
from livetape._tape.tensor import TensorBase, shape_of, wrap
from livetape.dtypes import SCALAR_TYPE, int64
from livetape.kernels import sampling as draw
from livetape.ops.basics import zeros, zeros_like
from livetape.ops.dims import as_int
from livetape.ops.options import finish, kind_or_out, need_tensor, sizes
from livetape.ops.refuse import no_overload
from livetape.ops.sampling import BERNOULLI_P, bits_of, drawn_into, float_parameter, interposed
from livetape.ops.scattering import no_derivative
from livetape.ops.table import into, row

# ---------------------------------------------------------------- coins
BERNOULLI = row(
    "bernoulli", lambda self, bits: draw.bernoulli_from(bits, _in_order(self)), self=lambda grad: zeros_like(grad)
)
BERNOULLI_LIKE = row(
    "bernoulli",
    lambda self, p, bits: draw.bernoulli(bits, self.shape, p, self.dtype),
    node="NotImplemented",
    key="bernoulli.like",
    self=no_derivative("bernoulli"),
)
BERNOULLI_TENSOR = row(
    "bernoulli",
    lambda self, p, bits: _coins(self, np.broadcast_to(p, self.shape), bits),
    tensors="self p",
    node="BernoulliBackward1",
    key="bernoulli.tensor",
    self=lambda grad: zeros_like(grad),
    p=lambda grad, p_size: wrap(np.zeros(p_size, grad.array.dtype), grad.dtype, None),
)


def _in_order(array: Any) -> Any:
    return array if array.flags.c_contiguous else array.copy("C")


def _coins(like: Any, p: Any, bits: Any) -> Any:
    if like.flags.c_contiguous:
        return draw.bernoulli_from(bits, _in_order(p), like.dtype)
    flat = np.ascontiguousarray(p.transpose(draw.memory_order(like))).reshape(-1)
    return draw.arranged(like, draw.bernoulli_from(bits, flat, like.dtype))


def bernoulli(input: Any, p: Any = None, *, generator: Any = None, out: Any = None) -> Any:
    """Ones with the probabilities of the elements, or all with ``p`` (source: ``torch.bernoulli``).

    >>> import livetape as torch
    >>> torch.bernoulli(torch.tensor([0., 1.]))
    tensor([0., 1.])
    """
    if out is not None:
        return into(out, bernoulli, input, p, generator=generator)
    need_tensor("bernoulli", input)
    bits = bits_of("bernoulli", generator)
    if p is None:
        return BERNOULLI.apply((input, bits))
    chance = float_parameter("bernoulli", p, "p", 2)
    return BERNOULLI_LIKE.apply((input, chance, bits))


def bernoulli_(self: Any, p: Any = 0.5, *, generator: Any = None) -> Any:
    """Fill with ones of probability ``p``, a number or a tensor, and zeros (source: ``torch.Tensor.bernoulli_``)."""
    bits = bits_of("bernoulli_", generator)
    if isinstance(p, TensorBase):
        return BERNOULLI_TENSOR.inplace(self, p, bits)
    chance = float_parameter("bernoulli_", p, "p", 1)
    return drawn_into(BERNOULLI_P, self, lambda shape, kind: draw.bernoulli(bits, shape, chance, kind))


# ---------------------------------------------------------------- normal with tensors
NORMAL_MEAN = row(
    "normal",
    lambda mean, std, bits: draw.normal_around(bits, mean, std),
    tensors="mean",
    node="NormalBackward1",
    key="normal.mean",
    mean=lambda grad, mean_size: zeros(mean_size, grad.dtype),
)
NORMAL_STD = row(
    "normal",
    lambda mean, std, bits: draw.normal_around(bits, mean, std),
    tensors="std",
    node="NormalBackward2",
    key="normal.std",
    std=lambda grad, std_size: zeros(std_size, grad.dtype),
)
NORMAL_BOTH = row(
    "normal",
    lambda mean, std, bits: draw.normal_around(bits, mean, std),
    tensors="mean std",
    node="NormalBackward3",
    key="normal.both",
    mean=lambda grad, mean_size: zeros(mean_size, grad.dtype),
    std=lambda grad, std_size: zeros(std_size, grad.dtype),
)


def normal(
    mean: Any = 0.0,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Any = None,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = False,
    requires_grad: Any = False,
) -> Any:
    """Normal numbers with means and deviations from tensors, or of a given size (source: ``torch.normal``).

    >>> import livetape as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.normal(0.0, 1.0, (3,))
    tensor([ 1.5410, -0.2934, -2.1788])
    """
    bits = bits_of("normal", generator)
    first, second = isinstance(mean, TensorBase), isinstance(std, TensorBase)
    if not first and not second:
        if size is None:
            raise noted(no_overload("normal"))
        kind = kind_or_out("normal", dtype, out)
        shape = sizes("normal", (size,))
        middle, width = float_parameter("normal", mean, "mean", 1), float_parameter("normal", std, "std", 2)
        if state.interposed != 0 and out is None:
            return interposed(lambda size, np_: draw.normal(bits, size, np_, middle, width), shape, kind, requires_grad)
        drawn = draw.normal(bits, shape, kind.np, middle, width)
        return finish("normal", drawn, kind, device, requires_grad, layout, pin_memory, out)
    if out is not None:
        return into(out, normal, mean, std, generator=generator)
    if first and second:
        if shape_of(mean) != shape_of(std):
            try:
                np.broadcast_shapes(shape_of(mean), shape_of(std))
            except ValueError:
                raise noted(broadcast_error(shape_of(mean), shape_of(std))) from None
        return NORMAL_BOTH.apply((mean, std, bits))
    if first:
        return NORMAL_MEAN.apply((mean, float_parameter("normal", std, "std", 2), bits))
    return NORMAL_STD.apply((float_parameter("normal", mean, "mean", 1), std, bits))


# ---------------------------------------------------------------- counts
POISSON = row("poisson", lambda self, bits: draw.poisson(bits, self), self=lambda grad: zeros_like(grad))
BINOMIAL = row(
    "binomial",
    lambda count, prob, bits: draw.binomial(bits, count, prob),
    tensors="count prob",
    node="NotImplemented",
    count=no_derivative("binomial"),
    prob=no_derivative("binomial"),
)
MULTINOMIAL = row(
    "multinomial", lambda self, num_samples, replacement, bits: _multinomial(bits, self, num_samples, replacement)
)


def _multinomial(bits: Any, weights: Any, count: int, replacement: bool) -> Any:
    """Inside vmap the rows have a dimension more."""
    if weights.ndim < 3:
        return draw.multinomial(bits, weights, count, replacement)
    found = draw.multinomial(bits, weights.reshape(-1, weights.shape[-1]), count, replacement)
    return found.reshape((*weights.shape[:-1], count))


def poisson(input: Any, generator: Any = None) -> Any:
    """Poisson counts of the rates in a tensor (source: ``torch.poisson``)."""
    need_tensor("poisson", input)
    return POISSON.apply((input, bits_of("poisson", generator)))


def binomial(count: Any, prob: Any, generator: Any = None) -> Any:
    """The successes among ``count`` trials of probability ``prob`` (source: ``torch.binomial``)."""
    need_tensor("binomial", count, "count")
    need_tensor("binomial", prob, "prob", 2)
    return BINOMIAL.apply((count, prob, bits_of("binomial", generator)))


def multinomial(
    input: Any, num_samples: Any, replacement: bool = False, *, generator: Any = None, out: Any = None
) -> Any:
    """Places drawn with the weights of each row (source: ``torch.multinomial``).

    >>> import livetape as torch
    >>> torch.multinomial(torch.tensor([0., 1., 0.]), 1)
    tensor([1])
    """
    if out is not None:
        if out.dtype is not int64:
            raise noted(RuntimeError(f"multinomial expects Long tensor out, got: {SCALAR_TYPE[out.dtype]}"))
        return into(out, multinomial, input, num_samples, replacement, generator=generator)
    need_tensor("multinomial", input)
    if input.array.ndim > 2:
        raise noted(RuntimeError("prob_dist must be 1 or 2 dim"))
    return MULTINOMIAL.apply((input, as_int(num_samples), replacement, bits_of("multinomial", generator)))


FUNCTIONS = [
    "bernoulli",
    "binomial",
    "multinomial",
    "normal",
    "poisson",
]
METHODS = {
    "bernoulli": bernoulli,
    "bernoulli_": bernoulli_,
    "multinomial": multinomial,
}
