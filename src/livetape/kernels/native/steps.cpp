// Updates of parameters in place, all parameters of a group in one call and each in one pass over memory.
// Parameters, gradients and states come in one flat list, numbers as Python floats. What is not plain goes to the NumPy
// twins in optim/_kernels.py.

#if defined(__GNUC__) && !defined(__clang__)
// Every product is rounded by itself, as in the twins: a step must not depend on where in its array an element stands.
#pragma GCC optimize("fp-contract=off")
#else
#pragma STDC FP_CONTRACT OFF
#endif

#include "steps.h"

#include <algorithm>
#include <vector>

#include "common.h"
#include "threads.h"

#define BODY "steps_body.h"
#include "every_isa.h"

namespace native {

const StepLoops& step_loops() { return CHOSEN; }

namespace {

PyObject *sgd_twin, *sgd_momentum_twin, *adam_twin, *rmsprop_twin, *adagrad_twin;

constexpr int MOST = 5;                 // arrays of one parameter
constexpr npy_intp PART = npy_intp(1) << 14;  // elements: all arrays of a part fit into a usual L2 cache

struct Part {
    void* arrays[MOST];
    npy_intp count;
};

// The plain parameters of a call by type, cut into parts; the others in a list for the twin.
class Work {
public:
    ~Work() {
        for (PyObject* array : copies_) Py_DECREF(array);
        Py_XDECREF(others_);
    }

    // False with an exception set. A bit of ``optional`` is set for each array that may be None.
    bool collect(PyObject* flat, int width, unsigned optional) {
        if (!PyList_CheckExact(flat) || PyList_GET_SIZE(flat) % width != 0) {
            PyErr_Format(PyExc_TypeError, "a list of %d arrays for each parameter is needed", width);
            return false;
        }
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(flat); i += width)
            if (!add(PySequence_Fast_ITEMS(flat) + i, width, optional)) return false;
        return true;
    }

    template <class T>
    void run(StepLoop<T> loop, const StepNumbers<T>& by) const {
        const std::vector<Part>& parts = sizeof(T) == 4 ? single_ : wide_;
        if (parts.empty()) return;
        if (thread_count() > 1 && repeats(parts)) {  // one after the other
            for (const Part& part : parts) run_part(loop, part, by);
            return;
        }
        Unlocked unlocked(sizeof(T) == 4 ? single_size_ : wide_size_);
        parallel_for(static_cast<npy_intp>(parts.size()), grain(parts), [&](npy_intp begin, npy_intp end) {
            for (npy_intp i = begin; i < end; i++) run_part(loop, parts[i], by);
        });
    }

    // What the twin is left with: the result, or null with an exception set.
    PyObject* rest(PyObject* twin, PyObject* const* args, Py_ssize_t count) const {
        if (others_ == nullptr) Py_RETURN_NONE;
        std::vector<PyObject*> all(args, args + count);
        all[0] = others_;
        return call(twin, all.data(), count);
    }

private:
    std::vector<Part> single_, wide_;
    npy_intp single_size_ = 0, wide_size_ = 0;
    std::vector<PyObject*> copies_;
    PyObject* others_ = nullptr;

    template <class T>
    static void run_part(StepLoop<T> loop, const Part& part, const StepNumbers<T>& by) {
        T* arrays[MOST];
        for (int k = 0; k < MOST; k++) arrays[k] = static_cast<T*>(part.arrays[k]);
        loop(arrays, part.count, by);
    }

    // Whether a parameter is there twice.
    static bool repeats(const std::vector<Part>& parts) {
        std::vector<void*> params;
        for (const Part& part : parts) params.push_back(part.arrays[0]);
        std::sort(params.begin(), params.end());
        return std::adjacent_find(params.begin(), params.end()) != params.end();
    }

    // As many parts as give a thread enough to do; a number that depends on the parts alone.
    static npy_intp grain(const std::vector<Part>& parts) {
        npy_intp total = 0;
        for (const Part& part : parts) total += part.count;
        const npy_intp each = total / static_cast<npy_intp>(parts.size()) + 1;
        return (PART + each - 1) / each;
    }

