"""The heart: tensors, nodes, edges and the engine that walks them. It knows no operation by name."""
