"""Random tensors: new ones, and laws drawn into what is there. The same seed gives torch's numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.modes import is_recording, state
from livetape._tape.tensor import TensorBase, counter_of, shape_of, wrap
from livetape._tape.views import check_inplace, needs_gradient
from livetape.dtypes import int64
from livetape.kernels import sampling as draw
from livetape.ops.basics import zeros_like
from livetape.ops.dims import as_int, is_integer
from livetape.ops.options import check_format, finish, kind_of, kind_or_out, need_tensor, sizes
from livetape.ops.refuse import no_overload
from livetape.ops.table import row
from livetape.random import Generator, default_generator


def bits_of(name: str, generator: Any) -> Any:
    """The source of random words of an argument ``generator``."""
    if generator is None:
        return default_generator.bits
    if not isinstance(generator, Generator):
        raise noted(
            TypeError(f"{name}(): argument 'generator' must be torch.Generator, not {type(generator).__name__}")
        )
    return generator.bits


def _size_of(name: str, args: tuple[Any, ...], size: Any, generator: Any) -> tuple[int, ...]:
    wrong = generator is not None and not isinstance(generator, Generator)
    if wrong or (not args and size is None):
        raise noted(no_overload(name))
    return sizes(name, args, size)


def interposed(law: Any, shape: Any, kind: Any, requires_grad: Any = False, like: Any = None) -> Any:
    """A new tensor of draws, made by a row, so that interposers see it: they may want one for each sample."""
    made = wrap(np.empty(shape, kind.np), kind, None)
    if like is not None and hasattr(like.array, "alike"):
        made = like.array.alike(made)
    made = UNIFORM.apply((made, law))
    made.recorded = requires_grad is True
    return made


# ---------------------------------------------------------------- new tensors
def rand(
    *args: Any,
    size: Any = None,
    generator: Any = None,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = False,
    requires_grad: Any = False,
) -> Any:
    """Uniform numbers from 0 to 1, 1 left out (source: ``torch.rand``).

    >>> import livetape as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.rand(3)
    tensor([0.4963, 0.7682, 0.0885])
    """
    shape = _size_of("rand", args, size, generator)
    kind = kind_or_out("rand", dtype, out)
    if state.interposed != 0 and out is None:
        bits = bits_of("rand", generator)
        return interposed(lambda size, np_: draw.uniform(bits, size, np_), shape, kind, requires_grad)
    return finish(
        "rand",
        draw.uniform(bits_of("rand", generator), shape, kind.np),
        kind,
        device,
        requires_grad,
        layout,
        pin_memory,
        out,
    )


def randn(
    *args: Any,
    size: Any = None,
    generator: Any = None,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = False,
    requires_grad: Any = False,
) -> Any:
    """Normal numbers of mean 0 and deviation 1 (source: ``torch.randn``).

    >>> import livetape as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.randn(3)
    tensor([ 1.5410, -0.2934, -2.1788])
    """
    shape = _size_of("randn", args, size, generator)
    kind = kind_or_out("randn", dtype, out)
    if state.interposed != 0 and out is None:
        bits = bits_of("randn", generator)
        return interposed(lambda size, np_: draw.normal(bits, size, np_), shape, kind, requires_grad)
    return finish(
        "randn",
        draw.normal(bits_of("randn", generator), shape, kind.np),
        kind,
        device,
        requires_grad,
        layout,
        pin_memory,
        out,
    )


def _bounds(name: str, args: tuple[Any, ...], low: Any, high: Any) -> tuple[int, int, tuple[Any, ...]]:
    """The bounds, and the arguments that follow them."""
    rest = list(args)
    if low is None and high is None and len(rest) > 1 and is_integer(rest[0]) and is_integer(rest[1]):
        low, high = rest.pop(0), rest.pop(0)
    elif high is None and rest:
        high = rest.pop(0)
    elif low is None and high is not None and rest and is_integer(rest[0]):
        low = rest.pop(0)
    for label, value in (("low", low), ("high", high)):
        if value is not None and not is_integer(value):
            raise noted(
                TypeError(
                    f"{name}(): argument '{label}' (position {1 if label == 'high' and low is None else 2}) "
                    "must be "
                    f"int, not {type(value).__name__}"
                )
            )
    if high is None:
        raise noted(no_overload(name))
    return 0 if low is None else as_int(low), as_int(high), tuple(rest)


def randint(
    *args: Any,
    low: Any = None,
    high: Any = None,
    size: Any = None,
    generator: Any = None,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = False,
    requires_grad: Any = False,
) -> Any:
    """Integers from ``low`` (0) up to ``high``, which is left out (source: ``torch.randint``).

    >>> import livetape as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.randint(0, 10, (5,))
    tensor([4, 9, 3, 0, 3])
    """
    if size is None and len(args) == 2 and low is None and high is None and is_integer(args[1]):
        raise noted(TypeError("randint(): argument 'size' (position 2) must be tuple of ints, not int"))
    first, last, rest = _bounds("randint", args, low, high)
    if not rest and size is None:
        raise noted(no_overload("randint"))
    shape = sizes("randint", rest, size)
    kind = kind_or_out("randint", dtype, out, int64)
    if state.interposed != 0 and out is None:
        bits = bits_of("randint", generator)
        return interposed(lambda size, np_: draw.integers(bits, size, np_, first, last), shape, kind)
    drawn = draw.integers(bits_of("randint", generator), shape, kind.np, first, last)
    return finish("randint", drawn, kind, device, requires_grad, layout, pin_memory, out)


def randperm(
    n: Any,
    *,
    generator: Any = None,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = False,
    requires_grad: Any = False,
) -> Any:
    """The integers from 0 to n - 1 in random order (source: ``torch.randperm``).

    >>> import livetape as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.randperm(5)
    tensor([4, 0, 1, 3, 2])
    """
    if not is_integer(n):
        raise noted(TypeError(f"randperm(): argument 'n' (position 1) must be int, not {type(n).__name__}"))
    kind = kind_or_out("randperm", dtype, out, int64)
    if state.interposed != 0 and out is None:
        bits = bits_of("randperm", generator)
        return interposed(lambda size, np_: _permutations(bits, size, np_), (as_int(n),), kind)
    return finish(
        "randperm",
        draw.permutation(bits_of("randperm", generator), as_int(n), kind.np),
        kind,
        device,
        requires_grad,
        layout,
        pin_memory,
        out,
    )


def _permutations(bits: Any, size: Any, kind: Any) -> Any:
    """A permutation along the last dimension for each place in the others."""
    rows = [draw.permutation(bits, size[-1], kind) for _ in range(math.prod(size[:-1]))]
    return np.stack(rows).reshape(size) if rows else np.empty(size, kind)


# ---------------------------------------------------------------- like another tensor
def _like(name: str, input: Any, dtype: Any, memory_format: Any, law: Any) -> Any:
    """An array of draws of the input's size, laid out in memory as it is."""
    need_tensor(name, input)
    kind = kind_of(name, dtype, input.dtype)
    if memory_format is not None:
        check_format(name, memory_format, input.array.ndim)
    array = input.array
    if state.interposed != 0:
        return interposed(law, shape_of(input), kind, False, input).array, kind
    if array.flags.c_contiguous or 0 in array.strides:
        return law(array.shape, kind.np), kind
    return draw.arranged(array, law((array.size,), kind.np)), kind


