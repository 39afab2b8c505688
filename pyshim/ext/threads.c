#include "threads.h"
#include "asyncio.h"
#include "event.h"
#include "functions.h"
#include "greenlets.h"
#include "labels.h"
#include "hooks.h"
#include "throws.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NAME_TRIES = 64 };

__thread struct fl_thread_cell fl_thread_cell __attribute__((tls_model("initial-exec"), visibility("hidden")));

static pthread_key_t at_exit;

/* Runs in the ending thread, after its Python thread state is gone: no GIL, no Python. */
static void thread_ended(void *cell)
{
    struct fl_ext_thread *ext = cell;
    fl_thread_cell = (struct fl_thread_cell){0};
    fl_greenlets_destroy(ext->greenlets);
    fl_asyncio_destroy(ext->asyncio);
    if (fl_engine.session && ext->core)
        fl_thread_detach(ext->core);
    free(ext);
}

int fl_threads_init(void)
{
    if (pthread_key_create(&at_exit, thread_ended) != 0) {
        PyErr_SetString(PyExc_RuntimeError, "flamelet: no free pthread key; the process uses them all");
        return -1;
    }
    return 0;
}

void fl_threads_after_fork_in_child(void)
{
    fl_thread_cell = (struct fl_thread_cell){0};
    (void)pthread_setspecific(at_exit, NULL); /* what it pointed to belongs to the parent's session */
}

void fl_thread_name(struct fl_ext_thread *ext)
{
    if (ext->named || ext->names_tried >= NAME_TRIES)
        return;
    ext->names_tried++;
    /* threading._active: {ident: Thread}; read as plain dictionaries, so that no property or patched method runs. */
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *threading = modules ? PyDict_GetItemString(modules, "threading") : NULL;
    PyObject *globals = threading && PyModule_Check(threading) ? PyModule_GetDict(threading) : NULL;
    PyObject *active = globals ? PyDict_GetItemString(globals, "_active") : NULL;
    PyObject *ident = PyLong_FromUnsignedLong(PyThread_get_thread_ident());
    PyObject *thread = active && ident && PyDict_CheckExact(active) ? PyDict_GetItemWithError(active, ident) : NULL;
    Py_XINCREF(thread);
    PyObject *name = NULL;
    if (thread) {
        /* threading.Thread and its subclasses keep the name in the instance's dictionary. */
        PyObject *dict = PyObject_GenericGetDict(thread, NULL);
        name = dict && PyDict_CheckExact(dict) ? Py_XNewRef(PyDict_GetItemString(dict, "_name")) : NULL;
        Py_XDECREF(dict);
    }
    uint32_t id = name ? fl_string_of(name) : 0;
    if (id == 0 && getpid() == (pid_t)syscall(SYS_gettid))
        id = fl_strings_add(&fl_engine.session->strings, "MainThread", strlen("MainThread"));
    if (id != 0) {
        atomic_store_explicit(&ext->core->name, id, memory_order_release);
        ext->named = true;
    }
    Py_XDECREF(name);
    Py_XDECREF(thread);
    Py_XDECREF(ident);
    PyErr_Clear();
}

static struct fl_ext_thread *attach(void)
{
    struct fl_ext_thread *ext = calloc(1, sizeof *ext);
    if (!ext)
        return NULL;
    char fallback[32];
    long tid = syscall(SYS_gettid);
    int length = PyOS_snprintf(fallback, sizeof fallback, "Thread-%ld", tid);
    uint32_t name = fl_strings_add(&fl_engine.session->strings, fallback, (size_t)length);
    ext->core = fl_thread_attach(fl_engine.session, (uint32_t)tid, name);
    if (!ext->core || pthread_setspecific(at_exit, ext) != 0) {
        if (ext->core)
            fl_thread_detach(ext->core);
        free(ext);
        return NULL;
    }
    return ext;
}

/* The launcher's frame, borrowed and only compared: it, and what is below it, is never shown. NULL: no launcher. */
static const PyFrameObject *launcher;

/* The codes of a stack, top first, down to the launcher; if it is met, `below` becomes the number of frames from there
 * on whose ends will be told. A new reference, or NULL with an exception set. Consumes `frame`, which may be NULL.
 * `coroutine` may be NULL; where its frame is among them, `*split` becomes its index, else -1. */
