#include "own_cost.h"
#include "callback.h"
#include "event.h"
#include "functions.h"
#include "threads.h"

enum { CALLS = 300, ROUNDS = 8, SWITCHES = 200 };

/* greenlet cannot be asked here: it is mostly not imported yet, and its switches are the program's. Its own way to a
 * tracer, and what is looked up around the core's switch, take about as much again as what time_switches() does; the
 * benchmark's greenlet switches on 3.11 to 3.13 took 2.1 to 2.4 times that. */
static const double switch_factor = 2.2;

static const char source[] = "def call(): pass\n"
                             "def loop(times):\n"
                             "    for _ in times: call()\n";

/* Does another tool see calls? Then nothing of ours is to run under its eyes. */
static bool is_watched(void)
{
    const PyThreadState *state = PyThreadState_Get();
    if (state->c_profilefunc || state->c_tracefunc)
        return true;
#if FL_HAVE_MONITORING
    PyObject *monitoring = PySys_GetObject("monitoring");
    for (int tool = 0; monitoring && tool < 6; tool++) {
        PyObject *name = PyObject_CallMethod(monitoring, "get_tool", "i", tool);
        PyObject *events = name && name != Py_None ? PyObject_CallMethod(monitoring, "get_events", "i", tool) : NULL;
        bool on = events && PyObject_IsTrue(events) != 0;
        Py_XDECREF(name);
        Py_XDECREF(events);
        PyErr_Clear();
        if (on)
            return true;
    }
#endif
    return false;
}

static int make_loop(struct fl_own_cost *cost)
{
    PyObject *code = Py_CompileString(source, "<flamelet>", Py_file_input);
    PyObject *space = code ? PyDict_New() : NULL;
    PyObject *done = space && PyDict_SetItemString(space, "__builtins__", PyEval_GetBuiltins()) == 0
                         ? PyEval_EvalCode(code, space, space)
                         : NULL;
    if (done) {
        cost->loop = Py_XNewRef(PyDict_GetItemString(space, "loop"));
        cost->function = Py_XNewRef(PyDict_GetItemString(space, "call"));
    }
    Py_XDECREF(done);
    Py_XDECREF(space);
    Py_XDECREF(code);
    return cost->loop && cost->function ? 0 : -1;
}

/* ns of one call, the best of some rounds; below 0 with an exception set. */
static double time_calls(const struct fl_own_cost *cost)
{
    PyObject *times = PyTuple_New(CALLS);
    double best = 1e18;
    if (!times)
        return -1;
    for (Py_ssize_t i = 0; i < CALLS; i++)
        PyTuple_SET_ITEM(times, i, Py_NewRef(Py_None));
    for (int round = 0; round < ROUNDS && best >= 0; round++) {
        fl_ticks begin = fl_ticks_now();
        PyObject *done = PyObject_CallOneArg(cost->loop, times);
        double ns = (double)fl_ticks_to_ns(fl_ticks_now() - begin) / CALLS;
        best = !done ? -1 : ns < best ? ns : best;
        Py_XDECREF(done);
    }
    Py_DECREF(times);
    return best;
}

int fl_own_cost_begin(struct fl_own_cost *cost)
{
    *cost = (struct fl_own_cost){0};
    if (is_watched())
        return 0;
    if (make_loop(cost) == 0 && (cost->without_ns = time_calls(cost)) >= 0)
        return 0;
    fl_own_cost_drop(cost);
    return -1;
}

void fl_own_cost_drop(struct fl_own_cost *cost)
{
    Py_CLEAR(cost->loop);
    Py_CLEAR(cost->function);
}

/* An id for the code of a function of ours. It has no name, and no node outside of the session that is thrown away. */
static int give_id(PyObject *function, uint32_t line)
{
    const struct fl_function row = {.line = line, .kind = FL_FUNCTION_MADE};
    uint32_t id = fl_functions_add(&fl_engine.session->functions, &row);
    return id == 0 ? -1
                   : fl_compat_code_slot_set((PyCodeObject *)PyFunction_GetCode(function),
                                             (fl_code_word)fl_code_now << 32 | id);
}

