#include "functions.h"
#include "asyncio_state.h"
#include "engine.h"
#include "function.h"
#include "greenlets.h"
#include "hash.h"
#include "node.h"

#include <stdlib.h>
#include <string.h>

static char *hidden_folder;

/* C callables by address: a PyMethodDef, or a type. Both mostly live as long as the process. */
static struct {
    const void **keys;
    uint32_t *ids;
    uint32_t capacity, filled;
} callables;

int fl_functions_hide(const char *folder)
{
    char *copy = strdup(folder);
    if (!copy) {
        PyErr_NoMemory();
        return -1;
    }
    free(hidden_folder);
    hidden_folder = copy;
    return 0;
}

uint32_t fl_string_of(PyObject *string)
{
    Py_ssize_t length = 0;
    PyObject *hold;
    const char *text = fl_compat_utf8(string, &length, &hold);
    uint32_t id = text ? fl_strings_add(&fl_engine.session->strings, text, (size_t)length) : 0;
    Py_XDECREF(hold);
    return id;
}

static bool is_hidden(PyObject *file)
{
    Py_ssize_t length;
    PyObject *hold;
    const char *text = fl_compat_utf8(file, &length, &hold);
    size_t prefix = hidden_folder ? strlen(hidden_folder) : 0;
    bool hidden =
        text && prefix && (size_t)length > prefix && strncmp(text, hidden_folder, prefix) == 0 && text[prefix] == '/';
    Py_XDECREF(hold);
    return hidden;
}

static bool ends_with(PyObject *string, const char *end)
{
    Py_ssize_t length = 0;
    PyObject *hold;
    const char *text = fl_compat_utf8(string, &length, &hold);
    size_t want = strlen(end);
    bool yes = text && (size_t)length >= want && memcmp(text + (size_t)length - want, end, want) == 0;
    Py_XDECREF(hold);
    return yes;
}

static fl_code_word flags_of(const PyCodeObject *code)
{
    fl_code_word flags = 0;
    if (code->co_flags & (CO_COROUTINE | CO_ITERABLE_COROUTINE | CO_ASYNC_GENERATOR)) {
        flags |= FL_CODE_ASYNC;
        if (fl_asyncio_is_own_file(code->co_filename))
            flags |= FL_CODE_ASYNCIO;
    }
    if (PyUnicode_CompareWithASCIIString(code->co_name, "select") == 0 && ends_with(code->co_filename, "/selectors.py"))
        flags |= FL_CODE_SELECT;
    return flags;
}

fl_code_word fl_code_first_sight(PyCodeObject *code)
{
    PyObject *type, *value, *traceback;
    fl_code_word word = FL_CODE_HIDDEN;
    /* We may stand in the middle of somebody's exception. */
    PyErr_Fetch(&type, &value, &traceback);
    if (!is_hidden(code->co_filename)) {
        const struct fl_function function = {.name = fl_string_of(code->co_name),
                                             .qualname = fl_string_of(code->co_qualname),
                                             .file = fl_string_of(code->co_filename),
                                             .line = code->co_firstlineno > 0 ? (uint32_t)code->co_firstlineno : 0,
                                             .kind = FL_FUNCTION_PYTHON};
        uint32_t id = fl_functions_add(&fl_engine.session->functions, &function);
        word = id ? id | flags_of(code) : 0;
    }
    if (word != 0 && fl_compat_code_slot_set(code, word) != 0)
        PyErr_Clear();
    /* New code is what follows the import of greenlet or asyncio: a cheap moment to notice it. */
    fl_greenlets_notice();
    fl_asyncio_notice();
    PyErr_Restore(type, value, traceback);
    return word;
}

void fl_code_mark(PyCodeObject *code, fl_code_word flag)
{
    fl_code_word word = fl_compat_code_slot_get(code);
    if (word != 0 && fl_compat_code_slot_set(code, word | flag) != 0)
        PyErr_Clear();
}

static bool grow(void)
{
    uint32_t capacity = callables.capacity ? callables.capacity * 2 : 256;
    const void **keys = calloc(capacity, sizeof *keys);
    uint32_t *ids = calloc(capacity, sizeof *ids);
    if (!keys || !ids) {
        free(keys);
        free(ids);
        return false;
    }
    for (uint32_t i = 0; i < callables.capacity; i++) {
        if (!callables.keys[i])
            continue;
        uint32_t at = (uint32_t)fl_hash_mix((uintptr_t)callables.keys[i]) & (capacity - 1);
        while (keys[at])
            at = (at + 1) & (capacity - 1);
        keys[at] = callables.keys[i];
        ids[at] = callables.ids[i];
    }
    free(callables.keys);
    free(callables.ids);
    callables.keys = keys;
    callables.ids = ids;
    callables.capacity = capacity;
    return true;
}

