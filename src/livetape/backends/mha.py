"""The switch of attention's fast path (source: ``torch.backends.mha``)."""

from __future__ import annotations

_fastpath = [True]


def get_fastpath_enabled() -> bool:
    """The switch's state."""
    return _fastpath[0]


def set_fastpath_enabled(value: bool) -> None:
    """Set the switch."""
    _fastpath[0] = value
