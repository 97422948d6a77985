"""Which of several equal elements a selection takes.

Any choice is right, but it decides which element receives the gradient, so torch's is made: that of the selection
algorithms of its C++ library. They run in Python, and only on rows that do have ties.
"""

from __future__ import annotations

from typing import Any

LIMIT = 4096  # elements of a tensor up to which a selection breaks ties so
SORT_LIMIT = 1024  # and a sort, which takes longer


class Row:
    """A row of values to be put in order, each with the place it came from."""

    def __init__(self, values: list[Any], largest: bool) -> None:
        self.items: list[tuple[Any, int]] = [(value, i) for i, value in enumerate(values)]
        self.largest = largest

    def before(self, a: tuple[Any, int], b: tuple[Any, int]) -> bool:
        """Whether ``a`` comes before ``b``; NaN counts as the largest."""
        x, y = a[0], b[0]
        if self.largest:
            return bool((x != x and y == y) or x > y)
        return bool((x == x and y != y) or x < y)

    def swap(self, a: int, b: int) -> None:
        """Exchange two items."""
        items = self.items
        items[a], items[b] = items[b], items[a]

    # ------------------------------------------------------------ quicksort's parts
    def partition(self, first: int, last: int) -> int:
        """Split around the median of three, and return where the second part begins."""
        items = self.items
        a, b, c = first + 1, first + (last - first) // 2, last - 1
        if self.before(items[a], items[b]):
            chosen = b if self.before(items[b], items[c]) else c if self.before(items[a], items[c]) else a
        else:
            chosen = a if self.before(items[a], items[c]) else c if self.before(items[b], items[c]) else b
        self.swap(first, chosen)
        pivot = items[first]
        low, high = first + 1, last
        while True:
            while self.before(items[low], pivot):
                low += 1
            high -= 1
            while self.before(pivot, items[high]):
                high -= 1
            if low >= high:
                return low
            self.swap(low, high)
            low += 1

    def insert(self, first: int, last: int) -> None:
        """Insertion sort."""
        items = self.items
        for i in range(first + 1, last):
            item = items[i]
            if self.before(item, items[first]):
                place = first
            else:
                place = i
                while self.before(item, items[place - 1]):
                    place -= 1
            del items[i]
            items.insert(place, item)

    def select(self, nth: int) -> None:
        """Bring the nth item to its place, those before it to its left."""
        first, last = 0, len(self.items)
        depth = 2 * (last.bit_length() - 1)
        while last - first > 3:
            if depth == 0:
                self.heap_select(first, nth + 1, last)
                self.swap(first, nth)
                return
            depth -= 1
            cut = self.partition(first, last)
            if cut <= nth:
                first = cut
            else:
                last = cut
        self.insert(first, last)

    def sort(self, last: int) -> None:
        """Sort the items before ``last``."""
        if last < 2:
            return
        todo = [(0, last, 2 * (last.bit_length() - 1))]
        while todo:
            first, end, depth = todo.pop()
            while end - first > 16:
                if depth == 0:
                    self.heap_select(first, end, end)
                    self.sort_heap(first, end)
                    break
                depth -= 1
                cut = self.partition(first, end)
                todo.append((cut, end, depth))
                end = cut
        self.insert(0, last)

    # ------------------------------------------------------------ heaps
    def sift(self, first: int, hole: int, count: int, item: tuple[Any, int]) -> None:
        """Put ``item`` into the heap of ``count`` items from ``first``, from ``hole`` down, then up."""
        items, top, child = self.items, hole, hole
        while child < (count - 1) // 2:
            child = 2 * (child + 1)
            if self.before(items[first + child], items[first + child - 1]):
                child -= 1
            items[first + hole] = items[first + child]
            hole = child
        if count % 2 == 0 and child == (count - 2) // 2:
            child = 2 * child + 1
            items[first + hole] = items[first + child]
            hole = child
        while hole > top and self.before(items[first + (hole - 1) // 2], item):
            items[first + hole] = items[first + (hole - 1) // 2]
            hole = (hole - 1) // 2
        items[first + hole] = item

    def heap_select(self, first: int, middle: int, last: int) -> None:
        """Make the items that come first a heap between ``first`` and ``middle``."""
        items, count = self.items, middle - first
        for parent in range((count - 2) // 2, -1, -1):
            self.sift(first, parent, count, items[first + parent])
        for i in range(middle, last):
            if self.before(items[i], items[first]):
                item, items[i] = items[i], items[first]
                self.sift(first, 0, count, item)

    def sort_heap(self, first: int, last: int) -> None:
        """Sort a heap."""
        items = self.items
        while last - first > 1:
            last -= 1
            item, items[last] = items[last], items[first]
            self.sift(first, 0, last - first, item)


def topk(values: list[Any], k: int, largest: bool, ordered: bool) -> list[int]:
    """Where the k first elements of a row are."""
    row = Row(values, largest)
    if k * 64 <= len(values):
        row.heap_select(0, k, len(values))
        row.sort_heap(0, k)
    else:
        row.select(k - 1)
        if ordered:
            row.sort(k - 1)
    return [place for _, place in row.items[:k]]


def order(values: list[Any], descending: bool) -> list[int]:
    """Where the elements of a row are in ascending or descending order."""
    row = Row(values, descending)
    row.sort(len(values))
    return [place for _, place in row.items]


def quickselect(values: list[Any], k: int) -> int:
    """Where the k-th smallest element of a row is: Hoare's selection, with the median of three as pivot."""
    row = Row(values, False)
    items = row.items
    low, high = 0, len(items) - 1
    while low < high:
        if high == low + 1:
            if row.before(items[high], items[low]):
                row.swap(low, high)
            break
        row.swap((low + high) // 2, low + 1)
        for a, b in ((low + 1, high), (low, high), (low + 1, low)):
            if row.before(items[b], items[a]):
                row.swap(a, b)
        left, right, pivot = low + 1, high, items[low]
        while True:
            left += 1
            while row.before(items[left], pivot):
                left += 1
            right -= 1
            while row.before(pivot, items[right]):
                right -= 1
            if right < left:
                break
            row.swap(left, right)
        row.swap(low, right)
        if right <= k:
            low = left
        if right >= k:
            high = right - 1
    return items[k][1]
