#include "callback.h"
#include "collector.h"
#include "clock.h"
#include "cpu_clock.h"
#include "engine.h"
#include "filters.h"
#include "following.h"
#include "functions.h"
#include "gil.h"
#include "greenlets.h"
#include "hooks.h"
#include "labels.h"
#include "live_recording.h"
#include "serving.h"
#include "threads.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Argument texts of start() as the core's enums; -1 with an exception set for another text. */
static int parse_choice(const char *argument, const char *text, const char *const *choices)
{
    for (int i = 0; choices[i]; i++)
        if (strcmp(text, choices[i]) == 0)
            return i;
    PyErr_Format(PyExc_ValueError, "flamelet: %s must be \"%s\", \"%s\" or \"%s\", not \"%s\"", argument, choices[0],
                 choices[1], choices[2], text);
    return -1;
}

static PyObject *start(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"builtins", "threshold_ns", "node_bytes", "clock", "cpu_clock", "seed", "task_trees", NULL};
    static const char *const clock_choices[] = {"auto", "tsc", "monotonic", NULL};
    static const char *const cpu_choices[] = {"auto", "rseq", "short", NULL};
    int builtins = 0, seed = 1;
    unsigned long long threshold = 0, bytes = 0;
    static const char *const tree_choices[] = {"long", "watched", "all", NULL};
    const char *clock = "auto", *cpu_clock = "auto", *task_trees = "long";
    (void)self;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$pKKssps:start", names, &builtins, &threshold, &bytes, &clock,
                                     &cpu_clock, &seed, &task_trees))
        return NULL;
    int clock_kind = parse_choice("clock", clock, clock_choices);
    int cpu_kind = clock_kind < 0 ? -1 : parse_choice("cpu_clock", cpu_clock, cpu_choices);
    int trees = cpu_kind < 0 ? -1 : parse_choice("task_trees", task_trees, tree_choices);
    if (trees < 0)
        return NULL;
    const struct fl_engine_options options = {.builtins = builtins,
                                              .seed = seed,
                                              .session = {.threshold_ns = threshold,
                                                          .node_bytes = bytes,
                                                          .task_trees = trees,
                                                          .clock = (enum fl_clock_kind)clock_kind,
                                                          .cpu_clock = cpu_kind,
                                                          .global_lock = &fl_gil}};
    if (fl_engine_start(&options) != 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *set_filters(PyObject *self, PyObject *args)
{
    PyObject *include, *exclude, *stdlib;
    (void)self;
    if (!PyArg_ParseTuple(args, "OOO:set_filters", &include, &exclude, &stdlib))
        return NULL;
    /* Frames that are on the stacks are told anew, shown or not: as at any start in the middle. */
    bool was_running = fl_engine.running;
    const struct fl_engine_options options = {.builtins = fl_engine.builtins, .seed = true};
    if (was_running && fl_engine_stop() != 0)
        return NULL;
    int error = fl_filters_set(include, exclude, stdlib);
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (was_running && fl_engine_start(&options) != 0 && error == 0)
        return NULL;
    if (error == 0)
        Py_RETURN_NONE;
    PyErr_Restore(type, value, traceback);
    return NULL;
}

static PyObject *stop(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    if (fl_engine_stop() != 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *end(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    if (fl_engine_end() != 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *is_running(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return PyBool_FromLong(fl_engine.running);
}

static PyObject *clocks(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return Py_BuildValue("ssI", fl_clock_name(), fl_cpu_clock_name(), fl_cpu_clock_reading_ns());
}

static PyObject *debug_hold(PyObject *self, PyObject *argument)
{
    double seconds = PyFloat_AsDouble(argument);
    (void)self;
    if (seconds == -1.0 && PyErr_Occurred())
        return NULL;
    if (!(seconds >= 0 && seconds <= 60)) {
        PyErr_SetString(PyExc_ValueError, "seconds must be 0 to 60");
        return NULL;
    }
    uint64_t end_ns = fl__monotonic_ns() + (uint64_t)(seconds * 1e9);
    while (fl__monotonic_ns() < end_ns)
        ; /* on purpose: the GIL is held */
    Py_RETURN_NONE;
}

/* What a thread without the GIL sees of it: one row for each look, 1 ms apart. */
static PyObject *debug_gil(PyObject *self, PyObject *args)
{
    enum { LOOKS = 1000 };
    static const char *const waits[] = {
        [FL_LOCK_NOT_AWAITED] = "no", [FL_LOCK_AWAITED] = "yes", [FL_LOCK_WAIT_UNKNOWN] = "unknown"};
    struct {
        uint32_t holder;
        enum fl_lock_wait wait;
    } seen[LOOKS];
    unsigned int tid;
    int looks;
    (void)self;
    if (!PyArg_ParseTuple(args, "Ii:debug_gil", &tid, &looks))
        return NULL;
    if (looks < 0 || looks > LOOKS) {
        PyErr_SetString(PyExc_ValueError, "looks must be 0 to 1000");
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    for (int i = 0; i < looks; i++) {
        (void)usleep(1000);
        seen[i].holder = fl_gil.holder();
        seen[i].wait = fl_gil.wait_of(tid);
    }
    Py_END_ALLOW_THREADS
    PyObject *rows = PyList_New(looks);
    for (int i = 0; rows && i < looks; i++) {
        PyObject *row = Py_BuildValue("Is", seen[i].holder, waits[seen[i].wait]);
        if (!row)
            Py_CLEAR(rows);
        else
            PyList_SET_ITEM(rows, i, row);
    }
    return rows;
}

static PyMethodDef methods[] = {
    {"start", (PyCFunction)(void (*)(void))start, METH_VARARGS | METH_KEYWORDS, NULL},
    {"stop", stop, METH_NOARGS, NULL},
    {"set_filters", set_filters, METH_VARARGS, NULL},
    {"end", end, METH_NOARGS, NULL},
    {"is_running", is_running, METH_NOARGS, NULL},
    {"recording", fl_serving_recording, METH_VARARGS, NULL},
    {"record", fl_live_recording_begin, METH_VARARGS, NULL},
    {"end_record", fl_live_recording_end, METH_NOARGS, NULL},
    {"serve", fl_serving_start, METH_VARARGS, NULL},
    {"unserve", fl_serving_stop, METH_NOARGS, NULL},
    {"follow", (PyCFunction)(void (*)(void))fl_following_prepare, METH_VARARGS | METH_KEYWORDS, NULL},
    {"before_fork", fl_following_before_fork, METH_NOARGS, NULL},
    {"after_fork_in_parent", fl_following_after_fork_in_parent, METH_NOARGS, NULL},
    {"after_fork_in_child", fl_following_after_fork_in_child, METH_NOARGS, NULL},
    {"followed_recording", fl_following_recording, METH_NOARGS, NULL},
    {"followed_is_recorded", fl_following_recorded, METH_NOARGS, NULL},
    {"followed_children", fl_following_children, METH_NOARGS, NULL},
    {"serving", fl_serving_where, METH_NOARGS, NULL},
    {"label", fl_labels_set, METH_O, NULL},
    {"clocks", clocks, METH_NOARGS, NULL},
    {"debug_hold", debug_hold, METH_O, NULL},
    {"debug_gil", debug_gil, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

/* The package's folder: what lies in it is flamelet's own and not shown. */
static int hide_own_code(PyObject *module)
{
    PyObject *file = PyObject_GetAttrString(module, "__file__");
    if (!file) {
        PyErr_Clear();
        return 0;
    }
    Py_ssize_t length = 0;
    PyObject *hold;
    const char *text = fl_compat_utf8(file, &length, &hold);
    const char *slash = text ? strrchr(text, '/') : NULL;
    int error = 0;
    if (slash) {
        char *folder = strndup(text, (size_t)(slash - text));
        error = folder ? fl_functions_hide(folder) : -1;
        free(folder);
    }
    Py_XDECREF(hold);
    Py_DECREF(file);
    return error;
}

static int execute(PyObject *module)
{
    static bool done;
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
        PyErr_SetString(PyExc_ImportError, "flamelet._ext does not load in subinterpreters");
        return -1;
    }
    if (!done) {
        if (fl_callback_init() != 0 || fl_threads_init() != 0 || fl_greenlets_init() != 0 || fl_hooks_init() != 0 ||
            fl_labels_init() != 0 || fl_collector_init() != 0)
            return -1;
        if (pthread_atfork(NULL, NULL, fl_engine_after_fork_in_child) != 0) {
            PyErr_NoMemory();
            return -1;
        }
        fl_gil_init();
        done = true;
    }
    return hide_own_code(module);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)execute},
#if PY_VERSION_HEX >= 0x030c0000
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_ext", .m_size = 0, .m_methods = methods,
                                        .m_slots = slots};

PyMODINIT_FUNC PyInit__ext(void);
PyMODINIT_FUNC PyInit__ext(void)
{
    return PyModuleDef_Init(&definition);
}
