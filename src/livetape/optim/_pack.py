"""Many small parameters updated as one array.

A NumPy call costs more than the arithmetic on a few hundred elements, and an Adam step makes thirteen. So the state of
a group's small parameters is kept in common arrays, of which each parameter's state tensors are views; gradients and
parameters are copied in, the step is made once, and the parameters are copied out. Whatever no longer fits (a gradient
is missing, a state tensor was replaced) dissolves the pack: the views are ordinary arrays and serve as before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

LIMIT = 2048  # elements: above this a parameter's own arithmetic outweighs the calls


class Pack:
    """The small parameters of one group and dtype, all of which have made the same number of steps."""

    __slots__ = ("amsgrad", "grad", "inside", "largest", "mean", "members", "param", "params", "square", "states")

    def __init__(self, params: list[Any], chosen: list[Any], states: Any, kind: Any, amsgrad: bool) -> None:
        total = sum(param.array.size for param in chosen)
        self.params = params
        self.states = states
        self.amsgrad = amsgrad
        self.inside = set(chosen)
        self.param, self.grad, self.mean, self.square = (np.empty(total, kind.np) for _ in range(4))
        self.largest = np.empty(total, kind.np) if amsgrad else None
        self.members: list[Any] = []
        start = 0
        for param in chosen:
            array = param.array
            stop = start + array.size
            state = states[param]
            views: list[Any] = []
            for flat, name in ((self.mean, "exp_avg"), (self.square, "exp_avg_sq"), (self.largest, "max_exp_avg_sq")):
                if flat is None:
                    views.append(None)
                    continue
                view = flat[start:stop].reshape(array.shape)
                view[...] = state[name].array
                state[name].array = view
                views.append(view)
            self.members.append(
                (
                    param,
                    array,
                    state,
                    state["step"].array,
                    *views,
                    self.param[start:stop].reshape(array.shape),
                    self.grad[start:stop].reshape(array.shape),
                )
            )
            start = stop

    def gather(self, params: list[Any], states: Any, amsgrad: bool) -> float:
        """Copy parameters and gradients in, and return the number of this step; 0 if something does not fit."""
        if params is not self.params or states is not self.states or amsgrad is not self.amsgrad:
            return 0.0
        step = -1.0
        for param, array, state, count, mean, square, largest, into, grad_into in self.members:
            grad = param._gradient
            if (
                grad is None
                or param.array is not array
                or states.get(param) is not state
                or state["step"].array is not count
                or state["exp_avg"].array is not mean
                or state["exp_avg_sq"].array is not square
                or (largest is not None and state["max_exp_avg_sq"].array is not largest)
            ):
                return 0.0
            done = count.item()
            if done != step:
                if step >= 0:
                    return 0.0
                step = done
            grad_into[...] = grad.array
            into[...] = array
        return step + 1.0

    def scatter(self, step: float) -> None:
        """Copy the parameters out, and set their step counters."""
        for param, array, _, count, _, _, _, out, _ in self.members:
            array[...] = out
            count[()] = step
            param.bump_version()


def make_pack(params: list[Any], states: Any, kinds: tuple[Any, ...], amsgrad: bool) -> Pack | None:
    """A pack of the small parameters of the first small one's dtype, if there are several and they keep step."""
    chosen: list[Any] = []
    kind = step = None
    seen: set[int] = set()
    for param in params:
        if param.array.size > LIMIT or param.dtype not in kinds:
            continue
        if param._gradient is None or id(param) in seen:
            return None
        seen.add(id(param))
        state = states.get(param)
        if not state or (kind is not None and param.dtype is not kind):
            continue
        if any(state[name].dtype is not param.dtype for name in ("exp_avg", "exp_avg_sq")):
            continue
        done = state["step"].item()
        if step is None:
            kind, step = param.dtype, done
        elif done != step:
            return None
        chosen.append(param)
    return Pack(params, chosen, states, kind, amsgrad) if len(chosen) > 1 else None
