/*
 * polls.h: where an event loop that is written in Python waits for what happens next. There its thread is idle, and
 * nowhere else: what the loop runs besides may be on the processor, or block.
 *
 * gevent's loop is written in C and polls in its hub's entry function, which the core knows (event.h). These are found
 * by the names of the functions on the stack, so all of them are known that are told by events or at a start:
 *
 * - asyncio: a selector's select() that _run_once() calls. Loops of other makes: asyncio.c.
 * - eventlet: the hub is the greenlet that begins in run() of a module of eventlet.hubs. It calls wait(), which sleeps
 *   where there is no file to wait for, else calls do_poll() or select.select(). When do_poll() has returned, wait()
 * runs callbacks: from then on to the next wait() nothing is a poll.
 *
 * Owner thread, or another one on its behalf (other.h); GIL.
 */
#ifndef FL_EXT_POLLS_H
#define FL_EXT_POLLS_H

#include "functions.h"
#include "thread.h"

/* One of eventlet's: it has to be shown, or nothing would tell where its hub is. */
bool fl_polls_is_eventlets(const PyCodeObject *code);

/* FL_CODE_POLL for code that may be one of these functions, else 0. */
fl_code_word fl_polls_flag_of(const PyCodeObject *code);

/* After code with that flag was entered. */
void fl_polls_entered(struct fl_thread *thread);

/* The stack of this task, which ends at `node`, was told. */
void fl_polls_told(struct fl_thread *thread, struct fl_task *task, const struct fl_node *node);

#endif
