// Batch norm and group norm, forward and backward.
// float32 and float64 of any layout; all else is handed to the NumPy twins in kernels/normalization.py.

#include <initializer_list>
#include <limits>

#include "arrays.h"
#include "norm.h"
#include "threads.h"

#define BODY "norm_body.h"
#include "every_isa.h"

namespace native {

const NormLoops& norm_loops() { return CHOSEN; }

namespace {

PyObject *batch_norm_twin, *batch_norm_backward_twin, *group_norm_twin, *group_norm_backward_twin;

template <class T>
const NormOf<T>& loops_for();
template <>
const NormOf<float>& loops_for<float>() {
    return norm_loops().single;
}
template <>
const NormOf<double>& loops_for<double>() {
    return norm_loops().wide;
}

// (N, C, d...) that is not empty.
bool has_channels(PyObject* x) { return is_float_array(x) && ndim_of(x) >= 2 && size_of(x) > 0; }

template <class T>
BatchNorm<T> batch_of(PyObject* x, PyObject* weight, double eps, bool training) {
    BatchNorm<T> b = {};
    b.images = dim_of(x, 0), b.channels = dim_of(x, 1), b.places = size_of(x) / (b.images * b.channels);
    b.x = data<T>(x), b.weight = data_or_none<T>(weight), b.eps = eps, b.training = training;
    return b;
}

PyObject* new_channels(PyObject* x) { return PyArray_SimpleNew(1, PyArray_DIMS(as_array(x)) + 1, type_of(x)); }

// 1 / sqrt(running variance + eps), the factor of a channel outside of training.
template <class T>
void scales_of(PyObject* variance, double eps, T* scales) {
    const T* var = data<T>(variance);
    for (npy_intp c = 0; c < size_of(variance); c++) scales[c] = T(1) / std::sqrt(var[c] + T(eps));
}

template <class T>
void update(T* running, const T* value, npy_intp channels, double momentum, double factor) {
    for (npy_intp c = 0; c < channels; c++) running[c] = running[c] * T(1 - momentum) + value[c] * T(factor) * T(momentum);
}

bool is_running(PyObject* object, PyObject* x) {
    return none_or_fitting(object, x, dim_of(x, 1)) && (object == Py_None || PyArray_ISWRITEABLE(as_array(object)));
}

template <class T>
void normalize_batch(PyObject* x, PyObject* const* args, double momentum, double eps, bool training, PyObject* y, PyObject* mean,
                     PyObject* scale, PyObject* scratch) {
    BatchNorm<T> b = batch_of<T>(x, args[1], eps, training);
    b.bias = data_or_none<T>(args[2]), b.out = data<T>(y);
    b.mean = training ? data<T>(mean) : data<T>(args[3]);
    b.scale = data<T>(training ? scale : scratch), b.variance = data<T>(scratch);
    if (!training) scales_of<T>(args[4], eps, b.scale);
    {
        Unlocked unlocked(size_of(x));
        loops_for<T>().batch(b);
    }
    if (!training) return;
    const double count = double(b.images) * double(b.places);
    if (args[3] != Py_None) update(data<T>(args[3]), b.mean, b.channels, momentum, 1);
    if (args[4] != Py_None)
        update(data<T>(args[4]), b.variance, b.channels, momentum,
               count > 1 ? count / (count - 1) : std::numeric_limits<double>::infinity());
}

// (input, weight, bias, running_mean, running_var, training, momentum, eps) -> (normalised, mean, 1 / deviation)
PyObject* batch_norm(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("batch_norm", count, 8)) return nullptr;
    PyObject* x = args[0];
    const bool training = args[5] == Py_True;
    double momentum, eps;
    if (!has_channels(x) || !none_or_fitting(args[1], x, dim_of(x, 1)) || !none_or_fitting(args[2], x, dim_of(x, 1)) ||
        !is_running(args[3], x) || !is_running(args[4], x) || !PyBool_Check(args[5]) || !read_number(args[6], momentum) ||
        !read_number(args[7], eps) || (!training && (args[3] == Py_None || args[4] == Py_None)))
        return call(batch_norm_twin, args, count);
    Held input(in_order(x)), y(empty_like(x)), scratch(new_channels(x));
    npy_intp none = 0;
    Held mean(training ? new_channels(x) : PyArray_SimpleNew(1, &none, type_of(x)));
    Held scale(training ? new_channels(x) : Py_NewRef(mean.get()));
    if (!input.get() || !y.get() || !scratch.get() || !mean.get() || !scale.get()) return nullptr;
    if (type_of(x) == NPY_FLOAT)
        normalize_batch<float>(input.get(), args, momentum, eps, training, y.get(), mean.get(), scale.get(), scratch.get());
    else
        normalize_batch<double>(input.get(), args, momentum, eps, training, y.get(), mean.get(), scale.get(), scratch.get());
    return Py_BuildValue("(NNN)", y.release(), mean.release(), scale.release());
}

template <class T>
void batch_gradients(PyObject* grad, PyObject* x, PyObject* const* args, double eps, bool training, const bool* wanted,
                     PyObject* const* found, PyObject* scratch) {
    BatchNorm<T> b = batch_of<T>(x, args[2], eps, training);
    b.grad = data<T>(grad);
    b.mean = data<T>(training ? args[5] : args[3]);
    b.scale = data<T>(training ? args[6] : scratch);
    if (!training) scales_of<T>(args[4], eps, b.scale);
    b.out = wanted[0] ? data<T>(found[0]) : nullptr;
    b.dweight = wanted[1] ? data<T>(found[1]) : nullptr;
    b.dbias = wanted[2] ? data<T>(found[2]) : nullptr;
    Unlocked unlocked(size_of(x));
    loops_for<T>().batch_backward(b);
}

// (grad_out, input, weight, running_mean, running_var, mean, rstd, train, eps, wanted) -> gradients of input, weight and bias
PyObject* batch_norm_backward(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("batch_norm_backward", count, 10)) return nullptr;
    PyObject *grad = args[0], *x = args[1];
    const bool training = args[7] == Py_True;
    double eps;
    bool wanted[3];
    if (!has_channels(x) || !is_float_array(grad) || type_of(grad) != type_of(x) || !same_shape(grad, x) ||
        !none_or_fitting(args[2], x, dim_of(x, 1)) || !PyBool_Check(args[7]) || !read_number(args[8], eps) ||
        !read_wanted(args[9], wanted, 3))
        return call(batch_norm_backward_twin, args, count);
    for (int i : {training ? 5 : 3, training ? 6 : 4})
        if (args[i] == Py_None || !none_or_fitting(args[i], x, dim_of(x, 1))) return call(batch_norm_backward_twin, args, count);
    Held gradient(in_order(grad)), input(in_order(x)), scratch(new_channels(x));
    Held dx(wanted[0] ? empty_like(x) : nothing()), dweight(wanted[1] ? new_channels(x) : nothing()),
        dbias(wanted[2] ? new_channels(x) : nothing());
    if (!gradient.get() || !input.get() || !scratch.get() || !dx.get() || !dweight.get() || !dbias.get()) return nullptr;
    PyObject* const found[] = {dx.get(), dweight.get(), dbias.get()};
    if (type_of(x) == NPY_FLOAT)
        batch_gradients<float>(gradient.get(), input.get(), args, eps, training, wanted, found, scratch.get());
    else
        batch_gradients<double>(gradient.get(), input.get(), args, eps, training, wanted, found, scratch.get());
    return Py_BuildValue("(NNN)", dx.release(), dweight.release(), dbias.release());
}

