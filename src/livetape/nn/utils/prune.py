"""Pruning: masks that set entries of a module's parameters to zero (source: ``torch.nn.utils.prune``).

A pruned parameter ``weight`` becomes ``weight_orig``; ``weight_mask`` is a buffer, and a forward pre-hook sets
``weight`` to their product. The hook is the pruning method itself.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

from livetape import ops
from livetape.layout import contiguous_format
from livetape.nn.modules.module import Module
from livetape.nn.utils.convert_parameters import parameters_to_vector
from livetape.tensor import Tensor


class BasePruningMethod(ABC):
    """A way of choosing what to prune: subclasses define ``PRUNING_TYPE`` ("unstructured", "structured" or "global")
    and ``compute_mask``."""

    PRUNING_TYPE: str
    _tensor_name: Any

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """A mask for ``t`` that keeps at most what ``default_mask`` keeps."""

    def apply_mask(self, module: Module) -> Tensor:
        """The original parameter times the mask."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        original = getattr(module, self._tensor_name + "_orig")
        mask = getattr(module, self._tensor_name + "_mask")
        return mask.to(dtype=original.dtype) * original  # type: ignore[no-any-return]

    @classmethod
    def apply(cls, module: Module, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any) -> Any:
        """Prune the parameter ``name`` now and before every forward; what was pruned before stays pruned."""
        method = cls(*args, **kwargs)
        method._tensor_name = name
        earlier = _take_hook(module, name)
        found: BasePruningMethod = method
        if earlier is not None:
            found = earlier if isinstance(earlier, PruningContainer) else PruningContainer(earlier)
            found.add_pruning_method(method)  # type: ignore[attr-defined]

        param = getattr(module, name)
        scores = param if importance_scores is None else importance_scores
        if scores.shape != param.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}, "
                f"got {scores.shape} vs {param.shape}"
            )
        if earlier is None:
            module.register_parameter(name + "_orig", param)
            del module._parameters[name]
            before = ops.ones_like(param)
        else:
            before = getattr(module, name + "_mask").detach().clone(memory_format=contiguous_format)
        try:
            module.register_buffer(name + "_mask", found.compute_mask(scores, default_mask=before))
            setattr(module, name, found.apply_mask(module))
            module.register_forward_pre_hook(found)
        except Exception:
            if earlier is None:
                module.register_parameter(name, getattr(module, name + "_orig"))
                del module._parameters[name + "_orig"]
            raise
        return found

    def prune(self, t: Tensor, default_mask: Any = None, importance_scores: Any = None) -> Tensor:
        """``t`` times its mask; no module is involved."""
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as tensor t, got {scores.shape} vs {t.shape}"
            )
        before = ops.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default_mask=before)

    def remove(self, module: Module) -> None:
        """Make the pruning permanent: the parameter takes its name and the masked values."""
        name = self._tensor_name
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        masked = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        param = module._parameters.pop(name + "_orig")
        param.data = masked.data
        del module._buffers[name + "_mask"]
        setattr(module, name, param)


