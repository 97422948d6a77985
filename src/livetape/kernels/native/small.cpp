// Sums and products of small arrays: a NumPy call costs about ten times what the arithmetic on a few dozen elements does. These
// functions do the plain case themselves (float32 or float64, C order) and hand everything else to NumPy.
// Each has its twin in kernels/small.py.

#include "common.h"

#include <cstring>

#include "loops.h"

namespace native {
namespace {

constexpr npy_intp SUM_LIMIT = 4096;     // elements up to which the functions here are quicker than a ufunc
constexpr npy_intp PRODUCT_LIMIT = 8192; // multiplications up to which a matrix product here is quicker than BLAS

PyObject* array_dot;  // ndarray.dot
PyObject *sum_all_twin, *sum_rows_twin, *matmul_nt_twin, *matmul_tn_twin;

// What NumPy makes of the arguments: an ndarray also where it gives a scalar.
PyObject* by_numpy(PyObject* function, PyObject* const* args, Py_ssize_t count) { return ensured(call(function, args, count)); }

// ---------------------------------------------------------------- sums
// The sum of all elements, as a 0-d array.
PyObject* sum_all(PyObject*, PyObject* a) {
    if (plain(a)) {
        npy_intp n = size_of(a);
        if (n > 0 && n <= SUM_LIMIT) {
            PyObject* out = PyArray_SimpleNew(0, nullptr, type_of(a));
            if (out == nullptr) return nullptr;
            if (type_of(a) == NPY_FLOAT)
                *data<float>(out) = pairwise_sum(data<float>(a), n);
            else
                *data<double>(out) = pairwise_sum(data<double>(a), n);
            return out;
        }
    }
    return by_numpy(sum_all_twin, &a, 1);
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
    if (plain(a) && ndim_of(a) == 2 && dim_of(a, 0) > 0 &&
        size_of(a) <= SUM_LIMIT) {
        npy_intp columns = dim_of(a, 1);
        PyObject* out = PyArray_SimpleNew(1, &columns, type_of(a));
        if (out == nullptr) return nullptr;
        if (type_of(a) == NPY_FLOAT)
            add_rows<float>(out, a, dim_of(a, 0), columns);
        else
            add_rows<double>(out, a, dim_of(a, 0), columns);
        return out;
    }
    return by_numpy(sum_rows_twin, &a, 1);
}

// ---------------------------------------------------------------- matrix products
// One side of a product: a matrix or its transpose, with strides in elements.
struct Side {
    PyArrayObject* array;
    npy_intp rows, columns, row, column;

