// Compiles BODY for x86-64 as it began, with AVX2 (v3) and with AVX-512 (v4); see isa.h. Other processors and compilers get
// the first alone. In the body: namespace ISA, vectors of VECTOR_BYTES, and what vectors_body.h makes of them.

#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "isa.h"

#ifdef LIVETAPE_SEVERAL
#include <immintrin.h>
#endif
#ifdef __GNUC__
#define INLINE inline __attribute__((always_inline))
#else
#define INLINE inline
#endif

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"  // all functions with vectors are inlined
#endif

#define ISA baseline
#define VECTOR_BYTES 16
#include BODY
#undef ISA
#undef VECTOR_BYTES

#ifdef LIVETAPE_SEVERAL
#define CHOSEN *(isa() == V4 ? &v4::table : isa() == V3 ? &v3::table : &baseline::table)
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma,bmi,bmi2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,bmi,bmi2")
#endif
#define ISA v3
#define VECTOR_BYTES 32
#include BODY
#undef ISA
#undef VECTOR_BYTES
#ifdef __clang__
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx2,fma,bmi,bmi2,avx512f,avx512bw,avx512cd,avx512dq,avx512vl"))), \
                             apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // GCC 12 says it of its own AVX-512 header
#pragma GCC target("avx2,fma,bmi,bmi2,avx512f,avx512bw,avx512cd,avx512dq,avx512vl,prefer-vector-width=512")
#endif
#define ISA v4
#define VECTOR_BYTES 64
#include BODY
#undef ISA
#undef VECTOR_BYTES
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#else
#define CHOSEN baseline::table
#endif
