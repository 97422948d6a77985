"""Schedules of learning rates (source: ``torch.optim.lr_scheduler``)."""

from __future__ import annotations

from livetape.optim._schedule import EPOCH_DEPRECATION_WARNING, LRScheduler, _LRScheduler
from livetape.optim._schedule_compound import ChainedScheduler, SequentialLR
from livetape.optim._schedule_cyclic import CyclicLR, OneCycleLR
from livetape.optim._schedule_simple import (
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    ReduceLROnPlateau,
    StepLR,
)

__all__ = [
    "EPOCH_DEPRECATION_WARNING",
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
    "_LRScheduler",
]
