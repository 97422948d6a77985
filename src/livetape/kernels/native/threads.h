// Loops over several cores, and the count of threads that rules them.
//
//     parallel_for(rows, grain, [&](Size begin, Size end) { ... });
//
// calls the body for [0, grain), [grain, 2 grain), ... up to ``rows``, on as many threads as `set_thread_count` allows. These
// bounds never depend on the number of threads: results that depend on them alone are the same for one thread and for many
// (``begin / grain`` numbers a chunk, so partial sums have a place of their own). Give a chunk 20 microseconds of work or more;
// a single chunk is a plain call. The body may not touch Python objects nor throw; release the GIL around large loops
// (`Unlocked`). Loops inside of loops, and loops of two Python threads at once, run on the thread that calls them.

#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace native {

using Body = void (*)(void* context, std::intptr_t begin, std::intptr_t end);

int thread_count();                // the threads that one loop may use
void set_thread_count(int count);  // at least 1
bool in_parallel();                // whether this thread is inside of a loop that several threads share

void run_chunks(std::intptr_t count, std::intptr_t grain, Body body, void* context);

template <class F>
inline void parallel_for(std::intptr_t count, std::intptr_t grain, F&& f) {
    if (count <= grain) {
        if (count > 0) f(std::intptr_t(0), count);
        return;
    }
    using Function = std::remove_reference_t<F>;
    run_chunks(
        count, grain, [](void* context, std::intptr_t begin, std::intptr_t end) { (*static_cast<Function*>(context))(begin, end); },
        const_cast<void*>(static_cast<const void*>(&f)));
}

inline std::intptr_t chunks_of(std::intptr_t count, std::intptr_t grain) { return (count + grain - 1) / grain; }

// The grain for rows of which each costs ``cost`` elementary steps (about a nanosecond for 4): a chunk is some 30 microseconds.
inline std::intptr_t grain_for(std::intptr_t cost) {
    constexpr std::intptr_t CHUNK = 1 << 17;
    return cost >= CHUNK ? 1 : CHUNK / (cost > 0 ? cost : 1);
}

// Memory of this thread, aligned to 64 bytes and not cleared: valid until the next call of the same ``slot`` (0 to 3) on this
// thread. Null if there is none.
void* thread_scratch(std::size_t bytes, int slot = 0);

}  // namespace native
