"""Transforms of functions: gradients, Jacobians, and batches (source: ``torch.func``)."""

from __future__ import annotations

from livetape.func import _networks as _networks
from livetape.func import _others as _others
from livetape.func import _special as _special
from livetape.func._eager import grad, grad_and_value, jvp, linearize, vjp
from livetape.func._functional import debug_unwrap, functionalize
from livetape.func._jacobians import hessian, jacfwd, jacrev
from livetape.func._modules import functional_call, replace_all_batch_norm_modules_, stack_module_state
from livetape.func._rearrange import rearrange
from livetape.func._vmap import vmap

__all__ = [
    "debug_unwrap",
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "rearrange",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]
