// The negative log likelihood of classes, forward and backward, for rows of log probabilities and int64 targets.
// Weights, other shapes and targets out of range are left to the NumPy twins in kernels/loss.py, which have the errors.

#include "common.h"

namespace native {
namespace {

PyObject *nll_twin, *nll_backward_twin;

enum Reduction { NONE = 0, MEAN = 1, SUM = 2 };

bool as_number(PyObject* object, npy_int64* value) {
    if (!PyLong_Check(object)) return false;
    *value = PyLong_AsLongLong(object);
    if (*value == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        return false;
    }
    return true;
}

// Targets as a contiguous vector of int64.
bool plain_targets(PyObject* object, npy_intp count) {
    if (!PyArray_CheckExact(object)) return false;
    PyArrayObject* array = as_array(object);
    return PyArray_TYPE(array) == NPY_INT64 && PyArray_NDIM(array) == 1 && PyArray_DIM(array, 0) == count &&
           PyArray_IS_C_CONTIGUOUS(array) && PyArray_ISALIGNED(array) && PyArray_ISNOTSWAPPED(array);
}

// How many targets count; -1 if one of these is no class.
npy_intp counted(const npy_int64* target, npy_intp n, npy_intp classes, npy_int64 ignored) {
    npy_intp kept = 0, good = 0;
    for (npy_intp i = 0; i < n; i++) {
        bool counts = target[i] != ignored;
        kept += counts;
        good += counts & (static_cast<npy_uint64>(target[i]) < static_cast<npy_uint64>(classes));
    }
    return kept == good ? kept : -1;
}

template <class T>
struct Picker {
    const T* x;
    const npy_int64* target;
    npy_intp classes;
    npy_int64 ignored;

    T operator()(npy_intp i) const { return target[i] == ignored ? T(0) : x[i * classes + target[i]]; }

    // the sum from ``start`` on, by halves as NumPy's
    T sum(npy_intp start, npy_intp n) const {
        constexpr npy_intp LEAF = 128;
        if (n <= LEAF) {
            T picked[LEAF];
            for (npy_intp i = 0; i < n; i++) picked[i] = (*this)(start + i);
            return pairwise_sum(picked, n);
        }
        npy_intp half = n / 2;
        half -= half % 8;
        return sum(start, half) + sum(start + half, n - half);
    }
};

template <class T>
void pick(PyObject* x, PyObject* target, PyObject* out, npy_int64 ignored, npy_int64 reduction, npy_intp kept) {
    Picker<T> picker{data<T>(x), data<npy_int64>(target), dim_of(x, 1), ignored};
    npy_intp n = dim_of(x, 0);
    T* o = data<T>(out);
    if (reduction == NONE) {
        for (npy_intp i = 0; i < n; i++) o[i] = picker.target[i] == ignored ? T(0) : -picker(i);
        return;
    }
    T total = T(0) - picker.sum(0, n);  // 0 for 0, not -0
    *o = reduction == MEAN ? total / T(kept) : total;
}

// (log_probabilities, target, weight, reduction, ignore_index)
PyObject* nll(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("nll", count, 5)) return nullptr;
    PyObject *x = args[0], *target = args[1];
    npy_int64 reduction, ignored;
    npy_intp kept = -1;
    if (args[2] == Py_None && plain(x) && ndim_of(x) == 2 && dim_of(x, 0) > 0 && plain_targets(target, dim_of(x, 0)) &&
        as_number(args[3], &reduction) && as_number(args[4], &ignored))
        kept = counted(data<npy_int64>(target), dim_of(x, 0), dim_of(x, 1), ignored);
    if (kept < 0) return call(nll_twin, args, count);
    PyObject* out = PyArray_SimpleNew(reduction == NONE ? 1 : 0, PyArray_DIMS(as_array(x)), type_of(x));
    if (out == nullptr) return nullptr;
    if (type_of(x) == NPY_FLOAT)
        pick<float>(x, target, out, ignored, reduction, kept);
    else
        pick<double>(x, target, out, ignored, reduction, kept);
    return out;
}

template <class T>
void place(PyObject* grad, PyObject* target, PyObject* out, npy_int64 ignored, npy_int64 reduction, npy_intp kept) {
    const T* g = data<T>(grad);
    const npy_int64* t = data<npy_int64>(target);
    T* o = data<T>(out);
    npy_intp n = dim_of(out, 0), classes = dim_of(out, 1);
    T share = reduction == MEAN ? -(*g / T(kept)) : -*g;
    for (npy_intp i = 0; i < n; i++)
        if (t[i] != ignored) o[i * classes + t[i]] = reduction == NONE ? -g[i] : share;
}

// (grad_output, self_size, target, weight, reduction, ignore_index)
PyObject* nll_backward(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("nll_backward", count, 6)) return nullptr;
    PyObject *grad = args[0], *size = args[1], *target = args[2];
    npy_int64 dims[2], reduction, ignored;
    npy_intp kept = -1;
    if (args[3] == Py_None && plain(grad) && PyTuple_Check(size) && PyTuple_GET_SIZE(size) == 2 &&
        as_number(PyTuple_GET_ITEM(size, 0), &dims[0]) && as_number(PyTuple_GET_ITEM(size, 1), &dims[1]) && dims[0] > 0 &&
        plain_targets(target, dims[0]) && as_number(args[4], &reduction) && as_number(args[5], &ignored) &&
        (reduction == NONE ? ndim_of(grad) == 1 && dim_of(grad, 0) == dims[0] : ndim_of(grad) == 0))
        kept = counted(data<npy_int64>(target), dims[0], dims[1], ignored);
    if (kept < 0) return call(nll_backward_twin, args, count);
    npy_intp shape[] = {static_cast<npy_intp>(dims[0]), static_cast<npy_intp>(dims[1])};
    PyObject* out = PyArray_ZEROS(2, shape, type_of(grad), 0);
    if (out == nullptr) return nullptr;
    if (type_of(grad) == NPY_FLOAT)
        place<float>(grad, target, out, ignored, reduction, kept);
    else
        place<double>(grad, target, out, ignored, reduction, kept);
    return out;
}

}  // namespace

PyMethodDef loss_methods[] = {FAST("nll", nll, "the negative log likelihood of classes"),
                              FAST("nll_backward", nll_backward, "its gradient"),
                              {nullptr, nullptr, 0, nullptr}};

const Twin loss_twins[] = {{"nll", &nll_twin}, {"nll_backward", &nll_backward_twin}, {nullptr, nullptr}};

}  // namespace native
