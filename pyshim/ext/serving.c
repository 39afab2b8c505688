#include "serving.h"
#include "engine.h"
#include "error.h"
#include "http.h"
#include "kept_about.h"
#include "page.h"
#include "recording.h"
#include "server.h"
#include "shadow.h"

#include <errno.h>
#include <unistd.h>

/* The server, and what it borrows. GIL. */
static struct {
    struct fl_server *server;   /* NULL: does not serve */
    struct fl_kept_about about; /* of the process that started it: the child of a fork has no server */
} serving;

static bool is_serving(void)
{
    return serving.server && fl_kept_about_is_of_this_process(&serving.about);
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

PyObject *fl_serving_where(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    if (!is_serving() || fl_server_port(serving.server) == 0)
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

static void stop_serving(void)
{
    struct fl_server *server = serving.server;
    serving.server = NULL;
    Py_BEGIN_ALLOW_THREADS
    fl_server_stop(server);
    Py_END_ALLOW_THREADS
    fl_kept_about_drop(&serving.about);
}

int fl_serving_begin(const struct fl_server_options *options)
{
    struct fl_server_options own = *options;
    struct fl_server *server = NULL;
    if (!fl_kept_about_set(&serving.about, options->about.program, options->about.python, options->about.version))
        return FL_ENOMEM;
    own.about = serving.about.about;
    own.pages = fl_page_files;
    own.page_count = fl_page_file_count;
    int error;
    Py_BEGIN_ALLOW_THREADS
    error = fl_server_start(&own, fl_engine.session, &server);
    Py_END_ALLOW_THREADS
    serving.server = server;
    if (error != 0)
        fl_kept_about_drop(&serving.about);
    return error;
}

PyObject *fl_serving_start(PyObject *self, PyObject *args)
{
    int port;
    struct fl_server_options options = {0};
    PyObject *runtime;
    (void)self;
    if (!PyArg_ParseTuple(args, "isssO&:serve", &port, &options.about.program, &options.about.python,
                          &options.about.version, PyUnicode_FSConverter, &runtime))
        return NULL;
    PyObject *answer = NULL;
    if (is_serving() && fl_server_port(serving.server) == 0)
        stop_serving(); /* one that is to listen later: whoever asks wants it now */
    if (port < 0 || port > 65535) {
        PyErr_Format(PyExc_ValueError, "port must be 0 to 65535, not %d", port);
    } else if (!fl_engine.session) {
        (void)nothing_started();
    } else if (is_serving()) {
        PyErr_SetString(PyExc_RuntimeError, "flamelet: this process serves already");
    } else {
        options.port = (uint16_t)port;
        options.runtime = PyBytes_AS_STRING(runtime);
        int error = fl_serving_begin(&options);
        answer = error == 0 ? fl_serving_where(NULL, NULL) : raise_start_error(error, port);
    }
    Py_DECREF(runtime);
    return answer;
}

PyObject *fl_serving_stop(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    if (is_serving())
        stop_serving();
    Py_RETURN_NONE;
}

void fl_serving_pause(void)
{
    if (is_serving())
        fl_server_pause(serving.server);
}

void fl_serving_resume(void)
{
    /* Where there can be no thread the view is silent; the program is not to suffer for that. */
    if (is_serving())
        (void)fl_server_resume(serving.server);
}
