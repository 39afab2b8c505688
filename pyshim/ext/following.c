#include "following.h"
#include "engine.h"
#include "live_recording.h"
#include "serving.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROWS = 65535, AFTER_MS = 1000, LOOKS_MAX = 10000 };

/* A child; written by itself, read by its ancestors. */
struct row {
    _Atomic pid_t pid; /* 0: not written yet */
    atomic_uchar serves, records;
};

struct table {
    atomic_uint count; /* may be past ROWS: those have no row */
    struct row rows[ROWS];
};

static struct {
    struct table *table;              /* shared with all that come from forks; NULL: nobody is followed */
    bool serves, always;              /* always: also a child that ends soon has a recording */
    char *prefix;                     /* owned; of a recording: PREFIX.PID.flamelet. NULL: there are none */
    char *runtime;                    /* owned; for discovery.h */
    char *program, *python, *version; /* owned */
    PyObject *after_child;            /* owned; called by multiprocessing in its children */

    /* Between a fork and its end. */
    PyFrameObject *forking; /* owned: that called it */
    unsigned looks;         /* so often it was looked whether it is over */

    /* Of a child. */
    pid_t own_pid;
    struct row *own; /* NULL: it is not followed, or there was no row left */
    char *own_path;  /* owned; NULL: it is not recorded */
} following;

static bool is_followed(void)
{
    return following.own_pid == getpid();
}

static bool copy(char **to, const char *text)
{
    *to = text ? strdup(text) : NULL;
    return !text || *to;
}

PyObject *fl_following_prepare(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"program", "python", "version",     "prefix", "runtime",
                            "serve",   "always", "after_child", NULL};
    const char *program, *python, *version;
    PyObject *prefix = NULL, *runtime = NULL, *after_child;
    int serve, always;
    (void)self;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "$sssOO&ppO:follow", names, &program, &python, &version, &prefix,
                                     PyUnicode_FSConverter, &runtime, &serve, &always, &after_child))
        return NULL;
    PyObject *path = NULL;
    if (prefix != Py_None && !PyUnicode_FSConverter(prefix, &path)) {
        Py_DECREF(runtime);
        return NULL;
    }
    /* Pages of it come into being where a child writes its row. */
    void *table = mmap(NULL, sizeof(struct table), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bool done = table != MAP_FAILED && copy(&following.program, program) && copy(&following.python, python) &&
                copy(&following.version, version) && copy(&following.runtime, PyBytes_AS_STRING(runtime)) &&
                copy(&following.prefix, path ? PyBytes_AS_STRING(path) : NULL);
    Py_DECREF(runtime);
    Py_XDECREF(path);
    if (!done)
        return PyErr_NoMemory();
    following.serves = serve;
    following.always = always;
    following.after_child = Py_NewRef(after_child);
    following.table = table;
    Py_RETURN_NONE;
}

PyObject *fl_following_before_fork(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    fl_serving_pause();
    fl_live_recording_pause();
    Py_RETURN_NONE;
}

static void resume(void)
{
    fl_serving_resume();
    fl_live_recording_resume();
}

/* Called by the interpreter between two instructions: the fork is over where these are of the frame that forked.
 * Before, they are of what the program registered with os.register_at_fork(). */
static int resume_behind_fork(void *unused)
{
    (void)unused;
    if (!following.forking)
        return 0; /* one of two calls, of forks that followed each other at once */
    if (PyEval_GetFrame() != following.forking && ++following.looks < LOOKS_MAX &&
        Py_AddPendingCall(resume_behind_fork, NULL) == 0)
        return 0;
    Py_CLEAR(following.forking);
    resume();
    return 0;
}

/* CPython counts the process's threads before this is called, or after it (3.13), and warns of more than one. So ours
 * begin when the interpreter goes on behind the fork. Where another thread than the main one forks, there are two in
 * any case, and the main one, which alone makes pending calls, may be busy. */
