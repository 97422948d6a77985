// The loops of loops_body.h for every instruction set.

#include "loops.h"

#define BODY "loops_body.h"
#include "every_isa.h"

namespace native {

const Loops& loops() { return CHOSEN; }

}  // namespace native
