"""What all tests share: one seed, alone, after others and in whichever worker; and the builds of the C++ kernels."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest

import livetape
from livetape.kernels.compiled import native


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    random.seed(1)
    np.random.seed(1)
    livetape.manual_seed(1)


@pytest.fixture(params=["baseline", "v3", "v4"])
def isa(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each build of the C++ kernels that this processor has."""
    before = native.isa()
    if not native.use_isa(request.param):
        pytest.skip(f"no {request.param} here")
    yield request.param
    native.use_isa(before)
