"""Optimisers (source: ``torch.optim``); each file is loaded when its optimiser is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from livetape.nn._lazy import lazy as _lazy
from livetape.optim.optimizer import Optimizer

if TYPE_CHECKING:
    from livetape.optim import lr_scheduler, swa_utils
    from livetape.optim.adadelta import Adadelta
    from livetape.optim.adafactor import Adafactor
    from livetape.optim.adagrad import Adagrad
    from livetape.optim.adam import Adam, AdamW
    from livetape.optim.adamax import Adamax
    from livetape.optim.asgd import ASGD
    from livetape.optim.lbfgs import LBFGS
    from livetape.optim.muon import Muon
    from livetape.optim.nadam import NAdam
    from livetape.optim.radam import RAdam
    from livetape.optim.rmsprop import RMSprop
    from livetape.optim.rprop import Rprop
    from livetape.optim.sgd import SGD
    from livetape.optim.sparse_adam import SparseAdam

__getattr__, __dir__, __all__ = _lazy(
    __name__,
    {
        "adadelta": "Adadelta",
        "adafactor": "Adafactor",
        "adagrad": "Adagrad",
        "adam": "Adam AdamW",
        "adamax": "Adamax",
        "adamw": "",
        "asgd": "ASGD",
        "lbfgs": "LBFGS",
        "lr_scheduler": "",
        "muon": "Muon",
        "nadam": "NAdam",
        "optimizer": "Optimizer",
        "radam": "RAdam",
        "rmsprop": "RMSprop",
        "rprop": "Rprop",
        "sgd": "SGD",
        "sparse_adam": "SparseAdam",
        "swa_utils": "",
    },
)
__all__ += ["lr_scheduler", "swa_utils"]
