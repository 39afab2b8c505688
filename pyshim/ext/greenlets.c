#include "greenlets.h"
#include "asyncio.h"
#include "asyncio_tasks.h"
#include "callback.h"
#include "event.h"
#include "functions.h"
#include "hash.h"
#include "hooks.h"
#include "labels.h"
#include "other.h"
#include "threads.h"
#include "throws.h"
#include "waits.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Slots of greenlet's C API capsule, a stable list since greenlet 1.0. */
enum { API_TYPE = 0, API_GET_CURRENT = 4, API_ACTIVE = 10, API_GET_PARENT = 11 };

/* What greenlet offers, once it is imported. The module lives as long as the process. */
static struct {
    PyObject *settrace;                  /* owned; NULL until greenlet is noticed */
    PyObject *gettrace;                  /* owned */
    PyObject *(*get_current)(void);      /* new reference; may run Python (it empties greenlet's list of deaths) */
    PyObject *(*get_parent)(PyObject *); /* new reference, NULL for a thread's main greenlet */
    int (*is_active)(PyObject *);        /* started and not ended */
    PyTypeObject *type;                  /* greenlet.greenlet */
} api;

/* Tasks of one thread by the address of their greenlet: open addressing, tombstones left by the dead. */
struct fl_greenlets {
    struct fl_task **tasks; /* task->key is the address; NULL free; &tombstone was deleted */
    uint32_t capacity, filled;
    PyObject *previous; /* owned: the tracer that was there before ours, or NULL */
    uint64_t epoch;     /* of the session, when the tracer was installed; 0: it is not */
    bool inside;        /* in the tracer: two tracers that chain to each other must not go round for ever */
    /* Another tracer was put over ours. Does it call ours? For one switch ours is put over it, and that is seen. */
    bool trying, reached;
    PyObject *below;         /* owned, while trying: what ours chained to */
    const PyObject *trusted; /* only compared: a tracer that calls ours */
    struct kept *kept;       /* while profiling is off: the greenlets that lived when it was switched off */
    uint32_t kept_count, kept_capacity;
};

struct kept {
    PyObject *weak; /* owned: a weak reference */
    struct fl_task *task;
};

/* seeded_epoch of a task whose greenlet was kept at this stop. */
enum { KEPT = 0x7fffffff };

/* References of threads that ended while profiling was off: they end without the GIL. */
static struct {
    pthread_mutex_t lock;
    struct kept *rows;
    uint32_t count;
} orphans = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct fl_task tombstone;
static PyObject *tracer; /* the one callable, shared by all threads */
static PyObject *key_name;

static bool grow(struct fl_greenlets *greenlets)
{
    uint32_t capacity = greenlets->capacity;
    uint32_t alive = 0;
    for (uint32_t i = 0; i < greenlets->capacity; i++)
        alive += greenlets->tasks[i] && greenlets->tasks[i] != &tombstone;
    if (capacity == 0)
        capacity = 64;
    else if (alive >= capacity / 4)
        capacity *= 2; /* else the tombstones are what filled it: same size */
    struct fl_task **tasks = calloc(capacity, sizeof(struct fl_task *));
    if (!tasks)
        return false;
    for (uint32_t i = 0; i < greenlets->capacity; i++) {
        struct fl_task *task = greenlets->tasks[i];
        if (!task || task == &tombstone)
            continue;
        uint32_t at = (uint32_t)fl_hash_mix((uintptr_t)task->key) & (capacity - 1);
        while (tasks[at])
            at = (at + 1) & (capacity - 1);
        tasks[at] = task;
    }
    free(greenlets->tasks);
    greenlets->tasks = tasks;
    greenlets->capacity = capacity;
    greenlets->filled = alive;
    return true;
}

static struct fl_task **slot_of(const struct fl_greenlets *greenlets, const void *greenlet)
{
    uint32_t at = (uint32_t)fl_hash_mix((uintptr_t)greenlet) & (greenlets->capacity - 1);
    while (greenlets->tasks[at] && (greenlets->tasks[at] == &tombstone || greenlets->tasks[at]->key != greenlet))
        at = (at + 1) & (greenlets->capacity - 1);
    return &greenlets->tasks[at];
}

static bool insert(struct fl_greenlets *greenlets, struct fl_task *task)
{
    if (greenlets->filled >= greenlets->capacity / 2 && !grow(greenlets))
        return false;
    *slot_of(greenlets, task->key) = task;
    greenlets->filled++;
    return true;
}

