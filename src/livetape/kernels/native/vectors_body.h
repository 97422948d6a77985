// Vectors of VECTOR_BYTES, exp, and walks along a row, for the bodies that every_isa.h compiles: no guard.
// Sums go by halves, as NumPy's: the error grows with the logarithm of the length.

namespace native {
namespace ISA {
namespace {

using Size = std::intptr_t;
// ---------------------------------------------------------------- vectors
// Vec<T>: V is a vector of W numbers, I one of integers of the same width. Compilers without vectors get W = 1.
template <class T>
struct Vec;

#ifdef __GNUC__
template <>
struct Vec<float> {
    typedef float V __attribute__((vector_size(VECTOR_BYTES)));
    typedef std::int32_t I __attribute__((vector_size(VECTOR_BYTES)));
    static constexpr int W = VECTOR_BYTES / 4;
};
template <>
struct Vec<double> {
    typedef double V __attribute__((vector_size(VECTOR_BYTES)));
    typedef std::int64_t I __attribute__((vector_size(VECTOR_BYTES)));
    static constexpr int W = VECTOR_BYTES / 8;
};
#else
template <>
struct Vec<float> {
    typedef float V;
    typedef std::int32_t I;
    static constexpr int W = 1;
};
template <>
struct Vec<double> {
    typedef double V;
    typedef std::int64_t I;
    static constexpr int W = 1;
};
#endif

template <class T>
using V = typename Vec<T>::V;

template <class T>
INLINE V<T> load(const T* x) {
    V<T> v;
    std::memcpy(&v, x, sizeof v);
    return v;
}

template <class T>
INLINE void store(T* out, V<T> v) {
    std::memcpy(out, &v, sizeof v);
}

template <class T>
INLINE V<T> splat(T value) {
    T lanes[Vec<T>::W];
    for (int k = 0; k < Vec<T>::W; k++) lanes[k] = value;
    return load(lanes);
}

// The last elements, fewer than W, with ``rest`` in the other lanes; and back. Elements beyond are not touched.
#if VECTOR_BYTES == 64
INLINE V<float> load_some(const float* x, Size count, float rest) {
    return V<float>(_mm512_mask_loadu_ps(__m512(splat(rest)), __mmask16((1u << count) - 1), x));
}
INLINE V<double> load_some(const double* x, Size count, double rest) {
    return V<double>(_mm512_mask_loadu_pd(__m512d(splat(rest)), __mmask8((1u << count) - 1), x));
}
INLINE void store_some(float* out, V<float> v, Size count) {
    _mm512_mask_storeu_ps(out, __mmask16((1u << count) - 1), __m512(v));
}
INLINE void store_some(double* out, V<double> v, Size count) {
    _mm512_mask_storeu_pd(out, __mmask8((1u << count) - 1), __m512d(v));
}
#elif VECTOR_BYTES == 32
INLINE V<float> load_some(const float* x, Size count, float rest) {
    const Vec<float>::I lane = {0, 1, 2, 3, 4, 5, 6, 7}, mask = lane < std::int32_t(count);
    return mask ? V<float>(_mm256_maskload_ps(x, __m256i(mask))) : splat(rest);
}
INLINE V<double> load_some(const double* x, Size count, double rest) {
    const Vec<double>::I lane = {0, 1, 2, 3}, mask = lane < std::int64_t(count);
    return mask ? V<double>(_mm256_maskload_pd(x, __m256i(mask))) : splat(rest);
}
INLINE void store_some(float* out, V<float> v, Size count) {
    const Vec<float>::I lane = {0, 1, 2, 3, 4, 5, 6, 7}, mask = lane < std::int32_t(count);
    _mm256_maskstore_ps(out, __m256i(mask), __m256(v));
}
INLINE void store_some(double* out, V<double> v, Size count) {
    const Vec<double>::I lane = {0, 1, 2, 3}, mask = lane < std::int64_t(count);
    _mm256_maskstore_pd(out, __m256i(mask), __m256d(v));
}
#else
template <class T>
INLINE V<T> load_some(const T* x, Size count, T rest) {
    T lanes[Vec<T>::W];
    for (Size k = 0; k < Vec<T>::W; k++) lanes[k] = k < count ? x[k] : rest;
    return load(lanes);
}
template <class T>
INLINE void store_some(T* out, V<T> v, Size count) {
    T lanes[Vec<T>::W];
    store(lanes, v);
    for (Size k = 0; k < count; k++) out[k] = lanes[k];
}
#endif

// Square roots.
#if defined(LIVETAPE_SEVERAL) && VECTOR_BYTES == 64
INLINE V<float> root_of(V<float> x) { return V<float>(_mm512_sqrt_ps(__m512(x))); }
INLINE V<double> root_of(V<double> x) { return V<double>(_mm512_sqrt_pd(__m512d(x))); }
#elif defined(LIVETAPE_SEVERAL) && VECTOR_BYTES == 32
INLINE V<float> root_of(V<float> x) { return V<float>(_mm256_sqrt_ps(__m256(x))); }
INLINE V<double> root_of(V<double> x) { return V<double>(_mm256_sqrt_pd(__m256d(x))); }
#elif defined(LIVETAPE_SEVERAL)
INLINE V<float> root_of(V<float> x) { return V<float>(_mm_sqrt_ps(__m128(x))); }
INLINE V<double> root_of(V<double> x) { return V<double>(_mm_sqrt_pd(__m128d(x))); }
#else
INLINE V<float> root_of(V<float> x) {
    float lanes[Vec<float>::W];
    store(lanes, x);
    for (float& lane : lanes) lane = std::sqrt(lane);
    return load(lanes);
}
INLINE V<double> root_of(V<double> x) {
    double lanes[Vec<double>::W];
    store(lanes, x);
    for (double& lane : lanes) lane = std::sqrt(lane);
    return load(lanes);
}
#endif

// A vector of floats as two of doubles, and back.
#if defined(LIVETAPE_SEVERAL) && VECTOR_BYTES == 64
INLINE V<double> first_half(V<float> x) { return V<double>(_mm512_cvtps_pd(_mm512_castps512_ps256(__m512(x)))); }
INLINE V<double> second_half(V<float> x) { return V<double>(_mm512_cvtps_pd(_mm512_extractf32x8_ps(__m512(x), 1))); }
INLINE V<float> joined(V<double> a, V<double> b) {
    return V<float>(_mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(__m512d(a))), _mm512_cvtpd_ps(__m512d(b)), 1));
}
#elif defined(LIVETAPE_SEVERAL) && VECTOR_BYTES == 32
INLINE V<double> first_half(V<float> x) { return V<double>(_mm256_cvtps_pd(_mm256_castps256_ps128(__m256(x)))); }
INLINE V<double> second_half(V<float> x) { return V<double>(_mm256_cvtps_pd(_mm256_extractf128_ps(__m256(x), 1))); }
INLINE V<float> joined(V<double> a, V<double> b) {
    return V<float>(_mm256_set_m128(_mm256_cvtpd_ps(__m256d(b)), _mm256_cvtpd_ps(__m256d(a))));
}
#elif defined(LIVETAPE_SEVERAL)
INLINE V<double> first_half(V<float> x) { return V<double>(_mm_cvtps_pd(__m128(x))); }
INLINE V<double> second_half(V<float> x) { return V<double>(_mm_cvtps_pd(_mm_movehl_ps(__m128(x), __m128(x)))); }
INLINE V<float> joined(V<double> a, V<double> b) {
    return V<float>(_mm_movelh_ps(_mm_cvtpd_ps(__m128d(a)), _mm_cvtpd_ps(__m128d(b))));
}
#elif defined(__GNUC__)
typedef float Half __attribute__((vector_size(VECTOR_BYTES / 2)));
INLINE V<double> first_half(V<float> x) {
    Half part;
    std::memcpy(&part, &x, sizeof part);
    return __builtin_convertvector(part, V<double>);
}
INLINE V<double> second_half(V<float> x) {
    Half parts[2];
    std::memcpy(parts, &x, sizeof x);
    return __builtin_convertvector(parts[1], V<double>);
}
INLINE V<float> joined(V<double> a, V<double> b) {
    Half parts[2] = {__builtin_convertvector(a, Half), __builtin_convertvector(b, Half)};
    V<float> x;
    std::memcpy(&x, parts, sizeof x);
    return x;
}
#else
INLINE double first_half(float x) { return x; }
INLINE double second_half(float x) { return x; }
INLINE float joined(double a, double) { return float(a); }
#endif

template <class T>
INLINE T sum_of(V<T> v) {
    T lanes[Vec<T>::W];
    store(lanes, v);
    for (int step = Vec<T>::W / 2; step > 0; step /= 2)
        for (int k = 0; k < step; k++) lanes[k] += lanes[k + step];
    return lanes[0];
}

// The larger and the smaller of two; b where either is NaN.
#if defined(LIVETAPE_SEVERAL) && VECTOR_BYTES == 64
INLINE V<float> larger_of(V<float> a, V<float> b) { return V<float>(_mm512_max_ps(__m512(a), __m512(b))); }
INLINE V<double> larger_of(V<double> a, V<double> b) { return V<double>(_mm512_max_pd(__m512d(a), __m512d(b))); }
INLINE V<float> smaller_of(V<float> a, V<float> b) { return V<float>(_mm512_min_ps(__m512(a), __m512(b))); }
INLINE V<double> smaller_of(V<double> a, V<double> b) { return V<double>(_mm512_min_pd(__m512d(a), __m512d(b))); }
#elif defined(LIVETAPE_SEVERAL) && VECTOR_BYTES == 32
INLINE V<float> larger_of(V<float> a, V<float> b) { return V<float>(_mm256_max_ps(__m256(a), __m256(b))); }
INLINE V<double> larger_of(V<double> a, V<double> b) { return V<double>(_mm256_max_pd(__m256d(a), __m256d(b))); }
INLINE V<float> smaller_of(V<float> a, V<float> b) { return V<float>(_mm256_min_ps(__m256(a), __m256(b))); }
INLINE V<double> smaller_of(V<double> a, V<double> b) { return V<double>(_mm256_min_pd(__m256d(a), __m256d(b))); }
#else
template <class V>
INLINE V larger_of(V a, V b) {
    return a > b ? a : b;
}
template <class V>
INLINE V smaller_of(V a, V b) {
    return a < b ? a : b;
}
#endif
template <class T>
INLINE V<T> larger(V<T> a, V<T> b) {
    return larger_of(a, b);
}
template <class T>
INLINE V<T> smaller(V<T> a, V<T> b) {
    return smaller_of(a, b);
}

template <class T>
INLINE T largest_of(V<T> v) {
    T lanes[Vec<T>::W];
    store(lanes, v);
    for (int step = Vec<T>::W / 2; step > 0; step /= 2)
        for (int k = 0; k < step; k++) lanes[k] = lanes[k] > lanes[k + step] ? lanes[k] : lanes[k + step];
    return lanes[0];
}

// ---------------------------------------------------------------- exp
// exp(x) = 2^n exp(r) with n the integer nearest to x / log 2, and exp(r) = 1 + r + r^2 q(r) for |r| <= log(2) / 2; q is
// the polynomial through its values at Chebyshev's nodes. Within 1 ulp where there are fused products, 2 ulp elsewhere.
template <class T>
struct Exp;

template <>
struct Exp<float> {
    static constexpr float low = -104.0f, high = 89.0f;      // beyond: 0 and infinity
    static constexpr float round = 12582912.0f;              // 1.5 * 2^23: adding it rounds to an integer
    static constexpr float ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
    static constexpr int mantissa = 23, bias = 127;
    static INLINE V<float> q(V<float> r) {
        V<float> p = r * 0.00019890991f + 0.0013933650f;
        p = p * r + 0.0083333105f;
        p = p * r + 0.041666467f;
        p = p * r + 0.16666667f;
        return p * r + 0.5f;
    }
};

template <>
struct Exp<double> {
    static constexpr double low = -746.0, high = 710.0;
    static constexpr double round = 6755399441055744.0;  // 1.5 * 2^52
    static constexpr double ln2_high = 6.93145751953125e-1, ln2_low = 1.42860682030941723212e-6;
    static constexpr int mantissa = 52, bias = 1023;
    static INLINE V<double> q(V<double> r) {
        V<double> p = r * 2.0914686968086876e-09 + 2.5105217004720745e-08;
        p = p * r + 2.75572736431103e-07;
        p = p * r + 2.7557255400206422e-06;
        p = p * r + 2.4801587325547743e-05;
        p = p * r + 1.9841269874820627e-04;
        p = p * r + 1.3888888888883748e-03;
        p = p * r + 8.333333333326136e-03;
        p = p * r + 4.166666666666667e-02;
        p = p * r + 1.666666666666667e-01;
        return p * r + 0.5;
    }
};

template <class T>
INLINE V<T> exp_of(V<T> x) {
    using E = Exp<T>;
    using I = typename Vec<T>::I;
    const V<T> low = splat<T>(E::low), high = splat<T>(E::high), round = splat<T>(E::round);
    x = smaller<T>(high, larger<T>(low, x));  // NaN stays
    V<T> t = x * T(1.44269504088896340736) + round, half, n = t - round;
    V<T> r = x - n * E::ln2_high;
    r = r - n * E::ln2_low;
    V<T> p = r * r * E::q(r) + r + T(1);
    half = n * T(0.5) + round;
    I bits, half_bits, round_bits;
    std::memcpy(&bits, &t, sizeof t);
    std::memcpy(&half_bits, &half, sizeof t);
    std::memcpy(&round_bits, &round, sizeof t);
    half_bits -= round_bits;  // 2^n in two factors: results that are subnormal are rounded once
    bits -= round_bits + half_bits;
    I first = (half_bits + E::bias) << E::mantissa, second = (bits + E::bias) << E::mantissa;
    V<T> factor, other;
    std::memcpy(&factor, &first, sizeof t);
    std::memcpy(&other, &second, sizeof t);
    return p * factor * other;
}

// ---------------------------------------------------------------- walks along a row
// Ask for memory that is needed soon: the processor itself looks ahead only within a page, and a row may be one.
template <class T>
INLINE void fetch(const T* x) {
#ifdef __GNUC__
    __builtin_prefetch(x);
#endif
}

// The sum of what ``f`` makes of the elements from i on, a vector (or a pair of them) at a time; beyond the end that must
// be 0.
template <class T, class Sum, class F>
Sum sum_lanes(Size start, Size stop, F f) {
    constexpr int W = Vec<T>::W;
    if (stop - start > 32 * W) {
        Size half = ((stop - start) / 2 + 2 * W - 1) / (2 * W) * (2 * W);
        return sum_lanes<T, Sum>(start, start + half, f) + sum_lanes<T, Sum>(start + half, stop, f);
    }
    Sum a = {}, b = {};
    Size i = start;
    for (; i + 2 * W <= stop; i += 2 * W) {
        a = a + f(i, Size(W));
        b = b + f(i + W, Size(W));
    }
    if (i + W <= stop) {
        a = a + f(i, Size(W));
        i += W;
    }
    if (i < stop) b = b + f(i, stop - i);
    return a + b;
}

template <class T>
struct Pair {
    V<T> first, second;
    INLINE Pair operator+(const Pair& other) const { return {first + other.first, second + other.second}; }
};

template <class T, class F>
INLINE T sum_row(Size columns, F f) {
    return sum_of<T>(sum_lanes<T, V<T>>(0, columns, f));
}

template <class T>
INLINE V<T> take(const T* x, Size count, T rest) {
    return count == Vec<T>::W ? load(x) : load_some(x, count, rest);
}

template <class T>
INLINE void put(T* out, V<T> v, Size count) {
    if (count == Vec<T>::W)
        store(out, v);
    else
        store_some(out, v, count);
}

template <class T>
T row_max(const T* x, Size n) {
    constexpr int W = Vec<T>::W;
    const T least = -std::numeric_limits<T>::infinity();
    V<T> a = splat(least), b = a;
    Size i = 0;
    for (; i + 2 * W <= n; i += 2 * W) {
        a = larger<T>(load(x + i), a);
        b = larger<T>(load(x + i + W), b);
    }
    if (i + W <= n) {
        a = larger<T>(load(x + i), a);
        i += W;
    }
    if (i < n) b = larger<T>(load_some(x + i, n - i, least), b);
    return largest_of<T>(larger<T>(a, b));
}

// Vectors of elements, one call for each, the last one in part.
template <class T, class F>
INLINE void each(Size n, F f) {
    constexpr int W = Vec<T>::W;
    Size i = 0;
    for (; i + W <= n; i += W) f(i, Size(W));
    if (i < n) f(i, n - i);
}

}  // namespace
}  // namespace ISA
}  // namespace native
