"""One training step told as text: what the forward appends to the tape, and what the backward makes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import livetape as torch
from livetape import nn

Node = Any  # an operation's node or AccumulateGrad; torch has no common public class for the two


def one_step(model: nn.Sequential, criterion: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> str:
    """Run one forward and one backward of the model, and describe both.

    The model's gradients are left as they were found: None after construction, and None again.
    """
    story = _Story({id(parameter): name for name, parameter in model.named_parameters()})
    lines = ["Forward: each layer appends nodes to the tape"]
    outputs = images
    for name, layer in model.named_children():
        outputs = layer(outputs)
        lines += [f"  {name}: {layer} -> {shape(outputs)}", *story.append(outputs.grad_fn)]
    loss = criterion(outputs, labels)
    lines += [f"  loss: {criterion} -> {loss.item():.4f}", *story.append(loss.grad_fn)]

    lines += ["", "Backward: the nodes are walked newest first, each handing gradients to the next"]
    held = story.count_saved()
    walk: list[str] = []
    hooks = [node.register_prehook(story.noting(node, walk)) for node in story.nodes]
    loss.backward()
    for hook in hooks:
        hook.remove()
    lines += [*walk, "", "Received by the leaves, in .grad"]
    width = max(len(name) for name, _ in model.named_parameters())
    for name, parameter in model.named_parameters():
        lines.append(f"  {name:{width}}  {shape(parameter.grad):10} norm {parameter.grad.norm().item():.4f}")
    lines += ["", f"Freed: {held - story.count_saved()} of {held} saved tensors, node by node during the walk"]
    model.zero_grad()
    return "\n".join(lines)


def shape(tensor: torch.Tensor) -> str:
    return str(tuple(tensor.shape))


class _Story:
    """The nodes seen so far, numbered in the order in which they are told."""

    def __init__(self, names: dict[int, str]) -> None:
        self.names = names
        self.nodes: list[Node] = []
        self.numbers: dict[Node, int] = {}

    def append(self, newest: Node) -> Iterator[str]:
        """A line for each node below ``newest`` that was not told yet, those it leads to first."""
        stack = [(newest, False)]
        while stack:
            node, reached = stack.pop()
            if node in self.numbers:
                continue
            if reached:
                self.nodes.append(node)
                self.numbers[node] = len(self.nodes)
                yield f"    {self.title(node):24}{self.edges(node)}"
                continue
            stack.append((node, True))
            stack += [(below, False) for below, _ in reversed(node.next_functions) if below is not None]

    def title(self, node: Node) -> str:
        return f"#{self.numbers[node]} {type(node).__name__}"

    def edges(self, node: Node) -> str:
        variable = getattr(node, "variable", None)
        if variable is not None:
            return f"leaf {self.names.get(id(variable), '?')} {shape(variable)}"
        targets = [f"#{self.numbers[below]}" if below is not None else "-" for below, _ in node.next_functions]
        saved = [f"{name} {shape(value)}" for name, value in saved_tensors(node)]
        return f"next {', '.join(targets)}" + (f"; saves {', '.join(saved)}" if saved else "")

    def noting(self, node: Node, walk: list[str]) -> Callable[[tuple[torch.Tensor, ...]], None]:
        def note(gradients: tuple[torch.Tensor, ...]) -> None:
            walk.append(f"    {self.title(node):24}receives {', '.join(map(shape, gradients))}")

        return note

    def count_saved(self) -> int:
        return sum(1 for node in self.nodes for _ in saved_tensors(node))


def saved_tensors(node: Node) -> Iterator[tuple[str, torch.Tensor]]:
    """What a node keeps for its formula and has not let go yet."""
    for name in dir(node):
        if name.startswith("_saved_"):
            try:
                value = getattr(node, name)
            except RuntimeError:  # freed by a backward
                continue
            if isinstance(value, torch.Tensor):
                yield name.removeprefix("_saved_"), value
