"""Event files for TensorBoard, through the library tensorboardX (source: ``torch.utils.tensorboard``).

It is optional: ``pip install 'livetape[tensorboard]'``.
"""

from __future__ import annotations

try:
    import tensorboardX
except ImportError as _error:
    raise ImportError(
        "livetape.utils.tensorboard needs the library tensorboardX: pip install 'livetape[tensorboard]'."
    ) from _error

from livetape.utils.tensorboard.writer import SummaryWriter

FileWriter = tensorboardX.FileWriter
RecordWriter = tensorboardX.RecordWriter

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]
