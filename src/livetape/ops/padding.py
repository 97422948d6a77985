"""Padding with constants, reflections, copies of the edge, and around the circle."""

from __future__ import annotations

from typing import Any

from livetape._tape.explain import argument_error, noted
from livetape._tape.tensor import TensorBase, shape_of
from livetape.dtypes import boolean
from livetape.kernels import padding as kernels
from livetape.kernels.select import refuse
from livetape.ops.dims import as_int, is_integer
from livetape.ops.table import row

# ---------------------------------------------------------------- the rows
CONSTANT_PAD = row(
    "constant_pad_nd",
    lambda self, pad, value: kernels.constant(self, pad, value),
    batch="any",
    self=lambda grad, pad: CONSTANT_PAD.apply((grad, tuple([-p for p in pad]), 0)),
    selects=True,
)


def _mirror_rows(name: str, reflect: bool, dims: int) -> tuple[Any, Any]:
    """The row of a reflecting or repeating pad of ``dims`` dimensions, and that of its backward."""
    node = f"{name}Pad{dims}DBackward"
    key = f"{name.lower()}_pad{dims}d"
    backward = row(
        key + "_backward",
        lambda grad_output, padding: kernels.mirrored_backward(grad_output, padding, reflect),
        tensors="grad_output",
        node=node + "Backward0",
        linear=True,
        batch="fold",
        grad_output=lambda grad, padding: forward.apply((grad, padding)),
    )
    forward = row(
        key,
        lambda self, padding: kernels.mirrored(self, padding, reflect),
        node=node + "0",
        linear=True,
        batch="fold",
        self=lambda grad, padding: backward.apply((grad, padding)),
    )
    return forward, backward


REFLECT = {dims: _mirror_rows("Reflection", True, dims)[0] for dims in (1, 2, 3)}
REPLICATE = {dims: _mirror_rows("Replication", False, dims)[0] for dims in (1, 2, 3)}


# ---------------------------------------------------------------- constant
def constant_pad_nd(input: Any, pad: Any, value: Any = 0) -> Any:
    """``input`` with ``value`` around its last dimensions; negative widths cut off.

    Source: ``torch.constant_pad_nd``.
    """
    widths = _widths("constant_pad_nd", pad)
    size = input.array.shape
    if len(widths) % 2:
        raise noted(RuntimeError(f"Length of pad must be even but instead it equals {len(widths)}"))
    if len(size) * 2 < len(widths):
        raise noted(
            RuntimeError(
                f"Length of pad should be no more than twice the number of dimensions of the input. Pad "
                f"length is {len(widths)}while the input has {len(size)}dimensions."
            )
        )
    _check_cut(size, widths)
    return CONSTANT_PAD.apply((input, widths, value))


