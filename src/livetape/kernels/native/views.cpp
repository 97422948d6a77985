// Views of small arrays, where NumPy's reading of the arguments costs more than the view. The twin is in kernels/views.py.

#include "common.h"

namespace native {
namespace {

PyObject* reshaped_twin;
PyObject* viewed_twin;
PyObject* expanded_twin;

// Reads sizes, one of which may be -1, for ``total`` elements; false where they need a closer look.
bool read_sizes(PyObject* sizes, npy_intp total, npy_intp* dims, int* count) {
    Py_ssize_t n = PySequence_Fast_GET_SIZE(sizes);
    if (n > NPY_MAXDIMS) return false;
    PyObject** items = PySequence_Fast_ITEMS(sizes);
    npy_intp known = 1;
    Py_ssize_t unknown = -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (!PyLong_CheckExact(items[i])) return false;
        int overflow;
        long long size = PyLong_AsLongLongAndOverflow(items[i], &overflow);
        if (overflow != 0 || size < -1 || size > total) return false;
        if (size == -1) {
            if (unknown >= 0) return false;
            unknown = i;
        } else {
            if (size != 0 && known > total / size) return false;
            known *= size;
        }
        dims[i] = size;
    }
    if (unknown >= 0) {
        if (known == 0 || total % known != 0) return false;
        dims[unknown] = total / known;
    } else if (known != total) {
        return false;
    }
    *count = static_cast<int>(n);
    return true;
}

// The elements of an array in another shape, with these strides or, where null, those of the usual order.
PyObject* view_of(PyArrayObject* array, int ndim, npy_intp* dims, npy_intp* strides) {
    PyArray_Descr* kind = PyArray_DESCR(array);
    Py_INCREF(kind);
    PyObject* view = PyArray_NewFromDescr(&PyArray_Type, kind, ndim, dims, strides, PyArray_DATA(array),
                                          PyArray_FLAGS(array) & NPY_ARRAY_WRITEABLE, nullptr);
    PyObject* base = reinterpret_cast<PyObject*>(array);
    if (view != nullptr && PyArray_SetBaseObject(as_array(view), Py_NewRef(base)) < 0) Py_CLEAR(view);
    return view;
}

// A view of a contiguous array in the shape that numbers, or one sequence of them, ask for; null where the sizes need a
// closer look, with an exception set if it failed.
PyObject* quick_view(PyObject* value, PyObject* sizes) {
    if (!PyArray_CheckExact(value) || !PyArray_IS_C_CONTIGUOUS(as_array(value)) || !PyTuple_Check(sizes)) return nullptr;
    if (PyTuple_GET_SIZE(sizes) == 1) {
        PyObject* first = PyTuple_GET_ITEM(sizes, 0);
        if (PyTuple_Check(first) || PyList_CheckExact(first)) sizes = first;
    }
    PyArrayObject* array = as_array(value);
    npy_intp dims[NPY_MAXDIMS];
    int ndim;
    if (!read_sizes(sizes, PyArray_SIZE(array), dims, &ndim)) return nullptr;
    return view_of(array, ndim, dims, nullptr);
}

// A view in another shape: reshaped(array, (2, -1)) or reshaped(array, ((2, -1),)); None where there is none.
PyObject* reshaped(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("reshaped", count, 2)) return nullptr;
    PyObject* view = quick_view(args[0], args[1]);
    return view != nullptr || PyErr_Occurred() ? view : call(reshaped_twin, args, count);
}

// The same for contiguous arrays and at least one size; None for others.
PyObject* viewed(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("viewed", count, 2)) return nullptr;
    if (PyTuple_Check(args[1]) && PyTuple_GET_SIZE(args[1]) == 0) Py_RETURN_NONE;
    PyObject* view = quick_view(args[0], args[1]);
    return view != nullptr || PyErr_Occurred() ? view : call(viewed_twin, args, count);
}

// Strides, in bytes, with which a contiguous array is read in the larger shape ``sizes``; false where they need a closer
// look. A dimension of one element that is new keeps the place it would have in memory, as in torch.
bool read_expansion(PyArrayObject* array, PyObject* sizes, npy_intp* dims, npy_intp* strides) {
    const int ndim = static_cast<int>(PyTuple_GET_SIZE(sizes));
    const int extra = ndim - PyArray_NDIM(array);
    if (extra < 0 || ndim > NPY_MAXDIMS) return false;
    for (int i = ndim - 1; i >= 0; i--) {
        PyObject* item = PyTuple_GET_ITEM(sizes, i);
        if (!PyLong_CheckExact(item)) return false;
        int overflow;
        const long long size = PyLong_AsLongLongAndOverflow(item, &overflow);
        if (overflow != 0 || size < 1) return false;
        dims[i] = static_cast<npy_intp>(size);
        if (i >= extra) {
            const npy_intp n = PyArray_DIM(array, i - extra);
            if (n != dims[i] && n != 1) return false;
            strides[i] = n == dims[i] ? PyArray_STRIDE(array, i - extra) : 0;
        } else {
            strides[i] = dims[i] == 1 && PyArray_NDIM(array) > 0 ? strides[i + 1] * dims[i + 1] : 0;
        }
    }
    return true;
}

// expanded(array, size): the array broadcast, without a copy.
PyObject* expanded(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("expanded", count, 2)) return nullptr;
    npy_intp dims[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    if (!PyArray_CheckExact(args[0]) || !PyArray_IS_C_CONTIGUOUS(as_array(args[0])) || !PyTuple_Check(args[1]) ||
        !read_expansion(as_array(args[0]), args[1], dims, strides))
        return call(expanded_twin, args, count);
    return view_of(as_array(args[0]), static_cast<int>(PyTuple_GET_SIZE(args[1])), dims, strides);
}

}  // namespace

PyMethodDef view_methods[] = {FAST("expanded", expanded, "an array broadcast to a larger shape, without a copy"),
                              FAST("reshaped", reshaped, "a view in another shape, None where there is none"),
                              FAST("viewed", viewed, "the same for contiguous arrays alone"),
                              {nullptr, nullptr, 0, nullptr}};

const Twin view_twins[] = {{"expanded", &expanded_twin}, {"reshaped", &reshaped_twin}, {"viewed", &viewed_twin}, {nullptr, nullptr}};

}  // namespace native
