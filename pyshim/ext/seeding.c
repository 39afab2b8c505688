#include "seeding.h"
#include "asyncio_tasks.h"
#include "find_greenlets.h"
#include "functions.h"
#include "greenlets.h"
#include "hash.h"
#include "hooks.h"
#include "labels.h"
#include "other.h"
#include "polls.h"
#include "stacks.h"
#include "threads.h"
#include "waits.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The greenlets of one thread: those whose line of parents ends at the same main greenlet. */
struct family {
    PyObject *main;
    struct fl_ext_thread *ext; /* NULL: not known which thread that is */
    PyObject *current;         /* the one that runs, if it can be told */
    uint32_t currents;         /* how many it could be: one that is parked without Python frames looks the same */
};

/* What a start or stop has found; only between begin and end. */
static struct {
    bool collected, collector_was_on;
    struct fl_found found;     /* those that are active */
    uint32_t *family_of;       /* shape: found.count */
    PyFrameObject **top_frame; /* likewise; NULL: current, or without Python frames */
    struct family *families;
    uint32_t family_count, family_capacity;
} now_there;

void fl_seeding_begin(void)
{
    fl_greenlets_bury();
    fl_greenlets_forget_ended();
    now_there.collected = false;
    now_there.collector_was_on = PyGC_Disable() != 0;
}

void fl_seeding_end(void)
{
    fl_found_fini(&now_there.found);
    free(now_there.family_of);
    free(now_there.top_frame);
    free(now_there.families);
    bool collector_was_on = now_there.collector_was_on;
    memset(&now_there, 0, sizeof now_there);
    if (collector_was_on)
        (void)PyGC_Enable();
}

/* UINT32_MAX where memory is at its end. */
static uint32_t family_with(PyObject *main)
{
    static uint32_t last;
    if (last < now_there.family_count && now_there.families[last].main == main)
        return last;
    for (last = 0; last < now_there.family_count; last++)
        if (now_there.families[last].main == main)
            return last;
    if (now_there.family_count == now_there.family_capacity) {
        uint32_t capacity = now_there.family_capacity ? now_there.family_capacity * 2 : 16;
        struct family *families = realloc(now_there.families, capacity * sizeof *families);
        if (!families)
            return UINT32_MAX;
        now_there.families = families;
        now_there.family_capacity = capacity;
    }
    now_there.families[now_there.family_count] = (struct family){.main = main};
    return now_there.family_count++;
}

static void may_be_current(struct family *family, PyObject *greenlet)
{
    if (family->current && fl_greenlet_is_hub(family->current))
        return; /* a hub that is parked has frames: so it is the one */
    family->currents = fl_greenlet_is_hub(greenlet) ? 1 : family->currents + 1;
    family->current = greenlet;
}

/* Finds the greenlets that have a stack, and sorts them by thread. */
static void collect(void)
{
    PyTypeObject *type = fl_greenlets_type();
    if (now_there.collected)
        return;
    now_there.collected = true;
    if (!type)
        return;
    struct fl_found *found = &now_there.found;
    fl_find_greenlets(type, found);
    now_there.family_of = malloc((found->count + 1) * sizeof *now_there.family_of);
    now_there.top_frame = malloc((found->count + 1) * sizeof *now_there.top_frame);
    size_t kept = 0;
    for (size_t i = 0; now_there.family_of && now_there.top_frame && i < found->count; i++) {
        PyObject *greenlet = found->rows[i];
        if (!fl_greenlet_is_active(greenlet))
            continue; /* not started, or dead */
        uint32_t family = family_with(fl_greenlet_main_of(greenlet));
        if (family == UINT32_MAX)
            break;
        found->rows[kept] = greenlet;
        now_there.family_of[kept] = family;
        now_there.top_frame[kept] = fl_greenlet_top_frame(greenlet, type);
        if (!now_there.top_frame[kept])
            may_be_current(&now_there.families[family], greenlet);
        kept++;
    }
    found->count = kept;
}

/* A set of code objects: 10,000 greenlets share a few. Open addressing. */
struct codes {
    PyCodeObject **rows;
    size_t capacity, count;
};

static PyCodeObject **slot_in(PyCodeObject **rows, size_t capacity, const PyCodeObject *code)
{
    size_t at = (size_t)fl_hash_mix((uintptr_t)code) & (capacity - 1);
    while (rows[at] && rows[at] != code)
        at = (at + 1) & (capacity - 1);
    return &rows[at];
}

