"""torch.device: where a tensor lives. livetape computes on the CPU alone, and says so as a CPU build of torch does."""

from __future__ import annotations

import re
from typing import Any

from livetape._tape.explain import with_note

_TYPES = (
    "cpu",
    "cuda",
    "ipu",
    "xpu",
    "mkldnn",
    "opengl",
    "opencl",
    "ideep",
    "hip",
    "ve",
    "fpga",
    "maia",
    "xla",
    "lazy",
    "vulkan",
    "mps",
    "meta",
    "hpu",
    "mtia",
    "privateuseone",
)
_SIGNATURES = (
    "expected one of:\n * (torch.device device)\n      didn't match because some of the arguments have "
    "invalid "
    "types: (!{0}!)\n * (str type, int index = -1)\n"
)


class device:
    """A device by type and index, such as ``device("cpu")`` (source: ``torch.device``).

    Other types than "cpu" can be named and compared, but no tensor can be made there.

    >>> device("cpu:0")
    device(type='cpu', index=0)
    """

    __slots__ = ("index", "type")

    type: str
    index: int | None

    def __new__(cls, type: Any = None, index: Any = None) -> device:
        if isinstance(type, device):
            return type
        if not isinstance(type, str):
            if type is None:
                raise TypeError(
                    "device() received an invalid combination of arguments - got (), but expected one of:\n"
                    " * (torch.device device)\n * (str type, int index = -1)\n"
                )
            if isinstance(type, int) and not isinstance(type, bool):
                raise RuntimeError("Cannot access accelerator device when none is available.")
            raise TypeError(
                f"device() received an invalid combination of arguments - got ({_name(type)}), but "
                + _SIGNATURES.format(_name(type))
            )
        if index is not None and (isinstance(index, bool) or not hasattr(index, "__index__")):
            raise TypeError(f"device(): argument 'index' (position 2) must be int, not {_name(index)}")
        name, number = _parse(type)
        if index is not None and number is not None:
            raise RuntimeError(f"type (string) must not include an index because index was passed explicitly: {type}")
        made = object.__new__(cls)
        object.__setattr__(made, "type", name)
        object.__setattr__(made, "index", number if index is None else int(index))
        return made

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"attribute '{name}' of 'torch.device' objects is not writable")

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, device):
            return NotImplemented
        return self.type == other.type and self.index == other.index

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __repr__(self) -> str:
        return f"device(type='{self.type}'" + (")" if self.index is None else f", index={self.index})")

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __reduce__(self) -> Any:
        return (_again, (self.type, self.index))  # a function: pickle cannot find the class by torch's name

    def __copy__(self) -> device:
        return self

    def __deepcopy__(self, memo: object) -> device:
        return self

    def __enter__(self) -> device:
        _default.stack.append(_default.device)
        set_default_device(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _default.device = _default.stack.pop()

    @staticmethod
    def require_cpu(where: Any) -> None:
        """Raise torch's error unless ``where`` (a device, a text or None) is the CPU."""
        require_cpu(where)


device.__module__ = "torch"


def _again(kind: str, index: int | None) -> device:
    return device(kind, index)


def _name(value: Any) -> str:
    return type(value).__name__


def _parse(text: str) -> tuple[str, int | None]:
    """The type and index that a device string names."""
    if not text:
        raise RuntimeError("Device string must not be empty")
    name, colon, number = text.partition(":")
    if not re.fullmatch(r"[A-Za-z_]+", name) or (colon and not re.fullmatch(r"0|[1-9][0-9]*", number)):
        raise RuntimeError(f"Invalid device string: '{text}'")
    if name not in _TYPES:
        raise RuntimeError(f"Expected one of {', '.join(_TYPES)} device type at start of device string: {name}")
    return name, int(number) if colon else None


class _Default:
    """The device that `set_default_device` chose, and those that ``with device(...)`` set aside."""

    def __init__(self) -> None:
        self.device: device = CPU
        self.stack: list[device] = []


def require_cpu(where: Any, name: str = "to") -> None:
    """Raise torch's error unless ``where``, an argument of the function ``name``, is the CPU."""
    if where is None or where is CPU:
        return
    if not isinstance(where, device):
        if not isinstance(where, (str, int)) or isinstance(where, bool):
            raise TypeError(f"{name}(): argument 'device' must be torch.device, not {_name(where)}")
        where = device(where)
    kind = where.type
    if kind == "cpu":
        return
    if kind in ("cuda", "xpu"):
        raise AssertionError(f"Torch not compiled with {kind.upper()} enabled")
    raise with_note(
        NotImplementedError(
            f"Could not run 'aten::empty.memory_format' with arguments from the "
            f"'{kind.upper() if kind != 'meta' else 'Meta'}' backend."
        ),
        "livetape: tensors live on the CPU; use device='cpu', or leave the argument out.",
    )


def set_default_device(where: Any) -> None:
    """Choose where new tensors are made: only the CPU is there (source: ``torch.set_default_device``)."""
    require_cpu(where, "set_default_device")
    _default.device = CPU if where is None else device(where)


def get_default_device() -> device:
    """Where new tensors are made (source: ``torch.get_default_device``)."""
    return _default.device


CPU = device("cpu")
_default = _Default()
