/*
 * task.h: something with a call stack of its own (a greenlet, a thread's own stack), and the sums of its group.
 *
 * A task belongs to one thread, which alone writes it, at switches only. Rows are read by others under their own
 * version (odd: being written); a parked task's row stands still, so reading it costs no retries.
 *
 * Times are closed: up to the last switch. The open part is read from the thread (thread.h) for a current task, and is
 * now - since for a parked one.
 */
#ifndef FL_TASK_H
#define FL_TASK_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "node.h"
#include "own_tree.h"

enum fl_task_state { FL_TASK_CURRENT, FL_TASK_PARKED, FL_TASK_ENDED };

#define FL_TASK_BITS   6 /* rows to a chunk: 64 */
#define FL_TASK_CHUNKS (1u << 15)
#define FL_TREE_BITS   4
#define FL_TREE_CHUNKS (1u << 14)

/* Sums of closed times, in ticks. Written by one thread; inside a version. */
struct fl_task_sums {
    _Atomic fl_ticks cpu, blocked, idle, waited, longest; /* longest: slice */
    _Atomic uint64_t switches;                            /* times switched to */
};

/*
 * The call tree of one group on one thread. Its times are the sums of its nodes, so nothing here repeats them; these
 * are the counts of all tasks that were ever in it. One writer, each word by itself.
 */
struct fl_tree {
    _Atomic uint32_t published; /* 1 once group and root are right */
    uint32_t group;
    struct fl_node *root;
    _Atomic uint64_t started, ended, switches;
    _Atomic fl_ticks longest; /* slice */
    struct fl_tree *next;     /* owner: the thread's next tree */
};

struct fl_task {
    _Alignas(64) _Atomic uint64_t version;
    _Atomic uint32_t id;     /* counts up over the process, never reused; 0: this row is free */
    _Atomic uint32_t thread; /* index of its thread */
    _Atomic uint32_t state;  /* enum fl_task_state */
    _Atomic uint32_t group;
    _Atomic uint32_t name, wait; /* string ids */
    _Atomic fl_node_id node;     /* where it was at its last switch out */
    _Atomic uint32_t hub;        /* 1: it runs its thread's event loop: idle in its poll (event.h) */
    /* A hub's: where it polls, in the group's tree. NULL: in its entry function. Only compared. */
    _Atomic(const struct fl_node *) poll;
    _Atomic fl_ticks begin; /* trace time at which its life began */
    _Atomic fl_ticks since; /* trace time at which its state began */
    struct fl_task_sums sums;
    _Atomic fl_ticks own_at; /* its first switch in from this trace time on begins an own tree; also set by watchers */

    /* Owner only. */
    struct fl_node *at;      /* where it goes on */
    struct fl_tree *tree;    /* of its group: its counts, and its time where it has no own tree */
    struct fl_tree *home;    /* of the group in which it began: differs from `tree` while it has another label */
    struct fl_own_tree *own; /* or NULL */
    struct fl_task *next;    /* free list, or the queue of ended tasks */
    struct fl_task *inner;   /* the embedder's: the task that runs on top of this one's stack, or NULL */
    void *key;               /* the embedder's: which greenlet this is */
    uint32_t label;          /* string id, 0: none (label.h) */
    uint32_t overflow;       /* calls deeper than memory allowed, not in the tree */
    uint32_t seeded_epoch;   /* the embedder's: session's epoch in which its stack was last told */
};

/* One consistent row, as a reader gets it. Times in ticks. */
struct fl_task_view {
    uint32_t id, thread, state, group, name, wait, node, hub;
    fl_ticks begin, since;
    fl_ticks cpu, blocked, idle, waited, longest;
    uint64_t switches;
};

/* Owner: where its stack begins. */
static inline struct fl_node *fl__task_root(const struct fl_task *task)
{
    return task->own ? task->own->root : task->tree->root;
}

/* Any thread: somebody wants to see this task alone. It gets an own tree at its next switch in. False: no such task. */
bool fl_task_watch(struct fl_task *task, uint32_t id);

/* Any thread. False: the row is free. Waits as fl_thread_read() does. */
bool fl_task_read(const struct fl_task *task, struct fl_task_view *view);

/* Owner: brackets around writes to a row. Whoever sees one of the release stores between also sees the odd version. */
static inline void fl__write_begin(_Atomic uint64_t *version)
{
    atomic_store_explicit(version, atomic_load_explicit(version, memory_order_relaxed) + 1, memory_order_relaxed);
}

static inline void fl__write_end(_Atomic uint64_t *version)
{
    atomic_store_explicit(version, atomic_load_explicit(version, memory_order_relaxed) + 1, memory_order_release);
}

/* Reader, between two tries: the owner is inside for some tens of nanoseconds, unless it was preempted there; then it
 * may need this processor. */
static inline void fl__read_again(unsigned *tries)
{
    if (++*tries % 200 == 0)
        sched_yield();
}

/* Owner: one writer, so load, add, store; never an atomic read-modify-write. */
static inline void fl__add(_Atomic uint64_t *word, uint64_t amount)
{
    atomic_store_explicit(word, atomic_load_explicit(word, memory_order_relaxed) + amount, memory_order_release);
}

#endif
