"""Memory layouts and formats: torch names several, of which dense strided memory is the one that exists here."""

from __future__ import annotations


class _Named:
    """An object that stands for its name."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return "torch." + self.name

    def __reduce__(self) -> str:
        return self.name

    def __copy__(self) -> _Named:
        return self

    def __deepcopy__(self, memo: object) -> _Named:
        return self


class layout(_Named):
    """How a tensor's memory is organised (source: ``torch.layout``)."""

    __slots__ = ()


class memory_format(_Named):
    """The order of a tensor's dimensions in memory (source: ``torch.memory_format``)."""

    __slots__ = ()


layout.__module__ = memory_format.__module__ = "torch"

strided = layout("strided")
sparse_coo = layout("sparse_coo")
sparse_csr = layout("sparse_csr")
sparse_csc = layout("sparse_csc")
sparse_bsr = layout("sparse_bsr")
sparse_bsc = layout("sparse_bsc")
contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")

NAMES = ["channels_last", "channels_last_3d", "contiguous_format", "layout", "memory_format", "preserve_format", "sparse_bsc",
         "sparse_bsr", "sparse_coo", "sparse_csc", "sparse_csr", "strided"]
