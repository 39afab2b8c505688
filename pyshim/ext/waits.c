#include "waits.h"
#include "bytecode.h"
#include "functions.h"
#include "hash.h"

#include <stdlib.h>
#include <string.h>

/*
 * Where a greenlet keeps its topmost frame. greenlet's own getter (gr_frame) gives it, but on 3.12+ rewrites the whole
 * stack first; so the getter is asked for some greenlets, and the place in greenlet's memory at which exactly that
 * address stands is remembered. It is used once it was the only one three times in a row.
 */
enum { SURE = 3, WORDS = 40, FAILURES = 32 };
static struct {
    PyObject *getter; /* owned: the descriptor greenlet.gr_frame */
    int offset;       /* bytes into greenlet's implementation object; -1: not known */
    int agreed;       /* greenlets for which it was right */
    int failed;       /* greenlets for which there was no such place: after some, it is left alone */
} top_frame = {.offset = -1};

/* The documented start of a greenlet object; the rest is behind the last pointer. */
struct greenlet_head {
    PyObject_HEAD
    PyObject *weak_references, *dict;
    char *implementation;
};

/* Names by (code, instruction). Code objects are freed and their addresses used again: the function id tells. */
struct wait {
    const PyCodeObject *code;
    int instruction;
    uint32_t function, name;
};
static struct {
    struct wait *rows; /* open addressing; code NULL: free */
    uint32_t capacity, filled;
} waits;
enum { WAITS_MAX = 1 << 16 };

static PyObject *frame_by_getter(PyObject *greenlet, PyTypeObject *greenlet_type)
{
    if (!top_frame.getter) {
        PyObject *dict = fl_compat_type_dict(greenlet_type);
        top_frame.getter = dict ? Py_XNewRef(PyDict_GetItemString(dict, "gr_frame")) : NULL;
        Py_XDECREF(dict);
    }
    descrgetfunc get = top_frame.getter ? Py_TYPE(top_frame.getter)->tp_descr_get : NULL;
    PyObject *frame = get ? get(top_frame.getter, greenlet, (PyObject *)Py_TYPE(greenlet)) : NULL;
    if (!frame)
        PyErr_Clear();
    return frame;
}

PyFrameObject *fl_greenlet_top_frame(PyObject *greenlet, PyTypeObject *greenlet_type)
{
    PyObject *frame = frame_by_getter(greenlet, greenlet_type);
    bool is_frame = frame && PyFrame_Check(frame);
    Py_XDECREF(frame);
    return is_frame ? (PyFrameObject *)frame : NULL;
}

/* Returns the frame that the getter gave, borrowed (the greenlet holds it), or NULL. */
static PyFrameObject *learn_offset(PyObject *greenlet, PyTypeObject *greenlet_type)
{
    char *implementation = ((struct greenlet_head *)greenlet)->implementation;
    PyObject *frame = frame_by_getter(greenlet, greenlet_type);
    int found = -1, places = 0;
    for (int i = 0; frame && PyFrame_Check(frame) && implementation && i < WORDS; i++) {
        if (((PyObject **)(void *)implementation)[i] == frame) {
            found = i * (int)sizeof(PyObject *);
            places++;
        }
    }
    Py_XDECREF(frame);
    if (!frame || !PyFrame_Check(frame))
        return NULL; /* a greenlet without Python frames tells nothing */
    if (places != 1 || (top_frame.offset >= 0 && top_frame.offset != found)) {
        top_frame.failed++;
        top_frame.offset = -1;
        top_frame.agreed = 0;
    } else {
        top_frame.offset = found;
        top_frame.agreed++;
    }
    return places > 0 ? (PyFrameObject *)frame : NULL;
}

/* The topmost frame of a parked greenlet, borrowed, or NULL. */
static PyFrameObject *frame_of(PyObject *greenlet, PyTypeObject *greenlet_type)
{
    if (__builtin_expect(top_frame.agreed < SURE, 0)) {
        if (top_frame.failed >= FAILURES)
            return NULL;
        return learn_offset(greenlet, greenlet_type);
    }
    char *implementation = ((struct greenlet_head *)greenlet)->implementation;
    PyObject *frame = *(PyObject **)(void *)(implementation + top_frame.offset);
    return frame && PyFrame_Check(frame) ? (PyFrameObject *)frame : NULL;
}

static struct wait *slot_of(const struct wait *rows, uint32_t capacity, const PyCodeObject *code, int instruction)
{
    uint64_t key = (uint64_t)(uintptr_t)code + (uint64_t)(unsigned)instruction * 0x9e3779b97f4a7c15ull;
    uint32_t at = (uint32_t)fl_hash_mix(key) & (capacity - 1);
    while (rows[at].code && (rows[at].code != code || rows[at].instruction != instruction))
        at = (at + 1) & (capacity - 1);
    return (struct wait *)&rows[at];
}

/* Twice as large; at the bound it is emptied instead: a program that makes code without end must not grow us. */
static bool make_room(void)
{
    uint32_t capacity = waits.capacity ? waits.capacity * 2 : 256;
    bool empty = capacity > WAITS_MAX;
    if (empty)
        capacity = 256;
    struct wait *rows = calloc(capacity, sizeof *rows);
    if (!rows)
        return false;
    for (uint32_t i = 0; !empty && i < waits.capacity; i++)
        if (waits.rows[i].code)
            *slot_of(rows, capacity, waits.rows[i].code, waits.rows[i].instruction) = waits.rows[i];
    free(waits.rows);
    waits.rows = rows;
    waits.capacity = capacity;
    if (empty)
        waits.filled = 0;
    return true;
}

static uint32_t name_of(PyCodeObject *code, int instruction)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *name = fl_bytecode_call_name(code, instruction);
    uint32_t id = name ? fl_string_of(name) : 0;
    Py_XDECREF(name);
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
    return id;
}

uint32_t fl_wait_at(PyCodeObject *code, int instruction)
{
    uint32_t function = fl_function_of(code);
    if (instruction < 0 || (waits.filled >= waits.capacity / 2 && !make_room()))
        return 0;
    struct wait *wait = slot_of(waits.rows, waits.capacity, code, instruction);
    if (!wait->code || wait->function != function) {
        waits.filled += wait->code == NULL;
        *wait = (struct wait){code, instruction, function, name_of(code, instruction)};
    }
    return wait->name;
}

uint32_t fl_wait_of(PyObject *greenlet, PyTypeObject *greenlet_type)
{
    PyFrameObject *frame = frame_of(greenlet, greenlet_type);
    if (!frame)
        return 0;
    PyCodeObject *code = PyFrame_GetCode(frame);
    uint32_t name = fl_wait_at(code, PyFrame_GetLasti(frame));
    Py_DECREF(code); /* its frame holds it */
    return name;
}

void fl_waits_after_fork_in_child(void)
{
    if (waits.capacity)
        memset(waits.rows, 0, waits.capacity * sizeof *waits.rows);
    waits.filled = 0;
}
