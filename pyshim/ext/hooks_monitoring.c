#include "hooks.h"

#if FL_HAVE_MONITORING

#include "callback.h"
#include "hook_events.h"

/* In the order in which a tool id is tried: 0 debugger, 1 coverage, 2 profiler (cProfile) and 5 optimizer are others'.
 */
static const int tool_ids[] = {4, 3, 5};

enum { EVENTS = 9 };

static struct {
    const char *name;
    vectorcallfunc function;
    bool builtins; /* only wanted with C functions */
    bool is_set;   /* has a bit of its own in set_events (C_RETURN and C_RAISE come with CALL) */
    PyObject *callback;
    long bit; /* moved between versions: read from sys.monitoring.events */
} events[EVENTS];

static PyObject *monitoring; /* sys.monitoring */
static int tool = -1;

#define CODE(args) ((PyCodeObject *)(args)[0])

/* Whether an event is told of a code object. Since 3.13 C code can fire events of its own
 * (PyMonitoring_FirePyStartEvent and others), in the name of any object: what is no code has no frame either, and is
 * nothing that we show. */
#if PY_VERSION_HEX >= 0x030d0000
#define OF_CODE(args) __builtin_expect(PyCode_Check((args)[0]), 1)
#else
#define OF_CODE(args) true
#endif

static PyObject *on_start(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    (void)self, (void)nargsf, (void)kwnames;
    if (OF_CODE(args))
        fl_hook_enter(CODE(args), true);
    Py_RETURN_NONE;
}

/* A generator or coroutine goes on: no call. */
static PyObject *on_resume(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    (void)self, (void)nargsf, (void)kwnames;
    if (OF_CODE(args))
        fl_hook_enter(CODE(args), false);
    Py_RETURN_NONE;
}

static PyObject *on_throw(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    (void)self, (void)nargsf, (void)kwnames;
    if (OF_CODE(args))
        fl_hook_throw(CODE(args));
    Py_RETURN_NONE;
}

/* args: code, offset of the instruction, value. */
static PyObject *on_yield(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    (void)self, (void)nargsf, (void)kwnames;
    struct fl_thread *thread = OF_CODE(args) ? fl_hook_yield(CODE(args)) : NULL;
    if (__builtin_expect(thread != NULL, 0))
        fl_hook_yield_other(thread, CODE(args), (int)PyLong_AsLong(args[1]), args[2]);
    Py_RETURN_NONE;
}

static PyObject *on_leave(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    (void)self, (void)nargsf, (void)kwnames;
    if (OF_CODE(args))
        fl_hook_leave(CODE(args));
    Py_RETURN_NONE;
}

static PyObject *on_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    (void)self, (void)nargsf, (void)kwnames;
    if (OF_CODE(args))
        fl_hook_c_call(CODE(args), args[2]);
    Py_RETURN_NONE;
}

static PyObject *on_c_leave(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    (void)self, (void)nargsf, (void)kwnames;
    if (OF_CODE(args))
        fl_hook_c_leave(CODE(args));
    Py_RETURN_NONE;
}

int fl_hooks_init(void)
{
    static const struct {
        const char *name;
        vectorcallfunc function;
        bool builtins, is_set;
    } wanted[EVENTS] = {
        {"PY_START", on_start, false, true},  {"PY_RESUME", on_resume, false, true},
        {"PY_THROW", on_throw, false, true},  {"PY_RETURN", on_leave, false, true},
        {"PY_YIELD", on_yield, false, true},  {"PY_UNWIND", on_leave, false, true},
        {"CALL", on_call, true, true},        {"C_RETURN", on_c_leave, true, false},
        {"C_RAISE", on_c_leave, true, false},
    };
    monitoring = Py_XNewRef(PySys_GetObject("monitoring"));
    PyObject *names = monitoring ? PyObject_GetAttrString(monitoring, "events") : NULL;
    if (!names)
        return -1;
    for (int i = 0; i < EVENTS; i++) {
        events[i].name = wanted[i].name;
        events[i].builtins = wanted[i].builtins;
        events[i].is_set = wanted[i].is_set;
        events[i].callback = fl_callback_new(wanted[i].function);
        PyObject *bit = PyObject_GetAttrString(names, wanted[i].name);
        events[i].bit = bit ? PyLong_AsLong(bit) : -1;
        Py_XDECREF(bit);
        if (!events[i].callback || events[i].bit < 0) {
            Py_DECREF(names);
            return -1;
        }
    }
    Py_DECREF(names);
    return 0;
}

