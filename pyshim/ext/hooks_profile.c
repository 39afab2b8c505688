#include "hooks.h"

#if !FL_HAVE_MONITORING

#define Py_BUILD_CORE 1
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE
#include <opcode.h>

#include "event.h"
#include "functions.h"
#include "threads.h"

static bool with_builtins;

/* The newest thread state that was given our function: thread states are added at the head of the interpreter's list, so
 * a head that differs is a thread without it. The id tells an address that was used again. */
static struct {
    PyThreadState *state;
    uint64_t id;
} newest;

static int on_event(PyObject *self, PyFrameObject *frame, int what, PyObject *arg);

/*
 * A generator that goes on is announced as a call too. It is one only when the instruction is the RESUME at the
 * function's start, whose argument is 0; after a yield it is 1 to 3, and a throw arrives at the yield itself.
 */
static bool is_call(const _PyInterpreterFrame *frame)
{
    const _Py_CODEUNIT at = *frame->prev_instr;
    return (_Py_OPCODE(at) == RESUME || _Py_OPCODE(at) == RESUME_QUICK) && _Py_OPARG(at) == 0;
}

static void hook_new_threads(void)
{
    PyInterpreterState *interpreter = PyInterpreterState_Main();
    PyThreadState *head = PyInterpreterState_ThreadHead(interpreter);
    for (PyThreadState *state = head; state; state = PyThreadState_Next(state)) {
        if (state == newest.state && state->id == newest.id)
            break;
        if (state->c_profilefunc == NULL)
            (void)_PyEval_SetProfile(state, on_event, NULL);
        else if (state->c_profilefunc == on_event)
            continue;
    }
    newest.state = head;
    newest.id = head ? head->id : 0;
}

static void enter(const _PyInterpreterFrame *frame)
{
    struct fl_thread *thread = fl_thread_here(FL_SEED_BELOW);
    if (__builtin_expect(!thread, 0))
        return;
    uint32_t function = fl_function_of(frame->f_code);
    if (__builtin_expect(function != 0, 1))
        fl_enter(thread, function, is_call(frame), fl_now(thread));
    PyThreadState *head = PyInterpreterState_ThreadHead(PyInterpreterState_Main());
    if (__builtin_expect(head != newest.state || head->id != newest.id, 0))
        hook_new_threads();
}

/* Here: the node on top is that of a C function whose end was never told. At most one per Python frame. */
static inline void drop_c_entry(struct fl_thread *thread, fl_ticks now)
{
    struct fl_node *node = atomic_load_explicit(&thread->node, memory_order_relaxed);
    if (fl_function_is_c(node->function))
        fl_leave(thread, node->function, now);
}

static void leave(const _PyInterpreterFrame *frame)
{
    struct fl_thread *thread = fl_thread_here(FL_SEED_ALL);
    if (__builtin_expect(!thread, 0))
        return;
    uint32_t function = fl_function_of(frame->f_code);
    if (__builtin_expect(function == 0, 0))
        return;
    fl_ticks now = fl_now(thread);
    if (__builtin_expect(with_builtins, 0))
        drop_c_entry(thread, now);
    fl_leave(thread, function, now);
}

static void c_call(const _PyInterpreterFrame *frame, PyObject *callable)
{
    struct fl_thread *thread = with_builtins ? fl_thread_here(FL_SEED_ALL) : NULL;
    if (!thread || fl_function_of(frame->f_code) == 0)
        return;
    uint32_t function = fl_function_of_callable(callable);
    fl_ticks now = fl_now(thread);
    drop_c_entry(thread, now);
    if (function)
        fl_enter(thread, function, true, now);
}

static int on_event(PyObject *self, PyFrameObject *frame, int what, PyObject *arg)
{
    (void)self;
    if (__builtin_expect(!fl_engine.running, 0))
        return 0;
    switch (what) {
    case PyTrace_CALL:
        enter(frame->f_frame);
        break;
    case PyTrace_RETURN:
        leave(frame->f_frame);
        break;
    case PyTrace_C_CALL:
        c_call(frame->f_frame, arg);
        break;
    case PyTrace_C_RETURN:
    case PyTrace_C_EXCEPTION: {
        struct fl_thread *thread = with_builtins ? fl_thread_here(FL_SEED_ALL) : NULL;
        if (thread)
            drop_c_entry(thread, fl_now(thread));
        break;
    }
    default:
        break;
    }
    return 0;
}

int fl_hooks_init(void)
{
    return 0;
}

int fl_hooks_install(bool builtins)
{
    with_builtins = builtins;
    newest.state = NULL;
    /* With a NULL object sys.getprofile() stays None, which gevent's thread pool and others look at. */
    hook_new_threads();
    return 0;
}

int fl_hooks_remove(void)
{
    PyThreadState *state = PyInterpreterState_ThreadHead(PyInterpreterState_Main());
    for (; state; state = PyThreadState_Next(state))
        if (state->c_profilefunc == on_event)
            (void)_PyEval_SetProfile(state, NULL, NULL);
    newest.state = NULL;
    return 0;
}

void fl_hooks_wake(PyCodeObject *code)
{
    (void)code; /* the profile function belongs to the thread, whatever the frame */
}

#endif
