// The functions of elements.h for Python: name(array, ..., number, ...[, out]).
//
// Arrays in C order of one shape, single numbers, and rows or columns that are repeated go to the loops at once, large ones in
// parts over the threads. Other arrays of floats go there by NumPy's iterator, which knows about broadcasting, strides,
// overlaps and the order of a result's memory. Other types are the twins'.

#include "elements.h"

#include <cstring>

#include "buffers.h"
#include "common.h"
#include "threads.h"

#define BODY "elements_body.h"
#include "every_isa.h"

namespace native {

const Elements& elements() { return CHOSEN; }

namespace {

constexpr int MOST_INPUTS = 3, MOST_NUMBERS = 4;

struct Fact {
    const char* name;
    int inputs, numbers;
    npy_intp cost;
};
const Fact facts[] = {
#define X(name, inputs, numbers, cost, wide) {#name, inputs, numbers, cost},
    LIVETAPE_ELEMENTS(X)
#undef X
};

PyObject* twins[ELEMENTS];

template <class T>
ElementLoop<T> loop_of(int which);
template <>
ElementLoop<float> loop_of<float>(int which) {
    return elements().single[which];
}
template <>
ElementLoop<double> loop_of<double>(int which) {
    return elements().wide[which];
}

// One call: the arrays, and for each whether it moves with the result.
struct Call {
    int which;
    PyObject* arrays[MOST_INPUTS];
    double numbers[MOST_NUMBERS] = {};
    PyObject* out = nullptr;  // given
    unsigned still = 0;       // bits of the inputs that are single numbers
    // Where one input is a row or a column that is repeated: its number, else -1.
    int repeated = -1;
    bool is_row = false;
    npy_intp inner = 0;