/* The class that defines this method, found without running code: a method reached through a subclass is no other one.
 */
static const char *owner_of(const PyMethodDef *method, PyObject *self)
{
    PyObject *mro = self ? Py_TYPE(self)->tp_mro : NULL;
    for (Py_ssize_t i = 0; mro && i < PyTuple_GET_SIZE(mro); i++) {
        PyTypeObject *type = (PyTypeObject *)PyTuple_GET_ITEM(mro, i);
        for (const PyMethodDef *m = type->tp_methods; m && m->ml_name; m++)
            if (m == method)
                return type->tp_name;
    }
    return self && !PyModule_Check(self) ? Py_TYPE(self)->tp_name : NULL;
}

static uint32_t add_callable(const void *key, const char *owner, const char *name, PyObject *module)
{
    struct fl_strings *strings = &fl_engine.session->strings;
    char qualname[512];
    if (owner)
        (void)PyOS_snprintf(qualname, sizeof qualname, "%s.%s", owner, name);
    else
        (void)PyOS_snprintf(qualname, sizeof qualname, "%s", name);
    const struct fl_function function = {.name = fl_strings_add(strings, name, strlen(name)),
                                         .qualname = fl_strings_add(strings, qualname, strlen(qualname)),
                                         .file = module ? fl_string_of(module)
                                                        : fl_strings_add(strings, "builtins", strlen("builtins")),
                                         .kind = FL_FUNCTION_C};
    uint32_t id = fl_functions_add(&fl_engine.session->functions, &function);
    if (id == 0 || (callables.filled >= callables.capacity / 2 && !grow()))
        return id;
    uint32_t at = (uint32_t)fl_hash_mix((uintptr_t)key) & (callables.capacity - 1);
    while (callables.keys[at])
        at = (at + 1) & (callables.capacity - 1);
    callables.keys[at] = key;
    callables.ids[at] = id;
    callables.filled++;
    return id;
}

static uint32_t find_callable(const void *key)
{
    if (callables.capacity == 0)
        return 0;
    uint32_t at = (uint32_t)fl_hash_mix((uintptr_t)key) & (callables.capacity - 1);
    while (callables.keys[at] && callables.keys[at] != key)
        at = (at + 1) & (callables.capacity - 1);
    return callables.keys[at] ? callables.ids[at] : 0;
}

uint32_t fl_function_of_callable(PyObject *callable)
{
    uint32_t id;
    if (PyFunction_Check(callable) || PyMethod_Check(callable))
        return 0;
    if (PyCFunction_Check(callable)) {
        const PyMethodDef *method = ((PyCFunctionObject *)callable)->m_ml;
        PyObject *self = PyCFunction_GET_SELF(callable), *module = ((PyCFunctionObject *)callable)->m_module;
        id = find_callable(method);
        return id ? id : add_callable(method, owner_of(method, self), method->ml_name, module);
    }
    if (Py_IS_TYPE(callable, &PyMethodDescr_Type) || Py_IS_TYPE(callable, &PyClassMethodDescr_Type)) {
        const PyMethodDef *method = ((PyMethodDescrObject *)callable)->d_method;
        id = find_callable(method);
        return id ? id : add_callable(method, PyDescr_TYPE(callable)->tp_name, method->ml_name, NULL);
    }
    /* A class, or an instance that can be called: by its type's name, which is a C string and runs no code. */
    PyTypeObject *type = PyType_Check(callable) ? (PyTypeObject *)callable : Py_TYPE(callable);
    id = find_callable(type);
    return id ? id : add_callable(type, NULL, type->tp_name, NULL);
}

void fl_functions_after_fork_in_child(void)
{
    fl_compat_code_slot_after_fork_in_child();
    if (callables.capacity)
        memset(callables.keys, 0, callables.capacity * sizeof *callables.keys);
    callables.filled = 0;
}

bool fl_function_is_c(uint32_t function)
{
    return !(function & FL_ROOT_FUNCTION) &&
           fl_functions_get(&fl_engine.session->functions, function)->kind == FL_FUNCTION_C;
}
