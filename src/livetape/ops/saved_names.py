"""What torch calls the values that nodes save: ``y.grad_fn._saved_*``, where the table's names differ."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

# class of node: names of the table, and torch's for them
_RENAMED: dict[str, dict[str, str]] = {
    "AminmaxBackward0": {"result0": "min", "result1": "max"},
    "AdaptiveMaxPool2DBackward0": {"result1": "result1"},
    "AdaptiveMaxPool3DBackward0": {"result1": "result1"},
    "BatchNormWithUpdateBackward0": {"result1": "result1"},
    "FractionalMaxPool2DBackward0": {"result1": "result1"},
    "FractionalMaxPool3DBackward0": {"result1": "result1"},
    "FrexpBackward0": {"result1": "exponent"},
    "LinalgCholeskyExBackward0": {"result0": "L"},
    "LinalgEigBackward0": {"result0": "eigenvalues", "result1": "eigenvectors"},
    "LinalgEighBackward0": {"result0": "eigenvalues", "result1": "eigenvectors"},
    "LinalgInvExBackward0": {"result0": "inverse"},
    "LinalgLstsqBackward0": {"result0": "solution"},
    "LinalgLuBackward0": {"result0": "P", "result1": "L", "result2": "U"},
    "LinalgLuFactorExBackward0": {"result0": "LU", "result1": "pivots"},
    "LinalgQrBackward0": {"result0": "Q", "result1": "R"},
    "LinalgSlogdetBackward0": {"result0": "sign"},
    "LinalgSolveExBackward0": {"result0": "result"},
    "LinalgSvdBackward0": {"result0": "U", "result1": "S", "result2": "Vh"},
    "MaxPool2DWithIndicesBackward0": {"result1": "result1"},
    "MaxPool3DWithIndicesBackward0": {"result1": "result1"},
    "NativeBatchNormBackward0": {"result1": "result1"},
    "NativeBatchNormLegitBackward0": {"result1": "result1"},
    "NativeGroupNormBackward0": {"result1": "result1"},
    "NativeLayerNormBackward0": {"result1": "result1"},
    "TriangularSolveBackward0": {"result0": "solution"},
}

# class of node: what it saves, and torch does not
_HIDDEN: dict[str, str] = {
    "AdaptiveAvgPool2DBackward0": "self_sym_sizes",
    "AdaptiveAvgPool3DBackward0": "self_sym_sizes",
    "AdaptiveMaxPool2DBackward0": "self_sym_sizes",
    "AdaptiveMaxPool3DBackward0": "self_sym_sizes",
    "AddbmmBackward0": "batch1_sym_sizes self_sym_sizes",
    "AddmmBackward0": "flipped self_sym_sizes",
    "AddmvBackward0": "self_sym_sizes",
    "AddrBackward0": "self_sym_sizes",
    "AsStridedBackward0": "layout self_sym_sizes",
    "AsStridedScatterBackward0": "layout self_sym_sizes",
    "AvgPool2DBackward0": "out self_sym_sizes",
    "AvgPool3DBackward0": "out self_sym_sizes",
    "BaddbmmBackward0": "self_sym_sizes",
    "BinaryCrossEntropyBackward0": "self_sym_sizes",
    "BinaryCrossEntropyWithLogitsBackward0": "self_sym_sizes",
    "BlockDiagBackward0": "inputs_sym_sizes",
    "CatBackward0": "inputs_sym_sizes",
    "CeluBackward0": "input_scale scale",
    "ChannelShuffleBackward0": "self_sym_sizes",
    "CholeskySolveBackward0": "input2_sym_sizes self_sym_sizes",
    "ComplexBackward0": "imag_sym_sizes real_sym_sizes",
    "ConvolutionBackward0": "input_sym_sizes weight_sym_sizes",
    "CummaxBackward0": "self_sym_sizes",
    "CumminBackward0": "self_sym_sizes",
    "DiagonalScatterBackward0": "src_sym_sizes",
    "EmbeddingBackward0": "weight_sym_sizes",
    "EmbeddingBagBackward0": "weight_sym_sizes",
    "FftC2RBackward0": "last_dim_size",
    "FftR2CBackward0": "self_sym_sizes",
    "FractionalMaxPool2DBackward0": "self_sym_sizes",
    "FractionalMaxPool3DBackward0": "self_sym_sizes",
    "GatherBackward0": "dims self_sym_sizes keepdim",
    "Im2ColBackward0": "self_sym_sizes",
    "IndexAddBackward0": "source_sym_sizes",
    "IndexCopyBackward0": "source_sym_sizes",
    "IndexPutBackward0": "values_sym_sizes",
    "IndexReduceBackward0": "source_sym_sizes",
    "LinalgCrossBackward0": "other_sym_sizes self_sym_sizes",
    "LinalgLstsqBackward0": "vector",
    "LinalgLuSolveBackward0": "B_sym_sizes LU_sym_sizes",
    "LinalgSolveExBackward0": "A_sym_sizes B_sym_sizes",
    "LinalgSolveTriangularBackward0": "B_sym_sizes self_sym_sizes",
    "LuUnpackBackward0": "LU_data_sym_sizes",
    "MaskedSelectBackward0": "self_sym_sizes",
    "MaxPool2DWithIndicesBackward0": "out result self_sym_sizes",
    "MaxPool3DWithIndicesBackward0": "out result self_sym_sizes",
    "MaxUnpool2DBackward0": "size",
    "MaxUnpool3DBackward0": "size",
    "NarrowCopyBackward0": "end",
    "NativeLayerNormBackward0": "eps",
    "NllLoss2DBackward0": "self_sym_sizes",
    "NllLossBackward0": "self_sym_sizes",
    "PolarBackward0": "abs_sym_sizes angle_sym_sizes",
    "PutBackward0": "source_sym_sizes",
    "ScatterAddBackward0": "src_sym_sizes",
    "ScatterBackward0": "src_sym_sizes",
    "ScatterReduceBackward0": "src_sym_sizes",
    "SelectScatterBackward0": "src_sym_sizes",
    "SliceScatterBackward0": "src_sym_sizes",
    "StackBackward0": "inputs_sym_sizes",
    "TakeBackward0": "self_sym_sizes",
    "TriangularSolveBackward0": "A_sym_sizes self_sym_sizes",
    "UnbindBackward0": "self_sym_sizes",
    "UpsampleBicubic2DBackward0": "taps",
    "UpsampleBilinear2DAaBackward0": "taps",
    "UpsampleBilinear2DBackward0": "taps",
    "UpsampleLinear1DBackward0": "taps",
    "UpsampleTrilinear3DBackward0": "taps",
    "WhereBackward0": "other_sym_sizes self_sym_sizes",
}

_FIXED: dict[str, dict[str, Any]] = {
    "AddBackward0": {"alpha": 1},
    "SubBackward0": {"alpha": 1},
    "RsubBackward1": {"alpha": 1},
    "LogitBackward0": {"eps": None},
    "LinalgLuFactorExBackward0": {"pivot": True},
    "EmbeddingBackward0": {"sparse": False},
    "GatherBackward0": {"sparse_grad": False},
}

# class of node: what torch saves, and follows from what the node saves: (name there, function of it)
_COUNT = ("self_size", math.prod)
_DERIVED: dict[str, dict[str, tuple[str, Callable[..., Any]]]] = {
    "MeanBackward0": {"self_sym_numel": _COUNT},
    "MeanBackward1": {"self_sym_numel": _COUNT},
    "EmbeddingBackward0": {"weight_sym_argsize_0": ("weight_size", lambda size: size[0])},
    "EmbeddingBagBackward0": {"weight_sym_argsize_0": ("weight_size", lambda size: size[0])},
    "LinalgSvdBackward0": {"S_sym_argsize_minus_1": ("result1", lambda s: s.shape[-1])},
}
_NONE: dict[str, Any] = {}


def shown_name(kind: str, name: str, size: bool, second: bool) -> str | None:
    """What torch calls a value that the table calls ``name`` in a node of class ``kind``; None for what it has not.

    size      it is the size of an input
    second    it is the second result
    """
    if name == "wanted":  # which gradients are asked for: the table's own
        return None
    renamed = _RENAMED.get(kind)
    if renamed is not None and name in renamed:
        return renamed[name]
    if size:
        name = name.removesuffix("_size") + "_sym_sizes"
    elif second:
        name = "indices"
    hidden = _HIDDEN.get(kind)
    return None if hidden is not None and name in hidden.split() else name


def fixed_values(kind: str) -> dict[str, Any]:
    """What torch saves in a node of this class, and is the same in all that the table makes."""
    return _FIXED.get(kind, _NONE)


def derived_values(kind: str) -> dict[str, tuple[str, Callable[..., Any]]]:
    """What torch saves in a node of this class, and follows from what the table saves."""
    return _DERIVED.get(kind, _NONE)


def shown_value(name: str, value: Any) -> Any:
    """A saved dimension as torch shows it, which takes it for a number without sign."""
    if not name.startswith(("dim", "offset", "diagonal")):
        return value
    if type(value) is int:
        return value % 2**64
    if type(value) in (tuple, list):
        return tuple([v % 2**64 if type(v) is int else v for v in value])
    return value
