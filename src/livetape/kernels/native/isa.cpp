#include "isa.h"

#include <cstring>
#include <initializer_list>

namespace native {
namespace {

const char* const names[] = {"baseline", "v3", "v4"};

bool has(int wanted) {
    if (wanted == BASELINE) return true;
#ifdef LIVETAPE_SEVERAL
    __builtin_cpu_init();
    bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
              __builtin_cpu_supports("bmi2");
    return wanted == V3 ? v3
                        : v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                              __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                              __builtin_cpu_supports("avx512vl");
#else
    return false;
#endif
}

// AVX-512 on request only: its loops have not run on such a processor yet.
int used = has(V3) ? V3 : BASELINE;

}  // namespace

int isa() { return used; }

const char* isa_name() { return names[used]; }

bool use_isa(const char* name) {
    for (int i : {BASELINE, V3, V4})
        if (std::strcmp(names[i], name) == 0 && has(i)) {
            used = i;
            return true;
        }
    return false;
}

}  // namespace native
