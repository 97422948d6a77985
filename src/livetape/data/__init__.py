"""The small data sets that come with livetape, as NumPy arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np


def digits() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """1,797 handwritten digits: images, uint8 (1797, 8, 8) with values 0 to 16, and labels, uint8 (1797,).

    Source: UCI "Optical Recognition of Handwritten Digits", test part (CC BY 4.0); see README.md beside this file.

    >>> images, labels = digits()
    >>> images.shape, labels[:10].tolist()
    ((1797, 8, 8), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    """
    with np.load(Path(__file__).with_name("digits.npz")) as stored:
        return stored["images"], stored["labels"]
