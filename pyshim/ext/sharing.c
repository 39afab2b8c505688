#include "sharing.h"

#include <string.h>

#if PY_VERSION_HEX >= 0x030e0000

static const char package[] = "/concurrent/interpreters/";

fl_code_word fl_sharing_flag_of(const PyCodeObject *code)
{
    Py_ssize_t length = 0;
    PyObject *hold;
    const char *file = fl_compat_utf8(code->co_filename, &length, &hold);
    bool yes = file && memmem(file, (size_t)length, package, strlen(package)) != NULL;
    Py_XDECREF(hold);
    return yes ? FL_CODE_SHARES : 0;
}

static void forget(PyCodeObject *code)
{
    /* That one may be a mark, which would not be found again. */
    if (!(fl_compat_code_slot_get(code) & FL_CODE_ASYNC))
        fl_compat_code_slots_clear(code);
}

/* Arguments are in tuples, too: `depth` of these, one in the other, are looked into. A dictionary is pickled. */
static void forget_functions_in(PyObject *value, int depth)
{
    if (PyFunction_Check(value)) {
        forget((PyCodeObject *)PyFunction_GET_CODE(value));
    } else if (PyCode_Check(value)) {
        forget((PyCodeObject *)value);
    } else if (depth > 0 && PyTuple_CheckExact(value)) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); i++)
            forget_functions_in(PyTuple_GET_ITEM(value, i), depth - 1);
    }
}

void fl_sharing_begins(const PyCodeObject *code)
{
    PyObject *exception = PyErr_GetRaisedException();
    PyFrameObject *frame = PyEval_GetFrame();
    PyCodeObject *here = frame ? PyFrame_GetCode(frame) : NULL;
    PyObject *locals = here == code ? PyFrame_GetLocals(frame) : NULL;
    /* A proxy, whose values are the arguments: no variable has a value yet. Nothing of the program runs here. */
    PyObject *values = locals ? PyMapping_Values(locals) : NULL;
    for (Py_ssize_t i = 0; values && i < PyList_GET_SIZE(values); i++)
        forget_functions_in(PyList_GET_ITEM(values, i), 2);
    Py_XDECREF(values);
    Py_XDECREF(locals);
    Py_XDECREF(here);
    PyErr_SetRaisedException(exception);
}

#else

fl_code_word fl_sharing_flag_of(const PyCodeObject *code)
{
    (void)code;
    return 0;
}

void fl_sharing_begins(const PyCodeObject *code)
{
    (void)code;
}

#endif
