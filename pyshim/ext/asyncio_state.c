#include "asyncio_state.h"
#include "engine.h"
#include "functions.h"

#include <stdlib.h>
#include <string.h>

#if PY_VERSION_HEX >= 0x030e0000
#define Py_BUILD_CORE 1
#include <internal/pycore_tstate.h>
#undef Py_BUILD_CORE
#endif

bool fl_asyncio_known;

/* Of module _asyncio, which lives as long as the process; all owned. */
static struct {
    PyObject *get_running_loop; /* _get_running_loop(): None where there is none */
    PyObject *current_task;     /* current_task(loop); NULL on 3.11 */
    PyObject *current_tasks;    /* {loop: task}, up to 3.13 */
    PyTypeObject *task_type;
    PyObject *get_name, *get_coro; /* its methods, unbound */
} api;

static char *own_folder; /* with its last slash */
static size_t own_folder_length;

/* Names that asyncio made up ("Task-7"), of which only some are copied. */
enum { DEFAULT_NAMES = 4096 };
static uint32_t default_names;

/* Where in a task's memory its name is. It is looked for at the first task, and believed where the coroutine, too, is
 * found, right before it. */
static struct {
    bool tried;
    Py_ssize_t name; /* bytes into the object; 0: not known */
} offset;

bool fl_asyncio_is_own_file(PyObject *filename)
{
    Py_ssize_t length = 0;
    PyObject *hold;
    if (!own_folder) {
        PyObject *modules = PyImport_GetModuleDict();
        PyObject *module = modules ? PyDict_GetItemString(modules, "asyncio") : NULL;
        PyObject *globals = module && PyModule_Check(module) ? PyModule_GetDict(module) : NULL;
        PyObject *file = globals ? PyDict_GetItemString(globals, "__file__") : NULL;
        const char *text = file ? fl_compat_utf8(file, &length, &hold) : NULL;
        const char *slash = text ? strrchr(text, '/') : NULL;
        if (slash) {
            own_folder_length = (size_t)(slash - text) + 1;
            own_folder = strndup(text, own_folder_length);
        }
        if (file)
            Py_XDECREF(hold);
        if (!own_folder)
            return false;
    }
    const char *text = fl_compat_utf8(filename, &length, &hold);
    bool own = text && (size_t)length > own_folder_length && strncmp(text, own_folder, own_folder_length) == 0;
    Py_XDECREF(hold);
    return own;
}

static PyObject *item(PyObject *globals, const char *name)
{
    return Py_XNewRef(PyDict_GetItemString(globals, name));
}

void fl_asyncio_notice(void)
{
    if (fl_asyncio_known)
        return;
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *module = modules ? PyDict_GetItemString(modules, "_asyncio") : NULL;
    PyObject *globals = module && PyModule_Check(module) ? PyModule_GetDict(module) : NULL;
    if (!globals || api.get_running_loop)
        return; /* not imported; or something is missing, and always will be */
    api.get_running_loop = item(globals, "_get_running_loop");
    api.current_task = item(globals, "current_task");
    api.current_tasks = item(globals, "_current_tasks");
    if (api.current_tasks && !PyDict_CheckExact(api.current_tasks))
        Py_CLEAR(api.current_tasks);
    PyObject *type = PyDict_GetItemString(globals, "Task");
    PyObject *dict = type && PyType_Check(type) ? fl_compat_type_dict((PyTypeObject *)type) : NULL;
    if (dict) {
        api.task_type = (PyTypeObject *)Py_NewRef(type);
        api.get_name = item(dict, "get_name");
        api.get_coro = item(dict, "get_coro");
        Py_DECREF(dict);
    }
    fl_asyncio_known = api.get_running_loop && (api.current_tasks || api.current_task) && api.get_name && api.get_coro;
}

/* Borrowed: whoever runs the loop holds it. */
static PyObject *running_loop(void)
{
    PyObject *loop = PyObject_CallNoArgs(api.get_running_loop);
    if (!loop) {
        PyErr_Clear();
        return NULL;
    }
    Py_DECREF(loop);
    return loop == Py_None ? NULL : loop;
}

/* Borrowed: asyncio holds the task while its step runs. */
static PyObject *ask(PyObject *loop)
{
    PyObject *task = loop && api.current_task ? PyObject_CallOneArg(api.current_task, loop) : NULL;
    if (!task) {
        PyErr_Clear();
        return NULL;
    }
    Py_DECREF(task);
    return task == Py_None ? NULL : task;
}

/* The dictionary has an entry for each loop that is in the middle of a step, on whichever thread. */
static PyObject *find(PyObject *loop)
{
    PyObject *key, *value;
    Py_ssize_t position = 0;
    while (loop && PyDict_Next(api.current_tasks, &position, &key, &value))
        if (key == loop)
            return value == Py_None ? NULL : value;
    return NULL;
}

static PyObject *slowly(PyObject **loop)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    *loop = running_loop();
    PyObject *task = api.current_tasks ? find(*loop) : ask(*loop);
    PyErr_Restore(type, value, traceback);
    return task;
}

