// The loop of random numbers that is compiled once for each instruction set, see draws.cpp, and how some of these numbers
// move with their parameters, see implicit.cpp.

#pragma once

#include <Python.h>

#include <cstdint>

namespace native {

struct DrawLoops {
    // Blocks of 16 uniforms in [0, 1) become normals, in place.
    void (*normal_blocks)(float* values, std::intptr_t blocks);
};

const DrawLoops& draw_loops();

PyObject* gamma_slopes(PyObject*, PyObject* const* args, Py_ssize_t count);
PyObject* beta_slopes(PyObject*, PyObject* const* args, Py_ssize_t count);

}  // namespace native
