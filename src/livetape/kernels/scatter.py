"""Adding at positions that may repeat: the backward of gathering."""

from __future__ import annotations

from typing import Any

import numpy as np


def add_at(total: Any, key: tuple[Any, ...], values: Any) -> Any:
    """``total[key] += values``, where every repetition of a place counts; returns ``total``."""
    np.add.at(total, key, values)
    return total
