#include "asyncio.h"
#include "asyncio_state.h"
#include "asyncio_tasks.h"
#include "event.h"
#include "labels.h"
#include "threads.h"
#include "waits.h"

#include <stdlib.h>
#include <string.h>

/* The dead are looked for as often as costs a ten-thousandth of the time, but not more often than every ten seconds. */
enum { COLLECTED_SECONDS = 10, COLLECTED_COST = 10000 };

struct fl_asyncio {
    struct fl_async_tasks tasks;
    PyObject *loop; /* running on this thread when that was last looked at; address only */

    /* The frames of one suspension yield one after the other, from the innermost to the one that began the step, and
     * all of them the same object. */
    struct fl_node *yielded_at;
    const PyObject *yielded;
    uint32_t wait; /* string id, 0: not known yet */
    bool wait_known;

    PyTypeObject *wrapped; /* what an async generator's values are wrapped in; borrowed */
    fl_ticks look_again;   /* trace time at which the dead are looked for */
};

static struct fl_asyncio *asyncio_of(struct fl_ext_thread *ext)
{
    if (!ext->asyncio)
        ext->asyncio = calloc(1, sizeof *ext->asyncio);
    return ext->asyncio;
}

static struct fl_task *current(const struct fl_ext_thread *ext)
{
    return atomic_load_explicit(&ext->core->task, memory_order_relaxed);
}

static struct fl_node *node_now(const struct fl_ext_thread *ext)
{
    return atomic_load_explicit(&ext->core->node, memory_order_relaxed);
}

static void forget_row(struct fl_ext_thread *ext, struct fl_async_task *task, fl_ticks now)
{
    fl_task_end(ext->core, task->core, now);
    fl_async_tasks_remove(&ext->asyncio->tasks, task);
}

static struct fl_async_task *add_row(struct fl_ext_thread *ext, PyObject *address, fl_ticks now)
{
    struct fl_async_task *task = fl_async_tasks_add(&ext->asyncio->tasks, address);
    if (!task)
        return NULL;
    task->core = fl_task_create(ext->core, now, fl_async_task_key(task));
    if (!task->core) {
        fl_async_tasks_remove(&ext->asyncio->tasks, task);
        return NULL;
    }
    task->core->seeded_epoch = (uint32_t)atomic_load_explicit(&ext->core->session->epoch, memory_order_relaxed);
    return task;
}

/* Its name may change as long as it lives. */
static void read_name(struct fl_async_task *task)
{
    PyObject *name = fl_asyncio_name_object(task->task);
    if (name == task->name)
        return;
    task->name = name;
    fl_task_set_name(task->core, fl_asyncio_name_of(name));
}

/* Where the loop is not asyncio's own it polls in the function that called it. */
static void look_at_loop(struct fl_ext_thread *ext, struct fl_task *base)
{
    const PyObject *loop = ext->asyncio->loop;
    if (loop && fl_async_task_of(base) == NULL && fl_asyncio_is_foreign(ext->asyncio->loop) &&
        atomic_load_explicit(&base->poll, memory_order_relaxed) != node_now(ext))
        fl_task_set_poll(ext->core, base, node_now(ext));
}

static void begin_step(struct fl_ext_thread *ext, struct fl_async_task *task, fl_ticks now)
{
    struct fl_task *outer = current(ext);
    struct fl_async_task *outer_task = fl_async_task_of(outer);
    task->outer = outer;
    task->base = outer_task ? outer_task->base : outer;
    task->base->inner = task->core;
    task->loop = ext->asyncio->loop;
    task->hidden = 0;
    read_name(task);
    fl_switch(ext->core, task->core, now);
    /* It was parked deep in its stack, which is entered again from its beginning. */
    if (task->core->tree->root != task->core->at || ext->core->overflow)
        fl_forget_stack(ext->core, now);
}

/* The task at this address, which is in no step now: the one that was known, or, if that is gone, a new one. */
static struct fl_async_task *row_for(struct fl_ext_thread *ext, PyObject *address, enum fl_entry entry, fl_ticks now)
{
    struct fl_async_task *task = fl_async_tasks_find(&ext->asyncio->tasks, address);
    if (task && entry == FL_ENTRY_CALL && task->core->at->up) {
        /* Its coroutine begins, yet the task that was known here has begun already: that one was collected. Where the
         * coroutine is not Python's own (Cython), it may call any number of those, so that says nothing. */
        PyObject *coroutine = fl_asyncio_coroutine(address);
        if (coroutine && PyCoro_CheckExact(coroutine)) {
            forget_row(ext, task, now);
            task = NULL;
        }
        Py_XDECREF(coroutine);
    }
    if (!task) {
        task = add_row(ext, address, now);
        if (task && __builtin_expect(fl_labels_used, 0))
            fl_labels_begin(task->core, NULL, NULL);
    }
    return task;
}

static void see(PyObject *address, void *context)
{
    struct fl_ext_thread *ext = context;
    struct fl_async_task *task = fl_async_tasks_find(&ext->asyncio->tasks, address);
    if (task)
        task->seen = true;
}

