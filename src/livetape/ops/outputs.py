"""What torch says of an ``out=`` whose dtype does not fit. Functions differ: most take what the result can be cast to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from livetape._tape.explain import noted
from livetape.dtypes import C_NAME, SCALAR_TYPE, can_cast

# The words of functions whose output must have the result's dtype; {want} and {have} are dtypes as messages write them,
# {c_want} and {c_have} as C++ does. A function of the same name elsewhere has its module's in front.
_SAME = {
    "Expected out tensor to have dtype {c_want}, but got {c_have} instead": """
        addmm addmv alias_copy aminmax argmax argmin as_strided_copy avg_pool2d avg_pool3d baddbmm bmm cross det
        diagonal_copy decompositions.cholesky cholesky_ex eigh eigvalsh expand_copy gather index_add index_copy index_reduce
        inv inv_ex isin ldl_factor ldl_factor_ex ldl_solve linear log_softmax lu_factors.lu lu_factor lu_factor_ex lu_solve
        lu_unpack max min mm msort norms.norm permute_copy qr renorm scatter scatter_add scatter_reduce slice_scatter
        slogdet softmax solve solve_ex sort split_with_sizes_copy squeeze_copy svd svdvals t_copy take_along_dim topk
        transpose_copy triangular_solve tril triu unbind_copy unfold_copy unsqueeze_copy vector_norm view_copy""",
    "Found dtype {have} but expected {want}": """
        abs absolute bitwise_not ceil conj_physical floor frac gelu hardshrink ifft ihfft neg negative round sgn sign
        softplus softshrink trunc fix""",
    "result dtype {have} does not match input dtype {want}": "dot vdot",
    "expected scalar_type {want} but found {have}": "cummax cummin diff logcumsumexp",
    "expected scalar type {want} but found {have}": "logsigmoid solve_triangular native_batch_norm _native_batch_norm_legit",
    "expected scalar type '{want}' but got '{have}' for values output": "mode",
    "output values must be of same type as input": "kthvalue",
    "{name}(): self and result must have the same scalar type": "index_select masked_select",
    "take(): self and out expected to have the same dtype, but got self.dtype = {want} and out.dtype = {have}": "take",
    "torch.histogram: input tensor and hist tensor should have the same dtype, but got input {c_want} and hist {c_have}": (
        "histogram histc"
    ),
    "tensordot: Expected the output tensor to have dtype {want}, but got an output tensor with dtype {have}": (
        "inner tensordot"
    ),
    "Expected out type to be {want} but got {have}": "where",
    "nan_to_num: dtype of out: {have} should be same as input: {want}": "nan_to_num",
    "{name} does not support non-boolean outputs.": "signbit isposinf isneginf",
    "self and mat2 must have the same dtype, but got {have} and {want}": "addbmm",
    "addmv input tensors must have the same dtype, but got {have}, {want}, and {want}": "mv",
    "quantile() out tensor must be same dtype as the input tensor": "quantile nanquantile",
    "torch.ormqr: Expected input and result to have the same dtype, but input has dtype{want} and result has dtype {have}": (
        "ormqr"
    ),
    "Expected self.dtype() == output.dtype() to be true, but got false.  (Could this error message be improved?  If so, "
    "please report an enhancement request to PyTorch.)": "narrow_copy",
    "the output given to float_power has dtype {have} but the operation's result requires dtype {want}": "float_power",
    "linalg.vecdot: Expected out of dtype{want} but found {have}": "vecdot",
    "multi_dot(): expected out tensor to have dtype {c_want} but got {c_have}": "multi_dot",
    "linalg.{name} expected out tensor dtype {want} but got: {have}": "matrix_norms.norm matrix_norm",
    "nonzero: Expected out tensor to have scalar type {want} but got scalar type{have}": "nonzero",
}
# The words of the others, where they have words of their own.
_CAST = {
    "{name}: Expected result to be safely castable from {want} dtype, but got result with dtype {have}": """
        linalg.cholesky cholesky_inverse cholesky_solve matrix_power tensorinv tensorsolve""",
    "linalg.{name}: Expected result to be safely castable from {want} dtype, but got result with dtype {have}": "cond pinv",
    "torch.linalg.{name}: Expected result to be safely castable from {want} dtype, but got result with dtype {have}": (
        "householder_product matrix_rank"
    ),
    "torch.linalg.{name}: Expected eigenvalues to be safely castable from {want} dtype, but got eigenvalues with dtype "
    "{have}": "eig eigvals",
    "torch.linalg.lstsq: Expected solution to be safely castable from {want} dtype, but got solution with dtype {have}": (
        "lstsq"
    ),
    "torch.geqrf: Expected a to be safely castable from {want} dtype, but got a with dtype {have}": "geqrf",
    "{name}: result type {want} can't be cast to the desired out= type {have}": "diag",
    "{name} can't be cast to the desired output type {have}": "ldexp",
    "logsumexp(): Expected floating point type for result tensor, but got: {have}": "logsumexp",
    "mean.dtype_out(): input types can't be cast to the desired output type {have}": "mean",
    "hfft expects a floating point output tensor, but got {have}": "hfft",
    "hfftn expects a floating point output tensor, but got {have}": "hfft2 hfftn",
    "irfft expects a floating point output tensor, but got {have}": "irfft",
    "irfftn expects a floating point output tensor, but got {have}": "irfft2 irfftn",
}
_PLAIN = "result type {want} can't be cast to the desired output type {have}"


def _by_name(table: dict[str, str]) -> dict[str, str]:
    return {name: words for words, names in table.items() for name in names.split()}


_SAME_OF, _CAST_OF = _by_name(_SAME), _by_name(_CAST)


def _words(table: dict[str, str], function: Any) -> str | None:
    name = function.__name__
    return table.get(f"{function.__module__.rpartition('.')[2]}.{name}") or table.get(name)


def c_name(kind: Any) -> str:
    """A dtype as the messages of C++ checks write it."""
    name = C_NAME[kind]
    return name + " int" if name in ("long", "short") else name


def check_output(function: Callable[..., Any], target: Any, result: Any, several: bool) -> None:
    """Raise torch's error if the result of a function, or one of several, cannot be written into ``target``."""
    want, have = result.dtype, target.dtype
    if want is have:
        return
    words = _words(_SAME_OF, function) if several or function.__name__ not in ("max", "min") else None
    if words is None:
        if can_cast(want, have):
            return
        words = _words(_CAST_OF, function) or _PLAIN
    text = words.format(
        name=function.__name__,
        want=SCALAR_TYPE[want],
        have=SCALAR_TYPE[have],
        c_want=c_name(want),
        c_have=c_name(have),
    )
    raise noted(RuntimeError(text))
