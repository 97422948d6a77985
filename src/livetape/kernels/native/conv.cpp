// Convolutions, their transposes and the gradients of their weights, in one to three dimensions.
// float32 and float64 of any layout; all else is handed to the NumPy twins in kernels/convolution.py.

#include "arrays.h"

#include <atomic>
#include <vector>

#include "conv.h"
#include "threads.h"

#define BODY "conv_body.h"
#include "every_isa.h"

namespace native {

const ConvLoops& conv_loops() { return CHOSEN; }

namespace {

using Size = std::intptr_t;

PyObject *convolve_twin, *convolve_transposed_twin, *weight_gradient_twin;
bool winograd_allowed = true;

template <class T>
const ConvOf<T>& loops_for();
template <>
const ConvOf<float>& loops_for<float>() {
    return conv_loops().single;
}
template <>
const ConvOf<double>& loops_for<double>() {
    return conv_loops().wide;
}

// Sizes of the spatial dimensions, the last three of which may be real ones.
struct Sizes {
    Size at[3];
    Size operator[](int i) const { return at[i]; }
    Size all() const { return at[0] * at[1] * at[2]; }
};

bool read_sizes(PyObject* object, int dims, Size rest, Sizes& sizes) {
    if (!PyTuple_Check(object) || PyTuple_GET_SIZE(object) != dims) return false;
    for (int i = 0; i < 3; i++) {
        sizes.at[i] = rest;
        if (i < 3 - dims) continue;
        sizes.at[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(object, i - 3 + dims));
        if (sizes.at[i] == -1 && PyErr_Occurred()) {
            PyErr_Clear();
            return false;
        }
    }
    return true;
}

Sizes sizes_of(PyObject* array) {
    Sizes sizes;
    const int dims = ndim_of(array) - 2;
    for (int i = 0; i < 3; i++) sizes.at[i] = i < 3 - dims ? 1 : dim_of(array, i - 1 + dims);
    return sizes;
}

// An array (N, C, d...) of floats that is not empty. Compilers without vectors leave all to the twins.
bool is_batch(PyObject* object) {
#ifdef __GNUC__
    if (!PyArray_CheckExact(object)) return false;
    const int type = type_of(object), dims = ndim_of(object) - 2;
    return (type == NPY_FLOAT || type == NPY_DOUBLE) && dims >= 1 && dims <= 3 && size_of(object) > 0;
#else
    return false;
#endif
}

struct Options {
    Sizes stride, padding, dilation;
    Size groups;
};

bool read_options(PyObject* const* args, int dims, Options& options) {
    if (!read_sizes(args[0], dims, 1, options.stride) || !read_sizes(args[1], dims, 0, options.padding) ||
        !read_sizes(args[2], dims, 1, options.dilation) || !PyLong_Check(args[3]))
        return false;
    options.groups = PyLong_AsSsize_t(args[3]);
    if (options.groups == -1) PyErr_Clear();
    for (int i = 0; i < 3; i++)
        if (options.stride[i] < 1 || options.dilation[i] < 1) return false;
    return options.groups > 0;
}

Sizes output_of(const Sizes& size, const Sizes& kernel, const Options& o) {
    Sizes out;
    for (int i = 0; i < 3; i++) {
        const Size room = size[i] + 2 * o.padding[i] - o.dilation[i] * (kernel[i] - 1) - 1;
        out.at[i] = room < 0 ? 0 : room / o.stride[i] + 1;
    }
    return out;
}

// The taps of a convolution along one dimension, and those of its transpose for the places equal to ``phase`` modulo stride.
struct OwnTaps {
    std::vector<Size> index, offset;
    Taps taps;

    void forward(Size kernel, Size stride, Size padding, Size dilation, Size input, Size output) {
        for (Size k = 0; k < kernel; k++) {
            index.push_back(k);
            offset.push_back(k * dilation - padding);
        }
        taps = {kernel, index.data(), offset.data(), stride, input, output, 0, 1, output};
    }

