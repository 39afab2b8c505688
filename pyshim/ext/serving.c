#include "serving.h"
#include "engine.h"
#include "error.h"
#include "http.h"
#include "live_recording.h"
#include "page.h"
#include "recording.h"
#include "server.h"
#include "shadow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The server, and the texts that it borrows. GIL. */
static struct {
    struct fl_server *server; /* NULL: does not serve */
    pid_t pid;                /* of the process that started it: the child of a fork has none */
    char *program, *python, *version;
} serving;

static bool is_serving(void)
{
    return serving.server && serving.pid == getpid();
}

static PyObject *nothing_started(void)
{
    PyErr_SetString(PyExc_RuntimeError, "flamelet: nothing was recorded yet; call flamelet.start() first");
    return NULL;
}

PyObject *fl_serving_recording(PyObject *self, PyObject *args)
{
    struct fl_about about = {.pid = getpid()};
    (void)self;
    if (!PyArg_ParseTuple(args, "sss:recording", &about.program, &about.python, &about.version))
        return NULL;
    if (!fl_engine.session)
        return nothing_started();
    struct fl_shadow *shadow = NULL;
    struct fl_buffer out = {0};
    PyObject *bytes = NULL;
    int error = fl_shadow_create(fl_engine.session, &shadow);
    if (error == 0)
        error = fl_shadow_refresh(shadow);
    if (error == 0)
        fl_recording_write(shadow, &about, &out);
    if (error != 0 || out.failed)
        PyErr_NoMemory();
    else
        bytes = PyBytes_FromStringAndSize((const char *)out.data, (Py_ssize_t)out.length);
    fl_buffer_fini(&out);
    fl_shadow_destroy(shadow);
    return bytes;
}

static void forget_texts(void)
{
    free(serving.program);
    free(serving.python);
    free(serving.version);
    serving.program = serving.python = serving.version = NULL;
}

PyObject *fl_serving_where(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    if (!is_serving())
        Py_RETURN_NONE;
    return Py_BuildValue("is", (int)fl_server_port(serving.server), fl_server_token(serving.server));
}

static PyObject *raise_start_error(int error, int port)
{
    if (error == FL_EADDRESS_IN_USE) {
        PyObject *arguments =
            Py_BuildValue("iN", EADDRINUSE,
                          PyUnicode_FromFormat("port %d is in use; choose another one with --port, or "
                                               "leave it out to take any that is free",
                                               port));
        if (arguments)
            PyErr_SetObject(PyExc_OSError, arguments);
        Py_XDECREF(arguments);
        return NULL;
    }
    PyErr_Format(PyExc_RuntimeError, "flamelet: the server could not be started: %s", fl_error_text(error));
    return NULL;
}

PyObject *fl_serving_start(PyObject *self, PyObject *args)
{
    int port;
    const char *program, *python, *version;
    (void)self;
    if (!PyArg_ParseTuple(args, "isss:serve", &port, &program, &python, &version))
        return NULL;
    if (port < 0 || port > 65535) {
        PyErr_Format(PyExc_ValueError, "port must be 0 to 65535, not %d", port);
        return NULL;
    }
    if (!fl_engine.session)
        return nothing_started();
    if (is_serving()) {
        PyErr_SetString(PyExc_RuntimeError, "flamelet: this process serves already");
        return NULL;
    }
    forget_texts();
    serving.program = strdup(program);
    serving.python = strdup(python);
    serving.version = strdup(version);
    if (!serving.program || !serving.python || !serving.version) {
        forget_texts();
        return PyErr_NoMemory();
    }
    const struct fl_server_options options = {
        .port = (uint16_t)port,
        .pages = fl_page_files,
        .page_count = fl_page_file_count,
        .about = {.version = serving.version, .program = serving.program, .python = serving.python, .pid = getpid()}};
    int error;
    Py_BEGIN_ALLOW_THREADS
    error = fl_server_start(&options, fl_engine.session, &serving.server);
    Py_END_ALLOW_THREADS
    if (error != 0) {
        serving.server = NULL;
        forget_texts();
        return raise_start_error(error, port);
    }
    serving.pid = getpid();
    return fl_serving_where(NULL, NULL);
}

PyObject *fl_serving_stop(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    if (is_serving()) {
        struct fl_server *server = serving.server;
        serving.server = NULL;
        Py_BEGIN_ALLOW_THREADS
        fl_server_stop(server);
        Py_END_ALLOW_THREADS
        forget_texts();
    }
    Py_RETURN_NONE;
}

PyObject *fl_serving_pause(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    if (is_serving())
        fl_server_pause(serving.server);
    fl_live_recording_pause();
    Py_RETURN_NONE;
}

PyObject *fl_serving_resume(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    /* Where there can be no thread the view is silent; the program is not to suffer for that. */
    if (is_serving())
        (void)fl_server_resume(serving.server);
    fl_live_recording_resume();
    Py_RETURN_NONE;
}
