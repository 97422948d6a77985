// Equal arrays put together along a new first dimension: NumPy looks at each four times, with a view of it made. The twin
// is in kernels/joining.py.

#include "common.h"

#include <cstring>

#include "buffers.h"

namespace native {
namespace {

PyObject* stacked_twin;

constexpr Py_ssize_t AHEAD = 16;  // arrays made one by one lie all over the memory: they are fetched this much earlier

// Whether ``value`` is an array like the first one, whose memory can be copied as it is.
bool is_like(PyObject* value, PyObject* first) {
    return PyArray_CheckExact(value) && PyArray_DESCR(as_array(value)) == PyArray_DESCR(as_array(first)) &&
           PyArray_IS_C_CONTIGUOUS(as_array(value)) && same_shape(value, first);
}

// stacked(list of arrays)
PyObject* stacked(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("stacked", count, 1)) return nullptr;
    PyObject* list = args[0];
    if (!PyList_CheckExact(list) || PyList_GET_SIZE(list) == 0) return call(stacked_twin, args, count);
    const Py_ssize_t n = PyList_GET_SIZE(list);
    PyObject* first = PyList_GET_ITEM(list, 0);
    if (!PyArray_CheckExact(first) || ndim_of(first) >= NPY_MAXDIMS || !PyArray_ISNOTSWAPPED(as_array(first)) ||
        PyArray_HASFIELDS(as_array(first)) ||
        PyDataType_REFCHK(PyArray_DESCR(as_array(first))))
        return call(stacked_twin, args, count);
    for (Py_ssize_t i = 0; i < n; i++) {
#if defined(__GNUC__)
        if (i + AHEAD < n) __builtin_prefetch(PyList_GET_ITEM(list, i + AHEAD));
#endif
        if (!is_like(PyList_GET_ITEM(list, i), first)) return call(stacked_twin, args, count);
    }
    npy_intp shape[NPY_MAXDIMS];
    shape[0] = n;
    for (int d = 0; d < ndim_of(first); d++) shape[d + 1] = dim_of(first, d);
    const std::size_t bytes = static_cast<std::size_t>(PyArray_NBYTES(as_array(first)));
    want_buffers(bytes * static_cast<std::size_t>(n));
    PyArray_Descr* kind = PyArray_DESCR(as_array(first));
    Py_INCREF(kind);
    PyObject* out = PyArray_NewFromDescr(&PyArray_Type, kind, ndim_of(first) + 1, shape, nullptr, nullptr, 0, nullptr);
    if (out == nullptr) return nullptr;
    char* to = data<char>(out);
    for (Py_ssize_t i = 0; i < n; i++, to += bytes) {
#if defined(__GNUC__)
        if (i + AHEAD < n) __builtin_prefetch(PyArray_DATA(as_array(PyList_GET_ITEM(list, i + AHEAD))));
#endif
        std::memcpy(to, PyArray_DATA(as_array(PyList_GET_ITEM(list, i))), bytes);
    }
    return out;
}

}  // namespace

PyMethodDef stack_methods[] = {FAST("stacked", stacked, "arrays along a new first dimension"), {nullptr, nullptr, 0, nullptr}};

const Twin stack_twins[] = {{"stacked", &stacked_twin}, {nullptr, nullptr}};

}  // namespace native
