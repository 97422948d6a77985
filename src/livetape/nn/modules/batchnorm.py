"""Batch normalisation."""

from __future__ import annotations

from typing import Any

from livetape import dtypes, ops
from livetape.nn import functional as F
from livetape.nn import init
from livetape.nn.modules._names import own_forward
from livetape.nn.modules.lazy import LazyModuleMixin
from livetape.nn.modules.module import Module
from livetape.nn.parameter import Parameter, UninitializedBuffer, UninitializedParameter
from livetape.tensor import Tensor

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "SyncBatchNorm",
]


class _NormBase(Module):
    """What batch and instance normalisation share: affine parameters and running statistics, each optional."""

    _version = 2
    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]
    num_features: int
    eps: float
    momentum: float | None
    affine: bool
    track_running_stats: bool
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = Parameter(ops.empty(num_features, device=device, dtype=dtype))
        else:
            self.register_parameter("weight", None)
        if affine and bias:
            self.bias = Parameter(ops.empty(num_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        if track_running_stats:
            self.register_buffer("running_mean", ops.zeros(num_features, device=device, dtype=dtype))
            self.register_buffer("running_var", ops.ones(num_features, device=device, dtype=dtype))
            self.register_buffer("num_batches_tracked", ops.tensor(0, dtype=dtypes.int64, device=device))
        else:
            self.register_buffer("running_mean", None)
            self.register_buffer("running_var", None)
            self.register_buffer("num_batches_tracked", None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget all batches seen."""
        if self.track_running_stats:
            self.running_mean.zero_()  # type: ignore[union-attr]
            self.running_var.fill_(1)  # type: ignore[union-attr]
            self.num_batches_tracked.zero_()  # type: ignore[union-attr]

    def reset_parameters(self) -> None:
        """Weight 1, bias 0, and no batches seen."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        raise NotImplementedError

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        version = local_metadata.get("version", None)
        key = prefix + "num_batches_tracked"
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            # Checkpoints of version 1 have no count.
            counter = self.num_batches_tracked
            state_dict[key] = (
                counter if counter is not None and counter.device.type != "meta" else ops.tensor(0, dtype=dtypes.int64)
            )
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class _BatchNorm(_NormBase):
    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        factor = 0.0 if self.momentum is None else self.momentum
        buffers = self._buffers
        training = self.training
        if training and self.track_running_stats:
            counter = buffers["num_batches_tracked"]
            if counter is not None:
                counter.add_(1)
                if self.momentum is None:  # the plain average of all batches
                    factor = 1.0 / float(counter)
        mean, var = buffers["running_mean"], buffers["running_var"]
        # In evaluation the batch's own statistics serve only where none were kept.
        use_batch = training or (mean is None and var is None)
        if training and not self.track_running_stats:
            mean = var = None
        params = self._parameters
        try:
            weight, bias = params["weight"], params["bias"]
        except KeyError:
            weight, bias = self.weight, self.bias
        return F.batch_norm(input, mean, var, weight, bias, use_batch, factor, self.eps)


class _LazyNormBase(LazyModuleMixin, _NormBase):
    weight: UninitializedParameter  # type: ignore[assignment]
    bias: UninitializedParameter  # type: ignore[assignment]

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device=device, dtype=dtype, bias=False)
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
        if affine and bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = ops.tensor(0, dtype=dtypes.int64, device=device)

    def reset_parameters(self) -> None:
        """Weight 1, bias 0, if the size is known."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Take the number of channels from ``input``."""
        if self.has_uninitialized_params():
            self.num_features = input.shape[1]
            for tensor in (self.weight, self.bias, self.running_mean, self.running_var):
                if isinstance(tensor, (UninitializedParameter, UninitializedBuffer)):
                    tensor.materialize((self.num_features,))
            self.reset_parameters()


def _expect(input: Tensor, *dims: int) -> None:
    if input.dim() not in dims:
        expected = " or ".join(f"{d}D" for d in dims)
        raise ValueError(f"expected {expected} input (got {input.dim()}D input)")


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of (N, C) or (N, C, L) (Ioffe & Szegedy 2015)."""

    def _check_input_dim(self, input: Tensor) -> None:
        _expect(input, 2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of (N, C, H, W)."""

    def _check_input_dim(self, input: Tensor) -> None:
        _expect(input, 4)


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of (N, C, D, H, W)."""

    def _check_input_dim(self, input: Tensor) -> None:
        _expect(input, 5)


class LazyBatchNorm1d(_LazyNormBase, _BatchNorm):
    """A BatchNorm1d that takes its size from the first input."""

    cls_to_become = BatchNorm1d

    def _check_input_dim(self, input: Tensor) -> None:
        _expect(input, 2, 3)


class LazyBatchNorm2d(_LazyNormBase, _BatchNorm):
    """A BatchNorm2d that takes its size from the first input."""

    cls_to_become = BatchNorm2d

    def _check_input_dim(self, input: Tensor) -> None:
        _expect(input, 4)


class LazyBatchNorm3d(_LazyNormBase, _BatchNorm):
    """A BatchNorm3d that takes its size from the first input."""

    cls_to_become = BatchNorm3d

    def _check_input_dim(self, input: Tensor) -> None:
        _expect(input, 5)


@own_forward
class SyncBatchNorm(_BatchNorm):
    """Batch normalisation whose statistics span the processes of a group; here, of this process."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device=device, dtype=dtype, bias=bias
        )
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    def _check_non_zero_input_channels(self, input: Tensor) -> None:
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    @classmethod
    def convert_sync_batchnorm(cls, module: Any, process_group: Any = None) -> Any:
        """``module`` with all its batch normalisation layers replaced by synchronised ones."""
        converted = module
        if isinstance(module, _BatchNorm):
            converted = SyncBatchNorm(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                bias=module.bias is not None,
            )
            for name in ("weight", "bias"):
                if module._parameters[name] is not None:
                    setattr(converted, name, module._parameters[name])
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                setattr(converted, name, module._buffers[name])
            converted.training = module.training
        for name, child in module.named_children():
            converted.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return converted
