/*
 * greenlets.h: greenlet switches as task switches.
 *
 * greenlet calls a tracer per OS thread, after each switch, in the target. Ours is a C callable; it calls the tracer
 * that was there before it. Nothing here holds a reference to a greenlet: a task is found by the greenlet's address,
 * which is forgotten at the greenlet's last switch (its death is always one), so an address that is used again is a new
 * task. GIL for everything but destroy.
 */
#ifndef FL_EXT_GREENLETS_H
#define FL_EXT_GREENLETS_H

#include "compat.h"

struct fl_ext_thread;
struct fl_greenlets;

/* Has greenlet been imported by now? If so, every thread installs its tracer at its next event. Cheap. */
void fl_greenlets_notice(void);

/* Owner thread: installs the tracer where greenlet is known and it is not there yet, and makes the task of the current
 * greenlet current. True: that task is another than before, so the stack has to be told. */
bool fl_greenlets_install(struct fl_ext_thread *ext);

/* Takes the tracer off the calling thread, if it is ours. Other threads' tracers take themselves off at their next
 * switch: greenlet allows nobody else to. */
void fl_greenlets_remove_here(void);

/* Owner thread, at its end, without the GIL. */
void fl_greenlets_destroy(struct fl_greenlets *greenlets);

/* Makes the tracer's type. Once per process. 0, or -1 with an exception set. */
int fl_greenlets_init(void);

#endif