/* Of the loop that runs on this thread; and, where `others`, of all that do not. */
static void end_collected(struct fl_ext_thread *ext, bool others)
{
    struct fl_asyncio *asyncio = ext->asyncio;
    if (!fl_asyncio_known || asyncio->tasks.filled == 0)
        return;
    for (uint32_t i = 0; i < asyncio->tasks.capacity; i++)
        if (asyncio->tasks.rows[i])
            asyncio->tasks.rows[i]->seen = false;
    (void)fl_asyncio_running_surely(&asyncio->loop);
    if (asyncio->loop ? !fl_asyncio_each(asyncio->loop, see, ext) : !others)
        return;
    fl_ticks now = fl_now(ext->core);
    for (uint32_t i = 0; i < asyncio->tasks.capacity;) {
        struct fl_async_task *task = asyncio->tasks.rows[i];
        if (task && !task->seen && !task->outer && task->core != current(ext) &&
            (others || task->loop == asyncio->loop))
            forget_row(ext, task, now); /* another one may move into this place: look at it again */
        else
            i++;
    }
}

static void look_for_collected(struct fl_ext_thread *ext, fl_ticks now)
{
    struct fl_asyncio *asyncio = ext->asyncio;
    fl_ticks begin = fl_now(ext->core);
    if (asyncio->look_again != 0)
        end_collected(ext, false);
    fl_ticks pause = (fl_now(ext->core) - begin) * COLLECTED_COST;
    fl_ticks least = fl_ns_to_ticks((uint64_t)COLLECTED_SECONDS * 1000000000u);
    asyncio->look_again = now + (pause > least ? pause : least);
}

bool fl_asyncio_before(struct fl_ext_thread *ext, enum fl_entry entry)
{
    struct fl_asyncio *asyncio = asyncio_of(ext);
    if (!fl_asyncio_known || !asyncio)
        return false;
    asyncio->yielded_at = NULL;
    PyObject *address = fl_asyncio_running(&asyncio->loop);
    struct fl_task *now_current = current(ext);
    struct fl_async_task *inside = fl_async_task_of(now_current);
    if (!address || (inside && inside->task == address))
        return false;
    struct fl_async_task *task = fl_async_tasks_find(&asyncio->tasks, address);
    /* In the middle of a step, and the stack that is current is a greenlet's. */
    if (task && task->outer && task->base != now_current)
        return false;
    address = fl_asyncio_running_surely(&asyncio->loop);
    if (!address)
        return false;
    fl_ticks now = fl_now(ext->core);
    if (now >= asyncio->look_again)
        look_for_collected(ext, now);
    look_at_loop(ext, now_current);
    task = row_for(ext, address, entry, now);
    if (!task)
        return false; /* counted; its time stays with the loop */
    begin_step(ext, task, now);
    return true;
}

static void end_step(struct fl_ext_thread *ext, struct fl_async_task *task, fl_ticks now)
{
    struct fl_task *outer = task->outer;
    task->outer = NULL;
    task->base->inner = outer == task->base ? NULL : outer;
    ext->asyncio->yielded_at = NULL;
    fl_switch(ext->core, outer, now);
}

/* The task whose step is over now that a frame was left, or NULL. */
static struct fl_async_task *step_over(struct fl_ext_thread *ext)
{
    struct fl_async_task *task = fl_async_task_of(current(ext));
    return task && task->outer && !node_now(ext)->up && !ext->core->overflow && task->hidden == 0 ? task : NULL;
}

void fl_asyncio_after(struct fl_ext_thread *ext, fl_ticks now)
{
    struct fl_async_task *task = step_over(ext);
    if (!task)
        return;
    end_step(ext, task, now);
    forget_row(ext, task, now);
}

static bool is_wrapped(struct fl_asyncio *asyncio, const PyObject *value)
{
    PyTypeObject *type = Py_TYPE(value);
    if (!asyncio->wrapped && strcmp(type->tp_name, "async_generator_wrapped_value") == 0)
        asyncio->wrapped = type;
    return type == asyncio->wrapped;
}

void fl_asyncio_yields(struct fl_ext_thread *ext, PyCodeObject *code, fl_code_word word, int instruction,
                       const PyObject *value)
{
    struct fl_asyncio *asyncio = ext->asyncio;
    /* What an async generator yields to its loop is no suspension of the task. */
    if (!asyncio || !fl_async_task_of(current(ext)) || is_wrapped(asyncio, value))
        return;
    if (!asyncio->yielded_at || asyncio->yielded != value) {
        asyncio->yielded_at = node_now(ext);
        asyncio->yielded = value;
        asyncio->wait_known = false;
    }
    if (asyncio->wait_known)
        return;
    /* Where all of them are asyncio's own, the outermost names it. */
    asyncio->wait = fl_wait_at(code, instruction);
    asyncio->wait_known = !(word & FL_CODE_ASYNCIO);
}

void fl_asyncio_suspended(struct fl_ext_thread *ext, fl_ticks now)
{
    struct fl_async_task *task = step_over(ext);
    if (!task)
        return;
    if (ext->asyncio->yielded_at) {
        fl__move(ext->core, ext->asyncio->yielded_at, now);
        fl_task_set_wait(task->core, ext->asyncio->wait);
    }
    end_step(ext, task, now);
}

