// The loops of loops_body.h for x86-64 as it began, with AVX2 (v3) and with AVX-512 (v4), and the choice among them.
// Other processors and compilers get the first alone.

#include "loops.h"

#include <cmath>
#include <cstring>
#include <limits>

#if defined(__x86_64__) && defined(__GNUC__)
#define LIVETAPE_SEVERAL
#include <immintrin.h>
#endif
#ifdef __GNUC__
#define INLINE inline __attribute__((always_inline))
#else
#define INLINE inline
#endif

#define ISA baseline
#define VECTOR_BYTES 16
#include "loops_body.h"
#undef ISA
#undef VECTOR_BYTES

#ifdef LIVETAPE_SEVERAL
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma,bmi,bmi2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,bmi,bmi2")
#endif
#define ISA v3
#define VECTOR_BYTES 32
#include "loops_body.h"
#undef ISA
#undef VECTOR_BYTES
#ifdef __clang__
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx2,fma,bmi,bmi2,avx512f,avx512bw,avx512cd,avx512dq,avx512vl"))), \
                             apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx2,fma,bmi,bmi2,avx512f,avx512bw,avx512cd,avx512dq,avx512vl,prefer-vector-width=512")
#endif
#define ISA v4
#define VECTOR_BYTES 64
#include "loops_body.h"
#undef ISA
#undef VECTOR_BYTES
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

namespace native {
namespace {

const Loops* find(const char* isa) {  // nullptr: the best
#ifdef LIVETAPE_SEVERAL
    __builtin_cpu_init();
    bool has_v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                  __builtin_cpu_supports("bmi2");
    bool has_v4 = has_v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    // AVX-512 on request only: its masked loads and stores have not run on such a processor yet
    if (has_v4 && isa != nullptr && std::strcmp(isa, v4::table.isa) == 0) return &v4::table;
    if (has_v3 && (isa == nullptr || std::strcmp(isa, v3::table.isa) == 0)) return &v3::table;
#endif
    return isa == nullptr || std::strcmp(isa, baseline::table.isa) == 0 ? &baseline::table : nullptr;
}

const Loops* used = find(nullptr);

}  // namespace

const Loops& loops() { return *used; }

bool use_loops(const char* isa) {
    const Loops* found = find(isa);
    if (found != nullptr) used = found;
    return found != nullptr;
}

}  // namespace native
