/*
 * threads.h: which thread of the core the calling OS thread is. A word of thread-local storage answers on the hot path;
 * everything else (first event, first event after a start, greenlet just imported) is the slow way.
 */
#ifndef FL_EXT_THREADS_H
#define FL_EXT_THREADS_H

#include "compat.h"
#include "engine.h"
#include "thread.h"

struct fl_greenlets;
struct fl_asyncio;

/* Frames that were told, as no event does (throws.h): the lowest of them, how many there are, and in which task. */
struct fl_told {
    struct fl_node *node;
    uint32_t task; /* id */
    uint32_t count;
};
#define FL_TOLD_MAX 16u

/* One per OS thread; the owner's, or another's on its behalf with the GIL and the list locked. Freed at the thread's
 * end, which no Python code runs at. */
struct fl_ext_thread {
    struct fl_thread *core;
    struct fl_greenlets *greenlets;   /* NULL until greenlet is known to this thread */
    struct fl_asyncio *asyncio;       /* NULL until a coroutine ran on it */
    struct fl_told told[FL_TOLD_MAX]; /* newest last; shape: told_count */
    uint32_t told_count;
    struct fl_ext_thread *next; /* in the list of all */
    unsigned long ident;        /* Python's */
    uint64_t epoch;             /* session's, in which it last told its stack itself */
    uint32_t tid;
    uint32_t names_tried; /* how often its name was looked for in vain */
    bool named;
    bool lost_track; /* another tool has taken our switch tracer, or our events, away for a while */
    bool adopted;    /* the thread itself has had an event; else another one made this (other.h) */
};

struct fl_thread_cell {
    struct fl_thread *core; /* NULL: events of this thread are ignored */
    uint64_t generation;    /* fl_engine.generation when `core` was last known to be right */
    struct fl_ext_thread *ext;
};

/* initial-exec: a load relative to the thread pointer instead of a function call. 24 bytes of the reserve that glibc
 * keeps for such objects. */
extern __thread struct fl_thread_cell fl_thread_cell __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* What of the Python stack is told to the core when a thread's stack is not known: nothing; all frames; all but the
 * innermost, which is just being entered and tells of itself. */
enum fl_seed { FL_SEED_NONE, FL_SEED_ALL, FL_SEED_BELOW };

/* The slow way. NULL: this thread is not profiled. GIL; leaves a set exception as it is. */
struct fl_thread *fl_thread_find(enum fl_seed seed);

/* The hot path. `seed`: for an event that enters a frame FL_SEED_BELOW, for one that leaves it FL_SEED_ALL. */
static inline struct fl_thread *fl_thread_here(enum fl_seed seed)
{
    if (__builtin_expect(fl_thread_cell.generation == fl_engine.generation, 1))
        return fl_thread_cell.core;
    return fl_thread_find(seed);
}

/* Tells the core the frames of the current Python stack, outermost first, as already entered. */
void fl_thread_seed(struct fl_thread *thread, enum fl_seed seed);

/*
 * All threads that are known, linked by next; none of them can end until fl_threads_unlock(). GIL; nothing that gives
 * it up may be called between.
 */
struct fl_ext_thread *fl_threads_lock(void);
void fl_threads_unlock(void);

/* List locked: the one with this thread state, made on its behalf where it was not seen yet. NULL where there is no
 * room. */
struct fl_ext_thread *fl_threads_other(PyThreadState *state);

/* This thread has had no events for a while, and has them again: its stacks are told at its next one. GIL. */
void fl_threads_missed_events(uint32_t tid);

/* Ends those that have gone without any event of their own. GIL. */
void fl_threads_end_gone(void);

/* The frame, borrowed and only compared, that is never shown, nor what is below it; NULL where there is none. */
const PyFrameObject *fl_threads_launcher(void);

/* Looks for the thread's Python name, if it has none yet; cheap, called when something rare happens on it. */
void fl_thread_name(struct fl_ext_thread *ext);

/* Once per process. 0, or -1 with an exception set. */
int fl_threads_init(void);

void fl_threads_after_fork_in_child(void);

#endif
