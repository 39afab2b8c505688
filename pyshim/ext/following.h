/*
 * following.h: the children of a program under `flamelet run` that come from a fork, followed: each has a session of
 * its own, which starts in the middle of the stacks it was born with, and a recording and a server that begin when it
 * has lived for a second. All that happens in native threads, so a child that lives shortly pays for a start alone.
 *
 * What a child has begun it tells in a table that it shares with its parent, for the parent's last words. GIL.
 */
#ifndef FL_EXT_FOLLOWING_H
#define FL_EXT_FOLLOWING_H

#include "compat.h"

/* See _ext.pyi. */
PyObject *fl_following_prepare(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *fl_following_before_fork(PyObject *self, PyObject *unused);
PyObject *fl_following_after_fork_in_parent(PyObject *self, PyObject *unused);
PyObject *fl_following_after_fork_in_child(PyObject *self, PyObject *unused);
PyObject *fl_following_recording(PyObject *self, PyObject *unused);
PyObject *fl_following_recorded(PyObject *self, PyObject *unused);
PyObject *fl_following_children(PyObject *self, PyObject *unused);

#endif
