"""Found as ``torch`` by the child processes of ``livetape run``, whose import path holds this folder."""

import importlib
import os
import sys

try:
    from livetape import alias
except ImportError:  # another environment's Python: it gets its own torch, if it has one
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != here]
else:
    alias.install()
# install() has put this module aside already, with every other torch.
sys.modules.pop("torch", None)
importlib.import_module("torch")
