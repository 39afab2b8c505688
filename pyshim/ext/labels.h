/*
 * labels.h: flamelet.label(), and which label a new task begins with. GIL for everything.
 *
 * The label of a task is kept twice: in the core (label.h) and in a context variable, so that asyncio's tasks inherit
 * it as they inherit every context, and what a label replaced can be put back. A gevent greenlet inherits that of
 * whoever spawned it, at that moment (gevent tells, once labels are used); any other greenlet that of its parent when
 * it is first switched to.
 */
#ifndef FL_EXT_LABELS_H
#define FL_EXT_LABELS_H

#include "compat.h"
#include "thread.h"

/* label(name): METH_O. A new Label, the label being set already; NULL with an exception set for a wrong argument. */
PyObject *fl_labels_set(PyObject *self, PyObject *name);

/* True once a label was set in this process: else nothing below is worth calling. */
extern bool fl_labels_used;

/* The calling thread is in the context of this task, which has not entered anything yet. `greenlet`: its address, NULL
 * for another kind of task; `parent`: the task it inherits from where nothing else is known, or NULL. Leaves a set
 * exception as it is. */
void fl_labels_begin(struct fl_task *task, const PyObject *greenlet, const struct fl_task *parent);

/* Likewise for the task that is current on the calling thread, when a session finds it in the middle. */
void fl_labels_find(struct fl_thread *thread);

/* Once per process. 0, or -1 with an exception set. */
int fl_labels_init(void);

#endif