    bool transposed(Size kernel, Size stride, Size padding, Size dilation, Size input, Size output, Size phase) {
        index.clear();
        offset.clear();
        for (Size k = kernel - 1; k >= 0; k--) {
            const Size at = phase + padding - k * dilation;
            if (at % stride != 0) continue;
            index.push_back(k);
            offset.push_back(at / stride);
        }
        taps = {Size(index.size()), index.data(), offset.data(), 1, input, (output - phase + stride - 1) / stride,
                phase, stride, output};
        return !index.empty();
    }
};

PyObject* new_batch(PyObject* like, Size first, Size second, const Sizes& sizes) {
    npy_intp shape[5] = {first, second};
    const int dims = ndim_of(like) - 2;
    for (int i = 0; i < dims; i++) shape[2 + i] = sizes[3 - dims + i];
    return PyArray_SimpleNew(dims + 2, shape, type_of(like));
}

template <class T>
Conv<T> conv_of(PyObject* x, PyObject* weight, PyObject* bias, PyObject* out, Size groups, bool transposed) {
    Conv<T> c;
    const Sizes kernel = sizes_of(weight);
    c.images = dim_of(x, 0), c.groups = groups;
    c.inner = dim_of(x, 1) / groups, c.outer = dim_of(out, 1) / groups;
    c.x = data<T>(x), c.weight = data<T>(weight), c.out = data<T>(out);
    c.bias = bias == Py_None ? nullptr : data<T>(bias);
    c.outer_step = transposed ? kernel.all() : c.inner * kernel.all();
    c.inner_step = transposed ? c.outer * kernel.all() : kernel.all();
    for (int i = 0; i < 3; i++) c.kernel[i] = kernel[i];
    c.winograd = winograd_allowed;
    return c;
}

bool is_bias(PyObject* object, PyObject* like, Size channels) {
    return object == Py_None || (plain(object) && type_of(object) == type_of(like) && size_of(object) == channels);
}

// ---------------------------------------------------------------- forward
template <class T>
bool convolve_arrays(PyObject* x, PyObject* weight, PyObject* bias, PyObject* out, const Options& o) {
    Conv<T> c = conv_of<T>(x, weight, bias, out, o.groups, false);
    const Sizes size = sizes_of(x), places = sizes_of(out);
    OwnTaps taps[3];
    for (int i = 0; i < 3; i++) {
        taps[i].forward(c.kernel[i], o.stride[i], o.padding[i], o.dilation[i], size[i], places[i]);
        c.taps[i] = taps[i].taps;
    }
    Unlocked unlocked(1 << 20);
    return loops_for<T>().convolve(c);
}

// (input, weight, bias, stride, padding, dilation, groups)
PyObject* convolve(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("convolve", count, 7)) return nullptr;
    PyObject *x = args[0], *weight = args[1], *bias = args[2];
    Options o;
    if (!is_batch(x) || !is_batch(weight) || ndim_of(x) != ndim_of(weight) || type_of(x) != type_of(weight) ||
        !read_options(args + 3, ndim_of(x) - 2, o) || dim_of(x, 1) != dim_of(weight, 1) * o.groups ||
        dim_of(weight, 0) % o.groups != 0 || !is_bias(bias, x, dim_of(weight, 0)))
        return call(convolve_twin, args, count);
    const Sizes places = output_of(sizes_of(x), sizes_of(weight), o);
    if (places.all() == 0) return call(convolve_twin, args, count);
    Held input(in_order(x)), kernels(in_order(weight));
    if (input.get() == nullptr || kernels.get() == nullptr) return nullptr;
    Held out(new_batch(x, dim_of(x, 0), dim_of(weight, 0), places));
    if (out.get() == nullptr) return nullptr;
    const bool done = type_of(x) == NPY_FLOAT ? convolve_arrays<float>(input.get(), kernels.get(), bias, out.get(), o)
                                              : convolve_arrays<double>(input.get(), kernels.get(), bias, out.get(), o);
    return done ? out.release() : PyErr_NoMemory();
}

// ---------------------------------------------------------------- transposed
template <class T>
void fill_channels(T* out, const T* bias, Size images, Size channels, Size places) {
    for (Size i = 0; i < images * channels; i++)
        for (Size j = 0; j < places; j++) out[i * places + j] = bias == nullptr ? T(0) : bias[i % channels];
}

template <class T>
bool transpose_arrays(PyObject* x, PyObject* weight, PyObject* bias, PyObject* out, const Options& o) {
    Conv<T> c = conv_of<T>(x, weight, bias, out, o.groups, true);
    const Sizes size = sizes_of(x), places = sizes_of(out);
    Unlocked unlocked(1 << 20);
    std::vector<OwnTaps> phases[3];
    bool everywhere = true;  // whether each place meets a tap
    for (int i = 0; i < 3; i++)
        for (Size phase = 0; phase < o.stride[i] && phase < places[i]; phase++) {
            phases[i].emplace_back();
            everywhere &= phases[i].back().transposed(c.kernel[i], o.stride[i], o.padding[i], o.dilation[i], size[i], places[i], phase);
        }
    if (!everywhere) fill_channels(c.out, c.bias, c.images, c.groups * c.outer, places.all());
    for (const OwnTaps& depth : phases[0])
        for (const OwnTaps& height : phases[1])
            for (const OwnTaps& width : phases[2]) {
                if (depth.taps.count == 0 || height.taps.count == 0 || width.taps.count == 0) continue;
                c.taps[0] = depth.taps, c.taps[1] = height.taps, c.taps[2] = width.taps;
                if (!loops_for<T>().convolve(c)) return false;
            }
    return true;
}

// (input, weight, bias, size, stride, padding, dilation, groups)
PyObject* convolve_transposed(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("convolve_transposed", count, 8)) return nullptr;
    PyObject *x = args[0], *weight = args[1], *bias = args[2];
    Options o;
    Sizes places;
    if (!is_batch(x) || !is_batch(weight) || ndim_of(x) != ndim_of(weight) || type_of(x) != type_of(weight) ||
        !read_sizes(args[3], ndim_of(x) - 2, 1, places) || !read_options(args + 4, ndim_of(x) - 2, o) ||
        dim_of(x, 1) != dim_of(weight, 0) || dim_of(x, 1) % o.groups != 0 ||
        !is_bias(bias, x, dim_of(weight, 1) * o.groups) || places[0] < 1 || places[1] < 1 || places[2] < 1)
        return call(convolve_transposed_twin, args, count);
    Held input(in_order(x)), kernels(in_order(weight));
    if (input.get() == nullptr || kernels.get() == nullptr) return nullptr;
    Held out(new_batch(x, dim_of(x, 0), dim_of(weight, 1) * o.groups, places));
    if (out.get() == nullptr) return nullptr;
    const bool done = type_of(x) == NPY_FLOAT ? transpose_arrays<float>(input.get(), kernels.get(), bias, out.get(), o)
                                              : transpose_arrays<double>(input.get(), kernels.get(), bias, out.get(), o);
    return done ? out.release() : PyErr_NoMemory();
}