#if PY_VERSION_HEX >= 0x030e0000

PyObject *fl_asyncio_running_surely(PyObject **loop)
{
    /* The words of the thread state are private to CPython, so they are believed once they agreed with its function. */
    static enum { UNTRIED, GOOD, BAD } layout;
    const _PyThreadStateImpl *state = (const _PyThreadStateImpl *)PyThreadState_Get();
    if (__builtin_expect(layout == GOOD, 1)) {
        *loop = state->asyncio_running_loop;
        return state->asyncio_running_task;
    }
    PyObject *task = slowly(loop);
    if (layout == UNTRIED && task)
        layout = state->asyncio_running_loop == *loop && state->asyncio_running_task == task ? GOOD : BAD;
    return task;
}

PyObject *fl_asyncio_running(PyObject **loop)
{
    return fl_asyncio_running_surely(loop);
}

#else

PyObject *fl_asyncio_running_surely(PyObject **loop)
{
    return slowly(loop);
}

PyObject *fl_asyncio_running(PyObject **loop)
{
    if (!api.current_tasks)
        return slowly(loop);
    if (PyDict_GET_SIZE(api.current_tasks) == 0)
        return NULL;
    PyObject *task = find(*loop);
    return task ? task : slowly(loop);
}

#endif

bool fl_asyncio_is_foreign(PyObject *loop)
{
    PyObject *mro = Py_TYPE(loop)->tp_mro;
    for (Py_ssize_t i = 0; mro && i < PyTuple_GET_SIZE(mro); i++)
        if (strcmp(((PyTypeObject *)PyTuple_GET_ITEM(mro, i))->tp_name, "BaseEventLoop") == 0)
            return false;
    return true;
}

static PyObject **word(PyObject *task, Py_ssize_t at)
{
    return (PyObject **)(void *)((char *)task + at);
}

static void learn_offset(PyObject *task, const PyObject *name)
{
    PyObject *coroutine = PyObject_CallOneArg(api.get_coro, task);
    Py_ssize_t step = (Py_ssize_t)sizeof(PyObject *), found = 0;
    offset.tried = true;
    /* From behind the object's head; the coroutine stands before the name. */
    for (Py_ssize_t at = (Py_ssize_t)sizeof(PyObject) + step; at + step <= api.task_type->tp_basicsize; at += step) {
        if (*word(task, at) != name || *word(task, at - step) != coroutine)
            continue;
        found = found == 0 ? at : -1;
    }
    offset.name = found > 0 && coroutine && coroutine != Py_None ? found : 0;
    Py_XDECREF(coroutine);
    PyErr_Clear();
}

/* A task that is written in Python keeps its name in its dictionary. */
static PyObject *name_of_python_task(PyObject *task)
{
    PyObject *dict = PyObject_GenericGetDict(task, NULL);
    PyObject *name = dict && PyDict_CheckExact(dict) ? PyDict_GetItemString(dict, "_name") : NULL;
    Py_XDECREF(dict); /* the task holds it */
    return name && PyUnicode_CheckExact(name) ? name : NULL;
}

PyObject *fl_asyncio_name_object(PyObject *task)
{
    bool is_c = PyObject_TypeCheck(task, api.task_type);
    if (is_c && offset.name > 0)
        return *word(task, offset.name);
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *name = is_c ? PyObject_CallOneArg(api.get_name, task) : Py_XNewRef(name_of_python_task(task));
    if (name && is_c && !offset.tried)
        learn_offset(task, name);
    Py_XDECREF(name); /* the task holds it */
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
    return name;
}

/* "Task-" and a number. */
static bool is_default(const char *name, Py_ssize_t length)
{
    const char prefix[] = "Task-";
    Py_ssize_t i = (Py_ssize_t)sizeof prefix - 1;
    if (length <= i || strncmp(name, prefix, (size_t)i) != 0)
        return false;
    while (i < length && name[i] >= '0' && name[i] <= '9')
        i++;
    return i == length;
}

uint32_t fl_asyncio_name_of(PyObject *name_object)
{
    char made[32];
    const char *text = NULL;
    Py_ssize_t length = 0;
    PyObject *hold = NULL, *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (name_object && PyUnicode_Check(name_object)) {
        text = fl_compat_utf8(name_object, &length, &hold);
    } else if (name_object && PyLong_CheckExact(name_object)) {
        length = PyOS_snprintf(made, sizeof made, "Task-%llu", PyLong_AsUnsignedLongLong(name_object));
        text = made;
    }
    uint32_t id = 0;
    if (text && (!is_default(text, length) || default_names++ < DEFAULT_NAMES))
        id = fl_strings_add(&fl_engine.session->strings, text, (size_t)length);
    if (default_names > DEFAULT_NAMES)
        default_names = DEFAULT_NAMES;
    Py_XDECREF(hold);
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
    return id;
}

