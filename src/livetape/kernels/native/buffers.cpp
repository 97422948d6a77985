// A memory handler for NumPy (NEP 49) that keeps large blocks when arrays die, by sizes, for the next arrays.
//
// Every block comes from malloc and its like, so that it can always be given back by free, and NumPy's own rules about views
// and owners are all that matters for its life. What is kept has a bound; what lay idle for some seconds is given back, and
// everything when the system runs short of memory. Small blocks are the default handler's.
// The handler holds for a context (`contextvars`): the one that imports livetape, and those whose large results are made here.

#include "buffers.h"

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <vector>

#ifdef __linux__
#define LIVETAPE_BUFFERS
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#endif

namespace native {
namespace {

constexpr std::size_t LEAST = std::size_t(1) << 15;  // bytes from which blocks are kept
constexpr std::size_t HUGE_FROM = std::size_t(1) << 22, HUGE_PAGE = std::size_t(1) << 21;
constexpr int FIRST = 15, OCTAVES = 27, STEPS = 8;  // sizes: 8 to each power of two
constexpr int CLASSES = OCTAVES * STEPS + 1;
constexpr std::size_t DEFAULT_LIMIT = std::size_t(1) << 31;
constexpr long IDLE_SECONDS = 2;

#ifdef LIVETAPE_BUFFERS

std::size_t size_of_class(int c) { return (std::size_t(STEPS + c % STEPS) << (FIRST + c / STEPS)) / STEPS; }

// The smallest class that holds ``size`` bytes (at least LEAST), or CLASSES.
int class_for(std::size_t size) {
    if (size <= LEAST) return 0;
    const int power = 63 - __builtin_clzll(static_cast<unsigned long long>(size - 1));
    const std::size_t part = ((size - 1) >> (power - 3)) & 7;
    const int c = (power - FIRST) * STEPS + static_cast<int>(part) + 1;
    return c < CLASSES ? c : CLASSES;
}

struct Kept {
    std::vector<void*> blocks;
    std::size_t idle = 0;  // how many of them nobody has taken since the last look
};

struct Pool {
    std::mutex mutex;
    Kept kept[CLASSES];
    std::size_t bytes = 0, limit = DEFAULT_LIMIT, used = 0, made = 0;
    long looked = 0, checked = 0;
};
alignas(Pool) unsigned char place[sizeof(Pool)];  // never destroyed: arrays may outlive static objects
Pool& pool = *new (place) Pool;

PyObject* capsule;  // of the handler
PyDataMemAllocator other;  // NumPy's default

long seconds() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return static_cast<long>(now.tv_sec);
}

// ---------------------------------------------------------------- what the system can spare
long long number_in(const char* path, const char* key) {
    std::FILE* file = std::fopen(path, "re");
    if (file == nullptr) return -1;
    char line[256];
    long long value = -1;
    while (value < 0 && std::fgets(line, sizeof line, file) != nullptr)
        if (std::strncmp(line, key, std::strlen(key)) == 0) {
            char* end;
            const char* text = line + std::strlen(key);
            const long long found = std::strtoll(text, &end, 10);
            value = end == text ? -1 : found;
            break;
        }
    std::fclose(file);
    return value;
}

// The memory of this machine or container, and how much of it is to be had, in bytes.
void memory(long long& total, long long& available) {
    total = number_in("/proc/meminfo", "MemTotal:") * 1024;
    available = number_in("/proc/meminfo", "MemAvailable:") * 1024;
    const long long most = number_in("/sys/fs/cgroup/memory.max", ""), current = number_in("/sys/fs/cgroup/memory.current", "");
    if (most > 0 && current >= 0 && (total < 0 || most < total)) {
        total = most;
        if (available < 0 || most - current < available) available = most - current;
    }
}

bool is_short() {
    long long total, available;
    memory(total, available);
    return total > 0 && available >= 0 && available < total / 10;
}

// ---------------------------------------------------------------- keeping blocks
void drop(int c, std::size_t count) {  // those that lay there longest; with the lock held
    std::vector<void*>& blocks = pool.kept[c].blocks;
    if (count > blocks.size()) count = blocks.size();
    for (std::size_t i = 0; i < count; i++) std::free(blocks[i]);
    blocks.erase(blocks.begin(), blocks.begin() + static_cast<std::ptrdiff_t>(count));
    pool.bytes -= count * size_of_class(c);
    if (blocks.size() < pool.kept[c].idle) pool.kept[c].idle = blocks.size();
}

void drop_all() {
    for (int c = 0; c < CLASSES; c++) drop(c, pool.kept[c].blocks.size());
}

void drop_idle() {  // what nobody took since the last call
    for (int c = 0; c < CLASSES; c++) {
        Kept& kept = pool.kept[c];
        if (kept.idle > 0) drop(c, kept.idle);
        kept.idle = kept.blocks.size();
    }
}

// Every few seconds: give back what lies idle, and everything if memory is short.
void look(long now) {
    if (now - pool.checked >= 1 && pool.bytes > (std::size_t(1) << 26)) {
        pool.checked = now;
        if (is_short()) drop_all();
    }
    if (now - pool.looked < IDLE_SECONDS) return;
    pool.looked = now;
    drop_idle();
}

void* take(int c) {
    std::lock_guard<std::mutex> lock(pool.mutex);
    const int last = c + 2 < CLASSES ? c + 2 : CLASSES - 1;
    for (int k = c; k <= last; k++) {
        Kept& kept = pool.kept[k];
        if (kept.blocks.empty()) continue;
        void* block = kept.blocks.back();  // the one most likely in cache
        kept.blocks.pop_back();
        if (kept.blocks.size() < kept.idle) kept.idle = kept.blocks.size();
        pool.bytes -= size_of_class(k);
        pool.used++;
        return block;
    }
    pool.made++;
    return nullptr;
}

bool keep(void* block, int c) {
    const std::size_t size = size_of_class(c);
    std::lock_guard<std::mutex> lock(pool.mutex);
    look(seconds());
    if (pool.bytes + size > pool.limit) return false;
    try {
        pool.kept[c].blocks.push_back(block);
    } catch (const std::bad_alloc&) {
        return false;
    }
    pool.bytes += size;
    return true;
}

void ask_huge(void* block, std::size_t size) {
    const std::uintptr_t first = (reinterpret_cast<std::uintptr_t>(block) + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    const std::uintptr_t end = (reinterpret_cast<std::uintptr_t>(block) + size) / HUGE_PAGE * HUGE_PAGE;
    if (end > first) madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
}

void* make(std::size_t size, bool clear) {
    void* block = nullptr;
    for (int attempt = 0; attempt < 2 && block == nullptr; attempt++) {
        if (clear)
            block = std::calloc(1, size);
        else if (posix_memalign(&block, size >= HUGE_FROM ? HUGE_PAGE : 64, size) != 0)
            block = nullptr;
        if (block == nullptr) {
            std::lock_guard<std::mutex> lock(pool.mutex);
            drop_all();
        }
    }
    if (block != nullptr && size >= HUGE_FROM) ask_huge(block, size);
    return block;
}

// ---------------------------------------------------------------- the handler
void* allocate(void*, std::size_t size) {
    if (size < LEAST) return other.malloc(other.ctx, size);
    const int c = class_for(size);
    if (c >= CLASSES) return other.malloc(other.ctx, size);
    void* block = take(c);
    return block != nullptr ? block : make(size_of_class(c), false);
}

void* allocate_cleared(void*, std::size_t count, std::size_t item) {
    std::size_t size;
    if (__builtin_mul_overflow(count, item, &size)) return nullptr;
    const int c = size < LEAST ? CLASSES : class_for(size);
    if (c >= CLASSES) return other.calloc(other.ctx, count, item);
    void* block = take(c);
    if (block != nullptr) return std::memset(block, 0, size);
    return make(size_of_class(c), true);
}

void* reallocate(void*, void* block, std::size_t size) { return other.realloc(other.ctx, block, size); }

void release(void*, void* block, std::size_t size) {
    if (size < LEAST || block == nullptr) return other.free(other.ctx, block, size);
    const int c = class_for(size);
    // NumPy may have given the array another size than it was made with, and what realloc made has no class
    if (c >= CLASSES || malloc_usable_size(block) < size_of_class(c) || !keep(block, c)) std::free(block);
}

PyDataMem_Handler handler = {"livetape", 1, {nullptr, allocate, allocate_cleared, reallocate, release}};

void lock_pool() { pool.mutex.lock(); }
void unlock_pool() { pool.mutex.unlock(); }

bool set_handler() {
    PyObject* before = PyDataMem_SetHandler(capsule);
    if (before == nullptr) return false;
    Py_DECREF(before);
    return true;
}
#endif

// ---------------------------------------------------------------- for Python
PyObject* buffers_start(PyObject*, PyObject*) {
#ifdef LIVETAPE_BUFFERS
    if (capsule == nullptr) {
        auto* found = static_cast<PyDataMem_Handler*>(PyCapsule_GetPointer(PyDataMem_DefaultHandler, "mem_handler"));
        if (found == nullptr) return nullptr;
        other = found->allocator;
        long long total, available;
        memory(total, available);
        if (total > 0 && static_cast<std::size_t>(total / 8) < pool.limit) pool.limit = static_cast<std::size_t>(total / 8);
        pthread_atfork(lock_pool, unlock_pool, unlock_pool);
        capsule = PyCapsule_New(&handler, "mem_handler", nullptr);
        if (capsule == nullptr) return nullptr;
    }
    if (!set_handler()) return nullptr;
    Py_RETURN_TRUE;
#else
    Py_RETURN_FALSE;
#endif
}

PyObject* buffers_info(PyObject*, PyObject*) {
#ifdef LIVETAPE_BUFFERS
    std::size_t bytes, limit, used, made;
    {
        std::lock_guard<std::mutex> lock(pool.mutex);
        bytes = pool.bytes, limit = pool.limit, used = pool.used, made = pool.made;
    }
    return Py_BuildValue("(nnnn)", bytes, limit, used, made);
#else
    return Py_BuildValue("(nnnn)", Py_ssize_t(0), Py_ssize_t(0), Py_ssize_t(0), Py_ssize_t(0));
#endif
}

PyObject* buffers_limit(PyObject*, PyObject* number) {
    const Py_ssize_t limit = PyLong_AsSsize_t(number);
    if (limit == -1 && PyErr_Occurred()) return nullptr;
#ifdef LIVETAPE_BUFFERS
    std::lock_guard<std::mutex> lock(pool.mutex);
    pool.limit = limit < 0 ? 0 : static_cast<std::size_t>(limit);
    for (int c = CLASSES - 1; c >= 0 && pool.bytes > pool.limit; c--)
        while (pool.bytes > pool.limit && !pool.kept[c].blocks.empty()) drop(c, 1);
#endif
    Py_RETURN_NONE;
}

PyObject* buffers_trim(PyObject*, PyObject*) {
#ifdef LIVETAPE_BUFFERS
    std::lock_guard<std::mutex> lock(pool.mutex);
    drop_idle();
#endif
    Py_RETURN_NONE;
}

PyObject* buffers_empty(PyObject*, PyObject*) {
#ifdef LIVETAPE_BUFFERS
    std::lock_guard<std::mutex> lock(pool.mutex);
    drop_all();
    malloc_trim(0);
#endif
    Py_RETURN_NONE;
}

}  // namespace

void want_buffers(std::size_t bytes) {
#ifdef LIVETAPE_BUFFERS
    if (bytes < LEAST || capsule == nullptr) return;
    PyObject* now = PyDataMem_GetHandler();
    if (now == PyDataMem_DefaultHandler && !set_handler()) PyErr_Clear();
    if (now == nullptr)
        PyErr_Clear();
    else
        Py_DECREF(now);
#else
    (void)bytes;
#endif
}

PyMethodDef buffer_methods[] = {
    {"buffers_start", buffers_start, METH_NOARGS, "keep the memory of large arrays of this context; False if not to be had"},
    {"buffers_info", buffers_info, METH_NOARGS, "bytes kept, their limit, blocks used again, blocks made"},
    {"buffers_limit", buffers_limit, METH_O, "set the limit in bytes"},
    {"buffers_trim", buffers_trim, METH_NOARGS, "give back what no array took since the last call"},
    {"buffers_empty", buffers_empty, METH_NOARGS, "give all that is kept back to the system"},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace native
