/*
 * hooks.h: interpreter events as core events. Two sources: sys.monitoring from 3.12 on (hooks_monitoring.c), the
 * profile function before it (hooks_profile.c); one of the two is compiled. GIL.
 */
#ifndef FL_EXT_HOOKS_H
#define FL_EXT_HOOKS_H

#include "compat.h"

/* Makes the callables. Once per process. 0, or -1 with an exception set. */
int fl_hooks_init(void);

/* All threads, also those started later; C functions as fl_engine.builtins says. 0, or -1 with an exception set and
 * nothing installed. */
int fl_hooks_install(void);

/* 0, or -1 with an exception set; no event arrives afterwards in either case. */
int fl_hooks_remove(void);

/*
 * Makes sure that frames of this code that are parked in a greenlet deliver events too: since 3.12 switching events on
 * reaches only the frames that a thread is running at that moment.
 */
void fl_hooks_wake(PyCodeObject *code);

#endif
