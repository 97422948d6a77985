// Functions of the rows of a matrix: softmax, log_softmax and layer norm, forward and backward; over threads where they are many.
// Each takes plain arrays (float32 or float64, C order) and hands everything else to its NumPy twin in kernels/.

#include "common.h"

#include <atomic>
#include <cstring>

#include "loops.h"
#include "threads.h"

namespace native {
namespace {

PyObject *softmax_twin, *log_softmax_twin, *softmax_backward_twin, *log_softmax_backward_twin, *layer_norm_twin,
    *layer_norm_backward_twin;

// Whether ``dim`` is the last dimension of an array that is not empty. False with an exception set if it is no number.
bool over_rows(PyObject* array, PyObject* dim) {
    int n = ndim_of(array);
    if (n == 0 || size_of(array) == 0 || !PyLong_CheckExact(dim)) return false;
    long wanted = PyLong_AsLong(dim);
    if (wanted == -1 && PyErr_Occurred()) PyErr_Clear();
    return wanted == n - 1;
}

npy_intp columns_of(PyObject* array) { return dim_of(array, ndim_of(array) - 1); }

template <class T>
using Forward = void (*LoopsOf<T>::*)(const T*, T*, std::intptr_t, std::intptr_t);
template <class T>
using Backward = void (*LoopsOf<T>::*)(const T*, const T*, T*, std::intptr_t, std::intptr_t);

constexpr npy_intp COST = 8;  // elementary steps for an element

// Calls ``f(first row, their number, columns)``.
template <class F>
void over_all(npy_intp size, npy_intp columns, F f) {
    parallel_for(size / columns, grain_for(columns * COST), [&](npy_intp begin, npy_intp end) { f(begin, end - begin, columns); });
}

template <class T>
void run(Forward<T> loop, PyObject* x, PyObject* out) {
    const T* in = data<T>(x);
    T* to = data<T>(out);
    over_all(size_of(x), columns_of(x), [=](npy_intp row, npy_intp rows, npy_intp columns) {
        (loops_of<T>().*loop)(in + row * columns, to + row * columns, rows, columns);
    });
}

template <class T>
void run_back(Backward<T> loop, PyObject* grad, PyObject* result, PyObject* out) {
    const T *in = data<T>(grad), *made = data<T>(result);
    T* to = data<T>(out);
    over_all(size_of(result), columns_of(result), [=](npy_intp row, npy_intp rows, npy_intp columns) {
        (loops_of<T>().*loop)(in + row * columns, made + row * columns, to + row * columns, rows, columns);
    });
}

PyObject* forward(const char* name, PyObject* twin, PyObject* const* args, Py_ssize_t count, Forward<float> single,
                  Forward<double> wide) {
    if (!arguments(name, count, 2)) return nullptr;
    PyObject* x = args[0];
    if (!plain(x) || !over_rows(x, args[1])) return call(twin, args, count);
    PyObject* out = empty_like(x);
    if (out == nullptr) return nullptr;
    Unlocked unlocked(size_of(x));
    if (type_of(x) == NPY_FLOAT)
        run<float>(single, x, out);
    else
        run<double>(wide, x, out);
    return out;
}

PyObject* backward(const char* name, PyObject* twin, PyObject* const* args, Py_ssize_t count, Backward<float> single,
                   Backward<double> wide) {
    if (!arguments(name, count, 3)) return nullptr;
    PyObject *grad = args[0], *result = args[1];
    if (!plain_alike(grad, result) || !over_rows(result, args[2])) return call(twin, args, count);
    PyObject* out = empty_like(result);
    if (out == nullptr) return nullptr;
    Unlocked unlocked(size_of(result));
    if (type_of(result) == NPY_FLOAT)
        run_back<float>(single, grad, result, out);
    else
        run_back<double>(wide, grad, result, out);
    return out;
}

PyObject* softmax(PyObject*, PyObject* const* args, Py_ssize_t count) {
    return forward("softmax", softmax_twin, args, count, &LoopsOf<float>::softmax, &LoopsOf<double>::softmax);
}

PyObject* log_softmax(PyObject*, PyObject* const* args, Py_ssize_t count) {
    return forward("log_softmax", log_softmax_twin, args, count, &LoopsOf<float>::log_softmax, &LoopsOf<double>::log_softmax);
}

PyObject* softmax_backward(PyObject*, PyObject* const* args, Py_ssize_t count) {
    return backward("softmax_backward", softmax_backward_twin, args, count, &LoopsOf<float>::softmax_backward,
                    &LoopsOf<double>::softmax_backward);
}

PyObject* log_softmax_backward(PyObject*, PyObject* const* args, Py_ssize_t count) {
    return backward("log_softmax_backward", log_softmax_backward_twin, args, count, &LoopsOf<float>::log_softmax_backward,
                    &LoopsOf<double>::log_softmax_backward);
}

// ---------------------------------------------------------------- layer norm
// The number of elements of the last ``len(shape)`` dimensions if they are ``shape``, a tuple; else -1.
npy_intp width_of(PyObject* array, PyObject* shape) {
    if (!PyTuple_Check(shape)) return -1;
    Py_ssize_t count = PyTuple_GET_SIZE(shape);
    int first = ndim_of(array) - static_cast<int>(count);
    if (count == 0 || first < 0) return -1;
    npy_intp width = 1;
    for (Py_ssize_t i = 0; i < count; i++) {
        npy_intp wanted = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i));
        if (wanted == -1 && PyErr_Occurred()) PyErr_Clear();
        if (wanted != dim_of(array, first + static_cast<int>(i))) return -1;
        width *= wanted;
    }
    return width;
}

