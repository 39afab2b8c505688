#include "live_recording.h"
#include "engine.h"
#include "error.h"
#include "recorder.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The recorder, and the texts that it borrows. */
static struct {
    struct fl_recorder *recorder; /* NULL: there is none */
    pid_t pid;                    /* of the process that began it: the child of a fork has none */
    char *program, *python, *version;
} live;

static bool is_live(void)
{
    return live.recorder && live.pid == getpid();
}

static void forget_texts(void)
{
    free(live.program);
    free(live.python);
    free(live.version);
    live.program = live.python = live.version = NULL;
}

PyObject *fl_live_recording_begin(PyObject *self, PyObject *args)
{
    const char *program, *python, *version;
    PyObject *path, *temporary;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&O&sss:record", PyUnicode_FSConverter, &path, PyUnicode_FSConverter, &temporary,
                          &program, &python, &version))
        return NULL;
    int error = 0;
    bool ready = fl_engine.session && !is_live();
    if (ready) {
        forget_texts();
        live.program = strdup(program);
        live.python = strdup(python);
        live.version = strdup(version);
        const struct fl_recorder_options options = {
            .path = PyBytes_AS_STRING(path),
            .temporary = PyBytes_AS_STRING(temporary),
            .about = {.version = live.version, .program = live.program, .python = live.python, .pid = getpid()}};
        live.pid = getpid();
        live.recorder = NULL;
        error = live.program && live.python && live.version
                    ? fl_recorder_start(&options, fl_engine.session, &live.recorder)
                    : FL_ENOMEM;
    }
    Py_DECREF(path);
    Py_DECREF(temporary);
    if (!ready) {
        PyErr_SetString(PyExc_RuntimeError, fl_engine.session ? "flamelet: this process is recorded already"
                                                              : "flamelet: nothing was started yet");
        return NULL;
    }
    if (error != 0) {
        forget_texts();
        PyErr_Format(PyExc_RuntimeError, "flamelet: the recording could not be begun: %s", fl_error_text(error));
        return NULL;
    }
    Py_RETURN_NONE;
}

PyObject *fl_live_recording_end(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    int error = 0;
    if (is_live()) {
        struct fl_recorder *recorder = live.recorder;
        live.recorder = NULL;
        Py_BEGIN_ALLOW_THREADS
        error = fl_recorder_stop(recorder, false);
        Py_END_ALLOW_THREADS
        forget_texts();
    }
    return PyLong_FromLong(error);
}

void fl_live_recording_pause(void)
{
    if (is_live())
        fl_recorder_pause(live.recorder);
}

void fl_live_recording_resume(void)
{
    if (is_live())
        fl_recorder_resume(live.recorder);
}
