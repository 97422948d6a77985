"""Optimisers (source: ``torch.optim``)."""

from __future__ import annotations

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
from livetape.optim.optimizer import Optimizer
from livetape.optim.radam import RAdam
from livetape.optim.rmsprop import RMSprop
from livetape.optim.rprop import Rprop
from livetape.optim.sgd import SGD
from livetape.optim.sparse_adam import SparseAdam

__all__ = ["ASGD", "LBFGS", "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Muon", "NAdam",
           "Optimizer", "RAdam", "RMSprop", "Rprop", "SparseAdam", "lr_scheduler", "swa_utils"]
