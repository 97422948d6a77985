// Normalisation of channels and groups: no guard, see norm.cpp. A task has channels (or groups) of its own, and reads them
// once from memory: the later passes find them in the caches.

#include "vectors_body.h"

namespace native {
namespace ISA {
namespace {

// The sum over the images of what ``f`` makes of one channel's plane.
template <class F>
INLINE double sum_planes(Size images, F f) {
    double sum = 0;
    for (Size n = 0; n < images; n++) sum += double(f(n));
    return sum;
}

template <class T>
INLINE T sum_squares(const T* x, T less, Size count) {
    const V<T> centre = splat(less);
    return sum_row<T>(count, [=](Size i, Size some) {
        const V<T> d = take(x + i, some, less) - centre;
        return d * d;
    });
}

template <class T>
INLINE T sum_plain(const T* x, Size count) {
    return sum_row<T>(count, [=](Size i, Size some) { return take(x + i, some, T(0)); });
}

// The sums of g and of g * (x - less).
template <class T>
INLINE void sum_both(const T* g, const T* x, T less, Size count, double& plain, double& product) {
    const V<T> centre = splat(less);
    const Pair<T> sums = sum_lanes<T, Pair<T>>(0, count, [=](Size i, Size some) {
        const V<T> v = take(g + i, some, T(0));
        return Pair<T>{v, v * (take(x + i, some, less) - centre)};
    });
    plain += double(sum_of<T>(sums.first));
    product += double(sum_of<T>(sums.second));
}

// out = x * factor + shift, and out = g * factor + (x - centre) * slope + shift.
template <class T>
INLINE void scale_plane(const T* x, T centre, T factor, T shift, T* out, Size count) {
    each<T>(count, [=](Size i, Size some) { put<T>(out + i, (take(x + i, some, T(0)) - centre) * factor + shift, some); });
}

template <class T>
INLINE void slope_plane(const T* g, const T* x, T centre, T factor, T slope, T shift, T* out, Size count) {
    each<T>(count, [=](Size i, Size some) {
        put<T>(out + i, take(g + i, some, T(0)) * factor + ((take(x + i, some, T(0)) - centre) * slope + shift), some);
    });
}

// ---------------------------------------------------------------- channels
template <class T>
void batch_planes(const BatchNorm<T>& b, Size begin, Size end) {
    const Size step = b.channels * b.places;
    const double count = double(b.images) * double(b.places);
    for (Size c = begin; c < end; c++) {
        const T* x = b.x + c * b.places;
        T mean, scale;
        if (b.training) {
            mean = T(sum_planes(b.images, [&](Size n) { return sum_plain(x + n * step, b.places); }) / count);
            const double var = sum_planes(b.images, [&](Size n) { return sum_squares(x + n * step, mean, b.places); }) / count;
            scale = T(1 / std::sqrt(var + b.eps));
            b.mean[c] = mean, b.scale[c] = scale, b.variance[c] = T(var);
        } else {
            mean = b.mean[c], scale = b.scale[c];
        }
        const T factor = b.weight == nullptr ? scale : scale * b.weight[c], shift = b.bias == nullptr ? T(0) : b.bias[c];
        for (Size n = 0; n < b.images; n++) scale_plane(x + n * step, mean, factor, shift, b.out + c * b.places + n * step, b.places);
    }
}

template <class T>
void batch_planes_backward(const BatchNorm<T>& b, Size begin, Size end) {
    const Size step = b.channels * b.places;
    const double count = double(b.images) * double(b.places);
    for (Size c = begin; c < end; c++) {
        const T *x = b.x + c * b.places, *g = b.grad + c * b.places;
        const T mean = b.mean[c], scale = b.scale[c], factor = b.weight == nullptr ? scale : scale * b.weight[c];
        double plain = 0, product = 0;
        if (b.training || b.dweight != nullptr || b.dbias != nullptr)
            for (Size n = 0; n < b.images; n++) sum_both(g + n * step, x + n * step, mean, b.places, plain, product);
        if (b.dweight != nullptr) b.dweight[c] = T(product * scale);
        if (b.dbias != nullptr) b.dbias[c] = T(plain);
        if (b.out == nullptr) continue;
        T* out = b.out + c * b.places;
        if (b.training) {
            const T slope = T(-product / count * scale * scale * factor), shift = T(-plain / count * factor);
            for (Size n = 0; n < b.images; n++)
                slope_plane(g + n * step, x + n * step, mean, factor, slope, shift, out + n * step, b.places);
        } else {
            for (Size n = 0; n < b.images; n++) scale_plane(g + n * step, T(0), factor, T(0), out + n * step, b.places);
        }
    }
}

// Channels without further dimensions are columns: vectors go over these. ``begin`` and ``end`` count W channels.
template <class T, class F>
INLINE V<T> sum_steps(Size count, F f) {
    V<T> total = {};
    for (Size start = 0; start < count; start += 64) {
        V<T> sum = {};
        for (Size n = start; n < start + 64 && n < count; n++) sum += f(n);
        total += sum;
    }
    return total;
}

template <class T>
void batch_columns(const BatchNorm<T>& b, Size begin, Size end) {
    constexpr Size W = Vec<T>::W;
    const T count = T(b.images);
    for (Size c = begin * W; c < end * W && c < b.channels; c += W) {
        const Size some = b.channels - c < W ? b.channels - c : W, step = b.channels;
        const T* x = b.x + c;
        V<T> mean, scale;
        if (b.training) {
            mean = sum_steps<T>(b.images, [=](Size n) { return take(x + n * step, some, T(0)); }) / count;
            const V<T> var = sum_steps<T>(b.images, [=](Size n) {
                                 const V<T> d = take(x + n * step, some, T(0)) - mean;
                                 return d * d;
                             }) / count;
            T lanes[W];
            store(lanes, var);
            for (T& lane : lanes) lane = T(1 / std::sqrt(double(lane) + b.eps));
            scale = load(lanes);
            put<T>(b.mean + c, mean, some);
            put<T>(b.scale + c, scale, some);
            put<T>(b.variance + c, var, some);
        } else {
            mean = take(b.mean + c, some, T(0)), scale = take(b.scale + c, some, T(0));
        }
        const V<T> factor = b.weight == nullptr ? scale : scale * take(b.weight + c, some, T(0));
        const V<T> shift = b.bias == nullptr ? V<T>{} : take(b.bias + c, some, T(0));
        for (Size n = 0; n < b.images; n++) put<T>(b.out + n * step + c, (take(x + n * step, some, T(0)) - mean) * factor + shift, some);
    }
}

template <class T>
void batch_columns_backward(const BatchNorm<T>& b, Size begin, Size end) {
    constexpr Size W = Vec<T>::W;
    const T count = T(b.images);
    for (Size c = begin * W; c < end * W && c < b.channels; c += W) {
        const Size some = b.channels - c < W ? b.channels - c : W, step = b.channels;
        const T *x = b.x + c, *g = b.grad + c;
        const V<T> mean = take(b.mean + c, some, T(0)), scale = take(b.scale + c, some, T(0));
        const V<T> factor = b.weight == nullptr ? scale : scale * take(b.weight + c, some, T(0));
        const V<T> plain = sum_steps<T>(b.images, [=](Size n) { return take(g + n * step, some, T(0)); });
        const V<T> product = sum_steps<T>(b.images, [=](Size n) {
            return take(g + n * step, some, T(0)) * (take(x + n * step, some, T(0)) - mean);
        });
        if (b.dweight != nullptr) put<T>(b.dweight + c, product * scale, some);
        if (b.dbias != nullptr) put<T>(b.dbias + c, plain, some);
        if (b.out == nullptr) continue;
        const V<T> slope = b.training ? -(product / count) * scale * scale * factor : V<T>{};
        const V<T> shift = b.training ? -(plain / count) * factor : V<T>{};
        for (Size n = 0; n < b.images; n++) {
            V<T> v = take(g + n * step, some, T(0)) * factor;
            if (b.training) v += (take(x + n * step, some, T(0)) - mean) * slope + shift;
            put<T>(b.out + n * step + c, v, some);
        }
    }
}

template <class T, void planes(const BatchNorm<T>&, Size, Size), void columns(const BatchNorm<T>&, Size, Size)>
void by_channel(const BatchNorm<T>& b) {
    constexpr Size W = Vec<T>::W;
    if (b.places == 1)
        parallel_for((b.channels + W - 1) / W, grain_for(b.images * 8), [&](Size begin, Size end) { columns(b, begin, end); });
    else
        parallel_for(b.channels, grain_for(b.images * b.places), [&](Size begin, Size end) { planes(b, begin, end); });
}

template <class T>
void batch(const BatchNorm<T>& b) {
    by_channel<T, batch_planes<T>, batch_columns<T>>(b);
}
template <class T>
void batch_backward(const BatchNorm<T>& b) {
    by_channel<T, batch_planes_backward<T>, batch_columns_backward<T>>(b);
}

// ---------------------------------------------------------------- groups
template <class T>
void group(const GroupNorm<T>& g) {
    const Size inner = g.channels / g.groups, width = inner * g.places;
    parallel_for(g.images * g.groups, grain_for(width), [&](Size begin, Size end) {
        for (Size row = begin; row < end; row++) {
            const T* x = g.x + row * width;
            const T mean = T(double(sum_plain(x, width)) / double(width));
            const T rstd = T(1 / std::sqrt(double(sum_squares(x, mean, width)) / double(width) + g.eps));
            g.mean[row] = mean, g.rstd[row] = rstd;
            for (Size i = 0; i < inner; i++) {
                const Size c = row % g.groups * inner + i;
                scale_plane(x + i * g.places, mean, g.weight == nullptr ? rstd : rstd * g.weight[c],
                            g.bias == nullptr ? T(0) : g.bias[c], g.out + row * width + i * g.places, g.places);
            }
        }
    });
}

template <class T>
void group_backward(const GroupNorm<T>& g) {
    const Size inner = g.channels / g.groups, width = inner * g.places;
    parallel_for(g.images * g.groups, grain_for(width), [&](Size begin, Size end) {
        for (Size row = begin; row < end; row++) {
            const T mean = g.mean[row], rstd = g.rstd[row];
            const Size first = row % g.groups * inner;
            double all_plain = 0, all_product = 0;
            for (Size i = 0; i < inner; i++) {
                double plain = 0, product = 0;
                sum_both(g.grad + row * width + i * g.places, g.x + row * width + i * g.places, mean, g.places, plain, product);
                g.by_grad[row * inner + i] = T(plain), g.by_product[row * inner + i] = T(product * rstd);
                const double weight = g.weight == nullptr ? 1 : double(g.weight[first + i]);
                all_plain += plain * weight, all_product += product * weight;
            }
            if (g.out == nullptr) continue;
            const T slope = T(-all_product / double(width) * rstd * rstd * rstd), shift = T(-all_plain / double(width) * rstd);
            for (Size i = 0; i < inner; i++) {
                const Size at = row * width + i * g.places;
                slope_plane(g.grad + at, g.x + at, mean, g.weight == nullptr ? rstd : rstd * g.weight[first + i], slope, shift,
                            g.out + at, g.places);
            }
        }
    });
}

const NormLoops table = {{batch<float>, batch_backward<float>, group<float>, group_backward<float>},
                         {batch<double>, batch_backward<double>, group<double>, group_backward<double>}};

}  // namespace
}  // namespace ISA
}  // namespace native