static int register_all(bool on)
{
    int error = 0;
    for (int i = 0; i < EVENTS; i++) {
        PyObject *old =
            PyObject_CallMethod(monitoring, "register_callback", "ilO", tool, events[i].bit,
                                on && (fl_engine.builtins || !events[i].builtins) ? events[i].callback : Py_None);
        if (!old)
            error = -1;
        Py_XDECREF(old);
    }
    return error;
}

static int set_events(bool on)
{
    long set = 0;
    for (int i = 0; on && i < EVENTS; i++)
        if (events[i].is_set && (fl_engine.builtins || !events[i].builtins))
            set |= events[i].bit;
    PyObject *done = PyObject_CallMethod(monitoring, "set_events", "il", tool, set);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

static int take_tool_id(void)
{
    for (size_t i = 0; i < sizeof tool_ids / sizeof *tool_ids; i++) {
        PyObject *done = PyObject_CallMethod(monitoring, "use_tool_id", "is", tool_ids[i], "flamelet");
        if (done) {
            Py_DECREF(done);
            tool = tool_ids[i];
            return 0;
        }
        if (!PyErr_ExceptionMatches(PyExc_ValueError))
            return -1;
        PyErr_Clear();
    }
    PyErr_SetString(PyExc_RuntimeError,
                    "flamelet: other tools use all of sys.monitoring's free tool ids (3, 4, 5); stop "
                    "one of them first");
    return -1;
}

static int give_tool_id_back(void)
{
    PyObject *done = PyObject_CallMethod(monitoring, "free_tool_id", "i", tool);
    Py_XDECREF(done);
    tool = -1;
    return done ? 0 : -1;
}

int fl_hooks_install(void (*wake)(void))
{
    /* In the child of a fork the parent's are still there. */
    if (fl_hooks_remove(NULL) != 0 || take_tool_id() != 0)
        return -1;
    /* The callbacks first: registering them may run the program's audit hooks. */
    if (register_all(true) == 0) {
        if (PY_VERSION_HEX >= 0x030f0000)
            wake(); /* before: else 3.15 crashes; after: else they deliver nothing */
        if (set_events(true) == 0) {
            wake();
            return 0;
        }
    }
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (fl_hooks_remove(NULL) != 0)
        PyErr_Clear();
    PyErr_Restore(type, value, traceback);
    return -1;
}

int fl_hooks_remove(void (*wake)(void))
{
    if (tool < 0)
        return 0;
    int error = set_events(false);
    if (wake)
        wake(); /* parked frames run at full speed again */
    /* Parked frames go on delivering events until the callbacks are gone. */
    error |= register_all(false);
    error |= give_tool_id_back();
    return error ? -1 : 0;
}

void fl_hooks_put_back(void)
{
    /* Each tool has its own place: ours is never gone. */
}

void fl_hooks_wake(PyCodeObject *code)
{
    if (tool < 0)
        return;
    for (int on = 1; on >= 0; on--) {
        /* Setting a local event and taking it back instruments the code with the global ones. */
        PyObject *done =
            PyObject_CallMethod(monitoring, "set_local_events", "iOl", tool, code, on ? events[3].bit : 0L);
        if (!done)
            PyErr_Clear();
        Py_XDECREF(done);
    }
}

#endif
