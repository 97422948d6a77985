// The steps of recurrent layers: no guard, see rnn.cpp. The weight is packed once for all steps, and each task takes some
// sequences of the batch through all of them: nothing passes between tasks.

#include "vectors_body.h"
#include "tiles_body.h"

namespace native {
namespace ISA {
namespace {

// ---------------------------------------------------------------- squashing
// tanh(x) = x + x^3 q(x^2) for |x| <= 5/8; q is the polynomial through its values at Chebyshev's nodes.
template <class T>
struct Tanh;

template <>
struct Tanh<float> {
    static INLINE V<float> q(V<float> z) {
        V<float> p = z * -0.006096714f + 0.02099718f;
        p = p * z - 0.053850908f;
        p = p * z + 0.1333277f;
        return p * z - 0.33333328f;
    }
};

template <>
struct Tanh<double> {
    static INLINE V<double> q(V<double> z) {
        V<double> p = z * 6.460507997336657e-06 - 3.114321548537633e-05;
        p = p * z + 9.251188424619021e-05;
        p = p * z - 0.00023755592500537817;
        p = p * z + 0.0005896478343692305;
        p = p * z - 0.0014557723112801745;
        p = p * z + 0.0035921212574648587;
        p = p * z - 0.008863235052524815;
        p = p * z + 0.021869488515807004;
        p = p * z - 0.05396825396778332;
        p = p * z + 0.13333333333332847;
        return p * z - 0.3333333333333333;
    }
};

template <class T>
INLINE V<T> squash(V<T> x) {  // tanh
    const V<T> size = x < T(0) ? -x : x;
    const V<T> far = T(1) - T(2) / (exp_of<T>(size + size) + T(1));
    const V<T> z = x * x, near = x + x * z * Tanh<T>::q(z);
    return size <= T(0.625) ? near : (x < T(0) ? -far : far);
}

template <class T>
INLINE V<T> open(V<T> x) {  // the logistic function
    return T(1) / (exp_of<T>(-x) + T(1));
}

// ---------------------------------------------------------------- products with the state
// b[k, j] of the products that a state meets, as panels; its element is weight[j, k], or weight[k, j] on the way back.
template <class T>
void pack_weight(const T* weight, Size rows, Size columns, bool turned, T* packed) {
    const Size depth = turned ? columns : rows, across = turned ? rows : columns;
    const Size padded = padded_columns<T>(across);
    for (Size j = 0; j < padded; j += PANEL<T>) {
        const Size wide = padded - j < PANEL<T> ? padded - j : PANEL<T>, valid = across - j < wide ? across - j : wide;
        T* to = packed + depth * j;
        if (valid < wide) std::memset(to, 0, sizeof(T) * depth * wide);
        if (turned)
            turn_matrix(weight + j * columns, columns, valid, columns, to, wide);
        else
            for (Size k = 0; k < depth; k++) std::memcpy(to + k * wide, weight + k * columns + j, sizeof(T) * valid);
    }
}

template <class T>
INLINE void times_weight(const T* a, Size rows, Size depth, const T* packed, Size columns, T* out) {
    const Size zero = 0, padded = padded_columns<T>(columns);
    each_panel<T>(columns, [&](Size j, int vectors) {
        multiply<T, true>(a, depth, rows, Runs{&zero, 1, depth}, packed + depth * j, vectors * Vec<T>::W, vectors, out + j, padded,
                          false);
    });
}

// Sequences for a task: all of them if there is but one thread, since each task reads the whole weight at each step.
INLINE Size sequences_of(Size batch) {
    const Size threads = thread_count(), each = (batch + threads - 1) / threads;
    return each < 4 ? 4 : each;
}

template <class T>
struct Gate {  // the products, their state part, and biases, of one kind of gate in one sequence
    const T *product, *part, *bias, *state_bias;

