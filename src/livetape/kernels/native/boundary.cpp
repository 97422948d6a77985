// A function of the public interface: it calls the one behind it, and only if that fails is anything said about the
// arguments. In Python such a wrapper would cost as much as a small operation; here it costs a hundredth of one.
// Its twin is in ops/boundary.py.

#include "common.h"

#include <structmember.h>

#include <cstddef>
#include <cstring>
#include <initializer_list>

namespace native {
namespace {

struct Boundary {
    PyObject_HEAD
    PyObject* function;
    PyObject* explain;  // called with (function, args, kwargs, error), gives the error to raise
    PyObject* module;   // where the program finds it, and under which name
    PyObject* name;
    PyObject* shortcut;  // tried first for calls of at most `limit` arguments without names; gives None where it does not fit
    Py_ssize_t limit;
    PyObject* weakrefs;
    vectorcallfunc vectorcall;
};

PyTypeObject boundary_type = {PyVarObject_HEAD_INIT(nullptr, 0)};

PyObject* function_of(PyObject* self) { return reinterpret_cast<Boundary*>(self)->function; }

// The arguments as a tuple and a dictionary.
bool gathered(PyObject* const* args, Py_ssize_t count, PyObject* names, PyObject** tuple, PyObject** keywords) {
    *tuple = PyTuple_New(count);
    *keywords = PyDict_New();
    if (*tuple == nullptr || *keywords == nullptr) return false;
    for (Py_ssize_t i = 0; i < count; i++) PyTuple_SET_ITEM(*tuple, i, Py_NewRef(args[i]));
    for (Py_ssize_t i = 0; names != nullptr && i < PyTuple_GET_SIZE(names); i++)
        if (PyDict_SetItem(*keywords, PyTuple_GET_ITEM(names, i), args[count + i]) < 0) return false;
    return true;
}

// Classes and modes of the program that answer calls in place of the function, see _tape/overriding.py.
bool armed = false;             // whether there are any
PyObject* offering = nullptr;   // called with (boundary, args, kwargs)
PyObject* rescuing = nullptr;   // the same, for a call that has failed while none were known
PyObject* missed = nullptr;     // what they give for a call that nobody answers

// What `asked` makes of a call; null without an error if nobody answers.
PyObject* answer(PyObject* asked, PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
    PyObject *tuple = nullptr, *keywords = nullptr, *result = nullptr;
    if (gathered(args, count, names, &tuple, &keywords))
        result = PyObject_CallFunctionObjArgs(asked, self, tuple, keywords, nullptr);
    Py_XDECREF(tuple);
    Py_XDECREF(keywords);
    if (result != missed) return result;
    Py_DECREF(result);
    return nullptr;
}

// Another result for a call that failed, or null and the error, in better words.
PyObject* explain(Boundary* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
    PyObject *type, *error, *traceback, *tuple = nullptr, *keywords = nullptr, *better = nullptr;
    PyErr_Fetch(&type, &error, &traceback);
    if (!armed && rescuing != nullptr) {
        PyObject* result = answer(rescuing, reinterpret_cast<PyObject*>(self), args, count, names);
        if (result != nullptr || PyErr_Occurred()) {
            Py_XDECREF(type);
            Py_XDECREF(error);
            Py_XDECREF(traceback);
            return result;
        }
    }
    PyErr_NormalizeException(&type, &error, &traceback);
    if (traceback != nullptr) PyException_SetTraceback(error, traceback);
    if (gathered(args, count, names, &tuple, &keywords))
        better = PyObject_CallFunctionObjArgs(self->explain, self->function, tuple, keywords, error, nullptr);
    PyErr_Clear();
    Py_XDECREF(tuple);
    Py_XDECREF(keywords);
    if (better == nullptr || better == error || !PyExceptionInstance_Check(better)) {
        Py_XDECREF(better);
        PyErr_Restore(type, error, traceback);
        return nullptr;
    }
    Py_DECREF(type);
    Py_DECREF(error);
    Py_XDECREF(traceback);
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(better)), better);
    Py_DECREF(better);
    return nullptr;
}

PyObject* called(PyObject* self, PyObject* const* args, size_t count, PyObject* names) {
    Boundary* boundary = reinterpret_cast<Boundary*>(self);
    if (armed) {
        PyObject* result = answer(offering, self, args, PyVectorcall_NARGS(count), names);
        if (result != nullptr || PyErr_Occurred()) return result;
    }
    PyObject* result;
    if (boundary->shortcut != nullptr && names == nullptr && PyVectorcall_NARGS(count) <= boundary->limit) {
        result = PyObject_Vectorcall(boundary->shortcut, args, count, nullptr);
        if (result == Py_None) {
            Py_DECREF(result);
            result = PyObject_Vectorcall(boundary->function, args, count, nullptr);
        }
    } else {
        result = PyObject_Vectorcall(boundary->function, args, count, names);
    }
    if (result == nullptr && PyErr_ExceptionMatches(PyExc_Exception))
        return explain(boundary, args, PyVectorcall_NARGS(count), names);
    return result;
}

