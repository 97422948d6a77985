// Sums and extremes of the rows of a matrix: the loops of reduce_body.h.

#pragma once

#include <cstdint>

namespace native {

template <class T>
struct ReduceOf {
    using Size = std::intptr_t;
    T (*sum)(const T* x, Size count);
    T (*largest)(const T* x, Size count);   // NaN if there is one
    T (*smallest)(const T* x, Size count);
};

struct ReduceLoops {
    ReduceOf<float> single;
    ReduceOf<double> wide;
};

const ReduceLoops& reduce_loops();

}  // namespace native
