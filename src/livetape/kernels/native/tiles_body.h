// Products of small matrices held in registers, and transposition, for the bodies that every_isa.h compiles: no guard.
// All that convolutions, recurrent cells and attention multiply goes through `tile`.

namespace native {
namespace ISA {
namespace {

INLINE void prefetch(const void* address) {
#ifdef __GNUC__
    __builtin_prefetch(address);
#endif
}

// ---------------------------------------------------------------- tiles
// c[m, n] (+)= sum over k of a[m, k] b[k, n], for M rows and N vectors of columns. The index k runs over ``runs.count`` runs
// of ``runs.length``: run r of ``a`` starts at offset runs.offsets[r], while ``b`` goes on from row to row.
// ALONG: k is contiguous in ``a`` and rows are ``a_step`` apart. Otherwise rows are adjacent and k is ``a_step`` apart.
struct Runs {
    const Size* offsets;
    Size count, length;
};

template <class T>
using Tile = void (*)(const T* a, Size a_step, const Runs& runs, const T* b, Size b_row, T* c, Size c_row, bool add);

// Accumulators, the vectors of b and a factor fill the registers: 16, or 32 with AVX-512.
constexpr int MOST_VECTORS = 2;
template <int N>
constexpr int MOST_ROWS = N == 1 || VECTOR_BYTES == 64 ? 12 : 6;

template <class T, int M, int N, bool ALONG>
void tile(const T* a, Size a_step, const Runs& runs, const T* b, Size b_row, T* c, Size c_row, bool add) {
    constexpr int W = Vec<T>::W;
    V<T> sums[M][N];
#pragma GCC unroll 12
    for (int m = 0; m < M; m++)
#pragma GCC unroll 2
        for (int n = 0; n < N; n++) sums[m][n] = V<T>{};
    for (Size r = 0; r < runs.count; r++) {
        const T* rows[M];
#pragma GCC unroll 12
        for (int m = 0; m < M; m++) rows[m] = a + runs.offsets[r] + (ALONG ? m * a_step : m);
        for (Size k = 0; k < runs.length; k++, b += b_row) {
            V<T> right[N];
#pragma GCC unroll 2
            for (int n = 0; n < N; n++) right[n] = load(b + n * W);
            const Size at = ALONG ? k : k * a_step;
#pragma GCC unroll 12
            for (int m = 0; m < M; m++)
#pragma GCC unroll 2
                for (int n = 0; n < N; n++) sums[m][n] += right[n] * rows[m][at];
        }
    }
#pragma GCC unroll 12
    for (int m = 0; m < M; m++)
#pragma GCC unroll 2
        for (int n = 0; n < N; n++) {
            T* to = c + m * c_row + n * W;
            store(to, add ? load(to) + sums[m][n] : sums[m][n]);
        }
}

template <class T, int N, bool ALONG>
INLINE Tile<T> tile_of_rows(Size rows) {
    switch (rows) {
        case 1: return tile<T, 1, N, ALONG>;
        case 2: return tile<T, 2, N, ALONG>;
        case 3: return tile<T, 3, N, ALONG>;
        case 4: return tile<T, 4, N, ALONG>;
        case 5: return tile<T, 5, N, ALONG>;
        case 6: return tile<T, 6, N, ALONG>;
        default: break;
    }
    if constexpr (MOST_ROWS<N> == 12) switch (rows) {
            case 7: return tile<T, 7, N, ALONG>;
            case 8: return tile<T, 8, N, ALONG>;
            case 9: return tile<T, 9, N, ALONG>;
            case 10: return tile<T, 10, N, ALONG>;
            case 11: return tile<T, 11, N, ALONG>;
            case 12: return tile<T, 12, N, ALONG>;
            default: break;
        }
    return nullptr;
}

// Any number of rows, in tiles of nearly the same height; up to MOST_VECTORS vectors of columns.
template <class T, bool ALONG>
INLINE void multiply(const T* a, Size a_step, Size rows, const Runs& runs, const T* b, Size b_row, int vectors, T* c, Size c_row,
                     bool add) {
    const Size tallest = vectors == 2 ? MOST_ROWS<2> : MOST_ROWS<1>;
    Size tiles = (rows + tallest - 1) / tallest;
    for (Size left = rows; left > 0; tiles--) {
        const Size height = (left + tiles - 1) / tiles;
        const Tile<T> f = vectors == 2 ? tile_of_rows<T, 2, ALONG>(height) : tile_of_rows<T, 1, ALONG>(height);
        f(a, a_step, runs, b, b_row, c, c_row, add);
        a += ALONG ? height * a_step : height;
        c += height * c_row;
        left -= height;
    }
}

// Columns go in panels of MOST_VECTORS vectors, the last one perhaps of fewer: so wide in memory they are, then.
template <class T>
INLINE Size padded_columns(Size columns) {
    constexpr Size W = Vec<T>::W;
    return (columns + W - 1) / W * W;
}

template <class T>
constexpr Size PANEL = MOST_VECTORS * Vec<T>::W;

// f(first column, vectors) for each panel.
template <class T, class F>
INLINE void each_panel(Size columns, F f) {
    constexpr Size W = Vec<T>::W;
    for (Size j = 0; j < columns; j += PANEL<T>) f(j, columns - j > W ? 2 : 1);
}

// ---------------------------------------------------------------- lanes in another order
// zip: the elements of two vectors in turn, first halves and second halves. unzip: the even and the odd ones of both.
#if defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 12)
#define LIVETAPE_LANES(T, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#elif defined(__GNUC__)
#define LIVETAPE_LANES(T, ...) __builtin_shuffle(a, b, Vec<T>::I{__VA_ARGS__})
#endif
#if VECTOR_BYTES == 16 && defined(__GNUC__)
INLINE void zip(V<float> a, V<float> b, V<float>& first, V<float>& second) {
    first = LIVETAPE_LANES(float, 0, 4, 1, 5);
    second = LIVETAPE_LANES(float, 2, 6, 3, 7);
}
INLINE void unzip(V<float> a, V<float> b, V<float>& even, V<float>& odd) {
    even = LIVETAPE_LANES(float, 0, 2, 4, 6);
    odd = LIVETAPE_LANES(float, 1, 3, 5, 7);
}
INLINE void zip(V<double> a, V<double> b, V<double>& first, V<double>& second) {
    first = LIVETAPE_LANES(double, 0, 2);
    second = LIVETAPE_LANES(double, 1, 3);
}
INLINE void unzip(V<double> a, V<double> b, V<double>& even, V<double>& odd) {
    even = LIVETAPE_LANES(double, 0, 2);
    odd = LIVETAPE_LANES(double, 1, 3);
}
#elif VECTOR_BYTES == 32 && defined(__GNUC__)
INLINE void zip(V<float> a, V<float> b, V<float>& first, V<float>& second) {
    first = LIVETAPE_LANES(float, 0, 8, 1, 9, 2, 10, 3, 11);
    second = LIVETAPE_LANES(float, 4, 12, 5, 13, 6, 14, 7, 15);
}
INLINE void unzip(V<float> a, V<float> b, V<float>& even, V<float>& odd) {
    even = LIVETAPE_LANES(float, 0, 2, 4, 6, 8, 10, 12, 14);
    odd = LIVETAPE_LANES(float, 1, 3, 5, 7, 9, 11, 13, 15);
}
INLINE void zip(V<double> a, V<double> b, V<double>& first, V<double>& second) {
    first = LIVETAPE_LANES(double, 0, 4, 1, 5);
    second = LIVETAPE_LANES(double, 2, 6, 3, 7);
}
INLINE void unzip(V<double> a, V<double> b, V<double>& even, V<double>& odd) {
    even = LIVETAPE_LANES(double, 0, 2, 4, 6);
    odd = LIVETAPE_LANES(double, 1, 3, 5, 7);
}
#elif VECTOR_BYTES == 64 && defined(__GNUC__)
INLINE void zip(V<float> a, V<float> b, V<float>& first, V<float>& second) {
    first = LIVETAPE_LANES(float, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    second = LIVETAPE_LANES(float, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}
INLINE void unzip(V<float> a, V<float> b, V<float>& even, V<float>& odd) {
    even = LIVETAPE_LANES(float, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    odd = LIVETAPE_LANES(float, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
}
INLINE void zip(V<double> a, V<double> b, V<double>& first, V<double>& second) {
    first = LIVETAPE_LANES(double, 0, 8, 1, 9, 2, 10, 3, 11);
    second = LIVETAPE_LANES(double, 4, 12, 5, 13, 6, 14, 7, 15);
}
INLINE void unzip(V<double> a, V<double> b, V<double>& even, V<double>& odd) {
    even = LIVETAPE_LANES(double, 0, 2, 4, 6, 8, 10, 12, 14);
    odd = LIVETAPE_LANES(double, 1, 3, 5, 7, 9, 11, 13, 15);
}
#else
template <class T>
INLINE void zip(T a, T b, T& first, T& second) {
    first = a, second = b;
}
template <class T>
INLINE void unzip(T a, T b, T& even, T& odd) {
    even = a, odd = b;
}
#endif
#undef LIVETAPE_LANES

// W vectors of W: rows become columns.
template <class T>
INLINE void transpose(V<T>* x) {
    constexpr int W = Vec<T>::W;
    V<T> y[W];
#pragma GCC unroll 4
    for (int round = 1; round < W; round *= 2) {
#pragma GCC unroll 8
        for (int i = 0; i < W / 2; i++) zip(x[i], x[i + W / 2], y[2 * i], y[2 * i + 1]);
#pragma GCC unroll 16
        for (int i = 0; i < W; i++) x[i] = y[i];
    }
}

// out[j, i] = x[i, j] for ``rows`` of ``columns``, given the distances of rows in both.
template <class T>
void turn_matrix(const T* x, Size x_row, Size rows, Size columns, T* out, Size out_row) {
    constexpr Size W = Vec<T>::W;
    Size i = 0;
    for (; i + W <= rows; i += W) {
        Size j = 0;
        for (; j + W <= columns; j += W) {
            V<T> block[W];
#pragma GCC unroll 16
            for (int k = 0; k < W; k++) block[k] = load(x + (i + k) * x_row + j);
            transpose<T>(block);
#pragma GCC unroll 16
            for (int k = 0; k < W; k++) store(out + (j + k) * out_row + i, block[k]);
        }
        for (; j < columns; j++)
            for (Size k = 0; k < W; k++) out[j * out_row + i + k] = x[(i + k) * x_row + j];
    }
    for (; i < rows; i++)
        for (Size j = 0; j < columns; j++) out[j * out_row + i] = x[i * x_row + j];
}

}  // namespace
}  // namespace ISA
}  // namespace native
