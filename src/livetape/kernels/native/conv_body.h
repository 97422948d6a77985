// Convolutions: no guard, see conv.cpp.

#include "vectors_body.h"
#include "tiles_body.h"
#include "strips_body.h"
#include "direct_body.h"
#include "winograd_body.h"
#include "depthwise_body.h"

namespace native {
namespace ISA {
namespace {

template <class T>
bool convolve(const Conv<T>& c) {
    if (c.inner == 1 && c.groups > 1) return convolve_depthwise(c);
    if constexpr (sizeof(T) == 4)
        if (c.winograd && suits_winograd(c.taps, c.inner, c.outer)) return convolve_winograd(c);
    return convolve_directly(c);
}

template <class T>
bool weight_gradient(const WeightGradient<T>& c) {
    if (c.inner == 1 && c.groups > 1) return weight_gradient_depthwise(c);
    if constexpr (sizeof(T) == 4)
        if (c.winograd && suits_winograd(c.taps, c.inner, c.outer)) return weight_gradient_winograd(c);
    return weight_gradient_directly(c);
}

const ConvLoops table = {{convolve<float>, weight_gradient<float>}, {convolve<double>, weight_gradient<double>}};

}  // namespace
}  // namespace ISA
}  // namespace native
