"""Sequences of different lengths in one tensor (source: ``torch.nn.utils.rnn``)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any, NamedTuple

from livetape import dtypes, ops
from livetape.tensor import Tensor

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class PackedSequence_(NamedTuple):
    """The fields of a PackedSequence."""

    data: Any
    batch_sizes: Any
    sorted_indices: Any
    unsorted_indices: Any


class PackedSequence(PackedSequence_):
    """Sequences packed step by step: first the first elements of all, then the second ones, and so on.

    ``batch_sizes`` says how many sequences reach each step. The sequences are ordered by falling length;
    ``sorted_indices`` and ``unsorted_indices`` lead there and back, if they were not so from the start.
    """

    def __new__(
        cls, data: Any, batch_sizes: Any = None, sorted_indices: Any = None, unsorted_indices: Any = None
    ) -> Any:
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be created "
                "manually. They should be instantiated by functions like pack_sequence and "
                "pack_padded_sequences in nn.utils.rnn. https://pytorch.org/docs/stable/nn.html"
                "#torch.nn.utils.rnn.pack_sequence"
            )
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """With the data moved or cast; itself if nothing changes."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        return type(self)(data, self.batch_sizes, self.sorted_indices, self.unsorted_indices)

    def cpu(self, *args: Any, **kwargs: Any) -> Any:
        """On the CPU, where it is."""
        return self.to("cpu")

    def cuda(self, *args: Any, **kwargs: Any) -> Any:
        """As on a build without CUDA: an error."""
        return self.data.cuda(*args, **kwargs)

    def double(self) -> Any:
        """With float64 data."""
        return self.to(dtype=dtypes.float64)

    def float(self) -> Any:
        """With float32 data."""
        return self.to(dtype=dtypes.float32)

    def half(self) -> Any:
        """With float16 data."""
        return self.to(dtype=dtypes.float16)

    def long(self) -> Any:
        """With int64 data."""
        return self.to(dtype=dtypes.int64)

    def int(self) -> Any:
        """With int32 data."""
        return self.to(dtype=dtypes.int32)

    def short(self) -> Any:
        """With int16 data."""
        return self.to(dtype=dtypes.int16)

    def char(self) -> Any:
        """With int8 data."""
        return self.to(dtype=dtypes.int8)

    def byte(self) -> Any:
        """With uint8 data."""
        return self.to(dtype=dtypes.uint8)

    def pin_memory(self) -> Any:
        """Itself."""
        return self

    @property
    def is_cuda(self) -> bool:
        """False."""
        return False

    def is_pinned(self) -> bool:
        """False."""
        return False


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes this one."""
    return None if permutation is None else ops.argsort(permutation)


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack a tensor of padded sequences, (T, B, *) or (B, T, *), of the given lengths."""
    counts = [int(n) for n in (lengths.tolist() if isinstance(lengths, Tensor) else lengths)]
    order = None
    if not enforce_sorted:
        order = sorted(range(len(counts)), key=lambda i: -counts[i])
        counts = [counts[i] for i in order]
    if batch_first:
        input = input.transpose(0, 1)
    if len(counts) != input.size(1):
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(counts)} (batch_size={input.size(1)})"
        )
    if any(a < b for a, b in itertools.pairwise(counts)):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can "
            "pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this "
            "requirement if you do not need ONNX exportability."
        )
    if counts and counts[-1] <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    indices = None
    if order is not None:
        indices = ops.tensor(order, dtype=dtypes.int64)
        input = input.index_select(1, indices)
    longest = counts[0] if counts else 0
    sizes = [sum(n > step for n in counts) for step in range(longest)]
    data = ops.cat([input[step, :size] for step, size in enumerate(sizes)])
    return PackedSequence(data, ops.tensor(sizes, dtype=dtypes.int64), indices, None)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """The padded tensor of packed sequences, and their lengths."""
    sizes = sequence.batch_sizes.tolist()
    longest = len(sizes)
    if total_length is not None:
        if total_length < longest:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, but "
                f"got total_length={total_length} and max sequence length being {longest}"
            )
    lengths = [sum(size > i for size in sizes) for i in range(sizes[0])]
    steps, start = [], 0
    for size in sizes:
        step = sequence.data[start : start + size]
        start += size
        if size < sizes[0]:
            rest = ops.full((sizes[0] - size, *step.shape[1:]), padding_value, dtype=step.dtype)
            step = ops.cat([step, rest])
        steps.append(step)
    steps += [ops.full(steps[0].shape, padding_value, dtype=steps[0].dtype)] * ((total_length or longest) - longest)
    padded = ops.stack(steps, 1 if batch_first else 0)
    found = ops.tensor(lengths, dtype=dtypes.int64)
    if sequence.unsorted_indices is not None:
        padded = padded.index_select(0 if batch_first else 1, sequence.unsorted_indices)
        found = found[sequence.unsorted_indices]
    return padded, found


def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Stack sequences (L, *) of different lengths, padded to the longest: (T, B, *) or (B, T, *)."""
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    found = list(sequences.unbind(0)) if isinstance(sequences, Tensor) else list(sequences)
    if not found:
        raise RuntimeError("received an empty list of sequences")
    longest = max(s.size(0) for s in found)
    padded = []
    for sequence in found:
        missing = longest - sequence.size(0)
        if missing:
            rest = ops.full((missing, *sequence.shape[1:]), padding_value, dtype=sequence.dtype)
            sequence = ops.cat([sequence, rest] if padding_side == "right" else [rest, sequence])
        padded.append(sequence)
    return ops.stack(padded, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences of a padded tensor, without the padding."""
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [rows[i, : int(n)] for i, n in enumerate(lengths.tolist())]


def pack_sequence(sequences: Any, enforce_sorted: bool = True) -> PackedSequence:
    """Pack a list of sequences."""
    lengths = ops.tensor([s.size(0) for s in sequences], dtype=dtypes.int64)
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences, as a list."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
