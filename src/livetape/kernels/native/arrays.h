// References that are given back, copies in C order, and checks of arguments, for functions that make several arrays.

#pragma once

#include "common.h"

namespace native {

class Held {  // a reference of one's own
public:
    explicit Held(PyObject* object = nullptr) : object_(object) {}
    ~Held() { Py_XDECREF(object_); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    void take(PyObject* object) {
        Py_XDECREF(object_);
        object_ = object;
    }
    PyObject* get() const { return object_; }
    PyObject* release() {
        PyObject* object = object_;
        object_ = nullptr;
        return object;
    }

private:
    PyObject* object_;
};

// Exactly an ndarray of float32 or float64 in any layout.
inline bool is_float_array(PyObject* object) {
    return PyArray_CheckExact(object) && (type_of(object) == NPY_FLOAT || type_of(object) == NPY_DOUBLE);
}

// A new reference to an array with the same elements in C order.
inline PyObject* in_order(PyObject* array) {
    return PyArray_FROM_OF(array, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | NPY_ARRAY_NOTSWAPPED);
}

// None, or a plain array of the type of ``like`` with ``size`` elements.
inline bool none_or_fitting(PyObject* object, PyObject* like, npy_intp size) {
    return object == Py_None || (plain(object) && type_of(object) == type_of(like) && size_of(object) == size);
}

template <class T>
inline T* data_or_none(PyObject* object) {
    return object == Py_None ? nullptr : data<T>(object);
}

// In the place of a gradient that nobody wants.
inline PyObject* nothing() {
    npy_intp none = 0;
    return PyArray_SimpleNew(1, &none, NPY_FLOAT);
}

inline bool read_number(PyObject* object, double& number) {
    if (!PyFloat_Check(object) && !PyLong_Check(object)) return false;
    number = PyFloat_AsDouble(object);
    if (number != -1 || !PyErr_Occurred()) return true;
    PyErr_Clear();
    return false;
}

inline bool read_size(PyObject* object, npy_intp& size) {
    if (!PyLong_Check(object)) return false;
    size = PyLong_AsSsize_t(object);
    if (size != -1 || !PyErr_Occurred()) return true;
    PyErr_Clear();
    return false;
}

// The first of a list of truth values, such as the gradients that are wanted.
inline bool read_wanted(PyObject* object, bool* wanted, Py_ssize_t count) {
    if (!PyList_Check(object) || PyList_GET_SIZE(object) < count) return false;
    for (Py_ssize_t i = 0; i < count; i++) wanted[i] = PyList_GET_ITEM(object, i) == Py_True;
    return true;
}

}  // namespace native
