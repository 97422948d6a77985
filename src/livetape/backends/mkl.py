"""Intel's MKL, which there is none of (source: ``torch.backends.mkl``)."""

from __future__ import annotations

VERBOSE_OFF = 0
VERBOSE_ON = 1


def is_available() -> bool:
    """False: matrix products are NumPy's BLAS."""
    return False


class verbose:
    """Accepted: there are no messages to print."""

    def __init__(self, enable: int) -> None:
        self.enable = enable

    def __enter__(self) -> verbose | None:
        return None if self.enable == VERBOSE_OFF else self

    def __exit__(self, *exc: object) -> None:
        pass
