"""What autocast does to operations: the lists of those it runs in another precision, and the interposer that does it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from livetape import dtypes
from livetape._tape.explain import noted
from livetape._tape.modes import is_recording, local, push_interposer, remove_interposer
from livetape._tape.tensor import TensorBase
from livetape.autograd._dual import run_below
from livetape.ops.basics import cast
from livetape.thread_modes import casting

# Rows by name. What torch lists beside them is made of these, or asks for its casts itself: see `Autocast.lower`.
LOWER = frozenset("mm bmm addmm addbmm baddbmm convolution conv_tbc prelu_kernel".split())
SINGLE = frozenset(
    "adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d binary_cross_entropy binary_cross_entropy_with_logits cdist "
    "cholesky cholesky_inverse cholesky_solve fft_c2c fft_c2r fft_r2c fractional_max_pool2d fractional_max_pool3d geqrf "
    "huber_loss linalg_cholesky_ex linalg_eig linalg_eigh linalg_householder_product linalg_inv_ex linalg_lstsq "
    "linalg_lu_factor_ex linalg_lu_solve linalg_qr linalg_solve_ex linalg_svd max_unpool2d "
    "max_unpool3d mse_loss multi_margin_loss multilabel_margin_loss nll_loss nll_loss2d ormqr polar prod "
    "reflection_pad1d reflection_pad2d replication_pad1d replication_pad2d replication_pad3d smooth_l1_loss "
    "soft_margin_loss trace triangular_solve view_as_complex".split()
)
WIDEST = frozenset("cat stack index_copy".split())


class Settings:
    """What one thread has set."""

    def __init__(self) -> None:
        self.enabled: dict[str, Any] = {}
        self.dtypes: dict[str, Any] = {}
        self.caches = True
        self.nesting = 0
        self.cache: dict[int, tuple[Any, Any]] = {}  # id of a leaf: the leaf, and its copy in lower precision


def settings() -> Settings:
    """This thread's settings."""
    found: Settings | None = local.autocast
    if found is None:
        found = local.autocast = Settings()
    return found


def lower_dtype() -> Any:
    """The dtype in which autocast runs operations on the CPU."""
    return settings().dtypes.get("cpu", dtypes.bfloat16)


def _eligible(value: Any) -> bool:
    return isinstance(value, TensorBase) and value.dtype.category == dtypes.FLOAT and value.dtype is not dtypes.float64


def _each(change: Callable[[Any], Any], value: Any) -> Any:
    if isinstance(value, TensorBase):
        return change(value)
    if isinstance(value, (list, tuple)) and any(isinstance(v, TensorBase) for v in value):
        return type(value)([_each(change, v) for v in value])
    return value


def to_lower(value: Any) -> Any:
    """A tensor in lower precision. A leaf's copy is remembered until the outermost autocast ends."""
    kind = lower_dtype()
    if not _eligible(value) or value.dtype is kind:
        return value
    held = settings()
    leaf = value.recorded and value.node is None and value.base is None and value.dtype is dtypes.float32
    if not (leaf and held.caches and is_recording()):
        return cast(value, kind)
    known = held.cache.get(id(value))
    if known is None:
        known = held.cache[id(value)] = (value, cast(value, kind))
    return known[1]


def to_single(value: Any) -> Any:
    """A tensor in single precision."""
    return cast(value, dtypes.float32) if _eligible(value) and value.dtype is not dtypes.float32 else value


def _widest(values: Any) -> Any:
    """What brings tensors to the widest of their dtypes."""
    kind = lower_dtype()
    for value in values:
        if _eligible(value) and value.dtype is not kind:
            if value.dtype is not dtypes.float32:
                raise noted(RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize"))
            return to_single
    return to_lower


class Autocast:
    """The interposer of autocast."""

    casts = True

    def intercept(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run an operation, its arguments cast if it is listed. What is changed in place keeps its dtype, as in torch."""
        if not kwargs:
            name = op.name
            if name in LOWER:
                args = tuple([_each(to_lower, a) for a in args])
            elif name in SINGLE:
                args = tuple([_each(to_single, a) for a in args])
            elif name in WIDEST:
                change = _widest(args[0] if op.listed else args)
                args = tuple([_each(change, a) for a in args])
        return run_below(op, args, kwargs)

    def intercept_function(self, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a custom Function; autocast holds inside its forward too."""
        below = local.interposers
        local.interposers = (*below, self)
        try:
            return cls._apply(*args, **kwargs)
        finally:
            local.interposers = below

    def fits(self, tensors: Any) -> bool:
        """Whether tensors of several dtypes are brought to one: those of double precision are not."""
        return all(_eligible(t) for t in tensors)

    # ------------------------------------------------------------ functions that are made of several operations
    def lower(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Run a function on arguments of lower precision, and what it is made of as it is."""
        return self.below(
            function,
            *[_each(to_lower, a) for a in args],
            **{name: _each(to_lower, a) for name, a in kwargs.items()},
        )

    def single(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """`lower`, in single precision."""
        return self.below(
            function,
            *[_each(to_single, a) for a in args],
            **{name: _each(to_single, a) for name, a in kwargs.items()},
        )

    def below(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Run a function without autocast."""
        stack = local.interposers
        local.interposers = tuple([i for i in stack if i is not self])
        try:
            return function(*args, **kwargs)
        finally:
            local.interposers = stack


AUTOCAST = Autocast()


def enable(on: bool) -> None:
    """Put the autocast before this thread's operations, or take it away."""
    there = AUTOCAST in local.interposers
    if on and not there:
        push_interposer(AUTOCAST)
        casting.threads += 1
    elif there and not on:
        remove_interposer(AUTOCAST)
        casting.threads -= 1
