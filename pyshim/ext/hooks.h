/*
 * hooks.h: interpreter events as core events. Two sources: sys.monitoring from 3.12 on (hooks_monitoring.c), the
 * profile function before it (hooks_profile.c); one of the two is compiled. GIL.
 */
#ifndef FL_EXT_HOOKS_H
#define FL_EXT_HOOKS_H

#include "compat.h"

/* Makes the callables. Once per process. 0, or -1 with an exception set. */
int fl_hooks_init(void);

/*
 * All threads, also those started later; C functions as fl_engine.builtins says. 0, or -1 with an exception set and
 * nothing installed. `wake` calls fl_hooks_wake() for the code of each parked frame; it is called once or twice, and
 * from its first call on nothing of the program runs.
 */
int fl_hooks_install(void (*wake)(void));

/* 0, or -1 with an exception set; no event arrives afterwards in either case. `wake`: as above; NULL: nothing is
 * parked.
 */
int fl_hooks_remove(void (*wake)(void));

/*
 * Frames of this code that are parked in a greenlet deliver the events that are switched on at this moment, and no
 * others: since 3.12 switching events on or off reaches only the frames that a thread is running. Makes the difference
 * between a parked frame and code that was never instrumented: 3.15.2 crashes where an exception leaves a frame that
 * was parked when events were switched on and was not woken before.
 */
void fl_hooks_wake(PyCodeObject *code);

/*
 * Up to 3.11 a thread has one profile function. A program that sets its own takes ours away, and gets all events; when
 * it takes its own away again there are none. The calling thread is then without any, which is seen at its next switch
 * and at the start of another thread.
 */
static inline bool fl_hooks_gone(void)
{
#if FL_HAVE_MONITORING
    return false;
#else
    return PyThreadState_Get()->c_profilefunc == NULL;
#endif
}

/* Calling thread, profiling on, ours is gone: puts it back. Where everything is now has to be told. */
void fl_hooks_put_back(void);

#endif
