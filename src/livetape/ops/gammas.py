"""Gamma and Dirichlet samples, and how they move with their parameters: what `livetape.distributions` draws with."""

from __future__ import annotations

from typing import Any, NoReturn

from livetape._tape.explain import noted
from livetape.kernels import implicit
from livetape.kernels import sampling as draw
from livetape.ops.options import need_tensor
from livetape.ops.sampling import bits_of
from livetape.ops.scattering import no_derivative
from livetape.ops.table import into, row


def _no_second(grad: Any) -> NoReturn:
    raise noted(NotImplementedError("the derivative for '_standard_gamma_grad' is not implemented."))


STANDARD_GAMMA_GRAD = row(
    "_standard_gamma_grad",
    lambda self, output: implicit.standard_gamma_grad(self, output),
    tensors="self output",
    node="NotImplemented",
    batch="broadcast",
    self=_no_second,
    output=_no_second,
)
STANDARD_GAMMA = row(
    "_standard_gamma",
    lambda self, bits: draw.standard_gamma(bits, self),
    self=lambda grad, self, result: grad * STANDARD_GAMMA_GRAD.apply((self, result)),
)
SAMPLE_DIRICHLET = row(
    "_sample_dirichlet",
    lambda self, bits: draw.dirichlet(bits, self),
    node="NotImplemented",
    self=no_derivative("_sample_dirichlet"),
)
DIRICHLET_GRAD = row(
    "_dirichlet_grad",
    lambda self, alpha, total: implicit.dirichlet_grad(self, alpha, total),
    tensors="self alpha total",
    node="NotImplemented",
    batch="broadcast",
    self=no_derivative("_dirichlet_grad"),
    alpha=no_derivative("_dirichlet_grad"),
    total=no_derivative("_dirichlet_grad"),
)


def _standard_gamma(input: Any, generator: Any = None) -> Any:
    """Gamma samples of the shapes in a tensor, and scale 1 (source: ``torch._standard_gamma``).

    The derivative by the shape is implicit: each sample keeps its quantile.
    """
    need_tensor("_standard_gamma", input)
    return STANDARD_GAMMA.apply((input, bits_of("_standard_gamma", generator)))


def _standard_gamma_grad(input: Any, output: Any, *, out: Any = None) -> Any:
    """The derivative of gamma samples ``output`` by their shapes ``input`` (source: ``torch._standard_gamma_grad``)."""
    if out is not None:
        return into(out, _standard_gamma_grad, input, output)
    need_tensor("_standard_gamma_grad", input)
    need_tensor("_standard_gamma_grad", output, "output", 2)
    return STANDARD_GAMMA_GRAD.apply((input, output))


def _sample_dirichlet(input: Any, generator: Any = None) -> Any:
    """Dirichlet samples, concentrations along the last dimension (source: ``torch._sample_dirichlet``)."""
    need_tensor("_sample_dirichlet", input)
    return SAMPLE_DIRICHLET.apply((input, bits_of("_sample_dirichlet", generator)))


def _dirichlet_grad(x: Any, alpha: Any, total: Any) -> Any:
    """The derivative by alpha of beta samples of alpha and total - alpha, over 1 - x (``torch._dirichlet_grad``)."""
    for position, (name, value) in enumerate((("x", x), ("alpha", alpha), ("total", total)), 1):
        need_tensor("_dirichlet_grad", value, name, position)
    return DIRICHLET_GRAD.apply((x, alpha, total))


FUNCTIONS = ["_dirichlet_grad", "_sample_dirichlet", "_standard_gamma", "_standard_gamma_grad"]
