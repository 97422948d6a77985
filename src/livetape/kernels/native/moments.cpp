// Variance, standard deviation and mean over any dimensions, in one walk over the array and in double precision; over threads.
// The bounds of what is added at once depend on the shape alone. The NumPy twin is in kernels/reductions.py: it takes
// what is empty, and where squares overflow or vanish.

#include <algorithm>
#include <cmath>

#include "arrays.h"
#include "reduce.h"
#include "threads.h"

namespace native {
namespace {

PyObject* moments_twin;

constexpr npy_intp BLOCK = 512, WIDE_BLOCK = 64;  // rows of which columns are added at once, of floats and doubles

// Neighbouring dimensions that are all added, or all kept.
struct Run {
    bool added;
    npy_intp count;
};

// Of ``parts`` x ``inner`` runs each: numbers near the means, how far the means are from these, and sums of squared distances.
struct Found {
    double *near, *apart, *spread;
    npy_intp outer, parts, inner;
    double each, last;  // elements that they are made of, and those of the last part
};

// [outer][inner] out of [outer][parts][inner], in place: a result takes the place of what has been read.
void merge(Found& f) {
    for (npy_intp o = 0; o < f.outer; o++)
        for (npy_intp i = 0; i < f.inner; i++) {
            const npy_intp first = o * f.parts * f.inner + i, to = o * f.inner + i;
            double count = f.each, near = f.near[first], apart = f.apart[first], spread = f.spread[first];
            for (npy_intp part = 1; part < f.parts; part++) {
                const npy_intp at = first + part * f.inner;
                const double more = part + 1 < f.parts ? f.each : f.last, whole = count + more;
                const double step = (f.near[at] - near) + (f.apart[at] - apart);
                apart += step * (more / whole);
                spread += f.spread[at] + step * step * (count * more / whole);
                count = whole;
            }
            f.near[to] = near, f.apart[to] = apart, f.spread[to] = spread;
        }
    f.each = f.each * double(f.parts - 1) + f.last, f.last = f.each;
}

template <class T>
void walk_rows(const T* x, const Found& f, npy_intp count) {
    const auto loop = reduce_loops_of<T>().row_spreads;
    parallel_for(f.outer * f.parts, grain_for(std::min(count, PIECE)), [&](npy_intp begin, npy_intp end) {
        if (f.parts == 1) return loop(x + begin * count, end - begin, count, f.near + begin, f.apart + begin, f.spread + begin);
        for (npy_intp n = begin; n < end; n++) {
            const npy_intp start = n % f.parts * PIECE;
            loop(x + n / f.parts * count + start, 1, std::min(PIECE, count - start), f.near + n, f.apart + n, f.spread + n);
        }
    });
}

template <class T>
void walk_columns(const T* x, const Found& f, npy_intp count, npy_intp block) {
    const npy_intp strips = chunks_of(f.inner, STRIP), cost = std::min(count, block) * std::min(f.inner, STRIP);
    const auto loop = reduce_loops_of<T>().column_spreads;
    parallel_for(f.outer * f.parts * strips, grain_for(cost), [&](npy_intp begin, npy_intp end) {
        for (npy_intp n = begin; n < end; n++) {
            const npy_intp part = n / strips, column = n % strips * STRIP, row = part % f.parts * block;
            const npy_intp at = part * f.inner + column;
            loop(x + (part / f.parts * count + row) * f.inner + column, std::min(block, count - row), f.inner,
                 std::min(f.inner - column, STRIP), f.near + at, f.apart + at, f.spread + at);
        }
    });
}

// The results; false where they ask for another way.
template <class T>
bool conclude(const Found& f, double correction, bool root, T* spread, T* mean) {
    const double freedom = std::max(0.0, f.each - correction);
    bool fine = true;
    for (npy_intp i = 0; i < f.outer * f.inner; i++) {
        const double found = root ? std::sqrt(f.spread[i] / freedom) : f.spread[i] / freedom;
        fine &= std::isfinite(f.spread[i]) && (sizeof(T) == 4 || (found > 1e-30 && found < HUGE_VAL));
        spread[i] = T(found), mean[i] = T(f.near[i] + f.apart[i]);
    }
    return fine;
}

// The work on an array in C order; -1 with an exception set, 0 if the twin is to do it.
template <class T>
int find(PyObject* x, const Run* runs, int count, double correction, bool root, PyObject* spread, PyObject* mean) {
    Found f{nullptr, nullptr, nullptr, size_of(x), 1, 1, 1, 1};
    if (!runs[count - 1].added) f.inner = runs[--count].count;
    const npy_intp added = runs[--count].count, most = f.inner == 1 ? PIECE : sizeof(T) == 4 ? BLOCK : WIDE_BLOCK;
    f.outer /= f.inner * added;
    f.parts = chunks_of(added, most);
    f.each = double(std::min(added, most)), f.last = double(added - (f.parts - 1) * most);
    npy_intp sizes[] = {3, f.outer * f.parts * f.inner};
    Held scratch(PyArray_SimpleNew(2, sizes, NPY_DOUBLE));
    if (scratch.get() == nullptr) return -1;
    f.near = data<double>(scratch.get()), f.apart = f.near + sizes[1], f.spread = f.apart + sizes[1];
    Unlocked unlocked(size_of(x));
    if (f.inner == 1)
        walk_rows(data<T>(x), f, added);
    else
        walk_columns(data<T>(x), f, added, most);
    merge(f);
    while (count-- > 0) {
        if (runs[count].added) {
            f.parts = runs[count].count, f.outer /= f.parts;
            merge(f);
        } else {
            f.inner *= runs[count].count, f.outer /= runs[count].count;
        }
    }
    return conclude(f, correction, root, data<T>(spread), data<T>(mean));
}

// Which dimensions are added: None stands for all.
bool read_axes(PyObject* axes, int ndim, bool* added) {
    std::fill(added, added + ndim, axes == Py_None);
    if (axes == Py_None) return true;
    if (!PyTuple_Check(axes)) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(axes); i++) {
        npy_intp axis;
        if (!read_size(PyTuple_GET_ITEM(axes, i), axis) || axis < 0 || axis >= ndim || added[axis]) return false;
        added[axis] = true;
    }
    return true;
}

PyObject* turned(PyObject* x, npy_intp* order, int ndim) {
    PyArray_Dims dims{order, ndim};
    return PyArray_Transpose(as_array(x), &dims);
}

// The dimensions from the largest stride to the smallest. False if that is the order in which they are.
bool by_strides(PyObject* x, npy_intp* order) {
    const int ndim = ndim_of(x);
    for (int i = 0; i < ndim; i++) order[i] = i;
    if (PyArray_IS_C_CONTIGUOUS(as_array(x))) return false;
    const npy_intp* strides = PyArray_STRIDES(as_array(x));
    std::stable_sort(order, order + ndim, [=](npy_intp a, npy_intp b) { return std::abs(strides[a]) > std::abs(strides[b]); });
    return !std::is_sorted(order, order + ndim);
}

// An array for the results, with its dimensions where they belong: ``order`` tells where those in memory come from.
PyObject* result_of(PyObject* x, PyObject* in_memory, const npy_intp* order, const bool* added, bool keepdims, PyObject** view) {
    npy_intp shape[NPY_MAXDIMS], from[NPY_MAXDIMS], back[NPY_MAXDIMS];
    int ndim = 0;
    for (int i = 0; i < ndim_of(x); i++)
        if (keepdims || !added[order[i]]) {
            shape[ndim] = added[order[i]] ? 1 : dim_of(in_memory, i);
            back[ndim] = ndim, from[ndim] = order[i], ndim++;
        }
    PyObject* out = PyArray_SimpleNew(ndim, shape, type_of(x));
    if (out == nullptr) return nullptr;
    std::sort(back, back + ndim, [&](npy_intp a, npy_intp b) { return from[a] < from[b]; });
    *view = std::is_sorted(back, back + ndim) ? Py_NewRef(out) : turned(out, back, ndim);
    return out;
}

// (array, dimensions or None, correction, keepdims, root) -> variance, or its root, and mean
PyObject* moments(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("moments", count, 5)) return nullptr;
    PyObject* x = args[0];
    bool added[NPY_MAXDIMS];
    double correction;
    if (!is_float_array(x) || size_of(x) == 0 || !read_axes(args[1], ndim_of(x), added) || !read_number(args[2], correction) ||
        !PyBool_Check(args[3]) || !PyBool_Check(args[4]))
        return call(moments_twin, args, count);
    npy_intp order[NPY_MAXDIMS];
    Held sorted(by_strides(x, order) ? turned(x, order, ndim_of(x)) : Py_NewRef(x));
    Held input(sorted.get() == nullptr ? nullptr : in_order(sorted.get()));
    if (input.get() == nullptr) return nullptr;
    Run runs[NPY_MAXDIMS];
    int found = 0;
    bool any = false;
    for (int i = 0; i < ndim_of(x); i++) {
        const bool add = added[order[i]];
        const npy_intp size = dim_of(input.get(), i);
        if (size == 1) continue;
        any |= add;
        if (found > 0 && runs[found - 1].added == add)
            runs[found - 1].count *= size;
        else
            runs[found++] = {add, size};
    }
    if (!any) return call(moments_twin, args, count);
    PyObject *spread_view = nullptr, *mean_view = nullptr;
    const bool keepdims = args[3] == Py_True, root = args[4] == Py_True;
    Held spread(result_of(x, input.get(), order, added, keepdims, &spread_view)), spread_result(spread_view);
    Held mean(result_of(x, input.get(), order, added, keepdims, &mean_view)), mean_result(mean_view);
    if (!spread_result.get() || !mean_result.get()) return nullptr;
    const int done = type_of(x) == NPY_FLOAT
                         ? find<float>(input.get(), runs, found, correction, root, spread.get(), mean.get())
                         : find<double>(input.get(), runs, found, correction, root, spread.get(), mean.get());
    if (done < 0) return nullptr;
    if (done == 0) return call(moments_twin, args, count);
    return Py_BuildValue("(NN)", spread_result.release(), mean_result.release());
}

}  // namespace

PyMethodDef moment_methods[] = {FAST("moments", moments, "the variance, or its root, and the mean over some dimensions"),
                                {nullptr, nullptr, 0, nullptr}};

const Twin moment_twins[] = {{"moments", &moments_twin}, {nullptr, nullptr}};

}  // namespace native