/* gevent's Hub, or a class made from it; by names, without running code. eventlet's: polls.h. */
bool fl_greenlet_is_hub(PyObject *greenlet)
{
    PyObject *mro = Py_TYPE(greenlet)->tp_mro;
    for (Py_ssize_t i = 0; mro && i < PyTuple_GET_SIZE(mro); i++) {
        PyTypeObject *type = (PyTypeObject *)PyTuple_GET_ITEM(mro, i);
        if (strcmp(type->tp_name, "Hub") != 0)
            continue;
        PyObject *dict = fl_compat_type_dict(type);
        PyObject *module = dict ? PyDict_GetItemString(dict, "__module__") : NULL;
        bool found = module && PyUnicode_Check(module) &&
                     (PyUnicode_CompareWithASCIIString(module, "gevent.hub") == 0 ||
                      PyUnicode_CompareWithASCIIString(module, "gevent._hub") == 0);
        Py_XDECREF(dict);
        if (found)
            return true;
    }
    return false;
}

/* A name that was given is in the instance's dictionary; asking the property would make one up, and allocate. */
static void take_name(struct fl_task *task, PyObject *greenlet)
{
    PyObject *dict = fl_compat_instance_dict(greenlet);
    PyObject *name = dict ? PyDict_GetItemWithError(dict, key_name) : NULL;
    if (name && PyUnicode_CheckExact(name))
        fl_task_set_name(task, fl_string_of(name));
}

/* Names that are given later: looked for again now and then, more seldom the longer it lives. */
static bool is_time_for_a_name(const struct fl_task *task)
{
    uint64_t switches = atomic_load_explicit(&task->sums.switches, memory_order_relaxed);
    return (switches & (switches - 1)) == 0 || switches % 64 == 0;
}

static struct fl_task *add_task(struct fl_ext_thread *ext, PyObject *greenlet, fl_ticks now)
{
    struct fl_thread *thread = ext->core;
    struct fl_task *task = fl_task_create(thread, now, greenlet);
    if (!task)
        return NULL;
    if (!insert(ext->greenlets, task)) {
        fl_task_end(thread, task, now);
        return NULL;
    }
    take_name(task, greenlet);
    if (fl_greenlet_is_hub(greenlet))
        fl_task_set_hub(thread, task);
    fl_thread_name(ext);
    return task;
}

/* In the context of the new greenlet. */
static void begin_label(const struct fl_greenlets *greenlets, struct fl_task *task, PyObject *greenlet)
{
    PyObject *parent = api.get_parent(greenlet);
    if (!parent)
        PyErr_Clear();
    fl_labels_begin(task, greenlet, parent ? *slot_of(greenlets, parent) : NULL);
    Py_XDECREF(parent); /* never the last reference: its child holds one */
}

/* After a switch from `origin` to `target`. */
static void switched(struct fl_ext_thread *ext, PyObject *origin, PyObject *target)
{
    struct fl_thread *thread = ext->core;
    struct fl_greenlets *greenlets = ext->greenlets;
    fl_ticks now = fl_now(thread);

    if (origin == target)
        return; /* to itself, or to a dead one: nothing moved */
    struct fl_task *to = *slot_of(greenlets, target);
    if (__builtin_expect(!to, 0)) {
        to = add_task(ext, target, now);
        if (!to)
            return; /* counted; its time stays with the task that was current */
        if (__builtin_expect(fl_labels_used, 0))
            begin_label(greenlets, to, target);
    }
    /* On its stack an asyncio task may be in the middle of a step. */
    if (to->inner)
        to = to->inner;
    bool lives = api.is_active(origin) != 0;
    struct fl_task *from = atomic_load_explicit(&thread->task, memory_order_relaxed);
    if (lives && (from->key == origin || fl_async_task_of(from)))
        fl_task_set_wait(from, fl_wait_of(origin, api.type));
    if (lives && from->key == origin && is_time_for_a_name(from))
        take_name(from, origin);
    fl_switch(thread, to, now);
    uint32_t epoch = (uint32_t)atomic_load_explicit(&fl_engine.session->epoch, memory_order_relaxed);
    if (__builtin_expect(to->seeded_epoch != epoch, 0)) {
        /* First seen since the start: it may have been parked in the middle of its stack. No frames: it just begins. */
        to->seeded_epoch = epoch;
        fl_thread_seed(thread, FL_SEED_ALL);
        if (fl_labels_used)
            fl_labels_find(thread);
    }
    if (!lives) {
        struct fl_task **slot = slot_of(greenlets, origin);
        if (*slot && *slot != thread->main) {
            fl_task_end(thread, *slot, now);
            *slot = &tombstone;
        }
    }
}

