// Convolutions of 3x3 with stride 1 by Winograd's products (Lavin and Gray 2015): 6x6 pieces of the input give 4x4 places of
// the output with 36 products for each pair of channels in the place of 144. No guard.
//
// Along one dimension the points are 0, a, -a, b, -b and infinity, with a = 5/8 and b = 3/2: both are exact, and of all such
// pairs they make the error least, about twice that of plain sums. Numbers that are not finite would spread over whole
// pieces: where a result is not finite, all is computed directly instead.

namespace native {
namespace ISA {
namespace {

struct Points {
    static constexpr double a = 0.625, b = 1.5, a2 = a * a, b2 = b * b, a3 = a2 * a, b3 = b2 * b;
    static constexpr double of_0 = 1 / (a2 * b2), of_a = 1 / (2 * a2 * (a2 - b2)), of_b = 1 / (2 * b2 * (b2 - a2));
};
constexpr Size PIECE = 6, MADE = 4, PRODUCTS = PIECE * PIECE;

// Six elements of the input.
template <class T>
INLINE void spread_input(const V<T>* d, V<T>* t) {
    using P = Points;
    const V<T> p = d[4] - d[2] * T(P::b2), q = (d[3] - d[1] * T(P::b2)) * T(P::a);
    const V<T> r = d[4] - d[2] * T(P::a2), s = (d[3] - d[1] * T(P::a2)) * T(P::b);
    t[0] = d[0] * T(P::a2 * P::b2) + (d[4] - d[2] * T(P::a2 + P::b2));
    t[1] = p + q, t[2] = p - q, t[3] = r + s, t[4] = r - s;
    t[5] = d[1] * T(P::a2 * P::b2) + (d[5] - d[3] * T(P::a2 + P::b2));
}

// Three elements of the kernel.
template <class T>
INLINE void spread_kernel(const V<T>* g, V<T>* t) {
    using P = Points;
    const V<T> p = (g[0] + g[2] * T(P::a2)) * T(P::of_a), q = g[1] * T(P::a * P::of_a);
    const V<T> r = (g[0] + g[2] * T(P::b2)) * T(P::of_b), s = g[1] * T(P::b * P::of_b);
    t[0] = g[0] * T(P::of_0);
    t[1] = p + q, t[2] = p - q, t[3] = r + s, t[4] = r - s;
    t[5] = g[2];
}

// Six products make four elements of the output; and the transpose, for its gradient.
template <class T>
INLINE void gather_output(const V<T>* m, V<T>* y) {
    using P = Points;
    const V<T> u = m[1] + m[2], v = m[1] - m[2], w = m[3] + m[4], z = m[3] - m[4];
    y[0] = m[0] + u + w;
    y[1] = v * T(P::a) + z * T(P::b);
    y[2] = u * T(P::a2) + w * T(P::b2);
    y[3] = m[5] + v * T(P::a3) + z * T(P::b3);
}

template <class T>
INLINE void spread_gradient(const V<T>* g, V<T>* t) {
    using P = Points;
    const V<T> p = g[0] + g[2] * T(P::a2), q = g[1] * T(P::a) + g[3] * T(P::a3);
    const V<T> r = g[0] + g[2] * T(P::b2), s = g[1] * T(P::b) + g[3] * T(P::b3);
    t[0] = g[0];
    t[1] = p + q, t[2] = p - q, t[3] = r + s, t[4] = r - s;
    t[5] = g[3];
}

// The transpose of `spread_kernel`, for its gradient.
template <class T>
INLINE void gather_kernel(const V<T>* m, V<T>* y) {
    using P = Points;
    const V<T> u = (m[1] + m[2]) * T(P::of_a), v = (m[1] - m[2]) * T(P::a * P::of_a);
    const V<T> w = (m[3] + m[4]) * T(P::of_b), z = (m[3] - m[4]) * T(P::b * P::of_b);
    y[0] = m[0] * T(P::of_0) + (u + w);
    y[1] = v + z;
    y[2] = m[5] + (u * T(P::a2) + w * T(P::b2));
}

// Both dimensions: FROM x FROM vectors, read by load(row, column), become TO x TO, written by put(row, column, vector).
template <class T, int FROM, int TO, void change(const V<T>*, V<T>*), class Load, class Put>
INLINE void change_square(Load read, Put write) {
    V<T> half[TO][FROM];
#pragma GCC unroll 1
    for (int j = 0; j < FROM; j++) {
        V<T> column[FROM], changed[TO];
#pragma GCC unroll 6
        for (int i = 0; i < FROM; i++) column[i] = read(i, j);
        change(column, changed);
#pragma GCC unroll 6
        for (int i = 0; i < TO; i++) half[i][j] = changed[i];
    }
#pragma GCC unroll 1
    for (int i = 0; i < TO; i++) {
        V<T> changed[TO];
        change(half[i], changed);
#pragma GCC unroll 6
        for (int j = 0; j < TO; j++) write(i, j, changed[j]);
    }
}

// ---------------------------------------------------------------- how the output is cut
// Into blocks of up to ``tall`` by ``wide`` pieces of one image.
struct Pieces {
    Size images, depth, down, across, tall, wide, height, width;

