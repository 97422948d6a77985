"""ChannelShuffle, where torch defines it."""

from __future__ import annotations

from livetape.nn.modules.pixelshuffle import ChannelShuffle

__all__ = ["ChannelShuffle"]
