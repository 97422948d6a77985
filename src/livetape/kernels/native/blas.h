// Matrix products by NumPy's own OpenBLAS, called from C++ without Python.
//
// All matrices are in C order with a leading dimension, C = alpha op(A) op(B) + beta C; op turns A (B) if ``turn_a``
// (``turn_b``) is set. Where NumPy has another BLAS, `has_blas` is false and `gemm` runs plain loops: callers should then
// leave large products to NumPy.

#pragma once

#include <cstdint>

namespace native {

bool has_blas();
void set_blas_threads(int count);  // of products and decompositions that NumPy itself starts

// On the calling thread alone, also inside of a parallel loop: BLAS threads never compete with those of a loop.
template <class T>
void gemm(bool turn_a, bool turn_b, std::intptr_t m, std::intptr_t n, std::intptr_t k, T alpha, const T* a, std::intptr_t lda,
          const T* b, std::intptr_t ldb, T beta, T* c, std::intptr_t ldc);

// ``count`` products, spread over the threads: by products, and large ones by parts of the result. The parts depend on the
// shapes alone, and so does the result.
template <class T>
struct Products {
    bool turn_a, turn_b;
    std::intptr_t m, n, k, lda, ldb, ldc;
    T alpha, beta;
    const T* const* a;  // one pointer for each product
    const T* const* b;
    T* const* c;
};
template <class T>
void gemm_many(std::intptr_t count, const Products<T>& products);

// While one lives, BLAS uses the calling thread alone. Cheap; may be nested and live on several threads.
class AloneBlas {
public:
    AloneBlas();
    ~AloneBlas();
    AloneBlas(const AloneBlas&) = delete;
    AloneBlas& operator=(const AloneBlas&) = delete;
};

}  // namespace native
