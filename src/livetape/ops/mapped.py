"""Tensors whose memory is that of a file."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape.ops.options import finish, kind_or_out


def from_file(
    filename: Any,
    shared: bool | None = None,
    size: int | None = 0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = False,
    requires_grad: Any = False,
) -> Any:
    """The first ``size`` elements of a file. With ``shared``, changes go into the file, which is made or grown if need be.

    Source: ``torch.from_file``.
    """
    kind = kind_or_out("from_file", dtype, None)
    path, count = os.fspath(filename), size or 0
    wanted = count * kind.itemsize
    if not shared:
        try:
            has = os.stat(path).st_size
        except FileNotFoundError:
            text = f"unable to open file <{path}> in read-only mode: No such file or directory (2)"
            raise noted(RuntimeError(text)) from None
        if has < wanted:
            text = f"file <{path}> size <{has}> is smaller than the required mapping size <{wanted}>"
            raise noted(RuntimeError(text))
    elif not os.path.exists(path) or os.stat(path).st_size < wanted:
        with open(path, "ab") as file:
            file.truncate(wanted)
    if count:
        array = np.asarray(np.memmap(path, kind.np, "r+" if shared else "c", shape=(count,)))
    else:
        array = np.empty(0, kind.np)  # no file can be mapped for nothing
    return finish("from_file", array, kind, device, requires_grad, layout, pin_memory, None)


FUNCTIONS = ["from_file"]
