#include "threads.h"
#include "asyncio.h"
#include "event.h"
#include "functions.h"
#include "greenlets.h"
#include "labels.h"
#include "hooks.h"
#include "other.h"
#include "seeding.h"
#include "stacks.h"
#include "throws.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NAME_TRIES = 64 };

__thread struct fl_thread_cell fl_thread_cell __attribute__((tls_model("initial-exec"), visibility("hidden")));

static pthread_key_t at_exit;

/* Never taken at an event but a thread's first one. */
static struct {
    pthread_mutex_t lock;
    struct fl_ext_thread *first;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct fl_ext_thread *fl_threads_lock(void)
{
    pthread_mutex_lock(&all.lock);
    return all.first;
}

void fl_threads_unlock(void)
{
    pthread_mutex_unlock(&all.lock);
}

/* List locked. */
static void take_out(const struct fl_ext_thread *ext)
{
    for (struct fl_ext_thread **at = &all.first; *at; at = &(*at)->next)
        if (*at == ext) {
            *at = ext->next;
            return;
        }
}

/* Runs in the ending thread, after its Python thread state is gone: no GIL, no Python. */
static void thread_ended(void *cell)
{
    struct fl_ext_thread *ext = cell;
    fl_thread_cell = (struct fl_thread_cell){0};
    pthread_mutex_lock(&all.lock);
    take_out(ext);
    pthread_mutex_unlock(&all.lock);
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
    all.first = NULL;
    (void)pthread_mutex_init(&all.lock, NULL); /* a thread that is gone may have held it */
    (void)pthread_setspecific(at_exit, NULL);  /* what it pointed to belongs to the parent's session */
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
    PyObject *ident = PyLong_FromUnsignedLong(ext->ident);
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
    if (id == 0 && getpid() == (pid_t)ext->tid)
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

/* List locked. `other`: not the thread itself calls. */
static struct fl_ext_thread *create(uint32_t tid, unsigned long ident, bool other)
{
    struct fl_ext_thread *ext = calloc(1, sizeof *ext);
    if (!ext)
        return NULL;
    char fallback[32];
    int length = PyOS_snprintf(fallback, sizeof fallback, "Thread-%lu", (unsigned long)tid);
    uint32_t name = fl_strings_add(&fl_engine.session->strings, fallback, (size_t)length);
    ext->tid = tid;
    ext->ident = ident;
    ext->core = other ? fl_other_attach(fl_engine.session, tid, name) : fl_thread_attach(fl_engine.session, tid, name);
    if (!ext->core) {
        free(ext);
        return NULL;
    }
    ext->next = all.first;
    all.first = ext;
    return ext;
}

/* List locked. It has ended, and never had an event. */
static void end_gone(struct fl_ext_thread *ext)
{
    take_out(ext);
    fl_greenlets_destroy(ext->greenlets);
    fl_other_detach(ext->core);
    free(ext);
}

void fl_threads_end_gone(void)
{
    for (struct fl_ext_thread *ext = fl_threads_lock(), *next; ext; ext = next) {
        next = ext->next;
        if (!ext->adopted && fl_cpu_clock_remote((int)ext->tid) == 0)
            end_gone(ext);
    }
    fl_threads_unlock();
}

void fl_threads_missed_events(uint32_t tid)
{
    for (struct fl_ext_thread *ext = fl_threads_lock(); ext; ext = ext->next) {
        if (ext->tid != tid)
            continue;
        /* Its owner writes nothing now: it has not the GIL. */
        fl__add(&ext->core->displaced, 1);
        ext->lost_track = true;
        fl_engine.generation++;
    }
    fl_threads_unlock();
}

struct fl_ext_thread *fl_threads_other(PyThreadState *state)
{
    struct fl_ext_thread *ext = all.first;
    while (ext && ext->tid != state->native_thread_id)
        ext = ext->next;
    if (!ext)
        ext = create((uint32_t)state->native_thread_id, state->thread_id, true);
    if (ext)
        fl_thread_name(ext);
    return ext;
}

/* The calling thread's. */
static struct fl_ext_thread *attach(void)
{
    uint32_t tid = (uint32_t)syscall(SYS_gettid);
    struct fl_ext_thread *ext = fl_threads_lock();
    while (ext && (ext->adopted || ext->tid != tid))
        ext = ext->next;
    if (ext) {
        ext->ident = PyThread_get_thread_ident();
        fl_thread_adopt(ext->core);
    } else {
        ext = create(tid, PyThread_get_thread_ident(), false);
    }
    if (ext)
        ext->adopted = true;
    if (ext && pthread_setspecific(at_exit, ext) != 0) {
        end_gone(ext);
        ext = NULL;
    }
    fl_threads_unlock();
    return ext;
}

static const PyFrameObject *launcher;

const PyFrameObject *fl_threads_launcher(void)
{
    return launcher;
}

/* The frame in which this coroutine runs, a new reference, or NULL. Looked for from `frame` outwards. */
static PyFrameObject *frame_of(const PyObject *coroutine, PyFrameObject *frame)
{
    frame = (PyFrameObject *)Py_XNewRef((PyObject *)frame);
    while (frame && coroutine) {
        PyObject *generator = PyFrame_GetGenerator(frame);
        Py_XDECREF(generator); /* its frame holds it */
        if (generator == coroutine)
            return frame;
        PyFrameObject *back = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
    }
    Py_XDECREF(frame);
    return NULL;
}

/* The current task's stack is that of `frame` up to `end`. */
static void tell(struct fl_thread *thread, PyFrameObject *frame, const PyFrameObject *end)
{
    const struct fl_stack *stack = fl_stack_read(frame, end);
    for (uint32_t i = 0; i < stack->code_count; i++)
        fl_hooks_wake(stack->codes[i]);
    fl_seed(thread, stack->functions, stack->count, fl_now(thread));
}

/* Frames from the launcher's on, if it is below `frame`, are not shown, but their ends will be told. */
static void count_below(struct fl_thread *thread, PyFrameObject *frame)
{
    const struct fl_stack *stack = fl_stack_read(frame, NULL);
    uint32_t whole = stack->code_count, whole_shown = stack->count;
    stack = fl_stack_read(frame, launcher);
    if (stack->code_count < whole)
        thread->below = whole_shown - stack->count;
}

void fl_thread_seed(struct fl_thread *thread, enum fl_seed seed)
{
    /* In the middle of an asyncio task's step the stack is the loop's up to the task's coroutine. */
    struct fl_ext_thread *ext = fl_thread_cell.ext;
    PyObject *coroutine = fl_asyncio_running_coroutine(ext);
    PyFrameObject *frame = (PyFrameObject *)Py_XNewRef((PyObject *)PyEval_GetFrame());
    if (seed == FL_SEED_NONE)
        launcher = frame;
    if (frame && seed == FL_SEED_BELOW) {
        PyFrameObject *back = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
    }
    if (launcher)
        count_below(thread, frame);
    PyFrameObject *step = frame_of(coroutine, frame);
    PyFrameObject *base = step ? PyFrame_GetBack(step) : (PyFrameObject *)Py_XNewRef((PyObject *)frame);
    tell(thread, base, launcher);
    if (step) {
        fl_asyncio_resume_step(ext);
        tell(thread, frame, base);
    }
    Py_XDECREF(base);
    Py_XDECREF(step);
    Py_XDECREF(frame);
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

    if (!cell->ext)
        cell->ext = attach();
    struct fl_ext_thread *ext = cell->ext;
    if (ext) {
        bool stale = atomic_load_explicit(&ext->core->epoch, memory_order_relaxed) !=
                     atomic_load_explicit(&session->epoch, memory_order_relaxed);
        if (stale)
            fl_session_resume(session, ext->core);
        fl_thread_name(ext);
        uint64_t epoch = atomic_load_explicit(&session->epoch, memory_order_relaxed);
        bool first = ext->epoch != epoch || ext->lost_track;
        if (ext->lost_track)
            fl_seeding_check(ext);
        if (first) {
            fl_throws_forget(ext);
            fl_asyncio_forget_steps(ext);
            fl_greenlets_end_dead(ext);
        }
        bool entered = fl_greenlets_install(ext);
        ext->lost_track = false;
        if (first || entered) {
            struct fl_task *task = atomic_load_explicit(&ext->core->task, memory_order_relaxed);
            task->seeded_epoch = (uint32_t)epoch;
            ext->epoch = epoch;
            fl_thread_seed(ext->core, seed);
            if (first)
                fl_asyncio_tell_suspended(ext);
        }
        if (fl_labels_used && first)
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
