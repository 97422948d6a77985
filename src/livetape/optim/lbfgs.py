"""L-BFGS: a quasi-Newton method that remembers a few steps."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from livetape import ops
from livetape._tape.tensor import from_array
from livetape.optim.optimizer import Optimizer, check_lr, evaluate, number
from livetape.tensor import Tensor

__all__ = ["LBFGS"]

Array = Any
Point = tuple[Any, Any, Array, Any]  # step length, loss, gradient, slope along the direction


class LBFGS(Optimizer):
    """L-BFGS with one group of parameters; ``step`` needs a closure (Nocedal 1980; source: ``torch.optim.LBFGS``).

    ``line_search_fn`` is None (steps of length ``lr``) or "strong_wolfe".
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_lr(lr)
        if max_eval is None:
            max_eval = max_iter * 5 // 4
        super().__init__(
            params,
            {
                "lr": lr,
                "max_iter": max_iter,
                "max_eval": max_eval,
                "tolerance_grad": tolerance_grad,
                "tolerance_change": tolerance_change,
                "history_size": history_size,
                "line_search_fn": line_search_fn,
            },
        )
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params: list[Tensor] = self.param_groups[0]["params"]

    # ------------------------------------------------------------ parameters and gradients as one vector

    def _gather_flat_grad(self) -> Array:
        parts = []
        for param in self._params:
            grad = param._gradient
            array = np.zeros(param.array.shape, param.array.dtype) if grad is None else grad.array
            parts.append(_real(np.ascontiguousarray(array)).reshape(-1))
        return np.concatenate(parts)

    def _add_grad(self, step_size: Any, direction: Array) -> None:
        """Move the parameters by ``step_size * direction``."""
        offset = 0
        for param in self._params:
            array = param.array
            count = array.size * (2 if array.dtype.kind == "c" else 1)
            move = direction[offset : offset + count] * array.real.dtype.type(step_size)
            if array.dtype.kind == "c":
                move = move.view(array.dtype)
            array += move.reshape(array.shape)
            param.bump_version()
            offset += count

    def _clone_param(self) -> list[Array]:
        return [param.array.copy() for param in self._params]

    def _set_param(self, values: list[Array]) -> None:
        for param, value in zip(self._params, values, strict=True):
            param.array[...] = value
            param.bump_version()

    def _directional_evaluate(
        self, closure: Callable[[], Any], start: list[Array], t: Any, direction: Array
    ) -> tuple[float, Array]:
        self._add_grad(t, direction)
        loss = _value(evaluate(closure))
        grad = self._gather_flat_grad()
        self._set_param(start)
        return loss, grad

    # ------------------------------------------------------------ the method

    def step(self, closure: Any) -> Any:  # type: ignore[override]
        """Up to ``max_iter`` iterations; ``closure`` clears the gradients, computes the loss, and walks back."""
        group = self.param_groups[0]
        lr, search = number(group["lr"]), group["line_search_fn"]
        small_grad, small_change = group["tolerance_grad"], group["tolerance_change"]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)

        first_loss = evaluate(closure)
        loss = _value(first_loss)
        evaluations = 1
        state["func_evals"] += 1
        grad = self._gather_flat_grad()
        if np.abs(grad).max() <= small_grad:
            return first_loss

        direction = _array(state.get("d"))
        t = number(state.get("t"))
        gradient_changes = [_array(y) for y in state.get("old_dirs") or ()]
        moves = [_array(s) for s in state.get("old_stps") or ()]
        weights = [number(r) for r in state.get("ro") or ()]
        scale = number(state.get("H_diag"))
        alphas = state.get("al")
        before = _array(state.get("prev_flat_grad"))
        loss_before = state.get("prev_loss")

        iteration = 0
        while iteration < group["max_iter"]:
            iteration += 1
            state["n_iter"] += 1
            if state["n_iter"] == 1:
                direction = -grad
                gradient_changes, moves, weights, scale = [], [], [], 1
            else:
                change = grad - before
                move = direction * direction.dtype.type(t)
                curvature = change.dot(move)
                if curvature > 1e-10:
                    if len(moves) == group["history_size"]:
                        gradient_changes.pop(0)
                        moves.pop(0)
                        weights.pop(0)
                    gradient_changes.append(change)
                    moves.append(move)
                    weights.append(1.0 / curvature)
                    scale = curvature / change.dot(change)
                if alphas is None:
                    state["al"] = alphas = [None] * group["history_size"]
                direction = _newton_direction(grad, gradient_changes, moves, weights, scale, alphas)
            before = grad.copy()
            loss_before = loss
            t = min(1.0, 1.0 / np.abs(grad).sum()) * lr if state["n_iter"] == 1 else lr
            slope = grad.dot(direction)
            if slope > -small_change:
                break
            tried = 0
            if search is not None:
                if search != "strong_wolfe":
                    raise RuntimeError("only 'strong_wolfe' is supported")
                start = self._clone_param()
                aim = direction

                def along(x: Any, start: list[Array] = start, aim: Array = aim) -> tuple[float, Array]:
                    return self._directional_evaluate(closure, start, x, aim)

                left = group["max_eval"] - evaluations
                loss, grad, t, tried = strong_wolfe(along, t, direction, loss, grad, slope, max_ls=left)
                self._add_grad(t, direction)
                done = np.abs(grad).max() <= small_grad
            else:
                self._add_grad(t, direction)
                done = False
                if iteration != group["max_iter"]:  # in the last iteration nobody asks for the new gradient
                    loss = _value(evaluate(closure))
                    grad = self._gather_flat_grad()
                    done = np.abs(grad).max() <= small_grad
                    tried = 1
            evaluations += tried
            state["func_evals"] += tried
            if (
                iteration == group["max_iter"]
                or evaluations >= group["max_eval"]
                or done
                or np.abs(direction * direction.dtype.type(t)).max() <= small_change
                or abs(loss - loss_before) < small_change
            ):
                break

        state["d"] = from_array(direction)
        rate = group["lr"]
        if isinstance(rate, Tensor):
            state["t"] = ops.tensor(float(t), dtype=rate.dtype)
        else:  # a tensor where it was computed from gradients
            state["t"] = ops.tensor(float(t), dtype=state["d"].dtype) if isinstance(t, np.floating) else t
        state["old_dirs"] = [from_array(y) for y in gradient_changes]
        state["old_stps"] = [from_array(s) for s in moves]
        state["ro"] = [ops.tensor(float(r), dtype=state["d"].dtype) for r in weights]
        state["H_diag"] = scale if scale == 1 else ops.tensor(float(scale), dtype=state["d"].dtype)
        state["prev_flat_grad"] = from_array(before)
        state["prev_loss"] = loss_before
        if alphas is not None:
            kind = state["d"].dtype
            state["al"] = [None if a is None else ops.tensor(float(a), dtype=kind) for a in alphas]
        return first_loss


