// Pooling over windows in one to three dimensions, forward and backward.
// float32 and float64 in C order; all else is handed to the NumPy twins in kernels/pooling.py.

#include <atomic>
#include <vector>

#include "arrays.h"
#include "pool.h"
#include "threads.h"

#define BODY "pool_body.h"
#include "every_isa.h"

namespace native {

const PoolLoops& pool_loops() { return CHOSEN; }

namespace {

using Size = std::intptr_t;

PyObject *max_pool_twin, *max_pool_indices_twin, *max_pool_backward_twin, *avg_pool_twin, *avg_pool_backward_twin,
    *scatter_places_twin;

template <class T>
const PoolOf<T>& loops_for();
template <>
const PoolOf<float>& loops_for<float>() {
    return pool_loops().single;
}
template <>
const PoolOf<double>& loops_for<double>() {
    return pool_loops().wide;
}

// A tuple of up to three sizes, after as many of ``rest`` as are missing.
bool read_tuple(PyObject* object, Size rest, Size* sizes, int dims) {
    if (!PyTuple_Check(object) || PyTuple_GET_SIZE(object) != dims) return false;
    for (int i = 0; i < 3; i++) {
        sizes[i] = rest;
        if (i >= 3 - dims && !read_size(PyTuple_GET_ITEM(object, i - 3 + dims), sizes[i])) return false;
    }
    return true;
}

// The windows over the last dimensions of ``x``, as many as ``kernel`` has; false if they are not to be had here.
template <class T>
bool windows_of(PyObject* x, PyObject* kernel, PyObject* stride, PyObject* padding, PyObject* dilation, PyObject* out, Pool<T>& p) {
    if (!PyTuple_Check(kernel)) return false;
    const int dims = static_cast<int>(PyTuple_GET_SIZE(kernel));
    p = {};
    if (!plain(x) || dims < 1 || dims > 3 || ndim_of(x) < dims || size_of(x) == 0 || !read_tuple(kernel, 1, p.kernel, dims) ||
        !read_tuple(stride, 1, p.stride, dims) || !read_tuple(padding, 0, p.padding, dims) || !read_tuple(out, 1, p.out, dims))
        return false;
    for (int i = 0; i < 3; i++) p.dilation[i] = 1, p.in[i] = i < 3 - dims ? 1 : dim_of(x, ndim_of(x) - 3 + i);
    if (dilation != nullptr && !read_tuple(dilation, 1, p.dilation, dims)) return false;
    for (int i = 0; i < 3; i++) {
        if (p.kernel[i] < 1 || p.stride[i] < 1 || p.dilation[i] < 1 || p.padding[i] < 0 || p.out[i] < 1) return false;
        // each window has its first place, or the one after its padding, inside of the input
        if ((p.out[i] - 1) * p.stride[i] - p.padding[i] >= p.in[i] || p.padding[i] > p.dilation[i] * (p.kernel[i] - 1)) return false;
    }
    p.planes = size_of(x) / (p.in[0] * p.in[1] * p.in[2]);
    return true;
}

PyObject* new_result(PyObject* x, const Size* sizes, int dims, int type) {
    npy_intp shape[NPY_MAXDIMS];
    const int lead = ndim_of(x) - dims;
    for (int i = 0; i < ndim_of(x); i++) shape[i] = i < lead ? dim_of(x, i) : sizes[3 - dims + i - lead];
    return PyArray_SimpleNew(ndim_of(x), shape, type);
}

template <class T>
PyObject* maxima(PyObject* const* args, bool places, bool* taken) {
    Pool<T> p;
    *taken = windows_of<T>(args[0], args[1], args[2], args[3], args[4], args[5], p);
    if (!*taken) return nullptr;
    PyObject* y = new_result(args[0], p.out, static_cast<int>(PyTuple_GET_SIZE(args[1])), places ? NPY_INT64 : type_of(args[0]));
    if (y == nullptr) return nullptr;
    p.x = data<T>(args[0]);
    Unlocked unlocked(size_of(args[0]));
    if (places) {
        p.places = data<std::int64_t>(y);
        loops_for<T>().maxima_places(p);
    } else {
        p.y = data<T>(y);
        loops_for<T>().maxima(p);
    }
    return y;
}

bool is_single(PyObject* x) { return PyArray_CheckExact(x) && type_of(x) == NPY_FLOAT; }

// (x, kernel, stride, padding, dilation, out)
PyObject* max_pool(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("max_pool", count, 6)) return nullptr;
    bool taken;
    PyObject* y = is_single(args[0]) ? maxima<float>(args, false, &taken) : maxima<double>(args, false, &taken);
    return taken ? y : call(max_pool_twin, args, count);
}

PyObject* max_pool_indices(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("max_pool_indices", count, 6)) return nullptr;
    bool taken;
    PyObject* y = is_single(args[0]) ? maxima<float>(args, true, &taken) : maxima<double>(args, true, &taken);
    return taken ? y : call(max_pool_indices_twin, args, count);
}

