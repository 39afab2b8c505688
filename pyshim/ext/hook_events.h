/*
 * hook_events.h: what an interpreter event means to the core, whichever source it comes from. The hot path; GIL.
 *
 * A generator or coroutine that goes on is no call: its function counts one call where it is entered first. It is on
 * the stack, below whoever resumes it, from there to its next yield; so its times are those from its first entry to its
 * last exit without the times in between. One that is thrown into shows with those that wait for it (throws.h), and one
 * that is closed or collected with what it does then, if anything.
 *
 * C functions are entered and left only when they were asked for (fl_engine.builtins). An event that should end one
 * does not always come, so there is at most one such entry per Python frame, and whatever happens in that frame ends
 * it.
 */
#ifndef FL_EXT_HOOK_EVENTS_H
#define FL_EXT_HOOK_EVENTS_H

#include "asyncio.h"
#include "engine.h"
#include "event.h"
#include "functions.h"
#include "threads.h"
#include "throws.h"

/* For code that is not plain (functions.h); and a throw into any. */
void fl_hook_enter_other(struct fl_thread *thread, PyCodeObject *code, enum fl_entry entry);
void fl_hook_leave_other(struct fl_thread *thread, PyCodeObject *code);
void fl_hook_yield_other(struct fl_thread *thread, PyCodeObject *code, int instruction, const PyObject *value);

/* Something happens in a frame of this function. What is on top of it can only be a C function that it called: that has
 * ended. */
static inline void fl_hook_drop_c_entry(struct fl_thread *thread, uint32_t function, fl_ticks now)
{
    const struct fl_node *node = atomic_load_explicit(&thread->node, memory_order_relaxed);
    if (node->function != function && fl_function_is_c(node->function))
        fl_leave(thread, node->function, now);
}

/* A frame of this code begins, or (is_call false) goes on after a yield. */
static inline void fl_hook_enter(PyCodeObject *code, bool is_call)
{
    struct fl_thread *thread = fl_thread_here(FL_SEED_BELOW);
    if (__builtin_expect(!thread, 0))
        return;
    fl_code_word word = fl_compat_code_slot_get(code);
    if (__builtin_expect(fl_code_is_plain(word), 1))
        fl_enter(thread, (uint32_t)word, is_call, fl_now(thread));
    else
        fl_hook_enter_other(thread, code, is_call ? FL_ENTRY_CALL : FL_ENTRY_RESUME);
}

/* A suspended frame of this code, which may not even have begun, is thrown into. */
static inline void fl_hook_throw(PyCodeObject *code)
{
    struct fl_thread *thread = fl_thread_here(FL_SEED_BELOW);
    if (thread)
        fl_hook_enter_other(thread, code, FL_ENTRY_THROW);
}

static inline void fl_hook_leave_plain(struct fl_thread *thread, fl_code_word word)
{
    fl_ticks now = fl_now(thread);
    if (__builtin_expect(fl_engine.builtins, 0))
        fl_hook_drop_c_entry(thread, (uint32_t)word, now);
    fl_leave(thread, (uint32_t)word, now);
}

/* A frame of this code returns or is unwound. */
static inline void fl_hook_leave(PyCodeObject *code)
{
    struct fl_thread *thread = fl_thread_here(FL_SEED_ALL);
    if (__builtin_expect(!thread, 0))
        return;
    fl_code_word word = fl_compat_code_slot_get(code);
#if FL_HAVE_MONITORING
    if (__builtin_expect(fl_code_is_plain(word), 1))
#else
    if (__builtin_expect(fl_code_is_plain(word) && fl_throws_open == 0, 1))
#endif
        fl_hook_leave_plain(thread, word);
    else
        fl_hook_leave_other(thread, code);
}

/* A frame of this code yields. Returns the thread where there is more to do, by fl_hook_yield_other(). */
static inline struct fl_thread *fl_hook_yield(PyCodeObject *code)
{
    struct fl_thread *thread = fl_thread_here(FL_SEED_ALL);
    if (__builtin_expect(!thread, 0))
        return NULL;
    fl_code_word word = fl_compat_code_slot_get(code);
    if (__builtin_expect(!fl_code_is_plain(word) || fl_throws_open != 0, 0))
        return thread;
    fl_hook_leave_plain(thread, word);
    return NULL;
}

/* A frame of this code calls something; only C callables are entered here, Python code tells of itself. */
static inline void fl_hook_c_call(PyCodeObject *code, PyObject *callable)
{
    struct fl_thread *thread = fl_thread_here(FL_SEED_ALL);
    uint32_t caller = thread ? fl_function_of(code) : 0;
    if (caller == 0)
        return;
    uint32_t function = fl_function_of_callable(callable);
    fl_ticks now = fl_now(thread);
    fl_hook_drop_c_entry(thread, caller, now);
    if (function)
        fl_enter(thread, function, true, now);
}

/* What a frame of this code called returns or raises. The event may name another object than its call did, so it is
 * matched by depth. */
static inline void fl_hook_c_leave(PyCodeObject *code)
{
    struct fl_thread *thread = fl_thread_here(FL_SEED_ALL);
    uint32_t caller = thread ? fl_function_of(code) : 0;
    /* Code that is not shown has no C functions either: what is on top was called by another frame. */
    if (caller != 0)
        fl_hook_drop_c_entry(thread, caller, fl_now(thread));
}

#endif
