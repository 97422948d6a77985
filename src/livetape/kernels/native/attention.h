// Scaled dot-product attention in tiles, without the matrix of all scores: the loops of attention_body.h.

#pragma once

#include <cstdint>

namespace native {

// (batch, heads, rows, width) with contiguous rows, other steps in elements.
template <class T>
struct Heads {
    using Size = std::intptr_t;
    T* data;
    Size batch, head, row;

    T* at(Size b, Size h) const { return data + b * batch + h * head; }
};

enum class Mask { NONE, BOOL, ADDED };  // true: may attend; or numbers that are added to the scores

template <class T>
struct Attention {
    using Size = std::intptr_t;
    Size batch, heads, queries, keys, width;
    Heads<const T> q, k, v;
    T scale;
    bool causal;  // a query attends to keys up to its own number
    Mask mask;
    const void* mask_data;
    Size mask_batch, mask_head, mask_row, mask_column;
    Heads<T> out;
    T* logs;  // the logarithm of each query's sum of exponentials: (batch, heads, queries) in C order
    // backward
    Heads<const T> grad, result;
    Heads<T> dq, dk, dv;
};

// Each returns false if there is no memory.
template <class T>
struct AttentionOf {
    bool (*forward)(const Attention<T>& a);
    bool (*backward)(const Attention<T>& a);
};

struct AttentionLoops {
    AttentionOf<float> single;
    AttentionOf<double> wide;
};

const AttentionLoops& attention_loops();

}  // namespace native
