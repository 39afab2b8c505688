#include "functions.h"
#include "asyncio_state.h"
#include "engine.h"
#include "filters.h"
#include "function.h"
#include "greenlets.h"
#include "hash.h"
#include "node.h"
#include "polls.h"
#include "sharing.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static char *hidden_folder;
uint32_t fl_code_now = 0x100;

/*
 * C callables by address: a PyMethodDef, or a type. What lies in the memory of the program or a library stays what it
 * is; what was allocated can be freed, and its address be another callable's. So for those the name is compared too: a
 * row whose name is the same is the same function to us.
 */
struct callable {
    const void *key; /* NULL: free */
    uint32_t id;
    bool may_go; /* compare the name */
};
static struct {
    struct callable *rows; /* open addressing */
    uint32_t capacity, filled;
} callables;
enum { CALLABLES_MAX = 1 << 17 }; /* rows, then it is emptied: a program that makes classes without end */

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

static int small(PyObject *tuple, Py_ssize_t index)
{
    PyObject *item = PyTuple_GET_ITEM(tuple, index);
    return PyLong_Check(item) ? (int)PyLong_AsLong(item) : -1;
}

/* 3.12 gives a lambda that only returns a constant no column: something of the constant stands for it, little enough
 * that code that is made without end stays few functions. */
static uint32_t instead_of_column(const PyCodeObject *code)
{
    Py_ssize_t count = PyTuple_GET_SIZE(code->co_consts);
    PyObject *constant = count > 0 ? PyTuple_GET_ITEM(code->co_consts, count - 1) : Py_None;
    bool simple = PyLong_CheckExact(constant) || PyUnicode_CheckExact(constant) || PyFloat_CheckExact(constant);
    Py_hash_t hash = simple ? PyObject_Hash(constant) : 0;
    return 0x10000u | (uint32_t)(hash & 0xff);
}

/* See struct fl_function. co_positions() is compiled, so nothing of the program runs. */
static uint32_t column_of(PyCodeObject *code)
{
    if (PyUnicode_GET_LENGTH(code->co_name) == 0 || PyUnicode_READ_CHAR(code->co_name, 0) != '<' ||
        PyUnicode_CompareWithASCIIString(code->co_name, "<module>") == 0)
        return 0;
    PyObject *positions = PyObject_CallMethod((PyObject *)code, "co_positions", NULL), *position;
    int first_line = -1, first_column = -1;
    while (positions && (position = PyIter_Next(positions)) != NULL) {
        if (PyTuple_CheckExact(position) && PyTuple_GET_SIZE(position) == 4) {
            int line = small(position, 0), column = small(position, 2);
            /* The code's own beginning stands at no width at all. */
            bool wide = line >= 0 && column >= 0 && (line != small(position, 1) || column != small(position, 3));
            if (wide && (first_line < 0 || line < first_line || (line == first_line && column < first_column))) {
                first_line = line;
                first_column = column;
            }
        }
        Py_DECREF(position);
    }
    Py_XDECREF(positions);
    PyErr_Clear();
    return first_column >= 0 ? (uint32_t)first_column + 1 : instead_of_column(code);
}

static fl_code_word flags_of(const PyCodeObject *code)
{
    fl_code_word flags = 0;
    if (code->co_flags & (CO_COROUTINE | CO_ITERABLE_COROUTINE | CO_ASYNC_GENERATOR)) {
        flags |= FL_CODE_ASYNC;
        if (fl_asyncio_is_own_file(code->co_filename))
            flags |= FL_CODE_ASYNCIO;
    }
    return flags | fl_polls_flag_of(code) | fl_sharing_flag_of(code);
}

fl_code_word fl_code_first_sight(PyCodeObject *code)
{
    PyObject *type, *value, *traceback;
    const fl_code_word now = (fl_code_word)fl_code_now << 32;
    fl_code_word word = FL_CODE_HIDDEN | now;
    /* We may stand in the middle of somebody's exception. */
    PyErr_Fetch(&type, &value, &traceback);
    if (!is_hidden(code->co_filename) && fl_filters_hide(code)) {
        word |= flags_of(code);
    } else if (!is_hidden(code->co_filename)) {
        const struct fl_function function = {.name = fl_string_of(code->co_name),
                                             .qualname = fl_string_of(code->co_qualname),
                                             .file = fl_string_of(code->co_filename),
                                             .line = code->co_firstlineno > 0 ? (uint32_t)code->co_firstlineno : 0,
                                             .kind = FL_FUNCTION_PYTHON,
                                             .column = column_of(code)};
        uint32_t id = fl_functions_add(&fl_engine.session->functions, &function);
        word = id ? id | flags_of(code) | now : 0;
    }
    if (word != 0 && fl_compat_code_slot_set(code, word) != 0)
        PyErr_Clear();
    /* New code is what follows the import of greenlet or asyncio: a cheap moment to notice it. */
    fl_greenlets_notice();
    fl_asyncio_notice();
    PyErr_Restore(type, value, traceback);
    return word;
}