def _value(loss: Any) -> float:
    return float(number(loss))


def _real(array: Array) -> Array:
    """A complex array as twice as many real numbers."""
    return array.view(array.real.dtype) if array.dtype.kind == "c" else array


def _array(value: Any) -> Array:
    return value.array if isinstance(value, Tensor) else value


def _newton_direction(
    grad: Array,
    gradient_changes: list[Array],
    moves: list[Array],
    weights: list[Any],
    scale: Any,
    alphas: list[Any],
) -> Array:
    """The approximate inverse Hessian times ``-grad``, by the two-loop recursion, which fills ``alphas``."""
    q = -grad
    for i in range(len(moves) - 1, -1, -1):
        alphas[i] = moves[i].dot(q) * weights[i]
        q -= gradient_changes[i] * alphas[i]
    q *= scale
    for i in range(len(moves)):
        q += moves[i] * (alphas[i] - gradient_changes[i].dot(q) * weights[i])
    return q


def cubic_minimum(x1: Any, f1: Any, g1: Any, x2: Any, f2: Any, g2: Any, bounds: tuple[Any, Any] | None = None) -> Any:
    """Where the cubic with these values and slopes at two points is least, within the bounds (or between the
    points)."""
    low, high = bounds if bounds is not None else (x1, x2) if x1 <= x2 else (x2, x1)
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1**2 - g1 * g2
    if square < 0 or not math.isfinite(square):
        return (low + high) / 2.0
    d2 = math.sqrt(square)
    if x1 <= x2:
        least = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
    else:
        least = x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2 * d2))
    return min(max(least, low), high)


def strong_wolfe(
    along: Callable[[Any], tuple[float, Array]],
    t: Any,
    direction: Array,
    f: float,
    g: Array,
    slope: Any,
    c1: float = 1e-4,
    c2: float = 0.9,
    tolerance_change: float = 1e-9,
    max_ls: int = 25,
) -> tuple[float, Array, Any, int]:
    """A step length that meets the strong Wolfe conditions: (loss, gradient, length, evaluations).

    First the length grows until an interval is known to hold one; then the interval shrinks around it (Nocedal &
    Wright, algorithms 3.5 and 3.6). ``along`` gives loss and gradient at a step length.
    """
    size = np.abs(direction).max()

    def at(x: Any) -> Point:
        value, grad = along(x)
        return x, value, grad, grad.dot(direction)

    def decreases_enough(point: Point) -> bool:
        return not point[1] > f + c1 * point[0] * slope

    def flat_enough(point: Point) -> bool:
        return bool(abs(point[3]) <= -c2 * slope)

    start: Point = (0, f, g, slope)
    now, before = at(t), start
    evaluations, tries = 1, 0
    bracket: list[Point] = []
    done = False
    while tries < max_ls:
        if not decreases_enough(now) or (tries > 1 and now[1] >= before[1]):
            bracket = [before, now]
            break
        if flat_enough(now):
            bracket, done = [now], True
            break
        if now[3] >= 0:
            bracket = [before, now]
            break
        bounds = (now[0] + 0.01 * (now[0] - before[0]), now[0] * 10)
        t = cubic_minimum(before[0], before[1], before[3], now[0], now[1], now[3], bounds)
        before, now = now, at(t)
        evaluations += 1
        tries += 1
    if tries == max_ls:
        bracket = [start, now]

    stalled = False
    low, high = (0, 1) if bracket[0][1] <= bracket[-1][1] else (1, 0)
    while not done and tries < max_ls:
        left, right = sorted((bracket[0][0], bracket[1][0]))
        if (right - left) * size < tolerance_change:
            break
        t = cubic_minimum(bracket[0][0], bracket[0][1], bracket[0][3], bracket[1][0], bracket[1][1], bracket[1][3])
        # Twice in a row too near an end: go a tenth of the interval inwards.
        margin = 0.1 * (right - left)
        if min(right - t, t - left) < margin:
            if stalled or t >= right or t <= left:
                t = right - margin if abs(t - right) < abs(t - left) else left + margin
                stalled = False
            else:
                stalled = True
        else:
            stalled = False
        now = at(t)
        evaluations += 1
        tries += 1
        if not decreases_enough(now) or now[1] >= bracket[low][1]:
            bracket[high] = now
            low, high = (0, 1) if bracket[0][1] <= bracket[1][1] else (1, 0)
        else:
            if flat_enough(now):
                done = True
            elif now[3] * (bracket[high][0] - bracket[low][0]) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = now
    if len(bracket) == 1:
        low = 0
    t, f_new, g_new, _ = bracket[low]
    return f_new, g_new, t, evaluations