PyObject *fl_following_after_fork_in_parent(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    PyFrameObject *forking = PyEval_GetFrame();
    if (!FL_HAVE_MONITORING || syscall(SYS_gettid) != getpid() || !forking) {
        resume();
        Py_RETURN_NONE;
    }
    Py_XSETREF(following.forking, (PyFrameObject *)Py_NewRef(forking));
    following.looks = 0;
    if (Py_AddPendingCall(resume_behind_fork, NULL) != 0) {
        Py_CLEAR(following.forking);
        resume();
    }
    Py_RETURN_NONE;
}

static void claim_row(void)
{
    unsigned at = atomic_fetch_add(&following.table->count, 1);
    following.own = at < ROWS ? &following.table->rows[at] : NULL;
    if (following.own)
        atomic_store(&following.own->pid, getpid());
}

static void begin_recording(const struct fl_about *about)
{
    static const char form[] = "%s.%lld.flamelet%s";
    char *temporary = NULL;
    if (!following.prefix || asprintf(&following.own_path, form, following.prefix, (long long)getpid(), "") < 0) {
        following.own_path = NULL;
        return;
    }
    if (asprintf(&temporary, form, following.prefix, (long long)getpid(), ".live") >= 0) {
        (void)unlink(temporary); /* of a process with our number that was killed here */
        (void)fl_live_recording_start(following.own_path, temporary, about,
                                      following.own ? &following.own->records : NULL);
        free(temporary);
    }
}

/* multiprocessing ends its children without the interpreter's end, and forgets what its parent wanted done there. */
static void tell_multiprocessing(void)
{
    PyObject *name = PyUnicode_FromString("multiprocessing.util");
    PyObject *util = name ? PyImport_GetModule(name) : NULL;
    PyObject *done =
        util ? PyObject_CallMethod(util, "register_after_fork", "OO", following.after_child, following.after_child)
             : NULL;
    Py_XDECREF(done);
    Py_XDECREF(util);
    Py_XDECREF(name);
}

PyObject *fl_following_after_fork_in_child(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    free(following.own_path);
    following.own_path = NULL;
    following.own = NULL;
    following.own_pid = 0;
    if (!following.table || !fl_engine.forked_while_running)
        Py_RETURN_NONE;
    const struct fl_engine_options options = {
        .builtins = fl_engine.builtins, .seed = true, .session = fl_engine.session_options};
    if (fl_engine_start(&options) == 0) {
        const struct fl_about about = {
            .program = following.program, .python = following.python, .version = following.version};
        following.own_pid = getpid();
        claim_row();
        begin_recording(&about);
        if (following.serves)
            (void)fl_serving_begin(&(struct fl_server_options){.about = about,
                                                               .after_ms = AFTER_MS,
                                                               .runtime = following.runtime,
                                                               .began = following.own ? &following.own->serves : NULL});
        tell_multiprocessing();
    }
    /* The child knows nothing of us: whatever is missing here, it goes on as it would. */
    PyErr_Clear();
    Py_RETURN_NONE;
}

PyObject *fl_following_recording(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    if (!is_followed())
        Py_RETURN_NONE;
    bool due = following.own_path && (following.always || (following.own && atomic_load(&following.own->records)));
    return PyUnicode_DecodeFSDefault(due ? following.own_path : "");
}

PyObject *fl_following_recorded(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    if (is_followed() && following.own)
        atomic_store(&following.own->records, 1);
    Py_RETURN_NONE;
}

PyObject *fl_following_children(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    unsigned count = following.table ? atomic_load(&following.table->count) : 0;
    PyObject *rows = PyList_New(0);
    for (unsigned i = 0; rows && i < count && i < ROWS; i++) {
        struct row *row = &following.table->rows[i];
        pid_t pid = atomic_load(&row->pid);
        PyObject *told = pid ? Py_BuildValue("iNN", (int)pid, PyBool_FromLong(atomic_load(&row->serves)),
                                             PyBool_FromLong(atomic_load(&row->records)))
                             : NULL;
        if (pid && (!told || PyList_Append(rows, told) != 0))
            Py_CLEAR(rows);
        Py_XDECREF(told);
    }
    return rows;
}
