"""All parameters of a module after a backward, one line each."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape._tape.tensor import shape_of
from livetape.inspect.explain import Finding, Inquiry
from livetape.inspect.words import Report, count_text, names_of, shape_text


def audit(module: Any, loss: Any = None) -> Report:
    """Which parameters of a module have a gradient, and why the others have none, or one that is zero or nan.

    module   a module, a dictionary {name: tensor} or pairs as ``named_parameters()`` gives
    loss     what backward() was called on; without it, the newest live result that depends on a parameter

    >>> import livetape as torch
    >>> net = torch.nn.ModuleDict({"used": torch.nn.Linear(2, 1), "spare": torch.nn.Linear(2, 1)})
    >>> loss = net["used"](torch.ones(1, 2)).sum()
    >>> loss.backward()
    >>> print(audit(net, loss))
    used.weight   [1, 2]  ok
    ...
    """
    if hasattr(module, "named_parameters"):
        pairs = list(module.named_parameters())
    else:
        pairs = list(module.items() if hasattr(module, "items") else module)
    inquiry = Inquiry(loss, names_of(module), [tensor for _, tensor in pairs])
    rows = [(name, tensor, inquiry.explain(tensor)) for name, tensor in pairs]
    wide = max([len(name) for name, _, _ in rows], default=0)
    shapes = [shape_text(shape_of(tensor)) for _, tensor, _ in rows]
    across = max([len(shape) for shape in shapes], default=0)
    lines = []
    if inquiry.guessed:
        lines.append(f"for {inquiry.loss_text()}, the newest live result that depends on these parameters")
    for (name, tensor, finding), shape in zip(rows, shapes):
        lines.append(f"{name:{wide}}  {shape:{across}}  {_line(tensor, finding)}")
    faults = [finding for _, _, finding in rows if finding.reason not in ("ok", "frozen")]
    frozen = sum(finding.reason == "frozen" for _, _, finding in rows)
    good = count_text(len(rows) - frozen - len(faults), "parameter has", "parameters have")
    lines.append(
        f"{good} a finite gradient, {len(faults):,} {'has' if len(faults) == 1 else 'have'} none or a bad one"
        + (f", {frozen:,} {'is' if frozen == 1 else 'are'} frozen" if frozen else "")
    )
    for note in dict.fromkeys(note for finding in faults for note in (*finding.evidence[1:], "Next: " + finding.step)):
        lines.append("  " + note)
    return Report("\n".join(lines), faults[0].reason if faults else "ok")


def _line(tensor: Any, finding: Finding) -> str:
    """One parameter in one line."""
    if finding.reason == "ok":
        return f"ok      norm {_norm(tensor._gradient.array):.4g}"
    if finding.reason == "frozen":
        return "frozen  requires_grad is False"
    start = finding.verdict.removeprefix(".grad is ")
    if start.startswith("None: "):
        start = "None    " + start[6:]
    elif finding.reason == "zero":
        start = "zero"
    detail = finding.brief or (finding.evidence[0] if finding.evidence else "")
    return f"{start:<6}{'; ' if len(start) > 6 else '  '}{detail}" if detail else start


def _norm(array: Any) -> float:
    wide = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
    return float(np.sqrt(np.sum(np.abs(wide) ** 2)))