static void add_code(struct codes *codes, PyCodeObject *code)
{
    if (codes->count >= codes->capacity / 2) {
        size_t capacity = codes->capacity ? codes->capacity * 2 : 256;
        PyCodeObject **rows = calloc(capacity, sizeof *rows);
        if (!rows)
            return;
        for (size_t i = 0; i < codes->capacity; i++)
            if (codes->rows[i])
                *slot_in(rows, capacity, codes->rows[i]) = codes->rows[i];
        free(codes->rows);
        codes->rows = rows;
        codes->capacity = capacity;
    }
    PyCodeObject **slot = slot_in(codes->rows, codes->capacity, code);
    codes->count += *slot == NULL;
    *slot = code;
}

void fl_seeding_wake(void)
{
    struct codes codes = {0};
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    collect();
    for (size_t i = 0; i < now_there.found.count; i++) {
        const struct fl_stack *stack = fl_stack_read(now_there.top_frame[i], NULL);
        PyCodeObject *last = NULL;
        for (uint32_t frame = 0; frame < stack->code_count; frame++) {
            if (stack->codes[frame] != last) /* a deep recursion is one look-up */
                add_code(&codes, stack->codes[frame]);
            last = stack->codes[frame];
        }
    }
    for (size_t i = 0; i < codes.capacity; i++)
        if (codes.rows[i])
            fl_hooks_wake(codes.rows[i]);
    free(codes.rows);
    PyErr_Restore(type, value, traceback);
}

/* Where the C stack of a thread is. False: not known. */
struct bounds {
    uintptr_t low, high;
};

static bool stack_of(PyThreadState *state, struct bounds *bounds)
{
    pthread_attr_t attributes;
    void *low;
    size_t size;
    /* The pthread_t of a thread that is gone must not be used: some leave their thread state behind. */
    if (fl_cpu_clock_remote((int)state->native_thread_id) == 0 ||
        pthread_getattr_np((pthread_t)state->thread_id, &attributes) != 0)
        return false;
    bool known = pthread_attr_getstack(&attributes, &low, &size) == 0 && size > 0;
    pthread_attr_destroy(&attributes);
    *bounds = (struct bounds){(uintptr_t)low, (uintptr_t)low + size};
    return known;
}

/* Do parked greenlets of this family run on that C stack? greenlet does not say to which thread a greenlet belongs, but
 * each keeps the bounds of its part of the thread's stack. */
static bool runs_on(uint32_t family, const struct bounds *bounds)
{
    uint32_t looked_at = 0, inside = 0;
    for (size_t i = 0; i < now_there.found.count && looked_at < 4; i++) {
        const uintptr_t *words = fl_greenlet_words(now_there.found.rows[i]);
        if (now_there.family_of[i] != family || !now_there.top_frame[i] || !words)
            continue;
        bool hit = false;
        for (int word = 0; word < FL_GREENLET_WORDS; word++)
            hit |= words[word] >= bounds->low && words[word] < bounds->high;
        looked_at++;
        inside += hit;
    }
    return looked_at > 0 && inside == looked_at;
}

/* List of threads locked. The family of a thread, or NULL. */
static struct family *family_of_thread(struct fl_ext_thread *ext, PyThreadState *state)
{
    struct bounds bounds;
    PyObject *main = fl_greenlets_main(ext);
    for (uint32_t i = 0; main && i < now_there.family_count; i++)
        if (now_there.families[i].main == main)
            return &now_there.families[i];
    if (now_there.family_count == 0 || !stack_of(state, &bounds))
        return NULL;
    struct family *found = NULL;
    for (uint32_t i = 0; i < now_there.family_count; i++) {
        if (now_there.families[i].ext || !runs_on(i, &bounds))
            continue;
        if (found)
            return NULL; /* of two, one is wrong */
        found = &now_there.families[i];
    }
    return found;
}

static uint32_t epoch(void)
{
    return (uint32_t)atomic_load_explicit(&fl_engine.session->epoch, memory_order_relaxed);
}

/* Thread begun (other.h). What it runs now. */
static void tell_running(struct fl_ext_thread *ext, const struct family *family, PyFrameObject *frame)
{
    struct fl_thread *thread = ext->core;
    struct fl_task *task = thread->main;
    if (family && family->currents != 1)
        return; /* the owner will tell at its next event */
    if (family && family->current != family->main)
        task = fl_greenlets_task(ext, family->current);
    if (!task)
        return;
    const struct fl_stack *stack = fl_stack_read(frame, fl_threads_launcher());
    fl_other_place(thread, task, stack->functions, stack->count, fl_now(thread));
    fl_polls_told(thread, task, atomic_load_explicit(&thread->node, memory_order_relaxed));
    task->seeded_epoch = epoch();
}

