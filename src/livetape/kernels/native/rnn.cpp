// The steps of LSTM, GRU and plain recurrent layers, forward and backward, on arrays of float32 or float64.
// What is not in C order is copied; all else is handed to the NumPy twins in kernels/recurrent.py.

#include <atomic>

#include "arrays.h"
#include "rnn.h"
#include "threads.h"

#define BODY "rnn_body.h"
#include "every_isa.h"

namespace native {

const RnnLoops& rnn_loops() { return CHOSEN; }

namespace {

using Size = std::intptr_t;

PyObject *lstm_steps_twin, *lstm_steps_backward_twin, *gru_steps_twin, *gru_steps_backward_twin, *rnn_steps_twin,
    *rnn_steps_backward_twin;

template <class T>
const RnnOf<T>& loops_for();
template <>
const RnnOf<float>& loops_for<float>() {
    return rnn_loops().single;
}
template <>
const RnnOf<double>& loops_for<double>() {
    return rnn_loops().wide;
}

bool is_shaped(PyObject* object, PyObject* like, Size a, Size b, Size c) {  // without a first size if that is -1
    if (!is_float_array(object) || type_of(object) != type_of(like) || !PyArray_ISNOTSWAPPED(as_array(object))) return false;
    if (a < 0) return ndim_of(object) == 2 && dim_of(object, 0) == b && dim_of(object, 1) == c;
    return ndim_of(object) == 3 && dim_of(object, 0) == a && dim_of(object, 1) == b && dim_of(object, 2) == c;
}

PyObject* new_steps(PyObject* like, Size more, Size width) {
    npy_intp shape[] = {dim_of(like, 0) + more, dim_of(like, 1), width};
    return PyArray_SimpleNew(3, shape, type_of(like));
}

// A copy in C order, to be changed.
PyObject* own_copy(PyObject* array) { return PyArray_NewCopy(as_array(array), NPY_CORDER); }

// What the three layers share of their forward arguments.
struct Call {
    Size steps, batch, size, kinds;
    bool reverse;
};

bool read_call(PyObject* gates, PyObject* h, PyObject* weight, PyObject* reverse, Size kinds, Call& c) {
    if (!plain(gates) || ndim_of(gates) != 3 || size_of(gates) == 0 || !PyArray_ISWRITEABLE(as_array(gates)) || !PyBool_Check(reverse) ||
        !is_float_array(h) || ndim_of(h) != 2)
        return false;
    c = {dim_of(gates, 0), dim_of(gates, 1), dim_of(h, 1), kinds, reverse == Py_True};
    return dim_of(gates, 2) == kinds * c.size && is_shaped(h, gates, -1, c.batch, c.size) &&
           is_shaped(weight, gates, -1, kinds * c.size, c.size);
}

// All states: those after each step, and the first before or (in reverse) behind them.
template <class T>
T* after(PyObject* states, const Call& c) {
    return data<T>(states) + (c.reverse ? 0 : c.batch * c.size);
}
template <class T>
T* before(PyObject* states, const Call& c) {
    return data<T>(states) + (c.reverse ? c.batch * c.size : 0);
}
template <class T>
void put_first(PyObject* states, PyObject* first, const Call& c) {
    std::memcpy(data<T>(states) + (c.reverse ? c.steps * c.batch * c.size : 0), data<T>(first), sizeof(T) * c.batch * c.size);
}

template <class T>
Steps<T> steps_of(const Call& c, PyObject* gates, PyObject* bias, PyObject* state_bias, PyObject* h, PyObject* weight) {
    Steps<T> s = {};
    s.steps = c.steps, s.batch = c.batch, s.size = c.size, s.kinds = c.kinds, s.reverse = c.reverse;
    s.weight = data<T>(weight), s.gates = data<T>(gates), s.h = data<T>(h);
    s.bias = data_or_none<T>(bias), s.state_bias = state_bias == nullptr ? nullptr : data_or_none<T>(state_bias);
    return s;
}

template <class T>
StepsBackward<T> backward_of(const Call& c, PyObject* by_out, PyObject* gates, PyObject* weight, PyObject* dh, PyObject* by_gates) {
    StepsBackward<T> s = {};
    s.steps = c.steps, s.batch = c.batch, s.size = c.size, s.kinds = c.kinds, s.reverse = c.reverse;
    s.by_out = data<T>(by_out), s.gates = data<T>(gates), s.weight = data<T>(weight), s.dh = data<T>(dh);
    s.by_gates = data<T>(by_gates);
    return s;
}

template <class S>
bool run(bool (*loop)(const S&), const S& s) {
    Unlocked unlocked(1 << 20);
    return loop(s);
}

// ---------------------------------------------------------------- LSTM
template <class T>
bool run_lstm(const Call& c, PyObject* gates, PyObject* bias, PyObject* h, PyObject* cell, PyObject* weight, PyObject* hs,
              PyObject* cs, PyObject* extra) {
    Steps<T> s = steps_of<T>(c, gates, bias, nullptr, h, weight);
    put_first<T>(hs, h, c);
    put_first<T>(cs, cell, c);
    s.c = data<T>(cell), s.hs = after<T>(hs, c), s.cs = after<T>(cs, c), s.extra = data<T>(extra);
    return run(loops_for<T>().lstm, s);
}

// (gates, bias, h, c, weight, reverse) -> (states, cell states, tanh of those after each step)
PyObject* lstm_steps(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("lstm_steps", count, 6)) return nullptr;
    PyObject *gates = args[0], *bias = args[1];
    Call c;
    if (!read_call(gates, args[2], args[4], args[5], 4, c) || !is_shaped(args[3], gates, -1, c.batch, c.size) ||
        !none_or_fitting(bias, gates, 4 * c.size))
        return call(lstm_steps_twin, args, count);
    Held h(in_order(args[2])), cell(in_order(args[3])), weight(in_order(args[4]));
    Held hs(new_steps(gates, 1, c.size)), cs(new_steps(gates, 1, c.size)), extra(new_steps(gates, 0, c.size));
    if (!h.get() || !cell.get() || !weight.get() || !hs.get() || !cs.get() || !extra.get()) return nullptr;
    auto run = type_of(gates) == NPY_FLOAT ? run_lstm<float> : run_lstm<double>;
    if (!run(c, gates, bias, h.get(), cell.get(), weight.get(), hs.get(), cs.get(), extra.get())) return PyErr_NoMemory();
    return Py_BuildValue("(NNN)", hs.release(), cs.release(), extra.release());
}

template <class T>
bool run_lstm_backward(const Call& c, PyObject* by_out, PyObject* gates, PyObject* cs, PyObject* extra, PyObject* weight,
                       PyObject* dh, PyObject* dc, PyObject* by_gates) {
    StepsBackward<T> s = backward_of<T>(c, by_out, gates, weight, dh, by_gates);
    s.before_c = before<T>(cs, c), s.extra = data<T>(extra), s.dc = data<T>(dc);
    return run(loops_for<T>().lstm_backward, s);
}

bool is_kept(PyObject* object, PyObject* like, const Call& c, Size more) {
    return plain(object) && is_shaped(object, like, c.steps + more, c.batch, c.size);
}

// (by_out, dh, dc, gates, cell states, tanh of them, weight, reverse) -> (by_gates, dh, dc)
PyObject* lstm_steps_backward(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("lstm_steps_backward", count, 8)) return nullptr;
    PyObject *gates = args[3], *cs = args[4], *extra = args[5];
    Call c;
    if (!read_call(gates, args[1], args[6], args[7], 4, c) || !is_shaped(args[0], gates, c.steps, c.batch, c.size) ||
        !is_shaped(args[2], gates, -1, c.batch, c.size) || !is_kept(cs, gates, c, 1) || !is_kept(extra, gates, c, 0))
        return call(lstm_steps_backward_twin, args, count);
    Held by_out(in_order(args[0])), weight(in_order(args[6]));
    Held dh(own_copy(args[1])), dc(own_copy(args[2])), by_gates(empty_like(gates));
    if (!by_out.get() || !weight.get() || !dh.get() || !dc.get() || !by_gates.get()) return nullptr;
    auto run = type_of(gates) == NPY_FLOAT ? run_lstm_backward<float> : run_lstm_backward<double>;
    if (!run(c, by_out.get(), gates, cs, extra, weight.get(), dh.get(), dc.get(), by_gates.get())) return PyErr_NoMemory();
    return Py_BuildValue("(NNN)", by_gates.release(), dh.release(), dc.release());
}

