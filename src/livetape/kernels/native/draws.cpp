// Random numbers: laws drawn word by word from NumPy's generator, whose functions its capsule gives. A few numbers cost NumPy
// a dozen calls, and laws that reject what they drew cannot be had from whole arrays.
// The twins are in kernels/draws.py, boxmuller.py, sampling.py, rejection.py and choosing.py, which check arguments and hold
// the generator's lock. Arithmetic is theirs step by step: what they round to float32 is rounded here.

#include "common.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include <numpy/random/bitgen.h>

#include "draws.h"

#ifdef __GNUC__
#pragma GCC diagnostic ignored "-Wpsabi"  // what passes vectors is always inline
#endif
#define BODY "draws_body.h"
#include "every_isa.h"

namespace native {

const DrawLoops& draw_loops() { return CHOSEN; }

namespace {

constexpr double PI = 3.14159265358979323846;

class Bits {
public:
    explicit Bits(PyObject* capsule) : source_(static_cast<bitgen_t*>(PyCapsule_GetPointer(capsule, "BitGenerator"))) {}
    bool usable() const { return source_ != nullptr; }
    uint32_t word() { return source_->next_uint32(source_->state); }
    float unit24() { return static_cast<float>(static_cast<int32_t>(word() & 0xFFFFFF)) * 0x1p-24f; }
    double unit53() {
        const uint64_t high = word();
        const uint64_t low = word();
        return static_cast<double>(static_cast<int64_t>((high << 32 | low) & ((uint64_t{1} << 53) - 1))) * 0x1p-53;
    }
    void fill(float* out, npy_intp count) {
        for (npy_intp i = 0; i < count; i++) out[i] = unit24();
    }
    void fill(double* out, npy_intp count) {
        for (npy_intp i = 0; i < count; i++) out[i] = unit53();
    }

private:
    bitgen_t* source_;
};

// The normal that is computed with another one and kept for the next call: None, or a float.
class Spare {
public:
    explicit Spare(PyObject* given) : has_(given != Py_None), value_(has_ ? PyFloat_AsDouble(given) : 0) {}
    double normal(Bits& bits) {
        if (has_) {
            has_ = false;
            return value_;
        }
        const double turn = bits.unit53();
        const double height = bits.unit53();
        const double radius = std::sqrt(-2.0 * std::log1p(-height)), theta = 2.0 * PI * turn;
        value_ = radius * std::sin(theta);
        has_ = true;
        return radius * std::cos(theta);
    }
    PyObject* kept() const { return has_ ? PyFloat_FromDouble(value_) : Py_NewRef(Py_None); }

private:
    bool has_;
    double value_;
};

bool need_plain(PyObject* object) {
    if (plain(object)) return true;
    PyErr_SetString(PyExc_TypeError, "expected a plain array");
    return false;
}

bool need_alike(PyObject* one, PyObject* other) {
    if (plain_alike(one, other)) return true;
    PyErr_SetString(PyExc_TypeError, "expected plain arrays alike");
    return false;
}

// ---------------------------------------------------------------- uniforms
PyObject* units(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("units", count, 2)) return nullptr;
    Bits bits(args[0]);
    PyObject* out = args[1];
    if (!bits.usable() || !need_plain(out)) return nullptr;
    const npy_intp n = size_of(out);
    {
        Unlocked unlocked(n);
        type_of(out) == NPY_FLOAT ? bits.fill(data<float>(out), n) : bits.fill(data<double>(out), n);
    }
    Py_RETURN_NONE;
}

// ---------------------------------------------------------------- normals
inline void blocks(float* at, npy_intp count) { draw_loops().normal_blocks(at, count / 16); }

inline void blocks(double* at, npy_intp count) {
    for (double* stop = at + count; at < stop; at += 16)
        for (int k = 0; k < 8; k++) {
            const double radius = std::sqrt(-2.0 * std::log(1.0 - at[k])), theta = at[k + 8] * (2.0 * PI);
            at[k] = radius * std::cos(theta);
            at[k + 8] = radius * std::sin(theta);
        }
}

template <class T>
void fill_normals(Bits& bits, T* out, npy_intp count) {  // at least 16
    bits.fill(out, count);
    const npy_intp whole = count - count % 16;
    blocks(out, whole);
    if (whole == count) return;
    T last[16];  // torch makes the last sixteen anew rather than a shorter block
    bits.fill(last, 16);
    blocks(last, 16);
    std::memcpy(out + count - 16, last, sizeof last);
}

PyObject* normals(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("normals", count, 2)) return nullptr;
    Bits bits(args[0]);
    PyObject* out = args[1];
    if (!bits.usable() || !need_plain(out)) return nullptr;
    const npy_intp n = size_of(out);
    if (n < 16) {
        PyErr_SetString(PyExc_ValueError, "fewer normals than a block");
        return nullptr;
    }
    {
        Unlocked unlocked(n);
        type_of(out) == NPY_FLOAT ? fill_normals(bits, data<float>(out), n) : fill_normals(bits, data<double>(out), n);
    }
    Py_RETURN_NONE;
}

