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
    V<T> sums[4] = {}, total[4] = {};
    by_four<T>(
        x, count, T(0), 32, [&](int k, V<T> v) { sums[k] += v; },
        [&] {  // block by block, so that the error stays small
            for (int k = 0; k < 4; k++) total[k] += sums[k], sums[k] = V<T>{};
        });
    return sum_of<T>((total[0] + total[1]) + (total[2] + total[3]));
}

template <class T, bool LARGEST>
T extreme(const T* x, Size count) {
    constexpr int W = Vec<T>::W;
    const T start = LARGEST ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity();
    V<T> best[4] = {splat(start), splat(start), splat(start), splat(start)};
    V<T> odd[4] = {};  // NaN once there was one
    by_four<T>(
        x, count, start, count,
        [&](int k, V<T> v) {
            best[k] = LARGEST ? (v > best[k] ? v : best[k]) : (v < best[k] ? v : best[k]);
            odd[k] += v != v ? v : V<T>{};
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

const ReduceLoops table = {{sum<float>, extreme<float, true>, extreme<float, false>},
                           {sum<double>, extreme<double, true>, extreme<double, false>}};

}  // namespace
}  // namespace ISA
}  // namespace native
