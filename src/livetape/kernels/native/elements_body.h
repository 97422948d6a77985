// The formulas of elements.h, and the loop around them.

#include "functions_body.h"

namespace native {
namespace ISA {
namespace {

// ---------------------------------------------------------------- the formulas
// k are the numbers.
#define POINT1(name) \
    template <class T> struct f_##name { static constexpr int inputs = 1; INLINE V<T> operator()(V<T> x, const V<T>* k) const; }; \
    template <class T> INLINE V<T> f_##name<T>::operator()(V<T> x, [[maybe_unused]] const V<T>* k) const
#define POINT2(name) \
    template <class T> struct f_##name { static constexpr int inputs = 2; INLINE V<T> operator()(V<T> x, V<T> y, const V<T>* k) const; }; \
    template <class T> INLINE V<T> f_##name<T>::operator()(V<T> x, V<T> y, [[maybe_unused]] const V<T>* k) const
#define POINT3(name) \
    template <class T> struct f_##name { static constexpr int inputs = 3; INLINE V<T> operator()(V<T> x, V<T> y, V<T> z, const V<T>* k) const; }; \
    template <class T> INLINE V<T> f_##name<T>::operator()(V<T> x, V<T> y, V<T> z, [[maybe_unused]] const V<T>* k) const

POINT2(add) { return x + y; }
POINT2(subtract) { return x - y; }
POINT2(multiply) { return x * y; }
POINT2(divide) { return x / y; }
POINT2(maximum) { return x != x ? x : x >= y ? x : y; }
POINT2(minimum) { return x != x ? x : x <= y ? x : y; }
POINT2(add_scaled) { return x + k[0] * y; }
POINT2(lerp) {  // from the nearer side
    const V<T> way = y - x;
    return k[0] < T(0.5) ? x + k[0] * way : y - way * (splat<T>(1) - k[0]);
}
POINT3(addcmul) { return x + k[0] * y * z; }
POINT3(addcdiv) { return x + k[0] * y / z; }

POINT1(negative) { return negated<T>(x); }
POINT1(absolute) { return magnitude<T>(x); }
POINT1(square) { return x * x; }
POINT1(sqrt) { return root_of(x); }
POINT1(reciprocal) { return splat<T>(1) / x; }
POINT1(rsqrt) { return splat<T>(1) / root_of(x); }
POINT1(sign) { return x > T(0) ? splat<T>(1) : x < T(0) ? splat<T>(-1) : splat<T>(0); }
POINT1(frac) {  // less what lies before the point: rounded, and back by 1 if that went too far
    constexpr T whole = sizeof(T) == 4 ? T(8388608) : T(4503599627370496.0);
    const V<T> a = magnitude<T>(x), rounded = (a + whole) - whole, down = rounded > a ? rounded - T(1) : rounded;
    return a < whole ? with_sign<T>(a - down, x) : x - x;
}

POINT1(exp) { return exp_of<T>(x); }
POINT1(expm1) { return expm1_of<T>(x); }
POINT1(exp2) {
    using E = Exp<float>;
    const V<float> round = splat(E::round), cut = between<float>(x, splat(-151.0f), splat(129.0f));
    const V<float> t = cut + round, n = t - round, r = (cut - n) * 0.693147181f, half = n * 0.5f + round;
    const I<float> halved = bits_of<float>(half) - bits_of<float>(round);
    const I<float> other = bits_of<float>(t) - bits_of<float>(round) - halved;
    return (r * r * E::q(r) + r + 1.0f) * of_bits<float>((halved + E::bias) << E::mantissa) *
           of_bits<float>((other + E::bias) << E::mantissa);
}
POINT1(log) { return log_at<T>(x); }
POINT1(log1p) {
    const V<T> u = x + T(1), found = log_at<T>(u) + (x - (u - T(1))) / u;
    return u == T(1) ? x : u == T(0) || u == u + u ? log_at<T>(u) : found;  // to -1 and infinity there is nothing to add
}
POINT1(log2) {
    V<float> e;
    const V<float> f = split<float>(x, e) - 1.0f, rest = log_rest(f, splat(0.0f));
    // 1 / log 2 = 1 + 0.44...: the whole part first
    return log_at_limits<float>(x, (rest * 0.442695041f + f * 0.442695041f + rest) + f + e);
}
POINT1(log10) {
    const V<float> found = wide(x, [](V<double> v) { return log_near(v) * 0.43429448190325182765; });
    return log_at_limits<float>(x, found);
}

POINT1(sin) { return sin_at(x); }
POINT1(cos) { return cos_at(x); }
POINT1(tan) { return tan_at(x); }
POINT1(arcsin) {
    return wide(x, [](V<double> v) { return arctan_of(v / root_of((splat(1.0) - v) * (v + 1.0))); });
}
POINT1(arccos) {
    return wide(x, [](V<double> v) { return arctan_of(root_of((splat(1.0) - v) / (v + 1.0))) * 2.0; });
}
POINT1(arctan) {
    return wide(x, [](V<double> v) { return arctan_of(v); });
}
POINT2(arctan2) {
    return wide(x, y, [](V<double> a, V<double> b) { return arctan2_of(a, b); });
}
POINT1(sinh) {
    const V<T> a = magnitude<T>(x), less = expm1_of<T>(a), half = exp_of<T>(a * T(0.5));
    const V<T> near = (less + less / (less + T(1))) * T(0.5);
    return with_sign<T>(a > T(sizeof(T) == 4 ? 80 : 700) ? half * T(0.5) * half : near, x);
}
POINT1(cosh) {
    const V<T> a = magnitude<T>(x), e = exp_of<T>(a), half = exp_of<T>(a * T(0.5));
    return a > T(sizeof(T) == 4 ? 80 : 700) ? half * T(0.5) * half : e * T(0.5) + splat<T>(0.5) / e;
}
POINT1(tanh) {
    const V<T> a = magnitude<T>(x), less = expm1_of<T>(lower<T>(a, splat<T>(sizeof(T) == 4 ? 10 : 20)) * T(2));
    return with_sign<T>(magnitude<T>(less / (less + T(2))), x);
}
POINT1(arcsinh) {
    const V<float> found = wide(x, [](V<double> v) {
        const V<double> a = magnitude<double>(v), near = a - a * a * a * (1.0 / 6);
        return with_sign<double>(a < 1e-3 ? near : log_near(a + root_of(a * a + 1.0)), v);
    });
    return magnitude<T>(x) < INF ? found : x;
}
POINT1(arccosh) {
    const V<float> found = wide(x, [](V<double> v) { return log_near(v + root_of((v - 1.0) * (v + 1.0))); });
    return x < INF ? (x < 1.0f ? splat(std::numeric_limits<float>::quiet_NaN()) : found) : x;
}
POINT1(arctanh) {
    const V<float> found = wide(x, [](V<double> v) {
        const V<double> near = v + v * v * v * (1.0 / 3);
        return magnitude<double>(v) < 1e-3 ? near : log_near((v + 1.0) / (splat(1.0) - v)) * 0.5;
    });
    const V<float> a = magnitude<float>(x);
    return a < 1.0f ? found : a == 1.0f ? with_sign<float>(splat(INF), x) : splat(std::numeric_limits<float>::quiet_NaN());
}
POINT2(hypot) {
    const V<float> found = wide(x, y, [](V<double> a, V<double> b) { return root_of(a * a + b * b); });
    return magnitude<float>(x) == INF || magnitude<float>(y) == INF ? splat(INF) : found;
}
// Exact: a quotient of up to 2^29 times 24 bits fits into a double.
INLINE V<float> fmod_at(V<float> x, V<float> y) {
    const I<float> plain = magnitude<float>(x) < magnitude<float>(y) * 2.68435456e8f && magnitude<float>(y) < INF;
    if (any<float>(plain == 0)) {
        float left[Vec<float>::W], right[Vec<float>::W];
        store(left, x);
        store(right, y);
        for (int k = 0; k < Vec<float>::W; k++) left[k] = std::fmod(left[k], right[k]);
        return load(left);
    }
    return wide(x, y, [](V<double> a, V<double> b) {
        const V<double> p = magnitude<double>(a), q = magnitude<double>(b), round = splat(4503599627370496.0);
        const V<double> times = (p / q + round) - round, r = p - times * q;
        return with_sign<double>(r < 0.0 ? r + q : r, a);
    });
}
POINT2(fmod) { return fmod_at(x, y); }
POINT2(remainder) {  // with the sign of y
    const V<float> r = fmod_at(x, y);
    return r == 0.0f ? with_sign<float>(magnitude<float>(r), y) : (r < 0.0f) != (y < 0.0f) ? r + y : r;
}
POINT1(erf) { return erf_at(x); }
POINT1(erfc) { return erfc_at(x); }
POINT1(erfinv) { return erfinv_at(x); }

// ---------------------------------------------------------------- activations
POINT1(relu) { return x > T(0) ? x : x == x ? splat<T>(0) : x; }
POINT2(clamp_backward) { return y >= k[0] && y <= k[1] ? x : splat<T>(0); }
POINT1(threshold) { return x <= k[0] ? k[1] : x; }
POINT2(threshold_backward) { return y <= k[0] ? splat<T>(0) : x; }
POINT1(leaky_relu) { return x > T(0) ? x : x * k[0]; }
POINT2(leaky_relu_backward) { return y > T(0) ? x : x * k[0]; }
POINT1(hardtanh) { return between<T>(x, k[0], k[1]); }
POINT2(hardtanh_backward) { return y <= k[0] || y >= k[1] ? splat<T>(0) : x; }
POINT1(hardsigmoid) { return between<T>(x + T(3), splat<T>(0), splat<T>(6)) / T(6); }
POINT2(hardsigmoid_backward) { return y > T(-3) && y < T(3) ? x / T(6) : splat<T>(0); }
POINT1(hardswish) { return between<T>(x + T(3), splat<T>(0), splat<T>(6)) * x / T(6); }
POINT2(hardswish_backward) { return y < T(3) ? (y <= T(-3) ? splat<T>(0) : x * (y / T(3) + T(0.5))) : x; }
POINT1(hardshrink) { return x >= -k[0] && x <= k[0] ? splat<T>(0) : x; }
POINT1(softshrink) { return x - between<T>(x, -k[0], k[0]); }
POINT2(shrink_backward) { return y >= -k[0] && y <= k[0] ? splat<T>(0) : x; }
POINT1(sigmoid) { return sigmoid_of<T>(x); }
POINT2(sigmoid_backward) { return x * ((splat<T>(1) - y) * y); }
POINT2(tanh_backward) { return x * (splat<T>(1) - y * y); }
POINT1(silu) { return x * sigmoid_of<T>(x); }
POINT2(silu_backward) {
    const V<T> s = sigmoid_of<T>(y);
    return ((splat<T>(1) - s) * y + T(1)) * s * x;
}
// tanh(log(1 + w)) = n / (n + 2) with n = w (w + 2)
POINT1(mish) {
    const V<T> w = exp_of<T>(lower<T>(x, splat<T>(20))), n = w * (w + T(2));
    return x * (n / (n + T(2)));
}
POINT2(mish_backward) {
    const V<T> w = exp_of<T>(lower<T>(y, splat<T>(20))), n = w * (w + T(2)), two = n + T(2);
    return ((w + T(1)) * w * T(4) / two * y + n) / two * x;
}
POINT1(elu) {  // k: alpha, scale, input_scale
    return x < T(0) ? expm1_of<T>(lower<T>(x, splat<T>(0)) * k[2]) * (k[0] * k[1]) : x * k[1];
}
POINT2(elu_backward) {  // k: alpha, scale, input_scale, whether y is the result
    const V<T> factor = k[0] * k[1];
    const V<T> from_input = exp_of<T>(lower<T>(y, splat<T>(0)) * k[2]) * (factor * k[2]), from_result = (y + factor) * k[2];
    return y <= T(0) ? (k[3] != T(0) ? from_result : from_input) * x : x * k[1];
}
POINT1(softplus) {  // k: beta, threshold
    const V<T> z = x * k[0], found = log1p_of_size<T>(exp_of<T>(-magnitude<T>(z))) + higher<T>(z, splat<T>(0));
    return z > k[1] ? x : found / k[0];
}
POINT2(softplus_backward) {
    const V<T> z = y * k[0];
    return z > k[1] ? x : x / (exp_of<T>(-z) + T(1));
}
POINT1(log_sigmoid) { return lower<T>(x, splat<T>(0)) - log1p_of_size<T>(exp_of<T>(-magnitude<T>(x))); }
POINT2(log_sigmoid_backward) { return x / (exp_of<T>(y) + T(1)); }
POINT1(gelu) {
    V<float> density;
    return x * normal_at(x, density);
}
POINT2(gelu_backward) {
    V<float> density;
    const V<float> value = normal_at(y, density);
    return x * (value + y * density * 0.39894228f);
}
// (1 + tanh(z)) / 2 = 1 / (1 + e^(-2 z)) with z = sqrt(2 / pi) (x + 0.044715 x^3)
constexpr double TWICE = 1.5957691216057308, CUBE = 0.044715;
POINT1(gelu_tanh) {
    return wide(x, [](V<double> v) { return v * sigmoid_near((v * v * CUBE + 1.0) * v * TWICE); });
}
POINT2(gelu_tanh_backward) {
    return wide(x, y, [](V<double> g, V<double> v) {
        const V<double> s = sigmoid_near((v * v * CUBE + 1.0) * v * TWICE), slope = (v * v * (3 * CUBE) + 1.0) * TWICE;
        return g * (s + (splat(1.0) - s) * s * slope * v);
    });
}

// ---------------------------------------------------------------- the loop
// What is left at the end goes through the same loop in a buffer: an element's value does not depend on where it stands.
template <class T, class F>
#ifdef __GNUC__
__attribute__((noinline))
#endif
void loop(const T* const* in, unsigned still, T* out, Size n, const T* numbers) {
    constexpr int W = Vec<T>::W, N = F::inputs;
    const V<T> k[4] = {splat(numbers[0]), splat(numbers[1]), splat(numbers[2]), splat(numbers[3])};
    T spread[N][W];
    const T* x[N];
    Size step[N];
    for (int j = 0; j < N; j++) {
        const bool moves = (still >> j & 1) == 0;
        if (!moves) store(spread[j], splat(*in[j]));
        x[j] = moves ? in[j] : spread[j];
        step[j] = moves ? W : 0;
    }
    const F f;
    const Size whole = n - n % W;
    for (Size i = 0; i < whole; i += W) {
        if constexpr (N == 1)
            store<T>(out + i, f(load(x[0]), k));
        else if constexpr (N == 2)
            store<T>(out + i, f(load(x[0]), load(x[1]), k));
        else
            store<T>(out + i, f(load(x[0]), load(x[1]), load(x[2]), k));
        for (int j = 0; j < N; j++) x[j] += step[j];
    }
    if (whole == n) return;
    T rest[N][W] = {}, made[W];
    const T* from[N];
    for (int j = 0; j < N; j++) {
        if (step[j] != 0) std::memcpy(rest[j], x[j], sizeof(T) * (n - whole));
        from[j] = step[j] != 0 ? rest[j] : in[j];
    }
    loop<T, F>(from, still, made, W, numbers);
    std::memcpy(out + whole, made, sizeof(T) * (n - whole));
}

template <class T, template <class> class F, bool there>
constexpr ElementLoop<T> entry() {
    if constexpr (there)
        return loop<T, F<T>>;
    else
        return nullptr;
}

const Elements table = {
#define X(name, inputs, numbers, cost, wide) entry<float, f_##name, true>(),
    {LIVETAPE_ELEMENTS(X)},
#undef X
#define X(name, inputs, numbers, cost, wide) entry<double, f_##name, wide>(),
    {LIVETAPE_ELEMENTS(X)},
#undef X
};

#undef POINT1
#undef POINT2
#undef POINT3

}  // namespace
}  // namespace ISA
}  // namespace native
