// Derivatives of gamma and beta samples by their parameters: kernels/implicit.py says where they come from, and gives the
// fitted coefficients. A region at a time, as there, takes NumPy a hundred calls.

#include "common.h"
#include "draws.h"

#include <cmath>
#include <limits>

namespace native {
namespace {

// Digamma of positive numbers; in float with torch's rounding.
template <class T>
T psi(T x) {
    constexpr double tail[] = {1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12};
    if (!(x > 0)) return std::numeric_limits<T>::quiet_NaN();
    double shifted = 0;
    for (; x < 10; x += 1) shifted -= 1 / x;
    const double inverse = 1 / static_cast<double>(x * x);
    double sum = tail[6];
    for (int i = 5; i >= 0; i--) sum = sum * inverse + tail[i];
    return static_cast<T>(shifted + std::log(x) - T(0.5) / x - sum * inverse);
}

template <class T>
T not_nan(T value) {
    return std::isnan(value) ? T(0) : value;
}

double horner(double at, double c0, double c1, double c2, double c3) { return c0 + at * (c1 + at * (c2 + at * c3)); }

// ---------------------------------------------------------------- gamma
double gamma_small(double alpha, double x) {
    double first = 0, second = 0, term = 1;
    for (int power = 0; power < 6; power++) {
        if (power > 0) term *= -x / power;
        const double shifted = alpha + power;
        first += term / shifted;
        second += term / (shifted * shifted);
    }
    const double slope = (std::log(x) - psi(alpha)) * first - second;
    return not_nan(-(std::pow(x, alpha) * slope) / (std::pow(x, alpha - 1) * std::exp(-x)));
}

double gamma_middle(double alpha, double x) {
    const double square = alpha * alpha;
    const double second = 1440 * square + 6 * x * (53 - 120 * x) - 65 * x * x / alpha + alpha * (107 + 3600 * x);
    return (1 + 24 * alpha * (1 + 12 * alpha)) * second / (1244160 * square * square);
}

double gamma_large(double alpha, double x) {
    const double ratio = std::log(x / alpha), apart = alpha - x, width = std::sqrt(8 * alpha);
    const double curve = std::pow(-apart - alpha * ratio, -1.5);
    const double both = width / apart + (apart > 0 ? -curve : curve);
    const double inner = ratio * both - std::sqrt(2 / alpha) * (alpha + x) / (apart * apart);
    return -(1 + 1 / (12 * alpha) * (1 + 1 / (24 * alpha))) * x * inner / width;
}

double gamma_slope(double alpha, double x, const double* fit) {  // fit: 3 x 8
    if (x < static_cast<double>(0.8f)) return gamma_small(alpha, x);
    if (alpha > 8)
        return static_cast<double>(0.9f) * alpha <= x && x <= static_cast<double>(1.1f) * alpha ? gamma_middle(alpha, x)
                                                                                               : gamma_large(alpha, x);
    const double u = std::log(x / alpha), v = std::log(alpha);
    double c[8];
    for (int i = 0; i < 8; i++) c[i] = fit[i] + u * (fit[8 + i] + u * fit[16 + i]);
    return std::exp(horner(v, c[0], c[1], c[2], c[3]) / horner(v, c[4], c[5], c[6], c[7]));
}

// ---------------------------------------------------------------- beta
template <class T>
T beta_near_0(T x, T alpha, T beta) {
    const T factor = psi(alpha) - psi(static_cast<T>(alpha + beta)) - std::log(x);
    T series = 0, term = 1;
    for (int power = 0; power < 11; power++) {
        if (power > 0) term *= (power - beta) * x / power;
        series += term / (alpha + power) * (factor + 1 / (alpha + power));
    }
    return not_nan(x * std::pow(1 - x, -beta) * series);
}

template <class T>
T beta_near_1(T x, T alpha, T beta) {
    const T rest = 1 - x, factor = psi(static_cast<T>(alpha + beta)) - psi(alpha);
    T term = 1, product = 1, slope = 0, series = factor / beta;
    for (int power = 1; power < 9; power++) {
        term *= -rest / power;
        slope = slope * (alpha - power) + product;
        product *= alpha - power;
        series += term / (beta + power) * (slope + factor * product);
    }
    return not_nan(std::pow(x, 1 - alpha) * series);
}

double beta_middle(double x, double alpha, double beta) {
    const double total = alpha + beta, b2 = beta * beta;
    double poly = 8 * (1 - x) * (135 * beta - 11);
    poly = (453 + 1620 * beta * (1 - x) - 455 * x) * beta + alpha * poly;
    poly = 3 * (59 + 180 * beta - 90 * x) * b2 + alpha * poly;
    poly = (43 + 20 * (16 + 27 * beta) * x) * b2 * beta + alpha * poly;
    poly = 47 * x * b2 * b2 + alpha * poly;
    const double above = (1 + 12 * alpha) * (1 + 12 * beta) / (total * total);
    return above / (1 - x) * poly / (12960 * alpha * alpha * alpha * b2 * (1 + 12 * total));
}

double stirling(double of) { return 1 + 1 / (12 * of) + 1 / (288 * of * of); }

double beta_large(double x, double alpha, double beta) {
    const double total = alpha + beta, mean = alpha / total, width = std::sqrt(alpha * beta / (total + 1)) / total;
    if (mean - 0.1 * width <= x && x <= mean + 0.1 * width) return beta_middle(x, alpha, beta);
    const double root = std::sqrt(2 * alpha * beta / total), apart = alpha * (x - 1) + beta * x;
    const double pull = std::log(alpha / (total * x));
    const double first = (2 * alpha * alpha * (x - 1) + alpha * beta * (x - 1) - x * beta * beta) /
                         (std::sqrt(2 * alpha / beta) * std::pow(total, 1.5) * apart * apart);
    const double curve = std::pow(beta * std::log(beta / (total * (1 - x))) + alpha * pull, -1.5);
    const double second = 0.5 * pull * (2 * root / apart + (x < mean ? curve : -curve));
    return stirling(alpha) * stirling(beta) / stirling(total) * (-x / root) * (first + second);
}

double beta_fit(double x, double alpha, double beta, const double* fit) {  // fit: 2 x 9 x 4
    const double total = alpha + beta, u = std::log(x), a = std::log(alpha) - u, b = std::log(total) - a;
    const double by_u[] = {1, u, u * u}, by_a[] = {1, a, a * a};
    double above = 0, below = 0;
    for (int i = 0; i < 9; i++) {
        const double power = by_u[i / 3] * by_a[i % 3], *c = fit + 4 * i, *d = fit + 36 + 4 * i;
        above += power * horner(b, c[0], c[1], c[2], c[3]);
        below += power * horner(b, d[0], d[1], d[2], d[3]);
    }
    return above / below * (x * (psi(total) - psi(alpha)) / beta);
}

template <class T>
T beta_slope(T x, T alpha, T total, const double* fit) {
    const T beta = total - alpha, border = total * x * (1 - x);
    if (x <= T(0.5) && border < T(2.5)) return beta_near_0(x, alpha, beta);
    if (x >= T(0.5) && border < T(0.75)) return beta_near_1(x, alpha, beta);
    return static_cast<T>(alpha > 6 && beta > 6 ? beta_large(x, alpha, beta) : beta_fit(x, alpha, beta, fit));
}

// All but the last argument are plain arrays alike; the last is the table of coefficients.
bool check(PyObject* const* args, Py_ssize_t count, npy_intp coefficients) {
    bool fine = plain(args[count - 1]) && type_of(args[count - 1]) == NPY_DOUBLE && size_of(args[count - 1]) == coefficients;
    for (Py_ssize_t i = 0; i + 1 < count && fine; i++) fine = plain_alike(args[0], args[i]);
    if (!fine) PyErr_SetString(PyExc_TypeError, "expected plain arrays alike, and the coefficients");
    return fine;
}

template <class T>
void all_gammas(PyObject* const* args, const double* fit) {
    const T *alpha = data<T>(args[0]), *x = data<T>(args[1]);
    T* out = data<T>(args[2]);
    for (npy_intp i = 0, n = size_of(args[0]); i < n; i++) out[i] = static_cast<T>(gamma_slope(alpha[i], x[i], fit));
}

template <class T>
void all_betas(PyObject* const* args, const double* fit) {
    const T *x = data<T>(args[0]), *alpha = data<T>(args[1]), *total = data<T>(args[2]);
    T* out = data<T>(args[3]);
    for (npy_intp i = 0, n = size_of(args[0]); i < n; i++) out[i] = beta_slope(x[i], alpha[i], total[i], fit);
}

}  // namespace

PyObject* gamma_slopes(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("gamma_slopes", count, 4) || !check(args, count, 24)) return nullptr;
    {
        Unlocked unlocked(64 * size_of(args[0]));
        (type_of(args[0]) == NPY_FLOAT ? all_gammas<float> : all_gammas<double>)(args, data<double>(args[3]));
    }
    Py_RETURN_NONE;
}

PyObject* beta_slopes(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("beta_slopes", count, 5) || !check(args, count, 72)) return nullptr;
    {
        Unlocked unlocked(64 * size_of(args[0]));
        (type_of(args[0]) == NPY_FLOAT ? all_betas<float> : all_betas<double>)(args, data<double>(args[4]));
    }
    Py_RETURN_NONE;
}

}  // namespace native
