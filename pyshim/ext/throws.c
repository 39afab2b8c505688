#include "throws.h"
#include "event.h"
#include "functions.h"
#include "threads.h"

#include <opcode.h>
#include <string.h>

uint32_t fl_throws_open;

enum { DEEPEST = 64 };

/* Does this frame wait in `yield from` or `await`? Then it is suspended, although it is on the stack: where it goes on
 * there is a RESUME that says so (2: yield from, 3: await), or the yield right before it. */
static bool waits(PyFrameObject *frame)
{
    if (fl_compat_frame_is_unwound(frame))
        return false;
    PyObject *generator = PyFrame_GetGenerator(frame);
    PyCodeObject *code = generator ? PyFrame_GetCode(frame) : NULL;
    PyObject *bytes = code ? PyCode_GetCode(code) : NULL;
    bool yes = false;
    if (bytes) {
        const unsigned char *units = (const unsigned char *)PyBytes_AS_STRING(bytes);
        int last = (int)PyBytes_GET_SIZE(bytes) - 2, at = PyFrame_GetLasti(frame);
        if (at >= 0 && at < last && units[at] == YIELD_VALUE)
            at += 2;
        yes = at >= 2 && at <= last && units[at] == RESUME && (units[at + 1] & 3) >= 2;
    }
    Py_XDECREF(bytes);
    Py_XDECREF(code);
    Py_XDECREF(generator);
    PyErr_Clear();
    return yes;
}

/* The functions of the frames that wait for the current one, innermost first. */
static uint32_t waiting_functions(uint32_t *functions)
{
    uint32_t count = 0;
    PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get());
    while (frame && count < DEEPEST) {
        PyFrameObject *back = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
        if (!frame || !waits(frame))
            break;
        PyCodeObject *code = PyFrame_GetCode(frame);
        uint32_t function = fl_function_of(code);
        Py_DECREF(code);
        if (function)
            functions[count++] = function;
    }
    Py_XDECREF(frame);
    return count;
}

static struct fl_task *current(const struct fl_ext_thread *ext)
{
    return atomic_load_explicit(&ext->core->task, memory_order_relaxed);
}

static struct fl_node *node_now(const struct fl_ext_thread *ext)
{
    return atomic_load_explicit(&ext->core->node, memory_order_relaxed);
}

static void drop(struct fl_ext_thread *ext, uint32_t index)
{
    fl_throws_open -= ext->told[index].count;
    ext->told_count--;
    memmove(&ext->told[index], &ext->told[index + 1], (ext->told_count - index) * sizeof *ext->told);
}

/* What was told last on the current task's stack, where its lowest frame is on top of that now; or NULL. */
static struct fl_told *on_top(struct fl_ext_thread *ext)
{
    const struct fl_task *task = current(ext);
    uint32_t id = atomic_load_explicit(&task->id, memory_order_relaxed);
    for (uint32_t i = ext->told_count; i-- > 0;)
        if (ext->told[i].task == id)
            return ext->told[i].node == node_now(ext) ? &ext->told[i] : NULL;
    return NULL;
}

/* The lowest one goes on by itself. */
static void one_less(struct fl_ext_thread *ext, struct fl_told *told)
{
    told->node = told->node->up;
    told->count--;
    fl_throws_open--;
    if (told->count == 0)
        drop(ext, (uint32_t)(told - ext->told));
}

static void tell(struct fl_ext_thread *ext, const uint32_t *functions, uint32_t count)
{
    uint32_t shown = 0;
    for (uint32_t i = count; i-- > 0;) {
        fl_enter(ext->core, functions[i], false, fl_now(ext->core));
        shown += ext->core->overflow == 0;
    }
    if (shown < count)
        return; /* the tree is full: where we are is not known exactly anyway */
    if (ext->told_count == FL_TOLD_MAX)
        drop(ext, 0);
    ext->told[ext->told_count++] = (struct fl_told){
        .task = atomic_load_explicit(&current(ext)->id, memory_order_relaxed), .node = node_now(ext), .count = count};
    fl_throws_open += count;
}

bool fl_throws_enter(struct fl_ext_thread *ext, uint32_t function)
{
    struct fl_told *told = fl_throws_open ? on_top(ext) : NULL;
    if (told && told->node->function == function) {
        one_less(ext, told);
        return true;
    }
    uint32_t functions[DEEPEST];
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    uint32_t count = waiting_functions(functions);
    PyErr_Restore(type, value, traceback);
    if (count > 0)
        tell(ext, functions, count);
    return false;
}

void fl_throws_leaving(struct fl_ext_thread *ext, uint32_t function)
{
    struct fl_told *told = on_top(ext);
    if (told && told->node->function == function)
        one_less(ext, told);
}

void fl_throws_yielded(struct fl_ext_thread *ext)
{
    struct fl_told *told = on_top(ext);
    for (uint32_t count = told ? told->count : 0; count > 0; count--) {
        uint32_t function = told->node->function;
        one_less(ext, told); /* with the last one `told` is gone */
        fl_leave(ext->core, function, fl_now(ext->core));
    }
}

void fl_throws_forget(struct fl_ext_thread *ext)
{
    while (ext->told_count > 0)
        drop(ext, ext->told_count - 1);
}
