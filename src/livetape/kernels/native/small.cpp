// Small arrays: a NumPy call costs about ten times what the arithmetic on a few dozen elements does. These functions do the
// plain case themselves (float32 or float64, C order, one shape) and hand everything else to NumPy.
// Each has its twin in kernels/small.py.

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <numpy/arrayobject.h>

#include <cmath>
#include <cstring>

namespace {

constexpr npy_intp LIMIT = 2048;         // elements up to which the functions here are quicker than a ufunc
constexpr npy_intp SUM_LIMIT = 4096;     // likewise for full sums
constexpr npy_intp PRODUCT_LIMIT = 8192; // multiplications up to which a matrix product here is quicker than BLAS

PyObject* np_add;
PyObject* np_subtract;
PyObject* np_multiply;
PyObject* np_divide;
PyObject* np_negative;
PyObject* np_square;
PyObject* np_sqrt;
PyObject* add_reduce;
PyObject* axis_none;    // ("axis",) as keyword names
PyObject* array_dot;    // ndarray.dot
PyObject* relu_twin;    // given by kernels/small.py
PyObject* threshold_twin;

// Plain: exactly an ndarray of native floats in C order.
inline bool plain(PyObject* object) {
    if (!PyArray_CheckExact(object)) return false;
    auto* array = reinterpret_cast<PyArrayObject*>(object);
    int type = PyArray_TYPE(array);
    return (type == NPY_FLOAT || type == NPY_DOUBLE) && PyArray_IS_C_CONTIGUOUS(array) && PyArray_ISALIGNED(array) &&
           PyArray_ISNOTSWAPPED(array);
}

inline PyArrayObject* as_array(PyObject* object) { return reinterpret_cast<PyArrayObject*>(object); }

template <class T>
inline T* data(PyObject* array) {
    return static_cast<T*>(PyArray_DATA(as_array(array)));
}

inline PyObject* empty_like(PyArrayObject* array) {
    return PyArray_SimpleNew(PyArray_NDIM(array), PyArray_DIMS(array), PyArray_TYPE(array));
}

inline bool same_shape(PyArrayObject* a, PyArrayObject* b) {
    int n = PyArray_NDIM(a);
    if (n != PyArray_NDIM(b)) return false;
    for (int i = 0; i < n; i++)
        if (PyArray_DIM(a, i) != PyArray_DIM(b, i)) return false;
    return true;
}

// An ndarray also where NumPy gives a scalar.
PyObject* ensured(PyObject* result) {
    if (result == nullptr || PyArray_Check(result)) return result;
    PyObject* array = PyArray_FromAny(result, nullptr, 0, 0, 0, nullptr);
    Py_DECREF(result);
    return array;
}

PyObject* call(PyObject* function, PyObject* const* args, Py_ssize_t count) {
    return ensured(PyObject_Vectorcall(function, args, count, nullptr));
}

bool arguments(const char* name, Py_ssize_t count, Py_ssize_t expected) {
    if (count == expected) return true;
    PyErr_Format(PyExc_TypeError, "%s takes %zd arrays, got %zd", name, expected, count);
    return false;
}

// ---------------------------------------------------------------- two arguments
template <class T, class F>
void pairwise(PyObject* out, PyObject* a, PyObject* b, npy_intp step_a, npy_intp step_b, F f) {
    T* o = data<T>(out);
    const T *x = data<T>(a), *y = data<T>(b);
    npy_intp n = PyArray_SIZE(as_array(out));
    if (step_a && step_b) {
        for (npy_intp i = 0; i < n; i++) o[i] = f(x[i], y[i]);
    } else if (step_a) {
        T s = *y;
        for (npy_intp i = 0; i < n; i++) o[i] = f(x[i], s);
    } else {
        T s = *x;
        for (npy_intp i = 0; i < n; i++) o[i] = f(s, y[i]);
    }
}

template <class F>
PyObject* binary(const char* name, PyObject* ufunc, PyObject* const* args, Py_ssize_t count, F f) {
    if (!arguments(name, count, 2)) return nullptr;
    PyObject *a = args[0], *b = args[1];
    if (plain(a) && plain(b) && PyArray_TYPE(as_array(a)) == PyArray_TYPE(as_array(b))) {
        bool same = same_shape(as_array(a), as_array(b));
        bool scalar_b = !same && PyArray_NDIM(as_array(b)) == 0;
        bool scalar_a = !same && !scalar_b && PyArray_NDIM(as_array(a)) == 0;
        PyObject* large = scalar_a ? b : a;
        if ((same || scalar_a || scalar_b) && PyArray_SIZE(as_array(large)) <= LIMIT) {
            PyObject* out = empty_like(as_array(large));
            if (out == nullptr) return nullptr;
            if (PyArray_TYPE(as_array(a)) == NPY_FLOAT)
                pairwise<float>(out, a, b, !scalar_a, !scalar_b, f);
            else
                pairwise<double>(out, a, b, !scalar_a, !scalar_b, f);
            return out;
        }
    }
    return call(ufunc, args, count);
}

PyObject* add(PyObject*, PyObject* const* args, Py_ssize_t count) {
    return binary("add", np_add, args, count, [](auto x, auto y) { return x + y; });
}

PyObject* subtract(PyObject*, PyObject* const* args, Py_ssize_t count) {
    return binary("subtract", np_subtract, args, count, [](auto x, auto y) { return x - y; });
}

PyObject* multiply(PyObject*, PyObject* const* args, Py_ssize_t count) {
    return binary("multiply", np_multiply, args, count, [](auto x, auto y) { return x * y; });
}

PyObject* divide(PyObject*, PyObject* const* args, Py_ssize_t count) {
    return binary("divide", np_divide, args, count, [](auto x, auto y) { return x / y; });
}

// 0 where result <= 0, else grad
PyObject* relu_backward(PyObject*, PyObject* const* args, Py_ssize_t count) {
    return binary("relu_backward", threshold_twin, args, count, [](auto g, auto r) { return r <= 0 ? decltype(g)(0) : g; });
}

// ---------------------------------------------------------------- one argument
template <class T, class F>
void each(PyObject* out, PyObject* a, F f) {
    T* o = data<T>(out);
    const T* x = data<T>(a);
    npy_intp n = PyArray_SIZE(as_array(out));
    for (npy_intp i = 0; i < n; i++) o[i] = f(x[i]);
}

template <class F>
PyObject* unary(PyObject* twin, PyObject* a, F f) {
    if (plain(a) && PyArray_SIZE(as_array(a)) <= LIMIT) {
        PyObject* out = empty_like(as_array(a));
        if (out == nullptr) return nullptr;
        if (PyArray_TYPE(as_array(a)) == NPY_FLOAT)
            each<float>(out, a, f);
        else
            each<double>(out, a, f);
        return out;
    }
    return call(twin, &a, 1);
}

PyObject* negative(PyObject*, PyObject* a) {
    return unary(np_negative, a, [](auto x) { return -x; });
}

PyObject* square(PyObject*, PyObject* a) {
    return unary(np_square, a, [](auto x) { return x * x; });
}

PyObject* sqrt_(PyObject*, PyObject* a) {
    return unary(np_sqrt, a, [](auto x) { return std::sqrt(x); });
}

PyObject* relu(PyObject*, PyObject* a) {
    return unary(relu_twin, a, [](auto x) { return x > 0 ? x : (x == x ? decltype(x)(0) : x); });
}

// ---------------------------------------------------------------- sums
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

// The sum of all elements, as a 0-d array.
PyObject* sum_all(PyObject*, PyObject* a) {
    if (plain(a)) {
        npy_intp n = PyArray_SIZE(as_array(a));
        if (n > 0 && n <= SUM_LIMIT) {
            PyObject* out = PyArray_SimpleNew(0, nullptr, PyArray_TYPE(as_array(a)));
            if (out == nullptr) return nullptr;
            if (PyArray_TYPE(as_array(a)) == NPY_FLOAT)
                *data<float>(out) = pairwise_sum(data<float>(a), n);
            else
                *data<double>(out) = pairwise_sum(data<double>(a), n);
            return out;
        }
    }
    PyObject* args[] = {a, Py_None};
    return ensured(PyObject_Vectorcall(add_reduce, args, 1, axis_none));
}

template <class T>
void add_rows(PyObject* out, PyObject* a, npy_intp rows, npy_intp columns) {
    T* o = data<T>(out);
    const T* x = data<T>(a);
    for (npy_intp j = 0; j < columns; j++) o[j] = x[j];
    for (npy_intp i = 1; i < rows; i++)
        for (npy_intp j = 0; j < columns; j++) o[j] += x[i * columns + j];
}

// The sum over the first dimension of a matrix.
PyObject* sum_rows(PyObject*, PyObject* a) {
    if (plain(a) && PyArray_NDIM(as_array(a)) == 2 && PyArray_DIM(as_array(a), 0) > 0 &&
        PyArray_SIZE(as_array(a)) <= SUM_LIMIT) {
        npy_intp columns = PyArray_DIM(as_array(a), 1);
        PyObject* out = PyArray_SimpleNew(1, &columns, PyArray_TYPE(as_array(a)));
        if (out == nullptr) return nullptr;
        if (PyArray_TYPE(as_array(a)) == NPY_FLOAT)
            add_rows<float>(out, a, PyArray_DIM(as_array(a), 0), columns);
        else
            add_rows<double>(out, a, PyArray_DIM(as_array(a), 0), columns);
        return out;
    }
    return call(add_reduce, &a, 1);
}

// ---------------------------------------------------------------- matrix products
bool is_matrix(PyObject* object) {
    if (!PyArray_CheckExact(object)) return false;
    auto* array = as_array(object);
    int type = PyArray_TYPE(array);
    return (type == NPY_FLOAT || type == NPY_DOUBLE) && PyArray_NDIM(array) == 2 && PyArray_ISALIGNED(array) &&
           PyArray_ISNOTSWAPPED(array);
}

template <class T>
void multiply_into(T* o, PyArrayObject* a, PyArrayObject* b) {
    npy_intp n = PyArray_DIM(a, 0), k = PyArray_DIM(a, 1), m = PyArray_DIM(b, 1);  // adds to what ``o`` holds
    npy_intp ai = PyArray_STRIDE(a, 0), ak = PyArray_STRIDE(a, 1), bk = PyArray_STRIDE(b, 0), bj = PyArray_STRIDE(b, 1);
    const char *x = PyArray_BYTES(a), *y = PyArray_BYTES(b);
    for (npy_intp i = 0; i < n; i++) {
        T* row = o + i * m;
        for (npy_intp l = 0; l < k; l++) {
            T s = *reinterpret_cast<const T*>(x + i * ai + l * ak);
            const char* line = y + l * bk;
            if (bj == npy_intp(sizeof(T))) {
                const T* values = reinterpret_cast<const T*>(line);
                for (npy_intp j = 0; j < m; j++) row[j] += s * values[j];
            } else {
                for (npy_intp j = 0; j < m; j++) row[j] += s * *reinterpret_cast<const T*>(line + j * bj);
            }
        }
    }
}

bool small_product(PyObject* a, PyObject* b) {
    if (!is_matrix(a) || !is_matrix(b) || PyArray_TYPE(as_array(a)) != PyArray_TYPE(as_array(b))) return false;
    npy_intp k = PyArray_DIM(as_array(a), 1);
    if (k != PyArray_DIM(as_array(b), 0)) return false;
    return PyArray_DIM(as_array(a), 0) * k * PyArray_DIM(as_array(b), 1) <= PRODUCT_LIMIT;
}

// The product of two matrices.
PyObject* matmul(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("matmul", count, 2)) return nullptr;
    PyObject *a = args[0], *b = args[1];
    if (small_product(a, b)) {
        npy_intp dims[] = {PyArray_DIM(as_array(a), 0), PyArray_DIM(as_array(b), 1)};
        PyObject* out = PyArray_SimpleNew(2, dims, PyArray_TYPE(as_array(a)));
        if (out == nullptr) return nullptr;
        std::memset(PyArray_DATA(as_array(out)), 0, PyArray_NBYTES(as_array(out)));
        if (PyArray_TYPE(as_array(a)) == NPY_FLOAT)
            multiply_into(data<float>(out), as_array(a), as_array(b));
        else
            multiply_into(data<double>(out), as_array(a), as_array(b));
        return out;
    }
    return call(array_dot, args, count);
}

