#include "labels.h"
#include "callback.h"
#include "event.h"
#include "functions.h"
#include "hash.h"
#include "label.h"
#include "threads.h"

#include <stdlib.h>
#include <string.h>

/* More labels than this share one: a program that puts a number into each would fill the groups. */
enum { LABELS_MAX = 4096, SPAWNED_MAX = 1 << 16 };
static const char others[] = "(other labels)";

bool fl_labels_used;
static PyObject *variable; /* owned: the context variable; its value is a place, a str, or None */
static PyObject *ids;      /* owned: str -> string id of `ids_session` */
static const struct fl_session *ids_session;
static PyObject *on_spawn; /* owned: what gevent calls */
static bool gevent_tells, contexts_are_copied;

struct label {
    PyObject_HEAD
    PyObject *previous; /* owned: str or None */
};

/*
 * Where a task keeps its label in its context. Setting a context variable costs more than all the rest of a label, so
 * the task that made the place writes into it again, for as long as nobody may have copied the context: a copy would
 * see what is written later. Contexts are copied by asyncio; where it is imported, each label is set anew.
 */
struct place {
    PyObject_HEAD
    PyObject *name; /* owned: str or None */
    uint32_t task;  /* that made it */
};

/* The labels of greenlets that were spawned and have not begun: open addressing by address. An entry is overwritten
 * when the address is spawned again, so one of a greenlet that never begins does no harm. */
static struct {
    const PyObject **greenlets; /* NULL: free */
    uint32_t *labels;           /* 0: taken out */
    uint32_t capacity, filled;
} spawned;

static void place_free(PyObject *self)
{
    Py_DECREF(((struct place *)self)->name);
    PyObject_Free(self);
}

static PyTypeObject place_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "flamelet.LabelPlace",
    .tp_doc = "Where a task keeps its label.",
    .tp_basicsize = sizeof(struct place),
    .tp_dealloc = place_free,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
};

/* The label of the calling context: borrowed from `hold`, which is owned; NULL where there is none. */
static PyObject *current(PyObject **hold)
{
    *hold = NULL;
    if (PyContextVar_Get(variable, NULL, hold) != 0)
        PyErr_Clear();
    PyObject *name = *hold && Py_IS_TYPE(*hold, &place_type) ? ((struct place *)*hold)->name : *hold;
    return name && PyUnicode_Check(name) ? name : NULL;
}

/* String id; 0 where memory is at its end. */
static uint32_t id_of(PyObject *name)
{
    if (ids_session != fl_engine.session) {
        /* The child of a fork has a session of its own. */
        PyDict_Clear(ids);
        spawned.filled = 0;
        if (spawned.capacity)
            memset(spawned.greenlets, 0, spawned.capacity * sizeof *spawned.greenlets);
        ids_session = fl_engine.session;
    }
    PyObject *known = PyDict_GetItemWithError(ids, name);
    if (known)
        return (uint32_t)PyLong_AsUnsignedLong(known);
    PyErr_Clear();
    if (PyDict_GET_SIZE(ids) >= LABELS_MAX)
        return fl_strings_add(&fl_engine.session->strings, others, sizeof others - 1);
    uint32_t id = fl_string_of(name);
    PyObject *number = PyLong_FromUnsignedLong(id);
    /* A str's own hash and comparison: a subclass was refused. */
    if (!number || PyDict_SetItem(ids, name, number) != 0)
        PyErr_Clear();
    Py_XDECREF(number);
    return id;
}

/* `task`: id, or 0 for none. `hold`: what the variable has now, or NULL. 0, or -1 with an exception set. */
static int set_in_context(PyObject *name, uint32_t task, PyObject *hold)
{
    if (task != 0 && !contexts_are_copied && hold && Py_IS_TYPE(hold, &place_type) &&
        ((struct place *)hold)->task == task) {
        Py_SETREF(((struct place *)hold)->name, Py_NewRef(name));
        return 0;
    }
    struct place *place = PyObject_New(struct place, &place_type);
    if (!place)
        return -1;
    place->name = Py_NewRef(name);
    place->task = task;
    PyObject *token = PyContextVar_Set(variable, (PyObject *)place);
    Py_DECREF(place);
    Py_XDECREF(token);
    return token ? 0 : -1;
}

