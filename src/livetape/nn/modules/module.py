"""Module, the base of all layers and models."""

from __future__ import annotations

import builtins
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

from livetape import __future__ as conversion
from livetape import dtypes
from livetape.autograd.grad_mode import no_grad
from livetape.nn.modules._hooks import (
    HookMethods,
    global_buffer_registration_hooks,
    global_module_registration_hooks,
    global_parameter_registration_hooks,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from livetape.nn.modules._members import MemberMethods
from livetape.nn.modules._names import typename
from livetape.nn.modules._state import StateMethods, _IncompatibleKeys, _WrappedHook
from livetape.nn.parameter import Buffer, Parameter
from livetape.ops.refuse import no_overload
from livetape.ops.signatures import refusal
from livetape.swapping import swap_tensors
from livetape.tensor import Tensor

__all__ = [
    "Module",
    "_IncompatibleKeys",
    "_WrappedHook",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

T = TypeVar("T", bound="Module")

# One dictionary of hooks of each kind, by the attribute that holds it.
_HOOK_DICTS = (
    "_backward_pre_hooks",
    "_backward_hooks",
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)

_COMPLEX_WARNING = (
    "Complex modules are a new feature under active development whose design may change, and some modules might not "
    "work as expected when using complex tensors as parameters or buffers. Please file an issue at "
    "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml if a complex module does not work as "
    "expected."
)


def _indent(text: str, spaces: int) -> str:
    """``text`` with every line but the first indented."""
    return text.replace("\n", "\n" + " " * spaces)


_addindent = _indent


class Module(HookMethods, StateMethods, MemberMethods):
    """Base class of all layers and models (source: ``torch.nn.Module``).

    Parameters, buffers and modules assigned as attributes are registered: they are listed, saved, converted and moved
    with the module. A subclass calls ``super().__init__()`` first and defines ``forward``.
    """

    dump_patches: bool = False
    call_super_init: bool = False
    T_destination = TypeVar("T_destination", bound=dict[str, Any])
    _compiled_call_impl: Callable[..., Any] | None = None
    training: bool

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        new = super().__new__
        made = new(cls) if new is object.__new__ else new(cls, *args, **kwargs)  # type: ignore[call-arg]
        # What never runs __init__ takes the long way in a call, and fails there as torch's does.
        made.__dict__["_hooked"] = True
        return made

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if self.call_super_init is False:
            if kwargs:
                raise TypeError(
                    f"{type(self).__name__}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'"
                )
            if args:
                raise TypeError(
                    f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} were given"
                )
        # Straight into __dict__: __setattr__ would look for parameters first, and there is nothing to look in yet.
        self.__dict__.update(
            training=True,
            _parameters={},
            _buffers={},
            _non_persistent_buffers_set=set(),
            _backward_pre_hooks=OrderedDict(),
            _backward_hooks=OrderedDict(),
            _is_full_backward_hook=None,
            _forward_hooks=OrderedDict(),
            _forward_hooks_with_kwargs=OrderedDict(),
            _forward_hooks_always_called=OrderedDict(),
            _forward_pre_hooks=OrderedDict(),
            _forward_pre_hooks_with_kwargs=OrderedDict(),
            _state_dict_hooks=OrderedDict(),
            _state_dict_pre_hooks=OrderedDict(),
            _load_state_dict_pre_hooks=OrderedDict(),
            _load_state_dict_post_hooks=OrderedDict(),
            _modules={},
        )
        self.__dict__.pop("_hooked", None)
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def forward(self, *input: Any) -> Any:
        """The computation; every subclass defines it."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    # ------------------------------------------------------------ registration

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is no parameter: it moves with the module, and is saved if ``persistent``."""
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"buffer name should be a string. Got {typename(name)}")
        if "." in name:
            raise KeyError('buffer name can\'t contain "."')
        if name == "":
            raise KeyError('buffer name can\'t be empty string ""')
        if hasattr(self, name) and name not in self._buffers:
            raise KeyError(f"attribute '{name}' already exists")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        for hook in global_buffer_registration_hooks.values():
            replaced = hook(self, name, tensor)
            if replaced is not None:
                tensor = replaced
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter, or None to reserve the name."""
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"parameter name should be a string. Got {typename(name)}")
        if "." in name:
            raise KeyError('parameter name can\'t contain "."')
        if name == "":
            raise KeyError('parameter name can\'t be empty string ""')
        if name not in self._parameters and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign '{typename(param)}' object to parameter '{name}' "
                    "(torch.nn.Parameter or None required)"
                )
            if param.grad_fn is not None:
                raise ValueError(
                    f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created "
                    f"explicitly. To express '{name}' as a function of another Tensor, compute the value in "
                    "the forward() method."
                )
            for hook in global_parameter_registration_hooks.values():
                replaced = hook(self, name, param)
                if replaced is not None:
                    param = replaced
        self._parameters[name] = param

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a child module under ``name``."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{typename(module)} is not a Module subclass")
        if not isinstance(name, str):
            raise TypeError(f"module name should be a string. Got {typename(name)}")
        if hasattr(self, name) and name not in self._modules:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'module name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError('module name can\'t be empty string ""')
        self._modules[name] = self._hook_module(name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Another name of ``add_module``."""
        self.add_module(name, module)

    def _hook_module(self, name: str, module: Any) -> Any:
        for hook in global_module_registration_hooks.values():
            replaced = hook(self, name, module)
            if replaced is not None:
                module = replaced
        return module

    # ------------------------------------------------------------ attributes

    def __getattr__(self, name: str) -> Any:
        # Reached only for what is not in __dict__ or the class.
        attributes = self.__dict__
        if "_modules" in attributes:
            found = attributes["_parameters"]
            if name in found:
                return found[name]
            found = attributes["_modules"]
            if name in found:
                return found[name]
            found = attributes["_buffers"]
            if name in found:
                return found[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        attributes = self.__dict__
        is_tensor = isinstance(value, Tensor)
        if is_tensor and isinstance(value, Parameter):
            if "_parameters" not in attributes:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, attributes, self._buffers, self._modules, self._non_persistent_buffers_set)
            self.register_parameter(name, value)
            return
        if isinstance(value, Module):
            if "_parameters" in attributes and name in attributes["_parameters"]:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)"
                )
            if "_modules" not in attributes:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, attributes, self._parameters, self._buffers, self._non_persistent_buffers_set)
            attributes["_modules"][name] = self._hook_module(name, value) if global_module_registration_hooks else value
            return
        if "_parameters" in attributes:
            if name in attributes["_parameters"]:
                if value is not None:
                    raise TypeError(
                        f"cannot assign '{typename(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)"
                    )
                self.register_parameter(name, value)
                return
            if name in attributes["_modules"]:
                if value is not None:
                    raise TypeError(
                        f"cannot assign '{typename(value)}' as child module '{name}' (torch.nn.Module or None expected)"
                    )
                attributes["_modules"][name] = self._hook_module(name, value)
                return
            if name in attributes["_buffers"] or (is_tensor and isinstance(value, Buffer)):
                self._set_buffer(name, value)
                return
        elif is_tensor and isinstance(value, Buffer):
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        object.__setattr__(self, name, value)

    def _set_buffer(self, name: str, value: Any) -> None:
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(
                f"cannot assign '{typename(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None expected)"
            )
        if isinstance(value, Buffer):
            self._forget(name, self.__dict__, self._parameters, self._modules, self._non_persistent_buffers_set)
            # Old overrides of register_buffer know no `persistent`: it is passed only where it matters.
            if value.persistent:
                self.register_buffer(name, value)
            else:
                self.register_buffer(name, value, persistent=False)
            return
        for hook in global_buffer_registration_hooks.values():
            replaced = hook(self, name, value)
            if replaced is not None:
                value = replaced
        self._buffers[name] = value

    @staticmethod
    def _forget(name: str, *places: Any) -> None:
        for place in places:
            if name in place:
                if isinstance(place, dict):
                    del place[name]
                else:
                    place.discard(name)

    def __delattr__(self, name: str) -> None:
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        elif name in self._modules:
            del self._modules[name]
        else:
            super().__delattr__(name)

    def __dir__(self) -> list[str]:
        names = [*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers]
        return sorted(name for name in names if not name[0].isdigit())

    # ------------------------------------------------------------ copies

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state.pop("_compiled_call_impl", None)
        state.pop("_hooked", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in _HOOK_DICTS:  # missing from what older versions saved
            self.__dict__.setdefault(name, OrderedDict())
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self.__dict__.setdefault("_is_full_backward_hook", None)
        if not (self._forward_hooks or self._forward_pre_hooks or self._backward_hooks or self._backward_pre_hooks):
            self.__dict__.pop("_hooked", None)

    def _replicate_for_data_parallel(self) -> Any:
        replica = self.__new__(type(self))
        replica.__dict__ = self.__dict__.copy()
        for name in ("_parameters", "_buffers", "_modules"):
            replica.__dict__[name] = replica.__dict__[name].copy()
        replica.__dict__["_parameters"] = {}
        replica._is_replica = True
        return replica

    # ------------------------------------------------------------ conversion

    def _apply(self, fn: Callable[[Any], Any], recurse: bool = True) -> Any:
        """Replace the data of every parameter, gradient and buffer by what ``fn`` makes of it."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        swap = conversion.get_swap_module_params_on_conversion()
        overwrite = not swap and conversion.get_overwrite_module_params_on_conversion()
        for name, param in self._parameters.items():
            if param is None:
                continue
            with no_grad():
                applied = fn(param)
            if overwrite:
                grad = param.grad
                self._parameters[name] = fresh = Parameter(applied, param.requires_grad)
                if grad is not None:
                    with no_grad():
                        fresh.grad = fn(grad).requires_grad_(grad.requires_grad)
                continue
            if swap:
                self._swap(name, param, Parameter(applied, requires_grad=param.requires_grad))
            else:
                param.data = applied
            grad = param.grad
            if grad is not None:
                with no_grad():
                    changed = fn(grad)
                if changed is not grad:
                    grad.data = changed
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def _swap(self, name: str, param: Any, applied: Any) -> None:
        grad = param.grad
        try:
            param.grad = None
            swap_tensors(param, applied)
        except RuntimeError as error:
            raise RuntimeError(f"_apply(): Couldn't swap {self._get_name()}.{name}") from error
        finally:
            param._gradient = grad  # of the old type, until it is converted as well

    def apply(self, fn: Callable[[Module], Any]) -> Any:
        """Call ``fn`` on every module below, then on this one."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Move or cast in place: ``to(device)``, ``to(dtype)``, ``to(device, dtype)`` or ``to(tensor)``.

        Only floating point and complex parameters and buffers take the dtype.
        """
        device, dtype, non_blocking, memory_format = _parse_to(args, kwargs)
        if dtype is not None:
            if not (dtype.is_floating_point or dtype.is_complex):
                raise TypeError(
                    f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
                )
            if dtype.is_complex:
                warnings.warn(_COMPLEX_WARNING, stacklevel=2)

        def convert(t: Any) -> Any:
            kind = dtype if t.is_floating_point() or t.is_complex() else None
            options = {"memory_format": memory_format} if memory_format is not None and t.dim() in (4, 5) else {}
            if device is None:
                return t if kind is None and not options else t.to(t.dtype if kind is None else kind, **options)
            return t.to(device, kind, non_blocking, **options)

        return self._apply(convert)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Any:
        """Move to ``device`` without copying the values."""
        return self._apply(lambda t: t.new_empty(t.shape, device=device), recurse=recurse)

    def type(self, dst_type: Any) -> Any:
        """Cast all parameters and buffers, integer ones too."""
        return self._apply(lambda t: t.type(dst_type))

    def float(self) -> Any:
        """Cast all floating point parameters and buffers to float32."""
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self) -> Any:
        """Cast all floating point parameters and buffers to float64."""
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def half(self) -> Any:
        """Cast all floating point parameters and buffers to float16."""
        return self._apply(lambda t: t.half() if t.is_floating_point() else t)

    def bfloat16(self) -> Any:
        """Cast all floating point parameters and buffers to bfloat16."""
        return self._apply(lambda t: t.bfloat16() if t.is_floating_point() else t)

    def cpu(self) -> Any:
        """Move to the CPU."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device: Any = None) -> Any:
        """As on a build without CUDA: an AssertionError, if there is anything to move."""
        return self._apply(lambda t: t.cuda(device))

    def ipu(self, device: Any = None) -> Any:
        """Move to an IPU: an error, there being none."""
        return self._apply(lambda t: t.to("ipu" if device is None else f"ipu:{device}"))

    def xpu(self, device: Any = None) -> Any:
        """Move to an XPU: an error, there being none."""
        return self._apply(lambda t: t.to("xpu" if device is None else f"xpu:{device}"))

    def mtia(self, device: Any = None) -> Any:
        """Move to an MTIA device: an error, there being none."""
        return self._apply(lambda t: t.to("mtia" if device is None else f"mtia:{device}"))

    def share_memory(self) -> Any:
        """Move parameters and buffers into shared memory."""
        return self._apply(lambda t: t.share_memory_())

    # ------------------------------------------------------------ training

    def train(self, mode: bool = True) -> Any:
        """Set training mode here and below."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Any:
        """Set evaluation mode: ``train(False)``."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Let all parameters record gradients, or none."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or fill them with zeros."""
        if getattr(self, "_is_replica", False):
            warnings.warn(
                "Calling .zero_grad() from a module created with nn.DataParallel() has no effect. "
                "The parameters are copied (in a differentiable manner) from the original module. "
                "This means they are not leaf nodes in autograd and so don't accumulate gradients. "
                "If you need gradients in your forward method, consider using autograd.grad instead.",
                stacklevel=2,
            )
        for param in self.parameters():
            grad = param.grad
            if grad is None:
                continue
            if set_to_none:
                param.grad = None
            else:
                if grad.grad_fn is not None:
                    grad.detach_()
                else:
                    grad.requires_grad_(False)
                grad.zero_()

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Accepted for compatibility: a module already runs as fast as it will, and its results stay the same."""

    # ------------------------------------------------------------ printing

    def _get_name(self) -> str:
        return builtins.type(self).__name__

    def extra_repr(self) -> str:
        """What a module's repr shows between its name's parentheses; to be overridden."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        extra_lines = extra.split("\n") if extra else []
        child_lines = [f"({name}): {_indent(repr(module), 2)}" for name, module in self._modules.items()]
        lines = extra_lines + child_lines
        if not lines:
            return self._get_name() + "()"
        if len(extra_lines) == 1 and not child_lines:
            return f"{self._get_name()}({extra_lines[0]})"
        return self._get_name() + "(\n  " + "\n  ".join(lines) + "\n)"


def _parse_to(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, bool, Any]:
    """The (device, dtype, non_blocking, memory_format) of a call of ``to``."""
    found = dict(kwargs)
    memory_format = found.pop("memory_format", None)
    rest = list(args)
    if rest and isinstance(rest[0], Tensor):
        names = ["tensor", "non_blocking", "copy"]
    elif rest and isinstance(rest[0], dtypes.dtype):
        names = ["dtype", "non_blocking", "copy"]
    else:
        names = ["device", "dtype", "non_blocking", "copy"]
    good = len(rest) <= len(names)
    for name, value in zip(names, rest, strict=False):
        good = good and name not in found
        found[name] = value
    tensor = found.pop("tensor", found.pop("other", None))
    device, dtype = found.pop("device", None), found.pop("dtype", None)
    non_blocking, copy = found.pop("non_blocking", False), found.pop("copy", False)
    good = (
        good
        and not found
        and isinstance(non_blocking, bool)
        and isinstance(copy, bool)
        and (dtype is None or isinstance(dtype, dtypes.dtype))
        and (device is None or isinstance(device, (str, int)) or hasattr(device, "index"))
        and not isinstance(device, (list, tuple))
    )
    if not good:
        raise refusal(".to", args, kwargs) or no_overload("to")
    if tensor is not None:
        return tensor.device, tensor.dtype, non_blocking, memory_format
    return device, dtype, non_blocking, memory_format


for _part in (HookMethods, StateMethods, MemberMethods):  # so that errors and tracebacks say Module.name
    for _name, _value in vars(_part).items():
        if builtins.type(_value) is builtins.type(_parse_to):
            _value.__qualname__ = f"Module.{_name}"
del _part, _name, _value
