// Convolutions whose groups have a single input channel (depthwise ones): no product of matrices is in them, so each kernel
// slides over its plane. No guard.

namespace native {
namespace ISA {
namespace {

// A padded copy of the planes that one output plane needs. The columns that neighbouring places meet at a tap follow each
// other: with step s, column i is element i / s of the line for i modulo s.
struct Sliding {
    Size line, row, plane, all, step_y;
};

INLINE Sliding sliding_of(const Taps* taps) {
    Sliding s;
    const Size wide = (taps[2].output - 1) * taps[2].step + taps[2].span();
    s.line = (wide + taps[2].step - 1) / taps[2].step;
    s.row = s.line * taps[2].step;
    s.plane = reach(taps[1], taps[1].output) * s.row;
    s.all = taps[0].count * s.plane;
    s.step_y = taps[1].count == 1 ? 1 : taps[1].step;
    return s;
}

INLINE void sliding_offsets(const Taps* taps, const Sliding& s, Size* offsets) {
    for (Size i = 0; i < taps[0].count; i++)
        for (Size j = 0; j < taps[1].count; j++)
            for (Size k = 0; k < taps[2].count; k++) {
                const Size column = taps[2].offset[k] - taps[2].offset[0];
                *offsets++ = i * s.plane + (taps[1].count == 1 ? 0 : taps[1].offset[j] - taps[1].offset[0]) * s.row +
                             column % taps[2].step * s.line + column / taps[2].step;
            }
}

template <class T>
void fill_sliding(const Sliding& s, const Taps* taps, const T* x, Size z, T* out) {
    const Taps &depth = taps[0], &height = taps[1], &width = taps[2];
    const Size high = reach(height, height.output), first = width.offset[0], step = width.step;
    const Size low = first >= 0 ? 0 : -first, end = most(low, least(s.row, width.input - first));
    for (Size k = 0; k < depth.count; k++)
        for (Size j = 0; j < high; j++) {
            const Size from_z = z * depth.step + depth.offset[k];
            const Size from_y = height.offset[0] + (height.count == 1 ? j * height.step : j);
            T* to = out + k * s.plane + j * s.row;
            clear(to, s.row);
            if (from_z < 0 || from_z >= depth.input || from_y < 0 || from_y >= height.input) continue;
            const T* from = x + (from_z * height.input + from_y) * width.input + first;
            if (step == 1) {
                if (end > low) std::memcpy(to + low, from + low, sizeof(T) * (end - low));
                continue;
            }
            for (Size phase = 0; phase < step; phase++) {
                const Size start = low <= phase ? 0 : (low - phase + step - 1) / step;
                for (Size i = start; i * step + phase < end; i++) to[phase * s.line + i] = from[i * step + phase];
            }
        }
}

template <class T>
bool convolve_depthwise(const Conv<T>& c) {
    constexpr Size W = Vec<T>::W, SIDE = 4;
    const Taps* taps = c.taps;
    const Taps &depth = taps[0], &height = taps[1], &width = taps[2];
    const Size count = tap_count(taps), volume = depth.input * height.input * width.input;
    const Size made = depth.length * height.length * width.length;
    const Sliding s = sliding_of(taps);
    Size* offsets = scratch<Size>(count, SHARED);
    if (offsets == nullptr) return false;
    sliding_offsets(taps, s, offsets);
    std::atomic<bool> failed{false};
    parallel_for(c.images * c.groups, grain_for(depth.output * height.output * width.output * count * c.outer / W), [&](Size begin, Size end) {
        T* memory = scratch<T>(s.all + SIDE * W, STRIP);
        T* factors = scratch<T>(count * c.outer, STAGED);
        if (memory == nullptr || factors == nullptr) {
            failed = true;
            return;
        }
        for (Size n = begin; n < end; n++) {
            const Size group = n % c.groups;
            const T* weight = c.weight + group * c.outer * c.kernel[0] * c.kernel[1] * c.kernel[2];
            for (Size o = 0; o < c.outer; o++)
                for (Size i = 0, t = o * count; i < depth.count; i++)
                    for (Size j = 0; j < height.count; j++)
                        for (Size k = 0; k < width.count; k++)
                            factors[t++] = weight[o * c.outer_step +
                                                  (depth.index[i] * c.kernel[1] + height.index[j]) * c.kernel[2] + width.index[k]];
            for (Size z = 0; z < depth.output; z++) {
                fill_sliding(s, taps, c.x + n * volume, z, memory);
                for (Size o = 0; o < c.outer; o++) {
                    const T* factor = factors + o * count;
                    const V<T> start = V<T>{} + (c.bias == nullptr ? T(0) : c.bias[group * c.outer + o]);
                    for (Size y = 0; y < height.output; y++) {
                        T* out = c.out + (n * c.outer + o) * made + (depth.start + z * depth.stride) * height.length * width.length +
                                 (height.start + y * height.stride) * width.length + width.start;
                        for (Size x = 0; x < width.output; x += SIDE * W) {
                            const T* from = memory + y * s.step_y * s.row + x;
                            const Size left = width.output - x;
                            V<T> sums[SIDE] = {start, start, start, start};
                            if (left > W)
                                for (Size t = 0; t < count; t++)
                                    for (int k = 0; k < SIDE; k++) sums[k] += load(from + offsets[t] + k * W) * factor[t];
                            else
                                for (Size t = 0; t < count; t++) sums[0] += load(from + offsets[t]) * factor[t];
                            for (int k = 0; k < SIDE && k * W < left; k++) {
                                T* to = out + (x + k * W) * width.stride;
                                if (width.stride == 1 && left - k * W >= W) {
                                    store(to, sums[k]);
                                    continue;
                                }
                                T lanes[W];
                                store(lanes, sums[k]);
                                for (Size l = 0; l < least(W, left - k * W); l++) to[l * width.stride] = lanes[l];
                            }
                        }
                    }
                }
            }
        }
    });
    return !failed;
}

// Each task has groups of its own, and goes over all images.
template <class T>
bool weight_gradient_depthwise(const WeightGradient<T>& c) {
    constexpr Size W = Vec<T>::W, SIDE = 4;
    const Taps* taps = c.taps;
    const Taps &depth = taps[0], &height = taps[1], &width = taps[2];
    const Size count = tap_count(taps), volume = depth.input * height.input * width.input, area = height.output * width.output;
    const Sliding s = sliding_of(taps);
    Size* offsets = scratch<Size>(count, SHARED);
    if (offsets == nullptr) return false;
    sliding_offsets(taps, s, offsets);
    std::atomic<bool> failed{false};
    parallel_for(c.groups, grain_for(c.images * depth.output * area * count * c.outer / W), [&](Size begin, Size end) {
        T* memory = scratch<T>(s.all + SIDE * W, STRIP);
        if (memory == nullptr) {
            failed = true;
            return;
        }
        clear(c.out + begin * c.outer * count, (end - begin) * c.outer * count);
        for (Size group = begin; group < end; group++)
            for (Size image = 0; image < c.images; image++)
                for (Size z = 0; z < depth.output; z++) {
                    fill_sliding(s, taps, c.x + (image * c.groups + group) * volume, z, memory);
                    for (Size o = 0; o < c.outer; o++) {
                        const T* grad = c.grad + (((image * c.groups + group) * c.outer + o) * depth.output + z) * area;
                        T* out = c.out + (group * c.outer + o) * count;
                        for (Size t = 0; t < count; t += SIDE) {
                            V<T> sums[SIDE] = {};
                            const T* from[SIDE];
                            for (int k = 0; k < SIDE; k++) from[k] = memory + offsets[least(t + k, count - 1)];
                            for (Size y = 0; y < height.output; y++) {
                                const T* line = grad + y * width.output;
                                const Size row = y * s.step_y * s.row;
                                Size x = 0;
                                for (; x + W <= width.output; x += W) {
                                    const V<T> g = load(line + x);
                                    for (int k = 0; k < SIDE; k++) sums[k] += load(from[k] + row + x) * g;
                                }
                                if (x < width.output) {
                                    const V<T> g = load_some(line + x, width.output - x, T(0));
                                    for (int k = 0; k < SIDE; k++)
                                        sums[k] += load_some(from[k] + row + x, width.output - x, T(0)) * g;
                                }
                            }
                            for (Size k = 0; k < least(SIDE, count - t); k++) out[t + k] += sum_of<T>(sums[k]);
                        }
                    }
                }
    });
    return !failed;
}

}  // namespace
}  // namespace ISA
}  // namespace native
