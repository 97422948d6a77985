"""Operations by the names that torch's dispatcher has for them: ``torch.ops.aten.mm.default``.

A policy of `livetape.utils.checkpoint.create_selective_checkpoint_contexts` is told these, and compares with them. Any name
gives an operation: one that livetape never runs is just never met.
"""

from __future__ import annotations

import sys
from typing import Any

from livetape._tape.explain import noted
from livetape._tape.record import Op
from livetape._tape.tensor import TensorBase
from livetape.ops.native import ATEN
from livetape.ops.table import TABLE

# Rows that torch knows under a name of their own.
NAMES = {
    name: "_" + name
    for name in (
        "conj euclidean_dist embedding_bag fft_c2c fft_c2r fft_r2c linalg_det linalg_eigh linalg_slogdet linalg_solve_ex "
        "linalg_svd log_softmax log_softmax_backward_data prelu_kernel prelu_kernel_backward softmax softmax_backward_data "
        "to_copy unique2 unsafe_view weight_norm_interface"
    ).split()
}

# Overloads, where there are several, by the row's key in the table; then by its name.
_OF_KEY = {
    "clamp.max_tensor": "Tensor",
    "clamp.min_tensor": "Tensor",
    "clamp.tensors": "Tensor",
    "clamp_max.tensor": "Tensor",
    "clamp_min.tensor": "Tensor",
    "div.mode": "Tensor_mode",
    "fill": "Scalar",
    "fill.tensor": "Tensor",
    "fmod.number": "Scalar",
    "index_fill": "int_Scalar",
    "index_fill.tensor": "int_Tensor",
    "lerp.number": "Scalar",
    "masked_fill": "Scalar",
    "masked_fill.drop": "Scalar",
    "max.dim": "dim",
    "mean.dim": "dim",
    "median.dim": "dim",
    "min.dim": "dim",
    "nanmedian.dim": "dim",
    "norm.dim": "ScalarOpt_dim",
    "pow": "Tensor_Tensor",
    "pow.base": "Scalar",
    "pow.number": "Tensor_Scalar",
    "prod.dim": "dim_int",
    "remainder.number": "Scalar",
    "round.decimals": "decimals",
    "rsub.number": "Scalar",
    "scatter.reduce": "reduce",
    "scatter.value": "value",
    "scatter.value_reduce": "value_reduce",
    "sort.stable": "stable",
    "squeeze.dim": "dim",
    "squeeze.dims": "dims",
    "sum.dim": "dim_IntList",
    "sum_to_size": "dim_IntList",
}
_OF_NAME = {
    "isin": "Tensor_Tensor",
    "norm": "Scalar",
    "scatter": "src",
    "scatter_reduce": "two",
    "select": "int",
    "transpose": "int",
    "unbind": "int",
    "where": "self",
    **dict.fromkeys(("var", "std", "var_mean", "std_mean"), "correction"),
    **dict.fromkeys(
        (
            "add bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign div fmod index ldexp lerp "
            "masked_fill mul remainder rsub searchsorted slice split sub unsafe_split xlogy"
        ).split(),
        "Tensor",
    ),
}
_COMPARISONS = frozenset(("eq", "ne", "lt", "le", "gt", "ge"))


class OpOverloadPacket:
    """An operation, whatever its arguments (source: ``torch._ops.OpOverloadPacket``)."""

    def __init__(self, name: str) -> None:
        self.__name__ = name
        self._overloads: dict[str, OpOverload] = {}

    def __getattr__(self, overload: str) -> OpOverload:
        if overload.startswith("__"):
            raise AttributeError(f"'OpOverloadPacket' object has no attribute '{overload}'")
        found = self._overloads.get(overload)
        if found is None:
            found = self._overloads[overload] = OpOverload(self, overload)
        return found

    def __str__(self) -> str:
        return f"aten.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='aten.{self.__name__}')>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the operation."""
        name = self.__name__
        if name.endswith("_") and not name.startswith("_"):
            return getattr(args[0], name)(*args[1:], **kwargs)
        if name in ATEN:
            return ATEN[name](*args, **kwargs)
        functions = vars(sys.modules[__name__.rpartition(".")[0]])  # those of livetape.ops
        for key in (name, name.lstrip("_")):
            if callable(functions.get(key)):
                return functions[key](*args, **kwargs)
            if key in TABLE and not kwargs:
                return TABLE[key].apply(args)
        raise noted(NotImplementedError(f"aten::{name} cannot be called by this name"))


class OpOverload:
    """An operation for certain arguments (source: ``torch._ops.OpOverload``); there is one object for each."""

    namespace = "aten"

    def __init__(self, packet: OpOverloadPacket, overload: str) -> None:
        self.overloadpacket = packet
        self._overloadname = overload
        self.__name__ = f"{packet.__name__}.{overload}"

    def name(self) -> str:
        """The name with its namespace: "aten::add.Tensor"."""
        tail = "" if self._overloadname == "default" else "." + self._overloadname
        return f"aten::{self.overloadpacket.__name__}{tail}"

    def __str__(self) -> str:
        return f"{self.overloadpacket}.{self._overloadname}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.overloadpacket}', overload='{self._overloadname}')>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the operation."""
        return self.overloadpacket(*args, **kwargs)


_packets: dict[str, OpOverloadPacket] = {}
_keys: dict[Op, str] = {}


def __getattr__(name: str) -> OpOverloadPacket:
    if name.startswith("__"):
        raise AttributeError(name)
    return packet(name)


def packet(name: str) -> OpOverloadPacket:
    """The operation of a name."""
    found = _packets.get(name)
    if found is None:
        found = _packets[name] = OpOverloadPacket(name)
    return found


def name_of(op: Op, inplace: bool) -> str:
    """What torch calls the operation of a row."""
    return NAMES.get(op.name, op.name) + ("_" if inplace else "")


def overload_of(op: Op, args: tuple[Any, ...], inplace: bool) -> OpOverload:
    """The operation that a call of a row is."""
    if len(_keys) != len(TABLE):
        _keys.update({row: key for key, row in TABLE.items()})
    overload = _OF_KEY.get(_keys.get(op, "")) or _OF_NAME.get(op.name)
    if overload is None:
        overload = "default"
        if op.name in _COMPARISONS:
            overload = "Tensor" if isinstance(args[1], TensorBase) else "Scalar"
        elif op.name in ("all", "any", "count_nonzero") and len(args) > 1 and args[1] is not None:
            overload = "dim"
    return getattr(packet(name_of(op, inplace)), overload)  # type: ignore[no-any-return]
