#include "live_recording.h"
#include "engine.h"
#include "error.h"
#include "kept_about.h"
#include "recorder.h"

/* The recorder, and what it borrows. */
static struct {
    struct fl_recorder *recorder; /* NULL: there is none */
    struct fl_kept_about about;   /* of the process that began it: the child of a fork has no recorder */
} live;

static bool is_live(void)
{
    return live.recorder && fl_kept_about_is_of_this_process(&live.about);
}

int fl_live_recording_start(const char *path, const char *temporary, const struct fl_about *about, atomic_uchar *began)
{
    if (!fl_kept_about_set(&live.about, about->program, about->python, about->version))
        return FL_ENOMEM;
    const struct fl_recorder_options options = {
        .path = path, .temporary = temporary, .about = live.about.about, .began = began};
    live.recorder = NULL;
    int error = fl_recorder_start(&options, fl_engine.session, &live.recorder);
    if (error != 0)
        fl_kept_about_drop(&live.about);
    return error;
}

PyObject *fl_live_recording_begin(PyObject *self, PyObject *args)
{
    struct fl_about about = {0};
    PyObject *path, *temporary;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&O&sss:record", PyUnicode_FSConverter, &path, PyUnicode_FSConverter, &temporary,
                          &about.program, &about.python, &about.version))
        return NULL;
    bool ready = fl_engine.session && !is_live();
    int error =
        ready ? fl_live_recording_start(PyBytes_AS_STRING(path), PyBytes_AS_STRING(temporary), &about, NULL) : 0;
    Py_DECREF(path);
    Py_DECREF(temporary);
    if (!ready) {
        PyErr_SetString(PyExc_RuntimeError, fl_engine.session ? "flamelet: this process is recorded already"
                                                              : "flamelet: nothing was started yet");
        return NULL;
    }
    if (error != 0) {
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
        fl_kept_about_drop(&live.about);
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
