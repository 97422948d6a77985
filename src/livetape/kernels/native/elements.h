// Functions of corresponding elements. The list below is all there is to say of each but its formula, which stands in
// elements_body.h under the same name: how many arrays and how many numbers it takes, what an element costs (1: an addition),
// and whether float64 has a loop too.

#pragma once

#include <cstdint>

// clang-format off
#define LIVETAPE_ELEMENTS(X) \
    X(add, 2, 0, 1, true) X(subtract, 2, 0, 1, true) X(multiply, 2, 0, 1, true) X(divide, 2, 0, 1, true) \
    X(maximum, 2, 0, 1, true) X(minimum, 2, 0, 1, true) X(add_scaled, 2, 1, 1, true) X(lerp, 2, 1, 1, true) \
    X(addcmul, 3, 1, 1, true) X(addcdiv, 3, 1, 1, true) \
    X(negative, 1, 0, 1, true) X(absolute, 1, 0, 1, true) X(square, 1, 0, 1, true) X(sqrt, 1, 0, 2, true) \
    X(reciprocal, 1, 0, 1, true) X(rsqrt, 1, 0, 2, true) X(sign, 1, 0, 1, true) X(frac, 1, 0, 1, true) \
    X(exp, 1, 0, 3, true) X(expm1, 1, 0, 4, true) X(exp2, 1, 0, 3, false) X(log, 1, 0, 4, true) X(log1p, 1, 0, 5, true) \
    X(log2, 1, 0, 4, false) X(log10, 1, 0, 6, false) \
    X(sin, 1, 0, 6, false) X(cos, 1, 0, 6, false) X(tan, 1, 0, 8, false) X(arcsin, 1, 0, 10, false) \
    X(arccos, 1, 0, 10, false) X(arctan, 1, 0, 8, false) X(arctan2, 2, 0, 10, false) X(sinh, 1, 0, 6, true) \
    X(cosh, 1, 0, 6, true) X(tanh, 1, 0, 5, true) X(arcsinh, 1, 0, 10, false) X(arccosh, 1, 0, 10, false) \
    X(arctanh, 1, 0, 10, false) X(hypot, 2, 0, 3, false) X(fmod, 2, 0, 6, false) X(remainder, 2, 0, 6, false) \
    X(erf, 1, 0, 6, false) X(erfc, 1, 0, 6, false) X(erfinv, 1, 0, 10, false) \
    X(relu, 1, 0, 1, true) X(clamp_backward, 2, 2, 1, true) \
    X(threshold, 1, 2, 1, true) X(threshold_backward, 2, 1, 1, true) \
    X(leaky_relu, 1, 1, 1, true) X(leaky_relu_backward, 2, 1, 1, true) \
    X(hardtanh, 1, 2, 1, true) X(hardtanh_backward, 2, 2, 1, true) \
    X(hardsigmoid, 1, 0, 2, true) X(hardsigmoid_backward, 2, 0, 2, true) \
    X(hardswish, 1, 0, 2, true) X(hardswish_backward, 2, 0, 2, true) \
    X(hardshrink, 1, 1, 1, true) X(softshrink, 1, 1, 1, true) X(shrink_backward, 2, 1, 1, true) \
    X(sigmoid, 1, 0, 4, true) X(sigmoid_backward, 2, 0, 1, true) X(tanh_backward, 2, 0, 1, true) \
    X(silu, 1, 0, 4, true) X(silu_backward, 2, 0, 4, true) X(mish, 1, 0, 4, true) X(mish_backward, 2, 0, 5, true) \
    X(elu, 1, 3, 4, true) X(elu_backward, 2, 4, 4, true) \
    X(softplus, 1, 2, 8, true) X(softplus_backward, 2, 2, 4, true) \
    X(log_sigmoid, 1, 0, 8, true) X(log_sigmoid_backward, 2, 0, 4, true) \
    X(gelu, 1, 0, 6, false) X(gelu_backward, 2, 0, 6, false) X(gelu_tanh, 1, 0, 8, false) X(gelu_tanh_backward, 2, 0, 9, false)
// clang-format on

namespace native {

// out[i] = f(in[0][i], ...). A bit of ``still`` is set for each input of which all elements are the first.
template <class T>
using ElementLoop = void (*)(const T* const* in, unsigned still, T* out, std::intptr_t count, const T* numbers);

enum Element {
#define X(name, inputs, numbers, cost, wide) ELEMENT_##name,
    LIVETAPE_ELEMENTS(X)
#undef X
        ELEMENTS
};

struct Elements {
    ElementLoop<float> single[ELEMENTS];
    ElementLoop<double> wide[ELEMENTS];  // null where NumPy does as well
};

const Elements& elements();

}  // namespace native