/* List of threads locked. A thread that is not the calling one, and has Python frames. */
static void tell_thread(PyThreadState *state, PyFrameObject *frame)
{
    struct fl_ext_thread *ext = fl_threads_other(state);
    if (!ext || !fl_other_begin(ext->core))
        return;
    /* In the middle of an asyncio task's step: that is known, and the owner goes on with it. */
    bool in_step = fl_async_task_of(atomic_load(&ext->core->task)) != NULL;
    if (!in_step && atomic_load(&ext->core->epoch) != atomic_load(&fl_engine.session->epoch))
        fl_other_resume(ext->core);
    fl_greenlets_end_dead(ext);
    struct family *family = family_of_thread(ext, state);
    if (family && fl_greenlets_set_main(ext, family->main))
        family->ext = ext;
    if (!in_step)
        tell_running(ext, family, frame);
    fl_other_end(ext->core);
}

/* Thread begun (other.h). */
static void tell_parked(struct fl_ext_thread *ext, PyObject *greenlet, PyFrameObject *top)
{
    struct fl_thread *thread = ext->core;
    struct fl_task *task = fl_greenlets_task(ext, greenlet);
    if (!task || task == atomic_load_explicit(&thread->task, memory_order_relaxed))
        return;
    const struct fl_stack *stack = fl_stack_read(top, fl_threads_launcher());
    bool has_coroutines = false;
    for (uint32_t i = 0; i < stack->code_count; i++)
        has_coroutines |= (stack->codes[i]->co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR)) != 0;
    fl_seed_parked(thread, task, stack->functions, stack->count, fl_now(thread));
    fl_polls_told(thread, task, task->at);
    fl_task_set_wait(task, fl_wait_of(greenlet, fl_greenlets_type()));
    /* An event loop in the middle of a step is told once more when it goes on: only then its task can be told. So is a
     * greenlet that may have a label, which is found in its own context. */
    task->seeded_epoch = has_coroutines || fl_labels_used ? 0 : epoch();
}

/* Without Python frames that is known only where it is known which one is current. */
static bool is_parked(size_t row)
{
    const struct family *family = &now_there.families[now_there.family_of[row]];
    return now_there.top_frame[row] || (family->currents == 1 && family->current != now_there.found.rows[row]);
}

/* List of threads locked. */
static void tell_all_parked(void)
{
    for (uint32_t i = 0; i < now_there.family_count; i++) {
        struct fl_ext_thread *ext = now_there.families[i].ext;
        if (!ext || !fl_other_begin(ext->core))
            continue;
        for (size_t row = 0; row < now_there.found.count; row++)
            if (now_there.family_of[row] == i && is_parked(row))
                tell_parked(ext, now_there.found.rows[row], now_there.top_frame[row]);
        fl_other_end(ext->core);
    }
}

void fl_seeding_tell(void)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    collect();
    fl_threads_end_gone();
    PyThreadState *own_state = PyThreadState_Get();
    struct fl_ext_thread *own = fl_thread_cell.ext;
    (void)fl_threads_lock();
    for (uint32_t i = 0; own && i < now_there.family_count; i++)
        if (now_there.families[i].main == fl_greenlets_main(own))
            now_there.families[i].ext = own;
    for (PyThreadState *state = PyInterpreterState_ThreadHead(PyInterpreterState_Main()); state;
         state = PyThreadState_Next(state)) {
        PyFrameObject *frame = state == own_state ? NULL : PyThreadState_GetFrame(state);
        if (frame && fl_engine.running)
            tell_thread(state, frame);
        Py_XDECREF(frame);
    }
    tell_all_parked();
    fl_threads_unlock();
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
}

/* Thread begun (other.h). */
static void keep(struct fl_ext_thread *ext)
{
    PyObject *main = fl_greenlets_main(ext);
    fl_greenlets_end_dead(ext); /* of a stop before, where the thread did not run meanwhile */
    for (size_t i = 0; i < now_there.found.count; i++)
        if (now_there.families[now_there.family_of[i]].main == main)
            fl_greenlets_keep(ext, now_there.found.rows[i]);
    fl_greenlets_end_others(ext);
}

void fl_seeding_keep(void)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    collect();
    for (struct fl_ext_thread *ext = fl_threads_lock(); ext; ext = ext->next) {
        if (!fl_greenlets_main(ext) || !fl_other_begin(ext->core))
            continue;
        keep(ext);
        fl_other_end(ext->core);
    }
    fl_threads_unlock();
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
}

void fl_seeding_check(struct fl_ext_thread *ext)
{
    if (!fl_greenlets_main(ext))
        return;
    fl_seeding_begin();
    collect();
    keep(ext);
    fl_greenlets_end_dead(ext);
    fl_seeding_end();
}
