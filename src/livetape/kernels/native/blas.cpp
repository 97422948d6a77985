// NumPy's OpenBLAS, found among the libraries of this process; see blas.h.

#include "blas.h"

#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "threads.h"

#ifdef __linux__
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#endif

namespace native {
namespace {

using Size = std::intptr_t;
enum { ROW_MAJOR = 101, AS_IS = 111, TURNED = 112 };

template <class Int, class T>
using Gemm = void (*)(int, int, int, Int, Int, Int, T, const T*, Int, const T*, Int, T, T*, Int);

struct Library {
    void* single = nullptr;  // cblas_sgemm
    void* wide = nullptr;    // cblas_dgemm
    bool long_integers = false;
    int (*get_threads)() = nullptr;
    void (*set_threads)(int) = nullptr;
};

#ifdef __linux__
template <class F>
bool find(void* handle, const char* prefix, const char* name, const char* suffix, F& found) {
    std::string symbol = std::string(prefix) + name + suffix;
    void* address = dlsym(handle, symbol.c_str());
    std::memcpy(&found, &address, sizeof address);
    return address != nullptr;
}

bool open_library(const char* path, Library& library) {
    void* handle = dlopen(path, RTLD_NOLOAD | RTLD_LAZY);
    if (handle == nullptr) return false;
    for (const char* prefix : {"scipy_", ""})
        for (const char* suffix : {"64_", ""}) {
            Library found;
            if (!find(handle, prefix, "openblas_set_num_threads", suffix, found.set_threads)) continue;
            const char* (*config)() = nullptr;
            find(handle, prefix, "openblas_get_config", suffix, config);
            found.long_integers = *suffix != 0 || (config != nullptr && std::strstr(config(), "USE64BITINT") != nullptr);
            if (find(handle, prefix, "openblas_get_num_threads", suffix, found.get_threads) &&
                find(handle, prefix, "cblas_sgemm", suffix, found.single) &&
                find(handle, prefix, "cblas_dgemm", suffix, found.wide)) {
                library = found;
                return true;
            }
        }
    dlclose(handle);
    return false;
}

int note_path(dl_phdr_info* info, std::size_t, void* paths) {
    if (info->dlpi_name != nullptr && std::strstr(info->dlpi_name, "openblas") != nullptr)
        static_cast<std::vector<std::string>*>(paths)->push_back(info->dlpi_name);
    return 0;
}
#endif

// Every OpenBLAS that is loaded now, NumPy's first.
std::vector<Library> libraries() {
    std::vector<Library> found;
#ifdef __linux__
    std::vector<std::string> paths;
    dl_iterate_phdr(note_path, &paths);
    for (bool numpy : {true, false})
        for (const std::string& path : paths) {
            Library library;
            if ((path.find("numpy") != std::string::npos) == numpy && open_library(path.c_str(), library)) found.push_back(library);
        }
#endif
    return found;
}

const Library& used() {
    static const Library library = [] {
        std::vector<Library> found = libraries();
        return found.empty() ? Library() : found.front();
    }();
    return library;
}

struct Alone {
    std::mutex mutex;
    int depth = 0, before = 0;
};
alignas(Alone) unsigned char place[sizeof(Alone)];
Alone* alone = new (place) Alone;

#ifdef __linux__
void forget() {  // in the child of a fork, where nobody is inside
    const bool limited = alone->depth > 0 && alone->before > 1;
    const int before = alone->before;
    alone = new (place) Alone;
    if (limited) used().set_threads(before);
}
const int registered = pthread_atfork(nullptr, nullptr, forget);
#endif

template <class T>
void plain_gemm(bool turn_a, bool turn_b, Size m, Size n, Size k, T alpha, const T* a, Size lda, const T* b, Size ldb, T beta, T* c,
                Size ldc) {
    for (Size i = 0; i < m; i++) {
        T* row = c + i * ldc;
        for (Size j = 0; j < n; j++) row[j] = beta == 0 ? T(0) : row[j] * beta;
        for (Size l = 0; l < k; l++) {
            const T factor = alpha * (turn_a ? a[l * lda + i] : a[i * lda + l]);
            if (turn_b)
                for (Size j = 0; j < n; j++) row[j] += factor * b[j * ldb + l];
            else
                for (Size j = 0; j < n; j++) row[j] += factor * b[l * ldb + j];
        }
    }
}

template <class T>
void call_gemm(bool turn_a, bool turn_b, Size m, Size n, Size k, T alpha, const T* a, Size lda, const T* b, Size ldb, T beta, T* c,
               Size ldc) {
    const Library& library = used();
    void* function = sizeof(T) == 4 ? library.single : library.wide;
    if (function == nullptr) return plain_gemm(turn_a, turn_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    const int first = turn_a ? TURNED : AS_IS, second = turn_b ? TURNED : AS_IS;
    if (library.long_integers)
        reinterpret_cast<Gemm<std::int64_t, T>>(function)(ROW_MAJOR, first, second, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    else
        reinterpret_cast<Gemm<int, T>>(function)(ROW_MAJOR, first, second, int(m), int(n), int(k), alpha, a, int(lda), b, int(ldb),
                                                 beta, c, int(ldc));
}

constexpr Size WORTH = 1 << 21;  // multiplications from which a chunk pays
constexpr Size SIDE = 256;       // of a part: smaller ones spend their time on packing
constexpr Size MOST_PARTS = 4;   // along either side

// How many elements of one side go into a part.
Size part_of(Size length) {
    Size parts = length / SIDE;
    parts = parts < 1 ? 1 : parts > MOST_PARTS ? MOST_PARTS : parts;
    Size step = (length + parts - 1) / parts;
    return (step + 15) / 16 * 16;
}

}  // namespace

bool has_blas() { return used().single != nullptr; }

void set_blas_threads(int count) {
    for (const Library& library : libraries()) library.set_threads(count < 1 ? 1 : count);
}

AloneBlas::AloneBlas() {
    if (!has_blas()) return;
    std::lock_guard<std::mutex> lock(alone->mutex);
    if (alone->depth++ > 0) return;
    alone->before = used().get_threads();
    if (alone->before > 1) used().set_threads(1);
}

AloneBlas::~AloneBlas() {
    if (!has_blas()) return;
    std::lock_guard<std::mutex> lock(alone->mutex);
    if (--alone->depth == 0 && alone->before > 1) used().set_threads(alone->before);
}

template <class T>
void gemm(bool turn_a, bool turn_b, Size m, Size n, Size k, T alpha, const T* a, Size lda, const T* b, Size ldb, T beta, T* c,
          Size ldc) {
    if (m <= 0 || n <= 0) return;
    if (in_parallel()) return call_gemm(turn_a, turn_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    AloneBlas guard;
    call_gemm(turn_a, turn_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

template <class T>
void gemm_many(Size count, const Products<T>& p) {
    if (count <= 0 || p.m <= 0 || p.n <= 0) return;
    AloneBlas guard;
    const Size work = p.m * p.n * (p.k > 0 ? p.k : 1);
    if (work < WORTH) {
        parallel_for(count, WORTH / work, [&](Size begin, Size end) {
            for (Size i = begin; i < end; i++)
                call_gemm(p.turn_a, p.turn_b, p.m, p.n, p.k, p.alpha, p.a[i], p.lda, p.b[i], p.ldb, p.beta, p.c[i], p.ldc);
        });
        return;
    }
    const Size tall = part_of(p.m), broad = part_of(p.n);
    const Size down = chunks_of(p.m, tall), across = chunks_of(p.n, broad);
    parallel_for(count * down * across, 1, [&](Size begin, Size end) {
        for (Size i = begin; i < end; i++) {
            const Size which = i / (down * across), row = i / across % down * tall, column = i % across * broad;
            const T* a = p.a[which] + (p.turn_a ? row : row * p.lda);
            const T* b = p.b[which] + (p.turn_b ? column * p.ldb : column);
            call_gemm(p.turn_a, p.turn_b, p.m - row < tall ? p.m - row : tall, p.n - column < broad ? p.n - column : broad, p.k,
                      p.alpha, a, p.lda, b, p.ldb, p.beta, p.c[which] + row * p.ldc + column, p.ldc);
        }
    });
}

template void gemm<float>(bool, bool, Size, Size, Size, float, const float*, Size, const float*, Size, float, float*, Size);
template void gemm<double>(bool, bool, Size, Size, Size, double, const double*, Size, const double*, Size, double, double*, Size);
template void gemm_many<float>(Size, const Products<float>&);
template void gemm_many<double>(Size, const Products<double>&);

}  // namespace native
