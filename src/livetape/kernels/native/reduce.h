// Sums, extremes and spread of the rows or columns of a matrix: the loops of reduce_body.h.

#pragma once

#include <cstdint>

namespace native {

constexpr std::intptr_t PIECE = 1 << 15;  // elements of a row that are taken at once
constexpr std::intptr_t STRIP = 512;      // columns

template <class T>
struct ReduceOf {
    using Size = std::intptr_t;
    using Rows = void (*)(const T* x, Size rows, Size columns, T* out);
    Rows sums, largest, smallest;  // NaN where a row has one
    // Of each row, or of each of up to STRIP columns: a number near the mean, how far the mean is from it (of their sum, digits
    // would be lost), and the sum of the squared distances from the mean.
    void (*row_spreads)(const T* x, Size rows, Size columns, double* near, double* apart, double* spread);
    void (*column_spreads)(const T* x, Size rows, Size step, Size columns, double* near, double* apart, double* spread);
};

struct ReduceLoops {
    ReduceOf<float> single;
    ReduceOf<double> wide;
};

const ReduceLoops& reduce_loops();

template <class T>
const ReduceOf<T>& reduce_loops_of();
template <>
inline const ReduceOf<float>& reduce_loops_of<float>() {
    return reduce_loops().single;
}
template <>
inline const ReduceOf<double>& reduce_loops_of<double>() {
    return reduce_loops().wide;
}

}  // namespace native
