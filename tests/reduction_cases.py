"""Expressions on reductions, sorts and scans, evaluated for torch or for a library that has its names."""

from __future__ import annotations

from typing import Any


def outcome(torch: Any, expression: str) -> str:
    """The text of an expression's value, or the type and text of the exception it raises.

    x, v, i are plain tensors; g, h, c require gradients; grads(f, values) differentiates twice, with incoming ones.
    """
    nan, inf = float("nan"), float("inf")

    def grads(f: Any, *values: Any) -> Any:
        inputs = [torch.tensor(value, dtype=torch.float64, requires_grad=True) for value in values]
        result = f(*inputs)
        result = result[0] if isinstance(result, tuple) else result
        first = torch.autograd.grad(result.sum(), inputs, create_graph=True)
        found = [t.tolist() for t in first]
        if any(t.requires_grad for t in first):
            squares = sum((t * t).sum() for t in first if t.requires_grad)
            second = torch.autograd.grad(squares, inputs, allow_unused=True)
            found += [None if t is None else t.tolist() for t in second]
        return [[round(e, 9) + 0.0 for e in t] if isinstance(t, list) else t for t in found]

    names = {
        "torch": torch,
        "nan": nan,
        "inf": inf,
        "grads": grads,
        "x": torch.arange(6.0).reshape(2, 3),
        "v": torch.tensor([1.0, 3, 2, 3, nan]),
        "i": torch.tensor([3, 1, 2, 3, 1]),
        "g": torch.tensor([[0.5, -1.0, 2.0], [3.0, 0.25, 1.5]], requires_grad=True),
        "h": torch.tensor([[1.5, 2.0, -0.5], [0.75, 3.0, 1.0]], requires_grad=True),
        "c": torch.tensor([1 + 1j, 2 - 1j], requires_grad=True),
    }
    try:
        return repr(eval(expression, names))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