template <class T>
PyObject* maxima_backward(PyObject* grad, PyObject* x, PyObject* const* args, bool* taken) {
    Pool<T> p;
    *taken = windows_of<T>(x, args[0], args[1], args[2], args[3], args[4], p) &&
             size_of(grad) == p.planes * p.out[0] * p.out[1] * p.out[2];
    if (!*taken) return nullptr;
    PyObject* y = empty_like(x);
    if (y == nullptr) return nullptr;
    p.x = data<T>(x), p.grad = data<T>(grad), p.y = data<T>(y);
    Unlocked unlocked(size_of(x));
    loops_for<T>().maxima_backward(p);
    return y;
}

// (grad, x, result, kernel, stride, padding, dilation, out)
PyObject* max_pool_backward(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("max_pool_backward", count, 8)) return nullptr;
    bool taken = false;
    PyObject* y = nullptr;
    if (is_float_array(args[1]) && plain(args[1]) && is_float_array(args[0]) && type_of(args[0]) == type_of(args[1])) {
        Held grad(in_order(args[0]));
        if (grad.get() == nullptr) return nullptr;
        y = is_single(args[1]) ? maxima_backward<float>(grad.get(), args[1], args + 3, &taken)
                               : maxima_backward<double>(grad.get(), args[1], args + 3, &taken);
    }
    return taken ? y : call(max_pool_backward_twin, args, count);
}

// ---------------------------------------------------------------- means
// How many elements each window's mean is over, along each dimension.
template <class T>
bool count_elements(Pool<T>& p, PyObject* with_padding, PyObject* override, std::vector<T>* numbers) {
    Size total = 0;
    if (!PyBool_Check(with_padding) || (override != Py_None && (!read_size(override, total) || total == 0))) return false;
    for (int i = 0; i < 3; i++) {
        for (Size o = 0; o < p.out[i]; o++) {
            const Size start = o * p.stride[i] - p.padding[i], padded = p.in[i] + p.padding[i];
            const Size end = start + p.kernel[i] < padded ? start + p.kernel[i] : padded;
            Size number = end - start;
            if (with_padding != Py_True) number = (end < p.in[i] ? end : p.in[i]) - (start > 0 ? start : 0);
            numbers[i].push_back(override != Py_None ? T(i == 0 ? total : 1) : T(number));
        }
        p.number[i] = numbers[i].data();
    }
    return true;
}

template <class T>
PyObject* means(PyObject* const* args, bool* taken) {
    Pool<T> p;
    std::vector<T> numbers[3];
    *taken = windows_of<T>(args[0], args[1], args[2], args[3], nullptr, args[4], p) && count_elements(p, args[5], args[6], numbers);
    if (!*taken) return nullptr;
    PyObject* y = new_result(args[0], p.out, static_cast<int>(PyTuple_GET_SIZE(args[1])), type_of(args[0]));
    if (y == nullptr) return nullptr;
    p.x = data<T>(args[0]), p.y = data<T>(y);
    Unlocked unlocked(size_of(args[0]));
    loops_for<T>().means(p);
    return y;
}

// (x, kernel, stride, padding, out, with_padding, override)
PyObject* avg_pool(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("avg_pool", count, 7)) return nullptr;
    bool taken;
    PyObject* y = is_single(args[0]) ? means<float>(args, &taken) : means<double>(args, &taken);
    return taken ? y : call(avg_pool_twin, args, count);
}

