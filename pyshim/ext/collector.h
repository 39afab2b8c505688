/*
 * collector.h: the garbage collector as a function of its own, below whom it interrupted. One node for each generation:
 * its calls are the collections, its time their pauses; what finalizers and weak references run then is below it.
 *
 * The interpreter tells of a collection through the list gc.callbacks: ours stands in it while profiling runs. GIL for
 * everything.
 */
#ifndef FL_EXT_COLLECTOR_H
#define FL_EXT_COLLECTOR_H

#include "compat.h"

/* At a start and a stop of profiling. A program that has taken the list away is left alone: then collections are the
 * time of whom they interrupt. Neither sets an exception. */
void fl_collector_begin(void);
void fl_collector_end(void);

/* In the child of a fork: no collection is known to go on. */
void fl_collector_after_fork_in_child(void);

/* Once per process. 0, or -1 with an exception set. */
int fl_collector_init(void);

#endif