static int call_settrace(PyObject *callable, PyObject **previous)
{
    *previous = PyObject_CallOneArg(api.settrace, callable ? callable : Py_None);
    if (!*previous)
        return -1;
    if (*previous == Py_None)
        Py_CLEAR(*previous);
    return 0;
}

/* The tracer over which ours was put is on top again. */
static void step_down(struct fl_greenlets *greenlets)
{
    PyObject *top;
    if (call_settrace(greenlets->previous, &top) == 0)
        Py_XDECREF(top);
    PyErr_Clear();
    Py_XSETREF(greenlets->previous, greenlets->below);
    greenlets->below = NULL;
    greenlets->trying = false;
}

/* Takes our tracer off the calling thread. */
static void remove_from_inside(struct fl_greenlets *greenlets)
{
    PyObject *top;
    if (greenlets->trying)
        step_down(greenlets);
    if (call_settrace(greenlets->previous, &top) != 0) {
        PyErr_Clear();
        return;
    }
    if (top != tracer) {
        /* Another tool's tracer was put on top of ours and chains to it: it stays, and ours only passes calls on. Or
         * the program has taken them all off: so it stays, too. */
        Py_XDECREF(PyObject_CallOneArg(api.settrace, top ? top : Py_None));
        PyErr_Clear();
        if (!top) {
            Py_CLEAR(greenlets->previous);
            greenlets->epoch = 0;
        }
    } else {
        Py_CLEAR(greenlets->previous);
        greenlets->epoch = 0;
    }
    Py_XDECREF(top);
}

/* Another tool has taken our tracer away: what happened since is not known, from the next event on it is again. */
static void displaced(struct fl_ext_thread *ext)
{
    fl__add(&ext->core->displaced, 1);
    ext->lost_track = true;
    fl_thread_cell.generation = 0;
}

/* In the tracer, which was put over another one for this switch. */
static void end_trial(struct fl_ext_thread *ext)
{
    struct fl_greenlets *greenlets = ext->greenlets;
    PyObject *type, *value, *traceback;
    if (!greenlets->reached) {
        greenlets->trying = false;
        Py_CLEAR(greenlets->below); /* it forgot about what was there before: ours stays on top */
        displaced(ext);
        return;
    }
    PyErr_Fetch(&type, &value, &traceback);
    greenlets->trusted = greenlets->previous;
    step_down(greenlets);
    PyErr_Restore(type, value, traceback);
}

/* Is our tracer still called? No exception may be set. */
static void notice_displaced(void)
{
    struct fl_ext_thread *ext = fl_thread_cell.ext;
    struct fl_greenlets *greenlets = ext ? ext->greenlets : NULL;
    if (!fl_engine.running || !greenlets || greenlets->inside || greenlets->trying ||
        greenlets->epoch != atomic_load_explicit(&fl_engine.session->epoch, memory_order_relaxed))
        return;
    PyObject *top = PyObject_CallNoArgs(api.gettrace);
    if (top == Py_None) {
        greenlets->epoch = 0;
        Py_CLEAR(greenlets->previous);
        displaced(ext);
    } else if (top && top != tracer && top != greenlets->trusted) {
        PyObject *before;
        if (call_settrace(tracer, &before) == 0) {
            greenlets->below = greenlets->previous;
            greenlets->previous = before;
            greenlets->trying = true;
        }
    }
    Py_XDECREF(top);
    PyErr_Clear();
}

/* In the tracer: calls and returns on this thread were not told for a while. Switches were, so it is known which task
 * is current: it, and each other one when it goes on, is told with its stack. */
static void put_events_back(struct fl_ext_thread *ext)
{
    struct fl_greenlets *greenlets = ext->greenlets;
    fl_hooks_put_back();
    fl__add(&ext->core->displaced, 1);
    fl_throws_forget(ext);
    fl_asyncio_forget_steps(ext);
    for (uint32_t i = 0; i < greenlets->capacity; i++)
        if (greenlets->tasks[i] && greenlets->tasks[i] != &tombstone)
            greenlets->tasks[i]->seeded_epoch = 0;
}

