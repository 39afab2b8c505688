/*
 * live_core.h: a session with a real thread in it, for tests of the server: calls, switches and blocks for as long as
 * it is told to.
 */
#ifndef LIVE_CORE_H
#define LIVE_CORE_H

#include <pthread.h>
#include <stdatomic.h>

#include "session.h"

struct live_core {
    struct fl_session *session;
    pthread_t thread;
    atomic_bool stop;
    atomic_bool stuck; /* no event at all, in a call `hog`, for as long as this is set */
    atomic_uint names; /* distinct functions that it calls; more make the tree grow */
};

/* Starts a session and its thread. */
void live_core_begin(struct live_core *core);

/* Ends the thread and the session, and frees it. */
void live_core_end(struct live_core *core);

#endif
