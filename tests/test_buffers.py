"""Memory of large arrays is used again; it has a bound, and views keep it."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Iterator

import numpy as np
import pytest

import livetape as torch
from livetape import buffers
from livetape.kernels.compiled import NATIVE

pytestmark = pytest.mark.skipif(not NATIVE or sys.platform != "linux", reason="needs the C++ kernels")
LARGE = 1 << 18  # elements


@pytest.fixture(autouse=True)
def emptied() -> Iterator[None]:
    gc.collect()
    limit = buffers.info().limit
    buffers.set_limit(1 << 30)
    buffers.empty_cache()
    yield
    buffers.set_limit(limit)


def address(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


def test_memory_comes_back_for_the_next_array() -> None:
    first = np.empty(LARGE, np.float32)
    place = address(first)
    del first
    assert buffers.info().kept >= 4 * LARGE
    again = np.empty(LARGE - 100, np.float32)  # a little smaller fits too
    assert address(again) == place and buffers.info().kept < 4 * LARGE


def test_results_of_operations_are_kept() -> None:
    x = torch.ones(LARGE)
    y = x + 1
    place = y.data_ptr()
    del y
    assert (x * 3).data_ptr() == place


def test_a_view_keeps_the_memory_of_its_base() -> None:
    base = torch.arange(LARGE)
    view = base.numpy()[10:20]
    del base
    others = [np.full(LARGE, -1) for _ in range(4)]
    assert view.tolist() == list(range(10, 20)) and len(others) == 4
    assert not any(np.shares_memory(view, other) for other in others)


def test_small_arrays_are_left_to_numpy() -> None:
    np.empty(100)
    assert buffers.info().kept == 0


def test_zeros_are_zero_in_used_memory() -> None:
    used = np.full(LARGE, 7, np.float32)
    place = address(used)
    del used
    cleared = np.zeros(LARGE, np.float32)
    assert address(cleared) == place and not cleared.any()
    assert not np.zeros((3, LARGE)).any()


def test_the_limit_holds() -> None:
    buffers.set_limit(4 * LARGE * 5 // 2)
    arrays = [np.empty(LARGE, np.float32) for _ in range(5)]
    del arrays
    assert 0 < buffers.info().kept <= buffers.info().limit
    buffers.set_limit(0)
    assert buffers.info().kept == 0
    np.empty(LARGE)
    assert buffers.info().kept == 0


def test_empty_cache() -> None:
    np.empty(LARGE)
    assert buffers.info().kept > 0
    buffers.empty_cache()
    assert buffers.info().kept == 0


def test_arrays_that_change_their_size() -> None:
    array = np.arange(LARGE)
    array.resize(3 * LARGE, refcheck=False)
    assert array[LARGE - 1] == LARGE - 1 and not array[LARGE:].any()
    array.resize(10, refcheck=False)
    assert array.tolist() == list(range(10))
    del array
    grown = np.fromiter(iter(range(LARGE)), np.int64)
    assert grown.sum() == LARGE * (LARGE - 1) // 2


def test_memory_of_arrays_is_traced() -> None:
    tracemalloc.start()
    try:
        array = np.empty(LARGE)
        held = tracemalloc.get_traced_memory()[0]
        del array
        assert held - tracemalloc.get_traced_memory()[0] >= 8 * LARGE
    finally:
        tracemalloc.stop()


def test_arrays_may_die_on_other_threads() -> None:
    box = [np.full(LARGE, i) for i in range(20)]
    sums: list[int] = []

    def work() -> None:
        for _ in range(10):
            sums.append(int(box.pop().sum()) // LARGE)
            np.empty(LARGE)
            (torch.ones(LARGE) * 2).sum()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(sums) == list(range(20))


def test_the_child_of_a_fork_has_its_own() -> None:
    np.empty(LARGE)
    child = os.fork()
    if child == 0:
        good = False
        try:
            ones = torch.ones(LARGE)
            good = float((ones + ones).sum()) == 2 * LARGE and buffers.info().kept > 0
        finally:
            os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_numpys_own_allocator_on_request() -> None:
    code = "import livetape, numpy as np; np.empty(1 << 20); assert livetape.buffers.info().kept == 0"
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "LIVETAPE_BUFFERS": "0"})


def test_what_lies_idle_is_given_back() -> None:
    np.empty(LARGE)
    buffers.trim()
    np.empty(2 * LARGE)  # comes after: it stays for another round
    buffers.trim()
    assert 8 * 2 * LARGE <= buffers.info().kept < 8 * 3 * LARGE
    for _ in range(3):
        np.empty(2 * LARGE)
        buffers.trim()
    assert buffers.info().kept >= 8 * 2 * LARGE  # it is in use
    buffers.trim()
    assert buffers.info().kept == 0
