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
struct fl_task;

/* Has greenlet been imported by now? If so, every thread installs its tracer at its next event. Cheap. */
void fl_greenlets_notice(void);

/* Owner thread: installs the tracer where greenlet is known and it is not there yet, and makes the task of the current
 * greenlet current. True: that task is another than before, so the stack has to be told. */
bool fl_greenlets_install(struct fl_ext_thread *ext);

/* Takes the tracer off the calling thread, if it is ours. Other threads' tracers take themselves off at their next
 * switch: greenlet allows nobody else to. */
void fl_greenlets_remove_here(void);

/* greenlet.greenlet, borrowed; NULL until it is noticed. */
PyTypeObject *fl_greenlets_type(void);

/* Lets greenlet bury what other threads have dropped: that runs code of the program, which must not happen later in a
 * start or stop. */
void fl_greenlets_bury(void);

/* Started, and not ended. */
bool fl_greenlet_is_active(PyObject *greenlet);

/* gevent's hub, which polls in C; others' are polls.h's. */
bool fl_greenlet_is_hub(PyObject *greenlet);

/* The first words of greenlet's own part of the object, behind the documented ones; NULL where there is none. Among
 * them are the bounds of its C stack. */
enum { FL_GREENLET_WORDS = 16 };
const uintptr_t *fl_greenlet_words(PyObject *greenlet);

/* The main greenlet of its thread, borrowed: the end of its line of parents. */
PyObject *fl_greenlet_main_of(PyObject *greenlet);

/*
 * All below: by the owner thread, or by another one on its behalf (other.h).
 */

/* The main greenlet that belongs to this thread, as far as known, borrowed and only compared; NULL. */
PyObject *fl_greenlets_main(const struct fl_ext_thread *ext);

/* That greenlet is the main one of this thread: what its own stack is. False where memory is at its end. */
bool fl_greenlets_set_main(struct fl_ext_thread *ext, PyObject *greenlet);

/* The task of this greenlet of the thread, a new one where there is none; NULL where memory is at its end. */
struct fl_task *fl_greenlets_task(struct fl_ext_thread *ext, PyObject *greenlet);

/*
 * While profiling is off nothing tells of deaths, and addresses are used again. So at a stop a weak reference to each
 * greenlet that lives is kept, one by one, and the others' tasks are ended; at the next start the tasks of those that
 * died meanwhile are.
 */
void fl_greenlets_keep(struct fl_ext_thread *ext, PyObject *greenlet);
void fl_greenlets_end_others(struct fl_ext_thread *ext);
void fl_greenlets_end_dead(struct fl_ext_thread *ext);

/* Gives up the references of threads that have ended meanwhile. */
void fl_greenlets_forget_ended(void);

/* Owner thread, at its end, without the GIL. */
void fl_greenlets_destroy(struct fl_greenlets *greenlets);

/* Makes the tracer's type. Once per process. 0, or -1 with an exception set. */
int fl_greenlets_init(void);

#endif