/* `name`: str or None; `hold`: see set_in_context(). 0, or -1 with an exception set. */
static int set(PyObject *name, PyObject *hold)
{
    struct fl_thread *thread = fl_engine.running ? fl_thread_here(FL_SEED_ALL) : NULL;
    uint32_t task = thread ? fl_label_task(thread) : 0;
    if (set_in_context(name, task, hold) != 0)
        return -1;
    if (thread)
        fl_label_set(thread, name == Py_None ? 0 : id_of(name), fl_now(thread));
    return 0;
}

static PyObject *enter(PyObject *self, PyObject *unused)
{
    (void)unused;
    return Py_NewRef(self);
}

static PyObject *leave(PyObject *self, PyObject *unused)
{
    (void)unused;
    PyObject *hold;
    (void)current(&hold);
    int result = set(((struct label *)self)->previous, hold);
    Py_XDECREF(hold);
    return result == 0 ? Py_NewRef(Py_None) : NULL;
}

static void label_free(PyObject *self)
{
    Py_DECREF(((struct label *)self)->previous);
    PyObject_Free(self);
}

static PyMethodDef label_methods[] = {
    {"__enter__", enter, METH_NOARGS, NULL}, {"__exit__", leave, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};

static PyTypeObject label_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "flamelet.Label",
    .tp_doc = "What label() returns: as a context manager it puts back the label that was there before.",
    .tp_basicsize = sizeof(struct label),
    .tp_dealloc = label_free,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_methods = label_methods,
};

static uint32_t place_of(const PyObject *greenlet)
{
    uint32_t at = (uint32_t)fl_hash_mix((uintptr_t)greenlet) & (spawned.capacity - 1);
    while (spawned.greenlets[at] && spawned.greenlets[at] != greenlet)
        at = (at + 1) & (spawned.capacity - 1);
    return at;
}

/* Makes room for one more; at the bound all are forgotten. False where memory is at its end. */
static bool make_room(void)
{
    if (spawned.filled < spawned.capacity / 2)
        return true;
    uint32_t old_capacity = spawned.capacity, alive = 0;
    const PyObject **old = spawned.greenlets;
    uint32_t *old_labels = spawned.labels;
    for (uint32_t i = 0; i < old_capacity; i++)
        alive += old[i] && old_labels[i] != 0;
    bool forget = alive >= SPAWNED_MAX / 2;
    uint32_t capacity = forget || alive == 0 ? 64 : old_capacity;
    while (!forget && capacity < alive * 4)
        capacity *= 2;
    const PyObject **greenlets = calloc(capacity, sizeof *greenlets);
    uint32_t *labels = calloc(capacity, sizeof *labels);
    if (!greenlets || !labels) {
        free(greenlets);
        free(labels);
        return false;
    }
    spawned.greenlets = greenlets;
    spawned.labels = labels;
    spawned.capacity = capacity;
    spawned.filled = 0;
    for (uint32_t i = 0; !forget && i < old_capacity; i++) {
        if (!old[i] || old_labels[i] == 0)
            continue;
        uint32_t at = place_of(old[i]);
        greenlets[at] = old[i];
        labels[at] = old_labels[i];
        spawned.filled++;
    }
    free(old);
    free(old_labels);
    return true;
}

/* gevent: whoever runs now spawns this greenlet. */
static PyObject *spawns(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    (void)self, (void)kwnames;
    PyObject *hold;
    PyObject *name = PyVectorcall_NARGS(nargsf) == 1 && fl_engine.session ? current(&hold) : NULL;
    uint32_t label = name ? id_of(name) : 0;
    if (PyVectorcall_NARGS(nargsf) == 1 && fl_engine.session)
        Py_XDECREF(hold);
    if ((label != 0 || spawned.filled > 0) && make_room()) {
        uint32_t at = place_of(args[0]);
        if (spawned.greenlets[at] || label != 0) {
            spawned.filled += !spawned.greenlets[at];
            spawned.greenlets[at] = args[0];
            spawned.labels[at] = label;
        }
    }
    Py_RETURN_NONE;
}