PyObject* serial_normals(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("serial_normals", count, 3)) return nullptr;
    Bits bits(args[0]);
    PyObject* out = args[1];
    if (!bits.usable() || !need_plain(out)) return nullptr;
    Spare spare(args[2]);
    const npy_intp n = size_of(out);
    if (type_of(out) == NPY_FLOAT)
        for (npy_intp i = 0; i < n; i++) data<float>(out)[i] = static_cast<float>(spare.normal(bits));
    else
        for (npy_intp i = 0; i < n; i++) data<double>(out)[i] = spare.normal(bits);
    return spare.kept();
}

// ---------------------------------------------------------------- gamma
// Marsaglia and Tsang (2000) for a shape d + 1/3 >= 1, times what a smaller shape asks for.
double gamma(Bits& bits, Spare& spare, double d, double boost) {
    const double scale = boost != 0 ? std::pow(1.0 - bits.unit53(), boost) : 1.0;
    const double c = 1.0 / std::sqrt(9.0 * d), squeeze = static_cast<double>(0.0331f);
    for (;;) {
        double x, y;
        do {
            x = spare.normal(bits);
            y = 1.0 + c * x;
        } while (!(y > 0));
        const double v = y * y * y, u = 1.0 - bits.unit53(), square = x * x;
        if (u < 1.0 - squeeze * square * square || std::log(u) < 0.5 * square + d * (1.0 - v + std::log(v)))
            return scale * d * v;
    }
}

template <class T>
void fill_gammas(Bits& bits, Spare& spare, const T* shapes, npy_intp n, T* out) {
    constexpr T third = static_cast<T>(1.0f / 3.0f);
    for (npy_intp i = 0; i < n; i++) {
        const T shape = shapes[i];
        double made = 0;
        if (shape >= 1)
            made = gamma(bits, spare, static_cast<double>(shape - third), 0);
        else if (shape > 0)
            made = gamma(bits, spare, static_cast<double>(shape + 1 - third), static_cast<double>(1 / shape));
        const T rounded = static_cast<T>(made);
        out[i] = rounded > std::numeric_limits<T>::min() ? rounded : std::numeric_limits<T>::min();
    }
}

PyObject* gammas(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("gammas", count, 4)) return nullptr;
    Bits bits(args[0]);
    PyObject *shapes = args[1], *out = args[2];
    if (!bits.usable() || !need_alike(shapes, out)) return nullptr;
    Spare spare(args[3]);
    const npy_intp n = size_of(out);
    {
        Unlocked unlocked(16 * n);
        if (type_of(out) == NPY_FLOAT)
            fill_gammas(bits, spare, data<float>(shapes), n, data<float>(out));
        else
            fill_gammas(bits, spare, data<double>(shapes), n, data<double>(out));
    }
    return spare.kept();
}

// ---------------------------------------------------------------- Poisson
double ptrs(Bits& bits, double rate) {  // Hoermann's transformed rejection, for rates of 10 and more
    const double b = 0.931 + 2.53 * std::sqrt(rate), a = -0.059 + 0.02483 * b, bound = 0.9277 - 3.6224 / (b - 2);
    const double log_inverse_alpha = std::log(1.1239 + 1.1328 / (b - 3.4)), log_rate = std::log(rate);
    for (;;) {
        const double u = bits.unit53() - 0.5;
        const double v = bits.unit53();
        const double us = 0.5 - std::fabs(u);
        if (us == 0) continue;
        const double k = std::floor((2 * a / us + b) * u + rate + 0.43);
        if (us >= 0.07 && v <= bound) return k;
        if (k < 0 || (us < 0.013 && v > us)) continue;
        if (std::log(v) + log_inverse_alpha - std::log(a / (us * us) + b) <= -rate + k * log_rate - std::lgamma(k + 1.0))
            return k;
    }
}

double multiplied(Bits& bits, double rate) {  // how many uniforms can be multiplied before the product is below exp(-rate)
    const double limit = std::exp(-rate);
    double made = 0;
    for (double product = bits.unit53(); product > limit; product *= bits.unit53()) made += 1;
    return made;
}

template <class T>
void fill_poissons(Bits& bits, const T* rates, npy_intp n, T* out) {
    for (npy_intp i = 0; i < n; i++) {
        const double rate = static_cast<double>(rates[i]);
        out[i] = static_cast<T>(rate >= 10 ? ptrs(bits, rate) : rate > 0 ? multiplied(bits, rate) : 0);
    }
}