def _check_cut(size: Any, widths: Any) -> None:
    for at in range(len(widths) // 2):
        left = size[len(size) - 1 - at]
        for width in (widths[2 * at], widths[2 * at + 1]):
            if width < 0:
                left += width
                if left < 0:
                    raise noted(RuntimeError("narrow(): length must be non-negative."))
        if left + max(0, widths[2 * at]) + max(0, widths[2 * at + 1]) < 0:
            raise noted(RuntimeError("narrow(): length must be non-negative."))


def _widths(name: str, pad: Any) -> tuple[int, ...]:
    if not isinstance(pad, (tuple, list)):
        raise noted(TypeError(f"{name}(): argument 'pad' (position 2) must be tuple of ints, not {type(pad).__name__}"))
    found = []
    for at, width in enumerate(pad):
        if not is_integer(width):
            if at == 0:
                raise noted(
                    TypeError(
                        f"{name}(): argument 'pad' (position 2) must be tuple of ints, but found element of "
                        f"type {type(width).__name__} at pos 0"
                    )
                )
            raise noted(
                TypeError(
                    f"{name}(): argument 'pad' failed to unpack the object at pos {at + 1} with error \"type "
                    f'must be tuple of ints,but got {type(width).__name__}"'
                )
            )
        found.append(as_int(width))
    return tuple(found)


# ---------------------------------------------------------------- the others
_COMBINATIONS = (
    "\nSupported combinations for non-constant padding:\n  - 2D or 3D input: padding size = 2 (pads last "
    "dimension)\n  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n  - 4D or 5D input: "
    "padding size = 6 (pads last 3 dimensions)"
)


def pad(input: Any, pad: Any, mode: str = "constant", value: Any = None) -> Any:
    """``input`` padded: pairs of widths (before, after) from the last dimension on.

    mode  "constant" (with ``value``, default 0), "reflect", "replicate" or "circular"

    Source: ``torch.nn.functional.pad``.

    >>> import livetape as torch
    >>> torch.nn.functional.pad(torch.tensor([1., 2.]), (1, 0))
    tensor([0., 1., 2.])
    """
    if not isinstance(input, TensorBase):
        raise noted(argument_error("pad", 0, input))
    widths = _widths("pad", pad)
    size = input.array.shape
    ndim = len(size)
    if len(widths) % 2:
        raise noted(RuntimeError("Padding length must be divisible by 2"))
    if len(widths) > 2 * ndim:
        raise noted(
            RuntimeError(
                "Padding length should be less than or equal to two times the input dimension but got "
                f"padding length {len(widths)} and input of dimension {ndim}"
            )
        )
    if mode == "constant":
        _check_cut(size, widths)
        return CONSTANT_PAD.apply((input, widths, 0 if value is None else value))
    if value is not None and value != 0:
        raise noted(RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument'))
    if mode not in ("circular", "reflect", "replicate"):
        raise noted(NotImplementedError(f"Unrecognised padding mode {mode}"))
    dims = len(widths) // 2
    if not (dims in (1, 2, 3) and ndim in (dims + 1, dims + 2)):
        raise noted(
            NotImplementedError(
                f"Padding size {len(widths)} is not supported for {ndim}D input tensor." + _COMBINATIONS
            )
        )
    if mode == "circular":
        return _circular(input, widths, dims)
    _check_mirror(input, widths, dims, mode == "reflect")
    return (REFLECT if mode == "reflect" else REPLICATE)[dims].apply((input, widths))


def _check_mirror(input: Any, widths: Any, dims: int, reflect: bool) -> None:
    size = input.array.shape
    if input.dtype is boolean:
        raise noted(refuse(f"{'reflection' if reflect else 'replication'}_pad{dims}d", input.array.dtype))
    batched = len(size) == dims + 2
    if not all(size[1 if batched else 0 :]):
        raise noted(
            RuntimeError(
                f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with possibly 0 batch size and "
                f"other non-zero dimensions for input, but got: {list(size)}"
            )
        )
    for at in range(dims):
        axis = len(size) - 1 - at
        before, after = widths[2 * at], widths[2 * at + 1]
        if reflect and (before >= size[axis] or after >= size[axis]):
            raise noted(
                RuntimeError(
                    f"Argument #{4 + 2 * at}: Padding size should be less than the corresponding input "
                    f"dimension, but got: padding ({before}, {after}) at dimension {axis} of input "
                    f"{list(size)}"
                )
            )
    names = ("D", "H", "W")[3 - dims :]
    sums = [widths[2 * at] + widths[2 * at + 1] for at in reversed(range(dims))]
    out = [n + more for n, more in zip(size[len(size) - dims :], sums)]
    if any(o < 1 for o in out):
        have = " ".join(f"{name}: {n}" for name, n in zip(names, size[len(size) - dims :]))
        made = " ".join(f"{name}: {n}" for name, n in zip(names, out))
        raise noted(RuntimeError(f"input ({have}) is too small. Calculated output {made}"))


def _circular(input: Any, widths: Any, dims: int) -> Any:
    """As torch does: the input is copied into the middle, then each border from the opposite side."""
    size = shape_of(input)
    ndim = len(size)
    shape = list(size)
    for at in range(dims):
        axis, before, after = ndim - 1 - at, widths[2 * at], widths[2 * at + 1]
        shape[axis] = size[axis] + before + after
        if before > size[axis] or after > size[axis]:
            raise noted(RuntimeError("Padding value causes wrapping around more than once."))
        if shape[axis] < 0:
            raise noted(RuntimeError("Negative padding value is resulting in an empty dimension"))
    out = input.new_empty(shape)
    target, source = out, input
    for at in range(dims):
        axis, before, after = ndim - 1 - at, widths[2 * at], widths[2 * at + 1]
        target = _slice(target, axis, max(before, 0), shape[axis] - max(after, 0))
        source = _slice(source, axis, max(-before, 0), size[axis] - max(-after, 0))
    target.copy_(source)
    for at in range(dims):
        axis, before, after = ndim - 1 - at, widths[2 * at], widths[2 * at + 1]
        end = shape[axis] - max(after, 0)
        if before > 0:
            _slice(out, axis, 0, before).copy_(_slice(out, axis, end - before, end))
        if after > 0:
            start = max(before, 0)
            _slice(out, axis, shape[axis] - after, shape[axis]).copy_(_slice(out, axis, start, start + after))
    return out


def _slice(tensor: Any, axis: int, start: int, stop: int) -> Any:
    return tensor.narrow(axis, start, stop - start)


FUNCTIONS = ["constant_pad_nd"]
METHODS: dict[str, Any] = {}
FUNCTIONAL = {"pad": pad}
