"""The layers, by torch's names; each file is loaded when one of its layers is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from livetape.nn._lazy import lazy as _lazy
from livetape.nn.modules.module import Module

if TYPE_CHECKING:
    from livetape.nn.modules.activation import (
        CELU,
        ELU,
        GELU,
        GLU,
        SELU,
        Hardshrink,
        Hardsigmoid,
        Hardswish,
        Hardtanh,
        LeakyReLU,
        LogSigmoid,
        LogSoftmax,
        Mish,
        PReLU,
        ReLU,
        ReLU6,
        RReLU,
        Sigmoid,
        SiLU,
        Softmax,
        Softmax2d,
        Softmin,
        Softplus,
        Softshrink,
        Softsign,
        Tanh,
        Tanhshrink,
        Threshold,
    )
    from livetape.nn.modules.adaptive import AdaptiveLogSoftmaxWithLoss
    from livetape.nn.modules.attention import MultiheadAttention
    from livetape.nn.modules.batchnorm import (
        BatchNorm1d,
        BatchNorm2d,
        BatchNorm3d,
        LazyBatchNorm1d,
        LazyBatchNorm2d,
        LazyBatchNorm3d,
        SyncBatchNorm,
    )
    from livetape.nn.modules.container import Container, ModuleDict, ModuleList, Sequential
    from livetape.nn.modules.conv import (
        Conv1d,
        Conv2d,
        Conv3d,
        ConvTranspose1d,
        ConvTranspose2d,
        ConvTranspose3d,
        LazyConv1d,
        LazyConv2d,
        LazyConv3d,
        LazyConvTranspose1d,
        LazyConvTranspose2d,
        LazyConvTranspose3d,
    )
    from livetape.nn.modules.distance import CosineSimilarity, PairwiseDistance
    from livetape.nn.modules.dropout import (
        AlphaDropout,
        Dropout,
        Dropout1d,
        Dropout2d,
        Dropout3d,
        FeatureAlphaDropout,
    )
    from livetape.nn.modules.flatten import Flatten, Unflatten
    from livetape.nn.modules.fold import Fold, Unfold
    from livetape.nn.modules.instancenorm import (
        InstanceNorm1d,
        InstanceNorm2d,
        InstanceNorm3d,
        LazyInstanceNorm1d,
        LazyInstanceNorm2d,
        LazyInstanceNorm3d,
    )
    from livetape.nn.modules.linear import Bilinear, Identity, LazyLinear, Linear
    from livetape.nn.modules.linear_cross_entropy import LinearCrossEntropyLoss, LinearCrossEntropyOptions
    from livetape.nn.modules.loss import (
        BCELoss,
        BCEWithLogitsLoss,
        CosineEmbeddingLoss,
        CrossEntropyLoss,
        CTCLoss,
        GaussianNLLLoss,
        HingeEmbeddingLoss,
        HuberLoss,
        KLDivLoss,
        L1Loss,
        MarginRankingLoss,
        MSELoss,
        MultiLabelMarginLoss,
        MultiLabelSoftMarginLoss,
        MultiMarginLoss,
        NLLLoss,
        NLLLoss2d,
        PoissonNLLLoss,
        SmoothL1Loss,
        SoftMarginLoss,
        TripletMarginLoss,
        TripletMarginWithDistanceLoss,
    )
    from livetape.nn.modules.normalization import CrossMapLRN2d, GroupNorm, LayerNorm, LocalResponseNorm, RMSNorm
    from livetape.nn.modules.padding import (
        CircularPad1d,
        CircularPad2d,
        CircularPad3d,
        ConstantPad1d,
        ConstantPad2d,
        ConstantPad3d,
        ReflectionPad1d,
        ReflectionPad2d,
        ReflectionPad3d,
        ReplicationPad1d,
        ReplicationPad2d,
        ReplicationPad3d,
        ZeroPad1d,
        ZeroPad2d,
        ZeroPad3d,
    )
    from livetape.nn.modules.parameters import ParameterDict, ParameterList
    from livetape.nn.modules.pixelshuffle import ChannelShuffle, PixelShuffle, PixelUnshuffle
    from livetape.nn.modules.pooling import (
        AdaptiveAvgPool1d,
        AdaptiveAvgPool2d,
        AdaptiveAvgPool3d,
        AdaptiveMaxPool1d,
        AdaptiveMaxPool2d,
        AdaptiveMaxPool3d,
        AvgPool1d,
        AvgPool2d,
        AvgPool3d,
        FractionalMaxPool2d,
        FractionalMaxPool3d,
        LPPool1d,
        LPPool2d,
        LPPool3d,
        MaxPool1d,
        MaxPool2d,
        MaxPool3d,
        MaxUnpool1d,
        MaxUnpool2d,
        MaxUnpool3d,
    )
    from livetape.nn.modules.rnn import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNBase, RNNCell, RNNCellBase
    from livetape.nn.modules.sparse import Embedding, EmbeddingBag
    from livetape.nn.modules.transformer import (
        Transformer,
        TransformerDecoder,
        TransformerDecoderLayer,
        TransformerEncoder,
        TransformerEncoderLayer,
    )
    from livetape.nn.modules.upsampling import Upsample, UpsamplingBilinear2d, UpsamplingNearest2d

__getattr__, __dir__, __all__ = _lazy(
    __name__,
    {
        "activation": (
            "CELU ELU GELU GLU SELU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid LogSoftmax "
            "Mish PReLU ReLU ReLU6 RReLU Sigmoid SiLU Softmax Softmax2d Softmin Softplus Softshrink Softsign Tanh "
            "Tanhshrink Threshold"
        ),
        "adaptive": "AdaptiveLogSoftmaxWithLoss",
        "attention": "MultiheadAttention",
        "batchnorm": "BatchNorm1d BatchNorm2d BatchNorm3d LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d SyncBatchNorm",
        "channelshuffle": "",
        "container": "Container ModuleDict ModuleList Sequential",
        "conv": (
            "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d LazyConv1d LazyConv2d "
            "LazyConv3d LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d"
        ),
        "distance": "CosineSimilarity PairwiseDistance",
        "dropout": "AlphaDropout Dropout Dropout1d Dropout2d Dropout3d FeatureAlphaDropout",
        "flatten": "Flatten Unflatten",
        "fold": "Fold Unfold",
        "instancenorm": (
            "InstanceNorm1d InstanceNorm2d InstanceNorm3d LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d"
        ),
        "lazy": "",
        "linear": "Bilinear Identity LazyLinear Linear",
        "linear_cross_entropy_options": "",
        "linear_cross_entropy": "LinearCrossEntropyLoss LinearCrossEntropyOptions",
        "loss": (
            "BCELoss BCEWithLogitsLoss CosineEmbeddingLoss CrossEntropyLoss CTCLoss GaussianNLLLoss "
            "HingeEmbeddingLoss HuberLoss KLDivLoss L1Loss MarginRankingLoss MSELoss MultiLabelMarginLoss "
            "MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss NLLLoss2d PoissonNLLLoss SmoothL1Loss "
            "SoftMarginLoss TripletMarginLoss TripletMarginWithDistanceLoss"
        ),
        "module": "Module",
        "normalization": "CrossMapLRN2d GroupNorm LayerNorm LocalResponseNorm RMSNorm",
        "padding": (
            "CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d ReflectionPad1d "
            "ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d ZeroPad1d "
            "ZeroPad2d ZeroPad3d"
        ),
        "parameters": "ParameterDict ParameterList",
        "pixelshuffle": "ChannelShuffle PixelShuffle PixelUnshuffle",
        "pooling": (
            "AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d "
            "AdaptiveMaxPool3d AvgPool1d AvgPool2d AvgPool3d FractionalMaxPool2d FractionalMaxPool3d LPPool1d "
            "LPPool2d LPPool3d MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d"
        ),
        "rnn": "GRU LSTM RNN GRUCell LSTMCell RNNBase RNNCell RNNCellBase",
        "sparse": "Embedding EmbeddingBag",
        "transformer": "Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer",
        "upsampling": "Upsample UpsamplingBilinear2d UpsamplingNearest2d",
        "utils": "",
    },
)
