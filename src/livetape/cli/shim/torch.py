"""Found as ``torch`` by the child processes of ``livetape run``, whose PYTHONPATH begins with this folder."""

import importlib
import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != _here]
del sys.modules["torch"]
try:
    from livetape import alias
except ImportError:
    pass  # another environment's Python: it gets its own torch
else:
    alias.install()
importlib.import_module("torch")
