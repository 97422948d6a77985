// Convolutions as products of strips and packed kernels, for every kernel size, stride, dilation and dtype: no guard.
// Nothing is copied for each place of the kernel: `tile` walks the strip in runs, (columns, channels) by (columns, channels).

namespace native {
namespace ISA {
namespace {

// Where each run over the taps starts in a strip. Adjacent columns are one run.
INLINE Runs tap_runs(const Taps* taps, const Grid& grid, Size channels, Size* offsets) {
    const Taps &height = taps[1], &width = taps[2];
    const bool whole = width.adjacent() && grid.pixel == channels;
    Size* at = offsets;
    for (Size i = 0; i < taps[0].count; i++)
        for (Size j = 0; j < height.count; j++)
            for (Size k = 0; k < (whole ? 1 : width.count); k++)
                *at++ = i * grid.plane + (height.offset[j] - height.offset[0]) * grid.row +
                        (width.offset[k] - width.offset[0]) * grid.pixel;
    return {offsets, at - offsets, whole ? width.count * channels : channels};
}

INLINE Size tap_count(const Taps* taps) { return taps[0].count * taps[1].count * taps[2].count; }

// The kernels of each group as panels of columns (the result's channels); rows go over taps, then channels.
template <class T>
void pack_kernels(const Conv<T>& c, T* packed) {
    constexpr Size W = Vec<T>::W;
    const Size depth = tap_count(c.taps) * c.inner, padded = padded_columns<T>(c.outer), panels = (padded + PANEL<T> - 1) / PANEL<T>;
    parallel_for(c.groups * panels, grain_for(depth * PANEL<T> * 4), [&](Size begin, Size end) {
        for (Size i = begin; i < end; i++) {
            const Size group = i / panels, j = i % panels * PANEL<T>, wide = least(PANEL<T>, padded - j);
            T* to = packed + group * depth * padded + j * depth;
            if (wide > c.outer - j) clear(to, depth * wide);
            for (Size o = 0; o < least(wide, c.outer - j); o++) {
                const T* from = c.weight + group * c.outer * c.inner * c.kernel[0] * c.kernel[1] * c.kernel[2] +
                                (j + o) * c.outer_step;
                T* at = to + o;
                for (Size z = 0; z < c.taps[0].count; z++)
                    for (Size y = 0; y < c.taps[1].count; y++)
                        for (Size x = 0; x < c.taps[2].count; x++) {
                            const Size tap = (c.taps[0].index[z] * c.kernel[1] + c.taps[1].index[y]) * c.kernel[2] + c.taps[2].index[x];
                            for (Size l = 0; l < c.inner; l++, at += wide) *at = from[l * c.inner_step + tap];
                        }
            }
        }
    });
    static_assert(PANEL<T> == 2 * W, "the widths of panels");
}

// The bias of each group, 0 up to whole vectors.
template <class T>
void pack_bias(const Conv<T>& c, Size padded, T* packed) {
    for (Size g = 0; g < c.groups; g++) {
        std::memcpy(packed + g * padded, c.bias + g * c.outer, sizeof(T) * c.outer);
        clear(packed + g * padded + c.outer, padded - c.outer);
    }
}

// A convolution that is ready to be computed part by part.
template <class T>
struct Direct {
    const Conv<T>* conv;
    Grid grid;
    Runs runs;
    Size depth, padded;
    const T *packed, *bias;
};

// Memory of this thread for each purpose; what is shared between threads belongs to the calling one.
enum { SHARED, STRIP, STAGED, MIDDLE };

template <class T>
INLINE T* scratch(Size count, int slot) {
    return static_cast<T*>(thread_scratch(sizeof(T) * count + 256, slot));
}

template <class T>
bool convolve_part(const Direct<T>& d, const Part& part) {
    const Conv<T>& c = *d.conv;
    const Taps* taps = c.taps;
    const Size pixels = part.rows * part.columns;
    T *strip = scratch<T>(d.grid.all, STRIP), *staged = scratch<T>(pixels * d.padded, STAGED);
    if (strip == nullptr || staged == nullptr) return false;
    const Size volume = taps[0].input * taps[1].input * taps[2].input;
    fill_strip(d.grid, taps, c.x + (part.image * c.groups + part.group) * c.inner * volume, c.inner, part, strip);
    each_panel<T>(c.outer, [&](Size j, int vectors) {
        const T* panel = d.packed + part.group * d.depth * d.padded + j * d.depth;
        for (Size i = 0; i < part.rows; i++)
            multiply<T, true>(strip + i * d.grid.step_y * d.grid.row, d.grid.step_x * d.grid.pixel, part.columns, d.runs, panel,
                              vectors * Vec<T>::W, vectors, staged + i * part.columns * d.padded + j, d.padded, false);
    });
    place_part(c, part, staged, d.padded, d.bias);
    return true;
}

// Memory that `Direct` needs for its kernels, bias and runs, in elements.
template <class T>
Size direct_memory(const Conv<T>& c) {
    const Size padded = padded_columns<T>(c.outer), taps = tap_count(c.taps);
    return c.groups * padded * (taps * c.inner + 1) + taps * sizeof(Size) / sizeof(T) + 64;
}

template <class T>
Direct<T> prepare_direct(const Conv<T>& c, const Parts& parts, T* memory) {
    Direct<T> d;
    d.conv = &c;
    d.grid = grid_of(c.taps, c.inner, parts.rows, parts.columns);
    d.depth = tap_count(c.taps) * c.inner;
    d.padded = padded_columns<T>(c.outer);
    d.runs = tap_runs(c.taps, d.grid, c.inner, reinterpret_cast<Size*>(memory));
    T* packed = memory + (tap_count(c.taps) * sizeof(Size) / sizeof(T) + 15) / 16 * 16;
    T* bias = packed + c.groups * d.padded * d.depth;
    pack_kernels(c, packed);
    if (c.bias != nullptr) pack_bias(c, d.padded, bias);
    d.packed = packed;
    d.bias = c.bias == nullptr ? nullptr : bias;
    return d;
}

constexpr Size STRIP_BYTES = 1 << 17;  // so that a strip and its results stay in the second cache

template <class T>
bool convolve_directly(const Conv<T>& c) {
    const Size padded = padded_columns<T>(c.outer);
    const Size of_pixel = most(padded, c.inner * (c.taps[1].count == 1 ? 1 : c.taps[1].step) * (c.taps[2].count == 1 ? 1 : c.taps[2].step));
    const Size places = c.taps[0].output * c.taps[1].output * c.taps[2].output;
    Size pixels = STRIP_BYTES / Size(sizeof(T)) / of_pixel;
    pixels = most(48, least(pixels, c.images * c.groups * places / 16));  // enough parts for several threads
    const Parts parts = parts_of(c.taps, c.images, c.groups, pixels);
    T* memory = scratch<T>(direct_memory(c), SHARED);
    if (memory == nullptr) return false;
    const Direct<T> direct = prepare_direct(c, parts, memory);
    std::atomic<bool> failed{false};
    parallel_for(parts.count, grain_for(parts.rows * parts.columns * padded * direct.depth / Vec<T>::W), [&](Size begin, Size end) {
        for (Size i = begin; i < end; i++)
            if (!convolve_part(direct, parts[i])) failed = true;
    });
    return !failed;
}

// ---------------------------------------------------------------- the gradient of the weight
// Rows of the sums go over taps, then channels, as in `pack_kernels`; columns are the result's channels.
template <class T>
void place_kernels(const WeightGradient<T>& c, Size group, const T* sums, Size padded) {
    const Size taps = tap_count(c.taps);
    T* out = c.out + group * c.outer * c.inner * taps;
    for (Size tap = 0; tap < taps; tap++)
        for (Size i = 0; i < c.inner; i++) {
            const T* from = sums + (tap * c.inner + i) * padded;
            for (Size o = 0; o < c.outer; o++) out[(o * c.inner + i) * taps + tap] = from[o];
        }
}

// A few images at a time: first their strips, and the gradients with channels last, then the products of both, each task for
// rows of its own. So nothing depends on how many threads there are.
template <class T>
bool weight_gradient_directly(const WeightGradient<T>& c) {
    constexpr Size PIXELS = 256, BLOCK = (4 << 20) / sizeof(T), TASKS = 16;
    const Taps* taps = c.taps;
    const Size padded = padded_columns<T>(c.outer), places = taps[0].output * taps[1].output * taps[2].output;
    const Size volume = taps[0].input * taps[1].input * taps[2].input, depth = tap_count(taps) * c.inner;
    const Parts parts = parts_of(taps, c.images, 1, PIXELS);
    const Grid grid = grid_of(taps, c.inner, parts.rows, parts.columns);
    const Size each = grid.all + parts.rows * parts.columns * padded, step = most(1, least(parts.count, BLOCK / each));
    const Size count_of_offsets = tap_count(taps) + parts.rows;
    T* sums = scratch<T>(depth * padded + count_of_offsets * Size(sizeof(Size) / sizeof(T)) + 64, SHARED);
    T* memory = scratch<T>(each * step, MIDDLE);
    if (sums == nullptr || memory == nullptr) return false;
    Size* offsets = reinterpret_cast<Size*>(sums + depth * padded);
    const Runs runs = tap_runs(taps, grid, c.inner, offsets);
    Size* row_offsets = offsets + tap_count(taps);
    for (Size i = 0; i < parts.rows; i++) row_offsets[i] = i * grid.step_y * grid.row;
    // a task: some rows of one run
    const Size tall = most(MOST_ROWS<2>, least(runs.length, (depth + TASKS - 1) / TASKS));
    const Size tasks_of_run = (runs.length + tall - 1) / tall;
    for (Size group = 0; group < c.groups; group++) {
        for (Size start = 0; start < parts.count; start += step) {
            const Size count = least(step, parts.count - start);
            parallel_for(count, grain_for(each), [&](Size begin, Size end) {
                for (Size i = begin; i < end; i++) {
                    const Part part = parts[start + i];
                    T *strip = memory + i * each, *turned = strip + grid.all;
                    const Size number = part.image * c.groups + group;
                    fill_strip(grid, taps, c.x + number * c.inner * volume, c.inner, part, strip);
                    const T* grad = c.grad + number * c.outer * places + (part.z * taps[1].output + part.row) * taps[2].output + part.column;
                    for (Size r = 0; r < part.rows; r++, grad += taps[2].output, turned += part.columns * padded) {
                        turn_matrix(grad, places, c.outer, part.columns, turned, padded);
                        if (padded > c.outer)
                            for (Size l = 0; l < part.columns; l++) clear(turned + l * padded + c.outer, padded - c.outer);
                    }
                }
            });
            parallel_for(runs.count * tasks_of_run, 1, [&](Size begin, Size end) {
                for (Size task = begin; task < end; task++) {
                    const Size run = task / tasks_of_run, first = task % tasks_of_run * tall;
                    T* to = sums + (run * runs.length + first) * padded;
                    for (Size i = 0; i < count; i++) {
                        const Part part = parts[start + i];
                        const T *strip = memory + i * each, *turned = strip + grid.all;
                        const Runs rows = {row_offsets, part.rows, part.columns};
                        each_panel<T>(c.outer, [&](Size j, int vectors) {
                            multiply<T, false>(strip + runs.offsets[run] + first, grid.step_x * grid.pixel,
                                               least(tall, runs.length - first), rows, turned + j, padded, vectors, to + j, padded,
                                               start + i > 0);
                        });
                    }
                }
            });
        }
        place_kernels(c, group, sums, padded);
    }
    return true;
}

}  // namespace
}  // namespace ISA
}  // namespace native