// ---------------------------------------------------------------- groups
template <class T>
bool group_of(PyObject* x, PyObject* weight, PyObject* const* sizes, GroupNorm<T>& g) {
    g = {};
    return read_size(sizes[0], g.images) && read_size(sizes[1], g.channels) && read_size(sizes[2], g.places) &&
           read_size(sizes[3], g.groups) && g.groups > 0 && g.channels % g.groups == 0 &&
           g.images * g.channels * g.places == size_of(x) && none_or_fitting(weight, x, g.channels);
}

template <class T>
void normalize_groups(GroupNorm<T> g, PyObject* x, PyObject* weight, PyObject* bias, double eps, PyObject* y, PyObject* mean,
                      PyObject* rstd) {
    g.x = data<T>(x), g.weight = data_or_none<T>(weight), g.bias = data_or_none<T>(bias), g.eps = eps;
    g.out = data<T>(y), g.mean = data<T>(mean), g.rstd = data<T>(rstd);
    Unlocked unlocked(size_of(x));
    loops_for<T>().group(g);
}

// (input, weight, bias, N, C, HxW, groups, eps) -> (normalised, mean, 1 / deviation)
PyObject* group_norm(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("group_norm", count, 8)) return nullptr;
    PyObject* x = args[0];
    double eps;
    GroupNorm<float> g;
    if (!has_channels(x) || !group_of(x, args[1], args + 3, g) || !none_or_fitting(args[2], x, g.channels) ||
        !read_number(args[7], eps))
        return call(group_norm_twin, args, count);
    npy_intp stats[] = {g.images, g.groups};
    Held input(in_order(x)), y(empty_like(x)), mean(PyArray_SimpleNew(2, stats, type_of(x))),
        rstd(PyArray_SimpleNew(2, stats, type_of(x)));
    if (!input.get() || !y.get() || !mean.get() || !rstd.get()) return nullptr;
    GroupNorm<double> wide;
    if (type_of(x) == NPY_FLOAT)
        normalize_groups(g, input.get(), args[1], args[2], eps, y.get(), mean.get(), rstd.get());
    else if (group_of(x, args[1], args + 3, wide))
        normalize_groups(wide, input.get(), args[1], args[2], eps, y.get(), mean.get(), rstd.get());
    return Py_BuildValue("(NNN)", y.release(), mean.release(), rstd.release());
}

