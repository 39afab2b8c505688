/*
 * hook_events.h: what an interpreter event means to the core, whichever source it comes from. The hot path; GIL.
 *
 * C functions are entered and left only when they were asked for (fl_engine.builtins). An event that should end one
 * does not always come, so there is at most one such entry per Python frame, and whatever happens in that frame ends
 * it.
 */
#ifndef FL_EXT_HOOK_EVENTS_H
#define FL_EXT_HOOK_EVENTS_H

#include "engine.h"
#include "event.h"
#include "functions.h"
#include "threads.h"

/* The node on top is that of a C function: it has ended. */
static inline void fl_hook_drop_c_entry(struct fl_thread *thread, fl_ticks now)
{
    struct fl_node *node = atomic_load_explicit(&thread->node, memory_order_relaxed);
    if (fl_function_is_c(node->function))
        fl_leave(thread, node->function, now);
}

/* A frame of this code begins, or (is_call false) goes on after a yield or is thrown into. */
static inline void fl_hook_enter(PyCodeObject *code, bool is_call)
{
    struct fl_thread *thread = fl_thread_here(FL_SEED_BELOW);
    if (__builtin_expect(!thread, 0))
        return;
    uint32_t function = fl_function_of(code);
    if (__builtin_expect(function != 0, 1))
        fl_enter(thread, function, is_call, fl_now(thread));
}

/* A frame of this code returns, yields or is unwound. */
static inline void fl_hook_leave(PyCodeObject *code)
{
    struct fl_thread *thread = fl_thread_here(FL_SEED_ALL);
    if (__builtin_expect(!thread, 0))
        return;
    uint32_t function = fl_function_of(code);
    if (__builtin_expect(function == 0, 0))
        return;
    fl_ticks now = fl_now(thread);
    if (__builtin_expect(fl_engine.builtins, 0))
        fl_hook_drop_c_entry(thread, now);
    fl_leave(thread, function, now);
}

/* A frame of this code calls something; only C callables are entered here, Python code tells of itself. */
static inline void fl_hook_c_call(PyCodeObject *code, PyObject *callable)
{
    struct fl_thread *thread = fl_thread_here(FL_SEED_ALL);
    if (!thread || fl_function_of(code) == 0)
        return;
    uint32_t function = fl_function_of_callable(callable);
    fl_ticks now = fl_now(thread);
    fl_hook_drop_c_entry(thread, now);
    if (function)
        fl_enter(thread, function, true, now);
}

/* A C callable returns or raises. Its event may name another object than its call did, so it is matched by depth. */
static inline void fl_hook_c_leave(void)
{
    struct fl_thread *thread = fl_thread_here(FL_SEED_ALL);
    if (thread)
        fl_hook_drop_c_entry(thread, fl_now(thread));
}

#endif
