// Loops over rows: softmax, layer norm, small products. Included several times by loops.cpp.

#include "vectors_body.h"

namespace native {
namespace ISA {
namespace {

// ---------------------------------------------------------------- few columns
// W rows at a time, turned so that a vector holds one column of them: then no part of a vector is idle. ``f`` gets the
// columns of ``a`` and ``b`` (which may be the same) and writes those of ``out``.
constexpr Size NARROW = 32, NARROWER = 8;  // up to where it is quicker, forward and backward

template <class T>
INLINE void turn(const T* x, V<T>* turned, Size rows, Size columns) {
    constexpr int W = Vec<T>::W;
    T lanes[NARROW * W];
    for (Size j = 0; j < columns; j++) {
        for (Size k = 0; k < rows; k++) lanes[j * W + k] = x[k * columns + j];
        for (Size k = rows; k < W; k++) lanes[j * W + k] = T(0);
    }
    std::memcpy(turned, lanes, sizeof(V<T>) * columns);
}

template <class T, class F>
INLINE void narrow_rows(const T* a, const T* b, T* out, Size rows, Size columns, F f) {
    constexpr int W = Vec<T>::W;
    V<T> left[NARROW], right[NARROW], made[NARROW];
    T lanes[NARROW * W];
    for (; rows > 0; rows -= W, a += W * columns, b += W * columns, out += W * columns) {
        const Size count = rows < W ? rows : W;
        turn(a, left, count, columns);
        if (a != b) turn(b, right, count, columns);
        f(left, right, made);
        std::memcpy(lanes, made, sizeof(V<T>) * columns);
        for (Size k = 0; k < count; k++)
            for (Size j = 0; j < columns; j++) out[k * columns + j] = lanes[j * W + k];
    }
}

template <class T>
INLINE V<T> log_of(V<T> x) {
    T lanes[Vec<T>::W];
    store(lanes, x);
    for (T& lane : lanes) lane = std::log(lane);
    return load(lanes);
}

// The largest of each row, and its elements less that.
template <class T>
INLINE void centre_rows(const V<T>* x, V<T>* out, Size columns) {
    V<T> top = splat(-std::numeric_limits<T>::infinity());
    for (Size j = 0; j < columns; j++) top = larger<T>(x[j], top);
    for (Size j = 0; j < columns; j++) out[j] = x[j] - top;
}

// ---------------------------------------------------------------- softmax
// A row's NaN needs no care: it is not the largest, but makes the sum NaN.
template <class T>
void softmax(const T* x, T* out, Size rows, Size columns) {
    if (columns <= NARROW)
        return narrow_rows<T>(x, x, out, rows, columns, [=](const V<T>* a, const V<T>*, V<T>* made) {
            centre_rows<T>(a, made, columns);
            V<T> sum = splat<T>(0);
            for (Size j = 0; j < columns; j++) sum += made[j] = exp_of<T>(made[j]);
            for (Size j = 0; j < columns; j++) made[j] = made[j] / sum;
        });
    const T least = -std::numeric_limits<T>::infinity();
    for (Size row = 0; row < rows; row++, x += columns, out += columns) {
        const T largest = row_max(x, columns);
        const V<T> top = splat(largest);
        T sum = sum_row<T>(columns, [=](Size i, Size count) {
            V<T> e = exp_of<T>(take(x + i, count, least) - top);
            put<T>(out + i, e, count);
            return e;
        });
        if (largest == least) sum = std::numeric_limits<T>::quiet_NaN();  // infinity less itself, also in lanes past the end
        const V<T> total = splat(sum);
        each<T>(columns, [=](Size i, Size count) {
            fetch(x + columns + i);
            put<T>(out + i, take(out + i, count, T(1)) / total, count);
        });
    }
}

template <class T>
void log_softmax(const T* x, T* out, Size rows, Size columns) {
    if (columns <= NARROW)
        return narrow_rows<T>(x, x, out, rows, columns, [=](const V<T>* a, const V<T>*, V<T>* made) {
            centre_rows<T>(a, made, columns);
            V<T> sum = splat<T>(0);
            for (Size j = 0; j < columns; j++) sum += exp_of<T>(made[j]);
            const V<T> less = log_of<T>(sum);
            for (Size j = 0; j < columns; j++) made[j] = made[j] - less;
        });
    const T least = -std::numeric_limits<T>::infinity();
    for (Size row = 0; row < rows; row++, x += columns, out += columns) {
        const T largest = row_max(x, columns);
        const V<T> top = splat(largest);
        T sum = sum_row<T>(columns, [=](Size i, Size count) { return exp_of<T>(take(x + i, count, least) - top); });
        if (largest == least) sum = std::numeric_limits<T>::quiet_NaN();
        const V<T> less = splat(T(std::log(sum)));
        each<T>(columns, [=](Size i, Size count) {
            fetch(x + columns + i);
            put<T>(out + i, take(x + i, count, T(0)) - top - less, count);
        });
    }
}

template <class T>
void softmax_backward(const T* grad, const T* result, T* out, Size rows, Size columns) {
    if (columns <= NARROWER)
        return narrow_rows<T>(grad, result, out, rows, columns, [=](const V<T>* g, const V<T>* r, V<T>* made) {
            V<T> sum = splat<T>(0);
            for (Size j = 0; j < columns; j++) sum += g[j] * r[j];
            for (Size j = 0; j < columns; j++) made[j] = (g[j] - sum) * r[j];
        });
    for (Size row = 0; row < rows; row++, grad += columns, result += columns, out += columns) {
        const V<T> sum = splat(sum_row<T>(
            columns, [=](Size i, Size count) { return take(grad + i, count, T(0)) * take(result + i, count, T(0)); }));
        each<T>(columns, [=](Size i, Size count) {
            fetch(grad + columns + i), fetch(result + columns + i);
            put<T>(out + i, (take(grad + i, count, T(0)) - sum) * take(result + i, count, T(0)), count);
        });
    }
}

template <class T>
void log_softmax_backward(const T* grad, const T* result, T* out, Size rows, Size columns) {
    if (columns <= NARROWER)
        return narrow_rows<T>(grad, result, out, rows, columns, [=](const V<T>* g, const V<T>* r, V<T>* made) {
            V<T> sum = splat<T>(0);
            for (Size j = 0; j < columns; j++) sum += g[j];
            for (Size j = 0; j < columns; j++) made[j] = g[j] - exp_of<T>(r[j]) * sum;
        });
    for (Size row = 0; row < rows; row++, grad += columns, result += columns, out += columns) {
        const V<T> sum = splat(sum_row<T>(columns, [=](Size i, Size count) { return take(grad + i, count, T(0)); }));
        each<T>(columns, [=](Size i, Size count) {
            fetch(grad + columns + i);
            put<T>(out + i, take(grad + i, count, T(0)) - exp_of<T>(take(result + i, count, T(0))) * sum, count);
        });
    }
}

// ---------------------------------------------------------------- layer norm
template <class T>
void layer_norm(const T* x, const T* weight, const T* bias, T eps, T* out, T* mean, T* rstd, Size rows, Size columns) {
    for (Size row = 0; row < rows; row++, x += columns, out += columns) {
        const T middle = sum_row<T>(columns, [=](Size i, Size count) { return take(x + i, count, T(0)); }) / T(columns);
        const V<T> centre = splat(middle);
        const T square = sum_row<T>(columns, [=](Size i, Size count) {
            V<T> d = take(x + i, count, middle) - centre;
            return d * d;
        });
        const T scale = T(1) / std::sqrt(square / T(columns) + eps);
        mean[row] = middle;
        rstd[row] = scale;
        const V<T> factor = splat(scale);
        each<T>(columns, [=](Size i, Size count) {
            fetch(x + columns + i);
            V<T> y = (take(x + i, count, T(0)) - centre) * factor;
            if (weight != nullptr) y = y * take(weight + i, count, T(0));
            if (bias != nullptr) y = y + take(bias + i, count, T(0));
            put<T>(out + i, y, count);
        });
    }
}

// The gradients of weight and bias are sums over rows: a few rows at a time first, so that the error stays small.
template <class T>
void layer_norm_backward(const T* grad, const T* x, const T* mean, const T* rstd, const T* weight, T* dx, T* dweight, T* dbias,
                         T* scratch, Size rows, Size columns) {
    constexpr Size BATCH = 64;
    T *part_weight = scratch, *part_bias = scratch + columns;
    if (dweight != nullptr) std::memset(dweight, 0, sizeof(T) * columns);
    if (dbias != nullptr) std::memset(dbias, 0, sizeof(T) * columns);
    for (Size begin = 0; begin < rows; begin += BATCH) {
        Size end = begin + BATCH < rows ? begin + BATCH : rows;
        if (dweight != nullptr) std::memset(part_weight, 0, sizeof(T) * columns);
        if (dbias != nullptr) std::memset(part_bias, 0, sizeof(T) * columns);
        for (Size row = begin; row < end; row++) {
            const T *g = grad + row * columns, *v = x + row * columns;
            const T middle = mean[row];
            const V<T> centre = splat(middle), factor = splat(rstd[row]);
            const Pair<T> sums = sum_lanes<T, Pair<T>>(0, columns, [=](Size i, Size count) {
                V<T> h = take(g + i, count, T(0)), product = h * ((take(v + i, count, middle) - centre) * factor);
                if (dweight != nullptr) put<T>(part_weight + i, take(part_weight + i, count, T(0)) + product, count);
                if (dbias != nullptr) put<T>(part_bias + i, take(part_bias + i, count, T(0)) + h, count);
                if (weight == nullptr) return Pair<T>{h, product};
                V<T> w = take(weight + i, count, T(0));
                return Pair<T>{h * w, product * w};
            });
            if (dx == nullptr) continue;
            const V<T> by_grad = splat(sum_of<T>(sums.first) / T(columns)), by_product = splat(sum_of<T>(sums.second) / T(columns));
            T* out = dx + row * columns;
            each<T>(columns, [=](Size i, Size count) {
                fetch(g + columns + i), fetch(v + columns + i);
                V<T> h = take(g + i, count, T(0)), normal = (take(v + i, count, T(0)) - centre) * factor;
                if (weight != nullptr) h = h * take(weight + i, count, T(0));
                put<T>(out + i, (h - normal * by_product - by_grad) * factor, count);
            });
        }
        for (Size i = 0; i < columns; i++) {
            if (dweight != nullptr) dweight[i] += part_weight[i];
            if (dbias != nullptr) dbias[i] += part_bias[i];
        }
    }
}

// ---------------------------------------------------------------- small matrix products
// Up to four vectors of a row of the result stay in registers while the inner dimension is walked.
template <class T, int N>
inline void product_tile(const T* a, Size a_row, Size a_column, const T* b, Size b_row, T* out, Size columns, Size rows, Size inner,
                         Size last) {
    constexpr int W = Vec<T>::W;
    for (Size i = 0; i < rows; i++, a += a_row, out += columns) {
        V<T> sums[N];
        for (int k = 0; k < N - 1; k++) sums[k] = load(out + k * W);
        sums[N - 1] = take(out + (N - 1) * W, last, T(0));
        const T* line = b;
        for (Size l = 0; l < inner; l++, line += b_row) {
            const V<T> factor = splat(a[l * a_column]);
            for (int k = 0; k < N - 1; k++) sums[k] += factor * load(line + k * W);
            sums[N - 1] += factor * take(line + (N - 1) * W, last, T(0));
        }
        for (int k = 0; k < N - 1; k++) store(out + k * W, sums[k]);
        put<T>(out + (N - 1) * W, sums[N - 1], last);
    }
}

template <class T>
void product(const T* a, Size a_row, Size a_column, const T* b, Size b_row, T* out, Size rows, Size inner, Size columns) {
    constexpr int W = Vec<T>::W;
    for (Size j = 0; j < columns; j += 4 * W) {
        Size left = columns - j;
        Size vectors = left >= 4 * W ? 4 : (left + W - 1) / W;
        Size last = left >= 4 * W ? W : left - (vectors - 1) * W;
        auto tile = vectors == 4 ? product_tile<T, 4> : vectors == 3 ? product_tile<T, 3>
                  : vectors == 2 ? product_tile<T, 2> : product_tile<T, 1>;
        tile(a, a_row, a_column, b + j, b_row, out + j, columns, rows, inner, last);
    }
}

// ---------------------------------------------------------------- the table
template <class T>
constexpr LoopsOf<T> all() {
    return {softmax<T>,    log_softmax<T>,         softmax_backward<T>, log_softmax_backward<T>,
            layer_norm<T>, layer_norm_backward<T>, product<T>};
}

const Loops table = {all<float>(), all<double>()};

}  // namespace
}  // namespace ISA
}  // namespace native
