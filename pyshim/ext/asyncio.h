/*
 * asyncio.h: asyncio tasks as tasks of the core.
 *
 * An asyncio task has no stack of its own: each of its *steps* is a call into its coroutine from wherever the event
 * loop runs. A step begins at the first frame of a coroutine that is entered while asyncio says that another task runs
 * than the one that is current in the core, and it is over when the frame that began it is left. So only the events of
 * coroutines and async generators are looked at (FL_CODE_ASYNC); all other code pays nothing.
 *
 * While it is in a step the task's core task is current, on top of the *base*: the greenlet, or the thread's own stack,
 * in which the loop runs. A step may begin inside another one (eager tasks). Where a greenlet is switched to in the
 * middle of a step, the base remembers the step's task (fl_task.inner) and a switch back goes on with it.
 *
 * A suspended task is parked at the node of the innermost frame that yielded; its wait is named by what the innermost
 * frame that is not asyncio's own awaits. No reference to a task is held: its address is forgotten at its last step,
 * and those that are collected without one are found among asyncio's own list, now and then. Owner thread; GIL.
 */
#ifndef FL_EXT_ASYNCIO_H
#define FL_EXT_ASYNCIO_H

#include "functions.h"
#include "thread.h"

struct fl_asyncio;
struct fl_ext_thread;

enum fl_entry { FL_ENTRY_CALL, FL_ENTRY_RESUME, FL_ENTRY_THROW };

/* Before a frame of a coroutine is entered, or one of any kind is thrown into. True: with it a step has begun, so that
 * nothing of the task's stack is there yet. */
bool fl_asyncio_before(struct fl_ext_thread *ext, enum fl_entry entry);

/* After a frame was left by a return or an exception: the step may be over, and with it the task. */
void fl_asyncio_after(struct fl_ext_thread *ext, fl_ticks now);

/* A frame of a coroutine yields `value` at this instruction; it is still on the stack. */
void fl_asyncio_yields(struct fl_ext_thread *ext, PyCodeObject *code, fl_code_word word, int instruction,
                       const PyObject *value);

/* After that frame was left: the step may be over. */
void fl_asyncio_suspended(struct fl_ext_thread *ext, fl_ticks now);

/* A coroutine's frame that is not shown is entered, or left: it belongs to the step, whose end is that of the last one.
 */
void fl_asyncio_hidden(struct fl_ext_thread *ext, bool enters);

/* A selector's select() that is not shown was entered: where asyncio's loop polls, that is where the thread is now. */
void fl_asyncio_selects_hidden(struct fl_ext_thread *ext);

/* Nothing is known any more about who is in a step (profiling was off, greenlet was imported): the base becomes
 * current. Tasks that have ended meanwhile end. */
void fl_asyncio_forget_steps(struct fl_ext_thread *ext);

/* For telling the stack of a thread in the middle of a step: the coroutine of the task that runs, a new reference, or
 * NULL. Where the frame of that coroutine is told, the task becomes current, with nothing of its stack. */
PyObject *fl_asyncio_running_coroutine(struct fl_ext_thread *ext);
void fl_asyncio_resume_step(struct fl_ext_thread *ext);

/* At a start in the middle: the loop's tasks that are suspended are told with their stacks. */
void fl_asyncio_tell_suspended(struct fl_ext_thread *ext);

/* Owner thread, at its end, without the GIL. */
void fl_asyncio_destroy(struct fl_asyncio *asyncio);

#endif
