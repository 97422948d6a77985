"""LRScheduler, the base of all schedules of learning rates."""

from __future__ import annotations

import functools
import warnings
from typing import Any
from weakref import ref

from livetape.optim.optimizer import Optimizer, number
from livetape.tensor import Tensor

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed "
    "form is used instead of the new chainable form, where available. Please open an issue if you are unable to "
    "replicate your use case: https://github.com/pytorch/pytorch/issues/new/choose."
)

_HOW = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
_OVERRIDDEN = (
    "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. Please, make sure "
    "to call `optimizer.step()` before `lr_scheduler.step()`. " + _HOW
)
_WRONG_ORDER = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call "
    "them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will result in "
    "PyTorch skipping the first value of the learning rate schedule. " + _HOW
)


def check_optimizer(optimizer: Any) -> None:
    """TypeError for what is no optimiser."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def values_of(optimizer: Any, key: str) -> list[Any]:
    """An option of every group; tensors as copies, since they are changed in place."""
    return [group[key].clone() if isinstance(group[key], Tensor) else group[key] for group in optimizer.param_groups]


def set_value(group: dict[str, Any], key: str, value: Any) -> None:
    """Set an option of a group; a tensor gets the value in place."""
    if isinstance(group[key], Tensor):
        group[key].fill_(number(value))
    else:
        group[key] = value


def one_each(name: str, value: Any, optimizer: Any) -> list[Any]:
    """``value`` as a list with an entry for each group."""
    count = len(optimizer.param_groups)
    if isinstance(value, (list, tuple)):
        if len(value) != count:
            raise ValueError(
                f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} "
                f"values, param_groups has {count}."
            )
        return list(value)
    return [value] * count


def _watch(optimizer: Any) -> None:
    """Let ``optimizer.step`` note that it was called."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    own = optimizer.__dict__.get("step")
    owner = ref(optimizer)

    @functools.wraps(optimizer.step.__func__ if hasattr(optimizer.step, "__func__") else optimizer.step)
    def step(*args: Any, **kwargs: Any) -> Any:  # no bound method: the optimiser would hold itself alive
        found: Any = owner()
        found._opt_called = True
        # The class's step is looked up anew: a hook registered later wraps it.
        return own(*args, **kwargs) if own is not None else type(found).step(found, *args, **kwargs)

    step._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = step


class LRScheduler:
    """Changes the learning rates of an optimiser, epoch by epoch (source: ``torch.optim.lr_scheduler.LRScheduler``).

    A subclass defines ``get_lr``: the rates of ``last_epoch``, one a group.
    """

    _get_lr_called_within_step: bool = False
    _is_initial: bool = False

    optimizer: Any
    base_lrs: list[Any]
    last_epoch: int
    _last_lr: list[Any]

    def __init__(self, optimizer: Any, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                rate = group["lr"]
                group.setdefault("initial_lr", rate.clone() if isinstance(rate, Tensor) else rate)
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with last_epoch "
                    ">= 0.\nThis typically happens when:\n1. You're trying to resume training from a checkpoint but "
                    "haven't properly loaded the optimizer state\n2. You're using last_epoch >= 0 for a fresh "
                    "training run (not recommended)"
                )
        self.base_lrs = values_of(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _watch(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        """Set the rates of the first epoch."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimiser."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what ``state_dict`` gave."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """The rates set last, one a group."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """The rates of ``last_epoch``, computed from the present ones."""
        raise NotImplementedError

    def _warn_get_lr(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )

    def step(self, epoch: Any = None) -> None:
        """Go on to the next epoch."""
        self._step_count += 1
        if self._step_count == 2:  # the first call was __init__'s
            if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
                warnings.warn(_OVERRIDDEN, UserWarning, stacklevel=2)
            elif not getattr(self.optimizer, "_opt_called", False):
                warnings.warn(_WRONG_ORDER, UserWarning, stacklevel=2)
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch: Any = None) -> None:
        self._get_lr_called_within_step = True
        try:
            if epoch is None:
                self.last_epoch += 1
                values = self.get_lr()
            else:
                self.last_epoch = epoch
                closed = getattr(self, "_get_closed_form_lr", None)
                values = self.get_lr() if closed is None else closed()
        finally:
            self._get_lr_called_within_step = False
        self._set(values)

    def _set(self, values: Any) -> None:
        for group, value in zip(self.optimizer.param_groups, values, strict=True):
            set_value(group, "lr", value)
        self._last_lr = values_of(self.optimizer, "lr")


class _LRScheduler(LRScheduler):
    """The old name of LRScheduler."""
