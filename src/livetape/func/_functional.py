"""functionalize and debug_unwrap (source: ``torch.func``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from livetape._pytree import tree_flatten, tree_unflatten
from livetape._tape.modes import local
from livetape._tape.tensor import TensorBase, version_of, wrap
from livetape.autograd._dual import KEY
from livetape.func._arrays import Batched
from livetape.func._levels import wrapped
from livetape.ops.basics import clone, copy_

_WHAT = """functionalize(f, remove='mutations'): received invalid argument for remove={}. Valid options are:
     remove='mutations': all inplace and out= operators will be removed from the program, and replaced with their \
out-of-place equivalents.
     remove='mutations_and_views': In addition to the above, all aliasing operators {{view}} will be replaced with their \
non-aliasing counterparts, {{view}}_copy."""


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """The same function, working on copies of its inputs; what it changes in place is copied back (source: ``torch.func``).

    The results share no memory with the inputs. A tape records values, not memory, so there is nothing else to remove.

    >>> import livetape as torch
    >>> x = torch.ones(2)
    >>> torch.func.functionalize(lambda t: t.add_(1).view(2, 1))(x), x
    (tensor([[2.],
            [2.]]), tensor([2., 2.]))
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(_WHAT.format(remove))

    def inner(*args: Any, **kwargs: Any) -> Any:
        given, spec = tree_flatten((args, kwargs))
        twins = [clone(v) if isinstance(v, TensorBase) else v for v in given]
        before = [int(version_of(t)) if isinstance(t, TensorBase) else 0 for t in twins]
        args, kwargs = tree_unflatten(twins, spec)
        found = func(*args, **kwargs)
        for original, twin, version in zip(given, twins, before):
            if isinstance(original, TensorBase) and version_of(twin) != version:
                copy_(original, twin)
        return found

    return wrapped(func, inner)


def debug_unwrap(tensor: Any, *, recurse: bool = True) -> Any:
    """What is inside a tensor of a transform: for a look at its values, not to compute with (source: ``torch.func``).

    >>> import livetape as torch
    >>> def show(x):
    ...     print(torch.func.debug_unwrap(x))
    ...     return x
    >>> _ = torch.vmap(show)(torch.ones(2))
    tensor([1., 1.])
    """
    if not local.levels:
        return tensor
    while True:
        array = tensor.array
        if tensor.recorded or KEY in tensor.__dict__:
            tensor = wrap(tensor.array, tensor.dtype, tensor._size)
        elif type(array) is Batched and array.inner is not None:
            tensor = array.inner
        else:
            return tensor
        if not recurse:
            return tensor
