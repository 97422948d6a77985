"""What torch would compute with: names, switches and answers, on a machine that has none of it (``torch.backends``).

Switches can be set and read, and choose nothing: livetape computes with NumPy and its own loops.
"""

from __future__ import annotations

from livetape.backends import cpu, cuda, cudnn, mha, mkl, mkldnn, mps, nnpack, openmp, opt_einsum, quantized, xnnpack

__all__ = [
    "cpu",
    "cuda",
    "cudnn",
    "fp32_precision",
    "mha",
    "mkl",
    "mkldnn",
    "mps",
    "nnpack",
    "openmp",
    "opt_einsum",
    "quantized",
    "xnnpack",
]

fp32_precision = "none"
