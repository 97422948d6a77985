// The loops that are compiled once for each instruction set; see loops.cpp.

#pragma once

#include <cstdint>

namespace native {

// Matrices are given as rows and columns, in C order.
template <class T>
struct LoopsOf {
    using Size = std::intptr_t;
    void (*softmax)(const T* x, T* out, Size rows, Size columns);
    void (*log_softmax)(const T* x, T* out, Size rows, Size columns);
    void (*softmax_backward)(const T* grad, const T* result, T* out, Size rows, Size columns);
    void (*log_softmax_backward)(const T* grad, const T* result, T* out, Size rows, Size columns);
    // weight and bias may be null
    void (*layer_norm)(const T* x, const T* weight, const T* bias, T eps, T* out, T* mean, T* rstd, Size rows, Size columns);
    // dx, dweight and dbias may be null; scratch has room for two rows if dweight or dbias is wanted
    void (*layer_norm_backward)(const T* grad, const T* x, const T* mean, const T* rstd, const T* weight, T* dx, T* dweight,
                                T* dbias, T* scratch, Size rows, Size columns);
    // out += a @ b for out [rows, columns], a with any strides (in elements) and b with contiguous rows
    void (*product)(const T* a, Size a_row, Size a_column, const T* b, Size b_row, T* out, Size rows, Size inner, Size columns);
};

struct Loops {
    LoopsOf<float> single;
    LoopsOf<double> wide;
};

const Loops& loops();  // those of the instruction set in use

template <class T>
const LoopsOf<T>& loops_of();
template <>
inline const LoopsOf<float>& loops_of<float>() {
    return loops().single;
}
template <>
inline const LoopsOf<double>& loops_of<double>() {
    return loops().wide;
}

}  // namespace native
