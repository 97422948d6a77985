// One result of one run of elements: no guard, see reduce.cpp. A long run is read in four places at once, for which memory gives
// more at a time; of a short one, the memory behind it is asked for, which is that of the next. Four sums are under way, so
// that no addition waits for the one before.

#include "vectors_body.h"

namespace native {
namespace ISA {
namespace {

constexpr Size LONG = 1 << 16, AHEAD = 1 << 12;  // bytes

// Calls ``f(k, vector)`` for the vectors of a run, k the number of the sum; ``rest`` fills up the last one. After each
// ``block`` calls for each k, ``g()``.
template <class T, class F, class G>
INLINE void by_four(const T* x, Size count, T rest, Size block, F f, G g) {
    constexpr Size W = Vec<T>::W;
    const Size fourth = count / (4 * W);  // vectors
    const bool parted = count * Size(sizeof(T)) >= LONG;
    const Size apart = parted ? fourth * W : W, step = parted ? W : 4 * W;
    const T* p = x;
    for (Size n = 0; n < fourth;) {
        const Size stop = n + block < fourth ? n + block : fourth;
        for (; n < stop; n++, p += step) {
            if (!parted)
                for (Size line = 0; line < 4 * W * Size(sizeof(T)); line += 64) fetch(p + (AHEAD + line) / Size(sizeof(T)));
            for (int k = 0; k < 4; k++) f(k, load(p + k * apart));
        }
        g();
    }
    for (Size i = 4 * W * fourth; i < count; i += W) f(0, take(x + i, count - i < W ? count - i : W, rest));
    g();
}

template <class T>
T sum(const T* x, Size count) {
    const V<T> none = {};
    V<T> sums[4] = {none, none, none, none}, total[4] = {none, none, none, none};
    by_four<T>(
        x, count, T(0), 32, [&](int k, V<T> v) { sums[k] += v; },
        [&] {  // block by block, so that the error stays small
            for (int k = 0; k < 4; k++) total[k] += sums[k], sums[k] = none;
        });
    return sum_of<T>((total[0] + total[1]) + (total[2] + total[3]));
}

template <class T, bool LARGEST>
T extreme(const T* x, Size count) {
    constexpr int W = Vec<T>::W;
    const T start = LARGEST ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity();
    V<T> best[4] = {splat(start), splat(start), splat(start), splat(start)};
    const V<T> none = {};
    V<T> odd[4] = {none, none, none, none};  // NaN once there was one
    by_four<T>(
        x, count, start, count,
        [&](int k, V<T> v) {
            best[k] = LARGEST ? (v > best[k] ? v : best[k]) : (v < best[k] ? v : best[k]);
            odd[k] += v != v ? v : none;
        },
        [] {});
    T lanes[4 * W], nan = 0, found = start;
    std::memcpy(lanes, odd, sizeof odd);
    for (T lane : lanes) nan += lane;
    if (nan != nan) return nan;
    std::memcpy(lanes, best, sizeof best);
    for (T lane : lanes) found = LARGEST ? (lane > found ? lane : found) : (lane < found ? lane : found);
    return found;
}

// ---------------------------------------------------------------- spread
// In double precision, around a number near the mean, so that one walk does: the sums of the distances from it and of their
// squares give both. Of floats, the mean of the first few is near enough; doubles take it of all, which then are in the cache.
constexpr Size FEW = 128, FEW_ROWS = 8, SHORT = 64;

template <class T>
INLINE Size fewer(Size count, Size few) {
    return sizeof(T) == 8 || count < few ? count : few;
}

// A vector as PARTS vectors of doubles.
template <class T>
struct Wide {
    static constexpr int PARTS = Vec<T>::W / Vec<double>::W;
    V<double> part[PARTS];
    INLINE explicit Wide(V<float> v) {
        part[0] = first_half(v);
        if (PARTS == 2) part[PARTS - 1] = second_half(v);
    }
    INLINE explicit Wide(V<double> v) { std::memcpy(part, &v, sizeof v); }
};

// Of a run: the mean, less the number near it, and the sum of the squared distances from the mean.
INLINE void conclude(double count, double sum, double squares, double* apart, double* spread) {
    const double found = squares - sum * sum / count;
    *apart = sum / count;
    *spread = found < 0 ? 0 : found;  // NaN stays
}

template <class T>
void run_spread(const T* x, Size count, double* middle, double* apart, double* spread) {
    const Size few = fewer<T>(count, FEW);
    const V<T> first = splat(*x);
    const V<T> none = {};
    V<T> parts[4] = {none, none, none, none}, all = none;
    by_four<T>(
        x, few, *x, 32, [&](int k, V<T> v) { parts[k] += v - first; },
        [&] {
            for (int k = 0; k < 4; k++) all += parts[k], parts[k] = none;
        });
    const T near = *x + sum_of<T>(all) / T(few);
    const V<double> centre = splat(double(near));
    const V<double> zero = {};
    V<double> sums[4] = {zero, zero, zero, zero}, squares[4] = {zero, zero, zero, zero}, sum = zero, square = zero;
    by_four<T>(
        x, count, near, 32,
        [&](int k, V<T> v) {
            for (V<double> part : Wide<T>(v).part) {
                part -= centre;
                sums[k] += part;
                squares[k] += part * part;
            }
        },
        [&] {
            for (int k = 0; k < 4; k++) {
                sum += sums[k], square += squares[k];
                sums[k] = squares[k] = zero;
            }
        });
    *middle = near;
    conclude(double(count), sum_of<double>(sum), sum_of<double>(square), apart, spread);
}

// Short rows are turned, many at once, so that a vector holds an element of each of several.
template <class T>
void turned_spreads(const T* x, Size rows, Size columns, double* middle, double* apart, double* spread) {
    constexpr Size W = Vec<double>::W, ROOM = 2048;
    alignas(64) double lanes[ROOM] = {};
    const Size most = ROOM / columns / W * W;
    for (Size row = 0; row < rows; row += most, x += most * columns) {
        const Size count = rows - row < most ? rows - row : most;
        for (Size k = 0; k < count; k++)
            for (Size j = 0; j < columns; j++) lanes[j * most + k] = x[k * columns + j];
        each<double>(count, [&](Size k, Size some) {
            const V<double> first = load(lanes + k);
            V<double> near = {}, sum = {}, square = {};
            for (Size j = 1; j < columns; j++) near += load(lanes + j * most + k) - first;
            near = first + near / double(columns);
            for (Size j = 0; j < columns; j++) {
                const V<double> v = load(lanes + j * most + k) - near;
                sum += v;
                square += v * v;
            }
            const V<double> found = square - sum * sum / double(columns);
            put<double>(middle + row + k, near, some);
            put<double>(apart + row + k, sum / double(columns), some);
            put<double>(spread + row + k, found < 0.0 ? V<double>{} : found, some);
        });
    }
}

template <class T>
void row_spreads(const T* x, Size rows, Size columns, double* near, double* apart, double* spread) {
    if (columns <= SHORT && rows > 1) return turned_spreads(x, rows, columns, near, apart, spread);
    for (Size row = 0; row < rows; row++) run_spread(x + row * columns, columns, near + row, apart + row, spread + row);
}

// The same for each of a few columns: rows are read four at a time.
template <class T, class F>
INLINE void by_rows(const T* x, Size rows, Size step, Size columns, F f) {
    constexpr Size AT_ONCE = 4, W = Vec<T>::W;
    for (Size row = 0; row < rows; row += AT_ONCE, x += AT_ONCE * step) {
        const Size some = rows - row < AT_ONCE ? rows - row : AT_ONCE;
        if (some == AT_ONCE) {
            Size i = 0;
            for (; i + W <= columns; i += W) {
                for (Size n = 0; n < AT_ONCE; n++) fetch(x + (AT_ONCE + n) * step + i);
                f(x + i, i, AT_ONCE, W);
            }
            if (i < columns) f(x + i, i, AT_ONCE, columns - i);
        } else {
            each<T>(columns, [&](Size i, Size count) { f(x + i, i, some, count); });
        }
    }
}

template <class T>
void column_spreads(const T* x, Size rows, Size step, Size columns, double* middle, double* apart, double* spread) {
    constexpr int PARTS = Wide<T>::PARTS;
    constexpr Size W = Vec<double>::W;
    alignas(64) double near[STRIP] = {}, sums[STRIP] = {}, squares[STRIP] = {};
    const Size few = fewer<T>(rows, FEW_ROWS);
    by_rows(x, few, step, columns, [&](const T* p, Size i, Size height, Size some) {
        const Wide<T> first(take(x + i, some, T(0)));
        for (int k = 0; k < PARTS; k++) {
            V<double> sum = load(near + i + k * W);
            for (Size n = 0; n < height; n++) sum += Wide<T>(take(p + n * step, some, T(0))).part[k] - first.part[k];
            store(near + i + k * W, sum);
        }
    });
    for (Size i = 0; i < columns; i++) near[i] = double(x[i]) + near[i] / double(few);
    by_rows(x, rows, step, columns, [&](const T* p, Size i, Size height, Size some) {
        V<double> sum[PARTS], square[PARTS], centre[PARTS];
        for (int k = 0; k < PARTS; k++)
            sum[k] = load(sums + i + k * W), square[k] = load(squares + i + k * W), centre[k] = load(near + i + k * W);
        for (Size n = 0; n < height; n++) {
            const Wide<T> v(take(p + n * step, some, T(0)));
            for (int k = 0; k < PARTS; k++) {
                const V<double> distance = v.part[k] - centre[k];
                sum[k] += distance;
                square[k] += distance * distance;
            }
        }
        for (int k = 0; k < PARTS; k++) store(sums + i + k * W, sum[k]), store(squares + i + k * W, square[k]);
    });
    for (Size i = 0; i < columns; i++) {
        middle[i] = near[i];
        conclude(double(rows), sums[i], squares[i], apart + i, spread + i);
    }
}

template <class T>
constexpr ReduceOf<T> all() {
    return {sum<T>, extreme<T, true>, extreme<T, false>, row_spreads<T>, column_spreads<T>};
}

const ReduceLoops table = {all<float>(), all<double>()};

}  // namespace
}  // namespace ISA
}  // namespace native
