"""What ``Module.to`` and its like do with parameters (source: ``torch.__future__``)."""

from __future__ import annotations

_overwrite_module_params_on_conversion = False
_swap_module_params_on_conversion = False


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Whether ``module.to(...)``, ``double()`` and the like put new parameters into the module."""
    global _overwrite_module_params_on_conversion
    _overwrite_module_params_on_conversion = value


def get_overwrite_module_params_on_conversion() -> bool:
    """Whether conversions put new parameters into the module; else they change ``data``, the default."""
    return _overwrite_module_params_on_conversion


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Whether conversions and ``load_state_dict`` swap the contents of parameters by ``utils.swap_tensors``."""
    global _swap_module_params_on_conversion
    _swap_module_params_on_conversion = value


def get_swap_module_params_on_conversion() -> bool:
    """Whether conversions swap; it takes precedence over overwriting."""
    return _swap_module_params_on_conversion