def rand_like(
    input: Any,
    *,
    generator: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = False,
    requires_grad: Any = False,
    memory_format: Any = None,
) -> Any:
    """Uniform numbers of another tensor's size and dtype (source: ``torch.rand_like``)."""
    bits = bits_of("rand_like", generator)
    array, kind = _like("rand_like", input, dtype, memory_format, lambda shape, np_: draw.uniform(bits, shape, np_))
    return finish("rand_like", array, kind, device, requires_grad, layout, pin_memory)


def randn_like(
    input: Any,
    *,
    generator: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = False,
    requires_grad: Any = False,
    memory_format: Any = None,
) -> Any:
    """Normal numbers of another tensor's size and dtype (source: ``torch.randn_like``)."""
    bits = bits_of("randn_like", generator)
    serial = not input.array.flags.c_contiguous if isinstance(input, TensorBase) else False
    array, kind = _like(
        "randn_like",
        input,
        dtype,
        memory_format,
        lambda shape, np_: draw.normal(bits, shape, np_, serial=serial and 0 not in input.array.strides),
    )
    return finish("randn_like", array, kind, device, requires_grad, layout, pin_memory)


def randint_like(
    input: Any,
    *args: Any,
    low: Any = None,
    high: Any = None,
    generator: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = False,
    requires_grad: Any = False,
    memory_format: Any = None,
) -> Any:
    """Integers of another tensor's size and dtype (source: ``torch.randint_like``)."""
    bits = bits_of("randint_like", generator)
    first, last, _ = _bounds("randint_like", args, low, high)
    array, kind = _like(
        "randint_like", input, dtype, memory_format, lambda shape, np_: draw.integers(bits, shape, np_, first, last)
    )
    return finish("randint_like", array, kind, device, requires_grad, layout, pin_memory)


