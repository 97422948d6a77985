"""Trees of containers, under the name that users know (source: ``torch.utils._pytree``)."""

from __future__ import annotations

from livetape._pytree import *  # noqa: F403
from livetape._pytree import __all__ as __all__
