"""Random tensors: new ones, and laws drawn into what is there. The same seed gives torch's numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from livetape._tape.explain import broadcast_error, noted
from livetape._tape.modes import is_recording, state
from livetape._tape.tensor import TensorBase, counter_of, shape_of, wrap
from livetape._tape.views import check_inplace, needs_gradient
from livetape.dtypes import SCALAR_TYPE, int64
from livetape.kernels import sampling as draw
from livetape.ops.basics import zeros_like
from livetape.ops.dims import as_int, is_integer, no_overload
from livetape.ops.options import check_format, finish, kind_of, kind_or_out, need_tensor, sizes
from livetape.ops.scattering import no_derivative
from livetape.ops.table import into, row
from livetape.random import Generator, default_generator

_OPTIONS = (
    "Tensor out = None, torch.dtype dtype = None, torch.layout layout = None, torch.device device = None, "
    "bool pin_memory = False, bool requires_grad = False)"
)


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
        kinds = [type(a).__name__ for a in args]
        if wrong:
            kinds.append(f"generator={type(generator).__name__}")
        raise noted(
            TypeError(
                f"{name}() received an invalid combination of arguments - got ({', '.join(kinds)}), but "
                "expected one "
                f"of:\n * (tuple of ints size, *, torch.Generator generator, {_OPTIONS}\n * (tuple of ints "
                "size, *, "
                f"{_OPTIONS}\n"
            )
        )
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


_RANDINT = tuple(
    f"({bounds}, tuple of ints size, *, {generator}{_OPTIONS}"
    for bounds in ("int high", "int low, int high")
    for generator in ("torch.Generator generator, ", "")
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
        raise noted(no_overload(name, args, *_RANDINT))
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
        raise noted(no_overload("randint", args, *_RANDINT))
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


def _fill(op: Any, self: Any, law: Any) -> Any:
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


def _float(name: str, value: Any, argument: str, position: int) -> float:
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
    low, high = _float("uniform_", low, "from", 1), _float("uniform_", high, "to", 2)
    bits = bits_of("uniform_", generator)
    return _fill(UNIFORM, self, lambda shape, kind: draw.uniform(bits, shape, kind, low, high))


def normal_(self: Any, mean: Any = 0.0, std: Any = 1.0, *, generator: Any = None) -> Any:
    """Fill with normal numbers (source: ``torch.Tensor.normal_``)."""
    mean, std = _float("normal_", mean, "mean", 1), _float("normal_", std, "std", 2)
    bits = bits_of("normal_", generator)
    serial = not self.array.flags.c_contiguous
    return _fill(NORMAL, self, lambda shape, kind: draw.normal(bits, shape, kind, mean, std, serial))


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
        return _fill(RANDOM, self, lambda shape, kind: draw.random(bits, shape, kind))
    if len(given) == 1:
        high = as_int(given[0])
        return _fill(RANDOM_TO, self, lambda shape, kind: draw.integers(bits, shape, kind, 0, high))
    low = as_int(given[0])
    if given[1] is None:
        return _fill(RANDOM_FROM, self, lambda shape, kind: draw.integers_from(bits, shape, kind, low))
    high = as_int(given[1])
    return _fill(RANDOM_FROM, self, lambda shape, kind: draw.integers(bits, shape, kind, low, high))


def exponential_(self: Any, lambd: Any = 1.0, *, generator: Any = None) -> Any:
    """Fill with exponential numbers of rate ``lambd`` (source: ``torch.Tensor.exponential_``)."""
    rate, bits = _float("exponential_", lambd, "lambd", 1), bits_of("exponential_", generator)
    return _fill(EXPONENTIAL, self, lambda shape, kind: draw.exponential(bits, shape, kind, rate))


def geometric_(self: Any, p: Any, *, generator: Any = None) -> Any:
    """Fill with the number of trials to the first success (source: ``torch.Tensor.geometric_``)."""
    chance, bits = _float("geometric_", p, "p", 1), bits_of("geometric_", generator)
    return _fill(GEOMETRIC, self, lambda shape, kind: draw.geometric(bits, shape, kind, chance))


def cauchy_(self: Any, median: Any = 0.0, sigma: Any = 1.0, *, generator: Any = None) -> Any:
    """Fill with Cauchy numbers (source: ``torch.Tensor.cauchy_``)."""
    middle, width = _float("cauchy_", median, "median", 1), _float("cauchy_", sigma, "sigma", 2)
    bits = bits_of("cauchy_", generator)
    return _fill(CAUCHY, self, lambda shape, kind: draw.cauchy(bits, shape, kind, middle, width))


def log_normal_(self: Any, mean: Any = 1.0, std: Any = 2.0, *, generator: Any = None) -> Any:
    """Fill with exponentials of normal numbers (source: ``torch.Tensor.log_normal_``)."""
    middle, width = _float("log_normal_", mean, "mean", 1), _float("log_normal_", std, "std", 2)
    bits = bits_of("log_normal_", generator)
    return _fill(LOG_NORMAL, self, lambda shape, kind: draw.log_normal(bits, shape, kind, middle, width))


# ---------------------------------------------------------------- coins
BERNOULLI = row(
    "bernoulli", lambda self, bits: draw.bernoulli_from(bits, _in_order(self)), self=lambda grad: zeros_like(grad)
)
BERNOULLI_LIKE = row(
    "bernoulli",
    lambda self, p, bits: draw.bernoulli(bits, self.shape, p, self.dtype),
    node="NotImplemented",
    key="bernoulli.like",
    self=no_derivative("bernoulli"),
)
BERNOULLI_TENSOR = row(
    "bernoulli",
    lambda self, p, bits: _coins(self, np.broadcast_to(p, self.shape), bits),
    tensors="self p",
    node="BernoulliBackward1",
    key="bernoulli.tensor",
    self=lambda grad: zeros_like(grad),
    p=lambda grad, p_size: wrap(np.zeros(p_size, grad.array.dtype), grad.dtype, None),
)


def _in_order(array: Any) -> Any:
    return array if array.flags.c_contiguous else array.copy("C")


def _coins(like: Any, p: Any, bits: Any) -> Any:
    if like.flags.c_contiguous:
        return draw.bernoulli_from(bits, _in_order(p), like.dtype)
    flat = np.ascontiguousarray(p.transpose(draw.memory_order(like))).reshape(-1)
    return draw.arranged(like, draw.bernoulli_from(bits, flat, like.dtype))


def bernoulli(input: Any, p: Any = None, *, generator: Any = None, out: Any = None) -> Any:
    """Ones with the probabilities of the elements, or all with ``p`` (source: ``torch.bernoulli``).

    >>> import livetape as torch
    >>> torch.bernoulli(torch.tensor([0., 1.]))
    tensor([0., 1.])
    """
    if out is not None:
        return into(out, bernoulli, input, p, generator=generator)
    need_tensor("bernoulli", input)
    bits = bits_of("bernoulli", generator)
    if p is None:
        return BERNOULLI.apply((input, bits))
    chance = _float("bernoulli", p, "p", 2)
    return BERNOULLI_LIKE.apply((input, chance, bits))


def bernoulli_(self: Any, p: Any = 0.5, *, generator: Any = None) -> Any:
    """Fill with ones of probability ``p``, a number or a tensor, and zeros (source: ``torch.Tensor.bernoulli_``)."""
    bits = bits_of("bernoulli_", generator)
    if isinstance(p, TensorBase):
        return BERNOULLI_TENSOR.inplace(self, p, bits)
    chance = _float("bernoulli_", p, "p", 1)
    return _fill(BERNOULLI_P, self, lambda shape, kind: draw.bernoulli(bits, shape, chance, kind))


# ---------------------------------------------------------------- normal with tensors
def _zero_of(grad: Any, size: Any) -> Any:
    return wrap(np.zeros(size, grad.array.dtype), grad.dtype, None)


NORMAL_MEAN = row(
    "normal",
    lambda mean, std, bits: _normal_around(bits, mean, std),
    tensors="mean",
    node="NormalBackward1",
    key="normal.mean",
    mean=lambda grad, mean_size: _zero_of(grad, mean_size),
)
NORMAL_STD = row(
    "normal",
    lambda mean, std, bits: _normal_around(bits, mean, std),
    tensors="std",
    node="NormalBackward2",
    key="normal.std",
    std=lambda grad, std_size: _zero_of(grad, std_size),
)
NORMAL_BOTH = row(
    "normal",
    lambda mean, std, bits: _normal_around(bits, mean, std),
    tensors="mean std",
    node="NormalBackward3",
    key="normal.both",
    mean=lambda grad, mean_size: _zero_of(grad, mean_size),
    std=lambda grad, std_size: _zero_of(grad, std_size),
)


def _normal_around(bits: Any, mean: Any, std: Any) -> Any:
    return draw.normal_around(bits, mean, std)


_NORMAL = (
    "(Tensor mean, Tensor std, *, torch.Generator generator = None, Tensor out = None)",
    "(Tensor mean, float std = 1, *, torch.Generator generator = None, Tensor out = None)",
    "(float mean, Tensor std, *, torch.Generator generator = None, Tensor out = None)",
    "(float mean, float std, tuple of ints size, *, torch.Generator generator = None, " + _OPTIONS,
)


def normal(
    mean: Any = 0.0,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Any = None,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = False,
    requires_grad: Any = False,
) -> Any:
    """Normal numbers with means and deviations from tensors, or of a given size (source: ``torch.normal``).

    >>> import livetape as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.normal(0.0, 1.0, (3,))
    tensor([ 1.5410, -0.2934, -2.1788])
    """
    bits = bits_of("normal", generator)
    first, second = isinstance(mean, TensorBase), isinstance(std, TensorBase)
    if not first and not second:
        if size is None:
            raise noted(no_overload("normal", (mean, std), *_NORMAL))
        kind = kind_or_out("normal", dtype, out)
        shape = sizes("normal", (size,))
        middle, width = _float("normal", mean, "mean", 1), _float("normal", std, "std", 2)
        if state.interposed != 0 and out is None:
            return interposed(lambda size, np_: draw.normal(bits, size, np_, middle, width), shape, kind, requires_grad)
        drawn = draw.normal(bits, shape, kind.np, middle, width)
        return finish("normal", drawn, kind, device, requires_grad, layout, pin_memory, out)
    if out is not None:
        return into(out, normal, mean, std, generator=generator)
    if first and second:
        if shape_of(mean) != shape_of(std):
            try:
                np.broadcast_shapes(shape_of(mean), shape_of(std))
            except ValueError:
                raise noted(broadcast_error(shape_of(mean), shape_of(std))) from None
        return NORMAL_BOTH.apply((mean, std, bits))
    if first:
        return NORMAL_MEAN.apply((mean, _float("normal", std, "std", 2), bits))
    return NORMAL_STD.apply((_float("normal", mean, "mean", 1), std, bits))


# ---------------------------------------------------------------- counts
POISSON = row("poisson", lambda self, bits: draw.poisson(bits, self), self=lambda grad: zeros_like(grad))
BINOMIAL = row(
    "binomial",
    lambda count, prob, bits: draw.binomial(bits, count, prob),
    tensors="count prob",
    node="NotImplemented",
    count=no_derivative("binomial"),
    prob=no_derivative("binomial"),
)
MULTINOMIAL = row(
    "multinomial", lambda self, num_samples, replacement, bits: _multinomial(bits, self, num_samples, replacement)
)


def _multinomial(bits: Any, weights: Any, count: int, replacement: bool) -> Any:
    """Inside vmap the rows have a dimension more."""
    if weights.ndim < 3:
        return draw.multinomial(bits, weights, count, replacement)
    found = draw.multinomial(bits, weights.reshape(-1, weights.shape[-1]), count, replacement)
    return found.reshape((*weights.shape[:-1], count))


def poisson(input: Any, generator: Any = None) -> Any:
    """Poisson counts of the rates in a tensor (source: ``torch.poisson``)."""
    need_tensor("poisson", input)
    return POISSON.apply((input, bits_of("poisson", generator)))


def binomial(count: Any, prob: Any, generator: Any = None) -> Any:
    """The successes among ``count`` trials of probability ``prob`` (source: ``torch.binomial``)."""
    need_tensor("binomial", count, "count")
    need_tensor("binomial", prob, "prob", 2)
    return BINOMIAL.apply((count, prob, bits_of("binomial", generator)))


def multinomial(
    input: Any, num_samples: Any, replacement: bool = False, *, generator: Any = None, out: Any = None
) -> Any:
    """Places drawn with the weights of each row (source: ``torch.multinomial``).

    >>> import livetape as torch
    >>> torch.multinomial(torch.tensor([0., 1., 0.]), 1)
    tensor([1])
    """
    if out is not None:
        if out.dtype is not int64:
            raise noted(RuntimeError(f"multinomial expects Long tensor out, got: {SCALAR_TYPE[out.dtype]}"))
        return into(out, multinomial, input, num_samples, replacement, generator=generator)
    need_tensor("multinomial", input)
    if input.array.ndim > 2:
        raise noted(RuntimeError("prob_dist must be 1 or 2 dim"))
    return MULTINOMIAL.apply((input, as_int(num_samples), replacement, bits_of("multinomial", generator)))


FUNCTIONS = [
    "bernoulli",
    "binomial",
    "multinomial",
    "normal",
    "poisson",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
]
METHODS = {
    "bernoulli": bernoulli,
    "bernoulli_": bernoulli_,
    "cauchy_": cauchy_,
    "exponential_": exponential_,
    "geometric_": geometric_,
    "log_normal_": log_normal_,
    "multinomial": multinomial,
    "normal_": normal_,
    "random_": random_,
    "uniform_": uniform_,
}
