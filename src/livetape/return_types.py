"""The named tuples that operations with several results return: torch's ``torch.return_types``, by the same names.

>>> max((3, 0))
torch.return_types.max(
values=3,
indices=0)
"""

from __future__ import annotations

from operator import itemgetter
from typing import Any


class Results(tuple[Any, ...]):
    """Several results in a tuple whose items have names."""

    __slots__ = ()
    n_fields = n_sequence_fields = n_unnamed_fields = 0
    __match_args__: tuple[str, ...] = ()
    into: type[Results] | None = None  # what a call with out= returns

    def __new__(cls, sequence: Any, /) -> Results:
        if not hasattr(sequence, "__iter__"):
            raise TypeError("constructor requires a sequence")
        made = tuple.__new__(cls, sequence)
        if len(made) != cls.n_fields:
            raise TypeError(
                f"torch.return_types.{cls.__name__}() takes a {cls.n_fields}-sequence ({len(made)}-sequence given)"
            )
        return made

    def __repr__(self) -> str:
        fields = [f"{name}={value!r}" for name, value in zip(self.__match_args__, self)]
        return f"torch.return_types.{type(self).__name__}(\n" + ",\n".join(fields) + ")"

    def __reduce__(self) -> Any:
        return (_again, (type(self).__name__, tuple(self)))


def _again(name: str, values: tuple[Any, ...]) -> Results:
    """Unpickle."""
    made: Results = globals()[name](values)
    return made


def _results(name: str, fields: str) -> Any:
    names = tuple(fields.split())
    members: dict[str, Any] = {field: property(itemgetter(i)) for i, field in enumerate(names)}
    members.update(
        __slots__=(),
        __module__="torch.return_types",
        __match_args__=names,
        n_fields=len(names),
        n_sequence_fields=len(names),
    )
    return type(name, (Results,), members)


aminmax = _results("aminmax", "min max")
cummax = _results("cummax", "values indices")
cummin = _results("cummin", "values indices")
frexp = _results("frexp", "mantissa exponent")
geqrf = _results("geqrf", "a tau")
histogram = _results("histogram", "hist bin_edges")
histogramdd = _results("histogramdd", "hist bin_edges")
kthvalue = _results("kthvalue", "values indices")
linalg_cholesky_ex = _results("linalg_cholesky_ex", "L info")
linalg_eig = _results("linalg_eig", "eigenvalues eigenvectors")
linalg_eigh = _results("linalg_eigh", "eigenvalues eigenvectors")
linalg_inv_ex = _results("linalg_inv_ex", "inverse info")
linalg_ldl_factor = _results("linalg_ldl_factor", "LD pivots")
linalg_ldl_factor_ex = _results("linalg_ldl_factor_ex", "LD pivots info")
linalg_lstsq = _results("linalg_lstsq", "solution residuals rank singular_values")
linalg_lu = _results("linalg_lu", "P L U")
linalg_lu_factor = _results("linalg_lu_factor", "LU pivots")
linalg_lu_factor_ex = _results("linalg_lu_factor_ex", "LU pivots info")
linalg_qr = _results("linalg_qr", "Q R")
linalg_slogdet = _results("linalg_slogdet", "sign logabsdet")
linalg_solve_ex = _results("linalg_solve_ex", "result info")
linalg_svd = _results("linalg_svd", "U S Vh")
lu_unpack = _results("lu_unpack", "P L U")
max = _results("max", "values indices")
median = _results("median", "values indices")
min = _results("min", "values indices")
mode = _results("mode", "values indices")
nanmedian = _results("nanmedian", "values indices")
qr = _results("qr", "Q R")
slogdet = _results("slogdet", "sign logabsdet")
sort = _results("sort", "values indices")
svd = _results("svd", "U S V")
topk = _results("topk", "values indices")
triangular_solve = _results("triangular_solve", "solution cloned_coefficient")
for _type in [value for value in globals().values() if isinstance(value, type) and issubclass(value, Results)]:
    if _type is not Results and _type is not histogramdd:
        _type.into = globals()[_type.__name__ + "_out"] = _results(
            _type.__name__ + "_out", " ".join(_type.__match_args__)
        )
_lu_with_info = _results("_lu_with_info", "LU pivots info")
_unpack_dual = _results("_unpack_dual", "primal tangent")
