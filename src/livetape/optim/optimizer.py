"""Optimizer, the base of all optimisers: parameter groups, state, saving and loading, hooks."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from copy import deepcopy
from itertools import chain
from typing import Any

from livetape import dtypes, ops
from livetape._tape.modes import local, set_grad
from livetape.autograd._blocks import record_function
from livetape.compat import compat
from livetape.hooks import RemovableHandle
from livetape.nn.modules._names import typename
from livetape.optim._block import Block
from livetape.optim._kernels import BLOCK, FAST, SMALL
from livetape.optim._outside import (  # noqa: F401 - torch defines them here
    ParamsT,
    _default_to_fused_or_foreach,
    _dispatch_sqrt,
    _get_scalar_dtype,
    _get_value,
    _to_scalar,
    _use_grad_for_differentiable,
    _view_as_real,
)
from livetape.tensor import Tensor
from livetape.thread_modes import profiled

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]

Hook = Callable[..., Any]

_global_optimizer_pre_hooks: OrderedDict[int, Hook] = OrderedDict()
_global_optimizer_post_hooks: OrderedDict[int, Hook] = OrderedDict()


class _RequiredParameter:
    """The default of an option that every group must give."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _RequiredParameter()

_ISSUE = (
    "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; "
    "see github.com/pytorch/pytorch/issues/40967 for more information"
)