/* The tracer: tracer(event, (origin, target)). Must not raise: greenlet would drop it and throw that into the target.
 */
static PyObject *on_switch(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    (void)self;
    (void)kwnames;
    struct fl_ext_thread *ext = fl_thread_cell.ext;
    struct fl_greenlets *greenlets = ext ? ext->greenlets : NULL;
    if (!greenlets || PyVectorcall_NARGS(nargsf) != 2 || !PyTuple_CheckExact(args[1]) || PyTuple_GET_SIZE(args[1]) != 2)
        Py_RETURN_NONE;
    if (greenlets->inside) {
        greenlets->reached = true;
        return greenlets->trying && greenlets->below ? PyObject_Vectorcall(greenlets->below, args, 2, NULL)
                                                     : Py_NewRef(Py_None);
    }

    PyObject *previous = Py_XNewRef(greenlets->previous);
    if (__builtin_expect(fl_engine.running, 1)) {
        if (__builtin_expect(fl_hooks_gone(), 0))
            put_events_back(ext);
        /* Brings this thread up to date after a restart; mostly one comparison. */
        if (fl_thread_here(FL_SEED_ALL))
            switched(ext, PyTuple_GET_ITEM(args[1], 0), PyTuple_GET_ITEM(args[1], 1));
    } else if (greenlets->epoch != 0) {
        remove_from_inside(greenlets);
    }
    if (!previous)
        Py_RETURN_NONE;
    /* As if we were not there: what it raises goes where it would have gone. */
    greenlets->inside = true;
    greenlets->reached = false;
    PyObject *result = PyObject_Vectorcall(previous, args, (size_t)PyVectorcall_NARGS(nargsf), NULL);
    greenlets->inside = false;
    if (!result) {
        /* greenlet drops a tracer that raises: it would have dropped that one, and drops ours now. */
        Py_CLEAR(greenlets->previous);
        greenlets->epoch = 0;
        fl__add(&ext->core->displaced, 1);
    }
    Py_DECREF(previous);
    if (greenlets->trying && result)
        end_trial(ext);
    return result;
}

void fl_greenlets_notice(void)
{
    if (api.settrace) {
        notice_displaced();
        return;
    }
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *module = modules ? PyDict_GetItemString(modules, "greenlet._greenlet") : NULL;
    PyObject *globals = module && PyModule_Check(module) ? PyModule_GetDict(module) : NULL;
    PyObject *capsule = globals ? PyDict_GetItemString(globals, "_C_API") : NULL;
    PyObject *settrace = globals ? PyDict_GetItemString(globals, "settrace") : NULL;
    PyObject *gettrace = globals ? PyDict_GetItemString(globals, "gettrace") : NULL;
    if (!capsule || !settrace || !gettrace || !PyCapsule_IsValid(capsule, "greenlet._C_API"))
        return; /* not imported, or in the middle of it */
    void **slots = PyCapsule_GetPointer(capsule, "greenlet._C_API");
    /* Function pointers through void *: how the capsule hands them out. */
    memcpy(&api.get_current, &slots[API_GET_CURRENT], sizeof api.get_current);
    memcpy(&api.get_parent, &slots[API_GET_PARENT], sizeof api.get_parent);
    memcpy(&api.is_active, &slots[API_ACTIVE], sizeof api.is_active);
    api.type = slots[API_TYPE];
    api.gettrace = Py_NewRef(gettrace);
    api.settrace = Py_NewRef(settrace);
    if (fl_engine.session)
        atomic_store(&fl_engine.session->switches, true);
    fl_engine.generation++;
}

static bool prepare(struct fl_ext_thread *ext)
{
    if (ext->greenlets)
        return true;
    ext->greenlets = calloc(1, sizeof *ext->greenlets);
    if (ext->greenlets && grow(ext->greenlets))
        return true;
    free(ext->greenlets);
    ext->greenlets = NULL;
    return false;
}

PyTypeObject *fl_greenlets_type(void)
{
    return api.type;
}

void fl_greenlets_bury(void)
{
    PyObject *type, *value, *traceback;
    if (!api.settrace)
        return;
    PyErr_Fetch(&type, &value, &traceback);
    Py_XDECREF(api.get_current());
    PyErr_Restore(type, value, traceback);
}

