"""Memory shared with other array libraries (source: ``torch.utils.dlpack``)."""

from livetape.ops.dlpack import DLDeviceType, from_dlpack, to_dlpack

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]
