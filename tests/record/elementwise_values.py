"""Record what elementwise functions give: ``python tests/record/elementwise_values.py`` with torch 2.13 installed.

Writes tests/data/elementwise.json: the inputs as expressions, and for each call its dtype, values and gradients, or its
error.
"""

from __future__ import annotations

import json
import pathlib
import warnings
from typing import Any

import torch

INPUTS = {
    "odd": "torch.tensor([0., -0., 1., -1., .5, -.5, 2.5, -2.5, float('inf'), -float('inf'), float('nan'), 1e-6, 90.])",
    "d": "torch.tensor([.1, .25, .5, .75, .9], dtype=torch.float64)",
    "e": "torch.tensor([.3, .2, .5, 2., -1.], dtype=torch.float64)",
    "f": "torch.tensor([[-1.5, .25], [.75, 3.]])",
    "h": "torch.tensor([-1.5, .25, 12.], dtype=torch.float16)",
    "i": "torch.tensor([-3, 0, 2, 7])",
    "j": "torch.tensor([2, 3, 1, 0], dtype=torch.int32)",
    "u": "torch.tensor([0, 3, 200], dtype=torch.uint8)",
    "b": "torch.tensor([True, False, True, False])",
    "c": "torch.tensor([.5 + .25j, -.3 - .7j], dtype=torch.complex128)",
    "z": "torch.tensor([1 - 2j, 0j, -1 + .5j])",
}
UNARY = (
    "exp expm1 exp2 log log2 log10 log1p sqrt rsqrt abs sgn sin cos tan asin acos atan sinh cosh asinh acosh "
    "atanh tanh sigmoid sinc deg2rad rad2deg logit sign ceil floor trunc frac round nan_to_num erf erfc erfinv "
    "lgamma digamma i0 angle conj_physical signbit isnan isinf isfinite isposinf isneginf isreal logical_not "
    "bitwise_not"
).split()
BINARY = (
    "eq ne lt le gt ge bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift logical_and "
    "logical_or logical_xor maximum minimum fmax fmin atan2 hypot logaddexp logaddexp2 xlogy copysign "
    "nextafter gcd lcm heaviside isclose"
).split()
CALLS = [
    *[
        f"torch.{name}({x})"
        for name in UNARY
        for x in ("odd", "d", "h", "i", "b", "c", "z", "1.5")
        if (name, x) not in (("i0", "odd"), ("nan_to_num", "c"))
    ],  # torch overflows early, has no gradient
    *[
        f"torch.{name}({p})"
        for name in BINARY
        for p in (
            "d, e",
            "i, j",
            "b, b",
            "i, b",
            "c, c",
            "d, i[1:].sum()",
            "f, i",
            "i, 2",
            "d, 1.5",
            "odd, odd.flip(0)",
            "f.clone(), f.t()",
        )
    ],
    *[
        f"{x}.clone().{name}_({y})"
        for name in ("eq", "lt", "logical_and", "bitwise_or", "atan2", "xlogy", "copysign", "gcd")
        for x, y in (("d", "e"), ("i", "j"), ("i", "f[0, :1]"), ("b", "b"))
    ],
    *[
        f"torch.clamp({x}, {y})"
        for x in ("d", "i", "b", "c", "u", "odd")
        for y in (
            "0",
            "0.2, 0.6",
            "max=0.5",
            "2, 1",
            "True",
            "float('nan')",
            "min=e",
            "e, e + 1",
            "None",
            "-5",
            "max=300",
            "0, e",
        )
    ],
    *[f"torch.{name}(d, {y})" for name in ("clamp_min", "clamp_max") for y in ("0.5", "e", "True")],
    "torch.where(d > .4, d, e)",
    "torch.where(d > .4, d, 0)",
    "torch.where(b, 1, 2.5)",
    "torch.where(b, 1, 2)",
    "torch.where(b, i, j)",
    "torch.where(b, i, f[0, 0])",
    "torch.where(b)",
    "torch.where(i)",
    "torch.where(i, i, j)",
    "torch.where(f > 0, f, d)",
    "torch.where(b, i)",
    "d.where(d > e, e)",
    "torch.where(torch.tensor(True))",
    "torch.lerp(d, e, 0.3)",
    "torch.lerp(d, e, d)",
    "torch.lerp(i, j, 0.3)",
    "torch.lerp(d, odd[:5], 0.3)",
    "torch.addcmul(d, e, e, value=2)",
    "torch.addcmul(i, i, i, value=2.5)",
    "torch.addcmul(d, e, 1)",
    "torch.addcmul(b, b, b)",
    "torch.addcdiv(d, e, e, value=2)",
    "torch.addcdiv(i, i, i)",
    "torch.addcdiv(d, e, i[2:])",
    "torch.ldexp(d, torch.tensor([1, 2, 3, 4, 5]))",
    "torch.ldexp(d, e)",
    "torch.round(odd, decimals=1)",
    "torch.round(i, decimals=1)",
    "torch.polygamma(1, d)",
    "torch.polygamma(2, d)",
    "torch.polygamma(-1, d)",
    "torch.mvlgamma(d + 3, 2)",
    "torch.logit(d, 0.2)",
    "torch.nan_to_num(odd, 1., 2., 3.)",
    "torch.real(c)",
    "torch.imag(c)",
    "torch.imag(d)",
    "torch.view_as_real(c)",
    "torch.view_as_real(d)",
    "torch.view_as_complex(f)",
    "torch.view_as_complex(d)",
    "torch.view_as_complex(i)",
    "torch.complex(d, e)",
    "torch.complex(d, odd[:5])",
    "torch.complex(i, i)",
    "torch.polar(d, e)",
    "torch.igamma(d, d)",
    "torch.isclose(d, e, rtol=-1)",
    "torch.allclose(d, d + 1e-9)",
    "torch.allclose(d, f)",
    "torch.equal(d, d)",
    "torch.equal(i, b)",
    "i << 70",
    "i >> 70",
    "torch.tensor([-1]) >> -1",
    "1 << i",
    "i & True",
    "b & b",
    "b | 2",
    "~b",
    "~i",
    "u == 456",
    "i == 1.5",
    "z == z",
    "i.clone().clamp_(0.5)",
    "d.clone().clamp_(e, e)",
    "c.clone().abs_()",
    "i.clone().exp_()",
    "d.clone().sigmoid_()",
]


