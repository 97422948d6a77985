"""What the processor's loops are compiled for (source: ``torch.backends.cpu``)."""

from __future__ import annotations

from livetape.kernels.compiled import native

__all__ = ["get_cpu_capability"]

_NAMES = {"v3": "AVX2", "v4": "AVX512"}


def get_cpu_capability() -> str:
    """ "DEFAULT", "AVX2" or "AVX512": the build of the package's own loops that is in use."""
    return "DEFAULT" if native is None else _NAMES.get(native.isa(), "DEFAULT")
