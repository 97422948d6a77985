// Scaled dot-product attention, forward and backward, on arrays (N, heads, rows, width) of float32 or float64 with
// contiguous rows; all else is handed to the NumPy twins in kernels/attention.py.

#include <atomic>

#include "arrays.h"
#include "attention.h"
#include "threads.h"

#define BODY "attention_body.h"
#include "every_isa.h"

namespace native {

const AttentionLoops& attention_loops() { return CHOSEN; }

namespace {

PyObject *attention_twin, *attention_backward_twin;

template <class T>
const AttentionOf<T>& loops_for();
template <>
const AttentionOf<float>& loops_for<float>() {
    return attention_loops().single;
}
template <>
const AttentionOf<double>& loops_for<double>() {
    return attention_loops().wide;
}

// (N, heads, rows, width) of the type of ``like``, with contiguous rows.
bool is_heads(PyObject* object, PyObject* like) {
    if (!is_float_array(object) || type_of(object) != type_of(like) || ndim_of(object) != 4 || !is_real(as_array(object)) ||
        size_of(object) == 0)
        return false;
    const npy_intp item = PyArray_ITEMSIZE(as_array(object));
    for (int i = 0; i < 3; i++)
        if (PyArray_STRIDE(as_array(object), i) % item != 0) return false;
    return dim_of(object, 3) == 1 || PyArray_STRIDE(as_array(object), 3) == item;
}

bool agree(PyObject* a, PyObject* b, int first, int last) {
    for (int i = first; i <= last; i++)
        if (dim_of(a, i) != dim_of(b, i)) return false;
    return true;
}

template <class T>
Heads<T> heads_of(PyObject* array) {
    const npy_intp item = PyArray_ITEMSIZE(as_array(array));
    const npy_intp* steps = PyArray_STRIDES(as_array(array));
    return {data<std::remove_const_t<T>>(array), steps[0] / item, steps[1] / item, steps[2] / item};
}

// A new array of the shape of ``like``; its heads lie inside of its rows if they do so there.
PyObject* new_heads(PyObject* like) {
    const npy_intp* steps = PyArray_STRIDES(as_array(like));
    if (dim_of(like, 1) == 1 || dim_of(like, 2) == 1 || steps[1] >= steps[2]) return empty_like(like);
    npy_intp shape[] = {dim_of(like, 0), dim_of(like, 2), dim_of(like, 1), dim_of(like, 3)};
    Held base(PyArray_SimpleNew(4, shape, type_of(like)));
    if (base.get() == nullptr) return nullptr;
    return PyArray_SwapAxes(as_array(base.get()), 1, 2);
}

// The arguments that both passes share; false if they are the twin's.
template <class T>
bool read_attention(PyObject* q, PyObject* k, PyObject* v, PyObject* mask, PyObject* causal, PyObject* scale, Attention<T>& a) {
    double factor;
    if (!is_heads(q, q) || !is_heads(k, q) || !is_heads(v, q) || !agree(q, k, 0, 1) || !agree(k, v, 0, 2) || !agree(q, k, 3, 3) ||
        !agree(q, v, 3, 3) || !PyBool_Check(causal) || !read_number(scale, factor))
        return false;
    a = {};
    a.batch = dim_of(q, 0), a.heads = dim_of(q, 1), a.queries = dim_of(q, 2), a.keys = dim_of(k, 2), a.width = dim_of(q, 3);
    a.q = heads_of<const T>(q), a.k = heads_of<const T>(k), a.v = heads_of<const T>(v);
    a.scale = T(factor), a.causal = causal == Py_True;
    if (mask == Py_None) return true;
    if (!PyArray_CheckExact(mask)) return false;
    const int dims = ndim_of(mask), type = type_of(mask);
    const npy_intp item = PyArray_ITEMSIZE(as_array(mask)), wanted[] = {a.batch, a.heads, a.queries, a.keys};
    if ((type != NPY_BOOL && type != type_of(q)) || dims < 2 || dims > 4 || !PyArray_ISALIGNED(as_array(mask)) ||
        !PyArray_ISNOTSWAPPED(as_array(mask)))
        return false;
    std::intptr_t* const steps[] = {&a.mask_batch, &a.mask_head, &a.mask_row, &a.mask_column};
    for (int i = 4 - dims; i < 4; i++) {
        const npy_intp size = dim_of(mask, i - 4 + dims), step = PyArray_STRIDE(as_array(mask), i - 4 + dims);
        if ((size != 1 && size != wanted[i]) || step % item != 0) return false;
        *steps[i] = size == 1 ? 0 : step / item;
    }
    a.mask = type == NPY_BOOL ? Mask::BOOL : Mask::ADDED;
    a.mask_data = PyArray_DATA(as_array(mask));
    return true;
}

bool is_single(PyObject* array) { return PyArray_CheckExact(array) && type_of(array) == NPY_FLOAT; }

template <class T>
PyObject* forward(PyObject* const* args, bool* taken) {
    Attention<T> a;
    *taken = read_attention<T>(args[0], args[1], args[2], args[3], args[4], args[5], a);
    if (!*taken) return nullptr;
    npy_intp shape[] = {a.batch, a.heads, a.queries};
    Held out(new_heads(args[0])), logs(PyArray_SimpleNew(3, shape, type_of(args[0])));
    if (!out.get() || !logs.get()) return nullptr;
    a.out = heads_of<T>(out.get()), a.logs = data<T>(logs.get());
    bool done;
    {
        Unlocked unlocked(1 << 20);
        done = loops_for<T>().forward(a);
    }
    return done ? Py_BuildValue("(NN)", out.release(), logs.release()) : PyErr_NoMemory();
}

// (query, key, value, mask, causal, scale) -> (result, logarithms of the sums)
PyObject* attention(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("attention", count, 6)) return nullptr;
    bool taken;
    PyObject* found = is_single(args[0]) ? forward<float>(args, &taken) : forward<double>(args, &taken);
    return taken ? found : call(attention_twin, args, count);
}

template <class T>
PyObject* backward(PyObject* const* args, bool* taken) {
    PyObject *grad = args[0], *q = args[1], *result = args[4], *logs = args[5];
    Attention<T> a;
    *taken = read_attention<T>(q, args[2], args[3], args[6], args[7], args[8], a) && is_float_array(grad) &&
             type_of(grad) == type_of(q) && ndim_of(grad) == 4 && agree(grad, q, 0, 3) && is_heads(result, q) && agree(result, q, 0, 3) &&
             plain(logs) && type_of(logs) == type_of(q) && size_of(logs) == a.batch * a.heads * a.queries;
    if (!*taken) return nullptr;
    Held gradient(is_heads(grad, q) ? Py_NewRef(grad) : in_order(grad));
    Held dq(new_heads(q)), dk(new_heads(args[2])), dv(new_heads(args[3]));
    if (!gradient.get() || !dq.get() || !dk.get() || !dv.get()) return nullptr;
    a.grad = heads_of<const T>(gradient.get()), a.result = heads_of<const T>(result), a.logs = data<T>(logs);
    a.dq = heads_of<T>(dq.get()), a.dk = heads_of<T>(dk.get()), a.dv = heads_of<T>(dv.get());
    bool done;
    {
        Unlocked unlocked(1 << 20);
        done = loops_for<T>().backward(a);
    }
    return done ? Py_BuildValue("(NNN)", dq.release(), dk.release(), dv.release()) : PyErr_NoMemory();
}

// (grad, query, key, value, result, logarithms of the sums, mask, causal, scale) -> gradients of query, key and value
PyObject* attention_backward(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("attention_backward", count, 9)) return nullptr;
    bool taken;
    PyObject* found = is_single(args[1]) ? backward<float>(args, &taken) : backward<double>(args, &taken);
    return taken ? found : call(attention_backward_twin, args, count);
}

}  // namespace

PyMethodDef attention_methods[] = {FAST("attention", attention, "softmax(query key^T) value, in tiles"),
                                   FAST("attention_backward", attention_backward, "its gradients"),
                                   {nullptr, nullptr, 0, nullptr}};

const Twin attention_twins[] = {{"attention", &attention_twin}, {"attention_backward", &attention_backward_twin}, {nullptr, nullptr}};

}  // namespace native
