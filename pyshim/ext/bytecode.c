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

/* The name that this unit loads, borrowed; NULL when it loads none. The lowest bits of some arguments are flags. Two
 * loads made into one instruction stand at the first one's place: it is the first name. */
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
#if PY_VERSION_HEX >= 0x030e0000
    case LOAD_FAST_BORROW:
#endif
    case LOAD_FAST:
    case LOAD_DEREF:
        return name_at(locals, value);
#if PY_VERSION_HEX >= 0x030e0000
    case LOAD_FAST_BORROW_LOAD_FAST_BORROW:
#endif
#if PY_VERSION_HEX >= 0x030d0000
    case LOAD_FAST_LOAD_FAST:
        return name_at(locals, value >> 4);
#endif
    default:
        return NULL;
    }
}

/* The name of what is on top of the stack after this unit, as far as the unit alone tells. */
static PyObject *name_on_top(const struct code_view *view, int i)
{
    switch (opcode_at(view, i)) {
#if PY_VERSION_HEX >= 0x030e0000
    case LOAD_FAST_BORROW_LOAD_FAST_BORROW:
#endif
#if PY_VERSION_HEX >= 0x030d0000
    case LOAD_FAST_LOAD_FAST:
    case STORE_FAST_LOAD_FAST:
        return name_at(view->code->co_localsplusnames, argument(view, i) & 15);
#endif
    default:
        return loaded_name(view, i);
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

/* The unit before `end`, without the caches of instructions. -1: none. */
static int unit_before(const struct code_view *view, int end)
{
    int i = end - 1;
    while (i >= 0 && opcode_at(view, i) == CACHE)
        i--;
    return i;
}

/* What this unit puts on the stack: "name", or "owner.name" for an attribute. A new str or NULL. */
static PyObject *describe(const struct code_view *view, int unit, const char *verb)
{
    PyObject *name = name_on_top(view, unit);
    PyObject *owner = NULL;
    if (loads_attribute(opcode_at(view, unit))) {
        int part = first_part(view, unit, &view->ranges[unit]), before = unit_before(view, unit);
        if (part >= 0)
            owner = loaded_name(view, part);
        else if (before >= 0)
            owner = name_on_top(view, before);
        if (owner && (PyUnicode_CompareWithASCIIString(owner, "self") == 0 ||
                      PyUnicode_CompareWithASCIIString(owner, "cls") == 0))
            owner = NULL;
    }
    return owner ? PyUnicode_FromFormat("%s%U.%U", verb, owner, name) : PyUnicode_FromFormat("%s%U", verb, name);
}

/* The expression whose value this unit makes: a name, an attribute, or what is called. */
static PyObject *describe_value(const struct code_view *view, int unit, const char *verb)
{
    if (unit < 0)
        return NULL;
    if (!name_on_top(view, unit)) {
        if (!view->ranges[unit].known)
            return NULL;
        unit = first_part(view, unit, &view->ranges[unit]);
    }
    return unit >= 0 ? describe(view, unit, verb) : NULL;
}

/* The unit after which a `with` has its context manager on the stack, if `unit` enters it; else -1. */
static int entered_by(const struct code_view *view, int unit)
{
#if PY_VERSION_HEX >= 0x030e0000
    /* manager, COPY, LOAD_SPECIAL __exit__, SWAP, SWAP, LOAD_SPECIAL __enter__, CALL */
    enum { STEPS = 6 };
    if (opcode_at(view, unit) != CALL || unit < STEPS || opcode_at(view, unit - 1) != LOAD_SPECIAL ||
        opcode_at(view, unit - 4) != LOAD_SPECIAL)
        return -1;
    return unit_before(view, unit - STEPS + 1);
#else
    return opcode_at(view, unit) == BEFORE_WITH ? unit_before(view, unit) : -1;
#endif
}

static bool same_range(const struct range *a, const struct range *b)
{
    return a->known && b->known && same_start(a, b) && compare_ends(a, b) == 0;
}

/*
 * The context manager that `unit` leaves, as entered_by() gives it; else -1. Leaving calls __exit__ with constants
 * that stand where the call itself stands; a constant that is written as an argument stands inside of its call.
 */
static int left_by(const struct code_view *view, int unit)
{
    int opcode = opcode_at(view, unit);
    if (opcode != CALL && opcode != WITH_EXCEPT_START)
        return -1;
    int before = unit_before(view, unit);
#ifdef PRECALL
    if (before >= 0 && opcode_at(view, before) == PRECALL)
        before = unit_before(view, before);
#endif
    bool constant = before >= 0 && (opcode_at(view, before) == LOAD_CONST
#ifdef LOAD_COMMON_CONSTANT
                                    || opcode_at(view, before) == LOAD_COMMON_CONSTANT
#endif
                                   );
    if (opcode == CALL && !(constant && same_range(&view->ranges[before], &view->ranges[unit])))
        return -1;
    for (int i = unit - 1; i >= 0; i--) {
        int manager = same_range(&view->ranges[i], &view->ranges[unit]) ? entered_by(view, i) : -1;
        if (manager >= 0)
            return manager;
    }
    return -1;
}

/* The unit before `end` with this opcode, going back over the few that may stand between; else -1. */
static int back_to(const struct code_view *view, int end, int opcode, int steps)
{
    int i = end - 1;
    while (i >= 0 && steps-- > 0 && opcode_at(view, i) != opcode)
        i--;
    return i >= 0 && opcode_at(view, i) == opcode ? i : -1;
}

/* What an `async with` enters: `unit` makes its manager's __aenter__() awaitable. */
static PyObject *find_async_with(const struct code_view *view, int unit)
{
    int call = unit_before(view, unit);
#ifdef BEFORE_ASYNC_WITH
    int manager = call >= 0 && opcode_at(view, call) == BEFORE_ASYNC_WITH ? unit_before(view, call) : -1;
#else
    int manager = call >= 0 ? entered_by(view, call) : -1;
#endif
    return describe_value(view, manager, "with ");
}

/* What is awaited where `unit` yields: "queue.get", "with lock", "for items"; or what `yield from` iterates over. */
static PyObject *find_awaited(const struct code_view *view, int unit)
{
    enum { VALUE, AENTER, AEXIT };
    int i = back_to(view, unit, GET_AWAITABLE, 6);
    if (i >= 0 && same_range(&view->ranges[i], &view->ranges[unit])) {
        int kind = argument_at(view, i);
        if (kind == VALUE)
            return describe_value(view, unit_before(view, i), "");
        int enters = i;
        while (enters >= 0 && kind == AEXIT &&
               !(opcode_at(view, enters) == GET_AWAITABLE && argument_at(view, enters) == AENTER &&
                 same_range(&view->ranges[enters], &view->ranges[unit])))
            enters--;
        return enters >= 0 ? find_async_with(view, enters) : NULL;
    }
    if (back_to(view, unit, GET_ANEXT, 6) >= 0) {
        i = back_to(view, unit, GET_AITER, unit);
        return i >= 0 ? describe_value(view, unit_before(view, i), "for ") : NULL;
    }
#ifdef GET_YIELD_FROM_ITER
    i = back_to(view, unit, GET_YIELD_FROM_ITER, 6);
#else /* 3.15 */
    i = back_to(view, unit, GET_ITER, 6);
#endif
    return i >= 0 ? describe_value(view, unit_before(view, i), "") : NULL;
}

static PyObject *find_name(const struct code_view *view, int unit)
{
    /* From 3.13 on a suspended frame stands at the RESUME behind its yield. */
    if (opcode_at(view, unit) == RESUME && unit > 0 && opcode_at(view, unit - 1) == YIELD_VALUE)
        unit--;
    if (opcode_at(view, unit) == YIELD_VALUE)
        return find_awaited(view, unit);
    int part = entered_by(view, unit);
    if (part < 0)
        part = left_by(view, unit);
    if (part >= 0)
        return describe_value(view, part, "with ");
    if (opcode_at(view, unit) == FOR_ITER) {
        /* In source order the iterated expression stands before GET_ITER, which stands before the loop. */
        for (part = unit - 1; part >= 0 && opcode_at(view, part) != GET_ITER;)
            part--;
        return describe_value(view, unit_before(view, part), "for ");
    }
    if (!view->ranges[unit].known)
        return NULL;
    part = first_part(view, unit, &view->ranges[unit]);
    return part >= 0 ? describe(view, part, "") : NULL;
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
