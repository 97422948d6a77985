"""Sums of products in bfloat16 and float16 are added in float32, together with what is added to them, and rounded once."""

from __future__ import annotations

import pytest

import livetape as torch
import livetape.nn.functional as F

# fmt: off
VALUES = {
    torch.bfloat16: (
        [-3.09375, -2.546875, -1.6015625, -1.1171875, 0.09228515625, 0.47265625,
         1.296875, 1.5625, 2.03125, 2.15625, 2.765625, 2.765625],
        [-5.15625, -4.5625, -3.1875, -2.75, -0.83984375, -0.58984375,
         0.53125, 0.55078125, 0.95703125, 0.6953125, 1.390625, 0.8984375],
        [-3.171875, -2.703125, -1.640625, -1.375, 0.10009765625, 0.1484375],
        [3.5625, 6.15625, 9.25, 6.5, 2.390625, 7.46875, 13.1875, 9.4375],
        [6.15625, 9.25, 7.46875, 13.1875],
    ),
    torch.float16: (
        [-3.099609375, -2.544921875, -1.6005859375, -1.1220703125, 0.08990478515625, 0.475830078125,
         1.2939453125, 1.5634765625, 2.02734375, 2.154296875, 2.763671875, 2.775390625],
        [-5.1484375, -4.55859375, -3.1875, -2.75, -0.8427734375, -0.58935546875,
         0.52880859375, 0.55078125, 0.95751953125, 0.69482421875, 1.39453125, 0.90087890625],
        [-3.177734375, -2.69921875, -1.6376953125, -1.376953125, 0.09893798828125, 0.1513671875],
        [3.552734375, 6.140625, 9.2265625, 6.50390625, 2.36328125, 7.44921875, 13.203125, 9.4140625],
        [6.140625, 9.2265625, 7.44921875, 13.203125],
    ),
}
# fmt: on


@pytest.mark.parametrize("kind", list(VALUES), ids=str)
def test_products_are_rounded_once(kind):
    a = torch.linspace(-1, 1, 24).sin().to(kind).view(2, 3, 4)
    b = torch.linspace(0.3, 2, 16).cos().to(kind).view(2, 4, 2)
    c = torch.linspace(-0.7, 3.1, 12).to(kind).view(2, 3, 2)
    x = torch.linspace(-1, 2, 8).exp().to(kind).view(1, 2, 4)
    weight = torch.linspace(0.1, 1.3, 12).sin().to(kind).view(2, 2, 3)
    bias = torch.tensor([0.37, -3.3], dtype=kind)
    found = (
        torch.baddbmm(c, a, b),
        torch.baddbmm(c, a, b, beta=0.5, alpha=2),
        torch.addbmm(c[0], a, b),  # after each product of the batch
        F.conv1d(x, weight, bias, padding=1),
        F.conv2d(x[..., None], weight[..., None], bias),
    )
    for one, want in zip(found, VALUES[kind]):
        assert one.dtype is kind
        assert one.flatten().tolist() == want
