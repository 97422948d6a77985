"""How a module's backward hooks reach the tape: identity nodes around its forward."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from livetape import ops
from livetape._tape.modes import is_recording
from livetape.autograd.function import Function
from livetape.tensor import Tensor

Hook = Callable[..., Any]

_NO_INPUT_GRADIENT = (
    "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs "
    "require gradients. See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"
    "#torch.nn.Module.register_full_backward_hook for more details."
)


class BackwardHookFunction(Function):
    """The identity. Its node is the place where a module's gradients can be seen together."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        ctx.mark_non_differentiable(*[arg for arg in args if not arg.requires_grad])
        return args

    @staticmethod
    def backward(ctx: Any, *args: Any) -> Any:
        return args


class BackwardHook:
    """One call of a module with full backward hooks (source: ``torch.utils.hooks.BackwardHook``).

    The inputs and the outputs each pass through an identity node. The outputs' node runs first in the backward: it
    keeps ``grad_output`` (after the pre-hooks), which the inputs' node then shows to the hooks beside ``grad_input``.
    """

    def __init__(self, module: Any, user_hooks: Sequence[Hook], user_pre_hooks: Sequence[Hook]) -> None:
        self.module = module
        self.user_hooks = user_hooks
        self.user_pre_hooks = user_pre_hooks
        self.n_inputs = -1
        self.n_outputs = -1
        self.input_tensors_index: list[int] | None = None
        self.output_tensors_index: list[int] = []
        self.grad_outputs: Any = None
        self.unwanted: list[tuple[int, Any, Any]] = []  # tensors among the inputs that need no gradient

    def setup_input_hook(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, with the tensors among them passed through the inputs' node."""
        new, index, node = _through_identity(args)
        self.n_inputs = len(args)
        if node is not None:
            self.unwanted = [(i, args[i].shape, args[i].dtype) for i in index or () if not args[i].requires_grad]
        self.input_tensors_index = index
        if node is not None:
            node.register_hook(self._at_inputs)
        return new

    def setup_output_hook(self, result: Any) -> Any:
        """The result, with the tensors in it passed through the outputs' node."""
        args = result if isinstance(result, tuple) else (result,)
        new, index, node = _through_identity(args)
        self.n_outputs = len(args)
        self.output_tensors_index = index or []
        if node is not None:
            node.register_hook(self._at_outputs)
        return new if isinstance(result, tuple) else new[0]

    def _at_outputs(self, _: Any, grad_output: Any) -> Any:
        self.grad_outputs = _spread(self.output_tensors_index, grad_output, self.n_outputs)
        expected = len(self.grad_outputs)
        for pre_hook in self.user_pre_hooks:
            replaced = pre_hook(self.module, self.grad_outputs)
            if replaced is None:
                continue
            if len(replaced) != expected:
                raise RuntimeError(
                    "Backward pre hook returned an invalid number of grad_output, "
                    f"got {len(replaced)}, but expected {expected}"
                )
            self.grad_outputs = replaced
        found = self.grad_outputs
        if self.input_tensors_index is None:  # no node at the inputs: the hooks have to run here
            warnings.warn(_NO_INPUT_GRADIENT, stacklevel=5)
            nothing = (None,) * self.n_inputs
            for hook in self.user_hooks:
                replaced = hook(self.module, nothing, self.grad_outputs)
                if replaced is not None and not (isinstance(replaced, tuple) and all(x is None for x in replaced)):
                    raise RuntimeError(
                        "Backward hook for Modules where no input requires gradient "
                        "should always return None or None for all gradients."
                    )
            self.grad_outputs = None
        return None if found is None else tuple(found[i] for i in self.output_tensors_index)

    def _at_inputs(self, grad_input: Any, _: Any) -> Any:
        if self.grad_outputs is None:  # the outputs took no part in this backward
            return None
        assert self.input_tensors_index is not None
        grads = _spread(self.input_tensors_index, grad_input, self.n_inputs)
        if self.unwanted:  # their gradients are shown as zeros
            filled = list(grads)
            for i, shape, dtype in self.unwanted:
                if filled[i] is None:
                    filled[i] = ops.zeros(shape, dtype=dtype)
            grads = tuple(filled)
        for hook in self.user_hooks:
            replaced = hook(self.module, grads, self.grad_outputs)
            if replaced is None:
                continue
            if len(replaced) != len(grads):
                raise RuntimeError(
                    "Backward hook returned an invalid number of grad_input, "
                    f"got {len(replaced)}, but expected {len(grads)}"
                )
            grads = replaced
        self.grad_outputs = None
        shown = {i for i, _, _ in self.unwanted}  # to the hooks only
        return tuple(None if i in shown else grads[i] for i in self.input_tensors_index)


def _spread(index: Sequence[int], values: Sequence[Any], count: int) -> tuple[Any, ...]:
    """The values at their positions among ``count``, None elsewhere."""
    found: list[Any] = [None] * count
    for i, value in zip(index, values, strict=False):
        found[i] = value
    return tuple(found)


def _through_identity(args: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[int] | None, Any]:
    """The arguments after an identity node, the positions of the tensors, and that node; (args, None, None) if
    nothing is recorded."""
    index = [i for i, arg in enumerate(args) if isinstance(arg, Tensor)]
    if not (is_recording() and any(args[i].requires_grad for i in index)):
        return args, None, None
    new = BackwardHookFunction.apply(*[args[i] for i in index])
    replaced = list(args)
    for i, value in zip(index, new, strict=True):
        replaced[i] = value
    node = next(value.grad_fn for value in new if value.requires_grad)
    out = tuple(replaced) if type(args) is tuple else type(args)(*replaced)  # named tuples take their fields one by one
    return out, index, node


class _LegacyHook:
    """A non-full backward hook, called by the node of the module's last operation."""

    def __init__(self, hook: Hook, module: Any) -> None:
        self.hook = hook
        self.module = module

    def __call__(self, grad_input: Any, grad_output: Any) -> Any:
        return self.hook(self.module, grad_input, grad_output)


def legacy_backward_hooks(module: Any, hooks: Sequence[Hook], args: Any, result: Any) -> None:
    """Register the deprecated kind of backward hooks on the node that made ``result``."""
    found = result
    while not isinstance(found, Tensor):
        found = next(v for v in found.values() if isinstance(v, Tensor)) if isinstance(found, dict) else found[0]
    node = found.grad_fn
    if node is None:
        return
    for hook in hooks:
        node.register_hook(_LegacyHook(hook, module))
    reason = _why_incomplete(args, result, node)
    if reason:
        warnings.warn(
            f"Using {reason} Please use register_full_backward_hook to get the documented behavior.",
            FutureWarning,
            stacklevel=4,
        )


def _why_incomplete(args: Any, result: Any, node: Any) -> str:
    """What a non-full backward hook will not see, in torch's words."""
    fate = "is deprecated and will be removed in future versions. This hook will be missing some"
    outputs = result if isinstance(result, tuple) else (result,)
    if not all(isinstance(x, Tensor) for x in outputs):
        return (
            "non-full backward hooks on a Module that does not return a single Tensor or a tuple of Tensors "
            f"{fate} of the grad_output."
        )
    if not all(isinstance(x, Tensor) for x in args):
        return (
            "non-full backward hooks on a Module that does not take as input a single Tensor or a tuple of Tensors "
            f"{fate} of the grad_input."
        )
    if len(outputs) > 1 and len({x.grad_fn for x in outputs if x.grad_fn is not None}) != 1:
        return f"a non-full backward hook when outputs are generated by different autograd Nodes {fate} grad_output."
    if {x.grad_fn for x in args if x.grad_fn is not None} != {edge[0] for edge in node.next_functions}:
        return f"a non-full backward hook when the forward contains multiple autograd Nodes {fate} grad_input."
    return ""