    bool add(PyObject** items, int width, unsigned optional) {
        PyObject* param = items[0];
        bool good = plain(param) && PyArray_ISWRITEABLE(as_array(param));
        for (int k = 2; k < width && good; k++)
            good = (items[k] == Py_None && (optional >> k & 1) != 0) ||
                   (plain_alike(param, items[k]) && PyArray_ISWRITEABLE(as_array(items[k])));
        PyObject* grad = items[1];
        if (good && !plain(grad)) {  // a transposed gradient, mostly
            good = PyArray_CheckExact(grad) && is_real(as_array(grad));
            if (good) {
                grad = PyArray_NewCopy(as_array(grad), NPY_CORDER);
                if (grad == nullptr) return false;
                copies_.push_back(grad);
            }
        }
        if (!good || !plain_alike(param, grad)) {
            if (others_ == nullptr && (others_ = PyList_New(0)) == nullptr) return false;
            for (int k = 0; k < width; k++)
                if (PyList_Append(others_, items[k]) < 0) return false;
            return true;
        }
        std::vector<Part>& parts = type_of(param) == NPY_FLOAT ? single_ : wide_;
        const npy_intp size = size_of(param), item = PyArray_ITEMSIZE(as_array(param));
        (type_of(param) == NPY_FLOAT ? single_size_ : wide_size_) += size;
        for (npy_intp start = 0; start < size; start += PART) {
            Part part{};
            for (int k = 0; k < width; k++) {
                PyObject* array = k == 1 ? grad : items[k];
                if (array != Py_None) part.arrays[k] = PyArray_BYTES(as_array(array)) + start * item;
            }
            part.count = size - start < PART ? size - start : PART;
            parts.push_back(part);
        }
        return true;
    }
};

using Numbers = StepNumbers<double>;

StepNumbers<float> narrowed(const Numbers& by) {
    return {float(by.rate),        float(by.decay), float(by.shrink), float(by.momentum), float(by.keep), float(by.second),
            float(by.keep_second), float(by.eps),   float(by.bias),   by.turn,            by.decays,      by.shrinks,
            by.nesterov,           by.centered};
}

// Reads the numbers of a call one after the other.
class Reader {
public:
    Reader(PyObject* const* args) : next_(args) {}
    double number() {
        double value = PyFloat_AsDouble(*next_++);
        failed_ = failed_ || (value == -1.0 && PyErr_Occurred());
        return value;
    }
    // a number, or None for one that is off
    double number(bool& is_on, double off) {
        is_on = *next_ != Py_None;
        if (is_on) return number();
        next_++;
        return off;
    }
    bool flag() { return *next_++ == Py_True; }
    bool failed() const { return failed_; }

private:
    PyObject* const* next_;
    bool failed_ = false;
};

template <class Read>
PyObject* step(const char* name, PyObject* twin, PyObject* const* args, Py_ssize_t count, Py_ssize_t expected, int width,
               unsigned optional, StepLoop<float> StepLoopsOf<float>::*single, StepLoop<double> StepLoopsOf<double>::*wide, Read read) {
    if (!arguments(name, count, expected)) return nullptr;
    Reader reader(args + 1);
    Numbers by{};
    read(reader, by);
    if (reader.failed()) return nullptr;
    Work work;
    if (!work.collect(args[0], width, optional)) return nullptr;
    work.run(step_loops().single.*single, narrowed(by));
    work.run(step_loops().wide.*wide, by);
    return work.rest(twin, args, count);
}

// ([param, grad, ...], rate, decay, turn)
PyObject* sgd(PyObject*, PyObject* const* args, Py_ssize_t count) {
    return step("sgd", sgd_twin, args, count, 4, 2, 0, &StepLoopsOf<float>::sgd, &StepLoopsOf<double>::sgd,
                [](Reader& r, Numbers& by) {
                    by.rate = r.number();
                    by.decay = r.number(by.decays, 0);
                    by.turn = r.flag();
                });
}

// ([param, grad, buffer, ...], rate, decay, momentum, keep, nesterov, turn)
PyObject* sgd_momentum(PyObject*, PyObject* const* args, Py_ssize_t count) {
    return step("sgd_momentum", sgd_momentum_twin, args, count, 7, 3, 0, &StepLoopsOf<float>::momentum,
                &StepLoopsOf<double>::momentum, [](Reader& r, Numbers& by) {
                    by.rate = r.number();
                    by.decay = r.number(by.decays, 0);
                    by.momentum = r.number();
                    by.keep = r.number();
                    by.nesterov = r.flag();
                    by.turn = r.flag();
                });
}

// ([param, grad, mean, square, largest or None, ...], rate, keep, second, keep_second, eps, bias, decay, shrink, turn)
PyObject* adam(PyObject*, PyObject* const* args, Py_ssize_t count) {
    return step("adam", adam_twin, args, count, 10, 5, 1 << 4, &StepLoopsOf<float>::adam, &StepLoopsOf<double>::adam,
                [](Reader& r, Numbers& by) {
                    by.rate = r.number();
                    by.keep = r.number();
                    by.second = r.number();
                    by.keep_second = r.number();
                    by.eps = r.number();
                    by.bias = r.number();
                    by.decay = r.number(by.decays, 0);
                    by.shrink = r.number(by.shrinks, 1);
                    by.turn = r.flag();
                });
}

// ([param, grad, square, mean or None, buffer or None, ...], rate, second, keep_second, eps, decay, momentum, centered, turn)
PyObject* rmsprop(PyObject*, PyObject* const* args, Py_ssize_t count) {
    return step("rmsprop", rmsprop_twin, args, count, 9, 5, 1 << 3 | 1 << 4, &StepLoopsOf<float>::rmsprop,
                &StepLoopsOf<double>::rmsprop, [](Reader& r, Numbers& by) {
                    by.rate = r.number();
                    by.second = r.number();
                    by.keep_second = r.number();
                    by.eps = r.number();
                    by.decay = r.number(by.decays, 0);
                    by.momentum = r.number();
                    by.centered = r.flag();
                    by.turn = r.flag();
                });
}

// ([param, grad, sum, ...], rate, eps, decay, turn)
PyObject* adagrad(PyObject*, PyObject* const* args, Py_ssize_t count) {
    return step("adagrad", adagrad_twin, args, count, 5, 3, 0, &StepLoopsOf<float>::adagrad, &StepLoopsOf<double>::adagrad,
                [](Reader& r, Numbers& by) {
                    by.rate = r.number();
                    by.eps = r.number();
                    by.decay = r.number(by.decays, 0);
                    by.turn = r.flag();
                });
}

}  // namespace

PyMethodDef step_methods[] = {FAST("sgd", sgd, "a step down the gradient, in place"),
                              FAST("sgd_momentum", sgd_momentum, "a step with momentum, in place"),
                              FAST("adam", adam, "a step of Adam, in place"),
                              FAST("rmsprop", rmsprop, "a step of RMSprop, in place"),
                              FAST("adagrad", adagrad, "a step of Adagrad, in place"),
                              {nullptr, nullptr, 0, nullptr}};

const Twin step_twins[] = {{"sgd", &sgd_twin},         {"sgd_momentum", &sgd_momentum_twin}, {"adam", &adam_twin},
                           {"rmsprop", &rmsprop_twin}, {"adagrad", &adagrad_twin},           {nullptr, nullptr}};

}  // namespace native
