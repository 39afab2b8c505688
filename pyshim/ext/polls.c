#include "polls.h"
#include "asyncio_tasks.h"
#include "engine.h"
#include "session.h"

#include <string.h>

static bool equals(uint32_t string, const char *text)
{
    const struct fl_string *row = fl_strings_get(&fl_engine.session->strings, string);
    return row->length == strlen(text) && memcmp(row->text, text, row->length) == 0;
}

static const char hubs[] = "/eventlet/hubs/";

static bool is_named(const struct fl_node *node, const char *name)
{
    return !(node->function & FL_ROOT_FUNCTION) &&
           equals(fl_functions_get(&fl_engine.session->functions, node->function)->name, name);
}

static bool is_in_hubs(const struct fl_node *node)
{
    const struct fl_function *function = fl_functions_get(&fl_engine.session->functions, node->function);
    const struct fl_string *file = fl_strings_get(&fl_engine.session->strings, function->file);
    return memmem(file->text, file->length, hubs, strlen(hubs)) != NULL;
}

/* Of eventlet's: a hub's entry function, and what it polls in. */
static bool is_eventlet_run(const struct fl_node *node)
{
    return fl_node_is_entry(node) && is_named(node, "run") && is_in_hubs(node);
}

static bool is_eventlet_poll(const struct fl_node *node)
{
    if (node->up && is_named(node, "do_poll"))
        node = node->up;
    return node->up && is_named(node, "wait") && is_eventlet_run(node->up);
}

static bool is_asyncio_poll(const struct fl_node *node)
{
    return node->up && is_named(node, "select") && is_named(node->up, "_run_once");
}

static bool is_called(const PyCodeObject *code, const char *name)
{
    return PyUnicode_CompareWithASCIIString(code->co_name, name) == 0;
}

static bool is_file(const PyCodeObject *code, bool (*matches)(const char *file, size_t length))
{
    Py_ssize_t length = 0;
    PyObject *hold;
    const char *file = fl_compat_utf8(code->co_filename, &length, &hold);
    bool yes = file && matches(file, (size_t)length);
    Py_XDECREF(hold);
    return yes;
}

static bool is_of_hubs(const char *file, size_t length)
{
    return memmem(file, length, hubs, strlen(hubs)) != NULL;
}

static bool is_selectors(const char *file, size_t length)
{
    static const char end[] = "/selectors.py";
    return length >= strlen(end) && memcmp(file + length - strlen(end), end, strlen(end)) == 0;
}

bool fl_polls_is_eventlets(const PyCodeObject *code)
{
    return (is_called(code, "run") || is_called(code, "wait") || is_called(code, "do_poll")) &&
           is_file(code, is_of_hubs);
}

fl_code_word fl_polls_flag_of(const PyCodeObject *code)
{
    bool may_poll = fl_polls_is_eventlets(code) || (is_called(code, "select") && is_file(code, is_selectors));
    return may_poll ? FL_CODE_POLL : 0;
}

/* `node` may be where this task polls. */
static void look(struct fl_thread *thread, struct fl_task *task, const struct fl_node *node)
{
    if (fl_async_task_of(task) || atomic_load_explicit(&task->poll, memory_order_relaxed) == fl_node_in_group(node))
        return;
    if (is_eventlet_poll(node) || is_asyncio_poll(node))
        fl_task_set_poll(thread, task, node);
    else if (!atomic_load_explicit(&task->hub, memory_order_relaxed) && is_eventlet_run(node))
        fl_task_set_hub(thread, task);
}

void fl_polls_entered(struct fl_thread *thread)
{
    if (thread->overflow == 0)
        look(thread, atomic_load_explicit(&thread->task, memory_order_relaxed),
             atomic_load_explicit(&thread->node, memory_order_relaxed));
}

void fl_polls_told(struct fl_thread *thread, struct fl_task *task, const struct fl_node *node)
{
    look(thread, task, node);
    for (; node->up; node = node->up)
        if (fl_node_is_entry(node))
            look(thread, task, node);
}
