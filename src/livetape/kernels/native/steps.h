// The loops of optimisers; see steps.cpp.

#pragma once

#include <cstdint>

namespace native {

// The numbers of a step, in the parameters' type. Those that are off are skipped, not computed with 0.
template <class T>
struct StepNumbers {
    T rate, decay, shrink, momentum, keep, second, keep_second, eps, bias;
    bool turn, decays, shrinks, nesterov, centered;
};

// ``arrays`` are the parameter, its gradient and its state; all are of ``count`` elements.
template <class T>
using StepLoop = void (*)(T* const* arrays, std::intptr_t count, const StepNumbers<T>& by);

template <class T>
struct StepLoopsOf {
    StepLoop<T> sgd, momentum, adam, rmsprop, adagrad;
};

struct StepLoops {
    StepLoopsOf<float> single;
    StepLoopsOf<double> wide;
};

const StepLoops& step_loops();

}  // namespace native