static PyObject *codes_of(PyFrameObject *frame, uint32_t *below, const PyObject *coroutine, Py_ssize_t *split)
{
    PyObject *codes = PyList_New(0);
    bool shown = true;
    *split = -1;
    while (frame) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        if (frame == launcher) {
            shown = false;
            *below = 0;
        }
        if (codes && shown && PyList_Append(codes, (PyObject *)code) != 0)
            Py_CLEAR(codes);
        PyObject *generator = coroutine ? PyFrame_GetGenerator(frame) : NULL;
        if (codes && generator && generator == coroutine)
            *split = PyList_GET_SIZE(codes) - 1;
        Py_XDECREF(generator);
        if (!shown && fl_function_of(code) != 0)
            ++*below;
        Py_DECREF(code);
        PyFrameObject *back = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
    }
    return codes;
}

static void tell(struct fl_thread *thread, PyCodeObject *code)
{
    uint32_t function = fl_function_of(code);
    fl_hooks_wake(code);
    if (function)
        fl_enter(thread, function, false, fl_now(thread));
}

void fl_thread_seed(struct fl_thread *thread, enum fl_seed seed)
{
    /* In the middle of an asyncio task's step the stack is the loop's up to the task's coroutine. */
    struct fl_ext_thread *ext = fl_thread_cell.ext;
    PyObject *coroutine = fl_asyncio_running_coroutine(ext);
    Py_ssize_t split;
    PyFrameObject *frame = (PyFrameObject *)Py_XNewRef((PyObject *)PyEval_GetFrame());
    if (seed == FL_SEED_NONE)
        launcher = frame;
    if (frame && seed == FL_SEED_BELOW) {
        PyFrameObject *back = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
    }
    PyObject *codes = codes_of(frame, &thread->below, coroutine, &split);
    for (Py_ssize_t i = codes ? PyList_GET_SIZE(codes) : 0; i-- > 0;) {
        if (i == split)
            fl_asyncio_resume_step(ext);
        tell(thread, (PyCodeObject *)PyList_GET_ITEM(codes, i));
    }
    Py_XDECREF(codes);
    Py_XDECREF(coroutine);
    PyErr_Clear();
}

struct fl_thread *fl_thread_find(enum fl_seed seed)
{
    struct fl_thread_cell *cell = &fl_thread_cell;
    struct fl_session *session = fl_engine.session;
    PyObject *type, *value, *traceback;

    if (!session || !fl_engine.running) {
        /* Events that arrive while off (a start in progress, the child of a fork) are ignored, cheaply. */
        cell->core = NULL;
        cell->generation = fl_engine.generation;
        return NULL;
    }
    PyErr_Fetch(&type, &value, &traceback);
    /* What runs below must not come back here: until it is done, this thread has no events. */
    cell->generation = fl_engine.generation;
    cell->core = NULL;

    bool is_new = cell->ext == NULL;
    if (is_new)
        cell->ext = attach();
    struct fl_ext_thread *ext = cell->ext;
    if (ext) {
        bool stale = atomic_load_explicit(&ext->core->epoch, memory_order_relaxed) !=
                     atomic_load_explicit(&session->epoch, memory_order_relaxed);
        if (stale)
            fl_session_resume(session, ext->core);
        fl_thread_name(ext);
        if (stale) {
            fl_throws_forget(ext);
            fl_asyncio_forget_steps(ext);
        }
        bool entered = fl_greenlets_install(ext);
        if (is_new || stale || entered) {
            struct fl_task *task = atomic_load_explicit(&ext->core->task, memory_order_relaxed);
            task->seeded_epoch = (uint32_t)atomic_load_explicit(&session->epoch, memory_order_relaxed);
            fl_forget_stack(ext->core, fl_now(ext->core));
            fl_thread_seed(ext->core, seed);
            if (is_new || stale)
                fl_asyncio_tell_suspended(ext);
        }
        if (fl_labels_used && (is_new || stale))
            fl_labels_find(ext->core);
        cell->core = ext->core;
        /* A new threading.Thread is entered in the list of names some calls after its first event: look again at the
         * next ones. */
        if (!ext->named && ext->names_tried < NAME_TRIES)
            cell->generation = 0;
    }
    PyErr_Restore(type, value, traceback);
    return cell->core;
}
