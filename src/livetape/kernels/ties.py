"""The order in which torch's CPU ``topk`` returns equal elements: that of the C++ library it was built with.

Where no elements are equal the answer is plain. Where some are, the order follows from every comparison and exchange
that libstdc++'s ``nth_element``, ``sort`` and ``partial_sort`` make, so these are made again here, on a list. This is
slow, and for the rare row where it matters.
"""

from __future__ import annotations

import numpy as np

Item = tuple[float, int]  # value and index; larger values come first
Items = list[Item]

_SORT_BY_INSERTION = 16


def top_order(values: np.ndarray, count: int) -> list[int]:
    """The indices of the ``count`` largest of a row of numbers, without NaN, as torch orders them.

    >>> top_order(np.ones(5), 3)
    [2, 4, 3]
    """
    items = list(zip(values.tolist(), range(len(values))))
    if count * 64 <= len(items):
        _select_in_heap(items, 0, count, len(items))
        _sort_heap(items, 0, count)
    else:
        _nth_element(items, count - 1)
        _sort(items, count - 1)
    return [index for _, index in items[:count]]


# ---------------------------------------------------------------- partitions
def _nth_element(items: Items, nth: int) -> None:
    first, last, depth = 0, len(items), 2 * (len(items).bit_length() - 1)
    while last - first > 3:
        if depth == 0:
            _select_in_heap(items, first, nth + 1, last)
            items[first], items[nth] = items[nth], items[first]
            return
        depth -= 1
        cut = _partition(items, first, last)
        if cut <= nth:
            first = cut
        else:
            last = cut
    _insertion_sort(items, first, last)


def _sort(items: Items, last: int) -> None:
    if last:
        _sort_roughly(items, 0, last, 2 * (last.bit_length() - 1))
        _insertion_sort(items, 0, min(last, _SORT_BY_INSERTION))
        for place in range(_SORT_BY_INSERTION, last):
            _insert(items, place)


def _sort_roughly(items: Items, first: int, last: int, depth: int) -> None:
    while last - first > _SORT_BY_INSERTION:
        if depth == 0:
            _select_in_heap(items, first, last, last)
            _sort_heap(items, first, last)
            return
        depth -= 1
        cut = _partition(items, first, last)
        _sort_roughly(items, cut, last, depth)
        last = cut


def _partition(items: Items, first: int, last: int) -> int:
    """Put the median of three at the front, and what belongs before it before the place returned."""
    a, b, c = first + 1, first + (last - first) // 2, last - 1
    at_a, at_b, at_c = items[a][0], items[b][0], items[c][0]
    if at_a > at_b:
        median = b if at_b > at_c else c if at_a > at_c else a
    else:
        median = a if at_a > at_c else c if at_b > at_c else b
    items[first], items[median] = items[median], items[first]
    pivot = items[first][0]
    low, high = first + 1, last
    while True:
        while items[low][0] > pivot:
            low += 1
        high -= 1
        while pivot > items[high][0]:
            high -= 1
        if low >= high:
            return low
        items[low], items[high] = items[high], items[low]
        low += 1


def _insertion_sort(items: Items, first: int, last: int) -> None:
    for place in range(first + 1, last):
        if items[place][0] > items[first][0]:
            items.insert(first, items.pop(place))
        else:
            _insert(items, place)


def _insert(items: Items, place: int) -> None:
    item = items[place]
    while item[0] > items[place - 1][0]:
        items[place] = items[place - 1]
        place -= 1
    items[place] = item


# ---------------------------------------------------------------- heaps, the smallest on top
def _select_in_heap(items: Items, first: int, middle: int, last: int) -> None:
    size = middle - first
    for parent in range((size - 2) // 2, -1, -1):
        _sift(items, first, parent, size, items[first + parent])
    for place in range(middle, last):
        if items[place][0] > items[first][0]:
            item, items[place] = items[place], items[first]
            _sift(items, first, 0, size, item)


def _sort_heap(items: Items, first: int, last: int) -> None:
    for end in range(last - 1, first, -1):
        item, items[end] = items[end], items[first]
        _sift(items, first, 0, end - first, item)


def _sift(items: Items, first: int, hole: int, size: int, item: Item) -> None:
    """Let the hole sink to the bottom along the smaller children, then let the item rise from there."""
    top = child = hole
    while child < (size - 1) // 2:
        child = 2 * (child + 1)
        if items[first + child][0] > items[first + child - 1][0]:
            child -= 1
        items[first + hole] = items[first + child]
        hole = child
    if size % 2 == 0 and child == (size - 2) // 2:
        child = 2 * child + 1
        items[first + hole] = items[first + child]
        hole = child
    parent = (hole - 1) // 2
    while hole > top and items[first + parent][0] > item[0]:
        items[first + hole] = items[first + parent]
        hole, parent = parent, (parent - 1) // 2
    items[first + hole] = item