// None, or a plain array of the type of ``like`` with ``size`` elements.
bool none_or_fits(PyObject* object, PyObject* like, npy_intp size) {
    return object == Py_None || (plain(object) && type_of(object) == type_of(like) && size_of(object) == size);
}

template <class T>
T* data_or_null(PyObject* object) {
    return object == nullptr || object == Py_None ? nullptr : data<T>(object);
}

template <class T>
void normalize(PyObject* x, PyObject* weight, PyObject* bias, double eps, PyObject* y, PyObject* mean, PyObject* rstd,
               npy_intp width) {
    Unlocked unlocked(size_of(x));
    const T *in = data<T>(x), *scale = data_or_null<T>(weight), *shift = data_or_null<T>(bias);
    T *out = data<T>(y), *middle = data<T>(mean), *factor = data<T>(rstd);
    over_all(size_of(x), width, [=](npy_intp row, npy_intp rows, npy_intp) {
        loops_of<T>().layer_norm(in + row * width, scale, shift, T(eps), out + row * width, middle + row, factor + row, rows, width);
    });
}

// (input, normalized_shape, weight, bias, eps) -> (normalised, mean, rstd)
PyObject* layer_norm(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("layer_norm", count, 5)) return nullptr;
    PyObject *x = args[0], *shape = args[1], *weight = args[2], *bias = args[3];
    npy_intp width = plain(x) && size_of(x) > 0 && PyFloat_Check(args[4]) ? width_of(x, shape) : -1;
    if (width <= 0 || !none_or_fits(weight, x, width) || !none_or_fits(bias, x, width)) return call(layer_norm_twin, args, count);
    npy_intp stats[NPY_MAXDIMS];
    int first = ndim_of(x) - static_cast<int>(PyTuple_GET_SIZE(shape));
    for (int i = 0; i < ndim_of(x); i++) stats[i] = i < first ? dim_of(x, i) : 1;
    PyObject* y = empty_like(x);
    PyObject* mean = PyArray_SimpleNew(ndim_of(x), stats, type_of(x));
    PyObject* rstd = PyArray_SimpleNew(ndim_of(x), stats, type_of(x));
    if (y == nullptr || mean == nullptr || rstd == nullptr) {
        Py_XDECREF(y);
        Py_XDECREF(mean);
        Py_XDECREF(rstd);
        return nullptr;
    }
    if (type_of(x) == NPY_FLOAT)
        normalize<float>(x, weight, bias, PyFloat_AS_DOUBLE(args[4]), y, mean, rstd, width);
    else
        normalize<double>(x, weight, bias, PyFloat_AS_DOUBLE(args[4]), y, mean, rstd, width);
    return Py_BuildValue("(NNN)", y, mean, rstd);
}

// Adds up vectors that lie one behind another.
template <class T>
void add_parts(const T* parts, npy_intp count, npy_intp step, T* out, npy_intp width) {
    if (out == nullptr) return;
    std::memcpy(out, parts, sizeof(T) * static_cast<size_t>(width));
    for (npy_intp n = 1; n < count; n++)
        for (npy_intp i = 0; i < width; i++) out[i] += parts[n * step + i];
}