template <class T>
void fill_rows(PyObject* out, PyObject* bias, npy_intp rows, npy_intp columns) {
    T* o = data<T>(out);
    const T* x = data<T>(bias);
    for (npy_intp i = 0; i < rows; i++)
        for (npy_intp j = 0; j < columns; j++) o[i * columns + j] = x[j];
}

// bias + a @ b for a vector as the bias.
PyObject* affine(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("affine", count, 3)) return nullptr;
    PyObject *bias = args[0], *a = args[1], *b = args[2];
    if (small_product(a, b) && plain(bias) && PyArray_NDIM(as_array(bias)) == 1 &&
        PyArray_TYPE(as_array(bias)) == PyArray_TYPE(as_array(a)) &&
        PyArray_DIM(as_array(bias), 0) == PyArray_DIM(as_array(b), 1)) {
        npy_intp dims[] = {PyArray_DIM(as_array(a), 0), PyArray_DIM(as_array(b), 1)};
        PyObject* out = PyArray_SimpleNew(2, dims, PyArray_TYPE(as_array(a)));
        if (out == nullptr) return nullptr;
        if (PyArray_TYPE(as_array(a)) == NPY_FLOAT) {
            fill_rows<float>(out, bias, dims[0], dims[1]);
            multiply_into(data<float>(out), as_array(a), as_array(b));
        } else {
            fill_rows<double>(out, bias, dims[0], dims[1]);
            multiply_into(data<double>(out), as_array(a), as_array(b));
        }
        return out;
    }
    PyObject* out = call(array_dot, args + 1, 2);
    if (out == nullptr) return nullptr;
    PyObject* total = PyNumber_InPlaceAdd(out, bias);
    Py_DECREF(out);
    return total;
}

