/* live_recording.h: the recording that grows while the program runs (server/recorder.h), for Python. GIL. */
#ifndef FL_EXT_LIVE_RECORDING_H
#define FL_EXT_LIVE_RECORDING_H

#include "compat.h"
#include "wire.h"

#include <stdatomic.h>

/* See _ext.pyi. */
PyObject *fl_live_recording_begin(PyObject *self, PyObject *args);
PyObject *fl_live_recording_end(PyObject *self, PyObject *unused);

/* The same for C: 0, or a code of error.h. Texts and paths are copied. There is a session; nothing is recorded yet by
 * this process. began: see recorder.h. */
int fl_live_recording_start(const char *path, const char *temporary, const struct fl_about *about, atomic_uchar *began);

/* Around a fork. */
void fl_live_recording_pause(void);
void fl_live_recording_resume(void);

#endif
