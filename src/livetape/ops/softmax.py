"""softmax, log_softmax, softmin and gumbel_softmax."""

from __future__ import annotations

import warnings
from typing import Any

from livetape._tape.explain import noted
from livetape._tape.tensor import TensorBase
from livetape.kernels import softmax as kernels
from livetape.ops.dims import wrap_dim
from livetape.ops.refuse import must_be_tensors, must_have
from livetape.ops.table import into, row

# ---------------------------------------------------------------- softmax
SOFTMAX_BACKWARD = row(
    "softmax_backward_data",
    kernels.softmax_backward,
    params="grad_output output dim",
    tensors="grad_output output",
    batch="dim",
    grad_output=lambda grad, output, dim: SOFTMAX_BACKWARD.apply((grad, output, dim)),
    output=lambda grad, grad_output, output, dim: (
        grad * (grad_output - (grad_output * output).sum(dim, keepdim=True))
        - grad_output * (grad * output).sum(dim, keepdim=True)
    ),
    uses=lambda used, dim: used.sum(dim, keepdim=True).expand_as(used),
)
SOFTMAX = row(
    "softmax",
    kernels.softmax,
    params="self dim",
    batch="dim",
    self=lambda grad, result, dim: SOFTMAX_BACKWARD.apply((grad, result, dim)),
    uses=lambda used, dim: used.sum(dim, keepdim=True).expand_as(used),
    dense=True,
)

LOG_SOFTMAX_BACKWARD = row(
    "log_softmax_backward_data",
    kernels.log_softmax_backward,
    params="grad_output output dim",
    tensors="grad_output output",
    batch="dim",
    grad_output=lambda grad, output, dim: grad - (grad * output.exp()).sum(dim, keepdim=True),
    output=lambda grad, grad_output, output, dim: -(grad * output.exp()) * grad_output.sum(dim, keepdim=True),
    uses=lambda used, dim: used.sum(dim, keepdim=True).expand_as(used),
)
LOG_SOFTMAX = row(
    "log_softmax",
    kernels.log_softmax,
    params="self dim",
    batch="dim",
    self=lambda grad, result, dim: LOG_SOFTMAX_BACKWARD.apply((grad, result, dim)),
    uses=lambda used, dim: used.sum(dim, keepdim=True).expand_as(used),
    dense=True,
)


def _prepared(name: str, input: Any, dim: Any, dtype: Any, position: int = 2) -> tuple[Any, int]:
    """The input in ``dtype`` and the dimension as a number that is not negative."""
    must_be_tensors(name, input=input)
    if dim is None:
        raise noted(TypeError(f'{name}() missing 1 required positional arguments: "dim"'))
    if dtype is not None and dtype is not input.dtype:
        input = input.to(dtype)
    return input, wrap_dim(dim, input.array.ndim, name, position=position)


def softmax(input: Any, dim: Any = None, dtype: Any = None, *, out: Any = None) -> Any:
    """exp(input) over its sum along ``dim`` (source: ``torch.softmax``).

    >>> import livetape as torch
    >>> torch.softmax(torch.tensor([0., 0.]), dim=0)
    tensor([0.5000, 0.5000])
    """
    if out is not None:
        return into(out, softmax, input, dim, dtype)
    return SOFTMAX.apply(_prepared("softmax", input, dim, dtype))


def log_softmax(input: Any, dim: Any = None, dtype: Any = None, *, out: Any = None) -> Any:
    """The logarithm of `softmax`, computed without loss (source: ``torch.log_softmax``)."""
    if out is not None:
        return into(out, log_softmax, input, dim, dtype)
    return LOG_SOFTMAX.apply(_prepared("log_softmax", input, dim, dtype))


# ---------------------------------------------------------------- torch.nn.functional's signatures
def _chosen_dim(name: str, input: Any, dim: Any, stacklevel: int) -> Any:
    """``dim``, or the one that torch chooses and warns about."""
    if dim is not None:
        return dim
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        UserWarning,
        stacklevel=stacklevel + 1,
    )
    must_have("dim", input)
    return 0 if input.array.ndim in (0, 1, 3) else 1


def functional_softmax(input: Any, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """`softmax` whose ``dim`` may be left out, with a warning (source: ``torch.nn.functional.softmax``)."""
    dim = _chosen_dim("softmax", input, dim, _stacklevel)
    must_have("softmax", input)
    return SOFTMAX.apply(_prepared("softmax", input, dim, dtype, 1))


def functional_log_softmax(input: Any, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """`log_softmax` whose ``dim`` may be left out (source: ``torch.nn.functional.log_softmax``)."""
    dim = _chosen_dim("log_softmax", input, dim, _stacklevel)
    must_have("log_softmax", input)
    return LOG_SOFTMAX.apply(_prepared("log_softmax", input, dim, dtype, 1))


def _check_negatable(input: Any) -> None:
    """Raise Python's TypeError for what is no tensor."""
    if not isinstance(input, TensorBase):
        raise noted(TypeError(f"bad operand type for unary -: '{type(input).__name__}'"))


def softmin(input: Any, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """`softmax` of ``-input`` (source: ``torch.nn.functional.softmin``)."""
    dim = _chosen_dim("softmin", input, dim, _stacklevel)
    _check_negatable(input)
    return SOFTMAX.apply(_prepared("softmax", -input, dim, dtype, 1))


def gumbel_softmax(logits: Any, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Any:
    """A sample from the Gumbel-softmax distribution, one-hot if ``hard``: its gradients are those of the soft one.

    Source: ``torch.nn.functional.gumbel_softmax``.
    """
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    must_be_tensors("empty_like", input=logits)
    gumbels = -logits.detach().clone().exponential_().log()
    soft = SOFTMAX.apply(_prepared("softmax", (logits + gumbels) / tau, dim, None, 1))
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    sample = logits.detach().clone().zero_().scatter_(dim, index, 1.0)
    return sample - soft.detach() + soft


FUNCTIONS = ["softmax", "log_softmax"]
METHODS = {"softmax": softmax, "log_softmax": log_softmax}
FUNCTIONAL = {
    "softmax": functional_softmax,
    "log_softmax": functional_log_softmax,
    "softmin": softmin,
    "gumbel_softmax": gumbel_softmax,
}
