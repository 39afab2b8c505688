#include "background.h"
#include "error.h"

#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* At most a second, where nobody gets a processor. */
enum { GONE_TRIES = 10000, GONE_WAIT_NS = 20000 };

int fl_background_init(struct fl_background *background)
{
    pthread_condattr_t monotonic;

    *background = (struct fl_background){0};
    if (pthread_condattr_init(&monotonic) != 0)
        return FL_ENOMEM;
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    int error = pthread_cond_init(&background->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (error != 0)
        return FL_ENOMEM;
    if (pthread_mutex_init(&background->lock, NULL) != 0) {
        pthread_cond_destroy(&background->wake);
        return FL_ENOMEM;
    }
    return 0;
}

void fl_background_fini(struct fl_background *background)
{
    pthread_cond_destroy(&background->wake);
    pthread_mutex_destroy(&background->lock);
}

static void *begin(void *argument)
{
    struct fl_background *background = argument;

    atomic_store(&background->tid, (int)syscall(SYS_gettid));
    return background->body(background->argument);
}

int fl_background_start(struct fl_background *background, size_t stack, void *(*body)(void *), void *argument)
{
    pthread_attr_t attributes;
    sigset_t all, before;

    if (pthread_attr_init(&attributes) != 0)
        return FL_ENOMEM;
    pthread_attr_setstacksize(&attributes, stack);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    background->ends = false;
    background->body = body;
    background->argument = argument;
    background->runs = pthread_create(&background->thread, &attributes, begin, background) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return background->runs ? 0 : FL_ESYSTEM;
}

void fl_background_ask_to_end(struct fl_background *background)
{
    pthread_mutex_lock(&background->lock);
    background->ends = true;
    pthread_cond_signal(&background->wake);
    pthread_mutex_unlock(&background->lock);
}

void fl_background_join(struct fl_background *background)
{
    if (!background->runs)
        return;
    pthread_join(background->thread, NULL);
    background->runs = false;
    for (int i = 0; i < GONE_TRIES && syscall(SYS_tgkill, getpid(), atomic_load(&background->tid), 0) == 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = GONE_WAIT_NS}, NULL);
}

bool fl_background_wait_until(struct fl_background *background, uint64_t due)
{
    const struct timespec at = {.tv_sec = (time_t)(due / 1000000000u), .tv_nsec = (long)(due % 1000000000u)};

    pthread_mutex_lock(&background->lock);
    while (!background->ends && pthread_cond_timedwait(&background->wake, &background->lock, &at) == 0)
        ;
    bool goes_on = !background->ends;
    pthread_mutex_unlock(&background->lock);
    return goes_on;
}