bool fl_greenlet_is_active(PyObject *greenlet)
{
    return api.is_active(greenlet) != 0;
}

const uintptr_t *fl_greenlet_words(PyObject *greenlet)
{
    struct head {
        PyObject_HEAD
        PyObject *weak_references, *dict;
        const uintptr_t *implementation;
    };
    return ((struct head *)greenlet)->implementation;
}

PyObject *fl_greenlet_main_of(PyObject *greenlet)
{
    PyObject *top = greenlet, *parent;
    while ((parent = api.get_parent(top)) != NULL) {
        Py_DECREF(parent); /* its child holds it */
        top = parent;
    }
    return top;
}

PyObject *fl_greenlets_main(const struct fl_ext_thread *ext)
{
    return ext->core->main->key;
}

bool fl_greenlets_set_main(struct fl_ext_thread *ext, PyObject *greenlet)
{
    if (!prepare(ext))
        return false;
    struct fl_task *main = ext->core->main, **slot = slot_of(ext->greenlets, greenlet);
    if (*slot == main)
        return true;
    if (main->key && *slot_of(ext->greenlets, main->key) == main)
        *slot_of(ext->greenlets, main->key) = &tombstone;
    main->key = greenlet;
    slot = slot_of(ext->greenlets, greenlet);
    if (*slot)
        *slot = main; /* an address that was used again */
    return *slot || insert(ext->greenlets, main);
}

struct fl_task *fl_greenlets_task(struct fl_ext_thread *ext, PyObject *greenlet)
{
    if (!prepare(ext))
        return NULL;
    struct fl_task *task = *slot_of(ext->greenlets, greenlet);
    if (!task)
        return add_task(ext, greenlet, fl_now(ext->core));
    take_name(task, greenlet);
    return task;
}

void fl_greenlets_keep(struct fl_ext_thread *ext, PyObject *greenlet)
{
    struct fl_greenlets *greenlets = ext->greenlets;
    struct fl_task *task = greenlets ? *slot_of(greenlets, greenlet) : NULL;
    if (!task)
        return;
    if (greenlets->kept_count == greenlets->kept_capacity) {
        uint32_t capacity = greenlets->kept_capacity ? greenlets->kept_capacity * 2 : 64;
        struct kept *kept = realloc(greenlets->kept, capacity * sizeof *kept);
        if (!kept)
            return; /* its task ends, and the next start finds a new one */
        greenlets->kept = kept;
        greenlets->kept_capacity = capacity;
    }
    PyObject *weak = PyWeakref_NewRef(greenlet, NULL);
    if (!weak) {
        PyErr_Clear();
        return;
    }
    greenlets->kept[greenlets->kept_count++] = (struct kept){weak, task};
    task->seeded_epoch = KEPT;
}

void fl_greenlets_end_others(struct fl_ext_thread *ext)
{
    struct fl_greenlets *greenlets = ext->greenlets;
    fl_ticks now = fl_session_now(fl_engine.session);
    for (uint32_t i = 0; greenlets && i < greenlets->capacity; i++) {
        struct fl_task *task = greenlets->tasks[i];
        if (!task || task == &tombstone)
            continue;
        bool kept = task->seeded_epoch == KEPT;
        task->seeded_epoch = 0;
        if (kept || task == ext->core->main || task == atomic_load(&ext->core->task))
            continue;
        fl_task_end(ext->core, task, now);
        greenlets->tasks[i] = &tombstone;
    }
}

void fl_greenlets_end_dead(struct fl_ext_thread *ext)
{
    struct fl_greenlets *greenlets = ext->greenlets;
    fl_ticks now = fl_now(ext->core);
    for (uint32_t i = 0; greenlets && i < greenlets->kept_count; i++) {
        struct fl_task *task = greenlets->kept[i].task;
        PyObject *greenlet = fl_compat_weak_target(greenlets->kept[i].weak);
        if ((!greenlet || !api.is_active(greenlet)) && task != ext->core->main) {
            struct fl_task **slot = slot_of(greenlets, task->key);
            if (task == atomic_load(&ext->core->task))
                fl_other_place(ext->core, ext->core->main, NULL, 0, now);
            fl_task_end(ext->core, task, now);
            *slot = &tombstone;
        }
        Py_XDECREF(greenlet); /* another one holds it: nothing runs between */
        Py_DECREF(greenlets->kept[i].weak);
    }
    if (greenlets) {
        free(greenlets->kept);
        greenlets->kept = NULL;
        greenlets->kept_count = greenlets->kept_capacity = 0;
    }
}

