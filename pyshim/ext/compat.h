/*
 * compat.h: everything that differs between CPython versions, in one place. The rest of the extension has no version
 * checks but for which event source is compiled (hooks.h).
 */
#ifndef FL_COMPAT_H
#define FL_COMPAT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#if PY_VERSION_HEX < 0x030b0000
#error "flamelet needs CPython 3.11 or newer"
#endif
#ifdef Py_GIL_DISABLED
#error "flamelet does not support free-threaded builds of CPython yet: use the ordinary build"
#endif

/* 3.12 brought sys.monitoring; before it there is the profile function. */
#define FL_HAVE_MONITORING (PY_VERSION_HEX >= 0x030c0000)

/*
 * A code object's extra slot holds a word about the code (functions.h), 0 where it was not seen yet. One slot per
 * process, requested once: CPython never takes them back. GIL.
 */
int fl_compat_code_slot_init(void); /* 0, or -1 with an exception set */
int fl_compat_code_slot_set(PyCodeObject *code, uint64_t word);

/* The code is as if nobody had used its slots, unless somebody else does: then nothing is changed. */
void fl_compat_code_slots_clear(PyCodeObject *code);

/* In the child of a fork: what the slots hold are ids of the parent's session. The next fl_compat_code_slot_init()
 * takes another slot. */
void fl_compat_code_slot_after_fork_in_child(void);

/* How CPython lays the extra slots out; private to it, so fl_compat_code_slot_init() checks that a value written
 * through the API is found here, and else the API is used for reading too. */
struct fl_compat_code_extra {
    Py_ssize_t size;
    void *slots[1];
};
extern Py_ssize_t fl_compat_code_slot;
extern bool fl_compat_code_slot_direct;
uint64_t fl_compat_code_slot_get_by_api(PyCodeObject *code);

static inline uint64_t fl_compat_code_slot_get(PyCodeObject *code)
{
    if (__builtin_expect(!fl_compat_code_slot_direct, 0))
        return fl_compat_code_slot_get_by_api(code);
    const struct fl_compat_code_extra *extra = code->co_extra;
    if (!extra || extra->size <= fl_compat_code_slot)
        return 0;
    return (uintptr_t)extra->slots[fl_compat_code_slot];
}

/* The bytes of a str as UTF-8, what has no UTF-8 escaped with backslashes. `hold` keeps them alive: decref it after
 * use (it may be NULL). NULL, no exception set, where memory is at its end. */
const char *fl_compat_utf8(PyObject *string, Py_ssize_t *length, PyObject **hold);

/* The codes of a stack, innermost first, from `top` up to frame `end` without it (NULL: all): borrowed, the frames hold
 * them. Returns how many there are; the first `room` of them are stored. */
uint32_t fl_compat_stack_codes(PyFrameObject *top, const PyFrameObject *end, PyCodeObject **codes, uint32_t room);

/* Whether the interpreter runs this frame, which may look suspended by its instruction: up to 3.11 one that was thrown
 * into stays at its `yield` while it is unwound. From 3.12 on that shows in the instruction, and this is always false.
 */
bool fl_compat_frame_is_unwound(const PyFrameObject *frame);

/* The instance dictionary that an object already has, borrowed, or NULL: none is made, no user code runs. */
PyObject *fl_compat_instance_dict(PyObject *object);

/* What a weak reference refers to, a new reference or NULL. */
PyObject *fl_compat_weak_target(PyObject *reference);

/* The dictionary of a type, a new reference or NULL. */
PyObject *fl_compat_type_dict(PyTypeObject *type);

#endif
