"""RemovableHandle: what registering a hook returns. And what is said where hooks get lost."""

from __future__ import annotations

import warnings
import weakref
from collections import OrderedDict
from typing import Any


class RemovableHandle:
    """Removes a hook again (source: ``torch.utils.hooks.RemovableHandle``). Also a context manager."""

    next_id = 0

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        self.extra_dict_ref: tuple[Any, ...] = ()
        if isinstance(extra_dict, dict):
            self.extra_dict_ref = (weakref.ref(extra_dict),)
        elif isinstance(extra_dict, list):
            self.extra_dict_ref = tuple(weakref.ref(d) for d in extra_dict)

    @classmethod
    def added(cls, hooks: dict[int, Any], fn: Any) -> RemovableHandle:
        """Put ``fn`` into ``hooks`` and return the handle that takes it out."""
        handle = cls(hooks)
        hooks[handle.id] = fn
        return handle

    def remove(self) -> None:
        """Take the hook out; doing it twice does nothing."""
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = reference()
            if hooks is not None and self.id in hooks:
                del hooks[self.id]

    def __getstate__(self) -> Any:
        return self.hooks_dict_ref(), self.id

    def __setstate__(self, state: Any) -> None:
        self.hooks_dict_ref = weakref.ref(OrderedDict() if state[0] is None else state[0])
        self.id = state[1]
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, type: Any, value: Any, tb: Any) -> None:
        self.remove()


RemovableHandle.__module__ = "livetape.utils.hooks"  # where torch has it


def warn_if_has_hooks(tensor: Any) -> None:
    """Warn about a tensor's backward hooks, which pickling drops unless they are marked unserializable."""
    for hook in (tensor._backward_hooks or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can "
                "decorate the function with @torch.utils.hooks.unserializable_hook to suppress this warning",
                stacklevel=2,
            )
