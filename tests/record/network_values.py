"""Record what the operations of networks give: ``python tests/record/network_values.py`` with torch 2.13 installed.

Writes tests/data/networks.json: the inputs as expressions, and for each call its shapes, dtypes, values, gradients and
warnings, or its error.
"""

from __future__ import annotations

import json
import pathlib
import warnings
from typing import Any

import torch
import torch.nn.functional as F

INPUTS = {
    "x": "torch.linspace(-3.3, 3.1, 12, dtype=torch.float64).reshape(3, 4)",
    "p": "torch.linspace(.05, .9, 12, dtype=torch.float64).reshape(3, 4).flip(0)",
    "v": "torch.tensor([.3, -1.2, .7, 2.1], dtype=torch.float64)",
    "odd": "torch.tensor([0., -0., 3., -3., .5, -.5, 6., 25., -100., float('inf'), float('nan')])",
    "f": "torch.tensor([[-1.5, .25, 2.], [.75, 3., -4.]])",
    "h": "torch.tensor([-1.5, .25, 12.], dtype=torch.float16)",
    "i": "torch.tensor([-3, 0, 2, 7])",
    "b": "torch.tensor([True, False])",
    "c": "torch.tensor([.5 + .25j, -.3 - .7j], dtype=torch.complex128)",
    "t": "torch.tensor([0, 3, 1])",
    "ones": "torch.ones(3, 4, dtype=torch.int64)",
    "x3": "torch.arange(64.).reshape(2, 4, 8).mul(7).remainder(11).sub(5)",
    "x4": "torch.arange(288.).reshape(2, 4, 6, 6).mul(7).remainder(13).sub(6)",
    "x5": "torch.arange(128.).reshape(1, 2, 4, 4, 4).mul(7).remainder(11).sub(5)",
    "w3": "torch.arange(24.).reshape(2, 4, 3).mul(5).remainder(7).sub(3)",
    "w4": "torch.arange(216.).reshape(6, 4, 3, 3).mul(5).remainder(7).sub(3)",
    "w5": "torch.arange(54.).reshape(1, 2, 3, 3, 3).mul(5).remainder(7).sub(3)",
    "emb": "torch.arange(15.).reshape(5, 3).sub(6)",
}
LEAVES = ("x", "v", "f", "x3", "x4", "x5", "w3", "w4", "emb")  # these require gradients

ACTIVATIONS = (
    "relu relu_ leaky_relu elu selu celu gelu silu mish softplus hardtanh relu6 hardswish hardsigmoid "
    "hardshrink softshrink tanhshrink softsign logsigmoid rrelu"
).split()
CALLS = (pathlib.Path(__file__).parent / "network_calls.txt").read_text().splitlines()
CALLS = [
    *[
        f"F.{name}({a})"
        for name in ACTIVATIONS
        for a in ("x.clone()", "odd", "h", "i", "b", "c", "None")
        if (name, a) not in (("rrelu", "c"), ("mish", "c"))
    ],
    *[call for call in CALLS if call and not call.startswith("#")],
]


def inputs() -> dict[str, Any]:
    made = {name: eval(text, {"torch": torch}) for name, text in INPUTS.items()}
    return {name: t.requires_grad_() if name in LEAVES else t for name, t in made.items()}


def plain(tensor: Any) -> Any:
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
    return [float(f"{value:.9g}") for value in tensor.detach().double().flatten().tolist()]


def shown(tensor: Any) -> dict[str, Any]:
    found = {"shape": list(tensor.shape), "dtype": str(tensor.dtype), "values": plain(tensor)}
    if tensor.grad_fn is not None:
        found["node"] = type(tensor.grad_fn).__name__
    return found


def recorded(call: str) -> dict[str, Any]:
    names = inputs()
    case: dict[str, Any] = {"call": call}
    torch.manual_seed(7)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = eval(call, {"torch": torch, "F": F, **names})
        except Exception as error:
            case["error"], case["message"] = type(error).__name__, str(error).split("\n")[0]
            found = None
        if caught:
            case["warnings"] = [str(w.message)[:60] for w in caught]
    if found is None:
        return case
    if not isinstance(found, (torch.Tensor, tuple)):
        return {**case, "plain": repr(found)}
    outs = found if isinstance(found, tuple) else (found,)
    case["outs"] = [shown(out) for out in outs]
    if outs[0].requires_grad:
        leaves = {name: names[name] for name in LEAVES}
        weights = (
            torch.linspace(0.5, 1.5, outs[0].numel(), dtype=torch.float64).reshape(outs[0].shape).to(outs[0].dtype)
        )
        try:
            grads = torch.autograd.grad(outs[0], list(leaves.values()), weights, allow_unused=True)
        except RuntimeError as error:
            case["backward_error"] = str(error).split("\n")[0]
        else:
            case["grads"] = {name: plain(grad) for name, grad in zip(leaves, grads) if grad is not None}
    return case


if __name__ == "__main__":
    cases = [recorded(call) for call in dict.fromkeys(CALLS)]
    target = pathlib.Path(__file__).parents[1] / "data" / "networks.json"
    lines = ",\n".join(json.dumps(case) for case in cases)
    target.write_text(f'{{"inputs": {json.dumps(INPUTS)},\n"leaves": {json.dumps(LEAVES)},\n"cases": [\n{lines}]}}\n')
