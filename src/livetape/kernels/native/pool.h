// Pooling over windows of the last three dimensions: the loops of pool_body.h.

#pragma once

#include <cstdint>

namespace native {

template <class T>
struct Pool {
    using Size = std::intptr_t;
    Size planes, in[3], out[3], kernel[3], stride[3], padding[3], dilation[3];
    const T *x, *grad;       // grad: in backward passes
    T* y;                    // the result: (planes, out), or (planes, in) in backward passes
    std::int64_t* places;    // of maxima
    const T* number[3];      // for means: how many elements count along each dimension, for each place of the result
};

template <class T>
struct PoolOf {
    void (*maxima)(const Pool<T>& p);
    void (*maxima_backward)(const Pool<T>& p);
    void (*maxima_places)(const Pool<T>& p);
    void (*means)(const Pool<T>& p);
    // false if there is no memory
    bool (*means_backward)(const Pool<T>& p);
};

struct PoolLoops {
    PoolOf<float> single;
    PoolOf<double> wide;
};

const PoolLoops& pool_loops();

}  // namespace native
