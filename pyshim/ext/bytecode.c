#include "bytecode.h"

#include <opcode.h>
#include <string.h>

/* Source positions of an instruction: from (line, column) to (end line, end column). Known: columns are there. */
struct range {
    int line, end_line, column, end_column;
    bool known;
};

struct code_view {
    PyCodeObject *code;
    const unsigned char *units; /* pairs of opcode and argument, not specialised */
    int count;
    struct range *ranges; /* shape: count */
};

static int compare(int line_a, int column_a, int line_b, int column_b)
{
    return line_a != line_b ? (line_a < line_b ? -1 : 1) : (column_a > column_b) - (column_a < column_b);
}

static bool same_start(const struct range *a, const struct range *b)
{
    return compare(a->line, a->column, b->line, b->column) == 0;
}

static int compare_ends(const struct range *a, const struct range *b)
{
    return compare(a->end_line, a->end_column, b->end_line, b->end_column);
}

static int small_int(PyObject *tuple, Py_ssize_t index)
{
    PyObject *item = PyTuple_GET_ITEM(tuple, index);
    return item == Py_None ? -1 : (int)PyLong_AsLong(item);
}

/* The positions of all units: co_positions() is compiled, so nothing of the program runs. */
static bool read_ranges(struct code_view *view)
{
    PyObject *positions = PyObject_CallMethod((PyObject *)view->code, "co_positions", NULL);
    if (!positions)
        return false;
    PyObject *item;
    int i = 0;
    while (i < view->count && (item = PyIter_Next(positions)) != NULL) {
        if (PyTuple_CheckExact(item) && PyTuple_GET_SIZE(item) == 4) {
            view->ranges[i] =
                (struct range){small_int(item, 0), small_int(item, 1), small_int(item, 2), small_int(item, 3), false};
            view->ranges[i].known = view->ranges[i].line >= 0 && view->ranges[i].column >= 0;
        }
        Py_DECREF(item);
        i++;
    }
    Py_DECREF(positions);
    return !PyErr_Occurred();
}

static PyObject *name_at(PyObject *names, int index)
{
    return names && PyTuple_Check(names) && index >= 0 && index < PyTuple_GET_SIZE(names)
               ? PyTuple_GET_ITEM(names, index)
               : NULL;
}

static int opcode_at(const struct code_view *view, int i)
{
    return view->units[(size_t)i * 2];
}

static int argument_at(const struct code_view *view, int i)
{
    return view->units[(size_t)i * 2 + 1];
}

/* Argument of unit `i`, with its EXTENDED_ARGs. */
static int argument(const struct code_view *view, int i)
{
    int value = argument_at(view, i);
    for (int shift = 8; i > 0 && opcode_at(view, i - 1) == EXTENDED_ARG && shift < 32; shift += 8, i--)
        value |= argument_at(view, i - 1) << shift;
    return value;
}

/* The name that this unit loads, borrowed; NULL when it loads none. The lowest bits of some arguments are flags. */
static PyObject *loaded_name(const struct code_view *view, int i)
{
    PyObject *names = view->code->co_names, *locals = view->code->co_localsplusnames;
    int value = argument(view, i);
    switch (opcode_at(view, i)) {
#if PY_VERSION_HEX < 0x030c0000
    case LOAD_ATTR:
    case LOAD_METHOD:
#endif
    case LOAD_NAME:
        return name_at(names, value);
#if PY_VERSION_HEX >= 0x030c0000
    case LOAD_ATTR:
#endif
    case LOAD_GLOBAL:
        return name_at(names, value >> 1);
#if PY_VERSION_HEX >= 0x030c0000
    case LOAD_SUPER_ATTR:
        return name_at(names, value >> 2);
    case LOAD_FAST_CHECK:
#endif
    case LOAD_FAST:
    case LOAD_DEREF:
        return name_at(locals, value);
    default:
        return NULL;
    }
}

static bool loads_attribute(int opcode)
{
#if PY_VERSION_HEX < 0x030c0000
    return opcode == LOAD_ATTR || opcode == LOAD_METHOD;
#else
    return opcode == LOAD_ATTR || opcode == LOAD_SUPER_ATTR;
#endif
}

/*
 * The unit before `end` that loads the first part of an expression: of those that begin where `whole` begins, the one
 * that reaches farthest, but not beyond it. In `a.b().c(x)` the call begins with a, a.b, a.b(), a.b().c: the last of
 * them loads what is called. -1: none.
 */
static int first_part(const struct code_view *view, int end, const struct range *whole)
{
    int best = -1;
    for (int i = 0; i < end; i++) {
        const struct range *range = &view->ranges[i];
        if (!range->known || !same_start(range, whole) || !loaded_name(view, i))
            continue;
        if (compare_ends(range, whole) >= 0)
            continue;
        if (best < 0 || compare_ends(range, &view->ranges[best]) >= 0)
            best = i;
    }
    return best;
}

static PyObject *describe(const struct code_view *view, int unit, const char *verb)
{
    PyObject *name = loaded_name(view, unit);
    PyObject *owner = NULL;
    if (loads_attribute(opcode_at(view, unit))) {
        int part = first_part(view, unit, &view->ranges[unit]);
        owner = part >= 0 ? loaded_name(view, part) : NULL;
        if (owner && (PyUnicode_CompareWithASCIIString(owner, "self") == 0 ||
                      PyUnicode_CompareWithASCIIString(owner, "cls") == 0))
            owner = NULL;
    }
    return owner ? PyUnicode_FromFormat("%s%U.%U", verb, owner, name) : PyUnicode_FromFormat("%s%U", verb, name);
}

/* The last unit before `end` that loads a name. -1: none. */
static int last_load(const struct code_view *view, int end)
{
    int i = end - 1;
    while (i >= 0 && !loaded_name(view, i))
        i--;
    return i;
}

static PyObject *find_name(const struct code_view *view, int unit)
{
    int part;
    switch (opcode_at(view, unit)) {
#ifdef BEFORE_WITH
    case BEFORE_WITH: /* what it enters was loaded right before; its own position is the whole statement's on 3.12 */
        part = last_load(view, unit);
        return part >= 0 ? describe(view, part, "with ") : NULL;
#endif
    case FOR_ITER:
        /* In source order the iterated expression stands before GET_ITER, which stands before the loop. */
        for (part = unit - 1; part >= 0 && opcode_at(view, part) != GET_ITER;)
            part--;
        part = last_load(view, part);
        return part >= 0 ? describe(view, part, "for ") : NULL;
    default:
        if (!view->ranges[unit].known)
            return NULL;
        part = first_part(view, unit, &view->ranges[unit]);
        return part >= 0 ? describe(view, part, "") : NULL;
    }
}

PyObject *fl_bytecode_call_name(PyCodeObject *code, int instruction)
{
    PyObject *bytes = PyCode_GetCode(code);
    PyObject *name = NULL;
    struct code_view view = {.code = code};
    if (bytes && instruction >= 0 && instruction < PyBytes_GET_SIZE(bytes)) {
        view.units = (const unsigned char *)PyBytes_AS_STRING(bytes);
        view.count = (int)(PyBytes_GET_SIZE(bytes) / 2);
        view.ranges = PyMem_Calloc((size_t)view.count, sizeof *view.ranges);
        if (view.ranges && read_ranges(&view))
            name = find_name(&view, instruction / 2);
    }
    PyMem_Free(view.ranges);
    Py_XDECREF(bytes);
    PyErr_Clear();
    return name;
}
