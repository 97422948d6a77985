"""einsum: sums of products over named dimensions, as a chain of batched matrix products."""

from __future__ import annotations

import string
from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.tensor import TensorBase, shape_of
from livetape.ops import products, reduce
from livetape.ops import shape as shapes
from livetape.ops.arithmetic import mul
from livetape.ops.diagonal import diagonal

_LETTERS = string.ascii_uppercase + string.ascii_lowercase


class _Operand:
    """A tensor and the label of each of its dimensions (ellipsis dimensions have negative labels)."""

    __slots__ = ("labels", "tensor")

    def __init__(self, tensor: Any, labels: list[Any]) -> None:
        self.tensor = tensor
        self.labels = labels


def _label(index: int) -> str:
    if not 0 <= index < 52:
        raise noted(RuntimeError(f"einsum(): expected subscripts to be in range [0, 52), but got {index}"))
    return _LETTERS[index]


def _from_sublists(args: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """The equation of the format ``einsum(op1, [0, 1], op2, [1, 2], [0, 2])``."""
    terms: list[str] = []
    operands: list[Any] = []
    rest = list(args)
    while len(rest) >= 2:
        operands.append(rest.pop(0))
        terms.append("".join("..." if s is Ellipsis else _label(s) for s in rest.pop(0)))
    equation = ",".join(terms)
    if rest:
        equation += "->" + "".join("..." if s is Ellipsis else _label(s) for s in rest[0])
    return equation, operands


def _parse(equation: str, operands: list[Any]) -> tuple[list[_Operand], list[Any]]:
    """The labelled operands, and the labels of the result."""
    equation = equation.replace(" ", "")
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    for character in equation.replace("->", "").replace("...", "").replace(",", ""):
        if character not in _LETTERS:
            position = equation.index(character)
            raise noted(
                RuntimeError(
                    f"einsum(): invalid subscript given at index {position} in the equation string, subscripts must "
                    "be in [a-zA-Z]"
                )
            )
    if len(terms) < len(operands):
        raise noted(RuntimeError("einsum(): more operands were provided than specified in the equation"))
    if len(terms) > len(operands):
        raise noted(RuntimeError("einsum(): fewer operands were provided than specified in the equation"))
    ellipsis = 0
    for i, (term, operand) in enumerate(zip(terms, operands)):
        named = len(term.replace("...", ""))
        ndim = operand.array.ndim
        if "..." in term:
            if ndim < named:
                raise noted(
                    RuntimeError(
                        f"einsum(): the number of subscripts in the equation ({named}) is more than the number of "
                        f"dimensions ({ndim}) for operand {i}"
                    )
                )
            ellipsis = max(ellipsis, ndim - named)
        elif ndim != named:
            raise noted(
                RuntimeError(
                    f"einsum(): the number of subscripts in the equation ({named}) does not match the number of "
                    f"dimensions ({ndim}) for operand {i} and no ellipsis was given"
                )
            )
    labelled = [_Operand(operand, _labels(term, operand.array.ndim)) for term, operand in zip(terms, operands)]
    if arrow:
        out = _labels(right, len(right.replace("...", "")) + (ellipsis if "..." in right else 0))
        seen = {label for o in labelled for label in o.labels}
        for label in out:
            if label not in seen and not isinstance(label, int):
                raise noted(
                    RuntimeError(
                        f"einsum(): output subscript {label} does not appear in the equation for any input operand"
                    )
                )
            if out.count(label) > 1:
                raise noted(RuntimeError(f"einsum(): output subscript {label} appears more than once in the output"))
    else:
        counts: dict[Any, int] = {}
        for term in terms:
            for character in term.replace("...", ""):
                counts[character] = counts.get(character, 0) + 1
        out = [*range(-ellipsis, 0), *sorted(c for c, n in counts.items() if n == 1)]
    return labelled, out


def _labels(term: str, ndim: int) -> list[Any]:
    before, dots, after = term.partition("...")
    if not dots:
        return list(term)
    count = ndim - len(before) - len(after)
    return [*before, *range(-count, 0), *after]


def _without_repeats(operand: _Operand, number: int) -> None:
    """Take the diagonal over dimensions that have the same label."""
    while len(set(operand.labels)) < len(operand.labels):
        label = next(l for l in operand.labels if operand.labels.count(l) > 1)
        i = operand.labels.index(label)
        j = operand.labels.index(label, i + 1)
        size = shape_of(operand.tensor)
        if size[i] != size[j]:
            raise noted(
                RuntimeError(
                    f"einsum(): subscript {label} is repeated for operand {number} but the sizes don't "
                    f"match, {size[j]} != {size[i]}"
                )
            )
        operand.tensor = diagonal(operand.tensor, 0, i, j)
        operand.labels = [l for k, l in enumerate(operand.labels) if k not in (i, j)] + [label]


def _sizes(operands: list[_Operand]) -> dict[Any, int]:
    sizes: dict[Any, int] = {}
    for i, operand in enumerate(operands):
        for label, n in zip(operand.labels, shape_of(operand.tensor)):
            known = sizes.get(label, 1)
            if n != 1 and known not in (1, n):
                raise noted(
                    RuntimeError(
                        f"einsum(): subscript {label} has size {n} for operand {i} which does not broadcast with "
                        f"previously seen size {known}"
                    )
                )
            sizes[label] = max(known, n) if n != 0 else 0
    return sizes


def _summed(operand: _Operand, labels: set[Any]) -> None:
    """Sum over the dimensions with these labels."""
    dims = [i for i, l in enumerate(operand.labels) if l in labels]
    if dims:
        operand.tensor = reduce.sum(operand.tensor, dims)
        operand.labels = [l for l in operand.labels if l not in labels]


def _pair(a: _Operand, b: _Operand, kept: list[Any], sizes: dict[Any, int]) -> _Operand:
    """The product of two operands, summed over what is neither in ``kept`` nor of size 1 in either."""
    for x, y in ((a, b), (b, a)):  # a dimension that only one has, or has more than size 1 of, is summed before
        alone = {
            l
            for i, l in enumerate(x.labels)
            if l not in kept
            and (l not in y.labels or (shape_of(y.tensor)[y.labels.index(l)] == 1 and shape_of(x.tensor)[i] != 1))
        }
        _summed(x, alone)
    for l in [l for l in a.labels if l in b.labels and l not in kept]:  # of size 1 in both: nothing to sum
        if all(shape_of(x.tensor)[x.labels.index(l)] == 1 for x in (a, b)):
            for x in (a, b):
                x.tensor = shapes.squeeze(x.tensor, x.labels.index(l))
                x.labels = [k for k in x.labels if k != l]
    for x in (a, b):  # dimensions of size 1 that the other has in full
        other = b if x is a else a
        drop = [i for i, l in enumerate(x.labels) if shape_of(x.tensor)[i] == 1 and l in other.labels]
        if drop and not (x is b and any(a.labels.count(b.labels[i]) == 0 for i in drop)):
            x.tensor = shapes.reshape(x.tensor, [n for i, n in enumerate(shape_of(x.tensor)) if i not in drop])
            x.labels = [l for i, l in enumerate(x.labels) if i not in drop]
    both = [l for l in a.labels if l in b.labels]
    batch = [l for l in both if l in kept]
    inner = [l for l in both if l not in kept]
    rows = [l for l in a.labels if l not in both]
    columns = [l for l in b.labels if l not in both]
    size_a = dict(zip(a.labels, shape_of(a.tensor)))
    size_b = dict(zip(b.labels, shape_of(b.tensor)))
    out = [*batch, *rows, *columns]
    if not inner:  # nothing to sum: a product of corresponding elements
        x = _arranged(a, out)
        y = _arranged(b, out)
        return _Operand(mul(x, y), out)

    def count(labels: list[Any], of: dict[Any, int]) -> int:
        return int(np.prod([of[l] for l in labels], dtype=np.int64))

    n, m, k, p = count(batch, size_a), count(rows, size_a), count(inner, size_a), count(columns, size_b)
    left = shapes.reshape(_permuted(a, [*batch, *rows, *inner]), n, m, k)
    right = shapes.reshape(_permuted(b, [*batch, *inner, *columns]), n, k, p)
    product = products.bmm(left, right)
    return _Operand(shapes.view(product, [{**size_b, **size_a}[l] for l in out]), out)


def _permuted(operand: _Operand, order: list[Any]) -> Any:
    if operand.labels == order:
        return operand.tensor
    return shapes.permute(operand.tensor, [operand.labels.index(l) for l in order])


def _arranged(operand: _Operand, order: list[Any]) -> Any:
    """The tensor with its dimensions in ``order``, of size 1 where it has none."""
    present = [l for l in order if l in operand.labels]
    tensor = _permuted(operand, present)
    if len(present) == len(order):
        return tensor
    sizes = dict(zip(operand.labels, shape_of(operand.tensor)))
    return shapes.reshape(tensor, [sizes.get(l, 1) for l in order])


def _path(operands: list[_Operand], out: list[Any], sizes: dict[Any, int]) -> list[tuple[int, ...]]:
    """The order of contractions: cheapest first for many operands, left to right for two."""
    if len(operands) <= 2:
        return [(0, 1)] if len(operands) == 2 else []
    labels = sorted(sizes, key=str)
    letter = {l: _LETTERS[i] for i, l in enumerate(labels)} if len(labels) <= 52 else None
    if letter is None or 0 in sizes.values():
        return [(0, 1)] * (len(operands) - 1)
    equation = ",".join("".join(letter[l] for l in o.labels) for o in operands) + "->" + "".join(letter[l] for l in out)
    shapes_ = [np.broadcast_to(np.empty(()), [sizes[l] for l in o.labels]) for o in operands]
    found = np.einsum_path(equation, *shapes_, optimize="optimal" if len(operands) < 6 else "greedy")[0][1:]
    steps: list[tuple[int, ...]] = []
    for step in found:  # NumPy may join more than two at once
        places = sorted(step)
        if len(places) < 2:
            continue
        steps.append((places[0], places[1]))
        steps += [(p - k - 2, -1) for k, p in enumerate(places[2:])]
    return steps


def einsum(*args: Any) -> Any:
    """Sums of products over dimensions named in an equation such as "ij,jk->ik" (source: ``torch.einsum``).

    >>> import livetape as torch
    >>> torch.einsum("ij,jk->ik", torch.ones(2, 3), torch.ones(3, 2))
    tensor([[3., 3.],
            [3., 3.]])
    """
    if len(args) < 2:
        raise noted(
            ValueError(
                "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
                "subscripts list"
            )
        )
    if isinstance(args[0], TensorBase):
        equation, operands = _from_sublists(args)
    else:
        equation, operands = args[0], list(args[1:])
        if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
            operands = list(operands[0])
    labelled, out = _parse(equation, operands)
    for number, operand in enumerate(labelled):
        _without_repeats(operand, number)
    sizes = _sizes(labelled)
    if len(labelled) == 1:
        _summed(labelled[0], set(labelled[0].labels) - set(out))
    for step in _path(labelled, out, sizes):
        i, j = sorted(k % len(labelled) for k in step)
        b, a = labelled.pop(j), labelled.pop(i)
        later = {l for o in labelled for l in o.labels}
        labelled.append(_pair(a, b, [l for l in sizes if l in out or l in later], sizes))
    result = labelled[0]
    missing = [l for l in out if l not in result.labels]
    if missing:
        return _arranged(result, out)
    return _permuted(result, out)


FUNCTIONS = ["einsum"]
METHODS: dict[str, Any] = {}