static uint32_t take_spawned(const PyObject *greenlet)
{
    if (spawned.filled == 0 || !greenlet)
        return 0;
    uint32_t at = place_of(greenlet), label = spawned.labels[at];
    spawned.labels[at] = 0;
    return label;
}

/* Asks gevent to tell of spawns. Labels work without: then greenlets do not inherit them. */
static void listen_to_gevent(PyObject *modules)
{
    PyObject *module = PyDict_GetItemString(modules, "gevent.greenlet");
    PyObject *type = module ? PyObject_GetAttrString(module, "Greenlet") : NULL;
    PyObject *done = type ? PyObject_CallMethod(type, "add_spawn_callback", "O", on_spawn) : NULL;
    gevent_tells = done != NULL;
    Py_XDECREF(done);
    Py_XDECREF(type);
    PyErr_Clear();
}

/* What has been imported meanwhile that matters to labels. Cheap where nothing was. */
static void notice_imports(void)
{
    static Py_ssize_t seen;
    PyObject *modules = PyImport_GetModuleDict();
    if (!modules || PyDict_GET_SIZE(modules) == seen)
        return;
    seen = PyDict_GET_SIZE(modules);
    contexts_are_copied = PyDict_GetItemString(modules, "asyncio") != NULL;
    if (!gevent_tells)
        listen_to_gevent(modules);
}

PyObject *fl_labels_set(PyObject *self, PyObject *name)
{
    (void)self;
    if (!PyUnicode_CheckExact(name) && name != Py_None) {
        PyErr_Format(PyExc_TypeError, "label() takes a str, or None to take the label away, not %.100s",
                     Py_TYPE(name)->tp_name);
        return NULL;
    }
    fl_labels_used = true;
    notice_imports();
    struct label *label = PyObject_New(struct label, &label_type);
    if (!label)
        return NULL;
    PyObject *hold;
    PyObject *before = current(&hold);
    label->previous = Py_NewRef(before ? before : Py_None);
    if (set(name, hold) != 0)
        Py_CLEAR(label);
    Py_XDECREF(hold);
    return (PyObject *)label;
}

void fl_labels_begin(struct fl_task *task, const PyObject *greenlet, const struct fl_task *parent)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    uint32_t spawner = take_spawned(greenlet);
    PyObject *hold;
    PyObject *name = current(&hold);
    uint32_t label = name ? id_of(name) : spawner ? spawner : parent ? parent->label : 0;
    if (label && !name) {
        /* What a label in it replaces, and what it hands on, is what it inherited. */
        const struct fl_string *text = fl_strings_get(&fl_engine.session->strings, label);
        PyObject *inherited = PyUnicode_DecodeUTF8(text->text, (Py_ssize_t)text->length, "surrogatepass");
        PyObject *token = inherited ? PyContextVar_Set(variable, inherited) : NULL;
        Py_XDECREF(token);
        Py_XDECREF(inherited);
    }
    Py_XDECREF(hold);
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
    fl_label_inherit(task, label);
}

void fl_labels_find(struct fl_thread *thread)
{
    PyObject *hold;
    PyObject *name = current(&hold);
    fl_label_set(thread, name ? id_of(name) : 0, fl_now(thread));
    Py_XDECREF(hold);
}

int fl_labels_init(void)
{
    variable = PyContextVar_New("flamelet.label", Py_None);
    ids = PyDict_New();
    on_spawn = fl_callback_new(spawns);
    return variable && ids && on_spawn && PyType_Ready(&place_type) == 0 ? PyType_Ready(&label_type) : -1;
}