class Optimizer:
    """Base class of all optimisers (source: ``torch.optim.Optimizer``).

    ``params`` is an iterable of tensors, of (name, tensor) pairs, or of dictionaries: parameter groups with options of
    their own. A subclass gives ``defaults`` for the options and defines ``step``.
    """

    param_groups: list[dict[str, Any]]
    state: defaultdict[Any, Any]
    defaults: dict[str, Any]
    # About `_update`: whether it treats a complex number as two real ones, whether it needs only the methods that Block
    # has, and the entries of the state that are single numbers.
    _splits_complex = True
    _elementwise = False
    _scalars: tuple[str, ...] = ("step",)

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._make_hook_dicts()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                + typename(params)
            )
        self.state = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _make_hook_dicts(self) -> None:
        self._optimizer_step_pre_hooks: OrderedDict[int, Hook] = OrderedDict()
        self._optimizer_step_post_hooks: OrderedDict[int, Hook] = OrderedDict()
        self._optimizer_state_dict_pre_hooks: OrderedDict[int, Hook] = OrderedDict()
        self._optimizer_state_dict_post_hooks: OrderedDict[int, Hook] = OrderedDict()
        self._optimizer_load_state_dict_pre_hooks: OrderedDict[int, Hook] = OrderedDict()
        self._optimizer_load_state_dict_post_hooks: OrderedDict[int, Hook] = OrderedDict()
        if _global_optimizer_pre_hooks or _global_optimizer_post_hooks:
            self._patch_step_function()

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_optimizer_step_pre_hooks" not in self.__dict__:
            self._make_hook_dicts()
        if "defaults" in self.__dict__:
            self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        lines = [type(self).__name__ + " ("]
        for i, group in enumerate(self.param_groups):
            if i:
                lines.append("")
            lines.append(f"Parameter Group {i}")
            lines.extend(f"    {key}: {group[key]}" for key in sorted(group) if key != "params")
        return "\n".join(lines) + "\n)"

    # ------------------------------------------------------------ hooks

    @staticmethod
    def profile_hook_step(func: Callable[..., Any]) -> Callable[..., Any]:
        """``func``, a step method, with the step hooks around it."""

        @functools.wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if local.recorder is not None:
                with record_function(f"Optimizer.step#{type(args[0]).__name__}.step"):
                    return run(*args, **kwargs)
            return run(*args, **kwargs)

        def run(*args: Any, **kwargs: Any) -> Any:
            self = args[0]
            for hook in chain(_global_optimizer_pre_hooks.values(), self._optimizer_step_pre_hooks.values()):
                replaced = hook(self, args, kwargs)
                if replaced is not None:
                    if not (isinstance(replaced, tuple) and len(replaced) == 2):
                        raise RuntimeError(
                            f"{func} must return None or a tuple of (new_args, new_kwargs), but got {replaced}."
                        )
                    args, kwargs = replaced
            out = func(*args, **kwargs)
            for hook in chain(self._optimizer_step_post_hooks.values(), _global_optimizer_post_hooks.values()):
                hook(self, args, kwargs)
            return out

        wrapper.hooked = True  # type: ignore[attr-defined]
        return wrapper

    def _patch_step_function(self) -> None:
        # Done when the first hook is registered, not for every optimiser: a step without hooks pays nothing.
        _patch(type(self))

    def register_step_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before every step; it may return new (args, kwargs)."""
        self._patch_step_function()
        return _register(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Hook) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after every step."""
        self._patch_step_function()
        return _register(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` before ``state_dict``."""
        return _register(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` after ``state_dict``; a result replaces it."""
        return _register(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` before loading; a result replaces the state dict."""
        return _register(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` after loading."""
        return _register(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    # ------------------------------------------------------------ saving and loading

    def state_dict(self) -> dict[str, Any]:
        """The state and the groups, with parameters replaced by their numbers. The state's tensors are shared."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            packed = {key: value for key, value in group.items() if key != "params"}
            for param in group["params"]:
                numbers.setdefault(id(param), len(numbers))
            packed["params"] = [numbers[id(param)] for param in group["params"]]
            groups.append(packed)
        state = {(numbers[id(key)] if isinstance(key, Tensor) else key): value for key, value in self.state.items()}
        found: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            replaced = hook(self, found)
            if replaced is not None:
                found = replaced
        return found

    @staticmethod
    def _process_value_according_to_param_policy(
        param: Tensor,
        value: Tensor,
        param_id: int | None = None,
        param_groups: Sequence[dict[Any, Any]] | None = None,
        key: Hashable = None,
    ) -> Tensor:
        """A copy of a state tensor in the type of its parameter; ``step`` keeps its own, or becomes float32."""
        if key == "step":
            fast = any(
                group.get("capturable") or group.get("fused")
                for group in param_groups or ()
                if param_id in group["params"]
            )
            kind = dtypes.float32 if fast else value.dtype
        else:
            kind = param.dtype if param.is_floating_point() else value.dtype
        return value.detach().to(dtype=kind, copy=not compat.torch)  # torch shares what needs no conversion

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a copy of what ``state_dict`` of another optimiser gave; the two stay independent."""
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            replaced = hook(self, state_dict)
            if replaced is not None:
                state_dict = replaced
        groups = self.param_groups
        saved_groups = deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(group["params"]) != len(saved["params"]) for group, saved in zip(groups, saved_groups, strict=True)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        params = dict(
            zip(
                chain.from_iterable(saved["params"] for saved in saved_groups),
                chain.from_iterable(group["params"] for group in groups),
                strict=True,
            )
        )

        def copy(param: Tensor, value: Any, number: Any, key: Any = None) -> Any:
            if isinstance(value, Tensor):
                return Optimizer._process_value_according_to_param_policy(
                    param, value, number, state_dict["param_groups"], key
                )
            if isinstance(value, dict):
                return {k: copy(param, v, number, k) for k, v in value.items()}
            if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
                return type(value)(copy(param, v, number) for v in value)  # type: ignore[call-arg]
            return value

        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in params:
                state[params[key]] = copy(params[key], value, key)
            else:
                state[key] = value
        new_groups = []
        for group, saved in zip(groups, saved_groups, strict=True):
            saved["params"] = group["params"]
            if "param_names" in group and "param_names" not in saved:
                saved["param_names"] = group["param_names"]
            new_groups.append(saved)
        self.__setstate__({"state": state, "param_groups": new_groups})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    # ------------------------------------------------------------ use

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or fill them with zeros."""
        if local.recorder is None:
            self._zero_grad(set_to_none)
        else:
            with record_function(f"Optimizer.zero_grad#{type(self).__name__}.zero_grad"):
                self._zero_grad(set_to_none)

    def _zero_grad(self, set_to_none: bool) -> None:
        if set_to_none:
            for group in self.param_groups:
                for param in group["params"]:
                    param._gradient = None
            return
        for group in self.param_groups:
            for param in group["params"]:
                grad = param.grad
                if grad is not None:
                    if grad.grad_fn is not None:
                        grad.detach_()
                    else:
                        grad.requires_grad_(False)
                    grad.zero_()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One update of all parameters that have a gradient; ``closure`` evaluates the loss anew and returns it."""
        raise NotImplementedError

    # A subclass that is content with one formula an element defines _init_state and _update, and steps by _step_each.

    def _step_each(self, closure: Callable[[], Any] | None) -> Any:
        """A step that updates one parameter after the other by ``_update``."""
        loss = None if closure is None else evaluate(closure)
        before = local.grad
        set_grad(bool(self.defaults.get("differentiable")))
        try:
            for group in self.param_groups:
                self._step_group(group)
        finally:
            set_grad(before)
        return loss

    def _unrecorded(self, group: dict[str, Any]) -> None:
        """Update a group off the tape."""
        before = local.grad
        set_grad(False)
        try:
            self._step_group(group)
        finally:
            set_grad(before)

    def _step_group(self, group: dict[str, Any]) -> None:
        differentiable = group.get("differentiable")
        if differentiable and group.get("foreach"):
            raise AssertionError("_foreach ops don't support autograd")
        for param in group["params"]:
            grad = param.grad
            if grad is None:
                continue
            if group.get("fused"):
                check_fused_dtype(param)
            state = self.state[param]
            if not state:
                self._init_state(param, grad, state, group)
            self._before(state, group)
            if self._elementwise and not differentiable and param.dtype in FAST:
                self._update_arrays(param, grad, state, group)
            elif self._splits_complex and param.is_complex():
                # As two real numbers each, in views that share the memory.
                real = {
                    k: ops.view_as_real(v) if isinstance(v, Tensor) and v.is_complex() else v for k, v in state.items()
                }
                whole = param if differentiable else param.detach()
                self._update(ops.view_as_real(whole), ops.view_as_real(grad), real, group)
            else:
                self._update(param, grad, state, group)
            self._after(state, group)
            if not state:
                del self.state[param]

    def _gather(self, group: dict[str, Any], arrays: Callable[[dict[str, Any]], Any]) -> dict[float, list[Any]]:
        """The arrays of a group's parameters, gradients and states in one list for each number of steps, now counted.

        Parameters of dtypes without a kernel are updated here, one by one.
        """
        found: dict[float, list[Any]] = {}
        slow: list[Tensor] = []
        states = self.state
        for param in group["params"]:
            grad = param._gradient
            if grad is None:
                continue
            if param.dtype not in FAST:
                slow.append(param)
                continue
            state = states[param]
            if not state:
                self._init_state(param, grad, state, group)
            self._before(state, group)
            found.setdefault(state["step"].array.item(), []).extend((param.array, grad.array, *arrays(state)))
            param.bump_version()
        if slow:
            self._unrecorded({**group, "params": slow})
        return found

    def _update_arrays(self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        """``_update`` on the plain arrays, large ones in blocks that stay in the cache."""
        array = param.array
        names = [k for k, v in state.items() if isinstance(v, Tensor) and k not in self._scalars]
        arrays = [array, grad.array, *[state[k].array for k in names]]
        if array.ndim == 0 or (array.size > SMALL and all(a.flags.c_contiguous for a in arrays)):
            arrays = [a.reshape(-1) for a in arrays]
        parts = dict(state)
        step = BLOCK if arrays[0].ndim == 1 and array.size > SMALL else max(1, len(arrays[0]))
        for start in range(0, len(arrays[0]), step):
            blocks = [Block(a[start : start + step]) for a in arrays]
            parts.update(zip(names, blocks[2:], strict=True))
            self._update(blocks[0], blocks[1], parts, group)
        param.bump_version()

    def _init_state(self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        """Make the state of a parameter that has none."""

    def _before(self, state: dict[str, Any], group: dict[str, Any]) -> None:
        """What happens once for a parameter, before its update."""
        count = state["step"].array
        count[()] = count.item() + 1

    def _after(self, state: dict[str, Any], group: dict[str, Any]) -> None:
        """What happens once for a parameter, after its update."""

    def _update(self, param: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        """Update a parameter and its state in place: tensors, or Blocks of their arrays."""
        raise NotImplementedError

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters, with options of its own."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, Tensor):
            param_group["params"] = [params]
        elif isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of "
                "tensors in sets will change between runs. Please use a list instead."
            )
        else:
            param_group["params"] = list(params)
        names = [param[0] for param in param_group["params"] if isinstance(param, tuple)]
        tensors = [param[1] if isinstance(param, tuple) else param for param in param_group["params"]]
        param_group["params"] = tensors
        if names:
            if len(names) != len(tensors):
                raise ValueError("all optimizer params should be with/without names. Some param names are missing")
            param_group["param_names"] = names
        for param in tensors:
            if not isinstance(param, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {typename(param)}")
            if not self.defaults.get("differentiable", None) and not (param.is_leaf or param.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        numbers = {id(param) for param in tensors}
        if len(numbers) != len(tensors):
            warnings.warn(_ISSUE, stacklevel=3)
        if any(id(param) in numbers for group in self.param_groups for param in group["params"]):
            raise ValueError("some parameters appear in more than one parameter group")
        if self.param_groups:
            named = "param_names" in param_group
            if ("param_names" in self.param_groups[0]) != named:
                raise ValueError(
                    "all optimizer param groups should be with/without names. cannot add param group "
                    f"{'with' if named else 'without'} names to the optimizer"
                )
        self.param_groups.append(param_group)


def evaluate(closure: Callable[[], Any] | None) -> Any:
    """The loss that ``closure`` computes with gradients on, or None."""
    if closure is None:
        return None
    before = local.grad
    set_grad(True)
    try:
        return closure()
    finally:
        set_grad(before)


def _register(hooks: OrderedDict[int, Hook], hook: Hook, prepend: bool = False) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def _patch(kind: type[Optimizer]) -> None:
    if not getattr(kind.step, "hooked", False):
        kind.step = Optimizer.profile_hook_step(kind.step)  # type: ignore[method-assign]


def _patch_all() -> None:
    _patch_below(Optimizer)


profiled.append(_patch_all)  # steps are shown by the wrapper


def _patch_below(kind: type[Optimizer]) -> None:
    for below in kind.__subclasses__():
        _patch(below)
        _patch_below(below)


def register_optimizer_step_pre_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` before the steps of all optimisers."""
    _patch_below(Optimizer)
    return _register(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` after the steps of all optimisers."""
    _patch_below(Optimizer)
    return _register(_global_optimizer_post_hooks, hook)


# ---------------------------------------------------------------- what the optimisers share

_CAPTURABLE = ["cuda", "xpu", "hpu", "privateuseone"]


def check_lr(lr: Any) -> None:
    """ValueError for a learning rate that is negative or a tensor of several elements."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not 0.0 <= lr:
        raise ValueError(f"Invalid learning rate: {lr}")


def check_betas(betas: Any) -> None:
    """ValueError for decay rates outside [0, 1)."""
    for i in (0, 1):
        if not 0.0 <= betas[i] < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {betas[i]}")


def check_not_negative(**values: Any) -> None:
    """ValueError for a negative option, which is named as in torch's messages."""
    for name, value in values.items():
        if not 0.0 <= value:
            raise ValueError(f"Invalid {'epsilon' if name == 'eps' else name} value: {value}")


def check_fused(fused: Any, foreach: Any, differentiable: Any) -> None:
    """RuntimeError for ``fused`` together with what it excludes."""
    if fused:
        if differentiable:
            raise RuntimeError("`fused` does not support `differentiable`")
        if foreach:
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def check_fused_dtype(param: Tensor) -> None:
    """RuntimeError for a parameter that the fused implementation does not take."""
    if not param.is_floating_point():
        raise RuntimeError(
            "`fused=True` requires all the params to be floating point Tensors of supported devices: ['mps', 'cuda', "
            f"'xpu', 'hpu', 'cpu', 'mtia', 'privateuseone'] but {param.dtype} and {param.device.type}"
        )


def check_capturable(what: str = "params and state_steps", xla: bool = True) -> None:
    """``capturable=True`` needs a device that records graphs of kernels; the CPU is none."""
    devices = [*_CAPTURABLE, "xla"] if xla else _CAPTURABLE
    raise AssertionError(f"If capturable=True, {what} must be on supported devices: {devices}.")


def number(value: Any) -> Any:
    """The Python number in a one-element tensor; other values as they are."""
    return value.item() if isinstance(value, Tensor) else value


def new_step() -> Tensor:
    """A step counter: 0 in float32, or in float64 if that is the default dtype."""
    return ops.tensor(0.0, dtype=dtypes.float64 if dtypes.default.dtype is dtypes.float64 else dtypes.float32)


def zeros_as(param: Tensor) -> Tensor:
    """Zeros of the parameter's shape and dtype."""
    return ops.zeros_like(param)


def decayed(param: Tensor, grad: Tensor, group: dict[str, Any]) -> Tensor:
    """The gradient with its sign turned for maximising, and the weight decay added (or, decoupled, applied)."""
    if group["maximize"]:
        grad = -grad
    decay = group["weight_decay"]
    if decay != 0:
        if group.get("decoupled_weight_decay"):
            param.mul_(1 - number(group["lr"]) * decay)
        else:
            grad = grad.add(param, alpha=decay)
    return grad


def restore_steps(states: dict[Any, Any]) -> None:
    """Make step counters tensors, as old checkpoints have them as numbers."""
    for state in states.values():
        if state and "step" in state and not isinstance(state["step"], Tensor):
            state["step"] = new_step().fill_(float(state["step"]))
