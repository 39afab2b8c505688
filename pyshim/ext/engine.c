#include "engine.h"
#include "asyncio_state.h"
#include "collector.h"
#include "error.h"
#include "functions.h"
#include "greenlets.h"
#include "hooks.h"
#include "own_cost.h"
#include "seeding.h"
#include "threads.h"
#include "waits.h"

struct fl_engine fl_engine = {.generation = 1};

static int create_session(const struct fl_session_options *options)
{
    fl_engine.session_options = *options;
    int error = fl_session_create(options, &fl_engine.session);
    if (error == FL_ESTATE) {
        PyErr_SetString(PyExc_RuntimeError, "flamelet: the clock that was asked for does not exist on this machine "
                                            "(FLAMELET_CLOCK, FLAMELET_CPU_CLOCK); leave it at \"auto\"");
        return -1;
    }
    if (error != 0) {
        PyErr_Format(PyExc_RuntimeError, "flamelet: %s", fl_error_text(error));
        return -1;
    }
    return 0;
}

int fl_engine_start(const struct fl_engine_options *options)
{
    if (fl_engine.ended) {
        PyErr_SetString(PyExc_RuntimeError, "flamelet: the program has ended");
        return -1;
    }
    if (fl_engine.running)
        return 0;
    if (fl_compat_code_slot_init() != 0)
        return -1;
    struct fl_own_cost cost = {0};
    bool is_first = fl_engine.session == NULL, measures = is_first && fl_engine.call_cost == 0;
    if ((is_first && create_session(&options->session) != 0) || (measures && fl_own_cost_begin(&cost) != 0))
        return -1;
    if (is_first)
        fl_own_cost_tell();
    fl_engine.builtins = options->builtins;
    fl_greenlets_notice();
    fl_seeding_begin();
    /* Trace time first: from its first event on a thread compares the session's epoch with its own. */
    fl_session_start(fl_engine.session);
    fl_asyncio_notice();
    if (fl_hooks_install(fl_seeding_wake) != 0) {
        fl_session_stop(fl_engine.session);
        fl_seeding_end();
        fl_own_cost_drop(&cost);
        return -1;
    }
    fl_engine.running = true;
    if (measures)
        fl_seeding_end(); /* measuring runs code: what was found is no longer sure */
    if (fl_own_cost_end(&cost) != 0) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        if (fl_engine_stop() != 0)
            PyErr_Clear();
        PyErr_Restore(type, value, traceback);
        return -1;
    }
    if (measures)
        fl_seeding_begin();
    fl_engine.generation++;
    (void)fl_thread_find(options->seed ? FL_SEED_ALL : FL_SEED_NONE);
    if (options->seed)
        fl_seeding_tell();
    fl_collector_begin();
    fl_seeding_end();
    return 0;
}

int fl_engine_stop(void)
{
    if (!fl_engine.running)
        return 0;
    fl_seeding_begin();
    fl_collector_end();
    fl_engine.running = false;
    fl_session_stop(fl_engine.session);
    int error = fl_hooks_remove(fl_seeding_wake);
    fl_seeding_keep();
    fl_seeding_end();
    fl_greenlets_remove_here();
    return error;
}

int fl_engine_end(void)
{
    int error = fl_engine_stop();
    fl_engine.ended = true;
    if (fl_engine.session)
        fl_session_end(fl_engine.session);
    return error;
}

void fl_engine_after_fork_in_child(void)
{
    /* The parent's tables are a copy whose other writers are gone; the child starts clean and quiet. They are not
     * freed: another thread may have held a lock of theirs when it vanished. */
    fl_engine.forked_while_running = fl_engine.running;
    fl_engine.running = false;
    fl_engine.session = NULL;
    fl_engine.ended = false;
    fl_engine.generation++;
    fl_threads_after_fork_in_child();
    fl_functions_after_fork_in_child();
    fl_waits_after_fork_in_child();
    fl_asyncio_state_after_fork_in_child();
    fl_collector_after_fork_in_child();
}