// ---------------------------------------------------------------- GRU
template <class T>
bool run_gru(const Call& c, PyObject* gates, PyObject* bias, PyObject* state_bias, PyObject* h, PyObject* weight, PyObject* hs,
             PyObject* extra) {
    Steps<T> s = steps_of<T>(c, gates, bias, state_bias, h, weight);
    put_first<T>(hs, h, c);
    s.hs = after<T>(hs, c), s.extra = data<T>(extra);
    return run(loops_for<T>().gru, s);
}

// (gates, bias, h, weight, state_bias, reverse) -> (states, the state part of the new gate)
PyObject* gru_steps(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("gru_steps", count, 6)) return nullptr;
    PyObject *gates = args[0], *bias = args[1], *state_bias = args[4];
    Call c;
    if (!read_call(gates, args[2], args[3], args[5], 3, c) || !none_or_fitting(bias, gates, 3 * c.size) ||
        !none_or_fitting(state_bias, gates, 3 * c.size))
        return call(gru_steps_twin, args, count);
    Held h(in_order(args[2])), weight(in_order(args[3])), hs(new_steps(gates, 1, c.size)), extra(new_steps(gates, 0, c.size));
    if (!h.get() || !weight.get() || !hs.get() || !extra.get()) return nullptr;
    auto run = type_of(gates) == NPY_FLOAT ? run_gru<float> : run_gru<double>;
    if (!run(c, gates, bias, state_bias, h.get(), weight.get(), hs.get(), extra.get())) return PyErr_NoMemory();
    return Py_BuildValue("(NN)", hs.release(), extra.release());
}

