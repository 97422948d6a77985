"""Chi2: the chi-squared distribution."""

from __future__ import annotations

from livetape.distributions import constraints
from livetape.distributions.gamma import Gamma
from livetape.distributions.utils import Value
from livetape.tensor import Tensor

__all__ = ["Chi2"]


class Chi2(Gamma):
    """The sum of the squares of ``df`` standard normals (source: ``torch.distributions.Chi2``).

    >>> Chi2(3.0).mean
    tensor(3.)
    """

    arg_constraints = {"df": constraints.positive}
    _parts = Gamma._parts

    def __init__(self, df: Value, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    @property
    def df(self) -> Tensor:
        """The degrees of freedom."""
        return self.concentration * 2
