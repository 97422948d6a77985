"""DataParallel where there is no second device to run on."""

from __future__ import annotations

from typing import Any

from livetape.nn.modules.module import Module

__all__ = ["DataParallel", "data_parallel", "parallel_apply"]


class DataParallel(Module):
    """Calls ``module``: there are no devices to spread a batch over (source: ``torch.nn.DataParallel``)."""

    def __init__(self, module: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[Any] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Any,
    inputs: Any,
    device_ids: Any = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """The result of ``module``."""
    if not isinstance(inputs, tuple):
        inputs = (inputs,) if inputs is not None else ()
    return module(*inputs, **(module_kwargs or {}))


def parallel_apply(modules: Any, inputs: Any, kwargs_tup: Any = None, devices: Any = None) -> list[Any]:
    """The results of the modules, each for its inputs, one after another."""
    if len(modules) != len(inputs):
        raise AssertionError(f"The number of modules {len(modules)} is not equal to the number of inputs {len(inputs)}")
    options = [{} for _ in modules] if kwargs_tup is None else kwargs_tup
    return [
        module(*(given if isinstance(given, (list, tuple)) else (given,)), **kwargs)
        for module, given, kwargs in zip(modules, inputs, options)
    ]