// Each chunk of rows has sums of its own for the gradients of weight and bias.
template <class T>
bool normalize_backward(PyObject* const* args, PyObject* dx, PyObject* dweight, PyObject* dbias, npy_intp width) {
    const T *grad = data<T>(args[0]), *x = data<T>(args[1]), *mean = data<T>(args[3]), *rstd = data<T>(args[4]);
    const T* weight = data_or_null<T>(args[5]);
    T *out = data_or_null<T>(dx), *by_weight = data_or_null<T>(dweight), *by_bias = data_or_null<T>(dbias);
    const npy_intp rows = size_of(args[1]) / width, least = (rows + 63) / 64, usual = grain_for(width * COST);
    const npy_intp grain = usual > least ? usual : least, step = 2 * width;
    T* parts = static_cast<T*>(PyMem_RawMalloc(sizeof(T) * static_cast<size_t>(chunks_of(rows, grain) * step)));
    if (parts == nullptr) {
        PyErr_NoMemory();
        return false;
    }
    std::atomic<bool> failed{false};
    {
        Unlocked unlocked(rows * width);
        parallel_for(rows, grain, [&](npy_intp begin, npy_intp end) {
            T* scratch = static_cast<T*>(thread_scratch(sizeof(T) * static_cast<size_t>(step)));
            if (scratch == nullptr) {
                failed = true;
                return;
            }
            T* mine = parts + begin / grain * step;
            loops_of<T>().layer_norm_backward(grad + begin * width, x + begin * width, mean + begin, rstd + begin, weight,
                                              out == nullptr ? nullptr : out + begin * width, by_weight == nullptr ? nullptr : mine,
                                              by_bias == nullptr ? nullptr : mine + width, scratch, end - begin, width);
        });
        add_parts(parts, chunks_of(rows, grain), step, by_weight, width);
        add_parts(parts + width, chunks_of(rows, grain), step, by_bias, width);
    }
    PyMem_RawFree(parts);
    if (failed) PyErr_NoMemory();
    return !failed;
}

// (grad_out, input, normalized_shape, mean, rstd, weight, wanted) -> gradients of input, weight and bias
PyObject* layer_norm_backward(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("layer_norm_backward", count, 7)) return nullptr;
    PyObject *grad = args[0], *x = args[1], *shape = args[2], *mean = args[3], *rstd = args[4], *weight = args[5];
    PyObject* wanted = args[6];
    npy_intp width = plain_alike(grad, x) && size_of(x) > 0 ? width_of(x, shape) : -1;
    if (width <= 0 || !none_or_fits(weight, x, width) || mean == Py_None || !none_or_fits(mean, x, size_of(x) / width) ||
        rstd == Py_None || !none_or_fits(rstd, x, size_of(x) / width) || !PyList_Check(wanted) || PyList_GET_SIZE(wanted) != 3)
        return call(layer_norm_backward_twin, args, count);
    PyObject* found[3] = {nullptr, nullptr, nullptr};  // those not wanted are empty arrays
    npy_intp none = 0;
    int first = ndim_of(x) - static_cast<int>(PyTuple_GET_SIZE(shape));
    bool failed = false, want[3];
    for (int i = 0; i < 3 && !failed; i++) {
        want[i] = PyList_GET_ITEM(wanted, i) == Py_True;
        found[i] = !want[i] ? PyArray_SimpleNew(1, &none, NPY_FLOAT)
                 : i == 0   ? empty_like(x)
                            : PyArray_SimpleNew(ndim_of(x) - first, PyArray_DIMS(as_array(x)) + first, type_of(x));
        failed = found[i] == nullptr;
    }
    if (!failed) {
        PyObject* dx = want[0] ? found[0] : nullptr;
        PyObject* dweight = want[1] ? found[1] : nullptr;
        PyObject* dbias = want[2] ? found[2] : nullptr;
        failed = type_of(x) == NPY_FLOAT ? !normalize_backward<float>(args, dx, dweight, dbias, width)
                                         : !normalize_backward<double>(args, dx, dweight, dbias, width);
    }
    if (failed) {
        for (PyObject* array : found) Py_XDECREF(array);
        return nullptr;
    }
    return Py_BuildValue("(NNN)", found[0], found[1], found[2]);
}

}  // namespace

PyMethodDef row_methods[] = {
    FAST("softmax", softmax, "exp(x) over its sum along the dimension"),
    FAST("log_softmax", log_softmax, "the logarithm of softmax"),
    FAST("softmax_backward", softmax_backward, "the gradient of softmax, from its result"),
    FAST("log_softmax_backward", log_softmax_backward, "the gradient of log_softmax, from its result"),
    FAST("layer_norm", layer_norm, "rows with mean 0 and variance 1, scaled and shifted"),
    FAST("layer_norm_backward", layer_norm_backward, "the gradients of layer_norm"),
    {nullptr, nullptr, 0, nullptr}};

const Twin row_twins[] = {{"softmax", &softmax_twin},
                          {"log_softmax", &log_softmax_twin},
                          {"softmax_backward", &softmax_backward_twin},
                          {"log_softmax_backward", &log_softmax_backward_twin},
                          {"layer_norm", &layer_norm_twin},
                          {"layer_norm_backward", &layer_norm_backward_twin},
                          {nullptr, nullptr}};

}  // namespace native
