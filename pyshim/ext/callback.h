/*
 * callback.h: a Python callable that is one C function: what sys.monitoring and greenlet.settrace are given. An own
 * type with vectorcall is some nanoseconds cheaper per event than a built-in function object.
 */
#ifndef FL_EXT_CALLBACK_H
#define FL_EXT_CALLBACK_H

#include "compat.h"

/* A new reference, or NULL with an exception set. */
PyObject *fl_callback_new(vectorcallfunc function);

/* Once per process. 0, or -1 with an exception set. */
int fl_callback_init(void);

#endif
