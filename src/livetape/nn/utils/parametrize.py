"""Parametrizations: parameters that are computed from others at every access (source:
``torch.nn.utils.parametrize``)."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from livetape.autograd.grad_mode import no_grad
from livetape.nn.modules.container import ModuleDict, ModuleList
from livetape.nn.modules.module import Module
from livetape.nn.parameter import Parameter
from livetape.tensor import Tensor

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]


class _Cache:
    """What `cached` keeps while it is on: how many blocks are open, and the values by (module, name)."""

    enabled = 0
    values: dict[tuple[int, str], Any] = {}


@contextmanager
def cached() -> Iterator[None]:
    """Within the block every parametrized tensor is computed once, at its first access."""
    _Cache.enabled += 1
    try:
        yield
    finally:
        _Cache.enabled -= 1
        if not _Cache.enabled:
            _Cache.values = {}


def _register(module: Module, name: str, tensor: Any) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _check_kept(what: str, before: Any, after: Any, names: tuple[str, str]) -> None:
    """ValueError if a parametrization changes the dtype or the shape of a tensor."""
    for attribute in ("dtype", "shape"):
        old, new = getattr(before, attribute), getattr(after, attribute)
        if old != new:
            raise ValueError(
                f"Registering a parametrization may not change the {attribute} of the tensor, unless "
                f"{what} is enabled.\n{names[0].format(attribute)}: {old}\n{names[1].format(attribute)}: "
                f"{new}"
            )


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, applied in order to ``original`` (or ``original0``, ``original1``, ...)."""

    original: Tensor
    unsafe: bool

    def __init__(self, modules: Sequence[Module], original: Any, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        with no_grad():
            new: Any = original
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    try:
                        new = module.right_inverse(new)
                    except NotImplementedError:
                        pass
        if not isinstance(new, Tensor) and not isinstance(new, Sequence):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got "
                + type(new).__name__
            )
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        before = original.detach()
        if isinstance(new, Tensor):
            if original.dtype != new.dtype:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                    f"original.dtype: {original.dtype}\nright_inverse(original).dtype: {new.dtype}"
                )
            original.data = new.data
            _register(self, "original", original)
        else:
            for i, part in enumerate(new):
                if not isinstance(part, Tensor):
                    raise ValueError(
                        "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                        f"Got element {i} of the sequence with type {type(part).__name__}."
                    )
                if isinstance(original, Parameter):
                    part = Parameter(part, original.requires_grad)
                part.requires_grad_(original.requires_grad)
                _register(self, f"original{i}", part)
        if not unsafe:
            found = self()
            if not isinstance(found, Tensor):
                raise ValueError(f"A parametrization must return a tensor. Got {type(found).__name__}.")
            _check_kept("`unsafe` flag", before, found, ("unparametrized {}", "parametrized {}"))

    def _originals(self) -> list[Any]:
        return [self.original] if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def right_inverse(self, value: Any) -> None:
        """Set the originals so that the parametrized tensor becomes ``value``."""
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                value = module.right_inverse(value)
            if self.is_tensor:
                if not isinstance(value, Tensor):
                    raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
                parts = [value]
            else:
                if not isinstance(value, Sequence):
                    raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(value).__name__}.")
                if len(value) != self.ntensors:
                    raise ValueError(
                        f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. "
                        f"Got a sequence of length {len(value)}."
                    )
                parts = list(value)
            for i, (part, own) in enumerate(zip(parts, self._originals(), strict=True)):
                name = "original" if self.is_tensor else f"original{i}"
                if not isinstance(part, Tensor):
                    raise ValueError(
                        f"`right_inverse` must return a sequence of tensors. Got element {i} of type "
                        + type(part).__name__
                    )
                if own.dtype != part.dtype:
                    which = "The tensor" if self.is_tensor else f"Tensor {i}"
                    raise ValueError(
                        f"{which} returned by `right_inverse` has dtype {part.dtype} while `{name}` has "
                        f"dtype {own.dtype}"
                    )
                own.data = part.data

    def forward(self) -> Any:
        modules = iter(self)
        found = next(modules)(*self._originals())
        for module in modules:
            found = module(found)
        return found


_NO_PICKLE = (
    "Serialization of parametrized modules is only supported through state_dict(). See:\n"
    "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
    "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
)


def _refuse_pickling(self: Any) -> Any:
    raise RuntimeError(_NO_PICKLE)


