"""Every test draws the same numbers: alone, after others, and in whichever worker it runs."""

from __future__ import annotations

import random

import numpy as np
import pytest

import livetape


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    random.seed(1)
    np.random.seed(1)
    livetape.manual_seed(1)
