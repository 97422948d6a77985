"""torch's shuffles and weighted choices: ``randperm`` and ``multinomial``."""

from __future__ import annotations

import math

import numpy as np

from livetape.kernels.bits import BitSource
from livetape.kernels.compiled import native
from livetape.kernels.draws import DIGITS, F4, I8, SCALAR_NAME, narrow, not_implemented, plain, unit
from livetape.kernels.ties import top_order

_SMALL = 256  # below this, swapping in a list is faster
_MOST_CATEGORIES = 2**24
_BROADCAST = 2**22  # comparisons made at once when many short rows are sampled together


# ---------------------------------------------------------------- shuffles
def permutation(bits: BitSource, count: int, dtype: np.dtype = I8) -> np.ndarray:
    """``torch.randperm``: each place, in turn, swaps with itself or a later one.

    >>> permutation(BitSource(0), 5).tolist()
    [4, 0, 1, 3, 2]
    """
    if count < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {count}: [{count}]")
    digits = DIGITS.get(dtype.name)
    if digits:
        if count > 2**digits + 1 and dtype.name != "bfloat16":
            most = "2049" if digits == 11 else f"2^{digits}+1"
            raise RuntimeError(f"n cannot be greater than {most} for {SCALAR_NAME[dtype.name]} type.")
    elif dtype.kind in "iu" and count and count - 1 > int(np.iinfo(dtype).max):
        raise RuntimeError(f"value cannot be converted to type {dtype.name}_t without overflow")
    if not digits and (dtype.kind not in "iu" or dtype.name in ("uint16", "uint32", "uint64")):
        raise not_implemented("randperm", dtype)
    if count < 2:
        return np.arange(count, dtype=dtype)
    if count >= (2**32 - 1) // 20:
        return narrow(_inside_out(bits, count), dtype)
    if count <= _SMALL:
        places = list(range(count))
        for place, word in enumerate(bits.words(count - 1).tolist()):
            other = place + word % (count - place)
            places[place], places[other] = places[other], places[place]
        return narrow(np.array(places, I8), dtype)
    left = np.arange(count, 1, -1, dtype=np.uint32)
    targets = np.remainder(bits.words(count - 1), left).astype(I8)
    targets += np.arange(count - 1)
    return narrow(_after_swaps(targets), dtype)


def _after_swaps(targets: np.ndarray) -> np.ndarray:
    """The order left by swapping place k with place targets[k] >= k for k = 0, 1, ..., without doing it one by one.

    Step k settles place k for good, with what its target holds then: the target's own number, unless an earlier step
    had the same target; then what that earlier step moved there, which is what its own place held until then. What a
    place holds when its step comes is found the same way, from the last earlier step that aimed at it.
    """
    places = np.arange(len(targets) + 1)
    moving = np.flatnonzero(targets != places[:-1])
    aims = targets.take(moving)
    holds = places.copy()
    holds[aims] = moving  # the last step that aims at each place; where there are several, NumPy keeps the last
    active = np.flatnonzero(holds != places)
    while len(active):  # follow the steps back to a place that nothing was moved to, doubling the stride
        link = holds.take(active)
        further = holds.take(link)
        changed = np.flatnonzero(further != link)
        active = active.take(changed)
        holds[active] = further.take(changed)
    result = holds.copy()
    if len(moving):
        keys = aims << 32
        keys |= moving
        keys.sort()  # by target, then by step
        moving, aims = keys & 0xFFFFFFFF, keys >> 32
        result[moving[0]] = aims[0]
        result[moving[1:]] = np.where(aims[1:] == aims[:-1], holds.take(moving[:-1]), aims[1:])
    return result


def _inside_out(bits: BitSource, count: int) -> np.ndarray:
    """torch's shuffle for counts near the range of a word: place i takes what place z <= i held, and z takes i.

    That is a chain of swaps run backwards: the place each number ends in is found by undoing the swaps from the last.
    """
    with bits.lock:
        drawn = bits.pairs(count)
    drawn %= np.arange(1, count + 1, dtype=np.uint64)
    # Reversed in time and mirrored, swap (i, z <= i) becomes swap (k, t >= k): the inverse of the order wanted.
    mirrored = (count - 1) - drawn[:0:-1].astype(I8)
    inverse = (count - 1) - _after_swaps(mirrored)[::-1]
    result = np.empty(count, I8)
    result[inverse] = np.arange(count)
    return result