    INLINE V<T> input(Size i, Size some) const {
        const V<T> v = take(product + i, some, T(0));
        return bias == nullptr ? v : v + take(bias + i, some, T(0));
    }
    INLINE V<T> state(Size i, Size some) const {
        const V<T> v = take(part + i, some, T(0));
        return state_bias == nullptr ? v : v + take(state_bias + i, some, T(0));
    }
    INLINE V<T> both(Size i, Size some) const { return input(i, some) + state(i, some); }
};

// For each step and sequence: f(its number among all, gates of that, number of the one before or -1).
template <class T, class F>
bool each_step(const Steps<T>& s, F f) {
    const Size width = s.kinds * s.size, padded = padded_columns<T>(width);
    T* packed = static_cast<T*>(thread_scratch(sizeof(T) * (s.size * padded + 64), 0));
    if (packed == nullptr) return false;
    pack_weight(s.weight, width, s.size, true, packed);
    std::atomic<bool> failed{false};
    parallel_for(s.batch, sequences_of(s.batch), [&](Size begin, Size end) {
        const Size count = end - begin;
        T* part = static_cast<T*>(thread_scratch(sizeof(T) * (count * padded + 64), 1));
        if (part == nullptr) {
            failed = true;
            return;
        }
        const T* before = s.h + begin * s.size;
        const T* before_c = s.c == nullptr ? nullptr : s.c + begin * s.size;
        for (Size i = 0; i < s.steps; i++) {
            const Size first = (s.reverse ? s.steps - 1 - i : i) * s.batch + begin;
            times_weight(before, count, s.size, packed, width, part);
            for (Size b = 0; b < count; b++) {
                T* gates = s.gates + (first + b) * width;
                Gate<T> gate[4];
                for (Size k = 0; k < s.kinds; k++)
                    gate[k] = {gates + k * s.size, part + b * padded + k * s.size,
                               s.bias == nullptr ? nullptr : s.bias + k * s.size,
                               s.state_bias == nullptr ? nullptr : s.state_bias + k * s.size};
                f(first + b, gates, gate, before + b * s.size, before_c == nullptr ? nullptr : before_c + b * s.size);
            }
            before = s.hs + first * s.size;
            if (before_c != nullptr) before_c = s.cs + first * s.size;
        }
    });
    return !failed;
}

template <class T>
bool lstm(const Steps<T>& s) {
    return each_step(s, [&](Size n, T* gates, const Gate<T>* gate, const T*, const T* before_c) {
        T *h = s.hs + n * s.size, *c = s.cs + n * s.size, *extra = s.extra + n * s.size;
        each<T>(s.size, [=](Size j, Size some) {
            const V<T> i = open<T>(gate[0].both(j, some)), f = open<T>(gate[1].both(j, some));
            const V<T> g = squash<T>(gate[2].both(j, some)), o = open<T>(gate[3].both(j, some));
            const V<T> cell = f * take(before_c + j, some, T(0)) + i * g, t = squash<T>(cell);
            put<T>(gates + j, i, some);
            put<T>(gates + s.size + j, f, some);
            put<T>(gates + 2 * s.size + j, g, some);
            put<T>(gates + 3 * s.size + j, o, some);
            put<T>(c + j, cell, some);
            put<T>(extra + j, t, some);
            put<T>(h + j, o * t, some);
        });
    });
}

template <class T>
bool gru(const Steps<T>& s) {
    return each_step(s, [&](Size n, T* gates, const Gate<T>* gate, const T* before, const T*) {
        T *h = s.hs + n * s.size, *extra = s.extra + n * s.size;
        each<T>(s.size, [=](Size j, Size some) {
            const V<T> r = open<T>(gate[0].both(j, some)), z = open<T>(gate[1].both(j, some)), state = gate[2].state(j, some);
            const V<T> m = squash<T>(gate[2].input(j, some) + r * state);
            put<T>(gates + j, r, some);
            put<T>(gates + s.size + j, z, some);
            put<T>(gates + 2 * s.size + j, m, some);
            put<T>(extra + j, state, some);
            put<T>(h + j, (take(before + j, some, T(0)) - m) * z + m, some);
        });
    });
}

template <class T>
bool plain(const Steps<T>& s) {
    return each_step(s, [&](Size n, T*, const Gate<T>* gate, const T*, const T*) {
        T* h = s.hs + n * s.size;
        each<T>(s.size, [=](Size j, Size some) { put<T>(h + j, squash<T>(gate[0].both(j, some)), some); });
    });
}

// ---------------------------------------------------------------- backward
// For each step and sequence, the last step first: f(its number among all, dh, dc). f replaces dh by what does not come
// through the weight, and writes the gradients that do.
template <class T, class F>
bool each_step_back(const StepsBackward<T>& s, F f) {
    const Size width = s.kinds * s.size, padded = padded_columns<T>(s.size);
    T* packed = static_cast<T*>(thread_scratch(sizeof(T) * (width * padded + 64), 0));
    if (packed == nullptr) return false;
    pack_weight(s.weight, width, s.size, false, packed);
    const T* through = s.by_state == nullptr ? s.by_gates : s.by_state;
    std::atomic<bool> failed{false};
    parallel_for(s.batch, sequences_of(s.batch), [&](Size begin, Size end) {
        const Size count = end - begin;
        T* part = static_cast<T*>(thread_scratch(sizeof(T) * (count * padded + 64), 1));
        if (part == nullptr) {
            failed = true;
            return;
        }
        for (Size i = s.steps - 1; i >= 0; i--) {
            const Size first = (s.reverse ? s.steps - 1 - i : i) * s.batch + begin;
            for (Size b = 0; b < count; b++)
                f(first + b, s.dh + (begin + b) * s.size, s.dc == nullptr ? nullptr : s.dc + (begin + b) * s.size);
            times_weight(through + first * width, count, width, packed, s.size, part);
            for (Size b = 0; b < count; b++) {
                T* dh = s.dh + (begin + b) * s.size;
                const T* more = part + b * padded;
                each<T>(s.size, [=](Size j, Size some) { put<T>(dh + j, take(dh + j, some, T(0)) + take(more + j, some, T(0)), some); });
            }
        }
    });
    return !failed;
}

template <class T>
bool lstm_backward(const StepsBackward<T>& s) {
    return each_step_back(s, [&](Size n, T* dh, T* dc) {
        const Size size = s.size;
        const T *gates = s.gates + n * 4 * size, *extra = s.extra + n * size, *by_out = s.by_out + n * size;
        const T* before = s.before_c + n * size;
        T* to = s.by_gates + n * 4 * size;
        each<T>(size, [=](Size j, Size some) {
            const V<T> i = take(gates + j, some, T(0)), f = take(gates + size + j, some, T(0));
            const V<T> g = take(gates + 2 * size + j, some, T(0)), o = take(gates + 3 * size + j, some, T(0));
            const V<T> t = take(extra + j, some, T(0)), h = take(dh + j, some, T(0)) + take(by_out + j, some, T(0));
            const V<T> c = take(dc + j, some, T(0)) + h * (o * (T(1) - t * t));
            put<T>(to + j, c * (g * (i - i * i)), some);
            put<T>(to + size + j, c * (take(before + j, some, T(0)) * (f - f * f)), some);
            put<T>(to + 2 * size + j, c * (i * (T(1) - g * g)), some);
            put<T>(to + 3 * size + j, h * (t * (o - o * o)), some);
            put<T>(dc + j, c * f, some);
            put<T>(dh + j, V<T>{}, some);
        });
    });
}

template <class T>
bool gru_backward(const StepsBackward<T>& s) {
    return each_step_back(s, [&](Size n, T* dh, T*) {
        const Size size = s.size;
        const T *gates = s.gates + n * 3 * size, *extra = s.extra + n * size, *by_out = s.by_out + n * size;
        const T* before = s.before_h + n * size;
        T *to = s.by_gates + n * 3 * size, *to_state = s.by_state + n * 3 * size;
        each<T>(size, [=](Size j, Size some) {
            const V<T> r = take(gates + j, some, T(0)), z = take(gates + size + j, some, T(0));
            const V<T> m = take(gates + 2 * size + j, some, T(0)), h = take(dh + j, some, T(0)) + take(by_out + j, some, T(0));
            const V<T> by_new = h * ((T(1) - z) * (T(1) - m * m)), by_reset = by_new * (take(extra + j, some, T(0)) * (r - r * r));
            const V<T> by_update = h * ((take(before + j, some, T(0)) - m) * (z - z * z));
            put<T>(to + j, by_reset, some);
            put<T>(to + size + j, by_update, some);
            put<T>(to + 2 * size + j, by_new, some);
            put<T>(to_state + j, by_reset, some);
            put<T>(to_state + size + j, by_update, some);
            put<T>(to_state + 2 * size + j, by_new * r, some);
            put<T>(dh + j, h * z, some);
        });
    });
}

template <class T>
bool plain_backward(const StepsBackward<T>& s) {
    return each_step_back(s, [&](Size n, T* dh, T*) {
        const T *out = s.after_h + n * s.size, *by_out = s.by_out + n * s.size;
        T* to = s.by_gates + n * s.size;
        each<T>(s.size, [=](Size j, Size some) {
            const V<T> h = take(out + j, some, T(0));
            put<T>(to + j, (take(dh + j, some, T(0)) + take(by_out + j, some, T(0))) * (T(1) - h * h), some);
            put<T>(dh + j, V<T>{}, some);
        });
    });
}

const RnnLoops table = {
    {lstm<float>, lstm_backward<float>, gru<float>, gru_backward<float>, plain<float>, plain_backward<float>},
    {lstm<double>, lstm_backward<double>, gru<double>, gru_backward<double>, plain<double>, plain_backward<double>}};

}  // namespace
}  // namespace ISA
}  // namespace native
