/*
 * lock_waits.h: who waits for the global lock, where, and who holds it meanwhile, there.
 *
 * A thread that is current and off the processor may wait for its turn, which is no fault of what it runs. No event
 * tells, so the reader asks at each of its looks (fl_shadow_watch(), 20 to 50 ms apart); a look stands for the time
 * since the last one, and one that cannot tell is counted as the next one that can. The sums belong to the session:
 * whoever reads it later, they are there. Empty where nobody looks, or the embedder gave no way to see the lock
 * (global_lock.h).
 */
#ifndef FL_LOCK_WAITS_H
#define FL_LOCK_WAITS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "node.h"

struct fl_session;

#define FL_LOCK_WAITS  256u /* rows; what finds no room goes to the row of its thread with task 0, or is not told */
#define FL_LOCK_LOOKS  16u  /* latest places that a row remembers */
#define FL_LOCK_SLICES 256u /* latest slices that were seen to wait */

/* One task that waited while one thread held the lock. Ids as on the wire; holder 0: a thread that is not profiled. */
struct fl_lock_wait_row {
    uint32_t thread, task, holder;
    uint64_t looks; /* that saw it wait */
    fl_ticks waited;
    fl_node_id nodes[FL_LOCK_LOOKS];        /* ring by looks: where it waited */
    fl_node_id holder_nodes[FL_LOCK_LOOKS]; /* where the holder was */
};

/* What the looks into one slice saw. */
struct fl_lock_slice {
    uint32_t index;         /* of its thread */
    fl_ticks begin, waited; /* waited 0: nothing */
    uint32_t holder;        /* thread id of who held it last; 0: nobody that is profiled */
    fl_node_id holder_node; /* where that was */
};

struct fl_lock_waits {
    pthread_mutex_t lock; /* readers among themselves; the program's threads never take it */
    uint32_t count;
    struct fl_lock_wait_row rows[FL_LOCK_WAITS];
    uint64_t slice_count;                        /* ever */
    struct fl_lock_slice slices[FL_LOCK_SLICES]; /* ring */
};

/* The one who looks: once for a session, one thread. */
struct fl_lock_watch;

/* NULL where memory is at its end. */
struct fl_lock_watch *fl_lock_watch_create(struct fl_session *session);
void fl_lock_watch_destroy(struct fl_lock_watch *watch);

/* Looks at each thread once; asks for at most some of those that wait, in turn. No-op while stopped. */
void fl_lock_watch_look(struct fl_lock_watch *watch);

/* Any reader: what was seen of the slice of thread `index` that began at `begin`; waited 0: nothing. */
struct fl_lock_slice fl_lock_waits_slice(struct fl_lock_waits *waits, uint32_t index, fl_ticks begin);

/* Thread id of who held the lock at the last look, while thread `index` waited for it; 0: it did not. `known`: that
 * thread is profiled, or the answer is 0 for another reason. `watch` may be NULL. */
bool fl_lock_watch_waits(const struct fl_lock_watch *watch, uint32_t index, uint32_t *holder);

#endif