// ---------------------------------------------------------------- the gradient of the weight
template <class T>
bool weight_arrays(PyObject* grad, PyObject* x, PyObject* out, const Options& o) {
    WeightGradient<T> c;
    const Sizes size = sizes_of(x), places = sizes_of(grad), kernel = sizes_of(out);
    c.images = dim_of(x, 0), c.groups = o.groups, c.inner = dim_of(x, 1) / o.groups, c.outer = dim_of(grad, 1) / o.groups;
    c.x = data<T>(x), c.grad = data<T>(grad), c.out = data<T>(out);
    c.winograd = winograd_allowed;
    OwnTaps taps[3];
    for (int i = 0; i < 3; i++) {
        taps[i].forward(kernel[i], o.stride[i], o.padding[i], o.dilation[i], size[i], places[i]);
        c.taps[i] = taps[i].taps;
    }
    Unlocked unlocked(1 << 20);
    return loops_for<T>().weight_gradient(c);
}

// (grad, input, kernel, stride, padding, dilation, groups)
PyObject* weight_gradient(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("weight_gradient", count, 7)) return nullptr;
    PyObject *grad = args[0], *x = args[1];
    Options o;
    Sizes kernel;
    if (!is_batch(x) || !is_batch(grad) || ndim_of(x) != ndim_of(grad) || type_of(x) != type_of(grad) ||
        dim_of(x, 0) != dim_of(grad, 0) || !read_sizes(args[2], ndim_of(x) - 2, 1, kernel) ||
        !read_options(args + 3, ndim_of(x) - 2, o) || dim_of(x, 1) % o.groups != 0 || dim_of(grad, 1) % o.groups != 0 ||
        kernel[0] < 1 || kernel[1] < 1 || kernel[2] < 1)
        return call(weight_gradient_twin, args, count);
    Held gradient(in_order(grad)), input(in_order(x));
    if (gradient.get() == nullptr || input.get() == nullptr) return nullptr;
    Held out(new_batch(x, dim_of(grad, 1), dim_of(x, 1) / o.groups, kernel));
    if (out.get() == nullptr) return nullptr;
    const bool done = type_of(x) == NPY_FLOAT ? weight_arrays<float>(gradient.get(), input.get(), out.get(), o)
                                              : weight_arrays<double>(gradient.get(), input.get(), out.get(), o);
    return done ? out.release() : PyErr_NoMemory();
}

PyObject* use_winograd(PyObject*, PyObject* mode) {
    const int wanted = PyObject_IsTrue(mode);
    if (wanted < 0) return nullptr;
    const bool before = winograd_allowed;
    winograd_allowed = wanted != 0;
    return PyBool_FromLong(before);
}

}  // namespace

PyMethodDef conv_methods[] = {
    FAST("convolve", convolve, "a convolution"),
    FAST("convolve_transposed", convolve_transposed, "the transpose of a convolution"),
    FAST("weight_gradient", weight_gradient, "the gradient of a convolution's weight"),
    {"use_winograd", use_winograd, METH_O, "whether 3x3 convolutions may use Winograd's products; returns what held before"},
    {nullptr, nullptr, 0, nullptr}};

const Twin conv_twins[] = {{"convolve", &convolve_twin},
                           {"convolve_transposed", &convolve_transposed_twin},
                           {"weight_gradient", &weight_gradient_twin},
                           {nullptr, nullptr}};

}  // namespace native
