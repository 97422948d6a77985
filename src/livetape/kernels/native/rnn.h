// The steps of recurrent layers, given the products of inputs and weights: the loops of rnn_body.h.

#pragma once

#include <cstdint>

namespace native {

// Arrays of steps are (steps, batch, ...), states are (batch, size). With ``reverse`` the last step comes first.
template <class T>
struct Steps {
    using Size = std::intptr_t;
    Size steps, batch, size, kinds;  // ``kinds`` of gates: four of an LSTM, three of a GRU, one of a plain layer
    bool reverse;
    const T* weight;                 // (kinds * size, size)
    T* gates;                        // (steps, batch, kinds * size): the products, then the gates
    const T *bias, *state_bias;      // of all gates; may be null
    const T *h, *c;                  // before the first step
    T *hs, *cs;                      // after each step
    T* extra;                        // tanh(cs) of an LSTM; of a GRU what the reset gate is multiplied with
};

template <class T>
struct StepsBackward {
    using Size = std::intptr_t;
    Size steps, batch, size, kinds;
    bool reverse;
    const T* weight;
    const T *gates, *extra;
    const T *before_h, *after_h, *before_c;  // states before and after each step
    const T* by_out;        // gradients of all outputs
    T *dh, *dc;             // of the state after the last step; become those before the first
    T *by_gates, *by_state; // of the gates; by_state: of their state part, where that is not the same
};

// Each returns false if there is no memory.
template <class T>
struct RnnOf {
    bool (*lstm)(const Steps<T>& s);
    bool (*lstm_backward)(const StepsBackward<T>& s);
    bool (*gru)(const Steps<T>& s);
    bool (*gru_backward)(const StepsBackward<T>& s);
    bool (*plain)(const Steps<T>& s);
    bool (*plain_backward)(const StepsBackward<T>& s);
};

struct RnnLoops {
    RnnOf<float> single;
    RnnOf<double> wide;
};

const RnnLoops& rnn_loops();

}  // namespace native