    const Fact& fact() const { return facts[which]; }
};

// ---------------------------------------------------------------- arrays in C order
// b is a row of a: its shape is that of a's last dimensions.
bool is_row_of(PyObject* a, PyObject* b) {
    int first = 0, n = ndim_of(b), skipped;
    while (first < n && dim_of(b, first) == 1) first++;
    skipped = ndim_of(a) - (n - first);
    if (skipped < 0 || n > ndim_of(a)) return false;
    for (int i = first; i < n; i++)
        if (dim_of(b, i) != dim_of(a, skipped + i - first)) return false;
    return true;
}

// b is a column of a: of as many dimensions, and its last ones are 1.
bool is_column_of(PyObject* a, PyObject* b) {
    int n = ndim_of(a), last = n;
    if (ndim_of(b) != n) return false;
    while (last > 0 && dim_of(b, last - 1) == 1) last--;
    for (int i = 0; i < last; i++)
        if (dim_of(b, i) != dim_of(a, i)) return false;
    return true;
}

// One element in memory that stands for all, such as the gradient of a sum.
bool is_still(PyObject* object) {
    if (!PyArray_CheckExact(object) || !is_real(as_array(object)) || size_of(object) < 2) return false;
    for (int i = 0; i < ndim_of(object); i++)
        if (dim_of(object, i) > 1 && PyArray_STRIDE(as_array(object), i) != 0) return false;
    return true;
}

// Whether all arrays are plain, or still and of the same shape, and fit the largest plain one, ``like``; the shape of the
// result is then that one's.
bool classify(Call& call, PyObject*& like) {
    const int inputs = call.fact().inputs;
    unsigned still = 0;
    like = nullptr;
    for (int j = 0; j < inputs; j++) {
        PyObject* array = call.arrays[j];
        if (!plain(array)) {
            if (!is_still(array)) return false;
            still |= 1u << j;
        } else if (like == nullptr || ndim_of(array) > ndim_of(like) ||
                   (ndim_of(array) == ndim_of(like) && size_of(array) > size_of(like))) {
            like = array;
        }
        if (type_of(array) != type_of(call.arrays[0])) return false;
    }
    if (like == nullptr) return false;
    for (int j = 0; j < inputs; j++) {
        PyObject* array = call.arrays[j];
        if (still >> j & 1) {
            if (!same_shape(array, like)) return false;
            call.still |= 1u << j;
            continue;
        }
        if (array == like || same_shape(array, like)) continue;
        if (ndim_of(array) == 0) {
            call.still |= 1u << j;
            continue;
        }
        if (call.repeated >= 0 || size_of(array) == 0 || size_of(like) == 0) return false;
        if (is_row_of(like, array)) {
            call.is_row = true;
            call.inner = size_of(array);
        } else if (is_column_of(like, array)) {
            call.inner = size_of(like) / size_of(array);
        } else {
            return false;
        }
        call.repeated = j;
    }
    return true;
}

// Whether ``out`` may be written while the inputs are read: each is the same memory from the same start, or elsewhere.
bool is_apart(PyObject* out, PyObject* array) {
    const char *a = data<char>(out), *b = data<char>(array);
    return (a == b && same_shape(out, array)) || a + PyArray_NBYTES(as_array(out)) <= b || b + PyArray_NBYTES(as_array(array)) <= a;
}

bool can_write(const Call& call, PyObject* like) {
    if (!plain(call.out) || type_of(call.out) != type_of(like) || !PyArray_ISWRITEABLE(as_array(call.out)) ||
        !same_shape(call.out, like))
        return false;
    for (int j = 0; j < call.fact().inputs; j++)
        if (!is_apart(call.out, call.arrays[j])) return false;
    return true;
}

template <class T>
void fill(const Call& call, PyObject* out) {
    const ElementLoop<T> loop = loop_of<T>(call.which);
    const int inputs = call.fact().inputs;
    const npy_intp n = size_of(out);
    T numbers[MOST_NUMBERS];
    for (int j = 0; j < MOST_NUMBERS; j++) numbers[j] = T(call.numbers[j]);
    const T* in[MOST_INPUTS] = {};
    for (int j = 0; j < inputs; j++) in[j] = data<T>(call.arrays[j]);
    T* to = data<T>(out);
    Unlocked unlocked(n);
    if (call.repeated < 0) {
        const npy_intp grain = grain_for(call.fact().cost);
        if (n <= grain) return loop(in, call.still, to, n, numbers);
        return parallel_for(n, grain, [&](npy_intp begin, npy_intp end) {
            const T* from[MOST_INPUTS];
            for (int j = 0; j < inputs; j++) from[j] = in[j] + (call.still >> j & 1 ? 0 : begin);
            loop(from, call.still, to + begin, end - begin, numbers);
        });
    }
    const npy_intp inner = call.inner;
    parallel_for(n / inner, grain_for(call.fact().cost * inner), [&](npy_intp begin, npy_intp end) {
        for (npy_intp row = begin; row < end; row++) {
            const T* from[MOST_INPUTS];
            for (int j = 0; j < inputs; j++) from[j] = in[j] + (call.still >> j & 1 ? 0 : row * inner);
            from[call.repeated] = in[call.repeated] + (call.is_row ? 0 : row);
            loop(from, call.still | (call.is_row ? 0u : 1u << call.repeated), to + row * inner, inner, numbers);
        }
    });
}

// ---------------------------------------------------------------- arrays in other orders
template <class T>
void strided(const Call& call, char** pointers, const npy_intp* strides, npy_intp n) {
    constexpr npy_intp BLOCK = 512, item = sizeof(T);
    const ElementLoop<T> loop = loop_of<T>(call.which);
    const int inputs = call.fact().inputs;
    T numbers[MOST_NUMBERS], blocks[MOST_INPUTS][BLOCK], made[BLOCK];
    for (int j = 0; j < MOST_NUMBERS; j++) numbers[j] = T(call.numbers[j]);
    const T* in[MOST_INPUTS];
    unsigned still = 0;
    bool direct = strides[inputs] == item;
    for (int j = 0; j < inputs; j++) {
        in[j] = reinterpret_cast<const T*>(pointers[j]);
        if (strides[j] == 0) still |= 1u << j;
        direct = direct && (strides[j] == 0 || strides[j] == item);
    }
    if (direct) return loop(in, still, reinterpret_cast<T*>(pointers[inputs]), n, numbers);
    for (npy_intp start = 0; start < n; start += BLOCK) {
        const npy_intp count = n - start < BLOCK ? n - start : BLOCK;
        for (int j = 0; j < inputs; j++) {
            if (strides[j] == 0) continue;
            const char* from = pointers[j] + start * strides[j];
            for (npy_intp i = 0; i < count; i++) std::memcpy(&blocks[j][i], from + i * strides[j], item);
            in[j] = blocks[j];
        }
        loop(in, still, made, count, numbers);
        char* to = pointers[inputs] + start * strides[inputs];
        for (npy_intp i = 0; i < count; i++) std::memcpy(to + i * strides[inputs], &made[i], item);
    }
}

PyObject* iterate(const Call& call) {
    const int inputs = call.fact().inputs;
    PyArrayObject* operands[MOST_INPUTS + 1];
    npy_uint32 flags[MOST_INPUTS + 1];
    for (int j = 0; j < inputs; j++) {
        operands[j] = as_array(call.arrays[j]);
        flags[j] = NPY_ITER_READONLY | NPY_ITER_OVERLAP_ASSUME_ELEMENTWISE;
    }
    operands[inputs] = call.out == nullptr ? nullptr : as_array(call.out);
    flags[inputs] = NPY_ITER_WRITEONLY | NPY_ITER_ALLOCATE | NPY_ITER_NO_BROADCAST | NPY_ITER_OVERLAP_ASSUME_ELEMENTWISE;
    NpyIter* iterator = NpyIter_MultiNew(inputs + 1, operands, NPY_ITER_EXTERNAL_LOOP | NPY_ITER_ZEROSIZE_OK | NPY_ITER_COPY_IF_OVERLAP,
                                         NPY_KEEPORDER, NPY_NO_CASTING, flags, nullptr);
    if (iterator == nullptr) return nullptr;
    PyObject* out = call.out == nullptr ? reinterpret_cast<PyObject*>(NpyIter_GetOperandArray(iterator)[inputs]) : call.out;
    Py_INCREF(out);
    if (NpyIter_GetIterSize(iterator) > 0) {
        NpyIter_IterNextFunc* next = NpyIter_GetIterNext(iterator, nullptr);
        if (next == nullptr) {
            NpyIter_Deallocate(iterator);
            Py_DECREF(out);
            return nullptr;
        }
        char** pointers = NpyIter_GetDataPtrArray(iterator);
        const npy_intp *strides = NpyIter_GetInnerStrideArray(iterator), *count = NpyIter_GetInnerLoopSizePtr(iterator);
        const bool single = type_of(call.arrays[0]) == NPY_FLOAT;
        Unlocked unlocked(NpyIter_GetIterSize(iterator));
        do {
            if (single)
                strided<float>(call, pointers, strides, *count);
            else
                strided<double>(call, pointers, strides, *count);
        } while (next(iterator));
    }
    if (NpyIter_Deallocate(iterator) != NPY_SUCCEED) {
        Py_DECREF(out);
        return nullptr;
    }
    return out;
}

bool can_iterate(const Call& call) {
    const int type = PyArray_CheckExact(call.arrays[0]) ? type_of(call.arrays[0]) : NPY_OBJECT;
    for (int j = 0; j < call.fact().inputs; j++)
        if (!PyArray_CheckExact(call.arrays[j]) || !is_real(as_array(call.arrays[j])) || type_of(call.arrays[j]) != type) return false;
    return call.out == nullptr || (PyArray_CheckExact(call.out) && is_real(as_array(call.out)) && type_of(call.out) == type);
}

// ---------------------------------------------------------------- the function of each name
PyObject* run(PyObject* number, PyObject* const* args, Py_ssize_t count) {
    Call call;
    call.which = static_cast<int>(PyLong_AsLong(number));
    const Fact& fact = call.fact();
    const Py_ssize_t expected = fact.inputs + fact.numbers;
    if (count != expected + 1 && !arguments(fact.name, count, expected)) return nullptr;
    for (int j = 0; j < fact.inputs; j++) call.arrays[j] = args[j];
    if (count > expected) call.out = args[expected];
    bool good = true;
    for (int j = 0; j < fact.numbers && good; j++) {
        PyObject* value = args[fact.inputs + j];
        call.numbers[j] = PyFloat_CheckExact(value) ? PyFloat_AS_DOUBLE(value) : PyFloat_AsDouble(value);
        good = call.numbers[j] != -1.0 || PyErr_Occurred() == nullptr;
    }
    if (!good) PyErr_Clear();  // complex, perhaps: the twin knows
    PyObject* like;
    if (good && classify(call, like) && (type_of(like) == NPY_FLOAT || elements().wide[call.which] != nullptr) &&
        (call.out == nullptr || can_write(call, like))) {
        PyObject* out = call.out;
        if (out == nullptr) {
            want_buffers(static_cast<std::size_t>(PyArray_NBYTES(as_array(like))));
            out = empty_like(like);
            if (out == nullptr) return nullptr;
        } else {
            Py_INCREF(out);
        }
        if (type_of(like) == NPY_FLOAT)
            fill<float>(call, out);
        else
            fill<double>(call, out);
        return out;
    }
    if (good && can_iterate(call) && (type_of(call.arrays[0]) == NPY_FLOAT || elements().wide[call.which] != nullptr)) return iterate(call);
    PyObject* found = ensured(native::call(twins[call.which], args, expected));
    if (found == nullptr || call.out == nullptr) return found;
    const int failed = PyArray_CopyInto(as_array(call.out), as_array(found));
    Py_DECREF(found);
    return failed < 0 ? nullptr : Py_NewRef(call.out);
}

}  // namespace

const Twin element_twins[] = {
#define X(name, inputs, numbers, cost, wide) {#name, &twins[ELEMENT_##name]},
    LIVETAPE_ELEMENTS(X)
#undef X
    {nullptr, nullptr}};

bool add_elements(PyObject* module) {
    static PyMethodDef definitions[ELEMENTS];
    for (int i = 0; i < ELEMENTS; i++) {
        definitions[i] = FAST(facts[i].name, run, "a function of each element; see elements.h");
        PyObject* number = PyLong_FromLong(i);
        PyObject* function = number == nullptr ? nullptr : PyCFunction_New(&definitions[i], number);
        Py_XDECREF(number);
        if (function == nullptr || PyModule_AddObject(module, facts[i].name, function) < 0) {
            Py_XDECREF(function);
            return false;
        }
    }
    PyObject* names = PyTuple_New(ELEMENTS);
    for (int i = 0; i < ELEMENTS && names != nullptr; i++) {
        PyObject* name = PyUnicode_FromString(facts[i].name);
        if (name == nullptr)
            Py_CLEAR(names);
        else
            PyTuple_SET_ITEM(names, i, name);
    }
    if (names == nullptr || PyModule_AddObject(module, "elements", names) < 0) {
        Py_XDECREF(names);
        return false;
    }
    return true;
}

}  // namespace native
