// A pool of threads that sleep until a loop needs them; see threads.h.
//
// A loop is one job at a time: the caller publishes it, wakes the threads and takes chunks itself until none is left, so it
// never waits for a thread that has not started yet. Threads hold no Python state and block all signals. After a fork the
// child's pool starts empty.

#include "threads.h"

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <new>
#include <thread>

#include "blas.h"

#ifndef _WIN32
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>
#endif
#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#define LIVETAPE_PAUSE() _mm_pause()
#else
#define LIVETAPE_PAUSE() std::this_thread::yield()
#endif

namespace native {
namespace {

constexpr int MOST = 64;      // threads at most
constexpr int PATIENCE = 400; // pauses, some microseconds in all, before a thread that waits for others goes to sleep

struct Job {
    Body body;
    void* context;
    std::intptr_t count, grain;
};

struct Pool {
    std::mutex mutex;
    std::condition_variable wake, finished;
    std::mutex busy;               // held by the thread whose loop it is
    Job job{};                     // written with ``mutex`` held, while ``inside`` is 0
    bool open = false;             // whether the job still takes threads
    int seats = 0;                 // threads that may still enter it
    std::atomic<std::uint64_t> number{0};
    std::atomic<int> inside{0};    // threads in the job
    std::atomic<std::intptr_t> next{0};
    int started = 0, asleep = 0;
};

// Never destroyed: its threads outlive static objects.
alignas(Pool) unsigned char place[sizeof(Pool)];
Pool* pool = new (place) Pool;
std::atomic<int> wanted{0};  // 0: not chosen yet
thread_local bool inside_loop = false;

int chosen_by_environment() {
    for (const char* name : {"OMP_NUM_THREADS", "MKL_NUM_THREADS"}) {
        const char* text = std::getenv(name);
        int value = text == nullptr ? 0 : std::atoi(text);
        if (value > 0) return value;
    }
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
#endif
    unsigned cores = std::thread::hardware_concurrency();
    return cores == 0 ? 1 : static_cast<int>(cores);
}

void take_chunks(Pool& p, const Job& job) {
    inside_loop = true;
    for (;;) {
        std::intptr_t begin = p.next.fetch_add(job.grain, std::memory_order_relaxed);
        if (begin >= job.count) break;
        job.body(job.context, begin, begin + job.grain < job.count ? begin + job.grain : job.count);
    }
    inside_loop = false;
}

void live(Pool* p) {
    std::uint64_t seen = 0;
    for (;;) {
        for (int i = 0; i < PATIENCE && p->number.load(std::memory_order_relaxed) == seen; i++) LIVETAPE_PAUSE();
        Job job;
        {
            std::unique_lock<std::mutex> lock(p->mutex);
            p->asleep++;
            p->wake.wait(lock, [&] { return p->number.load(std::memory_order_relaxed) != seen; });
            p->asleep--;
            seen = p->number.load(std::memory_order_relaxed);
            if (!p->open || p->seats == 0) continue;
            p->seats--;
            p->inside.fetch_add(1, std::memory_order_relaxed);
            job = p->job;
        }
        take_chunks(*p, job);
        if (p->inside.fetch_sub(1, std::memory_order_acq_rel) == 1) {
            std::lock_guard<std::mutex> lock(p->mutex);
            p->finished.notify_all();
        }
    }
}

void start_threads(Pool& p, int count) {  // with ``busy`` held
    if (p.started >= count) return;
#ifndef _WIN32
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for Python's own threads
#endif
    try {
        while (p.started < count) {
            std::thread(live, &p).detach();
            p.started++;
        }
    } catch (const std::exception&) {
        // fewer threads will do
    }
#ifndef _WIN32
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
#endif
}

#ifndef _WIN32
// The child of a fork has one thread, and locks in whatever state they were.
void forget() {
    pool = new (place) Pool;
    inside_loop = false;
}
const int registered = pthread_atfork(nullptr, nullptr, forget);
#endif

struct Scratch {
    void* block[4] = {};
    void* aligned[4] = {};
    std::size_t size[4] = {};
    ~Scratch() {
        for (void* b : block) std::free(b);
    }
};
thread_local Scratch scratch;

}  // namespace

int thread_count() {
    int count = wanted.load(std::memory_order_relaxed);
    if (count == 0) wanted.store(count = chosen_by_environment(), std::memory_order_relaxed);
    return count;
}

void set_thread_count(int count) { wanted.store(count < 1 ? 1 : count, std::memory_order_relaxed); }

bool in_parallel() { return inside_loop; }

void run_chunks(std::intptr_t count, std::intptr_t grain, Body body, void* context) {
    if (grain < 1) grain = 1;
    const std::intptr_t chunks = (count + grain - 1) / grain;
    int threads = inside_loop ? 1 : thread_count();
    if (threads > MOST) threads = MOST;
    if (threads > chunks) threads = static_cast<int>(chunks);
    Pool& p = *pool;
    if (threads <= 1 || !p.busy.try_lock()) {
        for (std::intptr_t begin = 0; begin < count; begin += grain)
            body(context, begin, begin + grain < count ? begin + grain : count);
        return;
    }
    start_threads(p, threads - 1);
    AloneBlas alone;
    const Job job{body, context, count, grain};
    bool sleepers;
    {
        std::lock_guard<std::mutex> lock(p.mutex);
        p.job = job;
        p.open = true;
        p.seats = threads - 1;
        p.next.store(0, std::memory_order_relaxed);
        p.number.fetch_add(1, std::memory_order_relaxed);
        sleepers = p.asleep > 0;
    }
    if (sleepers) {
        if (threads == 2)
            p.wake.notify_one();
        else
            p.wake.notify_all();
    }
    take_chunks(p, job);
    {
        std::lock_guard<std::mutex> lock(p.mutex);
        p.open = false;
    }
    for (int i = 0; i < PATIENCE && p.inside.load(std::memory_order_acquire) != 0; i++) LIVETAPE_PAUSE();
    if (p.inside.load(std::memory_order_acquire) != 0) {
        std::unique_lock<std::mutex> lock(p.mutex);
        p.finished.wait(lock, [&] { return p.inside.load(std::memory_order_acquire) == 0; });
    }
    p.busy.unlock();
}

void* thread_scratch(std::size_t bytes, int slot) {
    Scratch& s = scratch;
    if (s.size[slot] < bytes) {
        std::free(s.block[slot]);
        const std::size_t size = (bytes + 4095) / 4096 * 4096;
        s.block[slot] = std::malloc(size + 64);
        s.size[slot] = s.block[slot] == nullptr ? 0 : size;
        s.aligned[slot] = reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(s.block[slot]) + 63) / 64 * 64);
    }
    return s.size[slot] == 0 ? nullptr : s.aligned[slot];
}

}  // namespace native
