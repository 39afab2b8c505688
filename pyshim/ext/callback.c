#include "callback.h"

#include <stddef.h>

struct callback {
    PyObject_HEAD
    vectorcallfunc vectorcall;
};

/* Static: the callables live as long as the process, and so does their type. Not tracked by the garbage collector, they
 * refer to nothing. */
static PyTypeObject callback_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "flamelet._ext.Callback",
    .tp_basicsize = sizeof(struct callback),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_vectorcall_offset = offsetof(struct callback, vectorcall),
    .tp_call = PyVectorcall_Call,
};

int fl_callback_init(void)
{
    return PyType_Ready(&callback_type);
}

PyObject *fl_callback_new(vectorcallfunc function)
{
    struct callback *callback = PyObject_New(struct callback, &callback_type);
    if (callback)
        callback->vectorcall = function;
    return (PyObject *)callback;
}