void fl_greenlets_forget_ended(void)
{
    pthread_mutex_lock(&orphans.lock);
    struct kept *rows = orphans.rows;
    uint32_t count = orphans.count;
    orphans.rows = NULL;
    orphans.count = 0;
    pthread_mutex_unlock(&orphans.lock);
    for (uint32_t i = 0; i < count; i++)
        Py_DECREF(rows[i].weak);
    free(rows);
}

/* Without the GIL. */
static void leave_to_others(const struct fl_greenlets *greenlets)
{
    if (greenlets->kept_count == 0)
        return;
    pthread_mutex_lock(&orphans.lock);
    size_t count = (size_t)orphans.count + greenlets->kept_count;
    struct kept *rows = realloc(orphans.rows, count * sizeof *rows);
    if (rows) {
        memcpy(rows + orphans.count, greenlets->kept, greenlets->kept_count * sizeof *rows);
        orphans.rows = rows;
        orphans.count = (uint32_t)count;
    }
    pthread_mutex_unlock(&orphans.lock);
}

/* The task on whose stack this one runs: itself, unless it is an asyncio task. */
static struct fl_task *base_of(struct fl_task *task)
{
    const struct fl_async_task *async = fl_async_task_of(task);
    return async && async->base ? async->base : task;
}

/* Makes the task of the current greenlet current. True when it is another than before. */
static bool sync_current(struct fl_ext_thread *ext)
{
    struct fl_thread *thread = ext->core;
    PyObject *current = api.get_current();
    if (!current) {
        PyErr_Clear();
        return false;
    }
    PyObject *top = Py_NewRef(current), *parent;
    while ((parent = api.get_parent(top)) != NULL) {
        Py_DECREF(top);
        top = parent;
    }
    PyErr_Clear();
    struct fl_task *before = base_of(atomic_load_explicit(&thread->task, memory_order_relaxed));
    (void)fl_greenlets_set_main(ext, top);
    struct fl_task *task;
    if (current != top) {
        fl_ticks now = fl_now(thread);
        task = *slot_of(ext->greenlets, current);
        if (!task)
            task = add_task(ext, current, now);
        if (task)
            fl_switch(thread, task, now);
    } else if (before != thread->main) {
        fl_switch(thread, thread->main, fl_now(thread));
    }
    Py_DECREF(top);
    Py_DECREF(current); /* never the last reference: it is running */
    return before != base_of(atomic_load_explicit(&thread->task, memory_order_relaxed));
}

bool fl_greenlets_install(struct fl_ext_thread *ext)
{
    uint64_t epoch = atomic_load_explicit(&fl_engine.session->epoch, memory_order_relaxed);
    if (!api.settrace)
        return false;
    atomic_store(&fl_engine.session->switches, true);
    if (!prepare(ext))
        return false;
    if (ext->greenlets->epoch == epoch)
        return ext->lost_track && sync_current(ext);
    PyObject *previous;
    if (call_settrace(tracer, &previous) != 0) {
        PyErr_Clear();
        return false;
    }
    ext->greenlets->epoch = epoch;
    if (previous == tracer)
        Py_DECREF(previous); /* left over from before a stop: it was still there */
    else
        Py_XSETREF(ext->greenlets->previous, previous);
    return sync_current(ext);
}

void fl_greenlets_remove_here(void)
{
    struct fl_ext_thread *ext = fl_thread_cell.ext;
    struct fl_greenlets *greenlets = ext ? ext->greenlets : NULL;
    if (!greenlets || greenlets->epoch == 0 || !api.settrace)
        return;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    remove_from_inside(greenlets);
    PyErr_Restore(type, value, traceback);
}

void fl_greenlets_destroy(struct fl_greenlets *greenlets)
{
    if (!greenlets)
        return;
    leave_to_others(greenlets);
    free(greenlets->kept);
    /* `previous` cannot be released without the GIL: greenlet keeps its own reference with the thread's state, and one
     * more per thread that ended while profiled is the price. */
    free(greenlets->tasks);
    free(greenlets);
}

int fl_greenlets_init(void)
{
    key_name = PyUnicode_InternFromString("name");
    tracer = fl_callback_new(on_switch);
    return key_name && tracer ? 0 : -1;
}
