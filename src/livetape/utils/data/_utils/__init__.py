"""What the loader is made of: collating, fetching, worker processes."""

from __future__ import annotations

import importlib
from typing import Any

from livetape.utils.data._utils import collate, fetch, info, pin_memory
from livetape.utils.data._utils.errors import ExceptionWrapper, KeyErrorMessage

MP_STATUS_CHECK_INTERVAL = 5.0
"""Seconds after which a process that waits for another looks whether the other still lives."""


def __getattr__(name: str) -> Any:
    if name == "worker":  # brings multiprocessing with it
        return importlib.import_module(f"{__name__}.worker")
    raise AttributeError(f"module 'torch.utils.data._utils' has no attribute '{name}'")