class PruningContainer(BasePruningMethod):
    """Pruning methods applied one after another to the same parameter."""

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[Any, ...] = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Add a method, which must be for the same parameter."""
        if method is not None and not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and method._tensor_name != self._tensor_name:
            raise ValueError(
                f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to "
                f"PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask of the newest method, computed on what the earlier ones kept."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype)
        where = _kept(method, t, default_mask)
        part = method.compute_mask(t[where], default_mask=default_mask[where])
        if mask is default_mask:
            mask = mask.clone()
        mask[where] = part.to(dtype=mask.dtype)
        return mask


def _kept(method: Any, t: Tensor, mask: Tensor) -> Any:
    """The index of the part of ``t`` that a method may still prune."""
    if method.PRUNING_TYPE == "unstructured":
        return mask == 1
    index: list[Any] = [slice(None)] * t.dim()
    if method.PRUNING_TYPE == "structured":
        if not hasattr(method, "dim"):
            raise AttributeError(
                'Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` defined.'
            )
        dim = method.dim + t.dim() if method.dim < 0 else method.dim
        if dim < 0:
            raise IndexError(f"Index is out of bounds for tensor with dimensions {t.dim()}")
        index[dim] = mask.sum(dim=[d for d in range(t.dim()) if d != dim]) != 0
    elif method.PRUNING_TYPE != "global":
        raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
    return tuple(index)


def _take_hook(module: Module, name: str) -> Any:
    """The pruning method that acts on a parameter, taken out of the module's hooks; None if there is none."""
    found = [
        key
        for key, hook in module._forward_pre_hooks.items()
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name
    ]
    if len(found) > 1:
        raise AssertionError(
            f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. Use a PruningContainer."
        )
    return module._forward_pre_hooks.pop(found[0]) if found else None


class Identity(BasePruningMethod):
    """Prunes nothing, but gives the module a mask."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask

    @classmethod
    def apply(cls, module: Module, name: str) -> Any:  # type: ignore[override]
        """Give the parameter ``name`` a mask of ones."""
        return super().apply(module, name)


class _ByAmount(BasePruningMethod):
    """Prunes ``amount`` entries or channels: a fraction if it is a float, a number if it is an int."""

    def __init__(self, amount: Any) -> None:
        if not isinstance(amount, numbers.Real):
            raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
        value: Any = amount
        if value < 0 or (not isinstance(amount, numbers.Integral) and value > 1):
            raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")
        self.amount = value

    def _count(self, size: int) -> int:
        """How many of ``size`` go."""
        if not isinstance(self.amount, numbers.Integral):
            return round(self.amount * size)
        count = int(self.amount)
        if count > size:
            raise ValueError(f"amount={count} should be smaller than the number of parameters to prune={size}")
        return count


class RandomUnstructured(_ByAmount):
    """Prunes entries at random."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = self._count(t.nelement())
        mask = default_mask.clone(memory_format=contiguous_format)
        if count:
            mask.view(-1)[ops.topk(ops.rand_like(t).view(-1), k=count).indices] = 0
        return mask  # type: ignore[no-any-return]

    @classmethod
    def apply(cls, module: Module, name: str, amount: Any) -> Any:  # type: ignore[override]
        """Prune ``amount`` random entries of the parameter ``name``."""
        return super().apply(module, name, amount=amount)


