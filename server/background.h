/*
 * background.h: a native thread that waits until something is due or until it is told to end.
 *
 * All signals are blocked in it from its first instruction, so that none of the program's is ever delivered there. It
 * can be started again once it has ended: around a fork of the program no thread of ours may be there.
 */
#ifndef FL_BACKGROUND_H
#define FL_BACKGROUND_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fl_background {
    pthread_mutex_t lock; /* guards `ends` */
    pthread_cond_t wake;
    bool ends;
    bool runs; /* there is a thread to join: of whoever starts and ends it */
    pthread_t thread;
    void *(*body)(void *);
    void *argument;
    atomic_int tid; /* of the thread, to the system */
};

/* In memory of the caller. Returns 0 or FL_ENOMEM. */
int fl_background_init(struct fl_background *background);

/* No thread runs. */
void fl_background_fini(struct fl_background *background);

/* Runs `body(argument)` in a thread with `stack` bytes of stack, with nothing asked of it. Returns 0, FL_ENOMEM, or
 * FL_ESYSTEM where there can be no thread. Any thread; not while one runs. */
int fl_background_start(struct fl_background *background, size_t stack, void *(*body)(void *), void *argument);

/* Asks the thread to end: fl_background_wait_until() returns false from now on. Any thread. */
void fl_background_ask_to_end(struct fl_background *background);

/* Waits until the thread, which was asked to end, has, and until the system does not count it any more: that may be
 * some microseconds later, and CPython looks. None runs: no-op. */
void fl_background_join(struct fl_background *background);

/* In the thread: sleeps until `due`, ns of CLOCK_MONOTONIC. False: it is to end, at once. */
bool fl_background_wait_until(struct fl_background *background, uint64_t due);

#endif
