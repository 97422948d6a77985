// The instruction sets that loops are compiled for, and which of them is in use: at first the best of this processor.
//
// A family of loops is a file of its own: xxx_body.h holds the loops and ends with ``const Xxx table = {...};``, and xxx.cpp
// compiles it for each set and chooses:
//
//     #define BODY "xxx_body.h"
//     #include "every_isa.h"
//     namespace native {
//     const Xxx& xxx() { return CHOSEN; }
//     }

#pragma once

#if defined(__x86_64__) && defined(__GNUC__)
#define LIVETAPE_SEVERAL
#endif

namespace native {

enum { BASELINE, V3, V4 };
int isa();  // the one in use: V3 has AVX2 and fused products, V4 AVX-512
const char* isa_name();
bool use_isa(const char* name);  // uses another; false if this processor or build lacks it

}  // namespace native
