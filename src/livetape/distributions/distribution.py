"""Distribution: what all probability distributions share."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar

from livetape._tape.modes import local, set_grad
from livetape._tape.tensor import TensorBase, shape_of
from livetape.distributions.constraints import is_dependent, satisfies
from livetape.distributions.utils import lazy_property
from livetape.size import SCALAR, Size
from livetape.tensor import Tensor

__all__ = ["Distribution"]

Shape = Sequence[int]


class Distribution:
    """A batch of probability distributions (source: ``torch.distributions.Distribution``).

    batch_shape   the shape of the parameters: each element is a distribution of its own
    event_shape   the shape of one sample of one of them
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    _validate_args: bool = __debug__

    # What `expand` expands: the attributes that hold parameters, with the number of dimensions that each has beyond the
    # batch's and keeps. None: an attribute that the new distribution takes over as it is.
    _parts: ClassVar[dict[str, int | None]] = {}
    _home: ClassVar[Any] = None  # the class that declares them

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "_parts" in cls.__dict__:
            cls._home = cls

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether arguments are checked where a distribution is not told: so by default, unless Python runs with -O.

        Raises ValueError for anything but True and False.
        """
        if value not in [True, False]:
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape: Any = SCALAR, event_shape: Any = SCALAR, validate_args: bool | None = None) -> None:
        self._batch_shape = batch_shape
        self._event_shape = event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    def _check_parameters(self) -> None:
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            warnings.warn(
                f"{_class(self)} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize the "
                "distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        for name, constraint in arg_constraints.items():
            if is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property):
                continue  # not computed yet
            value = getattr(self, name)
            if not satisfies(value, constraint):
                raise ValueError(
                    f"Expected parameter {name} ({_kind(value)}) of distribution {self!r} to satisfy the constraint "
                    f"{constraint!r}, but found invalid values:\n{value}"
                )

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        """The same distributions for a larger batch, whose parameters are expanded without a copy.

        ``_instance`` is the object to fill in, for subclasses whose ``expand`` builds upon this one.
        """
        home = self._home
        if home is None:
            raise NotImplementedError
        new = self._get_checked_instance(home, _instance)
        batch = Size(batch_shape)
        have = self.__dict__
        for name, dims in home._parts.items():
            if name in have:
                new.__dict__[name] = _expanded(have[name], batch, dims)
        Distribution.__init__(new, batch, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    # ------------------------------------------------------------ shapes and regions
    @property
    def batch_shape(self) -> Size:
        """The shape of the batch of distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one sample of one distribution."""
        return self._event_shape

    @property
    def arg_constraints(self) -> Any:
        """The regions that the parameters lie in, by their names."""
        raise NotImplementedError

    @property
    def support(self) -> Any:
        """The region that samples lie in."""
        raise NotImplementedError

    # ------------------------------------------------------------ moments
    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        raise NotImplementedError(f"{_class(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    # ------------------------------------------------------------ samples
    def sample(self, sample_shape: Shape = SCALAR) -> Tensor:
        """A sample of each distribution, or a tensor of them of shape ``sample_shape``, without gradients."""
        before = local.grad
        set_grad(False)
        try:
            return self.rsample(sample_shape)
        finally:
            set_grad(before)

    def rsample(self, sample_shape: Shape = SCALAR) -> Tensor:
        """Samples through which gradients reach the parameters."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """``sample((n,))``, by an old name."""
        warnings.warn(
            "`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", category=FutureWarning, stacklevel=2
        )
        return self.sample(Size((n,)))

    # ------------------------------------------------------------ probabilities
    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or of the probability, at ``value``."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a sample not above ``value``."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The quantile of the probability ``value``: `cdf` undone."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution along dimension 0; the batch's dimensions follow, of one element each
        unless they are to be expanded."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropy in nats, of shape ``batch_shape``."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """exp of the entropy."""
        return self.entropy().exp()

    # ------------------------------------------------------------ for subclasses
    def _extended_shape(self, sample_shape: Shape = SCALAR) -> Size:
        """The shape of samples: ``sample_shape``, then the batch's, then the event's."""
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _validate_sample(self, value: Any) -> None:
        """Raise ValueError unless ``value`` has a fitting shape and lies in the support."""
        if not isinstance(value, TensorBase):
            raise ValueError("The value argument to log_prob must be a Tensor")
        actual = shape_of(value)
        event = self._event_shape
        expected = self._batch_shape + event if event else self._batch_shape
        if actual != expected:
            if actual[len(actual) - len(event) :] != event:
                raise ValueError(f"The right-most size of value must match event_shape: {actual} vs {event}.")
            for have, wanted in zip(reversed(actual), reversed(expected)):
                if have != wanted and have != 1 and wanted != 1:
                    raise ValueError(
                        f"Value is not broadcastable with batch_shape+event_shape: {actual} vs {expected}."
                    )
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{_class(self)} does not define `support` to enable sample validation. Please initialize the distribution "
                "with `validate_args=False` to turn off validation.",
                stacklevel=2,
            )
            return
        if support is None:
            raise AssertionError("support is unexpectedly None")
        if not satisfies(value, support):
            raise ValueError(
                f"Expected value argument ({_kind(value)}) to be within the support ({support!r}) of the distribution "
                f"{self!r}, but found invalid values:\n{value}"
            )

    def _get_checked_instance(self, cls: Any, _instance: Any = None) -> Any:
        """The object that ``expand`` fills in. A subclass with an ``__init__`` of its own has to provide it."""
        if _instance is not None:
            return _instance
        if type(self).__init__ is not cls.__init__:
            raise NotImplementedError(
                f"Subclass {self.__class__.__name__} of {cls.__name__} that defines a custom __init__ method "
                "must also define a custom .expand() method."
            )
        return self.__new__(type(self))

    def __repr__(self) -> str:
        have = self.__dict__
        shown = [
            f"{name}: {have[name] if have[name].numel() == 1 else have[name].size()}"
            for name in self.arg_constraints
            if name in have
        ]
        return f"{type(self).__name__}({', '.join(shown)})"


def _class(distribution: Any) -> str:
    """A distribution's class as torch's messages show it."""
    return repr(type(distribution)).replace("'livetape.", "'torch.", 1)


def _kind(value: Any) -> str:
    return f"{type(value).__name__} of shape {tuple(value.shape)}"


def _expanded(part: Any, batch: Size, dims: int | None) -> Any:
    """A parameter for a larger batch: a tensor, or a distribution, with ``dims`` more dimensions."""
    if dims is None:
        return part
    if isinstance(part, Distribution):
        kept = part._batch_shape
        return part.expand(batch + kept[len(kept) - dims :])
    kept = part.shape
    return part.expand(batch + kept[len(kept) - dims :])