class L1Unstructured(_ByAmount):
    """Prunes the entries that are nearest to zero."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = self._count(t.nelement())
        mask = default_mask.clone(memory_format=contiguous_format)
        if count:
            mask.view(-1)[ops.topk(ops.abs(t).view(-1), k=count, largest=False).indices] = 0
        return mask  # type: ignore[no-any-return]

    @classmethod
    def apply(cls, module: Module, name: str, amount: Any, importance_scores: Any = None) -> Any:  # type: ignore[override]
        """Prune the ``amount`` entries of the parameter ``name`` with the smallest magnitudes (or scores)."""
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


class _Structured(_ByAmount):
    """Prunes whole channels along ``dim``."""

    PRUNING_TYPE = "structured"
    dim: int

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if t.dim() <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
                f"{t.shape} with {t.dim()} dims"
            )
        if self.dim >= t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        size = t.shape[self.dim]
        count = self._count(size)
        if count == 0:
            return default_mask
        index: list[Any] = [slice(None)] * t.dim()
        index[self.dim] = self._channels(t, size, count)
        mask = ops.zeros_like(t)
        mask[tuple(index)] = 1
        mask *= default_mask.to(dtype=mask.dtype)
        return mask  # type: ignore[no-any-return]

    def _channels(self, t: Tensor, size: int, count: int) -> Tensor:
        """The channels that stay when ``count`` of ``size`` go."""
        raise NotImplementedError


class RandomStructured(_Structured):
    """Prunes channels at random."""

    def __init__(self, amount: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def _channels(self, t: Tensor, size: int, count: int) -> Tensor:
        draws = ops.rand(size)
        return draws > ops.kthvalue(draws, k=count).values  # type: ignore[no-any-return]

    @classmethod
    def apply(cls, module: Module, name: str, amount: Any, dim: int = -1) -> Any:  # type: ignore[override]
        """Prune ``amount`` random channels of the parameter ``name``."""
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(_Structured):
    """Prunes the channels with the smallest ``n``-norms."""

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.n = n
        self.dim = dim

    def _channels(self, t: Tensor, size: int, count: int) -> Tensor:
        dims = list(range(t.dim()))
        del dims[self.dim]
        norms = ops.norm(t, p=self.n, dim=dims)
        return ops.topk(norms, k=size - count, largest=True).indices  # type: ignore[no-any-return]

    @classmethod
    def apply(  # type: ignore[override]
        cls, module: Module, name: str, amount: Any, n: Any, dim: int, importance_scores: Any = None
    ) -> Any:
        """Prune the ``amount`` channels of the parameter ``name`` with the smallest norms."""
        return super().apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)


class CustomFromMask(BasePruningMethod):
    """Prunes what a given mask leaves out."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)

    @classmethod
    def apply(cls, module: Module, name: str, mask: Tensor) -> Any:  # type: ignore[override]
        """Prune the entries of the parameter ``name`` where ``mask`` is 0."""
        return super().apply(module, name, mask=mask)


# ---------------------------------------------------------------- as functions


def identity(module: Module, name: str) -> Module:
    """Give the parameter ``name`` a mask of ones."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: Any) -> Module:
    """Prune ``amount`` random entries."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Module, name: str, amount: Any, importance_scores: Any = None) -> Module:
    """Prune the ``amount`` entries with the smallest magnitudes.

    >>> from livetape import nn
    >>> from livetape.nn.utils import prune
    >>> layer = prune.l1_unstructured(nn.Linear(2, 3), "weight", amount=2)
    >>> int(layer.weight_mask.sum()), [name for name, _ in layer.named_parameters()]
    (4, ['bias', 'weight_orig'])
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: Any, dim: int) -> Module:
    """Prune ``amount`` random channels along ``dim``."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module: Module, name: str, amount: Any, n: Any, dim: int, importance_scores: Any = None) -> Module:
    """Prune the ``amount`` channels along ``dim`` with the smallest ``n``-norms."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune the entries where ``mask`` is 0."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters: Any, pruning_method: Any, importance_scores: Any = None, **kwargs: Any) -> None:
    """Prune ``parameters``, pairs of a module and a name, as if they were one: the smallest of all entries go."""
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    pairs = list(parameters)
    tensors = [getattr(module, name) for module, name in pairs]
    together = parameters_to_vector([scores.get(pair, tensor) for pair, tensor in zip(pairs, tensors)])
    before = parameters_to_vector(
        [getattr(module, name + "_mask", ops.ones_like(tensor)) for (module, name), tensor in zip(pairs, tensors)]
    )
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. '
            f"Found method {pruning_method} of type {method.PRUNING_TYPE}"
        )
    method._tensor_name = "temp"
    mask = PruningContainer(method).compute_mask(together, before)
    start = 0
    for (module, name), tensor in zip(pairs, tensors):
        count = tensor.numel()
        custom_from_mask(module, name, mask=mask[start : start + count].view_as(tensor))
        start += count


def remove(module: Module, name: str) -> Module:
    """Make the pruning of the parameter ``name`` permanent, and take the hook away."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Module) -> bool:
    """Whether any parameter of the module, or of one below it, is pruned."""
    return any(
        isinstance(hook, BasePruningMethod)
        for submodule in module.modules()
        for hook in submodule._forward_pre_hooks.values()
    )
