#include "live_core.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "event.h"
#include "thread.h"

static void sleep_us(long us)
{
    nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
}

static fl_function_id function(struct fl_session *session, const char *name)
{
    struct fl_function row = {.kind = FL_FUNCTION_MADE};
    row.name = row.qualname = fl_strings_add(&session->strings, name, strlen(name));
    return fl_functions_add(&session->functions, &row);
}

/* A call of function number `name`, with one below it. */
static void call_one(struct live_core *core, struct fl_thread *thread, unsigned name)
{
    char text[32];
    snprintf(text, sizeof text, "f%u", name);
    fl_function_id outer = function(core->session, text), inner = function(core->session, "inner");
    fl_enter(thread, outer, true, fl_now(thread));
    fl_enter(thread, inner, true, fl_now(thread));
    fl_leave(thread, inner, fl_now(thread));
    fl_leave(thread, outer, fl_now(thread));
}

static void *run(void *argument)
{
    struct live_core *core = argument;
    uint32_t name = fl_strings_add(&core->session->strings, "main", 4);
    struct fl_thread *thread = fl_thread_attach(core->session, (uint32_t)syscall(SYS_gettid), name);
    struct fl_task *first = thread ? atomic_load(&thread->task) : NULL;
    struct fl_task *other = thread ? fl_task_create(thread, fl_now(thread), NULL) : NULL;
    fl_function_id hog = function(core->session, "hog");

    for (unsigned round = 0; other && !atomic_load(&core->stop); round++) {
        unsigned names = atomic_load(&core->names);
        for (unsigned i = 0; i < 20; i++)
            call_one(core, thread, names ? (round * 20 + i) % names : i);
        fl_switch(thread, round % 2 ? first : other, fl_now(thread));
        if (atomic_load(&core->stuck)) {
            fl_enter(thread, hog, true, fl_now(thread));
            while (atomic_load(&core->stuck) && !atomic_load(&core->stop))
                sleep_us(1000);
            fl_leave(thread, hog, fl_now(thread));
        }
        sleep_us(500);
    }
    if (thread)
        fl_thread_detach(thread);
    return NULL;
}

void live_core_begin(struct live_core *core)
{
    memset(core, 0, sizeof *core);
    assert_int_equal(fl_session_create(NULL, &core->session), 0);
    fl_session_start(core->session);
    assert_int_equal(pthread_create(&core->thread, NULL, run, core), 0);
}

void live_core_end(struct live_core *core)
{
    atomic_store(&core->stop, true);
    pthread_join(core->thread, NULL);
    fl_session_destroy(core->session);
}
