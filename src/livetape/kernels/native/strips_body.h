// Parts of an input with channels last, as `tile` wants them, for the bodies that every_isa.h compiles: no guard.

namespace native {
namespace ISA {
namespace {

INLINE Size least(Size a, Size b) { return a < b ? a : b; }
INLINE Size most(Size a, Size b) { return a > b ? a : b; }

// How a strip lies in memory: the part of the input that some rows and columns of the output need. Where a dimension has a
// single tap, only the places that it meets are kept.
struct Grid {
    Size rows, columns;  // of the output, at most
    Size pixel, row, plane, all;
    Size step_y, step_x;  // places of the strip from one output place to the next
};

INLINE Size reach(const Taps& t, Size count) { return t.count == 1 ? count : (count - 1) * t.step + t.span(); }

INLINE Grid grid_of(const Taps* taps, Size pixel, Size rows, Size columns) {
    Grid g;
    g.rows = rows, g.columns = columns, g.pixel = pixel;
    g.row = reach(taps[2], columns) * pixel;
    g.plane = reach(taps[1], rows) * g.row;
    g.all = taps[0].count * g.plane;
    g.step_y = taps[1].count == 1 ? 1 : taps[1].step;
    g.step_x = taps[2].count == 1 ? 1 : taps[2].step;
    return g;
}

// Some rows and columns of one plane of the output.
struct Part {
    Size image, group, z, row, rows, column, columns;
};

// How a convolution's output is cut into parts.
struct Parts {
    Size depth, height, width, rows, columns, down, across, groups, count;

    INLINE Part operator[](Size i) const {
        Part p;
        const Size column = i % across, row = i / across % down;
        i /= across * down;
        p.z = i % depth, p.group = i / depth % groups, p.image = i / (depth * groups);
        p.row = row * rows, p.rows = least(rows, height - p.row);
        p.column = column * columns, p.columns = least(columns, width - p.column);
        return p;
    }
};

// ``pixels`` is the size that parts should have, more or less.
INLINE Parts parts_of(const Taps* taps, Size images, Size groups, Size pixels) {
    Parts p;
    p.depth = taps[0].output, p.height = taps[1].output, p.width = taps[2].output, p.groups = groups;
    p.across = (p.width + pixels - 1) / pixels;
    p.columns = (p.width + p.across - 1) / p.across;
    p.across = (p.width + p.columns - 1) / p.columns;
    const Size wanted = most(1, pixels / p.columns);
    p.down = (p.height + wanted - 1) / wanted;
    p.rows = (p.height + p.down - 1) / p.down;
    p.down = (p.height + p.rows - 1) / p.rows;
    p.count = images * groups * p.depth * p.down * p.across;
    return p;
}

template <class T>
INLINE void clear(T* x, Size count) {
    std::memset(x, 0, sizeof(T) * count);
}

// ``x``: the channels of one image and group. Channels up to ``grid.pixel`` are 0.
template <class T>
void fill_strip(const Grid& grid, const Taps* taps, const T* x, Size channels, const Part& part, T* out) {
    const Taps &depth = taps[0], &height = taps[1], &width = taps[2];
    const Size line = width.input, plane = height.input * line, volume = depth.input * plane;
    const Size high = reach(height, part.rows), wide = reach(width, part.columns);
    const Size stride = width.count == 1 ? width.step : 1, first = part.column * width.step + width.offset[0];
    Size low = first >= 0 ? 0 : (-first + stride - 1) / stride;  // columns of the strip that are inside of the input
    Size end = first >= line ? 0 : least(wide, (line - 1 - first) / stride + 1);
    if (end < low) low = end = 0;
    for (Size k = 0; k < depth.count; k++)
        for (Size j = 0; j < high; j++) {
            const Size z = part.z * depth.step + depth.offset[k];
            const Size y = part.row * height.step + height.offset[0] + (height.count == 1 ? j * height.step : j);
            T* to = out + k * grid.plane + j * grid.row;
            if (z < 0 || z >= depth.input || y < 0 || y >= height.input || low == end) {
                clear(to, wide * grid.pixel);
                continue;
            }
            const T* from = x + z * plane + y * line + first + low * stride;
            clear(to, low * grid.pixel);
            clear(to + end * grid.pixel, (wide - end) * grid.pixel);
            to += low * grid.pixel;
            if (stride == 1 && y + 1 < height.input)  // the next row: channels lie too far apart to be foreseen
                for (Size i = 0; i < channels; i++)
                    for (Size l = 0; l < end - low; l += 64 / sizeof(T)) prefetch(from + i * volume + line + l);
            if (stride == 1)
                turn_matrix(from, volume, channels, end - low, to, grid.pixel);
            else
                for (Size i = 0; i < channels; i++)
                    for (Size l = 0; l < end - low; l++) to[l * grid.pixel + i] = from[i * volume + l * stride];
            if (grid.pixel > channels)
                for (Size l = 0; l < end - low; l++) clear(to + l * grid.pixel + channels, grid.pixel - channels);
        }
}

// From channels last, ``x_row`` apart, to out[channel * out_row + pixel * out_step], plus bias (as wide as x, or null).
// Where ``x`` has fewer channels than whole vectors, what follows is read and not used.
template <class T>
void place_pixels(const T* x, Size x_row, Size pixels, Size channels, const T* bias, T* out, Size out_row, Size out_step) {
    constexpr Size W = Vec<T>::W;
    for (Size j = 0; j < channels; j += W) {
        const Size count = least(W, channels - j);
        const V<T> more = bias == nullptr ? V<T>{} : load(bias + j);
        for (Size i = 0; i < pixels; i += W) {
            V<T> block[W];
            const Size some = least(W, pixels - i);
            const T* from = x + i * x_row + j;
            T* to = out + j * out_row + i * out_step;
            if (some == W && out_step == 1) {
#pragma GCC unroll 16
                for (int k = 0; k < W; k++) block[k] = load(from + k * x_row) + more;
                transpose<T>(block);
                if (count == W) {
#pragma GCC unroll 16
                    for (int k = 0; k < W; k++) store(to + k * out_row, block[k]);
                } else {
                    for (Size k = 0; k < count; k++) store(to + k * out_row, block[k]);
                }
                continue;
            }
            T lanes[W];
            for (Size k = 0; k < some; k++) {
                store(lanes, load(from + k * x_row) + more);
                for (Size l = 0; l < count; l++) to[l * out_row + k * out_step] = lanes[l];
            }
        }
    }
}

// The part of the result that ``staged`` (pixels with channels last, ``padded`` apart) holds.
template <class T>
void place_part(const Conv<T>& c, const Part& part, const T* staged, Size padded, const T* bias) {
    const Taps &depth = c.taps[0], &height = c.taps[1], &width = c.taps[2];
    const Size line = width.length, plane = line * height.length, volume = plane * depth.length;
    T* out = c.out + (part.image * c.groups + part.group) * c.outer * volume + (depth.start + part.z * depth.stride) * plane;
    const T* some = bias == nullptr ? nullptr : bias + part.group * padded;
    if (width.stride == 1 && part.columns == line && height.stride == 1) {  // rows follow each other
        out += (height.start + part.row) * line;
        return place_pixels(staged, padded, part.rows * part.columns, c.outer, some, out, volume, Size(1));
    }
    out += width.start + part.column * width.stride;
    for (Size i = 0; i < part.rows; i++)
        place_pixels(staged + i * part.columns * padded, padded, part.columns, c.outer, some,
                     out + (height.start + (part.row + i) * height.stride) * line, volume, width.stride);
}

}  // namespace
}  // namespace ISA
}  // namespace native
