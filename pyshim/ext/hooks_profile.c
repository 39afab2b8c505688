#include "hooks.h"

#if !FL_HAVE_MONITORING

#define Py_BUILD_CORE 1
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE
#include <opcode.h>

#include "hook_events.h"

/* The newest thread state that was given our function: thread states are added at the head of the interpreter's list,
 * so a head that differs is a thread without it. The id tells an address that was used again. */
static struct {
    PyThreadState *state;
    uint64_t id;
} newest;

static int on_event(PyObject *self, PyFrameObject *frame, int what, PyObject *arg);

/* With a NULL object sys.getprofile() stays None, which gevent's thread pool and others look at. */
static void hook(PyThreadState *state)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (_PyEval_SetProfile(state, on_event, NULL) != 0)
        PyErr_Clear(); /* an audit hook of the program forbids it */
    PyErr_Restore(type, value, traceback);
}

/* All threads without a profile function: the new ones, and those whose own one the program has taken away. */
static void hook_threads(void)
{
    PyThreadState *head = PyInterpreterState_ThreadHead(PyInterpreterState_Main());
    for (PyThreadState *state = head; state; state = PyThreadState_Next(state)) {
        if (state->c_profilefunc != NULL)
            continue;
        hook(state);
        if (state->id <= newest.id)
            fl_threads_missed_events((uint32_t)state->native_thread_id);
    }
    newest.state = head;
    newest.id = head ? head->id : 0;
}

void fl_hooks_put_back(void)
{
    hook(PyThreadState_Get());
}

/*
 * A thread must have ours before its first call. It is made inside a C function (start_new_thread()), whose return is
 * told before the new thread can have the GIL; one that C code made shows at the next call of any thread.
 */
static inline void look_for_new_threads(void)
{
    PyThreadState *head = PyInterpreterState_ThreadHead(PyInterpreterState_Main());
    if (__builtin_expect(head != newest.state || head->id != newest.id, 0))
        hook_threads();
}

/*
 * A generator that goes on is announced as a call too. It is one only when the instruction is the RESUME at the
 * function's start, whose argument is 0; after a yield it is 1 to 3, and a throw arrives at the yield itself.
 */
static void enter(const _PyInterpreterFrame *frame)
{
    const _Py_CODEUNIT at = *frame->prev_instr;
    if (__builtin_expect(_Py_OPCODE(at) == RESUME || _Py_OPCODE(at) == RESUME_QUICK, 1))
        fl_hook_enter(frame->f_code, _Py_OPARG(at) == 0);
    else
        fl_hook_throw(frame->f_code);
    look_for_new_threads();
}

/* `value`: NULL when an exception leaves the frame, also one that was thrown in at a yield. */
static void leave(const _PyInterpreterFrame *frame, const PyObject *value)
{
    if (__builtin_expect(_Py_OPCODE(*frame->prev_instr) != YIELD_VALUE || !value, 1)) {
        fl_hook_leave(frame->f_code);
        return;
    }
    struct fl_thread *thread = fl_hook_yield(frame->f_code);
    if (thread)
        fl_hook_yield_other(thread, frame->f_code, _PyInterpreterFrame_LASTI(frame) * (int)sizeof(_Py_CODEUNIT), value);
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
        leave(frame->f_frame, arg);
        break;
    case PyTrace_C_CALL:
        if (fl_engine.builtins)
            fl_hook_c_call(frame->f_frame->f_code, arg);
        break;
    case PyTrace_C_RETURN:
    case PyTrace_C_EXCEPTION:
        if (fl_engine.builtins)
            fl_hook_c_leave(frame->f_frame->f_code);
        look_for_new_threads();
        break;
    default:
        break;
    }
    return 0;
}

int fl_hooks_init(void)
{
    return 0;
}

int fl_hooks_install(void (*wake)(void))
{
    (void)wake;
    newest.state = NULL;
    newest.id = 0;
    hook_threads();
    return 0;
}

int fl_hooks_remove(void (*wake)(void))
{
    (void)wake;
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