// The sum over the images of [images][channels].
template <class T>
void sum_images(const T* x, npy_intp images, npy_intp channels, T* out) {
    for (npy_intp c = 0; c < channels; c++) {
        double sum = 0;
        for (npy_intp n = 0; n < images; n++) sum += double(x[n * channels + c]);
        out[c] = T(sum);
    }
}

template <class T>
void group_gradients(GroupNorm<T> g, PyObject* grad, PyObject* x, PyObject* const* args, const bool* wanted, PyObject* const* found,
                     PyObject* scratch) {
    g.x = data<T>(x), g.grad = data<T>(grad), g.weight = data_or_none<T>(args[4]);
    g.mean = data<T>(args[2]), g.rstd = data<T>(args[3]);
    g.out = wanted[0] ? data<T>(found[0]) : nullptr;
    g.by_grad = data<T>(scratch), g.by_product = g.by_grad + g.images * g.channels;
    Unlocked unlocked(size_of(x));
    loops_for<T>().group_backward(g);
    if (wanted[1]) sum_images(g.by_product, g.images, g.channels, data<T>(found[1]));
    if (wanted[2]) sum_images(g.by_grad, g.images, g.channels, data<T>(found[2]));
}

// (grad_out, input, mean, rstd, weight, N, C, HxW, groups, wanted) -> gradients of input, weight and bias
PyObject* group_norm_backward(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("group_norm_backward", count, 10)) return nullptr;
    PyObject *grad = args[0], *x = args[1];
    bool wanted[3];
    GroupNorm<float> g;
    if (!has_channels(x) || !is_float_array(grad) || type_of(grad) != type_of(x) || size_of(grad) != size_of(x) ||
        !group_of(x, args[4], args + 5, g) || args[2] == Py_None || !none_or_fitting(args[2], x, g.images * g.groups) ||
        args[3] == Py_None || !none_or_fitting(args[3], x, g.images * g.groups) || !read_wanted(args[9], wanted, 3))
        return call(group_norm_backward_twin, args, count);
    npy_intp sums[] = {2, g.images * g.channels};
    Held gradient(in_order(grad)), input(in_order(x)), scratch(PyArray_SimpleNew(2, sums, type_of(x)));
    Held dx(wanted[0] ? empty_like(x) : nothing()), dweight(wanted[1] ? new_channels(x) : nothing()),
        dbias(wanted[2] ? new_channels(x) : nothing());
    if (!gradient.get() || !input.get() || !scratch.get() || !dx.get() || !dweight.get() || !dbias.get()) return nullptr;
    PyObject* const found[] = {dx.get(), dweight.get(), dbias.get()};
    GroupNorm<double> wide;
    if (type_of(x) == NPY_FLOAT)
        group_gradients(g, gradient.get(), input.get(), args, wanted, found, scratch.get());
    else if (group_of(x, args[4], args + 5, wide))
        group_gradients(wide, gradient.get(), input.get(), args, wanted, found, scratch.get());
    return Py_BuildValue("(NNN)", dx.release(), dweight.release(), dbias.release());
}

}  // namespace

PyMethodDef norm_methods[] = {FAST("batch_norm", batch_norm, "channels with mean 0 and variance 1, scaled and shifted"),
                              FAST("batch_norm_backward", batch_norm_backward, "the gradients of batch_norm"),
                              FAST("group_norm", group_norm, "groups of channels with mean 0 and variance 1, scaled and shifted"),
                              FAST("group_norm_backward", group_norm_backward, "the gradients of group_norm"),
                              {nullptr, nullptr, 0, nullptr}};

const Twin norm_twins[] = {{"batch_norm", &batch_norm_twin},
                           {"batch_norm_backward", &batch_norm_backward_twin},
                           {"group_norm", &group_norm_twin},
                           {"group_norm_backward", &group_norm_backward_twin},
                           {nullptr, nullptr}};

}  // namespace native
