"""Methods: the operations as methods of a tensor, each the function that its family's file defines."""

from __future__ import annotations

from livetape.operators import Operators
from livetape.ops import (
    activation,
    added_products,
    arithmetic,
    blends,
    bounds,
    casting,
    choose,
    combine,
    combining,
    compare,
    complexes,
    contractions,
    copies,
    covariance,
    creation,
    determinants,
    distances,
    dlpack,
    extremes,
    filling,
    float_bits,
    gathering,
    histograms,
    joining,
    layout,
    linalg,
    literals,
    norms,
    permuting,
    placing,
    pointwise,
    powers,
    products,
    queries,
    reduce,
    reflectors,
    removed,
    repeating,
    rounding,
    sampling,
    scan,
    scattering,
    searching,
    shape,
    solving,
    sorting,
    special,
    splitting,
    tensor_laws,
    unfolding,
    whole_slices,
)
from livetape.ops.boundary import (
    bind,
    shorten,
)
from livetape.ops.diagonal import (
    diag,
    diag_embed,
    diagflat,
    diagonal,
    diagonal_scatter,
    fill_diagonal_,
    flip,
    fliplr,
    flipud,
    roll,
    rot90,
    trace,
    tril,
    tril_,
    triu,
    triu_,
)
from livetape.ops.softmax import (
    log_softmax,
    softmax,
)
from livetape.ops.stft import (
    istft,
    stft,
)
from livetape.shortcuts import SHORTCUTS


