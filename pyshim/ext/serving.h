/* serving.h: the Python functions that reach the server: see _ext.pyi. GIL. */
#ifndef FL_EXT_SERVING_H
#define FL_EXT_SERVING_H

#include "compat.h"

PyObject *fl_serving_recording(PyObject *self, PyObject *args);
PyObject *fl_serving_start(PyObject *self, PyObject *args);
PyObject *fl_serving_stop(PyObject *self, PyObject *unused);
PyObject *fl_serving_pause(PyObject *self, PyObject *unused);
PyObject *fl_serving_resume(PyObject *self, PyObject *unused);
PyObject *fl_serving_where(PyObject *self, PyObject *unused);

#endif