    INLINE Size count() const { return images * depth * down * across; }

    INLINE Part operator[](Size i) const {
        Part p;
        const Size column = i % across;
        i /= across;
        p.group = 0;
        p.row = i % down * tall * MADE, p.column = column * wide * MADE;
        i /= down;
        p.z = i % depth, p.image = i / depth;
        p.rows = least(tall * MADE, (height - p.row + MADE - 1) / MADE * MADE);
        p.columns = least(wide * MADE, (width - p.column + MADE - 1) / MADE * MADE);
        return p;
    }
};

INLINE Pieces pieces_of(const Taps* taps, Size images, Size limit) {
    Pieces p;
    p.images = images, p.depth = taps[0].output, p.height = taps[1].output, p.width = taps[2].output;
    const Size high = (p.height + MADE - 1) / MADE, along = (p.width + MADE - 1) / MADE;
    p.across = (along + limit - 1) / limit;
    p.wide = (along + p.across - 1) / p.across;
    p.across = (along + p.wide - 1) / p.wide;
    p.tall = most(1, least(high, limit / p.wide));
    p.down = (high + p.tall - 1) / p.tall;
    p.tall = (high + p.down - 1) / p.down;
    p.down = (high + p.tall - 1) / p.tall;
    return p;
}

INLINE Size pieces_in(const Part& part) { return part.rows / MADE * (part.columns / MADE); }

// Whether it pays.
INLINE bool suits_winograd(const Taps* taps, Size inner, Size outer) {
    for (int i = 1; i < 3; i++)
        if (taps[i].count != 3 || !taps[i].adjacent() || taps[i].step != 1 || taps[i].stride != 1) return false;
    const Size height = taps[1].output, width = taps[2].output;
    const Size made = (height + MADE - 1) / MADE * ((width + MADE - 1) / MADE) * MADE * MADE;
    return taps[0].count == 1 && inner >= 16 && outer >= 16 && 5 * made < 9 * height * width;
}

// The pieces of a strip, changed, as [product][piece][channel].
template <class T>
void spread_strip(const T* strip, const Grid& grid, const Part& part, T* out, Size step) {
    constexpr Size W = Vec<T>::W;
    for (Size y = 0; y < part.rows / MADE; y++)
        for (Size x = 0; x < part.columns / MADE; x++, out += grid.pixel)
            for (Size c = 0; c < grid.pixel; c += W) {
                const T* from = strip + y * MADE * grid.row + x * MADE * grid.pixel + c;
                change_square<T, PIECE, PIECE, spread_input<T>>(
                    [&](int i, int j) { return load(from + i * grid.row + j * grid.pixel); },
                    [&](int i, int j, V<T> v) { store(out + c + (i * PIECE + j) * step, v); });
            }
}

// The same of the output's gradient.
template <class T>
void spread_gradients(const T* strip, const Grid& grid, const Part& part, T* out, Size step) {
    constexpr Size W = Vec<T>::W;
    for (Size y = 0; y < part.rows / MADE; y++)
        for (Size x = 0; x < part.columns / MADE; x++, out += grid.pixel)
            for (Size c = 0; c < grid.pixel; c += W) {
                const T* from = strip + y * MADE * grid.row + x * MADE * grid.pixel + c;
                change_square<T, MADE, PIECE, spread_gradient<T>>(
                    [&](int i, int j) { return load(from + i * grid.row + j * grid.pixel); },
                    [&](int i, int j, V<T> v) { store(out + c + (i * PIECE + j) * step, v); });
            }
}

// ---------------------------------------------------------------- forward
// [group][product], then panels of columns with a row for each channel that is summed over.
template <class T>
void pack_winograd(const Conv<T>& c, Size padded, T* packed) {
    constexpr Size W = Vec<T>::W;
    const Size panels = padded / W, each = c.inner * padded;
    parallel_for(c.groups * panels, grain_for(c.inner * 200), [&](Size begin, Size end) {
        for (Size n = begin; n < end; n++) {
            const Size group = n / panels, o = n % panels * W, count = least(W, c.outer - o);
            const Size j = o / PANEL<T> * PANEL<T>, wide = least(PANEL<T>, padded - j);
            const T* from = c.weight + group * c.outer * c.inner * 9 + o * c.outer_step;
            T* to = packed + group * PRODUCTS * each + c.inner * j + (o - j);
            for (Size i = 0; i < c.inner; i++) {
                T taps[9][W] = {};
                for (Size l = 0; l < count; l++)
                    for (int y = 0; y < 3; y++)
                        for (int x = 0; x < 3; x++)
                            taps[3 * y + x][l] = from[l * c.outer_step + i * c.inner_step + c.taps[1].index[y] * 3 + c.taps[2].index[x]];
                // rows of 3 become 6, then columns
                V<T> half[3][PIECE];
                for (int y = 0; y < 3; y++) {
                    const V<T> row[] = {load(taps[3 * y]), load(taps[3 * y + 1]), load(taps[3 * y + 2])};
                    spread_kernel<T>(row, half[y]);
                }
                for (int x = 0; x < PIECE; x++) {
                    const V<T> column[] = {half[0][x], half[1][x], half[2][x]};
                    V<T> changed[PIECE];
                    spread_kernel<T>(column, changed);
                    for (int y = 0; y < PIECE; y++) store(to + (y * PIECE + x) * each + i * wide, changed[y]);
                }
            }
        }
    });
}

// The results of a row of pieces with channels last; false if one is not finite.
template <class T>
bool gather_row(const T* products, Size step, Size pieces, Size padded, T* staged) {
    constexpr Size W = Vec<T>::W;
    V<T> fault = {};
    for (Size t = 0; t < pieces; t++)
        for (Size c = 0; c < padded; c += W) {
            const T* from = products + t * padded + c;
            change_square<T, PIECE, MADE, gather_output<T>>([&](int i, int j) { return load(from + (i * PIECE + j) * step); },
                                                            [&](int i, int j, V<T> v) {
                                                                fault += v * T(0);
                                                                store(staged + ((i * pieces + t) * MADE + j) * padded + c, v);
                                                            });
        }
    return sum_of<T>(fault) == 0;
}

constexpr Size UNIT_BYTES = 300 << 10;
constexpr Size APART = 16;  // elements between products: at a distance of 4 KB they would share a set of the first cache

template <class T>
bool convolve_winograd(const Conv<T>& c) {
    const Taps* taps = c.taps;
    const Size pixel = padded_columns<T>(c.inner), padded = padded_columns<T>(c.outer);
    const Size limit = most(16, least(32, UNIT_BYTES / (PRODUCTS * (pixel + padded) * Size(sizeof(T)))));
    const Pieces pieces = pieces_of(taps, c.images, limit);
    const Size blocks = most(1, limit / (pieces.tall * pieces.wide)), most_pieces = blocks * pieces.tall * pieces.wide;
    const Grid grid = grid_of(taps, pixel, pieces.tall * MADE, pieces.wide * MADE);
    const Size count = pieces.count(), units = (count + blocks - 1) / blocks, each = c.inner * padded;
    const Size volume = taps[0].input * taps[1].input * taps[2].input;
    const Size line = taps[2].length, plane = line * taps[1].length, made = plane * taps[0].length;
    const Size apart = most_pieces * pixel + APART, results_apart = most_pieces * padded + APART;
    T* packed = scratch<T>(c.groups * (PRODUCTS * each + padded), SHARED);
    if (packed == nullptr) return false;
    T* bias = packed + c.groups * PRODUCTS * each;
    pack_winograd(c, padded, packed);
    if (c.bias != nullptr) pack_bias(c, padded, bias);
    std::atomic<bool> failed{false}, faulty{false};
    parallel_for(units * c.groups, 1, [&](Size begin, Size end) {
        T* strip = scratch<T>(grid.all, STRIP);
        T* staged = scratch<T>(MADE * MADE * pieces.wide * padded, STAGED);
        T* spread = scratch<T>(PRODUCTS * (apart + results_apart), MIDDLE);
        if (strip == nullptr || staged == nullptr || spread == nullptr) {
            failed = true;
            return;
        }
        T* products = spread + PRODUCTS * apart;
        const Size zero = 0;
        for (Size unit = begin; unit < end; unit++) {
            const Size group = unit / units, first = unit % units * blocks, last = least(first + blocks, count);
            Size total = 0;
            for (Size s = first; s < last; s++) {
                const Part part = pieces[s];
                fill_strip(grid, taps, c.x + (part.image * c.groups + group) * c.inner * volume, c.inner, part, strip);
                spread_strip(strip, grid, part, spread + total * pixel, apart);
                total += pieces_in(part);
            }
            for (Size k = 0; k < PRODUCTS; k++)
                each_panel<T>(c.outer, [&](Size j, int vectors) {
                    multiply<T, true>(spread + k * apart, pixel, total, Runs{&zero, 1, c.inner},
                                      packed + (group * PRODUCTS + k) * each + c.inner * j, vectors * Vec<T>::W, vectors,
                                      products + k * results_apart + j, padded, false);
                });
            const T* from = products;
            for (Size s = first; s < last; s++) {
                const Part part = pieces[s];
                const Size along = part.columns / MADE;
                T* out = c.out + (part.image * c.groups + group) * c.outer * made + (taps[0].start + part.z * taps[0].stride) * plane +
                         part.row * line + part.column;
                for (Size y = 0; y < part.rows; y += MADE, from += along * padded) {
                    if (!gather_row(from, results_apart, along, padded, staged)) faulty = true;
                    const Size rows = least(MADE, pieces.height - part.row - y);
                    const T* some = c.bias == nullptr ? nullptr : bias + group * padded;
                    if (part.columns == line)  // rows follow each other
                        place_pixels(staged, padded, rows * line, c.outer, some, out + y * line, made, Size(1));
                    else
                        for (Size i = 0; i < rows; i++)
                            place_pixels(staged + i * part.columns * padded, padded, least(part.columns, pieces.width - part.column),
                                         c.outer, some, out + (y + i) * line, made, Size(1));
                }
            }
        }
    });
    if (failed) return false;
    return faulty ? convolve_directly(c) : true;
}

// ---------------------------------------------------------------- the gradient of the weight
// [product][channel][channel of the result] becomes the kernels; false if one is not finite.
template <class T>
bool gather_kernels(const WeightGradient<T>& c, Size group, const T* sums, Size padded, Size step) {
    constexpr Size W = Vec<T>::W;
    T* out = c.out + group * c.outer * c.inner * 9;
    V<T> fault = {};
    for (Size i = 0; i < c.inner; i++)
        for (Size o = 0; o < c.outer; o += W) {
            const T* from = sums + i * padded + o;
            change_square<T, PIECE, 3, gather_kernel<T>>([&](int y, int x) { return load(from + (y * PIECE + x) * step); },
                                                         [&](int y, int x, V<T> v) {
                                                             T lanes[W];
                                                             fault += v * T(0);
                                                             store(lanes, v);
                                                             for (Size l = 0; l < least(W, c.outer - o); l++)
                                                                 out[((o + l) * c.inner + i) * 9 + 3 * y + x] = lanes[l];
                                                         });
        }
    return sum_of<T>(fault) == 0;
}

template <class T>
bool weight_gradient_winograd(const WeightGradient<T>& c) {
    constexpr Size W = Vec<T>::W, PIECES = 256, BLOCK = (8 << 20) / sizeof(T);
    const Taps* taps = c.taps;
    const Size pixel = padded_columns<T>(c.inner), padded = padded_columns<T>(c.outer);
    const Pieces pieces = pieces_of(taps, c.images, 32);
    const Size places = taps[0].output * taps[1].output * taps[2].output, volume = taps[0].input * taps[1].input * taps[2].input;
    const Size count = pieces.count(), most_pieces = pieces.tall * pieces.wide;
    const Size fitting = most(64, least(PIECES, BLOCK / (PRODUCTS * (pixel + padded))));
    const Size blocks = most(1, least(count, fitting / most_pieces)), room = blocks * most_pieces;
    const Grid grid = grid_of(taps, pixel, pieces.tall * MADE, pieces.wide * MADE);
    const Size here = 0;
    Taps own[3];  // of the gradient, each place of which is met once
    for (int i = 0; i < 3; i++) {
        const Size size = taps[i].output;
        own[i] = {1, &here, &here, 1, size, size, 0, 1, size};
    }
    const Grid grad_grid = grid_of(own, padded, pieces.tall * MADE, pieces.wide * MADE);
    const Size apart = room * pixel + APART, grads_apart = room * padded + APART, sums_apart = c.inner * padded + APART;
    T* sums = scratch<T>(PRODUCTS * sums_apart, SHARED);
    T* spread = scratch<T>(PRODUCTS * (apart + grads_apart), MIDDLE);
    if (sums == nullptr || spread == nullptr) return false;
    T* grads = spread + PRODUCTS * apart;
    std::atomic<bool> failed{false};
    bool finite = true;
    for (Size group = 0; group < c.groups; group++) {
        for (Size start = 0; start < count; start += blocks) {
            const Size some = least(blocks, count - start);
            parallel_for(some, grain_for(most_pieces * (pixel + padded) * 20), [&](Size begin, Size end) {
                T* strip = scratch<T>(most(grid.all, grad_grid.all), STRIP);
                if (strip == nullptr) {
                    failed = true;
                    return;
                }
                for (Size s = begin; s < end; s++) {
                    const Part part = pieces[start + s];
                    const Size held = pieces_in(part), number = part.image * c.groups + group;
                    T *to = spread + s * most_pieces * pixel, *grads_to = grads + s * most_pieces * padded;
                    fill_strip(grid, taps, c.x + number * c.inner * volume, c.inner, part, strip);
                    spread_strip(strip, grid, part, to, apart);
                    fill_strip(grad_grid, own, c.grad + number * c.outer * places, c.outer, part, strip);
                    spread_gradients(strip, grad_grid, part, grads_to, grads_apart);
                    for (Size k = 0; k < PRODUCTS && held < most_pieces; k++) {
                        clear(to + k * apart + held * pixel, (most_pieces - held) * pixel);
                        clear(grads_to + k * grads_apart + held * padded, (most_pieces - held) * padded);
                    }
                }
            });
            if (failed) return false;
            const Size panels = (padded + PANEL<T> - 1) / PANEL<T>, zero = 0;
            parallel_for(PRODUCTS * panels, grain_for(c.inner * some * most_pieces), [&](Size begin, Size end) {
                for (Size task = begin; task < end; task++) {
                    const Size k = task / panels, j = task % panels * PANEL<T>;
                    multiply<T, false>(spread + k * apart, pixel, c.inner, Runs{&zero, 1, some * most_pieces},
                                       grads + k * grads_apart + j, padded, padded - j > W ? 2 : 1, sums + k * sums_apart + j, padded,
                                       start > 0);
                }
            });
        }
        finite &= gather_kernels(c, group, sums, padded, sums_apart);
    }
    return finite ? true : weight_gradient_directly(c);
}

}  // namespace
}  // namespace ISA
}  // namespace native
