/*
 * session.h: everything that one profiling session of a process knows. It owns all tables; threads write into them,
 * readers (shadow.h) read while they do.
 *
 * Trace time is the trace clock minus the time in which the session was stopped. So a stop leaves no gap anywhere: what
 * was open stays open, and goes on at the next start. `epoch` counts the starts; a thread whose own epoch is older has
 * to find out where it is first (fl_session_resume()).
 */
#ifndef FL_SESSION_H
#define FL_SESSION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "function.h"
#include "intern.h"
#include "readers.h"
#include "strings.h"
#include "table.h"

struct fl_global_lock;
struct fl_lock_waits;
struct fl_thread;

enum fl_session_state { FL_SESSION_NEW, FL_SESSION_RUNNING, FL_SESSION_STOPPED, FL_SESSION_OVER };

#define FL_THREADS_MAX 4096u

/* Zero means the default. */
struct fl_session_options {
    uint64_t node_bytes;    /* memory for nodes, default 46 MiB; what finds them takes up to a third more */
    uint64_t threshold_ns;  /* slices longer than this are long, default 100 ms */
    uint32_t ended_tasks;   /* ended tasks that each thread keeps, default 1,024 */
    int task_trees;         /* enum fl_task_trees: which tasks have an own tree beside the watched ones */
    uint64_t long_lived_ns; /* tasks older than this have one, with FL_TREES_LONG; default 1 s */
    uint32_t ended_threads; /* ended threads that are kept before their slots are taken over, default 64 */
    enum fl_clock_kind clock;
    int cpu_clock;                            /* enum fl_cpu_kind */
    const struct fl_global_lock *global_lock; /* borrowed, outlives the session; NULL: there is none */
};

struct fl_session {
    struct fl_strings strings;
    struct fl_intern functions; /* function.h */
    struct fl_intern groups;
    struct fl_table nodes; /* of struct fl_node, node.h */
    struct fl_table tasks; /* of struct fl_task, task.h; each chunk belongs to one thread */
    struct fl_table trees; /* of struct fl_tree, task.h; likewise */

    _Atomic(struct fl_thread *) threads[FL_THREADS_MAX]; /* never freed before the session; slots of ended ones are
                                                            taken over */
    _Atomic uint32_t thread_count;
    _Atomic uint32_t node_count;     /* slots, those of own trees included */
    _Atomic uint32_t own_node_count; /* nodes of own trees, those that are free included */
    struct fl_readers readers;
    _Atomic uint32_t last_task_id, last_thread_id;
    _Atomic uint64_t lost_threads; /* threads that found no room */

    _Atomic uint32_t state;      /* enum fl_session_state */
    _Atomic uint64_t epoch;      /* starts so far */
    _Atomic fl_ticks paused;     /* trace clock - trace time */
    _Atomic fl_ticks stopped_at; /* trace time of the last stop */
    _Atomic bool switches;       /* greenlet switches are seen: told by the embedder, for the status */

    /* What flamelet itself costs, as the embedder measured it: picoseconds for a call with its return, or a resume with
     * its suspension; for a switch. 0: not known. */
    _Atomic uint32_t call_cost, switch_cost;

    /* Garbage collections, as the embedder tells them (fl_session_collected()); times in ticks. */
    _Atomic uint64_t collections;
    _Atomic fl_ticks collecting, longest_collection;

    fl_ticks threshold;                /* ticks */
    fl_ticks long_lived;               /* ticks */
    struct fl_lock_waits *lock_waits;  /* owned */
    struct fl_session_options options; /* defaults filled in */
    int64_t epoch_ms;                  /* Unix time at creation */

    pthread_mutex_t lock; /* guards attach, detach, start and stop against each other; never taken at an event */
};

/* What was shed; sums over all threads. All 0 in a healthy run. */
struct fl_lost {
    uint64_t events, tasks, unmatched, displaced, strings, threads;
};

/*
 * A session, stopped at trace time 0. Chooses the clocks of the process when they are not chosen yet. `options` may be
 * NULL. Returns 0, FL_ENOMEM, or FL_ESTATE where a forced clock does not exist here.
 */
int fl_session_create(const struct fl_session_options *options, struct fl_session **session);

/* No thread may be attached or reading any more. */
void fl_session_destroy(struct fl_session *session);

/* Trace time goes on. No-op when running. Any thread. */
void fl_session_start(struct fl_session *session);

/* Trace time stands still. No-op when stopped. Any thread; the embedder has switched its events off. */
void fl_session_stop(struct fl_session *session);

/* A garbage collection is over, which held its thread so long. By one thread at a time. */
void fl_session_collected(struct fl_session *session, fl_ticks pause);

/* The program has ended: stopped, and will not be started again. */
void fl_session_end(struct fl_session *session);

/*
 * Owner thread: its first event after a start. Settles what was open when the session was stopped, so that the time of
 * the stop is in no node. Where this thread's stack is now is the embedder's to tell (fl_forget_stack()).
 */
void fl_session_resume(struct fl_session *session, struct fl_thread *thread);

/* At the thread's end, lock held: settles what stops and starts it has missed. `other`: not the owner calls (other.h).
 */
void fl__session_catch_up(struct fl_session *session, struct fl_thread *thread, bool other);

/* Trace time now, also while stopped. Any thread. */
fl_ticks fl_session_now(const struct fl_session *session);

/* Any thread. */
void fl_session_lost(const struct fl_session *session, struct fl_lost *lost);

#endif
