// The loop of random numbers that is compiled once for each instruction set; see draws.cpp.

#pragma once

#include <cstdint>

namespace native {

struct DrawLoops {
    // Blocks of 16 uniforms in [0, 1) become normals, in place.
    void (*normal_blocks)(float* values, std::intptr_t blocks);
};

const DrawLoops& draw_loops();

}  // namespace native
