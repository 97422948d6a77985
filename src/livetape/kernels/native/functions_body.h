// Exponentials, logarithms, circular functions, the error function and their inverses, on vectors: no guard.
// Float32 results are within 4 units in the last place of the exact ones, most within 2. Where float32 arithmetic does not do
// that simply, the computation is in double precision; polynomials there are as long as float32 needs (functions called
// ``near``). All polynomials are minimax fits.

#include "vectors_body.h"

namespace native {
namespace ISA {
namespace {

// ---------------------------------------------------------------- tools
template <class T>
struct Bits;
template <>
struct Bits<float> {
    using Int = std::int32_t;
    static constexpr Int sign = std::numeric_limits<Int>::min(), size = std::numeric_limits<Int>::max();
};
template <>
struct Bits<double> {
    using Int = std::int64_t;
    static constexpr Int sign = std::numeric_limits<Int>::min(), size = std::numeric_limits<Int>::max();
};

template <class T>
using I = typename Vec<T>::I;

template <class T>
INLINE I<T> bits_of(V<T> x) {
    I<T> bits;
    std::memcpy(&bits, &x, sizeof x);
    return bits;
}

template <class T>
INLINE V<T> of_bits(I<T> bits) {
    V<T> x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

template <class T>
INLINE V<T> magnitude(V<T> x) {
    return of_bits<T>(bits_of<T>(x) & Bits<T>::size);
}

template <class T>
INLINE V<T> with_sign(V<T> size, V<T> sign) {  // ``size`` has none
    return of_bits<T>(bits_of<T>(size) | (bits_of<T>(sign) & Bits<T>::sign));
}

template <class T>
INLINE V<T> negated(V<T> x) {
    return of_bits<T>(bits_of<T>(x) ^ Bits<T>::sign);
}

template <class T>
INLINE V<T> lower(V<T> a, V<T> b) {  // a where either is NaN
    return b < a ? b : a;
}

template <class T>
INLINE V<T> higher(V<T> a, V<T> b) {  // a where either is NaN
    return b > a ? b : a;
}

template <class T>
INLINE V<T> between(V<T> x, V<T> low, V<T> high) {  // NaN stays
    return lower<T>(higher<T>(x, low), high);
}

template <class T>
INLINE bool any(I<T> mask) {
    typename Bits<T>::Int lanes[Vec<T>::W], found = 0;
    std::memcpy(lanes, &mask, sizeof mask);
    for (auto lane : lanes) found |= lane;
    return found != 0;
}

template <class T>
INLINE V<T> horner(V<T>, T last) {
    return splat(last);
}
template <class T, class... Rest>
INLINE V<T> horner(V<T> x, T first, Rest... rest) {
    return horner<T>(x, rest...) * x + first;
}

constexpr float INF = std::numeric_limits<float>::infinity();

// A function of doubles applied to floats.
template <class F>
INLINE V<float> wide(V<float> x, F f) {
    return joined(f(first_half(x)), f(second_half(x)));
}

template <class F>
INLINE V<float> wide(V<float> x, V<float> y, F f) {
    return joined(f(first_half(x), first_half(y)), f(second_half(x), second_half(y)));
}

template <class T, class F>
INLINE V<T> by_lanes(V<T> x, F f) {
    T lanes[Vec<T>::W];
    store(lanes, x);
    for (T& lane : lanes) lane = f(lane);
    return load(lanes);
}

// ---------------------------------------------------------------- exp and its kin
// e^x - 1 = 2^n (e^r - 1) + (2^n - 1)
template <class T>
INLINE V<T> expm1_of(V<T> x) {
    using E = Exp<T>;
    constexpr T most = sizeof(T) == 4 ? T(80) : T(700);  // beyond, 1 is nothing
    const V<T> round = splat<T>(E::round), cut = between<T>(x, splat<T>(-40), splat(most));
    const V<T> t = cut * T(1.44269504088896340736) + round, n = t - round;
    V<T> r = cut - n * E::ln2_high;
    r = r - n * E::ln2_low;
    const V<T> p = r * r * E::q(r) + r;
    const V<T> power = of_bits<T>((bits_of<T>(t) - bits_of<T>(round) + E::bias) << E::mantissa);
    const V<T> near = power * p + (power - T(1));
    const I<T> far = x > most;
    const V<T> found = n == T(0) ? with_sign<T>(magnitude<T>(p), x) : near;  // of -0 it is -0
    return any<T>(far) ? (far ? exp_of<T>(x) : found) : found;
}

// e^(x + rest) for a small rest
INLINE V<float> exp_of_sum(V<float> x, V<float> rest) {
    using E = Exp<float>;
    const V<float> round = splat(E::round);
    const V<float> cut = between<float>(x, splat(E::low), splat(E::high));
    const V<float> t = cut * 1.44269504f + round, n = t - round;
    V<float> r = cut - n * E::ln2_high;
    r = r - n * E::ln2_low + rest;
    const V<float> p = r * r * E::q(r) + r + 1.0f, half = n * 0.5f + round;
    I<float> halved = bits_of<float>(half) - bits_of<float>(round), other = bits_of<float>(t) - bits_of<float>(round) - halved;
    return p * of_bits<float>((halved + E::bias) << E::mantissa) * of_bits<float>((other + E::bias) << E::mantissa);
}

// e^(- scale x^2), as exact as x itself: the square in two parts, of which the first has no rounding
INLINE V<float> exp_of_square(V<float> x, float scale) {
    const V<float> top = of_bits<float>(bits_of<float>(x) & std::int32_t(0xFFFFF000));
    return exp_of_sum(top * top * -scale, (x - top) * (x + top) * -scale);
}

// For |x| < 700, to float32's precision.
INLINE V<double> exp_near(V<double> x) {
    const V<double> round = splat(6755399441055744.0), t = x * 1.44269504088896340736 + round;
    const V<double> n = t - round, r = x - n * 0.69314718055994530942;
    const V<double> p = horner<double>(r, 1.0, 1.0, 0.5, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040);
    return p * of_bits<double>((bits_of<double>(t) - bits_of<double>(round) + 1023) << 52);
}

// ---------------------------------------------------------------- logarithms
// x = 2^e m with m from sqrt(1/2) to sqrt(2)
template <class T>
INLINE V<T> split(V<T> x, V<T>& exponent) {
    using Int = typename Bits<T>::Int;
    constexpr Int root_half = sizeof(T) == 4 ? Int(0x3f3504f3) : Int(0x3fe6a09e667f3bcd);
    constexpr T least = std::numeric_limits<T>::min(), up = sizeof(T) == 4 ? T(8388608) : T(4503599627370496.0);
    const I<T> tiny = x < least;  // subnormal
    const I<T> bits = bits_of<T>(tiny ? x * up : x);
    const I<T> e = (bits - root_half) >> Exp<T>::mantissa;
    // an integer of few bits to floating point: by adding it to the bits of 1.5 * 2^mantissa
    exponent = of_bits<T>(e + bits_of<T>(splat<T>(Exp<T>::round))) - T(Exp<T>::round);
    exponent = tiny ? exponent - T(Exp<T>::mantissa) : exponent;
    return of_bits<T>(bits - (e << Exp<T>::mantissa));
}

template <class T>
INLINE V<T> log_at_limits(V<T> x, V<T> found) {
    const V<T> inf = splat(std::numeric_limits<T>::infinity()), nothing = splat<T>(0);
    found = x < inf ? found : x;  // infinity and NaN
    found = x > nothing ? found : x == nothing ? -inf : splat(std::numeric_limits<T>::quiet_NaN());
    return found;
}

// log(1 + f) - f, for 1 + f from sqrt(1/2) to sqrt(2), and further terms to be added
INLINE V<float> log_rest(V<float> f, V<float> more) {
    const V<float> p = horner<float>(f, 0.333333126f, -0.250000096f, 0.200021188f, -0.166679954f, 0.14219549f, -0.124055945f,
                                     0.118881903f, -0.116756283f, 0.0674655184f);
    const V<float> square = f * f;
    return p * (square * f) + more - square * 0.5f;
}

INLINE V<double> log_rest(V<double> f, V<double> more) {
    const V<double> s = f / (f + 2.0), z = s * s, half = f * f * 0.5;
    const V<double> r = z * horner<double>(z, 0.66666666666666707, 0.39999999999898317, 0.28571428626591572, 0.2222221103058559,
                                           0.18182896783719546, 0.15331466356215367, 0.14619610851512058);
    return s * (half + r) + more - half;
}

template <class T>
INLINE V<T> log_of_positive(V<T> x) {
    V<T> e;
    const V<T> f = split<T>(x, e) - T(1);
    return f + log_rest(f, e * Exp<T>::ln2_low) + e * Exp<T>::ln2_high;
}

template <class T>
INLINE V<T> log_at(V<T> x) {
    return log_at_limits<T>(x, log_of_positive<T>(x));
}

// For x >= 0 or NaN: of infinity it is infinity.
template <class T>
INLINE V<T> log1p_of_size(V<T> x) {
    const V<T> u = x + T(1);
    return log_of_positive<T>(u) + (x - (u - T(1))) / u;
}

// To float32's precision, for positive numbers that are neither subnormal nor infinite.
INLINE V<double> log_near(V<double> x) {
    V<double> e;
    const V<double> m = split<double>(x, e), s = (m - 1.0) / (m + 1.0), z = s * s;
    const V<double> r = horner<double>(z, 2.0, 0.66666666552080167, 0.40000123517173708, 0.28550650908897324, 0.23334720267826176);
    return e * 0.69314718055994530942 + s * r;
}

// ---------------------------------------------------------------- circular functions
struct Turn {
    V<double> rest;   // from -pi/4 to pi/4
    I<double> quarter;  // how many quarters of a turn were taken off, modulo 4 in its lowest bits
};

INLINE Turn turned(V<double> x) {
    const V<double> round = splat(6755399441055744.0), t = x * 0.63661977236758134308 + round, n = t - round;
    V<double> r = x - n * 1.5707963267341256;  // 33 bits of pi / 2: exact
    return {r - n * 6.077100506506192e-11, bits_of<double>(t)};
}

INLINE V<double> sin_near(V<double> r) {
    const V<double> z = r * r;
    return r * horner<double>(z, 0.99999999999546196, -0.16666666630217342, 0.0083333286487598957, -0.00019839161796218841,
                              2.7169720500180325e-06);
}

INLINE V<double> cos_near(V<double> r) {
    return horner<double>(r * r, 0.99999999999994127, -0.49999999999319034, 0.041666666539067823, -0.00138888801429266,
                          2.4798876581401923e-05, -2.7169681025871017e-07);
}

// sin(x + quarters pi / 2)
INLINE V<double> sin_of(V<double> x, std::int64_t quarters) {
    const Turn turn = turned(x);
    const I<double> q = turn.quarter + quarters;
    const V<double> found = (q & 1) != 0 ? cos_near(turn.rest) : sin_near(turn.rest);
    return of_bits<double>(bits_of<double>(found) ^ ((q & 2) << 62));
}

constexpr float FAR = 1e6f;  // beyond, the quarters are no longer exact

INLINE V<float> sin_at(V<float> x) {
    if (any<float>(magnitude<float>(x) > FAR)) return by_lanes<float>(x, [](float v) { return float(std::sin(double(v))); });
    return wide(x, [](V<double> v) { return sin_of(v, 0); });
}

INLINE V<float> cos_at(V<float> x) {
    if (any<float>(magnitude<float>(x) > FAR)) return by_lanes<float>(x, [](float v) { return float(std::cos(double(v))); });
    return wide(x, [](V<double> v) { return sin_of(v, 1); });
}

INLINE V<float> tan_at(V<float> x) {
    if (any<float>(magnitude<float>(x) > FAR)) return by_lanes<float>(x, [](float v) { return float(std::tan(double(v))); });
    return wide(x, [](V<double> v) {
        const Turn turn = turned(v);
        const V<double> s = sin_near(turn.rest), c = cos_near(turn.rest);
        const I<double> odd = (turn.quarter & 1) != 0;
        return (odd ? c : s) / (odd ? negated<double>(s) : c);
    });
}

constexpr double HALF_PI = 1.57079632679489661923;

INLINE V<double> arctan_near(V<double> x) {  // from 0 to 1
    return x * horner<double>(x * x, 0.99999999763023595, -0.33333283635328986, 0.19998265870900278, -0.14261931346109002,
                              0.10942021579598522, -0.083772891048055118, 0.057551653545077144, -0.030804152382632451,
                              0.010726706319886693, -0.0017538772181565408);
}

INLINE V<double> arctan_of(V<double> x) {
    const V<double> a = magnitude<double>(x);
    const I<double> above = a > 1.0;
    const V<double> r = arctan_near(above ? splat(1.0) / a : a);
    return with_sign<double>(above ? splat(HALF_PI) - r : r, x);
}

INLINE V<double> arctan2_of(V<double> y, V<double> x) {
    const V<double> up = magnitude<double>(y), along = magnitude<double>(x), nothing = splat(0.0);
    const I<double> steep = up > along;
    const V<double> less = steep ? along : up, more = steep ? up : along;
    const V<double> ratio = less == more ? (more == nothing ? nothing : splat(1.0)) : less / more;
    V<double> r = arctan_near(ratio);
    r = steep ? splat(HALF_PI) - r : r;
    r = bits_of<double>(x) < 0 ? splat(2 * HALF_PI) - r : r;
    return with_sign<double>(r, y) + (x != x ? x : nothing);
}

// ---------------------------------------------------------------- the error function
// (1 - the normal distribution's value at x) e^(x^2 / 2), for x from 0 to 14.4. In float32, t alone would cost 4 units.
INLINE V<float> tail_of(V<float> x) {
    return wide(x, [](V<double> v) {
        const V<double> t = splat(1.0) / (v * 0.3 + 1.0);
        return t * horner<double>(t, 0.119686661, 0.11957234, 0.110231279, 0.0784080089, 0.0961063183, -0.0793337427, 0.191681332,
                                  -0.228139371, 0.112405248, -0.0206180759);
    });
}

// erfc(x) from 0 on
INLINE V<float> erfc_far(V<float> x) { return exp_of_square(x, 1.0f) * tail_of(x * 1.41421356f) * 2.0f; }

constexpr float ERF_SMALL = 0.85f;

INLINE V<float> erf_small(V<float> x) {
    return x * horner<float>(x * x, 1.12837916f, -0.376125718f, 0.112827174f, -0.0268025472f, 0.00505109399f, -0.000631512477f);
}

INLINE V<float> erf_at(V<float> x) {
    const V<float> a = lower<float>(magnitude<float>(x), splat(10.2f));
    const V<float> far = splat(1.0f) - erfc_far(a);
    return a < ERF_SMALL ? erf_small(x) : with_sign<float>(far, x);
}

INLINE V<float> erfc_at(V<float> x) {
    const V<float> a = lower<float>(magnitude<float>(x), splat(10.2f));
    const V<float> far = erfc_far(a);
    const I<float> near = a < 0.4f;
    return near ? splat(1.0f) - erf_small(x) : x < 0.0f ? splat(2.0f) - far : far;
}

INLINE V<float> erfinv_at(V<float> x) {
    const V<float> found = wide(x, [](V<double> v) {
        const V<double> w = negated<double>(log_near((splat(1.0) - v) * (v + 1.0)));
        const V<double> near = horner<double>(w - 3.125, 1.6536545671628871, 0.24015816686708227, -0.0060337059609217982,
                                              -0.0007406671400521825, 0.00018677801110620061, -1.3905914168269089e-05,
                                              -1.3852938250585739e-06, 4.3022141693334756e-07, -2.5031774470677921e-08,
                                              -5.0851453446309226e-09, 6.7297416906157111e-10, 1.8095488661344032e-11);
        const V<double> far = horner<double>(root_of(w) - 3.25, 3.0838856010480522, 1.0052588667928026, 0.0053715670615030013,
                                             -0.0037488289162738854, 0.0024837597982360826, -0.0017026436399116306,
                                             0.00098708008988376318, -0.00032522207791323095, -4.0673239109148153e-05,
                                             5.412473167253909e-05);
        return v * (w < 6.25 ? near : far);
    });
    const V<float> a = magnitude<float>(x);
    return a < 1.0f ? found : a == 1.0f ? with_sign<float>(splat(INF), x) : splat(std::numeric_limits<float>::quiet_NaN());
}

// The normal distribution's value at x, and its density times sqrt(2 pi).
INLINE V<float> normal_at(V<float> x, V<float>& density) {
    const V<float> a = magnitude<float>(x);
    density = a < 14.4f ? exp_of_square(a, 0.5f) : splat(0.0f);
    const V<float> tail = density * tail_of(lower<float>(a, splat(14.4f)));
    return x < 0.0f ? tail : splat(1.0f) - tail;
}

// 1 / (1 + e^-x), exact to its last digits on both sides
template <class T>
INLINE V<T> sigmoid_of(V<T> x) {
    const V<T> e = exp_of<T>(-magnitude<T>(x)), s = splat<T>(1) / (e + T(1));
    return x < T(0) ? e * s : s;
}

INLINE V<double> sigmoid_near(V<double> x) {  // to float32's precision
    const V<double> found = splat(1.0) / (exp_near(between<double>(-x, splat(-200.0), splat(200.0))) + 1.0);
    return x < -200.0 ? splat(0.0) : found;
}

}  // namespace
}  // namespace ISA
}  // namespace native