# ---------------------------------------------------------------- laws drawn into a tensor
def _law(name: str, node: str, key: str | None = None) -> Any:
    """A row that overwrites its first argument with ``law(size, dtype)``: no gradient comes through."""
    return row(name, lambda self, law: _drawn(self, law), node=node, key=key, self=lambda grad: zeros_like(grad))


def _drawn(array: Any, law: Any) -> Any:
    if array.flags.c_contiguous:
        return law(array.shape, array.dtype)
    return draw.arranged(array, law((array.size,), array.dtype))


UNIFORM = _law("uniform", "UniformBackward0")
NORMAL = _law("normal", "NormalBackward0")
RANDOM = _law("random", "RandomBackward2")
RANDOM_TO = _law("random", "RandomBackward1", "random.to")
RANDOM_FROM = _law("random", "RandomBackward0", "random.from")
EXPONENTIAL = _law("exponential", "ExponentialBackward0")
GEOMETRIC = _law("geometric", "GeometricBackward0")
CAUCHY = _law("cauchy", "CauchyBackward0")
LOG_NORMAL = _law("log_normal", "LogNormalBackward0")
BERNOULLI_P = _law("bernoulli", "BernoulliBackward2", "bernoulli.p")


def drawn_into(op: Any, self: Any, law: Any) -> Any:
    """Draw ``law(size, dtype)`` into a tensor."""
    recording = is_recording()
    if state.interposed != 0 or (recording and needs_gradient(self)):
        return op.inplace(self, law)
    check_inplace(self, recording)
    array = self.array
    if array.flags.c_contiguous:
        array[...] = law(array.shape, array.dtype)
    else:
        draw.fill(array, law((array.size,), array.dtype))
    counter_of(self).bump()
    return self


def float_parameter(name: str, value: Any, argument: str, position: int) -> float:
    if type(value) is float:
        return value
    if isinstance(value, TensorBase) and value.array.ndim == 0:
        return float(value.array)
    if isinstance(value, (int, float, np.generic)) and not isinstance(value, bool):
        return float(value)
    raise noted(
        TypeError(f"{name}(): argument '{argument}' (position {position}) must be float, not {type(value).__name__}")
    )


def uniform_(self: Any, *args: Any, to: Any = None, generator: Any = None, **from_: Any) -> Any:
    """Fill with uniform numbers from ``from`` (0) to ``to`` (1) (source: ``torch.Tensor.uniform_``)."""
    low = args[0] if args else from_.pop("from", 0.0)
    high = args[1] if len(args) > 1 else (1.0 if to is None else to)
    if from_:
        raise noted(TypeError(f"uniform_() got an unexpected keyword argument '{next(iter(from_))}'"))
    low, high = float_parameter("uniform_", low, "from", 1), float_parameter("uniform_", high, "to", 2)
    bits = bits_of("uniform_", generator)
    return drawn_into(UNIFORM, self, lambda shape, kind: draw.uniform(bits, shape, kind, low, high))


