// The module livetape.kernels._native: the functions of the other files, and the twins that Python gives them.

#define LIVETAPE_NATIVE_MODULE
#include "common.h"

#include <cstring>
#include <initializer_list>

#include "blas.h"
#include "buffers.h"
#include "isa.h"
#include "threads.h"

namespace native {
namespace {

// One family a line.
const Twin* const twins[] = {
    attention_twins,
    conv_twins,
    element_twins,
    loss_twins,
    moment_twins,
    norm_twins,
    pool_twins,
    reduce_twins,
    rnn_twins,
    row_twins,
    small_twins,
    stack_twins,
    step_twins,
    view_twins,
};

PyObject* set_twin(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!arguments("set_twin", count, 2)) return nullptr;
    const char* name = PyUnicode_AsUTF8(args[0]);
    if (name == nullptr) return nullptr;
    for (const Twin* list : twins)
        for (const Twin* twin = list; twin->name != nullptr; twin++)
            if (std::strcmp(twin->name, name) == 0) {
                Py_XSETREF(*twin->place, Py_NewRef(args[1]));
                Py_RETURN_NONE;
            }
    PyErr_Format(PyExc_KeyError, "%s", name);
    return nullptr;
}

PyObject* isa(PyObject*, PyObject*) { return PyUnicode_FromString(isa_name()); }

PyObject* use_isa(PyObject*, PyObject* name) {
    const char* wanted = PyUnicode_AsUTF8(name);
    return wanted == nullptr ? nullptr : PyBool_FromLong(native::use_isa(wanted));
}

PyObject* get_num_threads(PyObject*, PyObject*) { return PyLong_FromLong(thread_count()); }

PyObject* set_num_threads(PyObject*, PyObject* number) {
    long count = PyLong_AsLong(number);
    if (count == -1 && PyErr_Occurred()) return nullptr;
    const int threads = count > 1024 ? 1024 : static_cast<int>(count);
    set_thread_count(threads);
    if (has_blas()) set_blas_threads(threads);
    return PyBool_FromLong(has_blas());
}

PyMethodDef own_methods[] = {
    FAST("set_twin", set_twin, "set_twin(name, function): the NumPy twin of the function called name"),
    {"isa", isa, METH_NOARGS, "the instruction set in use: baseline, v3 (AVX2) or v4 (AVX-512)"},
    {"use_isa", use_isa, METH_O, "use another instruction set; False if this processor or build lacks it"},
    {"get_num_threads", get_num_threads, METH_NOARGS, "the threads that one loop may use"},
    {"set_num_threads", set_num_threads, METH_O, "set them, for BLAS too; False if BLAS is not to be reached from here"},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "livetape.kernels._native", "Loops in C++ for where NumPy is slow.", -1,
                          own_methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace
}  // namespace native

PyMODINIT_FUNC PyInit__native(void) {
    import_array();
    if (!native::start_small()) return nullptr;
    PyObject* module = PyModule_Create(&native::definition);
    if (module == nullptr) return nullptr;
    if (!native::add_boundary(module) || !native::add_elements(module)) {
        Py_DECREF(module);
        return nullptr;
    }
    for (PyMethodDef* methods : {
             native::attention_methods,
             native::buffer_methods,
             native::conv_methods,
             native::draw_methods,
             native::loss_methods,
             native::moment_methods,
             native::norm_methods,
             native::pool_methods,
             native::reduce_methods,
             native::rnn_methods,
             native::row_methods,
             native::small_methods,
             native::stack_methods,
             native::step_methods,
             native::view_methods,
         })
        if (PyModule_AddFunctions(module, methods) < 0) {
            Py_DECREF(module);
            return nullptr;
        }
    return module;
}
