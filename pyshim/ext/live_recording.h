/* live_recording.h: the recording that grows while the program runs (server/recorder.h), for Python. GIL. */
#ifndef FL_EXT_LIVE_RECORDING_H
#define FL_EXT_LIVE_RECORDING_H

#include "compat.h"

/* See _ext.pyi. */
PyObject *fl_live_recording_begin(PyObject *self, PyObject *args);
PyObject *fl_live_recording_end(PyObject *self, PyObject *unused);

/* Around a fork. */
void fl_live_recording_pause(void);
void fl_live_recording_resume(void);

#endif
