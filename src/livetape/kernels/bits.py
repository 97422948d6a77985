"""torch's CPU random engine: the mt19937 words that follow a seed, and the spare normals kept beside them.

torch seeds mt19937 with the low 32 bits of its seed, the way NumPy's ``RandomState`` does, so NumPy's engine gives
the same words, a block at a time.
"""

from __future__ import annotations

import sys
from threading import RLock
from typing import Any

import numpy as np

STATE_SIZE = 5056
WORDS = 624

# torch.get_rng_state(): the engine, Box-Muller's second normal as a double, and the same as a float.
_LAYOUT = np.dtype(
    {
        "names": ["seed", "left", "seeded", "next", "key", "spare", "has_spare", "spare_float", "has_spare_float"],
        "formats": ["<u8", "<i4", "<i4", "<u8", ("<u8", WORDS), "<f8", "<i4", "<f4", "u1"],
        "offsets": [0, 8, 12, 16, 24, 5024, 5040, 5048, 5052],
        "itemsize": STATE_SIZE,
    }
)

_LOW_HALF = slice(0, None, 2) if sys.byteorder == "little" else slice(1, None, 2)
_UINT32 = np.dtype(np.uint32)
_32 = np.uint64(32)


class BitSource:
    """A stream of random 32-bit words, equal to those of a ``torch.Generator`` with this seed.

    Nothing is built before the first word is drawn. ``lock`` is to be held over every draw that belongs together;
    ``spare`` is the normal that torch computes with another one, and keeps for the next call.

    >>> [int(word) for word in BitSource(5489).words(2)]
    [3499211612, 581869302]
    """

    __slots__ = ("__weakref__", "_engine", "_seeder", "_started", "lock", "seed", "spare", "spare_float")

    def __init__(self, seed: int) -> None:
        self.lock = RLock()
        self._engine: Any = None
        self._seeder: Any = None
        self.reseed(seed)

    def reseed(self, seed: int) -> None:
        """Start again from a seed in [0, 2**64)."""
        with self.lock:
            self.seed = seed
            self.spare: float | None = None
            self.spare_float: float | None = None
            self._started = False

    def _start(self) -> Any:
        if self._engine is None:
            # NumPy loads numpy.random when first asked for it, which costs more than importing livetape may.
            self._engine = np.random.MT19937(0)
            self._seeder = np.random.RandomState(self._engine)
        self._seeder.seed(self.seed & 0xFFFFFFFF)
        self._started = True
        return self._engine

    def _raw(self, count: int) -> np.ndarray:
        with self.lock:
            return (self._engine if self._started else self._start()).random_raw(count)

    @property
    def capsule(self) -> Any:
        """The engine as C++ takes it; ``lock`` is to be held while it is used."""
        return (self._engine if self._started else self._start()).capsule

    def words(self, count: int) -> np.ndarray:
        """The next ``count`` words: uint32, a strided view of memory that is the caller's to overwrite."""
        return self._raw(count).view(_UINT32)[_LOW_HALF]

    def pairs(self, count: int) -> np.ndarray:
        """The next ``2 * count`` words in twos, the first the high half: uint64."""
        raw = self._raw(2 * count)
        joined = raw[0::2] << _32
        joined |= raw[1::2]
        return joined

    def state(self) -> np.ndarray:
        """A copy of the state: uint8 of shape (5056,), laid out as ``torch.get_rng_state()`` lays it out."""
        with self.lock:
            engine = (self._engine if self._started else self._start()).state["state"]
            position = int(engine["pos"])
            state = np.zeros((), _LAYOUT)
            state["seed"] = self.seed
            state["left"] = WORDS + 1 - position
            state["seeded"] = 1
            state["next"] = 0 if position == WORDS and _is_fresh(engine["key"], self.seed) else position
            state["key"] = engine["key"]
            if self.spare is not None:
                state["has_spare"] = 1
                state["spare"] = self.spare
            if self.spare_float is not None:
                state["has_spare_float"] = 1
                state["spare_float"] = self.spare_float
        return np.frombuffer(state.tobytes(), np.uint8).copy()

    def load(self, array: np.ndarray) -> None:
        """Take over a state that ``state()`` or torch wrote.

        Raises TypeError unless the array is uint8, RuntimeError if its size or content is not that of a state.
        """
        if array.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        if array.size != STATE_SIZE:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {STATE_SIZE} but found the input RNG state "
                f"size to be {array.size}"
            )
        state = np.frombuffer(array.tobytes(), _LAYOUT)[0]
        left, following = int(state["left"]), int(state["next"])
        if not (state["seeded"] and 0 < left <= WORDS and following <= WORDS):
            raise RuntimeError("Invalid mt19937 state")
        with self.lock:
            engine = self._start()
            # With one left, torch makes the next block before it gives a word: NumPy's position at the end.
            engine.state = {
                "bit_generator": "MT19937",
                "state": {"key": state["key"].astype(np.uint32), "pos": WORDS if left == 1 else following},
            }
            self.seed = int(state["seed"])
            self.spare = float(state["spare"]) if state["has_spare"] else None
            self.spare_float = float(state["spare_float"]) if state["has_spare_float"] else None


def _is_fresh(key: np.ndarray, seed: int) -> bool:
    """Whether the key is as seeding left it, so that torch's ``next`` is still 0: its first two words tell."""
    first = seed & 0xFFFFFFFF
    second = (1812433253 * (first ^ (first >> 30)) + 1) & 0xFFFFFFFF
    return int(key[0]) == first and int(key[1]) == second
