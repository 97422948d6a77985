// The loops of optimisers, in one pass over memory; see steps.h. Their formulas are those of optim/_kernels.py.

#include "vectors_body.h"

namespace native {
namespace ISA {
namespace {

// The gradient as the formulas use it: turned for maximisation, with the decay added.
template <class T>
INLINE V<T> slope(const T* grad, V<T> param, Size count, const StepNumbers<T>& by) {
    V<T> g = take(grad, count, T(0));
    if (by.turn) g = -g;
    return by.decays ? param * by.decay + g : g;
}

// Which of the numbers are on is asked once, not for each vector.
template <class T, class F>
INLINE void with_known(const StepNumbers<T>& by, F f) {
    StepNumbers<T> known = by;
    if (!by.turn && !by.decays && !by.shrinks) {
        known.turn = known.decays = known.shrinks = false;
        f(known);
    } else if (!by.turn && !by.decays) {
        known.turn = known.decays = false;
        f(known);
    } else {
        f(known);
    }
}

template <class T>
void sgd(T* const* arrays, Size n, const StepNumbers<T>& numbers) {
    T* p = arrays[0];
    const T* g = arrays[1];
    with_known(numbers, [=](const StepNumbers<T>& by) {
        each<T>(n, [=](Size i, Size count) {
            const V<T> v = take(p + i, count, T(0));
            put<T>(p + i, v - slope(g + i, v, count, by) * by.rate, count);
        });
    });
}

template <class T>
void momentum(T* const* arrays, Size n, const StepNumbers<T>& numbers) {
    T *p = arrays[0], *b = arrays[2];
    const T* g = arrays[1];
    with_known(numbers, [=](const StepNumbers<T>& by) {
        each<T>(n, [=](Size i, Size count) {
            const V<T> v = take(p + i, count, T(0)), d = slope(g + i, v, count, by);
            const V<T> kept = take(b + i, count, T(0)) * by.momentum + d * by.keep;
            put<T>(b + i, kept, count);
            put<T>(p + i, v - (by.nesterov ? kept * by.momentum + d : kept) * by.rate, count);
        });
    });
}

// arrays: param, grad, mean, square, the largest square or null
template <class T>
void adam(T* const* arrays, Size n, const StepNumbers<T>& numbers) {
    T *p = arrays[0], *m = arrays[2], *s = arrays[3], *largest = arrays[4];
    const T* g = arrays[1];
    with_known(numbers, [=](const StepNumbers<T>& by) {
        each<T>(n, [=](Size i, Size count) {
            V<T> v = take(p + i, count, T(0));
            if (by.shrinks) v = v * by.shrink;
            const V<T> d = slope(g + i, v, count, by), before = take(m + i, count, T(0));
            const V<T> mean = before + (d - before) * by.keep;
            V<T> square = take(s + i, count, T(0)) * by.second + d * by.keep_second * d;
            put<T>(m + i, mean, count);
            put<T>(s + i, square, count);
            if (largest != nullptr) {
                const V<T> top = take(largest + i, count, T(0));
                square = square > top ? square : square == square ? top : square;  // NaN stays
                put<T>(largest + i, square, count);
            }
            put<T>(p + i, v - mean * by.rate / (root_of(square) / by.bias + by.eps), count);
        });
    });
}

// arrays: param, grad, square, the mean of gradients if centered, the buffer of momentum or null
template <class T>
void rmsprop(T* const* arrays, Size n, const StepNumbers<T>& numbers) {
    T *p = arrays[0], *s = arrays[2], *m = arrays[3], *b = arrays[4];
    const T* g = arrays[1];
    with_known(numbers, [=](const StepNumbers<T>& by) {
        each<T>(n, [=](Size i, Size count) {
            const V<T> v = take(p + i, count, T(0)), d = slope(g + i, v, count, by);
            V<T> square = take(s + i, count, T(0)) * by.second + d * by.keep_second * d;
            put<T>(s + i, square, count);
            if (by.centered) {
                const V<T> before = take(m + i, count, T(0)), mean = before + (d - before) * by.keep_second;
                put<T>(m + i, mean, count);
                square = square - mean * mean;
            }
            const V<T> root = root_of(square) + by.eps;
            if (b == nullptr) return put<T>(p + i, v - d * by.rate / root, count);
            const V<T> kept = take(b + i, count, T(0)) * by.momentum + d / root;
            put<T>(b + i, kept, count);
            put<T>(p + i, v - kept * by.rate, count);
        });
    });
}

// arrays: param, grad, sum of squares
template <class T>
void adagrad(T* const* arrays, Size n, const StepNumbers<T>& numbers) {
    T *p = arrays[0], *s = arrays[2];
    const T* g = arrays[1];
    with_known(numbers, [=](const StepNumbers<T>& by) {
        each<T>(n, [=](Size i, Size count) {
            const V<T> v = take(p + i, count, T(0)), d = slope(g + i, v, count, by);
            const V<T> sum = take(s + i, count, T(0)) + d * d;
            put<T>(s + i, sum, count);
            put<T>(p + i, v - d * by.rate / (root_of(sum) + by.eps), count);
        });
    });
}

template <class T>
constexpr StepLoopsOf<T> all() {
    return {sgd<T>, momentum<T>, adam<T>, rmsprop<T>, adagrad<T>};
}

const StepLoops table = {all<float>(), all<double>()};

}  // namespace
}  // namespace ISA
}  // namespace native
