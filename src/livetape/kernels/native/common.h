// What the functions of the module share: which arrays are plain, and how to hand the others to NumPy.

#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define PY_ARRAY_UNIQUE_SYMBOL livetape_native_array_api
#ifndef LIVETAPE_NATIVE_MODULE  // only module.cpp loads NumPy's functions
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#define FAST(name, function, doc) {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)), METH_FASTCALL, doc}

namespace native {

// A function that takes what its C++ counterpart does not; Python gives it by `set_twin`.
struct Twin {
    const char* name;  // nullptr ends a list
    PyObject** place;
};

// Each file's functions and twins, gathered by module.cpp.
extern PyMethodDef small_methods[], row_methods[], loss_methods[], step_methods[], draw_methods[];
extern const Twin small_twins[], row_twins[], loss_twins[], step_twins[], element_twins[];
extern PyMethodDef conv_methods[];
extern const Twin conv_twins[];
extern PyMethodDef norm_methods[];
extern const Twin norm_twins[];
extern PyMethodDef pool_methods[];
extern const Twin pool_twins[];
extern PyMethodDef rnn_methods[];
extern const Twin rnn_twins[];
extern PyMethodDef attention_methods[];
extern const Twin attention_twins[];
extern PyMethodDef reduce_methods[];
extern const Twin reduce_twins[];
extern PyMethodDef moment_methods[];
extern const Twin moment_twins[];
extern PyMethodDef stack_methods[];
extern const Twin stack_twins[];
extern PyMethodDef view_methods[];
extern const Twin view_twins[];
bool add_boundary(PyObject* module);  // the class Boundary
bool add_elements(PyObject* module);  // the functions of elements.h; false with an exception set
bool start_small();                  // takes what it needs of NumPy; false with an exception set

inline PyArrayObject* as_array(PyObject* object) { return reinterpret_cast<PyArrayObject*>(object); }

// Native floats in memory that can be read as it is.
inline bool is_real(PyArrayObject* array) {
    int type = PyArray_TYPE(array);
    return (type == NPY_FLOAT || type == NPY_DOUBLE) && PyArray_ISALIGNED(array) && PyArray_ISNOTSWAPPED(array);
}

// Plain: exactly an ndarray of native floats in C order.
inline bool plain(PyObject* object) {
    if (!PyArray_CheckExact(object)) return false;
    PyArrayObject* array = as_array(object);
    return is_real(array) && PyArray_IS_C_CONTIGUOUS(array);
}

template <class T>
inline T* data(PyObject* array) {
    return static_cast<T*>(PyArray_DATA(as_array(array)));
}

inline int type_of(PyObject* array) { return PyArray_TYPE(as_array(array)); }
inline int ndim_of(PyObject* array) { return PyArray_NDIM(as_array(array)); }
inline npy_intp size_of(PyObject* array) { return PyArray_SIZE(as_array(array)); }
inline npy_intp dim_of(PyObject* array, int axis) { return PyArray_DIM(as_array(array), axis); }

inline PyObject* empty_like(PyObject* array) {
    return PyArray_SimpleNew(ndim_of(array), PyArray_DIMS(as_array(array)), type_of(array));
}

inline bool same_shape(PyObject* a, PyObject* b) {
    int n = ndim_of(a);
    if (n != ndim_of(b)) return false;
    for (int i = 0; i < n; i++)
        if (dim_of(a, i) != dim_of(b, i)) return false;
    return true;
}

// Both plain, of one dtype and one shape.
inline bool plain_alike(PyObject* a, PyObject* b) {
    return plain(a) && plain(b) && type_of(a) == type_of(b) && same_shape(a, b);
}

// An ndarray also where NumPy gives a scalar.
inline PyObject* ensured(PyObject* result) {
    if (result == nullptr || PyArray_Check(result)) return result;
    PyObject* array = PyArray_FromAny(result, nullptr, 0, 0, 0, nullptr);
    Py_DECREF(result);
    return array;
}

inline PyObject* call(PyObject* function, PyObject* const* args, Py_ssize_t count) {
    if (function == nullptr) {
        PyErr_SetString(PyExc_RuntimeError, "a function without its twin");
        return nullptr;
    }
    return PyObject_Vectorcall(function, args, static_cast<size_t>(count), nullptr);
}

inline bool arguments(const char* name, Py_ssize_t count, Py_ssize_t expected) {
    if (count == expected) return true;
    PyErr_Format(PyExc_TypeError, "%s takes %zd arguments, got %zd", name, expected, count);
    return false;
}

// Lets other threads run during a long loop.
class Unlocked {
public:
    explicit Unlocked(npy_intp work) : state_(work > (1 << 15) ? PyEval_SaveThread() : nullptr) {}
    ~Unlocked() {
        if (state_ != nullptr) PyEval_RestoreThread(state_);
    }
    Unlocked(const Unlocked&) = delete;
    Unlocked& operator=(const Unlocked&) = delete;

private:
    PyThreadState* state_;
};

// NumPy's own order of additions, so that the results are the same to the bit.
template <class T>
T pairwise_sum(const T* x, npy_intp n) {
    if (n < 8) {
        T sum = T(-0.0);
        for (npy_intp i = 0; i < n; i++) sum += x[i];
        return sum;
    }
    if (n <= 128) {
        T r[8];
        for (int k = 0; k < 8; k++) r[k] = x[k];
        npy_intp i = 8;
        for (; i < n - (n % 8); i += 8)
            for (int k = 0; k < 8; k++) r[k] += x[i + k];
        T sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
        for (; i < n; i++) sum += x[i];
        return sum;
    }
    npy_intp half = n / 2;
    half -= half % 8;
    return pairwise_sum(x, half) + pairwise_sum(x + half, n - half);
}

}  // namespace native