class Methods(Operators):
    """A tensor with the operations as methods."""

    __slots__ = ()

    # ops/activation.py
    relu = activation.relu
    relu_ = activation.relu_
    hardshrink = activation.hardshrink
    prelu = activation.prelu

    # ops/added_products.py
    addmm = added_products.addmm
    addmm_ = added_products.addmm_
    addmv = added_products.addmv
    addmv_ = added_products.addmv_
    addr = added_products.addr
    addr_ = added_products.addr_
    baddbmm = added_products.baddbmm
    baddbmm_ = added_products.baddbmm_
    addbmm = added_products.addbmm
    addbmm_ = added_products.addbmm_

    # ops/arithmetic.py
    __rdiv__ = arithmetic.rdiv
    add = arithmetic.add
    add_ = arithmetic.add_
    sub = arithmetic.sub
    sub_ = arithmetic.sub_
    subtract = arithmetic.subtract
    subtract_ = arithmetic.subtract_
    mul = arithmetic.mul
    mul_ = arithmetic.mul_
    multiply = arithmetic.multiply
    multiply_ = arithmetic.mul_
    div = arithmetic.div
    div_ = arithmetic.div_
    divide = arithmetic.divide
    divide_ = arithmetic.divide_
    true_divide = arithmetic.true_divide
    true_divide_ = arithmetic.true_divide_
    floor_divide = arithmetic.floor_divide
    floor_divide_ = arithmetic.floor_divide_
    reciprocal = arithmetic.reciprocal
    reciprocal_ = arithmetic.reciprocal_
    neg = arithmetic.neg
    neg_ = arithmetic.neg_
    negative = arithmetic.negative
    negative_ = arithmetic.negative_
    positive = arithmetic.positive
    remainder = arithmetic.remainder
    remainder_ = arithmetic.remainder_
    fmod = arithmetic.fmod
    fmod_ = arithmetic.fmod_

    # ops/blends.py
    addcmul = blends.addcmul
    addcmul_ = blends.addcmul.inplace
    addcdiv = blends.addcdiv
    addcdiv_ = blends.addcdiv.inplace
    lerp = blends.lerp
    lerp_ = blends.lerp_

    # ops/bounds.py
    clamp = bounds.clamp
    clamp_ = bounds.clamp_
    clip = bounds.clip
    clip_ = bounds.clip_
    clamp_min = bounds.clamp_min
    clamp_min_ = bounds.clamp_min_
    clamp_max = bounds.clamp_max
    clamp_max_ = bounds.clamp_max_

    # ops/casting.py
    to = casting.to
    float = casting.float_
    double = casting.double
    half = casting.half
    bfloat16 = casting.bfloat16
    int = casting.int_
    long = casting.long
    short = casting.short
    char = casting.char
    byte = casting.byte
    bool = casting.bool_
    chalf = casting.chalf
    cfloat = casting.cfloat
    cdouble = casting.cdouble
    type = casting.type_
    type_as = casting.type_as
    cpu = casting.cpu
    cuda = casting.cuda
    contiguous = casting.contiguous
    is_contiguous = casting.is_contiguous
    numpy = casting.numpy
    item = casting.item
    tolist = casting.tolist
    data_ptr = casting.data_ptr
    clone = casting.clone
    copy_ = casting.copy_
    detach = casting.detach

    # ops/choose.py
    where = choose.where_method
    maximum = choose.maximum
    minimum = choose.minimum
    fmax = choose.fmax
    fmin = choose.fmin

    # ops/combine.py
    atan2 = combine.atan2
    atan2_ = combine.atan2.inplace
    hypot = combine.hypot
    hypot_ = combine.hypot.inplace
    xlogy = combine.xlogy
    xlogy_ = combine.xlogy_
    nextafter = combine.nextafter
    nextafter_ = combine.nextafter.inplace
    gcd = combine.gcd
    gcd_ = combine.gcd_
    lcm = combine.lcm
    lcm_ = combine.lcm_
    logaddexp = combine.logaddexp
    logaddexp2 = combine.logaddexp2
    arctan2 = combine.arctan2
    arctan2_ = combine.atan2.inplace
    copysign = combine.copysign
    copysign_ = combine.copysign_
    heaviside = combine.heaviside
    heaviside_ = combine.heaviside_
    ldexp = combine.ldexp
    ldexp_ = combine.ldexp_

    # ops/combining.py
    index_reduce = combining.index_reduce
    index_reduce_ = combining.index_reduce_
    scatter_reduce = combining.scatter_reduce
    scatter_reduce_ = combining.scatter_reduce_

    # ops/compare.py
    eq = compare.eq
    ne = compare.ne
    lt = compare.lt
    le = compare.le
    gt = compare.gt
    ge = compare.ge
    bitwise_and = compare.bitwise_and
    bitwise_or = compare.bitwise_or
    bitwise_xor = compare.bitwise_xor
    bitwise_left_shift = compare.bitwise_left_shift
    bitwise_right_shift = compare.bitwise_right_shift
    bitwise_not = compare.bitwise_not
    logical_and = compare.logical_and
    logical_or = compare.logical_or
    logical_xor = compare.logical_xor
    logical_not = compare.logical_not
    isnan = compare.isnan
    isinf = compare.isinf
    isfinite = compare.isfinite
    isposinf = compare.isposinf
    isneginf = compare.isneginf
    isreal = compare.isreal
    isclose = compare.isclose
    allclose = compare.allclose
    equal = compare.equal
    not_equal = compare.not_equal
    less = compare.less
    less_equal = compare.less_equal
    greater = compare.greater
    greater_equal = compare.greater_equal
    eq_ = compare.eq.inplace
    ne_ = compare.ne.inplace
    lt_ = compare.lt.inplace
    le_ = compare.le.inplace
    gt_ = compare.gt.inplace
    ge_ = compare.ge.inplace
    bitwise_and_ = compare.bitwise_and.inplace
    bitwise_or_ = compare.bitwise_or.inplace
    bitwise_xor_ = compare.bitwise_xor.inplace
    bitwise_left_shift_ = compare.bitwise_left_shift.inplace
    bitwise_right_shift_ = compare.bitwise_right_shift.inplace
    bitwise_not_ = compare.bitwise_not.inplace
    logical_and_ = compare.logical_and.inplace
    logical_or_ = compare.logical_or.inplace
    logical_xor_ = compare.logical_xor.inplace
    logical_not_ = compare.logical_not.inplace
    not_equal_ = compare.ne.inplace
    less_ = compare.lt.inplace
    less_equal_ = compare.le.inplace
    greater_ = compare.gt.inplace
    greater_equal_ = compare.ge.inplace

    # ops/complexes.py
    angle = complexes.angle
    conj = complexes.conj
    conj_physical = complexes.conj_physical
    conj_physical_ = complexes.conj_physical_
    resolve_conj = complexes.resolve_conj
    resolve_neg = complexes.resolve_neg
    is_conj = complexes.is_conj
    is_neg = complexes.is_neg
    real = complexes.METHODS["real"]
    imag = complexes.METHODS["imag"]

    # ops/contractions.py
    inner = contractions.inner
    kron = contractions.kron

    # ops/copies.py
    as_strided_scatter = copies.as_strided_scatter
    slice_inverse = copies.slice_inverse

    # ops/covariance.py
    cov = covariance.cov
    corrcoef = covariance.corrcoef

    # ops/creation.py
    new_empty = creation.new_empty
    new_empty_strided = creation.new_empty_strided
    new_full = creation.new_full
    new_ones = creation.new_ones
    new_zeros = creation.new_zeros

    # ops/determinants.py
    logdet = determinants.logdet

    # ops/diagonal.py
    diag = diag
    diag_embed = diag_embed
    diagflat = diagflat
    diagonal = diagonal
    diagonal_scatter = diagonal_scatter
    fill_diagonal_ = fill_diagonal_
    flip = flip
    fliplr = fliplr
    flipud = flipud
    roll = roll
    rot90 = rot90
    trace = trace
    tril = tril
    tril_ = tril_
    triu = triu
    triu_ = triu_

    # ops/distances.py
    renorm = distances.renorm
    renorm_ = distances.renorm_

    # ops/dlpack.py
    __dlpack__ = dlpack.dlpack
    __dlpack_device__ = dlpack.dlpack_device

    # ops/extremes.py
    amax = extremes.amax
    amin = extremes.amin
    aminmax = extremes.aminmax
    max = extremes.max
    min = extremes.min
    argmax = extremes.argmax
    argmin = extremes.argmin
    median = extremes.median
    nanmedian = extremes.nanmedian
    mode = extremes.mode
    kthvalue = extremes.kthvalue

    # ops/filling.py
    fill_ = filling.fill_
    zero_ = filling.zero_

    # ops/float_bits.py
    frexp = float_bits.frexp
    hash_tensor = float_bits.hash_tensor

    # ops/gathering.py
    argwhere = gathering.argwhere
    gather = gathering.gather
    index_select = gathering.index_select
    masked_select = gathering.masked_select
    narrow = gathering.narrow
    narrow_copy = gathering.narrow_copy
    nonzero = gathering.nonzero
    select = gathering.select
    take = gathering.take
    take_along_dim = gathering.take_along_dim

    # ops/histograms.py
    bincount = histograms.bincount
    histc = histograms.histc
    histogram = histograms.histogram

    # ops/joining.py
    unbind = joining.unbind

    # ops/layout.py
    to_dense = layout.to_dense
    dequantize = layout.dequantize
    dense_dim = layout.dense_dim
    sparse_dim = layout.sparse_dim
    is_coalesced = layout.is_coalesced
    coalesce = layout.coalesce
    indices = layout.indices
    values = layout.values
    crow_indices = layout.crow_indices
    col_indices = layout.col_indices
    ccol_indices = layout.ccol_indices
    row_indices = layout.row_indices
    is_distributed = layout.is_distributed
    dim_order = layout.dim_order
    const_data_ptr = layout.const_data_ptr
    apply_ = layout.apply_
    map_ = layout.map_
    map2_ = layout.map2_

    # ops/linalg.py
    det = linalg.det
    slogdet = linalg.slogdet
    inverse = linalg.inverse
    pinverse = linalg.pinverse
    cholesky = linalg.cholesky
    qr = linalg.qr
    svd = linalg.svd
    lu = linalg.lu
    lu_solve = linalg.lu_solve
    triangular_solve = linalg.triangular_solve
    matrix_power = linalg.matrix_power
    matrix_exp = linalg.matrix_exp
    cross = linalg.cross

    # ops/literals.py
    new = literals.new
    new_tensor = literals.new_tensor

    # ops/norms.py
    var = norms.var
    std = norms.std
    norm = norms.norm_method
    dist = norms.dist
    logsumexp = norms.logsumexp

    # ops/permuting.py
    H = permuting.METHODS["H"]
    T = permuting.METHODS["T"]
    adjoint = permuting.adjoint
    mH = permuting.METHODS["mH"]
    mT = permuting.METHODS["mT"]
    moveaxis = permuting.moveaxis
    movedim = permuting.movedim
    permute = permuting.permute
    swapaxes = permuting.swapaxes
    swapaxes_ = permuting.transpose_
    swapdims = permuting.swapdims
    swapdims_ = permuting.transpose_
    t = permuting.t
    t_ = permuting.t_
    transpose = permuting.transpose
    transpose_ = permuting.transpose_

    # ops/placing.py
    index_put = placing.index_put
    index_put_ = placing.index_put_
    masked_fill = placing.masked_fill
    masked_fill_ = placing.masked_fill_
    masked_scatter = placing.masked_scatter
    masked_scatter_ = placing.masked_scatter_
    put = placing.put
    put_ = placing.put_
    select_scatter = placing.select_scatter
    slice_scatter = placing.slice_scatter

    # ops/pointwise.py
    exp = pointwise.exp
    expm1 = pointwise.expm1
    exp2 = pointwise.exp2
    log = pointwise.log
    log2 = pointwise.log2
    log10 = pointwise.log10
    log1p = pointwise.log1p
    sqrt = pointwise.sqrt
    rsqrt = pointwise.rsqrt
    sgn = pointwise.sgn
    sin = pointwise.sin
    cos = pointwise.cos
    tan = pointwise.tan
    asin = pointwise.asin
    acos = pointwise.acos
    atan = pointwise.atan
    sinh = pointwise.sinh
    cosh = pointwise.cosh
    asinh = pointwise.asinh
    acosh = pointwise.acosh
    atanh = pointwise.atanh
    tanh = pointwise.tanh
    sigmoid = pointwise.sigmoid
    sinc = pointwise.sinc
    deg2rad = pointwise.deg2rad
    rad2deg = pointwise.rad2deg
    arcsin = pointwise.arcsin
    arccos = pointwise.arccos
    arctan = pointwise.arctan
    arcsinh = pointwise.arcsinh
    arccosh = pointwise.arccosh
    arctanh = pointwise.arctanh
    exp_ = pointwise.exp_
    expm1_ = pointwise.expm1_
    exp2_ = pointwise.exp2_
    log_ = pointwise.log_
    log2_ = pointwise.log2_
    log10_ = pointwise.log10_
    log1p_ = pointwise.log1p_
    sqrt_ = pointwise.sqrt_
    rsqrt_ = pointwise.rsqrt_
    sgn_ = pointwise.sgn_
    sin_ = pointwise.sin_
    cos_ = pointwise.cos_
    tan_ = pointwise.tan_
    asin_ = pointwise.asin_
    acos_ = pointwise.acos_
    atan_ = pointwise.atan_
    sinh_ = pointwise.sinh_
    cosh_ = pointwise.cosh_
    asinh_ = pointwise.asinh_
    acosh_ = pointwise.acosh_
    atanh_ = pointwise.atanh_
    tanh_ = pointwise.tanh_
    sigmoid_ = pointwise.sigmoid_
    sinc_ = pointwise.sinc_
    deg2rad_ = pointwise.deg2rad_
    rad2deg_ = pointwise.rad2deg_
    arcsin_ = pointwise.arcsin_
    arccos_ = pointwise.arccos_
    arctan_ = pointwise.arctan_
    arcsinh_ = pointwise.arcsinh_
    arccosh_ = pointwise.arccosh_
    arctanh_ = pointwise.arctanh_
    abs = pointwise.abs
    abs_ = pointwise.abs_
    absolute = pointwise.absolute
    absolute_ = pointwise.absolute_
    logit = pointwise.logit
    logit_ = pointwise.logit_
    __abs__ = pointwise.abs

    # ops/powers.py
    pow = powers.pow
    pow_ = powers.pow_
    float_power = powers.float_power
    float_power_ = powers.float_power_
    square = powers.square
    square_ = powers.square_

    # ops/products.py
    mm = products.mm
    mv = products.mv
    dot = products.dot
    vdot = products.vdot
    outer = products.outer
    ger = products.ger
    bmm = products.bmm
    matmul = products.matmul

    # ops/queries.py
    get_device = queries.get_device
    is_nonzero = queries.is_nonzero
    is_same_size = queries.is_same_size
    is_set_to = queries.is_set_to

    # ops/reduce.py
    sum = reduce.sum
    nansum = reduce.nansum
    mean = reduce.mean
    nanmean = reduce.nanmean
    prod = reduce.prod
    all = reduce.all
    any = reduce.any
    count_nonzero = reduce.count_nonzero

    # ops/reflectors.py
    orgqr = reflectors.orgqr
    ormqr = reflectors.ormqr
    geqrf = reflectors.geqrf

    # ops/removed.py
    eig = removed.eig
    lstsq = removed.lstsq
    solve = removed.solve
    symeig = removed.symeig
    reinforce = removed.reinforce
    resize = removed.resize
    resize_as = removed.resize_as

    # ops/repeating.py
    repeat = repeating.repeat
    repeat_interleave = repeating.repeat_interleave
    tile = repeating.tile

    # ops/rounding.py
    sign = rounding.sign
    ceil = rounding.ceil
    ceil_ = rounding.ceil_
    floor = rounding.floor
    floor_ = rounding.floor_
    trunc = rounding.trunc
    trunc_ = rounding.trunc_
    fix = rounding.fix
    fix_ = rounding.fix_
    frac = rounding.frac
    frac_ = rounding.frac_
    signbit = rounding.signbit
    round = rounding.round
    round_ = rounding.round_
    nan_to_num = rounding.nan_to_num
    nan_to_num_ = rounding.nan_to_num_
    sign_ = rounding.sign_

    # ops/sampling.py
    cauchy_ = sampling.cauchy_
    exponential_ = sampling.exponential_
    geometric_ = sampling.geometric_
    log_normal_ = sampling.log_normal_
    normal_ = sampling.normal_
    random_ = sampling.random_
    uniform_ = sampling.uniform_

    # ops/scan.py
    cumsum = scan.cumsum
    cumsum_ = scan.cumsum_
    cumprod = scan.cumprod
    cumprod_ = scan.cumprod_
    cummax = scan.cummax
    cummin = scan.cummin
    logcumsumexp = scan.logcumsumexp
    diff = scan.diff

    # ops/scattering.py
    scatter = scattering.scatter
    scatter_ = scattering.scatter_
    scatter_add = scattering.scatter_add
    scatter_add_ = scattering.scatter_add_

    # ops/searching.py
    unique = searching.unique
    unique_consecutive = searching.unique_consecutive

    # ops/shape.py
    as_strided = shape.as_strided
    as_strided_ = shape.as_strided_
    broadcast_to = shape.broadcast_to
    expand = shape.expand
    expand_as = shape.expand_as
    flatten = shape.flatten
    ravel = shape.ravel
    reshape = shape.reshape
    reshape_as = shape.reshape_as
    resize_ = shape.resize_
    resize_as_ = shape.resize_as_
    squeeze = shape.squeeze
    squeeze_ = shape.squeeze_
    sum_to_size = shape.sum_to_size
    unflatten = shape.unflatten
    unsqueeze = shape.unsqueeze
    unsqueeze_ = shape.unsqueeze_
    view = shape.view
    view_as = shape.view_as

    # ops/softmax.py
    softmax = softmax
    log_softmax = log_softmax

    # ops/solving.py
    cholesky_solve = solving.cholesky_solve
    cholesky_inverse = solving.cholesky_inverse

    # ops/sorting.py
    sort = sorting.sort
    argsort = sorting.argsort
    msort = sorting.msort
    topk = sorting.topk
    quantile = sorting.quantile
    nanquantile = sorting.nanquantile

    # ops/special.py
    erf = special.erf
    erfc = special.erfc
    erfinv = special.erfinv
    lgamma = special.lgamma
    digamma = special.digamma
    i0 = special.i0
    erf_ = special.erf_
    erfc_ = special.erfc_
    erfinv_ = special.erfinv.inplace
    lgamma_ = special.lgamma.inplace
    digamma_ = special.digamma.inplace
    i0_ = special.i0_
    igamma = special.igamma
    igamma_ = special.igamma_
    igammac = special.igammac
    igammac_ = special.igammac_
    polygamma = special.polygamma_method
    polygamma_ = special.polygamma_
    mvlgamma = special.mvlgamma
    mvlgamma_ = special.mvlgamma_

    # ops/splitting.py
    chunk = splitting.chunk
    dsplit = splitting.dsplit
    hsplit = splitting.hsplit
    split = splitting.split
    split_with_sizes = splitting.split_with_sizes
    tensor_split = splitting.tensor_split
    unsafe_chunk = splitting.unsafe_chunk
    unsafe_split = splitting.unsafe_split
    unsafe_split_with_sizes = splitting.unsafe_split_with_sizes
    vsplit = splitting.vsplit

    # ops/stft.py
    stft = stft
    istft = istft

    # ops/tensor_laws.py
    bernoulli = tensor_laws.bernoulli
    bernoulli_ = tensor_laws.bernoulli_
    multinomial = tensor_laws.multinomial

    # ops/unfolding.py
    unfold = unfolding.unfold

    # ops/whole_slices.py
    index_add = whole_slices.index_add
    index_add_ = whole_slices.index_add_
    index_copy = whole_slices.index_copy
    index_copy_ = whole_slices.index_copy_
    index_fill = whole_slices.index_fill
    index_fill_ = whole_slices.index_fill_


bind(Methods)
shorten(SHORTCUTS, Methods)