void fl_asyncio_hidden(struct fl_ext_thread *ext, bool enters)
{
    struct fl_async_task *task = fl_async_task_of(current(ext));
    if (!task || !task->outer)
        return;
    if (enters)
        task->hidden++;
    else if (task->hidden > 0)
        task->hidden--;
}

void fl_asyncio_selects_hidden(struct fl_ext_thread *ext)
{
    struct fl_asyncio *asyncio = fl_asyncio_known ? asyncio_of(ext) : NULL;
    struct fl_task *task = current(ext);
    const struct fl_node *node = node_now(ext);
    if (!asyncio || fl_async_task_of(task) || ext->core->overflow ||
        atomic_load_explicit(&task->poll, memory_order_relaxed) == node)
        return;
    /* In a loop, and between its tasks. */
    PyObject *running = fl_asyncio_running_surely(&asyncio->loop);
    if (asyncio->loop && !running)
        fl_task_set_poll(ext->core, task, node);
}

void fl_asyncio_forget_steps(struct fl_ext_thread *ext)
{
    struct fl_asyncio *asyncio = ext->asyncio;
    if (!asyncio)
        return;
    struct fl_async_task *inside = fl_async_task_of(current(ext));
    if (inside)
        fl_switch(ext->core, inside->base ? inside->base : ext->core->main, fl_now(ext->core));
    for (uint32_t i = 0; i < asyncio->tasks.capacity; i++) {
        struct fl_async_task *task = asyncio->tasks.rows[i];
        if (!task || !task->outer)
            continue;
        task->base->inner = NULL;
        task->outer = NULL;
    }
    asyncio->yielded_at = NULL;
    end_collected(ext, true);
}

/* The task that runs on this thread and is in no step yet; NULL: there is none. */
static PyObject *running_outside(struct fl_ext_thread *ext)
{
    struct fl_asyncio *asyncio = fl_asyncio_known ? asyncio_of(ext) : NULL;
    PyObject *address = asyncio ? fl_asyncio_running_surely(&asyncio->loop) : NULL;
    const struct fl_async_task *task = address ? fl_async_tasks_find(&asyncio->tasks, address) : NULL;
    return (task && task->outer) || fl_async_task_of(current(ext)) ? NULL : address;
}

PyObject *fl_asyncio_running_coroutine(struct fl_ext_thread *ext)
{
    PyObject *address = running_outside(ext);
    return address ? fl_asyncio_coroutine(address) : NULL;
}

void fl_asyncio_resume_step(struct fl_ext_thread *ext)
{
    PyObject *address = running_outside(ext);
    fl_ticks now = fl_now(ext->core);
    struct fl_async_task *task = address ? row_for(ext, address, FL_ENTRY_RESUME, now) : NULL;
    if (task)
        begin_step(ext, task, now);
}

enum { DEEPEST = 256 };

struct stack {
    uint32_t functions[DEEPEST], count;
    uint32_t wait;
};

static void add_frame(PyCodeObject *code, int instruction, void *context)
{
    struct stack *stack = context;
    fl_code_word word = fl_code_word_of(code);
    if ((uint32_t)word == 0 || stack->count == DEEPEST)
        return;
    stack->functions[stack->count++] = (uint32_t)word;
    /* As in fl_asyncio_yields(): the innermost that is not asyncio's own, else the outermost. */
    if (!(word & FL_CODE_ASYNCIO) || stack->wait == 0)
        stack->wait = fl_wait_at(code, instruction);
}

static void tell_suspended(PyObject *address, void *context)
{
    struct fl_ext_thread *ext = context;
    struct fl_async_task *task = fl_async_tasks_find(&ext->asyncio->tasks, address);
    PyObject *coroutine = task && task->outer ? NULL : fl_asyncio_coroutine(address);
    if (!coroutine)
        return;
    struct stack stack = {.count = 0};
    fl_asyncio_walk(coroutine, add_frame, &stack);
    Py_DECREF(coroutine);
    if (stack.count == 0)
        return;
    fl_ticks now = fl_now(ext->core);
    if (!task)
        task = add_row(ext, address, now);
    if (!task)
        return;
    task->loop = ext->asyncio->loop;
    read_name(task);
    fl_seed_parked(ext->core, task->core, stack.functions, stack.count, now);
    fl_task_set_wait(task->core, stack.wait);
}

void fl_asyncio_tell_suspended(struct fl_ext_thread *ext)
{
    struct fl_asyncio *asyncio = fl_asyncio_known ? asyncio_of(ext) : NULL;
    if (!asyncio)
        return;
    (void)fl_asyncio_running_surely(&asyncio->loop);
    if (asyncio->loop)
        (void)fl_asyncio_each(asyncio->loop, tell_suspended, ext);
}

void fl_asyncio_destroy(struct fl_asyncio *asyncio)
{
    if (!asyncio)
        return;
    fl_async_tasks_fini(&asyncio->tasks);
    free(asyncio);
}