def normal_(self: Any, mean: Any = 0.0, std: Any = 1.0, *, generator: Any = None) -> Any:
    """Fill with normal numbers (source: ``torch.Tensor.normal_``)."""
    mean, std = float_parameter("normal_", mean, "mean", 1), float_parameter("normal_", std, "std", 2)
    bits = bits_of("normal_", generator)
    serial = not self.array.flags.c_contiguous
    return drawn_into(NORMAL, self, lambda shape, kind: draw.normal(bits, shape, kind, mean, std, serial))


def random_(self: Any, *args: Any, to: Any = None, generator: Any = None, **from_: Any) -> Any:
    """Fill with integers: all that the dtype holds, below a bound, or between two (``torch.Tensor.random_``)."""
    bits = bits_of("random_", generator)
    given = list(args)
    if "from" in from_:
        given.insert(0, from_.pop("from"))
    if to is not None:
        given.append(to)
    if from_:
        raise noted(TypeError(f"random_() got an unexpected keyword argument '{next(iter(from_))}'"))
    if not given:
        return drawn_into(RANDOM, self, lambda shape, kind: draw.random(bits, shape, kind))
    if len(given) == 1:
        high = as_int(given[0])
        return drawn_into(RANDOM_TO, self, lambda shape, kind: draw.integers(bits, shape, kind, 0, high))
    low = as_int(given[0])
    if given[1] is None:
        return drawn_into(RANDOM_FROM, self, lambda shape, kind: draw.integers_from(bits, shape, kind, low))
    high = as_int(given[1])
    return drawn_into(RANDOM_FROM, self, lambda shape, kind: draw.integers(bits, shape, kind, low, high))


def exponential_(self: Any, lambd: Any = 1.0, *, generator: Any = None) -> Any:
    """Fill with exponential numbers of rate ``lambd`` (source: ``torch.Tensor.exponential_``)."""
    rate, bits = float_parameter("exponential_", lambd, "lambd", 1), bits_of("exponential_", generator)
    return drawn_into(EXPONENTIAL, self, lambda shape, kind: draw.exponential(bits, shape, kind, rate))


def geometric_(self: Any, p: Any, *, generator: Any = None) -> Any:
    """Fill with the number of trials to the first success (source: ``torch.Tensor.geometric_``)."""
    chance, bits = float_parameter("geometric_", p, "p", 1), bits_of("geometric_", generator)
    return drawn_into(GEOMETRIC, self, lambda shape, kind: draw.geometric(bits, shape, kind, chance))


def cauchy_(self: Any, median: Any = 0.0, sigma: Any = 1.0, *, generator: Any = None) -> Any:
    """Fill with Cauchy numbers (source: ``torch.Tensor.cauchy_``)."""
    middle, width = float_parameter("cauchy_", median, "median", 1), float_parameter("cauchy_", sigma, "sigma", 2)
    bits = bits_of("cauchy_", generator)
    return drawn_into(CAUCHY, self, lambda shape, kind: draw.cauchy(bits, shape, kind, middle, width))


def log_normal_(self: Any, mean: Any = 1.0, std: Any = 2.0, *, generator: Any = None) -> Any:
    """Fill with exponentials of normal numbers (source: ``torch.Tensor.log_normal_``)."""
    middle, width = float_parameter("log_normal_", mean, "mean", 1), float_parameter("log_normal_", std, "std", 2)
    bits = bits_of("log_normal_", generator)
    return drawn_into(LOG_NORMAL, self, lambda shape, kind: draw.log_normal(bits, shape, kind, middle, width))


FUNCTIONS = [
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
]
METHODS = {
    "cauchy_": cauchy_,
    "exponential_": exponential_,
    "geometric_": geometric_,
    "log_normal_": log_normal_,
    "normal_": normal_,
    "random_": random_,
    "uniform_": uniform_,
}
