// Normalisation of channels and of groups of them: the loops of norm_body.h.

#pragma once

#include <cstdint>

namespace native {

// An input of shape (images, channels, places). What may be null says so.
template <class T>
struct BatchNorm {
    using Size = std::intptr_t;
    Size images, channels, places;
    const T *x, *grad;
    const T *weight, *bias;    // may be null
    T *mean, *scale;           // of each channel: in training they are written by the forward pass, else read
    T* variance;               // written if not null
    T *out, *dweight, *dbias;  // dweight and dbias may be null, and out in the backward pass
    double eps;
    bool training;
};

template <class T>
struct GroupNorm {
    using Size = std::intptr_t;
    Size images, channels, places, groups;
    const T *x, *grad;
    const T *weight, *bias;  // may be null
    T *mean, *rstd;          // of each image and group
    T* out;                  // may be null in the backward pass
    T *by_grad, *by_product; // sums for each image and channel, in the backward pass
    double eps;
};

template <class T>
struct NormOf {
    void (*batch)(const BatchNorm<T>& b);
    void (*batch_backward)(const BatchNorm<T>& b);
    void (*group)(const GroupNorm<T>& g);
    void (*group_backward)(const GroupNorm<T>& g);
};

struct NormLoops {
    NormOf<float> single;
    NormOf<double> wide;
};

const NormLoops& norm_loops();

}  // namespace native