def _deepcopy(self: Any, memo: dict[int, Any]) -> Any:
    found = memo.get(id(self))
    if found is None:
        found = memo[id(self)] = self.__new__(self.__class__)
        found.__dict__ = copy.deepcopy(self.__dict__, memo)
    return found


def _inject_new_class(module: Any) -> None:
    """Give a module a class of its own, in which properties can be put."""
    cls = module.__class__
    members: dict[str, Any] = {"__getstate__": _refuse_pickling}
    if not hasattr(cls, "__deepcopy__"):
        members["__deepcopy__"] = _deepcopy
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), members)


def _inject_property(module: Any, tensor_name: str) -> None:
    def get(self: Any) -> Any:
        if not _Cache.enabled:
            return self.parametrizations[tensor_name]()
        key = (id(module), tensor_name)
        found = _Cache.values.get(key)
        if found is None:
            found = _Cache.values[key] = self.parametrizations[tensor_name]()
        return found

    def set_original(self: Any, value: Any) -> None:
        self.parametrizations[tensor_name].right_inverse(value)

    setattr(module.__class__, tensor_name, property(get, set_original))


def register_parametrization(module: Any, tensor_name: str, parametrization: Module, *, unsafe: bool = False) -> Any:
    """Let ``module.tensor_name`` be what ``parametrization`` makes of the original, at every access."""
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_addition(module, tensor_name, parametrization)
        module.parametrizations[tensor_name].append(parametrization)
        module.parametrizations[tensor_name].unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        parametrizations = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _inject_new_class(module)
            module.parametrizations = ModuleDict()
        _inject_property(module, tensor_name)
        module.parametrizations[tensor_name] = parametrizations
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    return module


def _check_addition(module: Any, tensor_name: str, parametrization: Any) -> None:
    before = getattr(module, tensor_name)
    after = parametrization(before)
    if not isinstance(after, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(after).__name__}.")
    _check_kept(
        "the `unsafe` flag",
        before,
        after,
        (f"module.{tensor_name}.{{}}", f"parametrization(module.{tensor_name}).{{}}"),
    )
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        back = parametrization.right_inverse(after)
    except NotImplementedError:
        return
    if not isinstance(back, Tensor):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}")
    for attribute in ("dtype", "shape"):
        if getattr(back, attribute) != getattr(before, attribute):
            raise ValueError(
                f"The tensor returned by parametrization.right_inverse must have the same {attribute} as "
                f"module.{tensor_name}, unless the `unsafe` flag is enabled.\n"
                f"module.{tensor_name}.{attribute}: {getattr(before, attribute)}\n"
                f"returned {attribute}: {getattr(back, attribute)}"
            )


def is_parametrized(module: Any, tensor_name: str | None = None) -> bool:
    """Whether a module has a parametrization, or one of the tensor of that name."""
    parametrizations = getattr(module, "parametrizations", None)
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module: Any, tensor_name: str, leave_parametrized: bool = True) -> Any:
    """Make a tensor an ordinary parameter or buffer again, with its present value or that of the original."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrizations = module.parametrizations[tensor_name]
    if parametrizations.is_tensor:
        original = parametrizations.original
        if leave_parametrized:
            with no_grad():
                original.data = getattr(module, tensor_name).data
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value.detach()) if value.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in "
            "terms of a sequence of tensors."
        )
    delattr(module.__class__, tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = module.__class__.__bases__[0]
    return module


def type_before_parametrizations(module: Any) -> type[Any]:
    """The class of a module, or what it was before parametrization."""
    return module.__class__.__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module: Any, to_module: Any, tensor_name: str | None = None) -> Any:
    """Give ``to_module`` the parametrizations and parameters of ``from_module``, all or those of one tensor."""
    if not is_parametrized(from_module):
        return to_module
    names = from_module.parametrizations if tensor_name is None else [tensor_name]
    if not isinstance(names, (ModuleDict, list)):
        raise AssertionError(f"Expected a list or a ModuleDict of names, got {type(names)}")
    for name in names:
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for parametrization in from_module.parametrizations[name]:
            register_parametrization(to_module, name, parametrization)
        own, other = to_module.parametrizations[name], from_module.parametrizations[name]
        if hasattr(other, "original"):
            own.original = other.original
        else:
            for i in range(other.ntensors):
                setattr(own, f"original{i}", getattr(other, f"original{i}"))
    return to_module
