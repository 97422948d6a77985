"""livetape's version (source: ``torch.version``)."""

from __future__ import annotations

__version__ = "0.1.0"

#: The PyTorch release whose interface and behaviour livetape follows.
torch_version = "2.13.0"

# torch's names for what it was built with; livetape runs on CPUs alone.
debug = False
cuda: str | None = None
hip: str | None = None
xpu: str | None = None
rocm: str | None = None
git_version: str | None = None
