"""Where storages of a file go: to the CPU, or to whatever a package registered for their location."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from livetape.device import device

_ADVICE = (
    " If you are running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map "
    "your storages to the CPU."
)


def _cpu(storage: Any, location: str) -> Any:
    return storage if location == "cpu" else None


def _missing(name: str, text: str) -> Callable[[Any, str], Any]:
    def restore(storage: Any, location: str) -> Any:
        if location == name or re.match(f"{name}(:|[0-9]+)", location):
            raise RuntimeError(text.format(name=name, upper=name.upper()))
        return None

    return restore


_UNAVAILABLE = (
    "Attempting to deserialize object on a {upper} device but torch.{name}.is_available() is False." + _ADVICE
)
_UNREGISTERED = "The {upper} device module is not registered." + _ADVICE

registry: list[tuple[int, Callable[[Any], str | None], Callable[[Any, str], Any]]] = [
    (10, lambda storage: "cpu" if storage.device.type == "cpu" else None, _cpu)
]
registry += [
    (priority, lambda storage: None, _missing(name, text))
    for priority, name, text in (
        (20, "cuda", _UNAVAILABLE),
        (21, "mps", "torch.UntypedStorage(): Storage device not recognized: {name}"),
        (23, "privateuseone", _UNREGISTERED),
        (24, "hpu", _UNREGISTERED),
        (25, "xpu", _UNAVAILABLE),
        (26, "mtia", "Cannot execute getCurrentDevice() without MTIA backend."),
    )
]


def register_package(
    priority: int, tagger: Callable[[Any], str | None], deserializer: Callable[[Any, str], Any]
) -> None:
    """Register functions that give a storage's location, and a location's storage (source: ``torch.serialization``).

    The lowest priority is asked first; None means that a function knows nothing of this storage or location.
    """
    registry.append((priority, tagger, deserializer))
    registry.sort(key=lambda entry: entry[0])


def location_tag(storage: Any) -> str:
    """The location of a storage (source: ``torch.serialization.location_tag``)."""
    for _, tagger, _ in registry:
        location = tagger(storage)
        if location:
            return location
    raise RuntimeError(f"don't know how to determine data location of {_typename(storage)}")


def default_restore_location(storage: Any, location: str) -> Any:
    """The storage at a location (source: ``torch.serialization.default_restore_location``)."""
    for _, _, deserializer in registry:
        restored = deserializer(storage, location)
        if restored is not None:
            return restored
    raise RuntimeError(f"don't know how to restore data location of {_typename(storage)} (tagged with {location})")


def _typename(storage: Any) -> str:
    return f"{type(storage).__module__}.{type(storage).__qualname__}"


def restorer(map_location: Any) -> Callable[[Any, str], Any]:
    """What ``map_location`` makes of a storage and the location that the file has for it."""
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        return lambda storage, location: default_restore_location(storage, map_location.get(location, location))
    if isinstance(map_location, (str, bytes, device)):
        target = map_location.decode() if isinstance(map_location, bytes) else str(map_location)
        return lambda storage, location: default_restore_location(storage, target)

    def restore(storage: Any, location: str) -> Any:
        restored = map_location(storage, location)
        return default_restore_location(storage, location) if restored is None else restored

    return restore