# ---------------------------------------------------------------- weighted choices
def multinomial(bits: BitSource, weights: np.ndarray, count: int, replacement: bool = False) -> np.ndarray:
    """``torch.multinomial``: indices drawn by weight, int64, of shape (count,) or (rows, count)."""
    if not 0 < weights.ndim <= 2:
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if native is not None and count == 1 and weights.dtype.char in "fd" and 0 < weights.shape[-1] <= _MOST_CATEGORIES:
        found = np.empty((*weights.shape[:-1], 1), I8)
        with bits.lock:
            if native.first_arrivals(bits.capsule, plain(weights), found):
                return found
    if weights.dtype.name not in DIGITS:
        raise RuntimeError(
            f"multinomial only supports floating-point dtypes for input, got: {SCALAR_NAME[weights.dtype.name]}"
        )
    if count <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    categories = weights.shape[-1]
    if not (replacement or count <= categories):
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if categories > _MOST_CATEGORIES:
        raise RuntimeError("number of categories cannot exceed 2^24")
    shape = (*weights.shape[:-1], count)
    if math.prod(shape) == 0:
        return np.empty(shape, I8)
    if categories == 0:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
        )
    with np.errstate(invalid="ignore"):
        if not (weights.max() < np.inf and weights.min() >= 0):
            if not replacement or count == 1:
                raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
            negative = ~(weights.reshape(-1) >= 0)  # of which NaN is one
            first = negative[np.argmax(negative | (weights.reshape(-1) == np.inf))]
            entry = "entry < 0" if first else "entry = infinity or NaN"
            raise RuntimeError(f"invalid multinomial distribution (encountering probability {entry})")
    wide = weights.astype(F4) if weights.dtype.itemsize == 2 else weights
    if not bool(wide.any(-1).all()):
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    if not replacement or count == 1:
        return _without_replacement(bits, weights, count)
    return _with_replacement(bits, np.atleast_2d(wide), count).reshape(shape)


def _without_replacement(bits: BitSource, weights: np.ndarray, count: int) -> np.ndarray:
    """The ``count`` first arrivals of exponential waiting times (the Gumbel trick): the largest weight / wait."""
    wait = -unit(bits, weights.shape)
    np.log1p(wait, out=wait)
    np.negative(wait, out=wait)
    with np.errstate(divide="ignore", over="ignore"):
        race = weights / narrow(wait, weights.dtype)
    if count == 1:
        return np.argmax(race, -1, keepdims=True)
    if race.dtype.itemsize == 2:
        race = race.astype(F4)
    race[np.isnan(race)] = np.inf
    found = np.argsort(-race, axis=-1, kind="stable")[..., : count + 1]
    ordered = np.take_along_axis(race, found, -1)
    found = found[..., :count].copy()
    tied = (ordered[..., 1:] == ordered[..., :-1]).any(-1)
    for row in zip(*np.nonzero(np.atleast_1d(tied))):
        where = row if race.ndim > 1 else ()
        found[where] = top_order(race[where], count)
    return found


def _with_replacement(bits: BitSource, weights: np.ndarray, count: int) -> np.ndarray:
    """For each row, where 53-bit uniforms fall in the running sums of the weights."""
    sums = np.add.accumulate(weights, axis=1)
    sums /= sums[:, -1:].copy()
    sums[:, -1] = 1
    rows, categories = weights.shape
    drawn = unit(bits, (rows, count))
    if rows > 1 and categories <= 256:
        found = np.empty((rows, count), I8)
        step = max(1, _BROADCAST // (count * categories))
        for start in range(0, rows, step):
            part = slice(start, start + step)
            np.sum(sums[part, None, :] < drawn[part, :, None], axis=2, out=found[part])
        return found
    return np.stack([np.searchsorted(row, points) for row, points in zip(sums, drawn)])
