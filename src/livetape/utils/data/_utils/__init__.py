"""What the loader is made of: collating, fetching, worker processes."""

from __future__ import annotations

from livetape.utils.data._utils import collate, fetch, pin_memory, worker
from livetape.utils.data._utils.errors import ExceptionWrapper, KeyErrorMessage

MP_STATUS_CHECK_INTERVAL = 5.0
"""Seconds after which a process that waits for another looks whether the other still lives."""
