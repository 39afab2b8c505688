/*
 * floor.c: the least that any profiler written in C has to pay.
 *
 * A profiler's own work comes on top of what CPython and greenlet spend to deliver an event at all. This module
 * receives the same events as flamelet and does nothing with them, so its cost is the floor that no profiler with
 * these hooks can go below. Do not add work here, not even a counter: the figure would stop being a floor.
 *
 * Thread class: everything here runs in a thread that holds the GIL.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>

/*
 * A callable of a type of its own with tp_vectorcall: the cheapest that CPython can call, and the way flamelet does it.
 * Serves as sys.monitoring callback and as greenlet tracer alike, since it ignores its arguments.
 */
typedef struct {
    PyObject ob_base; /* what PyObject_HEAD stands for */
    vectorcallfunc vectorcall;
} callback_object;

static PyObject *callback_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    (void)self;
    (void)args;
    (void)nargsf;
    (void)kwnames;
    Py_RETURN_NONE;
}

static PyObject *callback_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    (void)args;
    (void)kwargs;
    PyObject *self = type->tp_alloc(type, 0);
    if (self != NULL) {
        ((callback_object *)self)->vectorcall = callback_call;
    }
    return self;
}

static PyTypeObject callback_type = {
    .ob_base = {PyObject_HEAD_INIT(NULL) 0},
    .tp_name = "_floor.Callback",
    .tp_doc = "Callable that accepts anything and does nothing.",
    .tp_basicsize = (Py_ssize_t)sizeof(callback_object),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = (Py_ssize_t)offsetof(callback_object, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_new = callback_new,
};

/* For 3.11, which has no sys.monitoring. */
static int empty_profile_function(PyObject *object, PyFrameObject *frame, int what, PyObject *argument)
{
    (void)object;
    (void)frame;
    (void)what;
    (void)argument;
    return 0;
}

static PyObject *set_profile(PyObject *module, PyObject *ignored)
{
    (void)ignored;
    /* The module goes along as the hook's object, so that sys.getprofile() can tell that the hook is in place. */
    PyEval_SetProfile(empty_profile_function, module);
    Py_RETURN_NONE;
}

static PyObject *clear_profile(PyObject *module, PyObject *ignored)
{
    (void)module;
    (void)ignored;
    PyEval_SetProfile(NULL, NULL);
    Py_RETURN_NONE;
}

static PyMethodDef floor_methods[] = {
    {"set_profile", set_profile, METH_NOARGS, "Install the empty C profile function in the calling thread."},
    {"clear_profile", clear_profile, METH_NOARGS, "Remove the calling thread's profile function."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef floor_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_floor",
    .m_doc = "Empty event receivers: what an event costs before a profiler does anything with it.",
    .m_size = -1, /* a static type: one interpreter only */
    .m_methods = floor_methods,
};

PyMODINIT_FUNC PyInit__floor(void);

PyMODINIT_FUNC PyInit__floor(void)
{
    if (PyType_Ready(&callback_type) < 0) {
        return NULL;
    }
    PyObject *module = PyModule_Create(&floor_module);
    if (module == NULL) {
        return NULL;
    }
    if (PyModule_AddObjectRef(module, "Callback", (PyObject *)&callback_type) < 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
