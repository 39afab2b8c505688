/*
 * event.h: the hot path. What happens at each call, return and switch.
 *
 * All functions: owner thread of `thread`. They cannot fail, take no lock and make no system call, except where the
 * thread left the processor or was long without an event (then the kernel's CPU clock is read once), and they allocate
 * only at the first visit of a path. `now` is trace time, not before the thread's last event.
 */
#ifndef FL_EVENT_H
#define FL_EVENT_H

#include "session.h"
#include "thread.h"

/* The parts that are not worth inlining. */
void fl__move_slow(struct fl_thread *thread, struct fl_node *next, fl_ticks now);
void fl__enter_slow(struct fl_thread *thread, fl_function_id function, bool is_call, fl_ticks now);
void fl__leave_slow(struct fl_thread *thread, fl_function_id function, fl_ticks now);

/* Adds the time since the last event to the current node, the kernel being asked in any case. */
void fl__settle(struct fl_thread *thread, fl_ticks now);

/* Likewise, on behalf of the owner (other.h). */
void fl__settle_other(struct fl_thread *thread, fl_ticks now);
void fl__switch_other(struct fl_thread *thread, struct fl_task *to, fl_ticks now);

/* Inside the thread's version, everything up to `now` being settled: the current task's slice is over, it is parked. */
void fl__slice_end(struct fl_thread *thread, struct fl_task *task, fl_ticks now);

/*
 * Any thread: a task that is off the processor at this node is a hub in its poll. That is where the embedder said, else
 * its entry function; or a C function called from there, where C functions are told.
 */
static inline bool fl__in_poll(const struct fl_session *session, const struct fl_task *task, const struct fl_node *node)
{
    if (!atomic_load_explicit(&task->hub, memory_order_acquire))
        return false;
    const struct fl_node *poll = atomic_load_explicit(&task->poll, memory_order_acquire);
    if (node->up && fl_functions_get(&session->functions, node->function)->kind == FL_FUNCTION_C)
        node = node->up;
    return poll ? fl_node_in_group(node) == poll : fl_node_is_entry(node);
}

/* From `now` on the rows of the timeline, where there is one, are those of the thread that has the slot now. */
void fl__timeline_begin(struct fl_thread *thread, fl_ticks now);

/* Trace time now. */
static inline fl_ticks fl_now(const struct fl_thread *thread)
{
    return fl_ticks_now() - atomic_load_explicit(&thread->session->paused, memory_order_relaxed);
}

/* Adds the time since the last event to the current node, then makes `next` current. */
static inline void fl__move(struct fl_thread *thread, struct fl_node *next, fl_ticks now)
{
    /* Relaxed loads suffice: this thread wrote these words itself. */
    fl_ticks interval = now - atomic_load_explicit(&thread->since, memory_order_relaxed);
    if (__builtin_expect(!fl_cpu_clock_unbroken(&thread->cpu, interval), 0)) {
        fl__move_slow(thread, next, now);
        return;
    }
    struct fl_node *node = atomic_load_explicit(&thread->node, memory_order_relaxed);
    fl__write_begin(&thread->version);
    fl__add(&node->own, interval);
    atomic_store_explicit(&thread->node, next, memory_order_release);
    atomic_store_explicit(&thread->since, now, memory_order_release);
    fl__write_end(&thread->version);
}

/* `function` is entered. `is_call` false: a generator or coroutine goes on, which is no call. */
static inline void fl_enter(struct fl_thread *thread, fl_function_id function, bool is_call, fl_ticks now)
{
    struct fl_node *node = atomic_load_explicit(&thread->node, memory_order_relaxed);
    struct fl_node *child = node->last_child;
    if (__builtin_expect(child->function != function || thread->overflow, 0)) {
        fl__enter_slow(thread, function, is_call, now);
        return;
    }
    if (!is_call)
        fl__add(&thread->resumes, 1);
    /* Not inside the version: a count that is one ahead of the time does no harm. */
    atomic_store_explicit(&child->calls, atomic_load_explicit(&child->calls, memory_order_relaxed) + is_call,
                          memory_order_relaxed);
    fl__move(thread, child, now);
}

/*
 * What the current task's stack is, outermost first; shape: count. For a start in the middle: frames that were not
 * known to be there are counted as `seeded` in their nodes, not as calls. The stack that was known is forgotten.
 */
void fl_seed(struct fl_thread *thread, const fl_function_id *functions, uint32_t count, fl_ticks now);

/* Likewise for a task that is parked. Its wait up to `now` belongs to where it was thought to be. */
void fl_seed_parked(struct fl_thread *thread, struct fl_task *task, const fl_function_id *functions, uint32_t count,
                    fl_ticks now);

/* `function` is left: it returns, yields or is unwound. */
static inline void fl_leave(struct fl_thread *thread, fl_function_id function, fl_ticks now)
{
    struct fl_node *node = atomic_load_explicit(&thread->node, memory_order_relaxed);
    if (__builtin_expect(node->function != function || thread->overflow, 0)) {
        fl__leave_slow(thread, function, now);
        return;
    }
    fl__move(thread, node->up, now);
}

/*
 * Another task of the same thread becomes current: O(1), whatever the depth of the stacks. `to` must belong to this
 * thread and not have ended.
 */
void fl_switch(struct fl_thread *thread, struct fl_task *to, fl_ticks now);

/*
 * The stack of the current task is not known any more (profiling was off meanwhile): back to its tree's root. What is
 * on it now is told again by fl_enter(..., false, ...), outermost first.
 */
void fl_forget_stack(struct fl_thread *thread, fl_ticks now);

#endif
