// Memory of large arrays is kept and used again, so that results are not written into fresh pages that the system has to
// fault in and clear; see buffers.cpp.

#pragma once

#include "common.h"

namespace native {

extern PyMethodDef buffer_methods[];

// Takes kept memory for this thread's (more exactly, this context's) arrays too, if ``bytes`` make that worth while.
void want_buffers(std::size_t bytes);

}  // namespace native
