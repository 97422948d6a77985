"""GradScaler: losses are scaled up, so that small gradients survive half precision (source: ``torch.amp.GradScaler``)."""

from __future__ import annotations

import enum
import math
import warnings
from collections import defaultdict
from typing import Any

import numpy as np

from livetape import dtypes
from livetape._tape.tensor import TensorBase
from livetape.autograd.grad_mode import no_grad
from livetape.ops import full

__all__ = ["GradScaler", "OptState"]


class OptState(enum.Enum):
    """How far an optimizer is in its step."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _fresh_state() -> dict[str, Any]:
    return {"stage": OptState.READY, "found_inf_per_device": {}}


class GradScaler:
    """Scales the loss before backward, and the gradients back before a step, which is left out if they are not finite.

    device            "cpu"; for "cuda" the scaler says that there is none, and is disabled
    init_scale        the first scale
    growth_factor     the scale is multiplied by it after ``growth_interval`` steps with finite gradients
    backoff_factor    and by this after a step without
    enabled           False: all methods do nothing

    >>> import livetape as torch
    >>> scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    >>> scaler.scale(torch.tensor(0.5))
    tensor(2.)
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device
        self._enabled = enabled
        if device == "cuda" and enabled:
            warnings.warn(
                "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.",
                UserWarning,
                stacklevel=2,
            )
            self._enabled = False
        if not self._enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale = init_scale
        self._scale: Any = None
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._init_growth_tracker = 0
        self._growth_tracker: Any = None
        self._per_optimizer_states: dict[int, dict[str, Any]] = defaultdict(_fresh_state)

    # ------------------------------------------------------------ what it is set to
    def is_enabled(self) -> bool:
        """Whether this scaler does anything."""
        return self._enabled

    def get_scale(self) -> float:
        """The scale as a Python number, 1.0 if disabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else float(self._scale.item())

    def get_growth_factor(self) -> float:
        """What the scale is multiplied by after enough good steps."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set the growth factor."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the scale is multiplied by after a bad step."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set the backoff factor."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """How many good steps come before the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set the growth interval."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else int(self._growth_tracker.item())

    def state_dict(self) -> dict[str, Any]:
        """What there is to save; empty if disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale.fill_(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._growth_tracker is not None:
            self._growth_tracker.fill_(state_dict["_growth_tracker"])

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self._enabled:
            if self._per_optimizer_states:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning of an iteration, or at the end after "
                    "scaler.update()."
                )
            state["_init_scale"] = self.get_scale()
            state["_init_growth_tracker"] = self._get_growth_tracker()
            state["_scale"] = state["_growth_tracker"] = None
        return state

    # ------------------------------------------------------------ the loss
    def _start(self) -> None:
        if self._growth_tracker is not None:
            raise AssertionError("_growth_tracker initialized before _scale")
        self._scale = full((), self._init_scale, dtype=dtypes.float32)
        self._growth_tracker = full((), self._init_growth_tracker, dtype=dtypes.int32)

    def scale(self, outputs: Any) -> Any:
        """A tensor, or the tensors in an iterable, multiplied by the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, TensorBase):
            if self._scale is None:
                self._start()
            return outputs * self._scale
        if isinstance(outputs, (list, tuple)):
            scaled = [self.scale(v) for v in outputs]
            return type(outputs)(*scaled) if hasattr(outputs, "_fields") else type(outputs)(scaled)
        if hasattr(outputs, "__iter__"):
            return map(self.scale, outputs)
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def _started(self, name: str) -> None:
        fix = "This may indicate your script did not use scaler.scale(loss or outputs) earlier in the iteration."
        if self._scale is None:
            raise AssertionError(f"Attempted {name} but _scale is None.  {fix}")
        if self._growth_tracker is None:
            raise AssertionError(f"Attempted {name} but _growth_tracker is None.  {fix}")

    # ------------------------------------------------------------ the gradients
    def _unscale_grads_(self, optimizer: Any) -> dict[str, Any]:
        """Multiply all gradients by the inverse of the scale: whether any is not finite, by device."""
        inverse = 1.0 / float(self._scale.item())
        bad = False
        grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        for grad in grads:
            if grad.dtype is dtypes.float16:
                raise ValueError("Attempting to unscale FP16 gradients.")
        with no_grad():
            for grad in grads:
                bad = bad or not bool(np.isfinite(grad.array).all())
                grad.mul_(inverse)
        return {"cpu": full((), float(bad), dtype=dtypes.float32)} if grads else {}

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer's parameters by the scale, for clipping; `step` does it otherwise."""
        if not self._enabled:
            return
        self._started("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        state["found_inf_per_device"] = self._unscale_grads_(optimizer)
        state["stage"] = OptState.UNSCALED

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Step the optimizer, unless a gradient is not finite: what its ``step`` returns, or None."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._started("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        if not state["found_inf_per_device"]:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        bad = sum(v.item() for v in state["found_inf_per_device"].values())
        found = None if bad else optimizer.step(*args, **kwargs)
        state["stage"] = OptState.STEPPED
        return found

    def update(self, new_scale: Any = None) -> None:
        """Change the scale as the steps since the last call say, or to ``new_scale``."""
        if not self._enabled:
            return
        self._started("update")
        if new_scale is not None:
            self._set_scale(new_scale)
        else:
            found = [v for state in self._per_optimizer_states.values() for v in state["found_inf_per_device"].values()]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            self._follow(any(v.item() for v in found))
        self._per_optimizer_states = defaultdict(_fresh_state)

    def _set_scale(self, new_scale: Any) -> None:
        if not isinstance(new_scale, TensorBase):
            self._scale.fill_(new_scale)
            return
        if new_scale.array.size != 1 or new_scale.recorded:
            raise AssertionError(
                "new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with "
                "requires_grad=False."
            )
        self._scale.copy_(new_scale)

    def _follow(self, bad: bool) -> None:
        """Back off after a bad step; grow after ``growth_interval`` good ones."""
        scale = float(self._scale.item())
        if bad:
            self._scale.fill_(scale * self._backoff_factor)
            self._growth_tracker.fill_(0)
            return
        steps = int(self._growth_tracker.item()) + 1
        if steps == self._growth_interval:
            grown = float(np.float32(scale * self._growth_factor))
            if math.isfinite(grown):
                self._scale.fill_(grown)
            steps = 0
        self._growth_tracker.fill_(steps)
