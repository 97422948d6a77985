// Functions of each element that NumPy makes of several passes: sigmoid, silu, gelu and slopes.
// Each takes plain arrays (float32 or float64, C order) and hands everything else to its NumPy twin.

#include "common.h"

#include "loops.h"

namespace native {
namespace {

PyObject *sigmoid_twin, *sigmoid_backward_twin, *tanh_backward_twin, *silu_twin, *silu_backward_twin, *gelu_twin,
    *gelu_backward_twin;

template <class T>
using One = void (*)(const T*, T*, std::intptr_t);
template <class T>
using Two = void (*)(const T*, const T*, T*, std::intptr_t);

// ``wide`` may be null: then float64 is the twin's.
PyObject* one(PyObject* twin, PyObject* x, One<float> single, One<double> wide) {
    if (!plain(x) || (wide == nullptr && type_of(x) == NPY_DOUBLE)) return call(twin, &x, 1);
    PyObject* out = empty_like(x);
    if (out == nullptr) return nullptr;
    npy_intp n = size_of(x);
    Unlocked unlocked(n);
    if (type_of(x) == NPY_FLOAT)
        single(data<float>(x), data<float>(out), n);
    else
        wide(data<double>(x), data<double>(out), n);
    return out;
}

PyObject* two(const char* name, PyObject* twin, PyObject* const* args, Py_ssize_t count, Two<float> single, Two<double> wide) {
    if (!arguments(name, count, 2)) return nullptr;
    PyObject *grad = args[0], *x = args[1];
    if (!plain_alike(grad, x) || (wide == nullptr && type_of(x) == NPY_DOUBLE)) return call(twin, args, count);
    PyObject* out = empty_like(x);
    if (out == nullptr) return nullptr;
    npy_intp n = size_of(x);
    Unlocked unlocked(n);
    if (type_of(x) == NPY_FLOAT)
        single(data<float>(grad), data<float>(x), data<float>(out), n);
    else
        wide(data<double>(grad), data<double>(x), data<double>(out), n);
    return out;
}

PyObject* sigmoid(PyObject*, PyObject* x) {
    return one(sigmoid_twin, x, loops().single.sigmoid, loops().wide.sigmoid);
}

PyObject* sigmoid_backward(PyObject*, PyObject* const* args, Py_ssize_t count) {
    return two("sigmoid_backward", sigmoid_backward_twin, args, count, loops().single.sigmoid_backward,
               loops().wide.sigmoid_backward);
}

PyObject* tanh_backward(PyObject*, PyObject* const* args, Py_ssize_t count) {
    return two("tanh_backward", tanh_backward_twin, args, count, loops().single.tanh_backward, loops().wide.tanh_backward);
}

PyObject* silu(PyObject*, PyObject* x) { return one(silu_twin, x, loops().single.silu, loops().wide.silu); }

PyObject* silu_backward(PyObject*, PyObject* const* args, Py_ssize_t count) {
    return two("silu_backward", silu_backward_twin, args, count, loops().single.silu_backward, loops().wide.silu_backward);
}

PyObject* gelu(PyObject*, PyObject* x) { return one(gelu_twin, x, loops().gelu, nullptr); }

PyObject* gelu_backward(PyObject*, PyObject* const* args, Py_ssize_t count) {
    return two("gelu_backward", gelu_backward_twin, args, count, loops().gelu_backward, nullptr);
}

}  // namespace

PyMethodDef point_methods[] = {
    {"sigmoid", sigmoid, METH_O, "1 / (1 + exp(-x))"},
    FAST("sigmoid_backward", sigmoid_backward, "the gradient of sigmoid, from its result"),
    FAST("tanh_backward", tanh_backward, "the gradient of tanh, from its result"),
    {"silu", silu, METH_O, "x * sigmoid(x)"},
    FAST("silu_backward", silu_backward, "the gradient of silu"),
    {"gelu", gelu, METH_O, "x times the normal distribution's value at x"},
    FAST("gelu_backward", gelu_backward, "the gradient of gelu"),
    {nullptr, nullptr, 0, nullptr}};

const Twin point_twins[] = {{"sigmoid", &sigmoid_twin},
                            {"sigmoid_backward", &sigmoid_backward_twin},
                            {"tanh_backward", &tanh_backward_twin},
                            {"silu", &silu_twin},
                            {"silu_backward", &silu_backward_twin},
                            {"gelu", &gelu_twin},
                            {"gelu_backward", &gelu_backward_twin},
                            {nullptr, nullptr}};

}  // namespace native
