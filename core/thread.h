/*
 * thread.h: an OS thread, the only writer of its own data, and where it is now.
 *
 * The problem. A thread adds elapsed time to its current node at each event. Between two events the time since the last
 * one belongs to the current node too, but is written nowhere yet. A reader that adds up all nodes while the thread
 * moves on would miss that time or count it twice, by whole slices, if it read node times, current node and last event
 * independently.
 *
 * The owner, at each event: makes `version` odd, writes the node's times, the new current node and the event's time
 * (and at a switch the task and its slice), makes `version` even.
 *
 * A reader: fl_thread_read() before it scans the nodes and again after, each in one even version; then it takes the
 * times of the first current node once more. What the owner did during the scan can now be off only by what happened
 * during the scan: the sum of all nodes plus (now - since) is the thread's wall time within the duration of the scan.
 *
 * But for one case: an event that was stamped before the scan and is published during it, because the owner lost its
 * processor in between. Then a whole interval can begin and end unseen. So the reader checks the sum, and where it is
 * off by more than the scan took, it scans again: `before` + since - begin is what the nodes must add up to, exactly.
 *
 * All shared words are atomics and there are no fences: ThreadSanitizer does not follow fences, and on x86-64 and arm64
 * these loads and stores cost what plain ones do.
 */
#ifndef FL_THREAD_H
#define FL_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "cpu_clock.h"
#include "node.h"
#include "slice.h"
#include "task.h"
#include "timeline.h"

struct fl_session;

/* "Owner" is this OS thread, or another one that writes on its behalf for a moment (other.h). */

enum fl_thread_state { FL_THREAD_FREE, FL_THREAD_LIVES, FL_THREAD_ENDED };

struct fl_thread {
    /* Where it is. Written at each event by the owner, read by everybody: one cache line. */
    _Alignas(64) _Atomic uint64_t version; /* odd: the owner is in the middle of a move */
    _Atomic fl_ticks since;                /* trace time of the last event */
    _Atomic(struct fl_node *) node;        /* current node */
    _Atomic(struct fl_task *) task;        /* current task */
    _Atomic fl_ticks blocked, idle;        /* totals; cpu is wall - blocked - idle */
    _Atomic fl_ticks slice;                /* trace time of the last switch */
    _Atomic uint64_t epoch;                /* session's epoch of the last event */

    /* The owner's, at each event too. */
    struct fl_cpu_clock cpu; /* sync_* are read by others, inside the version */
    struct fl_session *session;
    uint32_t overflow; /* of the current task */
    uint32_t below;    /* frames below what is shown, on purpose: their ends are not unmatched */
    uint32_t index;    /* in the session's threads */

    /* Written at switches and slow events, inside the version. */
    _Alignas(64) _Atomic fl_ticks slice_blocked, slice_idle; /* `blocked`, `idle` as they were when the slice began */
    _Atomic uint64_t stop_cpu;                               /* its CPU time when the session was stopped; ns */
    _Atomic uint64_t excluded_cpu; /* CPU time while stopped that sync_cpu does not know of yet; ns */
    fl_ticks longest_interval;     /* owner: of this slice, where no event came in between */
    struct fl_node *longest_node;  /* owner: and where that was */
    fl_ticks hub_since;            /* owner: trace time at which the thread was known to have a hub */

    /* Identity. Changes only when an ended thread's slot is taken over, inside the version. */
    _Atomic uint32_t id;         /* counts up from 1 */
    _Atomic uint32_t tid;        /* of the system */
    _Atomic uint32_t name;       /* string id */
    _Atomic uint32_t state;      /* enum fl_thread_state */
    _Atomic uint32_t hub;        /* task id of its hub, 0 where none is known */
    _Atomic fl_ticks begin, end; /* trace time; end 0 while it lives */
    _Atomic fl_ticks before;     /* own times in the slot's nodes from threads that had it before */

    /* Counts of what was shed; see session.h. */
    _Atomic uint64_t lost_events, lost_tasks, unmatched, displaced;
    _Atomic uint64_t resumes; /* generators and coroutines that went on: events that are in no node's calls */

