"""OpenMP, which there is none of (source: ``torch.backends.openmp``)."""

from __future__ import annotations


def is_available() -> bool:
    """False: threads are the package's own, see ``set_num_threads``."""
    return False
