/*
 * own_cost.h: what flamelet adds to a call with its return, and to a switch, measured in this process on this machine.
 *
 * A function is called in a loop before the events are switched on and after, with the real hooks, into a session of
 * its own that is thrown away. Best of some rounds; about 2 ms. Not measured where another tool watches calls: it would
 * see ours. GIL.
 */
#ifndef FL_EXT_OWN_COST_H
#define FL_EXT_OWN_COST_H

#include "compat.h"

struct fl_own_cost {
    PyObject *loop;     /* owned: calls an empty function some hundred times; NULL: not to be measured */
    PyObject *function; /* owned: that function */
    double without_ns;  /* one call without events */
};

/* The session gets the costs that were measured before: by this process, or by the one that it was forked from. */
void fl_own_cost_tell(void);

/* Before the hooks are installed. 0, or -1 with an exception set (a signal handler may raise). */
int fl_own_cost_begin(struct fl_own_cost *cost);

/* After that, events being delivered, the calling thread not attached yet: sets the costs of fl_engine.session.
 * Likewise. After a failure, too, `cost` is released. */
int fl_own_cost_end(struct fl_own_cost *cost);

/* Gives back what begin() took, without measuring. */
void fl_own_cost_drop(struct fl_own_cost *cost);

#endif