    Side(PyObject* object, bool turned) : array(as_array(object)) {
        int first = turned ? 1 : 0, second = turned ? 0 : 1;
        npy_intp item = PyArray_ITEMSIZE(array);
        rows = PyArray_DIM(array, first);
        columns = PyArray_DIM(array, second);
        row = PyArray_STRIDE(array, first) / item;
        column = PyArray_STRIDE(array, second) / item;
    }
    template <class T>
    const T* data() const {
        return static_cast<const T*>(PyArray_DATA(array));
    }
};

bool is_matrix(PyObject* object) {
    if (!PyArray_CheckExact(object)) return false;
    PyArrayObject* array = as_array(object);
    if (!is_real(array) || PyArray_NDIM(array) != 2) return false;
    npy_intp item = PyArray_ITEMSIZE(array);
    return PyArray_STRIDE(array, 0) % item == 0 && PyArray_STRIDE(array, 1) % item == 0;
}

bool are_matrices(PyObject* a, PyObject* b) { return is_matrix(a) && is_matrix(b) && type_of(a) == type_of(b); }

bool is_small(const Side& a, const Side& b) {
    return a.columns == b.rows && b.rows * b.columns <= PRODUCT_LIMIT && a.rows * b.rows * b.columns <= PRODUCT_LIMIT;
}

// out += a @ b
template <class T>
void multiply_into(T* out, const Side& a, const Side& b) {
    const T* right = b.data<T>();
    npy_intp step = b.row;
    T turned[PRODUCT_LIMIT];
    if (b.column != 1 && b.columns > 1) {
        for (npy_intp i = 0; i < b.rows; i++)
            for (npy_intp j = 0; j < b.columns; j++) turned[i * b.columns + j] = right[i * b.row + j * b.column];
        right = turned;
        step = b.columns;
    }
    loops_of<T>().product(a.data<T>(), a.row, a.column, right, step, out, a.rows, a.columns, b.columns);
}

template <class T>
void start_rows(T* out, PyObject* bias, npy_intp rows, npy_intp columns) {
    if (bias == nullptr) {
        std::memset(out, 0, sizeof(T) * static_cast<size_t>(rows * columns));
        return;
    }
    const T* x = data<T>(bias);
    for (npy_intp i = 0; i < rows; i++)
        for (npy_intp j = 0; j < columns; j++) out[i * columns + j] = x[j];
}

// a @ b, plus a vector ``bias`` unless that is null
PyObject* product(const Side& a, const Side& b, PyObject* bias) {
    npy_intp dims[] = {a.rows, b.columns};
    PyObject* out = PyArray_SimpleNew(2, dims, PyArray_TYPE(a.array));
    if (out == nullptr) return nullptr;
    if (PyArray_TYPE(a.array) == NPY_FLOAT) {
        start_rows(data<float>(out), bias, dims[0], dims[1]);
        multiply_into(data<float>(out), a, b);
    } else {
        start_rows(data<double>(out), bias, dims[0], dims[1]);
        multiply_into(data<double>(out), a, b);
    }
    return out;
}

// The product of two matrices.
PyObject* matmul(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("matmul", count, 2)) return nullptr;
    if (are_matrices(args[0], args[1])) {
        Side a(args[0], false), b(args[1], false);
        if (is_small(a, b)) return product(a, b, nullptr);
    }
    return by_numpy(array_dot, args, count);
}

// The product of two matrices of which one is to be transposed, number ``turned`` of the two.
PyObject* turned_product(PyObject* const* args, int turned, PyObject* twin) {
    if (!are_matrices(args[0], args[1])) return by_numpy(twin, args, 2);
    Side a(args[0], turned == 0), b(args[1], turned == 1);
    if (is_small(a, b)) return product(a, b, nullptr);
    PyObject* sides[] = {args[0], args[1]};
    PyObject* view = sides[turned] = PyArray_Transpose(as_array(args[turned]), nullptr);
    if (view == nullptr) return nullptr;
    PyObject* out = by_numpy(array_dot, sides, 2);
    Py_DECREF(view);
    return out;
}

PyObject* matmul_nt(PyObject*, PyObject* const* args, Py_ssize_t count) {
    return arguments("matmul_nt", count, 2) ? turned_product(args, 1, matmul_nt_twin) : nullptr;
}

PyObject* matmul_tn(PyObject*, PyObject* const* args, Py_ssize_t count) {
    return arguments("matmul_tn", count, 2) ? turned_product(args, 0, matmul_tn_twin) : nullptr;
}

// bias + a @ b for a vector as the bias.
PyObject* affine(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("affine", count, 3)) return nullptr;
    PyObject* bias = args[0];
    if (are_matrices(args[1], args[2]) && plain(bias) && ndim_of(bias) == 1 && type_of(bias) == type_of(args[1])) {
        Side a(args[1], false), b(args[2], false);
        if (dim_of(bias, 0) == b.columns && is_small(a, b)) return product(a, b, bias);
    }
    PyObject* out = by_numpy(array_dot, args + 1, 2);
    if (out == nullptr) return nullptr;
    PyObject* total = PyNumber_InPlaceAdd(out, bias);
    Py_DECREF(out);
    return total;
}

}  // namespace

PyMethodDef small_methods[] = {
    {"sum_all", sum_all, METH_O, "the sum of all elements, a 0-d array"},
    {"sum_rows", sum_rows, METH_O, "the sum over the first dimension"},
    FAST("matmul", matmul, "the product of two matrices"),
    FAST("matmul_nt", matmul_nt, "the product of a matrix and a transposed one"),
    FAST("matmul_tn", matmul_tn, "the product of a transposed matrix and another"),
    FAST("affine", affine, "bias + a @ b"),
    {nullptr, nullptr, 0, nullptr}};

const Twin small_twins[] = {{"sum_all", &sum_all_twin},
                            {"sum_rows", &sum_rows_twin},
                            {"matmul_nt", &matmul_nt_twin},
                            {"matmul_tn", &matmul_tn_twin},
                            {nullptr, nullptr}};

bool start_small() {
    array_dot = PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyArray_Type), "dot");
    return array_dot != nullptr;
}

}  // namespace native