template <class T>
PyObject* means_backward(PyObject* grad, PyObject* const* args, bool* taken) {
    *taken = false;
    if (!PyTuple_Check(args[1])) return nullptr;
    const int dims = static_cast<int>(PyTuple_GET_SIZE(args[1]));
    Size sizes[3];
    if (dims < 1 || dims > 3 || ndim_of(grad) < dims || !read_tuple(args[1], 1, sizes, dims)) return nullptr;
    Held y(new_result(grad, sizes, dims, type_of(grad)));
    if (y.get() == nullptr) {
        *taken = true;
        return nullptr;
    }
    Pool<T> p;
    std::vector<T> numbers[3];
    if (!windows_of<T>(y.get(), args[2], args[3], args[4], nullptr, args[5], p) || !count_elements(p, args[6], args[7], numbers) ||
        size_of(grad) != p.planes * p.out[0] * p.out[1] * p.out[2])
        return nullptr;
    *taken = true;
    p.grad = data<T>(grad), p.y = data<T>(y.get());
    bool done;
    {
        Unlocked unlocked(size_of(y.get()));
        done = loops_for<T>().means_backward(p);
    }
    return done ? y.release() : PyErr_NoMemory();
}

// (grad, size, kernel, stride, padding, out, with_padding, override)
PyObject* avg_pool_backward(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("avg_pool_backward", count, 8)) return nullptr;
    if (!is_float_array(args[0])) return call(avg_pool_backward_twin, args, count);
    Held grad(in_order(args[0]));
    if (grad.get() == nullptr) return nullptr;
    bool taken;
    PyObject* y = is_single(args[0]) ? means_backward<float>(grad.get(), args, &taken) : means_backward<double>(grad.get(), args, &taken);
    return taken ? y : call(avg_pool_backward_twin, args, count);
}

// ---------------------------------------------------------------- places
template <class T>
bool scatter(const T* grad, const npy_int64* places, Size rows, Size count, Size width, T* out) {
    std::memset(out, 0, sizeof(T) * rows * width);
    for (Size row = 0; row < rows; row++, grad += count, places += count, out += width)
        for (Size i = 0; i < count; i++) {
            if (places[i] < 0 || places[i] >= width) return false;
            out[places[i]] += grad[i];
        }
    return true;
}

// (grad, indices, size)
PyObject* scatter_places(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("scatter_places", count, 3)) return nullptr;
    PyObject *grad = args[0], *indices = args[1];
    Size sizes[3];
    const int dims = PyTuple_Check(args[2]) ? static_cast<int>(PyTuple_GET_SIZE(args[2])) : 0;
    if (!plain(grad) || dims < 1 || dims > 3 || ndim_of(grad) < dims || !read_tuple(args[2], 1, sizes, dims) || size_of(grad) == 0 ||
        !PyArray_CheckExact(indices) || type_of(indices) != NPY_INT64 || !PyArray_IS_C_CONTIGUOUS(as_array(indices)) ||
        !PyArray_ISALIGNED(as_array(indices)) || !PyArray_ISNOTSWAPPED(as_array(indices)) || !same_shape(grad, indices))
        return call(scatter_places_twin, args, count);
    Held y(new_result(grad, sizes, dims, type_of(grad)));
    if (y.get() == nullptr) return nullptr;
    Size rows = 1;
    for (int i = 0; i < ndim_of(grad) - dims; i++) rows *= dim_of(grad, i);
    const Size each = size_of(grad) / rows, width = sizes[0] * sizes[1] * sizes[2];
    bool inside;
    {
        Unlocked unlocked(size_of(grad));
        inside = is_single(grad) ? scatter(data<float>(grad), data<npy_int64>(indices), rows, each, width, data<float>(y.get()))
                                 : scatter(data<double>(grad), data<npy_int64>(indices), rows, each, width, data<double>(y.get()));
    }
    return inside ? y.release() : call(scatter_places_twin, args, count);
}

}  // namespace

PyMethodDef pool_methods[] = {FAST("max_pool", max_pool, "the largest value of each window"),
                              FAST("max_pool_indices", max_pool_indices, "where it is"),
                              FAST("max_pool_backward", max_pool_backward, "the gradient of max_pool"),
                              FAST("avg_pool", avg_pool, "the mean of each window"),
                              FAST("avg_pool_backward", avg_pool_backward, "the gradient of avg_pool"),
                              FAST("scatter_places", scatter_places, "zeros with numbers added at places of each plane"),
                              {nullptr, nullptr, 0, nullptr}};

const Twin pool_twins[] = {{"max_pool", &max_pool_twin},
                           {"max_pool_indices", &max_pool_indices_twin},
                           {"max_pool_backward", &max_pool_backward_twin},
                           {"avg_pool", &avg_pool_twin},
                           {"avg_pool_backward", &avg_pool_backward_twin},
                           {"scatter_places", &scatter_places_twin},
                           {nullptr, nullptr}};

}  // namespace native
