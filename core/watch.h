/*
 * watch.h: where most of a long slice was spent.
 *
 * A thread itself knows when a slice was long, and where it was if a single interval without events made up most of it
 * (a sleep, a C call). A loop that calls small functions has no such interval. So the reader looks at each thread every
 * 20 ms, remembers the nodes seen in the slice that lasts, and answers with the deepest node under which most of them
 * lie. Part of the shadow, same thread.
 */
#ifndef FL_WATCH_H
#define FL_WATCH_H

#include "session.h"
#include "thread.h"

struct fl_watch;

/* NULL where memory is at its end. */
struct fl_watch *fl_watch_create(struct fl_session *session);
void fl_watch_destroy(struct fl_watch *watch);

/* Looks at each thread once. */
void fl_watch_look(struct fl_watch *watch);

/* Of `nodes` (shape: count) the deepest node under which at least 60 % of them lie; 0: there is none. */
fl_node_id fl_deepest_of_most(struct fl_session *session, const fl_node_id *nodes, uint32_t count);

/* The deepest node under which at least 60 % of what was seen in the slice of thread `index` that began at `begin`
 * lies; 0 when that slice was not seen often enough (3 looks). */
fl_node_id fl_watch_node(const struct fl_watch *watch, uint32_t index, fl_ticks begin);

#endif