PyObject* offer_to(PyObject*, PyObject* args) {
    PyObject *offer, *rescue, *nobody;
    if (!PyArg_ParseTuple(args, "OOO", &offer, &rescue, &nobody)) return nullptr;
    Py_XSETREF(offering, Py_NewRef(offer));
    Py_XSETREF(rescuing, Py_NewRef(rescue));
    Py_XSETREF(missed, Py_NewRef(nobody));
    Py_RETURN_NONE;
}

PyObject* arm(PyObject*, PyObject*) {
    armed = true;
    Py_RETURN_NONE;
}

PyObject* shorten(PyObject*, PyObject* args) {
    PyObject *boundary, *shortcut;
    Py_ssize_t limit;
    if (!PyArg_ParseTuple(args, "O!On", &boundary_type, &boundary, &shortcut, &limit)) return nullptr;
    Py_XSETREF(reinterpret_cast<Boundary*>(boundary)->shortcut, Py_NewRef(shortcut));
    reinterpret_cast<Boundary*>(boundary)->limit = limit;
    Py_RETURN_NONE;
}

PyMethodDef functions[] = {{"shorten", shorten, METH_VARARGS, "Give a boundary a shortcut, to be tried first."},
                           {"offer_to", offer_to, METH_VARARGS, "Whom to offer calls of boundaries to."},
                           {"arm", arm, METH_NOARGS, "Offer every call from now on."},
                           {nullptr, nullptr, 0, nullptr}};

PyObject* made(PyTypeObject* type, PyObject* args, PyObject*) {
    PyObject *function, *explain, *module, *name;
    if (!PyArg_ParseTuple(args, "OOUU", &function, &explain, &module, &name)) return nullptr;
    Boundary* self = reinterpret_cast<Boundary*>(type->tp_alloc(type, 0));
    if (self == nullptr) return nullptr;
    self->function = Py_NewRef(function);
    self->explain = Py_NewRef(explain);
    self->module = Py_NewRef(module);
    self->name = Py_NewRef(name);
    self->shortcut = nullptr;
    self->limit = 0;
    self->weakrefs = nullptr;
    self->vectorcall = called;
    return reinterpret_cast<PyObject*>(self);
}

void freed(PyObject* self) {
    Boundary* boundary = reinterpret_cast<Boundary*>(self);
    if (boundary->weakrefs != nullptr) PyObject_ClearWeakRefs(self);
    Py_XDECREF(boundary->function);
    Py_XDECREF(boundary->explain);
    Py_XDECREF(boundary->module);
    Py_XDECREF(boundary->name);
    Py_XDECREF(boundary->shortcut);
    Py_TYPE(self)->tp_free(self);
}

PyObject* bound(PyObject* self, PyObject* object, PyObject*) {
    return object == nullptr || object == Py_None ? Py_NewRef(self) : PyMethod_New(self, object);
}

// Name, documentation, signature and all the rest are those of the function behind.
PyObject* attribute(PyObject* self, PyObject* name) {
    const char* text = PyUnicode_AsUTF8(name);
    if (text == nullptr) return nullptr;
    for (const char* own : {"__class__", "__reduce__", "__reduce_ex__", "__get__", "__call__", "__wrapped__", "__copy__", "__deepcopy__", "__module__"})
        if (std::strcmp(text, own) == 0) return PyObject_GenericGetAttr(self, name);
    return PyObject_GetAttr(function_of(self), name);
}

PyObject* shown(PyObject* self) { return PyObject_Repr(function_of(self)); }

// Pickled by name, like any function.
PyObject* reduced(PyObject* self, PyObject*) { return Py_NewRef(reinterpret_cast<Boundary*>(self)->name); }

PyObject* itself(PyObject* self, PyObject*) { return Py_NewRef(self); }

PyMemberDef members[] = {{"__wrapped__", T_OBJECT, offsetof(Boundary, function), READONLY, nullptr},
                         {"__module__", T_OBJECT, offsetof(Boundary, module), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};

PyMethodDef methods[] = {{"__reduce__", reduced, METH_NOARGS, nullptr},
                         {"__copy__", itself, METH_NOARGS, nullptr},
                         {"__deepcopy__", itself, METH_O, nullptr},
                         {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool add_boundary(PyObject* module) {
    PyTypeObject* type = &boundary_type;
    type->tp_name = "livetape.kernels._native.Boundary";
    type->tp_basicsize = sizeof(Boundary);
    type->tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR;
    type->tp_doc = "A function of the public interface, which explains what was wrong with its arguments.";
    type->tp_vectorcall_offset = offsetof(Boundary, vectorcall);
    type->tp_weaklistoffset = offsetof(Boundary, weakrefs);
    type->tp_call = PyVectorcall_Call;
    type->tp_new = made;
    type->tp_dealloc = freed;
    type->tp_descr_get = bound;
    type->tp_getattro = attribute;
    type->tp_repr = shown;
    type->tp_members = members;
    type->tp_methods = methods;
    return PyType_Ready(type) == 0 && PyModule_AddFunctions(module, functions) == 0 &&
           PyModule_AddObjectRef(module, "Boundary", reinterpret_cast<PyObject*>(type)) == 0;
}

}  // namespace native
