// Convolutions of images in memory as torch has it, (N, C, depth, height, width): the loops of conv_body.h and its like.

#pragma once

#include <cstdint>

namespace native {

// One dimension of a convolution: output place i meets the input at i * step + offset[t] for each tap t. This also describes
// the transpose of a convolution, where the places that are equal modulo the stride make a convolution of their own.
struct Taps {
    using Size = std::intptr_t;
    Size count;           // of taps, at least 1
    const Size* index;    // of each tap in the kernel
    const Size* offset;   // ascending
    Size step, input, output;
    Size start, stride, length;  // output place i is element start + i * stride of ``length`` in the result

    Size span() const { return offset[count - 1] - offset[0] + 1; }
    bool adjacent() const { return span() == count; }
};

template <class T>
struct Conv {
    using Size = std::intptr_t;
    Size images, groups, inner, outer;  // channels of a group: those summed over, and those of the result
    Taps taps[3];
    const T* x;
    const T* weight;  // a group's kernels: ``outer_step`` and ``inner_step`` apart for each channel
    Size outer_step, inner_step, kernel[3];
    const T* bias;    // may be null
    T* out;
    bool winograd;    // whether quicker, less exact sums are allowed
};

// The gradient of the weight, (groups * outer, inner, kernel): the taps are those of the convolution, each kernel's in order.
template <class T>
struct WeightGradient {
    using Size = std::intptr_t;
    Size images, groups, inner, outer;
    Taps taps[3];
    const T* x;
    const T* grad;
    T* out;
    bool winograd;
};

// Each returns false if there is no memory.
template <class T>
struct ConvOf {
    bool (*convolve)(const Conv<T>& conv);
    bool (*weight_gradient)(const WeightGradient<T>& conv);
};

struct ConvLoops {
    ConvOf<float> single;
    ConvOf<double> wide;
};

const ConvLoops& conv_loops();

}  // namespace native
