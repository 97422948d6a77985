"""The objects in the files of tests/data/saved, made by torch and livetape alike; and how to look at what was loaded."""

from __future__ import annotations

import collections
from typing import Any


def objects(torch: Any) -> dict[str, Any]:
    """The objects, by the names of their files."""
    nn = torch.nn
    x = torch.arange(20.0).reshape(4, 5)
    weight = nn.Parameter(torch.ones(2))
    marked = nn.Parameter(torch.ones(1))
    marked.note = "hi"
    plain = torch.ones(2)
    plain.foo = [1]
    names = "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex64 complex128"
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
    for k, param in enumerate(net.parameters()):
        param.data.copy_(torch.arange(float(param.numel())).reshape(param.shape) + k)
        param.grad = torch.ones_like(param)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5, momentum=0.5)
    optimizer.step()
    return {
        "views": [x, x[1], x.t(), x[:, ::2], x[2:].detach(), x.expand(2, 4, 5)],
        "part": torch.arange(99.0)[0:5],
        "dtypes": {name: torch.arange(4).to(getattr(torch, name)) for name in names.split()},
        "unsigned": [torch.ones(3, dtype=getattr(torch, name)) for name in ("uint16", "uint32", "uint64")],
        "python": {
            "int": 1, "large": 2**70, "negative": -5, "float": 1.5, "inf": float("inf"), "text": "hé", "bytes": b"ab\xff",
            "none": None, "tuple": (1, (2, 3)), "list": [1, [2]], "set": {1}, "complex": 1j, "bool": True, "empty": (),
            "bytearray": bytearray(b"xy"), "ordered": collections.OrderedDict(a=1), "counter": collections.Counter("aab"),
            "many": list(range(300)), "half": 70000, "minus": -70000,
        },
        "names": [torch.float32, torch.bfloat16, torch.Size([2, 3]), torch.device("cpu"), torch.device("cuda:1"), torch.strided],
        "small": [torch.tensor(3.5), torch.empty(0), torch.empty(0, 3), torch.tensor(True), torch.empty(0)],
        "leaves": [torch.ones(2, requires_grad=True), nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3), False)],
        "tied": {"a": weight, "b": weight, "c": weight.detach(), "d": weight.data},
        "attributes": [marked, plain],
        "training": {"model": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3},
        "random": torch.Generator().manual_seed(5).get_state(),
        "strided": [torch.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1), torch.view_as_real(torch.ones(2) + 1j)],
        "apart": [(y := torch.arange(10.0))[:3], y[5:]],
    }  # fmt: skip


def seen(torch: Any, value: Any) -> Any:
    """All that matters of an object, in Python's terms."""
    if isinstance(value, torch.Tensor):
        elements = value.detach()
        elements = (elements.to(torch.int64) if "uint" in str(value.dtype) else elements).tolist()
        return [type(value).__name__, str(value.dtype), list(value.shape), list(value.stride()) if value.numel() else 0,
                value.requires_grad, elements, dict(value.__dict__)]  # fmt: skip
    if isinstance(value, dict):
        extra = sorted(value.__dict__) if hasattr(value, "__dict__") else []
        return [type(value).__name__, {key: seen(torch, part) for key, part in value.items()}, extra]
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, [seen(torch, part) for part in value]]
    return value
