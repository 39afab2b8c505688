#include "compat.h"

#if PY_VERSION_HEX < 0x030c0000
#define Py_BUILD_CORE 1
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE
#endif

Py_ssize_t fl_compat_code_slot = -1;
bool fl_compat_code_slot_direct;
static bool slot_is_ours;

#if PY_VERSION_HEX < 0x030c0000
#define PyUnstable_Eval_RequestCodeExtraIndex _PyEval_RequestCodeExtraIndex
#define PyUnstable_Code_GetExtra              _PyCode_GetExtra
#define PyUnstable_Code_SetExtra              _PyCode_SetExtra
#endif

uint64_t fl_compat_code_slot_get_by_api(PyCodeObject *code)
{
    void *value = NULL;
    if (PyUnstable_Code_GetExtra((PyObject *)code, fl_compat_code_slot, &value) != 0)
        PyErr_Clear();
    return (uintptr_t)value;
}

int fl_compat_code_slot_set(PyCodeObject *code, uint64_t word)
{
    _Static_assert(sizeof(void *) >= sizeof word, "a slot holds a whole word");
    /* The word itself is stored, not a pointer: there is nothing to free with the code. */
    return PyUnstable_Code_SetExtra((PyObject *)code, fl_compat_code_slot, (void *)(uintptr_t)word);
}

void fl_compat_code_slots_clear(PyCodeObject *code)
{
    struct fl_compat_code_extra *extra = code->co_extra;
    if (!fl_compat_code_slot_direct || !extra)
        return;
    for (Py_ssize_t i = 0; i < extra->size; i++)
        if (i != fl_compat_code_slot && extra->slots[i])
            return;
    code->co_extra = NULL;
    PyMem_Free(extra); /* as CPython does it when the code is freed */
}

int fl_compat_code_slot_init(void)
{
    if (slot_is_ours)
        return 0;
    Py_ssize_t slot = PyUnstable_Eval_RequestCodeExtraIndex(NULL);
    if (slot < 0) {
        PyErr_SetString(PyExc_RuntimeError, "flamelet: no free slot for data on code objects; other tools that use "
                                            "them (debuggers, profilers) took all 255");
        return -1;
    }
    fl_compat_code_slot = slot;
    slot_is_ours = true;
    PyCodeObject *probe = PyCode_NewEmpty("flamelet", "probe", 1);
    if (!probe)
        return -1;
    const uint64_t value = 0x5a5a5a5a5aull;
    if (fl_compat_code_slot_set(probe, value) != 0) {
        Py_DECREF(probe);
        return -1;
    }
    fl_compat_code_slot_direct = true;
    fl_compat_code_slot_direct = fl_compat_code_slot_get(probe) == value;
    Py_DECREF(probe);
    return 0;
}

void fl_compat_code_slot_after_fork_in_child(void)
{
    slot_is_ours = false;
}

const char *fl_compat_utf8(PyObject *string, Py_ssize_t *length, PyObject **hold)
{
    *hold = NULL;
    if (!string || !PyUnicode_Check(string))
        return NULL;
    const char *text = PyUnicode_AsUTF8AndSize(string, length);
    if (text)
        return text;
    PyErr_Clear(); /* lone surrogates */
    PyObject *bytes = PyUnicode_AsEncodedString(string, "utf-8", "backslashreplace");
    if (!bytes) {
        PyErr_Clear();
        return NULL;
    }
    *hold = bytes;
    *length = PyBytes_GET_SIZE(bytes);
    return PyBytes_AS_STRING(bytes);
}

PyObject *fl_compat_instance_dict(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    /* 3.12+ with a managed dictionary: the offset is -1, and asking would make the dictionary. */
    if (type->tp_dictoffset <= 0)
        return NULL;
    PyObject *dict = *(PyObject **)(void *)((char *)object + type->tp_dictoffset);
    return dict && PyDict_CheckExact(dict) ? dict : NULL;
}

PyObject *fl_compat_weak_target(PyObject *reference)
{
#if PY_VERSION_HEX >= 0x030d0000
    PyObject *target = NULL;
    if (PyWeakref_GetRef(reference, &target) < 0)
        PyErr_Clear();
    return target;
#else
    PyObject *target = PyWeakref_GetObject(reference);
    return target && target != Py_None ? Py_NewRef(target) : NULL;
#endif
}

PyObject *fl_compat_type_dict(PyTypeObject *type)
{
#if PY_VERSION_HEX >= 0x030c0000
    return PyType_GetDict(type);
#else
    return Py_XNewRef(type->tp_dict);
#endif
}

uint32_t fl_compat_stack_codes(PyFrameObject *top, const PyFrameObject *end, PyCodeObject **codes, uint32_t room)
{
    uint32_t count = 0;
#if PY_VERSION_HEX >= 0x030c0000
    /* greenlet has made the frame objects of a parked stack; those of a running one are made here. */
    PyFrameObject *frame = (PyFrameObject *)Py_NewRef((PyObject *)top);
    while (frame && frame != end) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        if (count < room)
            codes[count] = code;
        count++;
        Py_DECREF(code);
        PyFrameObject *back = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
    }
    Py_XDECREF(frame);
#else
    /* Without making frame objects: 10,000 parked greenlets have many frames. */
    for (const _PyInterpreterFrame *frame = top->f_frame; frame; frame = frame->previous) {
        if (_PyFrame_IsIncomplete((_PyInterpreterFrame *)frame))
            continue;
        if (end && frame->frame_obj == end)
            break;
        if (count < room)
            codes[count] = frame->f_code;
        count++;
    }
#endif
    return count;
}

bool fl_compat_frame_is_unwound(const PyFrameObject *frame)
{
#if PY_VERSION_HEX >= 0x030c0000
    (void)frame;
    return false;
#else
    /* The depth of its stack is kept in the frame only while it is suspended. */
    return frame->f_frame->stacktop < 0;
#endif
}
