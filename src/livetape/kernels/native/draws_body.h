// Normals in blocks of sixteen by Box and Muller, as torch's vectorised kernel makes them: kernels/boxmuller.py says how,
// step by step. No guard: every_isa.h includes this several times. A block is always two vectors of eight.

namespace native {
namespace ISA {
namespace {

#ifdef __GNUC__
typedef float Floats __attribute__((vector_size(32)));
typedef std::int32_t Ints __attribute__((vector_size(32)));
constexpr int LANES = 8;
INLINE Ints whole_of(Floats x) { return __builtin_convertvector(x, Ints); }
INLINE Floats real_of(Ints x) { return __builtin_convertvector(x, Floats); }
#else
typedef float Floats;
typedef std::int32_t Ints;
constexpr int LANES = 1;
INLINE Ints whole_of(Floats x) { return static_cast<Ints>(x); }
INLINE Floats real_of(Ints x) { return static_cast<Floats>(x); }
#endif

template <class To, class From>
INLINE To as_bits(From from) {
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}

INLINE Floats of(float value) { return Floats{} + value; }

#if VECTOR_BYTES > 16
INLINE Floats fused(Floats a, Floats b, Floats c) { return Floats(_mm256_fmadd_ps(__m256(a), __m256(b), __m256(c))); }
INLINE Floats root(Floats x) { return Floats(_mm256_sqrt_ps(__m256(x))); }
#else
// A product of two floats is exact in double: its sum is rounded once more than a fused one, which makes no difference that
// could be met with in practice.
INLINE Floats fused(Floats a, Floats b, Floats c) {
    float x[LANES], y[LANES], z[LANES];
    std::memcpy(x, &a, sizeof x);
    std::memcpy(y, &b, sizeof y);
    std::memcpy(z, &c, sizeof z);
    for (int k = 0; k < LANES; k++) z[k] = static_cast<float>(static_cast<double>(x[k]) * y[k] + z[k]);
    std::memcpy(&c, z, sizeof z);
    return c;
}
INLINE Floats root(Floats value) {
    float x[LANES];
    std::memcpy(x, &value, sizeof x);
    for (int k = 0; k < LANES; k++) x[k] = std::sqrt(x[k]);
    std::memcpy(&value, x, sizeof x);
    return value;
}
#endif

INLINE Floats radius_of(Floats u) {  // sqrt(-2 ln u) for u in (0, 1]
    constexpr float log[] = {7.0376836292e-2f,  -1.1514610310e-1f, 1.1676998740e-1f, -1.2420140846e-1f, 1.4249322787e-1f,
                             -1.6668057665e-1f, 2.0000714765e-1f,  -2.4999993993e-1f, 3.3333331174e-1f};
    constexpr std::int32_t sqrt_half = 0x3F3504F3;
    const Ints bits = as_bits<Ints>(u) - sqrt_half;
    const Floats exponent = real_of(bits >> 23), low = exponent * -2.12194440e-4f;
    const Floats x = as_bits<Floats>((bits & 0x007FFFFF) + sqrt_half) - 1.0f, square = x * x;
    Floats y = fused(x, of(log[0]), of(log[1]));
    for (int i = 2; i < 9; i++) y = fused(y, x, of(log[i]));
    y = fused(y * x, square, low) - square * 0.5f;
    return root(fused(exponent, of(0.693359375f), x + y) * -2.0f);
}

INLINE void cos_sin_of(Floats theta, Floats& cosine, Floats& sine) {  // of angles in [0, 2 pi]
    const Ints quadrant = (whole_of(theta * 1.27323954473516f) + 1) >> 1;
    const Floats turns = real_of(quadrant);
    Floats x = theta + turns * (-0.78515625f * 2);
    x = x + turns * (-2.4187564849853515625e-4f * 2);
    x = fused(turns, of(-3.77489497744594108e-8f * 2), x);
    const Floats square = x * x;
    Floats c = fused(fused(square, of(2.443315711809948e-5f), of(-1.388731625493765e-3f)), square, of(4.166664568298827e-2f));
    Floats s = fused(fused(square, of(-1.9515295891e-4f), of(8.3321608736e-3f)), square, of(-1.6666654611e-1f));
    c = fused(c * square, square, square * -0.5f) + 1.0f;
    s = fused(s * square, x, x);
    // In every second quadrant sine and cosine change places; then each takes its sign there.
    Ints c_bits = as_bits<Ints>(c), s_bits = as_bits<Ints>(s);
    const Ints swap = -(quadrant & 1) & (c_bits ^ s_bits);
    c_bits ^= swap ^ (((quadrant + 1) & 2) << 30);
    s_bits ^= swap ^ ((quadrant & 2) << 30);
    cosine = as_bits<Floats>(c_bits);
    sine = as_bits<Floats>(s_bits);
}

void normal_blocks(float* values, std::intptr_t blocks) {
    for (; blocks > 0; blocks--, values += 16)
        for (int k = 0; k < 8; k += LANES) {
            Floats u, turn, cosine, sine;
            std::memcpy(&u, values + k, sizeof u);
            std::memcpy(&turn, values + k + 8, sizeof turn);
            const Floats radius = radius_of(1.0f - u);
            cos_sin_of(turn * 6.283185307179586f, cosine, sine);
            cosine = cosine * radius;
            sine = sine * radius;
            std::memcpy(values + k, &cosine, sizeof cosine);
            std::memcpy(values + k + 8, &sine, sizeof sine);
        }
}

const DrawLoops table = {normal_blocks};

}  // namespace
}  // namespace ISA
}  // namespace native