static PyObject *on_nothing(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    (void)self, (void)args, (void)nargsf, (void)kwnames;
    Py_RETURN_NONE;
}

/* ns of what greenlet does to call a tracer, and of what the core does at a switch. Below 0 with an exception set. */
static double time_switches(struct fl_thread *thread)
{
    PyObject *tracer = fl_callback_new(on_nothing), *event = tracer ? PyUnicode_InternFromString("switch") : NULL;
    struct fl_task *tasks[2] = {atomic_load_explicit(&thread->task, memory_order_relaxed),
                                fl_task_create(thread, fl_now(thread), NULL)};
    double best_call = 1e18, best_core = 1e18;
    for (int round = 0; event && tasks[1] && round < ROUNDS; round++) {
        fl_ticks begin = fl_ticks_now();
        for (int i = 0; i < SWITCHES; i++) {
            PyObject *type, *value, *traceback;
            PyErr_Fetch(&type, &value, &traceback);
            PyObject *done = PyObject_CallFunction(tracer, "O(OO)", event, event, event);
            PyErr_Restore(type, value, traceback);
            Py_XDECREF(done);
        }
        fl_ticks middle = fl_ticks_now();
        for (int i = 0; i < SWITCHES; i++)
            fl_switch(thread, tasks[(i + 1) & 1], fl_now(thread));
        double call = (double)fl_ticks_to_ns(middle - begin) / SWITCHES;
        double core = (double)fl_ticks_to_ns(fl_ticks_now() - middle) / SWITCHES;
        best_call = call < best_call ? call : best_call;
        best_core = core < best_core ? core : best_core;
    }
    bool made = event && tasks[1];
    Py_XDECREF(event);
    Py_XDECREF(tracer);
    return made ? switch_factor * (best_call + best_core) : -1;
}

void fl_own_cost_tell(void)
{
    atomic_store(&fl_engine.session->call_cost, fl_engine.call_cost);
    atomic_store(&fl_engine.session->switch_cost, fl_engine.switch_cost);
}

/* With the calling thread's events going to `thread`. */
static int measure(const struct fl_own_cost *cost, struct fl_thread *thread)
{
    const struct fl_thread_cell before = fl_thread_cell;
    fl_thread_cell = (struct fl_thread_cell){.core = thread, .generation = fl_engine.generation};
    double with_ns = time_calls(cost), switch_ns = with_ns < 0 ? -1 : time_switches(thread);
    fl_thread_cell = before;
    if (switch_ns < 0)
        return PyErr_Occurred() ? -1 : 0;
    double call_ns = with_ns > cost->without_ns ? with_ns - cost->without_ns : 0;
    fl_engine.call_cost = (uint32_t)(call_ns * 1e3);
    fl_engine.switch_cost = (uint32_t)(switch_ns * 1e3);
    fl_own_cost_tell();
    return 0;
}

int fl_own_cost_end(struct fl_own_cost *cost)
{
    struct fl_session_options options = fl_engine.session->options;
    struct fl_session *scratch = NULL;
    int error = 0;
    if (!cost->loop)
        return 0;
    options.node_bytes = 1 << 20;
    if (give_id(cost->loop, 1) != 0 || give_id(cost->function, 2) != 0)
        PyErr_Clear();
    else if (fl_session_create(&options, &scratch) == 0) {
        fl_session_start(scratch);
        struct fl_thread *thread = fl_thread_attach(scratch, 0, 0);
        if (thread) {
            error = measure(cost, thread);
            fl_thread_detach(thread);
        }
        fl_session_end(scratch);
        fl_session_destroy(scratch);
    }
    fl_own_cost_drop(cost);
    return error;
}
