/*
 * engine.h: the state of the extension: one session, switched on and off. GIL for everything but what is atomic.
 */
#ifndef FL_EXT_ENGINE_H
#define FL_EXT_ENGINE_H

#include "compat.h"
#include "session.h"

struct fl_engine {
    struct fl_session *session; /* made at the first start, lives as long as the process */
    bool running;               /* events are delivered */
    bool builtins;              /* C functions too */
    bool ended;
    uint32_t call_cost, switch_cost; /* ps (own_cost.h); 0: not measured in this process, or the one it comes from */
    bool forked_while_running;       /* in the child of a fork: whether its parent was profiled then */
    struct fl_session_options session_options; /* of the session; outlives a fork */
    /* Counts whatever makes each thread look anew where it stands: a start, greenlet being imported. A thread compares
     * it with its own at each event (threads.h). Starts at 1: a thread that was never seen has 0. */
    uint64_t generation;
};
extern struct fl_engine fl_engine;

struct fl_engine_options {
    bool builtins, seed;
    struct fl_session_options session;
};

/* See _ext.pyi. 0, or -1 with an exception set. */
int fl_engine_start(const struct fl_engine_options *options);
int fl_engine_stop(void);
int fl_engine_end(void);

/* In the child of a fork: nothing of the parent's session is used any more, all events are ignored. */
void fl_engine_after_fork_in_child(void);

#endif