def listed(tensor: Any) -> Any:
    """The values, complex ones as pairs; JSON knows NaN and infinities by Python's names."""
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.resolve_conj())
    return tensor.tolist()


def record(call: str) -> dict[str, Any]:
    names = {name: eval(text, {"torch": torch}) for name, text in INPUTS.items()}
    leaves = {name: t.requires_grad_() for name, t in names.items() if t.dtype in (torch.float64, torch.complex128)}
    try:
        found = eval(call, {"torch": torch, **names})
    except Exception as error:
        return {"call": call, "error": type(error).__name__, "message": str(error).split("\n")[0]}
    if not isinstance(found, torch.Tensor):
        return {"call": call, "plain": repr(found)}
    case = {"call": call, "dtype": str(found.dtype), "values": listed(found.detach())}
    if found.requires_grad:
        case["node"] = type(found.grad_fn).__name__
        try:
            grads = torch.autograd.grad(found, list(leaves.values()), torch.ones_like(found), allow_unused=True)
        except RuntimeError as error:
            return {**case, "backward_error": str(error).split("\n")[0]}
        case["grads"] = {
            name: listed(torch.zeros_like(leaf) + g) for (name, leaf), g in zip(leaves.items(), grads) if g is not None
        }
    return case


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    cases = [record(call) for call in CALLS]
    text = ",\n".join(json.dumps(case) for case in cases)
    path = pathlib.Path(__file__).parent.parent / "data" / "elementwise.json"
    path.write_text(f'{{"inputs": {json.dumps(INPUTS)}, "cases": [\n{text}\n]}}\n')
    print(len(cases), "cases,", path.stat().st_size, "bytes")
