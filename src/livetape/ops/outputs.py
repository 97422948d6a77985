"""What torch says of an ``out=`` whose dtype does not fit, or whose memory does not. Functions differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from livetape._tape.explain import noted
from livetape._tape.tensor import TensorBase, shape_of
from livetape._tape.views import check_apart, check_distinct
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


# What torch lets a function write into. Those that are not named here stream: element by element, they may write over an
# argument exactly, and look at the memory of ``out`` before they give it another size.
# These may share memory with their arguments in any way, as they compute before they write:
_FREE = frozenset(
    """
    addbmm addmm addmv alias_copy amax amin aminmax argmax argmin as_strided_copy avg_pool2d baddbmm bmm bucketize
    cholesky cholesky_ex cholesky_inverse cholesky_solve cond cummax cummin det diag diagonal_copy diff dot eig eigh
    eigvals eigvalsh expand_copy geqrf hfft hfft2 hfftn histc histogram householder_product inner inv inv_ex inverse
    irfft irfft2 irfftn ldexp ldl_factor ldl_factor_ex ldl_solve linear log_softmax logsigmoid logsumexp lstsq lu
    lu_factor lu_factor_ex lu_solve lu_unpack matmul matrix_norm matrix_power matrix_rank mean median mm multi_dot mv
    mvlgamma nanmean nanmedian nanquantile nansum native_batch_norm _native_batch_norm_legit ndtr norm ormqr
    permute_copy pinv prod qr quantile searchsorted slice_scatter slogdet softmax solve solve_ex solve_triangular sort
    split_with_sizes_copy squeeze_copy std std_mean sum svd svdvals t_copy tensordot tensorinv tensorsolve
    transpose_copy triangular_solve tril triu unbind_copy unfold_copy unsqueeze_copy var var_mean vdot vecdot
    vector_norm view_copy
    """.split()
)
# These stream, but look only where ``out`` keeps its size:
_LATE = frozenset(
    """
    all any arange bernoulli cumprod cumsum fft fft2 fftn ifft2 ifftn isin kron logcumsumexp mode msort multinomial nonzero
    normal renorm rfft rfft2 rfftn topk
    """.split()
)
# These must not write over some of their tensors at all, numbered in their order:
_APART: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(
        "cat column_stack cross dstack hstack index_select kron masked_select stack take vstack".split(), ()
    ),
    **dict.fromkeys(("concat", "concatenate", "row_stack"), ()),
    **dict.fromkeys(("gather", "kthvalue", "take_along_dim"), (0,)),
    **dict.fromkeys("index_add index_copy index_reduce scatter scatter_add scatter_reduce".split(), (1, 2)),
}


def tensors_among(values: Any) -> list[Any]:
    """The tensors among a function's arguments, those in lists included."""
    found = []
    for value in values:
        for one in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(one, TensorBase):
                found.append(one)
    return found


def check_memory(name: str, tensors: list[Any], targets: Any, results: Any) -> None:
    """Raise torch's errors for outputs that share memory within themselves, or with the arguments of a function."""
    free = name in _FREE or (name in ("max", "min") and len(tensors) < 2)
    apart = _APART.get(name)
    for number, (target, result) in enumerate(zip(targets, results)):
        have, want = shape_of(target), shape_of(result)
        if have == want or not (free or name in _LATE or (apart is not None and name not in _EARLY)):
            check_distinct(target.array)
        if free or (number and name == "kthvalue"):
            continue
        for at, tensor in enumerate(tensors):
            strict = apart is not None and (not apart or at in apart)
            if strict or have == want:
                check_apart(target, tensor, strict)
            elif tensor is target and apart is None and name not in _LATE:
                raise noted(
                    RuntimeError(f"output with shape {list(have)} doesn't match the broadcast shape {list(want)}")
                )


_EARLY = ("index_select", "masked_select", "scatter", "scatter_add", "scatter_reduce", "take")
