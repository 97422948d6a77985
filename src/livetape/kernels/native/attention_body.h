// Scaled dot-product attention in tiles (Dao et al. 2022): no guard, see attention.cpp. Scores exist for a block of queries
// and a block of keys at a time; sums that were made with a smaller maximum are scaled when a larger one turns up.

#include "vectors_body.h"
#include "tiles_body.h"

namespace native {
namespace ISA {
namespace {

constexpr Size QUERIES = 32, QUERIES_BACK = 64, KEYS = 256, CHUNK = 128;  // CHUNK: queries of a task

INLINE Size fewer(Size a, Size b) { return a < b ? a : b; }

// Panels for `tile` of a matrix of rows: with ``turned`` its rows become columns.
template <class T>
void pack_rows(const T* x, Size x_row, Size rows, Size width, bool turned, T* packed) {
    const Size depth = turned ? width : rows, across = turned ? rows : width, padded = padded_columns<T>(across);
    for (Size j = 0; j < padded; j += PANEL<T>) {
        const Size wide = fewer(PANEL<T>, padded - j), valid = fewer(wide, across - j);
        T* to = packed + depth * j;
        if (valid < wide) std::memset(to, 0, sizeof(T) * depth * wide);
        if (turned)
            turn_matrix(x + j * x_row, x_row, valid, width, to, wide);
        else
            for (Size k = 0; k < depth; k++) std::memcpy(to + k * wide, x + k * x_row + j, sizeof(T) * valid);
    }
}

// Rows of whole vectors.
template <class T>
void pad_rows(const T* x, Size x_row, Size rows, Size width, T* out, Size padded) {
    for (Size i = 0; i < rows; i++, out += padded) {
        std::memcpy(out, x + i * x_row, sizeof(T) * width);
        if (padded > width) std::memset(out + width, 0, sizeof(T) * (padded - width));
    }
}

// out (+)= a times some of the columns, or rows, of packed panels with ``depth`` rows.
template <class T>
INLINE void times_columns(const T* a, Size a_row, Size rows, Size depth, const T* packed, Size first, Size columns, T* out, Size out_row,
                          Size all) {
    const Size zero = 0, padded = padded_columns<T>(all);
    each_panel<T>(columns, [&](Size j, int) {
        const Size wide = fewer(PANEL<T>, padded - first - j);
        multiply<T, true>(a, a_row, rows, Runs{&zero, 1, depth}, packed + depth * (first + j), wide, wide > Vec<T>::W ? 2 : 1, out + j,
                          out_row, false);
    });
}

template <class T>
INLINE void times_rows(const T* a, Size a_row, Size rows, const T* packed, Size depth, Size first, Size count, Size columns, T* out,
                       Size out_row) {
    const Size zero = 0, padded = padded_columns<T>(columns);
    each_panel<T>(columns, [&](Size j, int vectors) {
        const Size wide = fewer(PANEL<T>, padded - j);
        multiply<T, true>(a, a_row, rows, Runs{&zero, 1, count}, packed + depth * j + first * wide, wide, vectors, out + j, out_row, true);
    });
}

// out += a turned times b, for ``rows`` rows of both.
template <class T>
INLINE void times_turned(const T* a, Size a_row, Size across, Size rows, const T* b, Size b_row, Size columns, T* out, Size out_row) {
    const Size zero = 0;
    each_panel<T>(columns, [&](Size j, int vectors) {
        multiply<T, false>(a, a_row, across, Runs{&zero, 1, rows}, b + j, b_row, vectors, out + j, out_row, true);
    });
}

// Products of a query and some keys become scores, scaled and masked; gives the largest.
template <class T>
T finish_scores(const Attention<T>& a, Size b, Size h, Size query, Size first, Size count, T* scores) {
    constexpr T none = -std::numeric_limits<T>::infinity();
    const T scale = a.scale;
    each<T>(count, [=](Size i, Size some) { put<T>(scores + i, take(scores + i, some, T(0)) * scale, some); });
    if (a.mask != Mask::NONE) {
        const Size start = b * a.mask_batch + h * a.mask_head + query * a.mask_row + first * a.mask_column, step = a.mask_column;
        if (a.mask == Mask::ADDED) {
            const T* mask = static_cast<const T*>(a.mask_data) + start;
            for (Size i = 0; i < count; i++) scores[i] += mask[i * step];
        } else {
            const bool* mask = static_cast<const bool*>(a.mask_data) + start;
            for (Size i = 0; i < count; i++) scores[i] = mask[i * step] ? scores[i] : none;
        }
    }
    return row_max(scores, count);
}

// How many of the keys from ``first`` on a query attends to.
template <class T>
INLINE Size attended(const Attention<T>& a, Size query, Size first, Size count) {
    if (!a.causal) return count;
    const Size left = query + 1 - first;
    return left < 0 ? 0 : fewer(count, left);
}

template <class T>
INLINE T exp_less(T* scores, T less, Size count) {  // and their sum
    const V<T> shift = splat(less);
    const T none = -std::numeric_limits<T>::infinity();
    return sum_row<T>(count, [=](Size i, Size some) {
        const V<T> e = exp_of<T>(take(scores + i, some, none) - shift);
        put<T>(scores + i, e, some);
        return e;
    });
}

template <class T>
INLINE void scale_row(const T* x, T factor, T* out, Size count) {
    each<T>(count, [=](Size i, Size some) { put<T>(out + i, take(x + i, some, T(0)) * factor, some); });
}

template <class T>
bool attend(const Attention<T>& a) {
    constexpr T none = -std::numeric_limits<T>::infinity();
    const Size padded = padded_columns<T>(a.width), across = padded_columns<T>(a.keys);
    const Size block = fewer(KEYS, across), chunks = (a.queries + CHUNK - 1) / CHUNK;
    std::atomic<bool> failed{false};
    const Size cost = a.keys * fewer(a.queries, CHUNK) * a.width / 4;
    parallel_for(a.batch * a.heads * chunks, grain_for(cost), [&](Size begin, Size end) {
        const Size of_keys = a.width * across, of_values = a.keys * padded;
        T* memory = static_cast<T*>(
            thread_scratch(sizeof(T) * (of_keys + of_values + QUERIES * (block + padded + 2) + 64), 0));
        if (memory == nullptr) {
            failed = true;
            return;
        }
        T *keys = memory, *values = keys + of_keys, *scores = values + of_values, *sums = scores + QUERIES * block;
        T *tops = sums + QUERIES * padded, *totals = tops + QUERIES;
        Size packed = -1;  // which head's keys and values are packed
        for (Size task = begin; task < end; task++) {
            const Size number = task / chunks, b = number / a.heads, h = number % a.heads;
            const Size start = task % chunks * CHUNK, stop = fewer(a.queries, start + CHUNK);
            if (packed != number) {
                pack_rows(a.k.at(b, h), a.k.row, a.keys, a.width, true, keys);
                pack_rows(a.v.at(b, h), a.v.row, a.keys, a.width, false, values);
                packed = number;
            }
            for (Size i = start; i < stop; i += QUERIES) {
                const Size rows = fewer(QUERIES, stop - i), reach = a.causal ? fewer(a.keys, i + rows) : a.keys;
                for (Size r = 0; r < rows; r++) tops[r] = none, totals[r] = 0;
                std::memset(sums, 0, sizeof(T) * rows * padded);
                for (Size first = 0; first < reach; first += block) {
                    const Size count = fewer(block, reach - first);
                    times_columns(a.q.at(b, h) + i * a.q.row, a.q.row, rows, a.width, keys, first, count, scores, block, a.keys);
                    for (Size r = 0; r < rows; r++) {
                        T* row = scores + r * block;
                        const Size some = attended(a, i + r, first, count);
                        const T top = finish_scores(a, b, h, i + r, first, some, row);
                        const T higher = top > tops[r] ? top : tops[r], shift = higher == none ? T(0) : higher;
                        const T less = first == 0 ? T(0) : std::exp(tops[r] - shift);
                        totals[r] = totals[r] * less + exp_less(row, shift, some);
                        for (Size c = some; c < count; c++) row[c] = 0;
                        if (first > 0 && less != 1) scale_row(sums + r * padded, less, sums + r * padded, a.width);
                        tops[r] = higher;
                    }
                    times_rows(scores, block, rows, values, a.keys, first, count, a.width, sums, padded);
                }
                for (Size r = 0; r < rows; r++) {
                    const T total = totals[r], shift = tops[r] == none ? T(0) : tops[r];
                    scale_row(sums + r * padded, total == 0 ? T(0) : T(1) / total, a.out.at(b, h) + (i + r) * a.out.row, a.width);
                    a.logs[number * a.queries + i + r] = shift + std::log(total);
                }
            }
        }
    });
    return !failed;
}

// ---------------------------------------------------------------- backward
// The weights of a query from its scores, and from the gradients of these weights those of the products.
template <class T>
INLINE void weigh(T* scores, T* by_weights, T log_sum, T dot, T scale, Size count) {
    const V<T> shift = splat(log_sum), centre = splat(dot), factor = splat(scale);
    const T none = -std::numeric_limits<T>::infinity();
    each<T>(count, [=](Size i, Size some) {
        const V<T> w = exp_of<T>(take(scores + i, some, none) - shift);
        const V<T> d = w * (take(by_weights + i, some, T(0)) - centre) * factor;
        put<T>(scores + i, w, some);
        put<T>(by_weights + i, w == T(0) ? V<T>{} : d, some);
    });
}

template <class T>
bool attend_backward(const Attention<T>& a) {
    constexpr T none = -std::numeric_limits<T>::infinity();
    const Size padded = padded_columns<T>(a.width), across = padded_columns<T>(a.keys), block = fewer(KEYS, across);
    std::atomic<bool> failed{false};
    parallel_for(a.batch * a.heads, 1, [&](Size begin, Size end) {
        const Size turned = a.width * across, rowwise = a.keys * padded, of_queries = QUERIES_BACK * padded;
        T* memory = static_cast<T*>(thread_scratch(
            sizeof(T) * (2 * turned + 3 * rowwise + 3 * of_queries + 2 * QUERIES_BACK * block + 64), 0));
        if (memory == nullptr) {
            failed = true;
            return;
        }
        T *keys_turned = memory, *values_turned = keys_turned + turned, *keys = values_turned + turned, *dk = keys + rowwise;
        T *dv = dk + rowwise, *queries = dv + rowwise, *grads = queries + of_queries, *dq = grads + of_queries;
        T *weights = dq + of_queries, *by_weights = weights + QUERIES_BACK * block;
        for (Size number = begin; number < end; number++) {
            const Size b = number / a.heads, h = number % a.heads;
            pack_rows(a.k.at(b, h), a.k.row, a.keys, a.width, true, keys_turned);
            pack_rows(a.v.at(b, h), a.v.row, a.keys, a.width, true, values_turned);
            pack_rows(a.k.at(b, h), a.k.row, a.keys, a.width, false, keys);
            std::memset(dk, 0, sizeof(T) * 2 * rowwise);
            for (Size i = 0; i < a.queries; i += QUERIES_BACK) {
                const Size rows = fewer(QUERIES_BACK, a.queries - i), reach = a.causal ? fewer(a.keys, i + rows) : a.keys;
                pad_rows(a.q.at(b, h) + i * a.q.row, a.q.row, rows, a.width, queries, padded);
                pad_rows(a.grad.at(b, h) + i * a.grad.row, a.grad.row, rows, a.width, grads, padded);
                std::memset(dq, 0, sizeof(T) * rows * padded);
                for (Size first = 0; first < reach; first += block) {
                    const Size count = fewer(block, reach - first);
                    times_columns(queries, padded, rows, a.width, keys_turned, first, count, weights, block, a.keys);
                    times_columns(grads, padded, rows, a.width, values_turned, first, count, by_weights, block, a.keys);
                    for (Size r = 0; r < rows; r++) {
                        T *row = weights + r * block, *by_row = by_weights + r * block;
                        const T log_sum = a.logs[number * a.queries + i + r];
                        const Size some = log_sum == none ? 0 : attended(a, i + r, first, count);
                        const T *grad = grads + r * padded, *result = a.result.at(b, h) + (i + r) * a.result.row;
                        const T dot = sum_row<T>(
                            a.width, [=](Size c, Size few) { return take(grad + c, few, T(0)) * take(result + c, few, T(0)); });
                        finish_scores(a, b, h, i + r, first, some, row);
                        weigh(row, by_row, log_sum, dot, a.scale, some);
                        for (Size c = some; c < count; c++) row[c] = by_row[c] = 0;
                    }
                    times_turned(weights, block, count, rows, grads, padded, a.width, dv + first * padded, padded);
                    times_turned(by_weights, block, count, rows, queries, padded, a.width, dk + first * padded, padded);
                    times_rows(by_weights, block, rows, keys, a.keys, first, count, a.width, dq, padded);
                }
                for (Size r = 0; r < rows; r++)
                    std::memcpy(a.dq.at(b, h) + (i + r) * a.dq.row, dq + r * padded, sizeof(T) * a.width);
            }
            for (Size j = 0; j < a.keys; j++) {
                std::memcpy(a.dk.at(b, h) + j * a.dk.row, dk + j * padded, sizeof(T) * a.width);
                std::memcpy(a.dv.at(b, h) + j * a.dv.row, dv + j * padded, sizeof(T) * a.width);
            }
        }
    });
    return !failed;
}

const AttentionLoops table = {{attend<float>, attend_backward<float>}, {attend<double>, attend_backward<double>}};

}  // namespace
}  // namespace ISA
}  // namespace native
