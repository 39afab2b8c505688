#include "collector.h"
#include "callback.h"
#include "engine.h"
#include "event.h"
#include "function.h"
#include "threads.h"

#include <string.h>

enum { GENERATIONS = 3 };

static PyObject *callback; /* what stands in gc.callbacks */
static PyObject *module;   /* gc; owned */
static PyObject *key_generation;
static uint32_t functions[GENERATIONS]; /* ids of `functions_session`; 0: none yet */
static const struct fl_session *functions_session;

/* The collection that goes on: there is one at a time in the process. */
static struct {
    struct fl_thread *thread; /* NULL: none, or not seen from its beginning */
    uint64_t epoch;
    uint32_t function;
    fl_ticks begin;
} now_on;

/* The id of a generation's function; 0 where memory is at its end. */
static uint32_t function_of(int generation)
{
    char name[] = "garbage collection, generation 0";
    if (functions_session != fl_engine.session) {
        memset(functions, 0, sizeof functions);
        functions_session = fl_engine.session;
    }
    if (functions[generation] == 0) {
        struct fl_strings *strings = &fl_engine.session->strings;
        name[sizeof name - 2] = (char)('0' + generation);
        uint32_t id = fl_strings_add(strings, name, sizeof name - 1);
        const struct fl_function row = {
            .name = id, .qualname = id, .file = fl_strings_add(strings, "gc", strlen("gc")), .kind = FL_FUNCTION_MADE};
        functions[generation] = fl_functions_add(&fl_engine.session->functions, &row);
    }
    return functions[generation];
}

static void collection_begins(PyObject *info)
{
    now_on.thread = NULL;
    struct fl_thread *thread = fl_thread_here(FL_SEED_ALL);
    PyObject *number = PyDict_CheckExact(info) ? PyDict_GetItemWithError(info, key_generation) : NULL;
    long generation = number ? PyLong_AsLong(number) : -1;
    PyErr_Clear();
    /* A task that has not entered anything must not be of a group of collections. */
    if (thread && atomic_load_explicit(&thread->node, memory_order_relaxed) == thread->no_group->root)
        return;
    if (!thread || generation < 0 || generation >= GENERATIONS || function_of((int)generation) == 0)
        return;
    now_on.thread = thread;
    now_on.epoch = atomic_load_explicit(&fl_engine.session->epoch, memory_order_relaxed);
    now_on.function = functions[generation];
    now_on.begin = fl_now(thread);
    fl_enter(thread, now_on.function, true, now_on.begin);
}

static void collection_ends(void)
{
    struct fl_thread *thread = fl_thread_here(FL_SEED_ALL);
    /* Its beginning may have been before the start: then its frame is not there. */
    if (!thread || thread != now_on.thread ||
        now_on.epoch != atomic_load_explicit(&fl_engine.session->epoch, memory_order_relaxed))
        return;
    fl_ticks now = fl_now(thread);
    fl_leave(thread, now_on.function, now);
    fl_session_collected(fl_engine.session, now - now_on.begin);
    now_on.thread = NULL;
}

/* callback(phase, info). The interpreter would print what it raises, and go on. */
static PyObject *on_collection(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    (void)self, (void)kwnames;
    if (!fl_engine.running || PyVectorcall_NARGS(nargsf) != 2 || !PyUnicode_Check(args[0]))
        Py_RETURN_NONE;
    if (PyUnicode_CompareWithASCIIString(args[0], "start") == 0)
        collection_begins(args[1]);
    else
        collection_ends();
    Py_RETURN_NONE;
}

/* The program's list: borrowed; NULL where it has put something else there. */
static PyObject *callbacks(void)
{
    PyObject *list = PyObject_GetAttrString(module, "callbacks");
    if (!list)
        PyErr_Clear();
    Py_XDECREF(list); /* the module holds it */
    return list && PyList_CheckExact(list) ? list : NULL;
}

/* Our place in it; -1: none. By identity, so that nothing of the program's is compared. */
static Py_ssize_t place_in(PyObject *list)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++)
        if (PyList_GET_ITEM(list, i) == callback)
            return i;
    return -1;
}

void fl_collector_begin(void)
{
    PyObject *list = callbacks();
    now_on.thread = NULL;
    if (list && place_in(list) < 0 && PyList_Append(list, callback) != 0)
        PyErr_Clear();
}

void fl_collector_end(void)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *list = callbacks();
    Py_ssize_t place = list ? place_in(list) : -1;
    if (place >= 0 && PyList_SetSlice(list, place, place + 1, NULL) != 0)
        PyErr_Clear();
    PyErr_Restore(type, value, traceback);
    now_on.thread = NULL;
}

void fl_collector_after_fork_in_child(void)
{
    now_on.thread = NULL;
    functions_session = NULL;
}

int fl_collector_init(void)
{
    key_generation = PyUnicode_InternFromString("generation");
    callback = fl_callback_new(on_collection);
    module = PyImport_ImportModule("gc"); /* compiled in. Now: later the import would be seen as the program's */
    return key_generation && callback && module ? 0 : -1;
}
