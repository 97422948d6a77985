// Updates of parameters in place, in one pass over memory: the optimisers' formulas, rounded as their NumPy twins in
// optim/_kernels.py round. Numbers come as 0-d arrays of the parameter's dtype, or None.

#include "common.h"

namespace native {
namespace {

PyObject *sgd_twin, *sgd_momentum_twin;

bool is_number(PyObject* object, PyObject* like) {
    return plain(object) && ndim_of(object) == 0 && type_of(object) == type_of(like);
}

bool none_or_number(PyObject* object, PyObject* like) { return object == Py_None || is_number(object, like); }

template <class T>
T number_or(PyObject* object, T otherwise) {
    return object == Py_None ? otherwise : *data<T>(object);
}

bool is_writable(PyObject* array) { return PyArray_ISWRITEABLE(as_array(array)); }

template <class T>
void step(PyObject* param, PyObject* grad, PyObject* rate_, PyObject* decay_) {
    T* p = data<T>(param);
    const T* g = data<T>(grad);
    const T rate = *data<T>(rate_), decay = number_or<T>(decay_, 0);
    const npy_intp n = size_of(param);
    Unlocked unlocked(n);
    if (decay_ == Py_None)
        for (npy_intp i = 0; i < n; i++) p[i] -= g[i] * rate;
    else
        for (npy_intp i = 0; i < n; i++) p[i] -= (p[i] * decay + g[i]) * rate;
}

// (param, grad, rate, decay): param -= rate * (grad + decay * param)
PyObject* sgd(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("sgd", count, 4)) return nullptr;
    PyObject* param = args[0];
    if (!plain_alike(param, args[1]) || !is_writable(param) || !is_number(args[2], param) || !none_or_number(args[3], param))
        return call(sgd_twin, args, count);
    if (type_of(param) == NPY_FLOAT)
        step<float>(param, args[1], args[2], args[3]);
    else
        step<double>(param, args[1], args[2], args[3]);
    Py_RETURN_NONE;
}

template <class T>
void momentum_step(PyObject* const* args, bool nesterov) {
    T *p = data<T>(args[0]), *b = data<T>(args[2]);
    const T* g = data<T>(args[1]);
    const T rate = *data<T>(args[3]), decay = number_or<T>(args[4], 0), momentum = *data<T>(args[5]), keep = number_or<T>(args[6], 1);
    const bool decays = args[4] != Py_None;
    const npy_intp n = size_of(args[0]);
    Unlocked unlocked(n);
    if (nesterov)
        for (npy_intp i = 0; i < n; i++) {
            T d = decays ? p[i] * decay + g[i] : g[i];
            b[i] = b[i] * momentum + d * keep;
            p[i] -= (b[i] * momentum + d) * rate;
        }
    else
        for (npy_intp i = 0; i < n; i++) {
            T d = decays ? p[i] * decay + g[i] : g[i];
            b[i] = b[i] * momentum + d * keep;
            p[i] -= b[i] * rate;
        }
}

// (param, grad, buffer, rate, decay, momentum, keep, nesterov)
PyObject* sgd_momentum(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("sgd_momentum", count, 8)) return nullptr;
    PyObject *param = args[0], *buffer = args[2];
    if (!plain_alike(param, args[1]) || !plain_alike(param, buffer) || !is_writable(param) || !is_writable(buffer) ||
        !is_number(args[3], param) || !none_or_number(args[4], param) || !is_number(args[5], param) ||
        !none_or_number(args[6], param) || !PyBool_Check(args[7]))
        return call(sgd_momentum_twin, args, count);
    if (type_of(param) == NPY_FLOAT)
        momentum_step<float>(args, args[7] == Py_True);
    else
        momentum_step<double>(args, args[7] == Py_True);
    Py_RETURN_NONE;
}

}  // namespace

PyMethodDef step_methods[] = {FAST("sgd", sgd, "a step down the gradient, in place"),
                              FAST("sgd_momentum", sgd_momentum, "a step with momentum, in place"),
                              {nullptr, nullptr, 0, nullptr}};

const Twin step_twins[] = {{"sgd", &sgd_twin}, {"sgd_momentum", &sgd_momentum_twin}, {nullptr, nullptr}};

}  // namespace native