template <class T>
bool run_gru_backward(const Call& c, PyObject* by_out, PyObject* gates, PyObject* hs, PyObject* extra, PyObject* weight, PyObject* dh,
                      PyObject* by_gates, PyObject* by_state) {
    StepsBackward<T> s = backward_of<T>(c, by_out, gates, weight, dh, by_gates);
    s.before_h = before<T>(hs, c), s.extra = data<T>(extra), s.by_state = data<T>(by_state);
    return run(loops_for<T>().gru_backward, s);
}

// (by_out, dh, gates, states, state part, weight, reverse) -> (by_gates, by_state, dh)
PyObject* gru_steps_backward(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("gru_steps_backward", count, 7)) return nullptr;
    PyObject *gates = args[2], *hs = args[3], *extra = args[4];
    Call c;
    if (!read_call(gates, args[1], args[5], args[6], 3, c) || !is_shaped(args[0], gates, c.steps, c.batch, c.size) ||
        !is_kept(hs, gates, c, 1) || !is_kept(extra, gates, c, 0))
        return call(gru_steps_backward_twin, args, count);
    Held by_out(in_order(args[0])), weight(in_order(args[5])), dh(own_copy(args[1]));
    Held by_gates(empty_like(gates)), by_state(empty_like(gates));
    if (!by_out.get() || !weight.get() || !dh.get() || !by_gates.get() || !by_state.get()) return nullptr;
    auto run = type_of(gates) == NPY_FLOAT ? run_gru_backward<float> : run_gru_backward<double>;
    if (!run(c, by_out.get(), gates, hs, extra, weight.get(), dh.get(), by_gates.get(), by_state.get())) return PyErr_NoMemory();
    return Py_BuildValue("(NNN)", by_gates.release(), by_state.release(), dh.release());
}

