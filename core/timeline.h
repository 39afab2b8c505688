/*
 * timeline.h: who had a thread when: its last slices, long or short, in memory that does not grow.
 *
 * A ring of FL_TIMELINE rows (128 KiB), made at a thread's first switch. A slice begins where the row before it ends.
 * A row with task 0 is no slice: from its end on the rows are those of the thread whose id stands in `node`.
 *
 * Owner: fills the row at `written` % FL_TIMELINE, then raises `written` (release); a few plain stores. Readers: copy
 * rows, then read `written` again; what may have been overwritten meanwhile is lost.
 */
#ifndef FL_TIMELINE_H
#define FL_TIMELINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "node.h"

#define FL_TIMELINE 4096u /* a power of two */

struct fl_timeline {
    _Alignas(64) _Atomic uint64_t written; /* rows ever */
    struct fl__timeline_row {
        _Alignas(32) _Atomic fl_ticks end; /* trace time */
        _Atomic fl_ticks blocked, idle;    /* of the slice, off the processor */
        _Atomic uint32_t task, node;       /* task id; node at the end */
    } rows[FL_TIMELINE];
};
_Static_assert(sizeof(struct fl__timeline_row) == 32, "two rows fill a cache line");

/* A row as a reader gets it. */
struct fl_timeline_view {
    fl_ticks end, blocked, idle;
    uint32_t task, node;
};

/* Empty; NULL where memory is at its end. Freed with free(). Its pages are touched only as they are used. */
struct fl_timeline *fl_timeline_create(void);

/* Owner thread. Release on each word: a reader that sees one of them also sees `written` as it was set before them. */
static inline void fl_timeline_add(struct fl_timeline *timeline, const struct fl_timeline_view *view)
{
    uint64_t written = atomic_load_explicit(&timeline->written, memory_order_relaxed);
    struct fl__timeline_row *row = &timeline->rows[written % FL_TIMELINE];
    atomic_store_explicit(&row->end, view->end, memory_order_release);
    atomic_store_explicit(&row->blocked, view->blocked, memory_order_release);
    atomic_store_explicit(&row->idle, view->idle, memory_order_release);
    atomic_store_explicit(&row->task, view->task, memory_order_release);
    atomic_store_explicit(&row->node, view->node, memory_order_release);
    atomic_store_explicit(&timeline->written, written + 1, memory_order_release);
}

/* Any thread: row number `index` (0 is the first ever). False: not there yet, or overwritten. */
bool fl_timeline_get(const struct fl_timeline *timeline, uint64_t index, struct fl_timeline_view *view);

#endif