void fl_code_look_again(void)
{
    fl_code_now += 0x100;
    if (fl_code_now == 0)
        fl_code_now = 0x100;
}

void fl_code_mark(PyCodeObject *code, fl_code_word flag)
{
    fl_code_word word = fl_compat_code_slot_get(code);
    if (word != 0 && fl_compat_code_slot_set(code, word | flag) != 0)
        PyErr_Clear();
}

static struct callable *slot_of(const struct callable *rows, uint32_t capacity, const void *key)
{
    uint32_t at = (uint32_t)fl_hash_mix((uintptr_t)key) & (capacity - 1);
    while (rows[at].key && rows[at].key != key)
        at = (at + 1) & (capacity - 1);
    return (struct callable *)&rows[at];
}

static bool make_room(void)
{
    uint32_t capacity = callables.capacity ? callables.capacity * 2 : 256;
    bool empty = capacity > CALLABLES_MAX;
    if (empty)
        capacity = 256;
    struct callable *rows = calloc(capacity, sizeof *rows);
    if (!rows)
        return false;
    for (uint32_t i = 0; !empty && i < callables.capacity; i++)
        if (callables.rows[i].key)
            *slot_of(rows, capacity, callables.rows[i].key) = callables.rows[i];
    free(callables.rows);
    callables.rows = rows;
    callables.capacity = capacity;
    if (empty)
        callables.filled = 0;
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

/* What a callable is shown as. Borrowed texts. */
struct names {
    const char *name, *owner; /* owner: NULL where there is none */
    const char *qualname;     /* NULL: made of the two */
    PyObject *module;         /* a str, or NULL */
};

static uint32_t add_callable(const void *key, const struct names *names, bool may_go)
{
    struct fl_strings *strings = &fl_engine.session->strings;
    char made[512];
    const char *qualname = names->qualname ? names->qualname : names->name;
    if (names->owner) {
        (void)PyOS_snprintf(made, sizeof made, "%s.%s", names->owner, names->name);
        qualname = made;
    }
    const struct fl_function function = {
        .name = fl_strings_add(strings, names->name, strlen(names->name)),
        .qualname = fl_strings_add(strings, qualname, strlen(qualname)),
        .file = names->module ? fl_string_of(names->module) : fl_strings_add(strings, "builtins", strlen("builtins")),
        .kind = FL_FUNCTION_C};
    uint32_t id = fl_functions_add(&fl_engine.session->functions, &function);
    if (id == 0 || (callables.filled >= callables.capacity / 2 && !make_room()))
        return id;
    struct callable *row = slot_of(callables.rows, callables.capacity, key);
    callables.filled += row->key == NULL;
    *row = (struct callable){key, id, may_go};
    return id;
}

/* Is the function with this id called so? */
static bool is_named(uint32_t id, const char *name, bool qualified)
{
    const struct fl_function *function = fl_functions_get(&fl_engine.session->functions, id);
    const struct fl_string *text =
        fl_strings_get(&fl_engine.session->strings, qualified ? function->qualname : function->name);
    return strncmp(text->text, name, FL_STRING_MAX_LENGTH) == 0;
}

/* `name`: its name now, or (qualified) its qualified one. */
static uint32_t find_callable(const void *key, const char *name, bool qualified)
{
    if (callables.capacity == 0)
        return 0;
    const struct callable *row = slot_of(callables.rows, callables.capacity, key);
    if (__builtin_expect(row->key && row->may_go, 0) && !is_named(row->id, name, qualified))
        return 0;
    return row->key ? row->id : 0;
}

/* Does this address lie in the program or a library? Then it is never freed. */
static bool is_static(const void *address)
{
    Dl_info info;
    return dladdr(address, &info) != 0;
}

static uint32_t of_method(const PyMethodDef *method, const char *owner, PyObject *self, PyObject *module)
{
    uint32_t id = find_callable(method, method->ml_name, false);
    if (id)
        return id;
    if (self)
        owner = owner_of(method, self);
    return add_callable(method, &(struct names){.name = method->ml_name, .owner = owner, .module = module},
                        !is_static(method));
}

/* A class that was made while the program runs: by its qualified name, which is one of its C structure's members. */
static uint32_t of_heap_type(PyTypeObject *type)
{
    const PyHeapTypeObject *heap = (PyHeapTypeObject *)type;
    const char *qualname = PyUnicode_AsUTF8(heap->ht_qualname);
    if (!qualname) {
        PyErr_Clear(); /* lone surrogates */
        qualname = type->tp_name;
    }
    uint32_t id = find_callable(type, qualname, true);
    if (id)
        return id;
    PyObject *dict = fl_compat_type_dict(type);
    PyObject *module = dict ? PyDict_GetItemString(dict, "__module__") : NULL;
    id = add_callable(type,
                      &(struct names){.name = type->tp_name,
                                      .qualname = qualname,
                                      .module = module && PyUnicode_Check(module) ? module : NULL},
                      true);
    Py_XDECREF(dict);
    return id;
}

/* Of Cython: an object that begins as a built-in function does, but is of a type of its own. */
static bool is_cython_function(PyObject *callable)
{
    const char *name = Py_TYPE(callable)->tp_name, *last = strrchr(name, '.');
    return strcmp(last ? last + 1 : name, "cython_function_or_method") == 0 &&
           Py_TYPE(callable)->tp_basicsize >= (Py_ssize_t)sizeof(PyCFunctionObject);
}

static uint32_t of_cython_function(PyObject *callable)
{
    const PyMethodDef *method = ((PyCFunctionObject *)callable)->m_ml;
    uint32_t id = find_callable(method, method->ml_name, false);
    if (id)
        return id;
    /* Getters of Cython's, in C. */
    PyObject *qualname = PyObject_GetAttrString(callable, "__qualname__");
    PyErr_Clear();
    PyObject *module = PyObject_GetAttrString(callable, "__module__");
    PyErr_Clear();
    const char *text = qualname && PyUnicode_Check(qualname) ? PyUnicode_AsUTF8(qualname) : NULL;
    PyErr_Clear();
    id = add_callable(method,
                      &(struct names){.name = method->ml_name,
                                      .qualname = text,
                                      .module = module && PyUnicode_Check(module) ? module : NULL},
                      !is_static(method));
    Py_XDECREF(module);
    Py_XDECREF(qualname);
    return id;
}

struct fl_found_last fl_found_last[FL_FOUND_LAST];

uint32_t fl_function_of_other_callable(PyObject *callable)
{
    if (PyMethod_Check(callable))
        callable = PyMethod_GET_FUNCTION(callable);
    if (PyFunction_Check(callable))
        return 0;
    if (PyCFunction_Check(callable)) {
        const PyCFunctionObject *function = (PyCFunctionObject *)callable;
        const PyMethodDef *method = function->m_ml;
        uint32_t id = of_method(method, NULL, PyCFunction_GET_SELF(callable), function->m_module);
        const struct callable *row = callables.capacity ? slot_of(callables.rows, callables.capacity, method) : NULL;
        if (row && row->key && !row->may_go)
            fl_found_last[((uintptr_t)method / sizeof *method) % FL_FOUND_LAST] = (struct fl_found_last){method, id};
        return id;
    }
    if (Py_IS_TYPE(callable, &PyMethodDescr_Type) || Py_IS_TYPE(callable, &PyClassMethodDescr_Type))
        return of_method(((PyMethodDescrObject *)callable)->d_method, PyDescr_TYPE(callable)->tp_name, NULL, NULL);
    if (is_cython_function(callable))
        return of_cython_function(callable);
    /* A class, or an instance that can be called: by its type's name, which runs no code. */
    PyTypeObject *type = PyType_Check(callable) ? (PyTypeObject *)callable : Py_TYPE(callable);
    if (PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE))
        return of_heap_type(type);
    uint32_t id = find_callable(type, type->tp_name, false);
    return id ? id : add_callable(type, &(struct names){.name = type->tp_name}, false);
}

void fl_functions_after_fork_in_child(void)
{
    fl_compat_code_slot_after_fork_in_child();
    if (callables.capacity)
        memset(callables.rows, 0, callables.capacity * sizeof *callables.rows);
    callables.filled = 0;
    memset(fl_found_last, 0, sizeof fl_found_last);
    fl_last_c_function = FL_NO_FUNCTION;
}

uint32_t fl_last_c_function = FL_NO_FUNCTION;

bool fl_function_is_other_c(uint32_t function)
{
    if ((function & FL_ROOT_FUNCTION) ||
        fl_functions_get(&fl_engine.session->functions, function)->kind != FL_FUNCTION_C)
        return false;
    fl_last_c_function = function;
    return true;
}
