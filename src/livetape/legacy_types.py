"""torch.FloatTensor and its siblings: constructors by dtype, from before tensors had dtypes."""

from __future__ import annotations

from typing import Any

from livetape import dtypes
from livetape.ops.literals import legacy
from livetape.tensor import Tensor


class _TypedTensor(type):
    """A type whose instances are the tensors of one dtype."""

    dtype: Any

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype

    def __call__(cls, *args: Any) -> Any:
        if len(args) == 1 and isinstance(args[0], Tensor):
            return args[0].to(cls.dtype)
        return legacy(cls.dtype, *args)

    def __str__(cls) -> str:
        return f"torch.{cls.__name__}"


def _make(name: str, kind: Any) -> Any:
    return _TypedTensor(
        name,
        (),
        {
            "dtype": kind,
            "__module__": "torch",
            "is_cuda": False,
            "__doc__": f"Tensors of dtype {kind!r} (source: ``torch.{name}``).",
        },
    )


FloatTensor = _make("FloatTensor", dtypes.float32)
DoubleTensor = _make("DoubleTensor", dtypes.float64)
HalfTensor = _make("HalfTensor", dtypes.float16)
BFloat16Tensor = _make("BFloat16Tensor", dtypes.bfloat16)
ByteTensor = _make("ByteTensor", dtypes.uint8)
CharTensor = _make("CharTensor", dtypes.int8)
ShortTensor = _make("ShortTensor", dtypes.int16)
IntTensor = _make("IntTensor", dtypes.int32)
LongTensor = _make("LongTensor", dtypes.int64)
BoolTensor = _make("BoolTensor", dtypes.boolean)
