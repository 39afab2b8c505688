/*
 * slice.h: the long slices of one thread, the newest of them, in memory that does not grow.
 *
 * Owner: fills the row at `written` % FL_SLICES, then raises `written` (release). Readers: copy the rows they have not
 * seen, then read `written` again; a row that may have been overwritten meanwhile is dropped and counted as lost.
 */
#ifndef FL_SLICE_H
#define FL_SLICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "node.h"

#define FL_SLICES 64u

/* Times in ticks of trace time. */
struct fl_slice {
    uint32_t task, group;
    fl_node_id node; /* where most of it was spent, as far as the thread itself can tell */
    bool sure;       /* one interval without any event made up at least half of the slice, in `node` */
    fl_ticks begin, end, blocked, idle;
};

struct fl_slices {
    _Atomic uint64_t written; /* slices ever recorded */
    struct fl__slice_row {
        _Atomic uint32_t task, group, node, sure;
        _Atomic fl_ticks begin, end, blocked, idle;
    } rows[FL_SLICES];
};

/* Owner thread. */
void fl_slices_add(struct fl_slices *slices, const struct fl_slice *slice);

/* Any thread: slice number `index` (0 is the first ever). False: not there yet, or overwritten. */
bool fl_slices_get(const struct fl_slices *slices, uint64_t index, struct fl_slice *slice);

#endif
