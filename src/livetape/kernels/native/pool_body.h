// Pooling: no guard, see pool.cpp. A task has planes of its own.

#include "vectors_body.h"
#include "tiles_body.h"

namespace native {
namespace ISA {
namespace {

INLINE Size lesser(Size a, Size b) { return a < b ? a : b; }
INLINE Size greater(Size a, Size b) { return a > b ? a : b; }

// Which windows along one dimension have their tap inside of the input, and where the first of these is.
struct Meeting {
    Size begin, end, at;
};

template <class T>
INLINE Meeting meeting(const Pool<T>& p, int axis, Size tap) {
    const Size shift = tap * p.dilation[axis] - p.padding[axis], step = p.stride[axis];
    Meeting m;
    m.begin = shift >= 0 ? 0 : (-shift + step - 1) / step;
    m.end = shift >= p.in[axis] ? 0 : lesser(p.out[axis], (p.in[axis] - 1 - shift) / step + 1);
    if (m.end < m.begin) m.end = m.begin;
    m.at = m.begin * step + shift;
    return m;
}

// NaN is higher than all.
template <class T>
INLINE V<T> higher(V<T> x, V<T> top) {
    return (x > top) | (x != x) ? x : top;
}
INLINE bool is_higher(float x, float top) { return (x > top) | (x != x); }
INLINE bool is_higher(double x, double top) { return (x > top) | (x != x); }

template <class T>
struct Highest {
    INLINE V<T> operator()(V<T> x, V<T> top) const { return higher<T>(x, top); }
    INLINE T one(T x, T top) const { return is_higher(x, top) ? x : top; }
};
template <class T>
struct Sum {
    INLINE V<T> operator()(V<T> x, V<T> sum) const { return sum + x; }
    INLINE T one(T x, T sum) const { return sum + x; }
};

// out[i] = f(x[i * step], out[i]) of vectors and of numbers. ``room``: how many elements of x may be read.
template <class T, class F>
INLINE void along(const T* x, Size step, Size room, T* out, Size count, F f) {
    constexpr Size W = Vec<T>::W;
    Size i = 0;
    if (step == 1)
        for (; i + W <= count; i += W) store(out + i, f(load(x + i), load(out + i)));
    else if (step == 2)
        for (; i + W <= count && 2 * (i + W) <= room; i += W) {
            V<T> even, odd;
            unzip(load(x + 2 * i), load(x + 2 * i + W), even, odd);
            store(out + i, f(even, load(out + i)));
        }
    for (; i < count; i++) out[i] = f.one(x[i * step], out[i]);
}

// f(tap row of the input, output columns, count) for each tap of the window at (z, y): x meets out[begin] at ``from``.
template <class T, class F>
INLINE void each_tap(const Pool<T>& p, Size z, Size y, F f) {
    for (Size k = 0; k < p.kernel[0]; k++)
        for (Size j = 0; j < p.kernel[1]; j++) {
            const Size from_z = z * p.stride[0] + k * p.dilation[0] - p.padding[0];
            const Size from_y = y * p.stride[1] + j * p.dilation[1] - p.padding[1];
            if (from_z < 0 || from_z >= p.in[0] || from_y < 0 || from_y >= p.in[1]) continue;
            for (Size i = 0; i < p.kernel[2]; i++) {
                const Meeting m = meeting(p, 2, i);
                if (m.end > m.begin) f((from_z * p.in[1] + from_y) * p.in[2] + m.at, m.begin, m.end - m.begin);
            }
        }
}

template <class T>
INLINE Size inputs_of(const Pool<T>& p) { return p.in[0] * p.in[1] * p.in[2]; }
template <class T>
INLINE Size outputs_of(const Pool<T>& p) { return p.out[0] * p.out[1] * p.out[2]; }

template <class T, class F>
INLINE void each_plane(const Pool<T>& p, F f) {
    const Size work = outputs_of(p) * p.kernel[0] * p.kernel[1] * p.kernel[2];
    parallel_for(p.planes, grain_for(work), [&](Size begin, Size end) {
        for (Size n = begin; n < end; n++) f(n);
    });
}

// Windows of 2x2 side by side: the four elements of W of them, from ``x`` in a row and the next.
template <class T>
struct Quarter {
    V<T> a, b, c, d;
};

template <class T>
INLINE Quarter<T> quarter(const T* top, const T* bottom) {
    constexpr Size W = Vec<T>::W;
    Quarter<T> q;
    unzip(load(top), load(top + W), q.a, q.b);
    unzip(load(bottom), load(bottom + W), q.c, q.d);
    return q;
}

// Whether the windows are such.
template <class T>
INLINE bool is_quartered(const Pool<T>& p) {
    bool found = Vec<T>::W > 1 && p.kernel[0] == 1 && p.stride[0] == 1 && p.padding[0] == 0 && p.out[0] == p.in[0];
    for (int i = 1; i < 3; i++)
        found &= p.kernel[i] == 2 && p.stride[i] == 2 && p.padding[i] == 0 && p.dilation[i] == 1 && 2 * p.out[i] <= p.in[i];
    return found;
}

// f(first column, whole vector?) for all columns of a row: the last vector goes over some columns again.
template <class T, class F>
INLINE void each_overlapping(Size count, F f) {
    constexpr Size W = Vec<T>::W;
    if (count < W)
        for (Size i = 0; i < count; i++) f(i, false);
    else
        for (Size i = 0; i < count; i += W) f(i + W <= count ? i : count - W, true);
}

template <class T>
INLINE void quartered_maxima(const Pool<T>& p, const T* x, T* out) {
    for (Size z = 0; z < p.out[0]; z++)
        for (Size y = 0; y < p.out[1]; y++, out += p.out[2]) {
            const T *top = x + (z * p.in[1] + 2 * y) * p.in[2], *bottom = top + p.in[2];
            each_overlapping<T>(p.out[2], [&](Size i, bool whole) {
                if (whole) {
                    const Quarter<T> q = quarter(top + 2 * i, bottom + 2 * i);
                    store(out + i, higher<T>(q.d, higher<T>(q.c, higher<T>(q.b, q.a))));
                    return;
                }
                const Highest<T> f;
                out[i] = f.one(bottom[2 * i + 1], f.one(bottom[2 * i], f.one(top[2 * i + 1], top[2 * i])));
            });
        }
}

template <class T>
void maxima(const Pool<T>& p) {
    const Size all = inputs_of(p), total = p.planes * all;
    const bool quartered = is_quartered(p);
    each_plane(p, [&](Size n) {
        T* out = p.y + n * outputs_of(p);
        if (quartered) return quartered_maxima(p, p.x + n * all, out);
        for (Size z = 0; z < p.out[0]; z++)
            for (Size y = 0; y < p.out[1]; y++, out += p.out[2]) {
                for (Size i = 0; i < p.out[2]; i++) out[i] = -std::numeric_limits<T>::infinity();
                each_tap(p, z, y, [&](Size from, Size begin, Size count) {
                    along(p.x + n * all + from, p.stride[2], total - n * all - from, out + begin, count, Highest<T>());
                });
            }
    });
}

// Where the window's largest element is in the plane: the first of equal ones, the last NaN.
template <class T>
INLINE Size place_of(const Pool<T>& p, const T* x, Size z, Size y, Size i) {
    T top = -std::numeric_limits<T>::infinity();
    Size place = -1;
    for (Size a = 0; a < p.kernel[0]; a++) {
        const Size from_z = z * p.stride[0] + a * p.dilation[0] - p.padding[0];
        if (from_z < 0 || from_z >= p.in[0]) continue;
        for (Size b = 0; b < p.kernel[1]; b++) {
            const Size from_y = y * p.stride[1] + b * p.dilation[1] - p.padding[1];
            if (from_y < 0 || from_y >= p.in[1]) continue;
            for (Size c = 0; c < p.kernel[2]; c++) {
                const Size from_x = i * p.stride[2] + c * p.dilation[2] - p.padding[2];
                if (from_x < 0 || from_x >= p.in[2]) continue;
                const Size at = (from_z * p.in[1] + from_y) * p.in[2] + from_x;
                if (place < 0 || x[at] > top || x[at] != x[at]) top = x[at], place = at;
            }
        }
    }
    return place;
}

template <class T, class F>
INLINE void each_output(const Pool<T>& p, F f) {
    Size at = 0;
    for (Size z = 0; z < p.out[0]; z++)
        for (Size y = 0; y < p.out[1]; y++)
            for (Size i = 0; i < p.out[2]; i++) f(at++, z, y, i);
}

template <class T>
void maxima_places(const Pool<T>& p) {
    each_plane(p, [&](Size n) {
        const T* x = p.x + n * inputs_of(p);
        std::int64_t* places = p.places + n * outputs_of(p);
        each_output(p, [&](Size at, Size z, Size y, Size i) { places[at] = place_of(p, x, z, y, i); });
    });
}

template <class T>
INLINE void quartered_backward(const Pool<T>& p, const T* x, const T* grad, T* out) {
    constexpr Size W = Vec<T>::W;
    for (Size z = 0; z < p.out[0]; z++)
        for (Size y = 0; y < p.out[1]; y++, grad += p.out[2]) {
            const Size top = (z * p.in[1] + 2 * y) * p.in[2], bottom = top + p.in[2];
            each_overlapping<T>(p.out[2], [&](Size i, bool whole) {
                if (!whole) {
                    const T *first = x + top + 2 * i, *second = x + bottom + 2 * i;
                    T largest = first[0];
                    int at = 0;
                    const T others[] = {first[1], second[0], second[1]};
                    for (int k = 0; k < 3; k++) {
                        const bool better = is_higher(others[k], largest);
                        largest = better ? others[k] : largest, at = better ? k + 1 : at;
                    }
                    const T g = grad[i];
                    out[top + 2 * i] = at == 0 ? g : T(0), out[top + 2 * i + 1] = at == 1 ? g : T(0);
                    out[bottom + 2 * i] = at == 2 ? g : T(0), out[bottom + 2 * i + 1] = at == 3 ? g : T(0);
                    return;
                }
                const Quarter<T> q = quarter(x + top + 2 * i, x + bottom + 2 * i);
                const V<T> second = higher<T>(q.b, q.a), third = higher<T>(q.c, second);
                const auto at_d = (q.d > third) | (q.d != q.d), not_d = ~at_d;
                const auto at_c = ((q.c > second) | (q.c != q.c)) & not_d, not_c = not_d & ~at_c;
                const auto at_b = ((q.b > q.a) | (q.b != q.b)) & not_c, at_a = not_c & ~at_b;
                const V<T> g = load(grad + i), zero = {};
                V<T> left, right;
                zip(at_a ? g : zero, at_b ? g : zero, left, right);
                store(out + top + 2 * i, left);
                store(out + top + 2 * i + W, right);
                zip(at_c ? g : zero, at_d ? g : zero, left, right);
                store(out + bottom + 2 * i, left);
                store(out + bottom + 2 * i + W, right);
            });
        }
}

template <class T>
void maxima_backward(const Pool<T>& p) {
    const bool quartered = is_quartered(p);
    const bool covered = quartered && 2 * p.out[1] == p.in[1] && 2 * p.out[2] == p.in[2];
    each_plane(p, [&](Size n) {
        const T *x = p.x + n * inputs_of(p), *grad = p.grad + n * outputs_of(p);
        T* out = p.y + n * inputs_of(p);
        if (!covered) std::memset(out, 0, sizeof(T) * inputs_of(p));
        if (quartered) return quartered_backward(p, x, grad, out);
        each_output(p, [&](Size at, Size z, Size y, Size i) { out[place_of(p, x, z, y, i)] += grad[at]; });
    });
}

template <class T>
void means(const Pool<T>& p) {
    const Size all = inputs_of(p), total = p.planes * all;
    each_plane(p, [&](Size n) {
        T* out = p.y + n * outputs_of(p);
        for (Size z = 0; z < p.out[0]; z++)
            for (Size y = 0; y < p.out[1]; y++, out += p.out[2]) {
                std::memset(out, 0, sizeof(T) * p.out[2]);
                each_tap(p, z, y, [&](Size from, Size begin, Size count) {
                    along(p.x + n * all + from, p.stride[2], total - n * all - from, out + begin, count, Sum<T>());
                });
                const T number = p.number[0][z] * p.number[1][y];
                for (Size i = 0; i < p.out[2]; i++) out[i] /= number * p.number[2][i];
            }
    });
}

template <class T>
bool means_backward(const Pool<T>& p) {
    std::atomic<bool> failed{false};
    each_plane(p, [&](Size n) {
        T* shares = static_cast<T*>(thread_scratch(sizeof(T) * p.out[2]));
        if (shares == nullptr) {
            failed = true;
            return;
        }
        const T* grad = p.grad + n * outputs_of(p);
        T* out = p.y + n * inputs_of(p);
        std::memset(out, 0, sizeof(T) * inputs_of(p));
        for (Size z = 0; z < p.out[0]; z++)
            for (Size y = 0; y < p.out[1]; y++, grad += p.out[2]) {
                const T number = p.number[0][z] * p.number[1][y];
                for (Size i = 0; i < p.out[2]; i++) shares[i] = grad[i] / (number * p.number[2][i]);
                each_tap(p, z, y, [&](Size from, Size begin, Size count) {
                    const Size step = p.stride[2];
                    if (step == 1)
                        for (Size i = 0; i < count; i++) out[from + i] += shares[begin + i];
                    else
                        for (Size i = 0; i < count; i++) out[from + i * step] += shares[begin + i];
                });
            }
    });
    return !failed;
}

const PoolLoops table = {
    {maxima<float>, maxima_backward<float>, maxima_places<float>, means<float>, means_backward<float>},
    {maxima<double>, maxima_backward<double>, maxima_places<double>, means<double>, means_backward<double>}};

}  // namespace
}  // namespace ISA
}  // namespace native