PyObject *fl_asyncio_coroutine(PyObject *task)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *coroutine;
    if (PyObject_TypeCheck(task, api.task_type)) {
        coroutine = PyObject_CallOneArg(api.get_coro, task);
    } else {
        PyObject *dict = PyObject_GenericGetDict(task, NULL);
        coroutine = dict && PyDict_CheckExact(dict) ? Py_XNewRef(PyDict_GetItemString(dict, "_coro")) : NULL;
        Py_XDECREF(dict);
    }
    if (coroutine == Py_None)
        Py_CLEAR(coroutine);
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
    return coroutine;
}

/* Attributes of the three kinds: all of them are read by CPython's own getters. */
static const char *const *attributes_of(PyObject *awaited)
{
    static const char *const coroutine[] = {"cr_code", "cr_frame", "cr_await"};
    static const char *const generator[] = {"gi_code", "gi_frame", "gi_yieldfrom"};
    static const char *const async_generator[] = {"ag_code", "ag_frame", "ag_await"};
    if (PyCoro_CheckExact(awaited))
        return coroutine;
    if (PyGen_CheckExact(awaited))
        return generator;
    return PyAsyncGen_CheckExact(awaited) ? async_generator : NULL;
}

void fl_asyncio_walk(PyObject *coroutine, void (*visit)(PyCodeObject *code, int instruction, void *context),
                     void *context)
{
    PyObject *type, *value, *traceback, *awaited;
    const char *const *attributes;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *suspended = PyCoro_CheckExact(coroutine) ? PyObject_GetAttrString(coroutine, "cr_suspended") : NULL;
    awaited = suspended == Py_True ? Py_NewRef(coroutine) : NULL;
    Py_XDECREF(suspended);
    while (awaited && (attributes = attributes_of(awaited)) != NULL) {
        PyObject *code = PyObject_GetAttrString(awaited, attributes[0]);
        PyObject *frame = PyObject_GetAttrString(awaited, attributes[1]);
        PyObject *next = PyObject_GetAttrString(awaited, attributes[2]);
        if (code && frame && PyFrame_Check(frame))
            visit((PyCodeObject *)code, PyFrame_GetLasti((PyFrameObject *)frame), context);
        Py_XDECREF(code);
        Py_XDECREF(frame);
        Py_SETREF(awaited, next);
    }
    Py_XDECREF(awaited);
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
}

struct visit {
    PyObject *loop;
    void (*call)(PyObject *task, void *context);
    void *context;
};

/* A finished task may still be listed; whoever visits it has to expect that. */
static void visit_task(const struct visit *visit, PyObject *task)
{
    if (PyObject_TypeCheck(task, api.task_type)) {
        PyObject *loop = PyObject_GetAttrString(task, "_loop");
        bool same = loop == visit->loop;
        Py_XDECREF(loop); /* the task holds it */
        if (!same)
            return;
    }
    visit->call(task, visit->context);
}

/* `things` is iterable, of tasks or of weak references to them; the latter may be gone. */
static bool visit_all(const struct visit *visit, PyObject *things)
{
    PyObject *iterator = things ? PyObject_GetIter(things) : NULL, *thing;
    if (!iterator)
        return false;
    while ((thing = PyIter_Next(iterator)) != NULL) {
        PyObject *task = PyWeakref_Check(thing) ? fl_compat_weak_target(thing) : Py_NewRef(thing);
        if (task)
            visit_task(visit, task);
        Py_XDECREF(task);
        Py_DECREF(thing);
    }
    Py_DECREF(iterator);
    return !PyErr_Occurred();
}

/* Of a WeakSet the plain set of weak references that it keeps. */
static PyObject *references_of(PyObject *weak_set)
{
    PyObject *data = weak_set ? PyObject_GetAttrString(weak_set, "data") : NULL;
    if (data && !PyAnySet_CheckExact(data))
        Py_CLEAR(data);
    return data;
}

bool fl_asyncio_each(PyObject *loop, void (*visit)(PyObject *task, void *context), void *context)
{
    const struct visit v = {loop, visit, context};
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *module = PyDict_GetItemString(PyImport_GetModuleDict(), "_asyncio");
    PyObject *globals = module && PyModule_Check(module) ? PyModule_GetDict(module) : NULL;
    PyObject *all_tasks = globals ? PyDict_GetItemString(globals, "all_tasks") : NULL;
    bool found;
    if (all_tasks) { /* 3.14 on */
        PyObject *tasks = PyObject_CallOneArg(all_tasks, loop);
        found = visit_all(&v, tasks);
        Py_XDECREF(tasks);
    } else {
        PyObject *weak = globals ? PyDict_GetItemString(globals, "_scheduled_tasks") : NULL;
        PyObject *references = references_of(weak || !globals ? weak : PyDict_GetItemString(globals, "_all_tasks"));
        PyObject *eager = globals ? PyDict_GetItemString(globals, "_eager_tasks") : NULL;
        found = visit_all(&v, references) && (!eager || visit_all(&v, eager));
        Py_XDECREF(references);
    }
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
    return found;
}

void fl_asyncio_state_after_fork_in_child(void)
{
    default_names = 0;
}