// ---------------------------------------------------------------- module
PyObject* set_twins(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("set_twins", count, 2)) return nullptr;
    Py_XSETREF(relu_twin, Py_NewRef(args[0]));
    Py_XSETREF(threshold_twin, Py_NewRef(args[1]));
    Py_RETURN_NONE;
}

#define FAST(name, function, doc) {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)), METH_FASTCALL, doc}

PyMethodDef methods[] = {
    FAST("add", add, "a + b"),
    FAST("subtract", subtract, "a - b"),
    FAST("multiply", multiply, "a * b"),
    FAST("divide", divide, "a / b"),
    FAST("relu_backward", relu_backward, "0 where result <= 0, else grad"),
    {"negative", negative, METH_O, "-a"},
    {"square", square, METH_O, "a * a"},
    {"sqrt", sqrt_, METH_O, "square root"},
    {"relu", relu, METH_O, "max(a, 0); NaN stays"},
    {"sum_all", sum_all, METH_O, "the sum of all elements, a 0-d array"},
    {"sum_rows", sum_rows, METH_O, "the sum over the first dimension"},
    FAST("matmul", matmul, "the product of two matrices"),
    FAST("affine", affine, "bias + a @ b"),
    FAST("set_twins", set_twins, "the NumPy twins of relu and relu_backward"),
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef module = {PyModuleDef_HEAD_INIT, "livetape.kernels._native", "Loops in C++ for where NumPy is slow.", -1, methods,
                      nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__native(void) {
    import_array();
    PyObject* numpy = PyImport_ImportModule("numpy");
    if (numpy == nullptr) return nullptr;
    struct {
        PyObject** place;
        const char* name;
    } wanted[] = {{&np_add, "add"},           {&np_subtract, "subtract"}, {&np_multiply, "multiply"}, {&np_divide, "true_divide"},
                  {&np_negative, "negative"}, {&np_square, "square"},     {&np_sqrt, "sqrt"}};
    for (auto& entry : wanted) {
        *entry.place = PyObject_GetAttrString(numpy, entry.name);
        if (*entry.place == nullptr) return nullptr;
    }
    add_reduce = PyObject_GetAttrString(np_add, "reduce");
    array_dot = PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyArray_Type), "dot");
    axis_none = Py_BuildValue("(s)", "axis");
    Py_DECREF(numpy);
    if (add_reduce == nullptr || array_dot == nullptr || axis_none == nullptr) return nullptr;
    return PyModule_Create(&module);
}