    struct fl_slices slices;
    struct fl_own_trees own_trees;
    _Atomic(struct fl_timeline *) timeline; /* NULL until the first switch */

    /* Owner only. */
    struct fl_node_maker maker;
    struct fl_tree *trees;      /* linked by next, newest first */
    struct fl_tree *no_group;   /* that of group 0, where tasks begin */
    struct fl_tree *free_trees; /* rows of the chunk taken last */
    uint32_t free_tree_count;
    struct fl_task *main; /* the thread's own stack */
    struct fl_task *free_tasks;
    struct fl_task *ended_first, *ended_last; /* queue, oldest first */
    uint32_t ended_count;
};

/* What a reader saw in one even version. Times in ticks of trace time. */
struct fl_thread_view {
    uint32_t id, tid, name, state, hub;
    fl_ticks begin, end;
    fl_ticks since, slice;
    fl_ticks nodes_own; /* what the own times of all nodes of the slot add up to */
    const struct fl_node *node;
    fl_node_id node_id;                    /* in the group's tree */
    fl_ticks own, node_blocked, node_idle; /* of `node`, or of the node that was asked for */
    const struct fl_task *task;
    fl_ticks blocked, idle;             /* totals up to `since` */
    fl_ticks slice_blocked, slice_idle; /* of this slice, up to `since` */
    fl_ticks sync_ticks;
    uint64_t sync_cpu; /* ns; with the CPU time while stopped added */
    int64_t carry;     /* ticks; cpu_clock.h */
    bool in_poll;      /* the current task is the hub, in its poll */
};

/*
 * Any thread, as a reader that is in a look (readers.h) where there may be own trees. `also`: take own, node_blocked
 * and node_idle of this node instead of the current one; NULL for current. Spins while the owner is in a move (tens of
 * nanoseconds; it yields when the owner was preempted there); the owner never waits for a reader.
 */
void fl_thread_read(const struct fl_thread *thread, const struct fl_node *also, struct fl_thread_view *view);

/* The open interval of a view: what was on the processor and what was not, since the last event up to `now`. Ticks. */
struct fl_open {
    fl_ticks cpu, blocked, idle;
};

/* Any thread: asks the kernel for the CPU time of that thread. `now` is trace time. */
struct fl_open fl_thread_open(const struct fl_thread *thread, const struct fl_thread_view *view, fl_ticks now);

/*
 * Attaches the calling thread to the session and makes its first task (its own stack). Returns NULL where memory is at
 * its end or the session has no room; the thread is then not profiled, and that is counted. `name`: string id.
 */
struct fl_thread *fl_thread_attach(struct fl_session *session, uint32_t tid, uint32_t name);

/* Owner thread, the last thing it does with it: ends its tasks. The nodes stay. */
void fl_thread_detach(struct fl_thread *thread);

/* Owner thread: a new task, parked, its life beginning `now`. NULL where memory is at its end (counted). `key` is the
 * embedder's. */
struct fl_task *fl_task_create(struct fl_thread *thread, fl_ticks now, void *key);

/* Owner thread: the task, which is not current, has ended. Its row stays for a while. */
void fl_task_end(struct fl_thread *thread, struct fl_task *task, fl_ticks now);

/*
 * Owner thread: the current task enters its first function, which decides its group. Returns the root where it goes on,
 * or NULL where memory is at its end (it stays in group 0).
 */
struct fl_node *fl__task_join_group(struct fl_thread *thread, struct fl_task *task, fl_function_id entry);

/* Owner thread: the thread's tree of this group, made where there is none; NULL where memory is at its end. */
struct fl_tree *fl__tree_of_group(struct fl_thread *thread, uint32_t group);

/* Owner thread: this task runs its thread's event loop. */
void fl_task_set_hub(struct fl_thread *thread, struct fl_task *task);

/* Owner thread: likewise; its poll is not its entry function but this node, to which it may come from a stack that is
 * no loop's. May be called again, with another node. */
void fl_task_set_poll(struct fl_thread *thread, struct fl_task *task, const struct fl_node *poll);

/* Owner thread: string ids. */
void fl_task_set_name(struct fl_task *task, uint32_t name);
void fl_task_set_wait(struct fl_task *task, uint32_t wait);

#endif
