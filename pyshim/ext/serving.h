/* serving.h: the server of this process. The Python functions: see _ext.pyi. GIL. */
#ifndef FL_EXT_SERVING_H
#define FL_EXT_SERVING_H

#include "compat.h"
#include "server.h"

PyObject *fl_serving_recording(PyObject *self, PyObject *args);
PyObject *fl_serving_start(PyObject *self, PyObject *args);
PyObject *fl_serving_stop(PyObject *self, PyObject *unused);
PyObject *fl_serving_where(PyObject *self, PyObject *unused);

/* For C: 0, or a code of error.h. The texts are copied, the pages are our own, the pid is this process's. There is a
 * session; this process does not serve yet. The GIL is given up meanwhile. */
int fl_serving_begin(const struct fl_server_options *options);

/* Around a fork. */
void fl_serving_pause(void);
void fl_serving_resume(void);

#endif