// ---------------------------------------------------------------- plain layers
template <class T>
bool run_plain(const Call& c, PyObject* gates, PyObject* bias, PyObject* h, PyObject* weight, PyObject* hs) {
    Steps<T> s = steps_of<T>(c, gates, bias, nullptr, h, weight);
    put_first<T>(hs, h, c);
    s.hs = after<T>(hs, c);
    return run(loops_for<T>().plain, s);
}

// (gates, bias, h, weight, reverse) -> states
PyObject* rnn_steps(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("rnn_steps", count, 5)) return nullptr;
    PyObject *gates = args[0], *bias = args[1];
    Call c;
    if (!read_call(gates, args[2], args[3], args[4], 1, c) || !none_or_fitting(bias, gates, c.size))
        return call(rnn_steps_twin, args, count);
    Held h(in_order(args[2])), weight(in_order(args[3])), hs(new_steps(gates, 1, c.size));
    if (!h.get() || !weight.get() || !hs.get()) return nullptr;
    auto run = type_of(gates) == NPY_FLOAT ? run_plain<float> : run_plain<double>;
    return run(c, gates, bias, h.get(), weight.get(), hs.get()) ? hs.release() : PyErr_NoMemory();
}

template <class T>
bool run_plain_backward(const Call& c, PyObject* by_out, PyObject* hs, PyObject* weight, PyObject* dh, PyObject* by_gates) {
    StepsBackward<T> s = backward_of<T>(c, by_out, hs, weight, dh, by_gates);
    s.after_h = after<T>(hs, c);
    return run(loops_for<T>().plain_backward, s);
}

// (by_out, dh, states, weight, reverse) -> (by_gates, dh)
PyObject* rnn_steps_backward(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("rnn_steps_backward", count, 5)) return nullptr;
    PyObject* hs = args[2];
    Call c;
    if (!read_call(hs, args[1], args[3], args[4], 1, c)) return call(rnn_steps_backward_twin, args, count);
    c.steps--;
    if (!is_shaped(args[0], hs, c.steps, c.batch, c.size)) return call(rnn_steps_backward_twin, args, count);
    Held by_out(in_order(args[0])), weight(in_order(args[3])), dh(own_copy(args[1])), by_gates(new_steps(hs, -1, c.size));
    if (!by_out.get() || !weight.get() || !dh.get() || !by_gates.get()) return nullptr;
    auto run = type_of(hs) == NPY_FLOAT ? run_plain_backward<float> : run_plain_backward<double>;
    if (!run(c, by_out.get(), hs, weight.get(), dh.get(), by_gates.get())) return PyErr_NoMemory();
    return Py_BuildValue("(NN)", by_gates.release(), dh.release());
}

}  // namespace

PyMethodDef rnn_methods[] = {FAST("lstm_steps", lstm_steps, "the steps of an LSTM layer"),
                             FAST("lstm_steps_backward", lstm_steps_backward, "their gradients"),
                             FAST("gru_steps", gru_steps, "the steps of a GRU layer"),
                             FAST("gru_steps_backward", gru_steps_backward, "their gradients"),
                             FAST("rnn_steps", rnn_steps, "the steps of a recurrent layer with tanh"),
                             FAST("rnn_steps_backward", rnn_steps_backward, "their gradients"),
                             {nullptr, nullptr, 0, nullptr}};

const Twin rnn_twins[] = {{"lstm_steps", &lstm_steps_twin},
                          {"lstm_steps_backward", &lstm_steps_backward_twin},
                          {"gru_steps", &gru_steps_twin},
                          {"gru_steps_backward", &gru_steps_backward_twin},
                          {"rnn_steps", &rnn_steps_twin},
                          {"rnn_steps_backward", &rnn_steps_backward_twin},
                          {nullptr, nullptr}};

}  // namespace native
