"""A module's tape as the graph that TensorBoard draws."""

from __future__ import annotations

from typing import Any

from tensorboardX.proto import attr_value_pb2, graph_pb2, node_def_pb2, versions_pb2

from livetape._pytree import tree_leaves
from livetape.autograd.grad_mode import enable_grad
from livetape.tensor import Tensor


def graph_of(model: Any, inputs: Any) -> Any:
    """The nodes of one run, inputs and parameters first; a parameter stands below its module."""
    args = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    with enable_grad():
        args = tuple(
            arg.detach().requires_grad_() if isinstance(arg, Tensor) and arg.is_floating_point() else arg
            for arg in args
        )
        found = model(*args)
    names = {id(param): name.replace(".", "/") for name, param in model.named_parameters()}
    names |= {id(arg): f"input/{i}" for i, arg in enumerate(args)}
    roots = [leaf for leaf in tree_leaves(found) if isinstance(leaf, Tensor)]
    nodes: dict[Any, str] = {}
    made: dict[str, Any] = {}
    ahead = [leaf.grad_fn for leaf in roots if leaf.grad_fn is not None]
    while ahead:
        node = ahead.pop()
        if node in nodes:
            continue
        variable = getattr(node, "variable", None)
        nodes[node] = (
            f"{node.name()}_{len(nodes)}" if variable is None else names.get(id(variable), f"leaf/{len(nodes)}")
        )
        ahead.extend(edge[0] for edge in node.next_functions if edge[0] is not None)
    for node, name in nodes.items():
        kind = type(node).__name__ if getattr(node, "variable", None) is None else "Parameter"
        made[name] = _node(name, kind, [nodes[edge[0]] for edge in node.next_functions if edge[0] is not None])
    for i, root in enumerate(roots):
        made[f"output/{i}"] = _node(
            f"output/{i}", "Output", [nodes[root.grad_fn]] if root.grad_fn is not None else [], tuple(root.shape)
        )
    return graph_pb2.GraphDef(
        node=sorted(made.values(), key=lambda node: node.op != "Parameter"),
        versions=versions_pb2.VersionDef(producer=22),
    )


def _node(name: str, op: str, inputs: list[str], shape: Any = None) -> Any:
    attributes = {}
    if shape is not None:
        attributes["shape"] = attr_value_pb2.AttrValue(s=str(list(shape)).encode())
    return node_def_pb2.NodeDef(name=name, op=op, input=inputs, attr=attributes)
