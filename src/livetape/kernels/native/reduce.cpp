// Sums and extremes of rows, over threads. A long row is taken in pieces of a fixed length, so that the order of the additions
// does not depend on the number of threads. Plain matrices alone; the NumPy twins in kernels/reductions.py take the others.

#include "reduce.h"

#include "arrays.h"
#include "threads.h"

#define BODY "reduce_body.h"
#include "every_isa.h"

namespace native {

const ReduceLoops& reduce_loops() { return CHOSEN; }

namespace {

PyObject *row_sums_twin, *row_largest_twin, *row_smallest_twin;

template <class T>
using Loop = typename ReduceOf<T>::Rows ReduceOf<T>::*;

// The result of each row into ``out``; ``parts`` has room for those of all pieces, of which a row has ``pieces``.
template <class T>
void run(Loop<T> loop, const T* x, npy_intp rows, npy_intp columns, npy_intp pieces, T* parts, T* out) {
    const auto f = reduce_loops_of<T>().*loop;
    const npy_intp length = columns < PIECE ? columns : PIECE;
    parallel_for(rows * pieces, grain_for(length), [=](npy_intp begin, npy_intp end) {
        if (pieces == 1) return f(x + begin * columns, end - begin, columns, out + begin);
        for (npy_intp n = begin; n < end; n++) {
            const npy_intp start = n % pieces * PIECE, rest = columns - start;
            f(x + n / pieces * columns + start, 1, rest < PIECE ? rest : PIECE, parts + n);
        }
    });
    if (pieces > 1) f(parts, rows, pieces, out);
}

template <class T>
bool reduce(Loop<T> loop, PyObject* x, PyObject* out) {
    const npy_intp rows = dim_of(x, 0), columns = dim_of(x, 1), pieces = chunks_of(columns, PIECE);
    T* parts = data<T>(out);
    if (pieces > 1) parts = static_cast<T*>(PyMem_RawMalloc(sizeof(T) * static_cast<size_t>(rows * pieces)));
    if (parts == nullptr) return false;
    {
        Unlocked unlocked(rows * columns);
        run<T>(loop, data<T>(x), rows, columns, pieces, parts, data<T>(out));
    }
    if (pieces > 1) PyMem_RawFree(parts);
    return true;
}

PyObject* rows_of(PyObject* x, PyObject* twin, Loop<float> single, Loop<double> wide) {
    if (!plain(x) || ndim_of(x) != 2 || size_of(x) == 0) return call(twin, &x, 1);
    Held out(PyArray_SimpleNew(1, PyArray_DIMS(as_array(x)), type_of(x)));
    if (out.get() == nullptr) return nullptr;
    if (!(type_of(x) == NPY_FLOAT ? reduce<float>(single, x, out.get()) : reduce<double>(wide, x, out.get()))) return PyErr_NoMemory();
    return out.release();
}

PyObject* row_sums(PyObject*, PyObject* x) { return rows_of(x, row_sums_twin, &ReduceOf<float>::sums, &ReduceOf<double>::sums); }

PyObject* row_largest(PyObject*, PyObject* x) {
    return rows_of(x, row_largest_twin, &ReduceOf<float>::largest, &ReduceOf<double>::largest);
}

PyObject* row_smallest(PyObject*, PyObject* x) {
    return rows_of(x, row_smallest_twin, &ReduceOf<float>::smallest, &ReduceOf<double>::smallest);
}

}  // namespace

PyMethodDef reduce_methods[] = {{"row_sums", row_sums, METH_O, "the sum of each row of a matrix"},
                                {"row_largest", row_largest, METH_O, "the largest element of each row, NaN if it has one"},
                                {"row_smallest", row_smallest, METH_O, "the smallest element of each row, NaN if it has one"},
                                {nullptr, nullptr, 0, nullptr}};

const Twin reduce_twins[] = {{"row_sums", &row_sums_twin},
                             {"row_largest", &row_largest_twin},
                             {"row_smallest", &row_smallest_twin},
                             {nullptr, nullptr}};

}  // namespace native
