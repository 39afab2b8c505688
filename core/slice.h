/*
 * slice.h: the long slices of one thread in memory that does not grow: the newest, the longest, and sums by function.
 *
 * Owner: fills the row at `written` % FL_SLICES, then the longest and the sums inside `version` (odd while it does),
 * then raises `written` (release). Readers: copy the rows they have not seen, then read `written` again; a row that may
 * have been overwritten meanwhile is dropped and counted as lost, unless it is among the longest. Those and the sums
 * are read in one even version.
 */
#ifndef FL_SLICE_H
#define FL_SLICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "node.h"

#define FL_SLICES  64u /* newest */
#define FL_LONGEST 32u /* longest */
#define FL_HOLDS   64u /* functions with sums of their own, by place in a hash table; a power of two */

/* Times in ticks of trace time. */
struct fl_slice {
    uint64_t number; /* of this slot's long slices, from 0 */
    uint32_t thread, task, group;
    fl_node_id node;         /* where most of it was spent, as far as the thread itself can tell */
    fl_function_id function; /* of that node; the group's entry function for a root */
    bool sure;               /* one interval without any event made up at least half of the slice, in `node` */
    bool of_hub;             /* the thread had a hub when it began: it held that up */
    fl_ticks begin, end, blocked, idle;
};

/* Long slices of one function on one thread since it had a hub. */
struct fl_hold {
    fl_function_id function; /* 0: all those that found no place of their own */
    uint64_t count;
    fl_ticks cpu, blocked, longest; /* longest: cpu + blocked of a single slice */
};

struct fl__slice_row {
    _Atomic uint64_t number;
    _Atomic uint32_t thread, task, group, node, function, flags;
    _Atomic fl_ticks begin, end, blocked, idle;
};

struct fl__hold_row {
    _Atomic uint32_t function;
    _Atomic uint64_t count;
    _Atomic fl_ticks cpu, blocked, longest;
};

struct fl_slices {
    _Atomic uint64_t written; /* slices ever recorded */
    struct fl__slice_row rows[FL_SLICES];

    _Alignas(64) _Atomic uint64_t version; /* of what follows */
    struct fl__slice_row longest[FL_LONGEST];
    struct fl__hold_row holds[FL_HOLDS], others;
    _Atomic uint32_t longest_count;
    _Atomic uint64_t counted; /* slices that are in `longest` and `holds` where they belong */
    uint32_t least;           /* owner: the shortest of `longest` */
    uint32_t filled;          /* owner: places taken in `holds` */
};

/* Reader: the longest, and the sums, in one even version. */
struct fl_slices_kept {
    uint64_t counted; /* they are of the slices 0 to counted - 1 of this slot */
    struct fl_slice longest[FL_LONGEST];
    struct fl_hold holds[FL_HOLDS + 1];
    uint32_t longest_count, hold_count;
};

/* Owner thread. Sets the slice's number. */
void fl_slices_add(struct fl_slices *slices, const struct fl_slice *slice);

/* Owner thread: another thread begins in this slot; sums are of one thread only. */
void fl_slices_begin(struct fl_slices *slices);

/* Any thread: slice number `index` (0 is the first ever). False: not there yet, or overwritten. */
bool fl_slices_get(const struct fl_slices *slices, uint64_t index, struct fl_slice *slice);

/* Any thread. `longest` by number. Waits as fl_thread_read() does. */
void fl_slices_read_kept(const struct fl_slices *slices, struct fl_slices_kept *kept);

#endif