// False, with nothing drawn, if a rate is negative or not a number.
PyObject* poissons(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("poissons", count, 3)) return nullptr;
    Bits bits(args[0]);
    PyObject *rates = args[1], *out = args[2];
    if (!bits.usable() || !need_alike(rates, out)) return nullptr;
    const npy_intp n = size_of(out);
    const bool single = type_of(out) == NPY_FLOAT;
    bool fine = true;
    {
        Unlocked unlocked(16 * n);
        for (npy_intp i = 0; i < n && fine; i++) fine = single ? data<float>(rates)[i] >= 0 : data<double>(rates)[i] >= 0;
        if (fine && single) fill_poissons(bits, data<float>(rates), n, data<float>(out));
        if (fine && !single) fill_poissons(bits, data<double>(rates), n, data<double>(out));
    }
    return PyBool_FromLong(fine);
}

// ---------------------------------------------------------------- choices
// For each row of weights the place of the largest weight / waiting time, by exponential waiting times. False, with nothing
// drawn, if a weight is negative, infinite or not a number, or if all of a row are 0.
template <class T>
bool choose(Bits& bits, const T* weights, npy_intp rows, npy_intp columns, npy_int64* out) {
    for (npy_intp row = 0; row < rows; row++) {
        bool any = false;
        for (npy_intp i = row * columns; i < (row + 1) * columns; i++) {
            if (!(weights[i] >= 0 && weights[i] <= std::numeric_limits<T>::max())) return false;
            any = any || weights[i] != 0;
        }
        if (!any) return false;
    }
    for (npy_intp row = 0; row < rows; row++, weights += columns) {
        T best = 0;
        npy_intp place = 0;
        for (npy_intp i = 0; i < columns; i++) {
            const T race = weights[i] / static_cast<T>(-std::log1p(-bits.unit53()));
            if (i == 0 || (!std::isnan(best) && !(race <= best))) {
                best = race;
                place = i;
            }
        }
        out[row] = place;
    }
    return true;
}

PyObject* first_arrivals(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("first_arrivals", count, 3)) return nullptr;
    Bits bits(args[0]);
    if (!bits.usable() || !need_plain(args[1])) return nullptr;
    if (!PyArray_CheckExact(args[2]) || type_of(args[2]) != NPY_INT64 || !PyArray_ISCARRAY(as_array(args[2]))) {
        PyErr_SetString(PyExc_TypeError, "expected a plain array of int64");
        return nullptr;
    }
    const npy_intp rows = size_of(args[2]), columns = rows ? size_of(args[1]) / rows : 0;
    npy_int64* out = data<npy_int64>(args[2]);
    return PyBool_FromLong(type_of(args[1]) == NPY_FLOAT ? choose(bits, data<float>(args[1]), rows, columns, out)
                                                         : choose(bits, data<double>(args[1]), rows, columns, out));
}

template <class T, class Draw>
bool toss(const T* chances, npy_intp n, T* out, Draw draw) {
    for (npy_intp i = 0; i < n; i++)
        if (!(chances[i] >= 0 && chances[i] <= 1)) return false;
    for (npy_intp i = 0; i < n; i++) out[i] = draw() < chances[i];
    return true;
}

// Ones with the probabilities of an array, else zeros. False, with nothing drawn, if one is no probability.
PyObject* coins(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("coins", count, 3)) return nullptr;
    Bits bits(args[0]);
    PyObject *chances = args[1], *out = args[2];
    if (!bits.usable() || !need_alike(chances, out)) return nullptr;
    const npy_intp n = size_of(out);
    bool done;
    {
        Unlocked unlocked(n);
        done = type_of(out) == NPY_FLOAT
                   ? toss(data<float>(chances), n, data<float>(out), [&] { return bits.unit24(); })
                   : toss(data<double>(chances), n, data<double>(out), [&] { return bits.unit53(); });
    }
    return PyBool_FromLong(done);
}

}  // namespace

PyMethodDef draw_methods[] = {
    FAST("units", units, "units(capsule, out): uniforms in [0, 1), of 24 or 53 bits"),
    FAST("normals", normals, "normals(capsule, out): at least 16 normals, in blocks"),
    FAST("serial_normals", serial_normals, "serial_normals(capsule, out, spare): normals one by one; returns the new spare"),
    FAST("gammas", gammas, "gammas(capsule, shapes, out, spare): gammas one by one; returns the new spare"),
    FAST("poissons", poissons, "poissons(capsule, rates, out): counts; whether it could be"),
    FAST("first_arrivals", first_arrivals, "first_arrivals(capsule, weights, out): a place in each row; whether it could be"),
    FAST("coins", coins, "coins(capsule, chances, out): ones and zeros; whether it could be"),
    FAST("gamma_slopes", gamma_slopes, "gamma_slopes(alpha, x, out, fit): dx/dalpha of gamma samples"),
    FAST("beta_slopes", beta_slopes, "beta_slopes(x, alpha, total, out, fit): dx/dalpha / (1 - x) of beta samples"),
    {nullptr, nullptr, 0, nullptr}};

}  // namespace native
