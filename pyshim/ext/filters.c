#include "filters.h"
#include "functions.h"
#include "polls.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

struct pattern {
    char *text;    /* owned */
    char *variant; /* owned: a second glob that matches as well, or NULL */
    bool is_of_file;
};

struct patterns {
    struct pattern *rows;
    size_t count;
};

static struct patterns include, exclude;
static struct patterns stdlib_folders; /* texts only */

static void patterns_fini(struct patterns *patterns)
{
    for (size_t i = 0; i < patterns->count; i++) {
        free(patterns->rows[i].text);
        free(patterns->rows[i].variant);
    }
    free(patterns->rows);
    *patterns = (struct patterns){0};
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), want = strlen(end);
    return length >= want && strcmp(text + length - want, end) == 0;
}

/* `before` and `after` around a text; NULL where memory is at its end. */
static char *around(const char *before, const char *text, const char *after)
{
    size_t size = strlen(before) + strlen(text) + strlen(after) + 1;
    char *made = malloc(size);
    if (made)
        (void)PyOS_snprintf(made, size, "%s%s%s", before, text, after);
    return made;
}

static bool pattern_init(struct pattern *pattern, const char *text)
{
    pattern->is_of_file = strchr(text, '/') || ends_with(text, ".py") || text[0] == '<';
    pattern->text = around("", text, pattern->is_of_file && ends_with(text, "/") ? "*" : "");
    if (!pattern->text)
        return false;
    if (!pattern->is_of_file)
        pattern->variant = around("", text, ".*");
    else if (text[0] != '/' && text[0] != '<' && text[0] != '*')
        pattern->variant = around("*/", pattern->text, "");
    else
        return true;
    return pattern->variant != NULL;
}

/* 0, or -1 with an exception set. */
static int patterns_init(struct patterns *patterns, PyObject *texts)
{
    *patterns = (struct patterns){0};
    PyObject *items = PySequence_Fast(texts, "patterns must be a sequence");
    if (!items)
        return -1;
    Py_ssize_t count = PySequence_Fast_GET_SIZE(items);
    patterns->rows = calloc((size_t)count + 1, sizeof *patterns->rows);
    bool room = patterns->rows != NULL;
    for (Py_ssize_t i = 0; room && i < count; i++) {
        const char *text = PyUnicode_AsUTF8(PySequence_Fast_GET_ITEM(items, i));
        if (!text)
            break;
        room = pattern_init(&patterns->rows[patterns->count++], text);
    }
    Py_DECREF(items);
    if (!room && !PyErr_Occurred())
        PyErr_NoMemory();
    if (!PyErr_Occurred())
        return 0;
    patterns_fini(patterns);
    return -1;
}

int fl_filters_set(PyObject *include_texts, PyObject *exclude_texts, PyObject *stdlib)
{
    struct patterns new_include, new_exclude = {0}, new_stdlib = {0};
    if (patterns_init(&new_include, include_texts) != 0)
        return -1;
    if (patterns_init(&new_exclude, exclude_texts) != 0 || patterns_init(&new_stdlib, stdlib) != 0) {
        patterns_fini(&new_include);
        patterns_fini(&new_exclude);
        return -1;
    }
    patterns_fini(&include);
    patterns_fini(&exclude);
    patterns_fini(&stdlib_folders);
    include = new_include;
    exclude = new_exclude;
    stdlib_folders = new_stdlib;
    fl_code_look_again();
    return 0;
}

/* How much of a file's path is one of the folders that modules are imported from, its slash included; 0: none. */
static size_t import_folder(const char *file)
{
    PyObject *folders = PySys_GetObject("path"); /* borrowed; the program may have put anything there */
    size_t longest = 0;
    for (Py_ssize_t i = 0; folders && PyList_CheckExact(folders) && i < PyList_GET_SIZE(folders); i++) {
        Py_ssize_t length = 0;
        PyObject *folder = PyList_GET_ITEM(folders, i);
        const char *text = PyUnicode_CheckExact(folder) ? PyUnicode_AsUTF8AndSize(folder, &length) : NULL;
        PyErr_Clear();
        size_t size = (size_t)length;
        while (size > 1 && text[size - 1] == '/')
            size--;
        if (text && size > 1 && size + 1 > longest && strncmp(file, text, size) == 0 && file[size] == '/')
            longest = size + 1;
    }
    return longest;
}

/* The module that a file is imported as; the file's own name where it lies in no folder for modules. */
static void module_of(const char *file, char *module, size_t size)
{
    static const char frozen[] = "<frozen ";
    if (strncmp(file, frozen, sizeof frozen - 1) == 0) {
        (void)PyOS_snprintf(module, size, "%s", file + sizeof frozen - 1);
        module[strcspn(module, ">")] = '\0';
        return;
    }
    size_t folder = import_folder(file);
    const char *last = strrchr(file, '/');
    (void)PyOS_snprintf(module, size, "%s", folder ? file + folder : last ? last + 1 : file);
    if (ends_with(module, ".py"))
        module[strlen(module) - 3] = '\0';
    for (char *c = module; *c; c++)
        if (*c == '/')
            *c = '.';
    if (ends_with(module, ".__init__"))
        module[strlen(module) - strlen(".__init__")] = '\0';
}

static bool matches(const struct patterns *patterns, const char *file, const char *module)
{
    for (size_t i = 0; i < patterns->count; i++) {
        const struct pattern *pattern = &patterns->rows[i];
        const char *subject = pattern->is_of_file ? file : module;
        if (fnmatch(pattern->text, subject, 0) == 0 || (pattern->variant && fnmatch(pattern->variant, subject, 0) == 0))
            return true;
    }
    return false;
}

static bool is_of_stdlib(const char *file)
{
    for (size_t i = 0; i < stdlib_folders.count; i++) {
        const char *folder = stdlib_folders.rows[i].text;
        size_t length = strlen(folder);
        if (strncmp(file, folder, length) == 0 && file[length] == '/')
            return !strstr(file + length, "/site-packages/") && !strstr(file + length, "/dist-packages/");
    }
    return stdlib_folders.count > 0 && strncmp(file, "<frozen ", strlen("<frozen ")) == 0;
}

static bool is_of_hub(const char *file, const PyCodeObject *code)
{
    return (PyUnicode_CompareWithASCIIString(code->co_qualname, "Hub.run") == 0 && ends_with(file, "/gevent/hub.py")) ||
           fl_polls_is_eventlets(code);
}

bool fl_filters_hide(const PyCodeObject *code)
{
    Py_ssize_t length;
    PyObject *hold;
    if (include.count == 0 && exclude.count == 0 && stdlib_folders.count == 0)
        return false;
    char module[1024];
    const char *file = fl_compat_utf8(code->co_filename, &length, &hold);
    bool hide = false;
    if (file && !is_of_hub(file, code)) {
        module_of(file, module, sizeof module);
        bool wanted = matches(&include, file, module);
        hide = (include.count > 0 && !wanted) || (!wanted && is_of_stdlib(file)) || matches(&exclude, file, module);
    }
    Py_XDECREF(hold);
    return hide;
}
