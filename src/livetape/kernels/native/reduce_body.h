// Sums, extremes and spread of runs of elements: no guard, see reduce.cpp. A long run is read in four places at once, for which
// memory gives more at a time; of a short one, the memory behind it is asked for, which is that of the next. Four sums are
// under way, so that no addition waits for the one before.

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

// Four rows, ``apart`` elements from each other: k is the number of the row.
template <class T, class F, class G>
INLINE void four_rows(const T* x, Size apart, Size count, T rest, Size block, F f, G g) {
    constexpr Size W = Vec<T>::W;
    const Size whole = count / W;
    for (Size n = 0; n < whole;) {
        const Size stop = n + block < whole ? n + block : whole;
        for (; n < stop; n++)
            for (int k = 0; k < 4; k++) f(k, load(x + k * apart + n * W));
        g();
    }
    if (whole * W == count) return;
    for (int k = 0; k < 4; k++) f(k, load_some(x + k * apart + whole * W, count - whole * W, rest));
    g();
}

template <class T>
struct Sum {
    static constexpr Size BLOCK = 32;  // block by block, so that the error stays small
    static constexpr T REST = 0;
    V<T> part[4], total[4];
    INLINE Sum() {
        for (int k = 0; k < 4; k++) part[k] = total[k] = V<T>{};
    }
    INLINE void take(int k, V<T> v) { part[k] += v; }
    INLINE void next() {
        for (int k = 0; k < 4; k++) total[k] += part[k], part[k] = V<T>{};
    }
    INLINE T of_row(int k) const { return sum_of<T>(total[k]); }
    INLINE T of_all() const { return sum_of<T>((total[0] + total[1]) + (total[2] + total[3])); }
};

template <class T, bool LARGEST>
struct Extreme {
    static constexpr Size BLOCK = std::numeric_limits<Size>::max() / 2;
    static constexpr T REST = LARGEST ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity();
    V<T> best[4];
    typename Vec<T>::I odd[4];  // not 0 once there was NaN
    INLINE Extreme() {
        for (int k = 0; k < 4; k++) best[k] = splat(REST), odd[k] = typename Vec<T>::I{};
    }
    static INLINE V<T> better(V<T> a, V<T> b) { return LARGEST ? larger<T>(a, b) : smaller<T>(a, b); }
    INLINE void take(int k, V<T> v) {
        best[k] = better(v, best[k]);
        odd[k] |= v != v;
    }
    INLINE void next() {}
    static INLINE T found(V<T> best, typename Vec<T>::I odd) {
        T lanes[Vec<T>::W], found = REST;
        store(lanes, best);
        for (T lane : lanes) found = LARGEST ? (lane > found ? lane : found) : (lane < found ? lane : found);
        V<T> bits;
        std::memcpy(&bits, &odd, sizeof bits);
        store(lanes, bits);
        for (T lane : lanes) found = lane != T(0) ? std::numeric_limits<T>::quiet_NaN() : found;
        return found;
    }
    INLINE T of_row(int k) const { return found(best[k], odd[k]); }
    INLINE T of_all() const {
        return found(better(better(best[0], best[1]), better(best[2], best[3])), (odd[0] | odd[1]) | (odd[2] | odd[3]));
    }
};

template <class T, class R>
T of_run(const T* x, Size count) {
    R r;
    by_four<T>(x, count, R::REST, R::BLOCK, [&](int k, V<T> v) { r.take(k, v); }, [&] { r.next(); });
    return r.of_all();
}

// Rows that are no long runs are read four at a time, from the four quarters of what there is.
template <class T, class R>
void of_rows(const T* x, Size rows, Size columns, T* out) {
    const Size fourth = columns * Size(sizeof(T)) < LONG ? rows / 4 : 0;
    for (Size row = 0; row < fourth; row++) {
        R r;
        four_rows<T>(x + row * columns, fourth * columns, columns, R::REST, R::BLOCK, [&](int k, V<T> v) { r.take(k, v); },
                     [&] { r.next(); });
        for (int k = 0; k < 4; k++) out[row + k * fourth] = r.of_row(k);
    }
    for (Size row = 4 * fourth; row < rows; row++) out[row] = of_run<T, R>(x + row * columns, columns);
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
    return {of_rows<T, Sum<T>>, of_rows<T, Extreme<T, true>>, of_rows<T, Extreme<T, false>>, row_spreads<T>, column_spreads<T>};
}

const ReduceLoops table = {all<float>(), all<double>()};

}  // namespace
}  // namespace ISA
}  // namespace native
