/*
 * waits.h: the call in which a parked greenlet waits: "queue.get" of `self.queue.get()`, "with lock" of `with lock:`.
 *
 * gevent's waits are compiled, so the topmost Python frame of a parked greenlet is the function that called the wait,
 * and the name of the wait stands nowhere but in that frame's bytecode, at the instruction it is parked at. Reading it
 * costs a look-up in a table by (code, instruction); the name itself is worked out once. GIL.
 */
#ifndef FL_EXT_WAITS_H
#define FL_EXT_WAITS_H

#include "compat.h"

/* The greenlet, which is parked, waits in this call: a string id, 0 where that is not known. Leaves a set exception as
 * it is. `greenlet_type`: greenlet's own type, borrowed. */
uint32_t fl_wait_of(PyObject *greenlet, PyTypeObject *greenlet_type);

/* Likewise for whatever is suspended at this instruction (byte offset) of this code. */
uint32_t fl_wait_at(PyCodeObject *code, int instruction);

/* The topmost frame of a greenlet that is parked, borrowed (the greenlet holds it). NULL: it has no Python frames, or
 * is current on its thread. No exception is left. */
PyFrameObject *fl_greenlet_top_frame(PyObject *greenlet, PyTypeObject *greenlet_type);

/* In the child of a fork: the names belong to the parent's session. */
void fl_waits_after_fork_in_child(void);

#endif
