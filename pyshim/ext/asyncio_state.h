/*
 * asyncio_state.h: what asyncio itself knows: which task runs, what it is called, which tasks there are. Read without
 * running any code of the program, and without keeping a reference. GIL; a set exception is left as it is, or must not
 * be set where that is said.
 */
#ifndef FL_EXT_ASYNCIO_STATE_H
#define FL_EXT_ASYNCIO_STATE_H

#include "compat.h"

/* asyncio has been imported and understood. Until then nothing below but notice and is_own_file may be called. */
extern bool fl_asyncio_known;

/* Has asyncio been imported by now? Cheap. No exception may be set. */
void fl_asyncio_notice(void);

/* Is this str the name of a file in asyncio's own folder? No exception may be set. */
bool fl_asyncio_is_own_file(PyObject *filename);

/*
 * The task whose step runs on this thread, borrowed, or NULL. `*loop`: the thread's event loop as it was last known,
 * borrowed and only compared (NULL: none); brought up to date.
 */
PyObject *fl_asyncio_running(PyObject **loop);

/* As above, where it has to be right even if that loop has moved to another thread. */
PyObject *fl_asyncio_running_surely(PyObject **loop);

/* An event loop that is not made from asyncio's own BaseEventLoop, so it polls in code of its own (uvloop). */
bool fl_asyncio_is_foreign(PyObject *loop);

/* The object that is the task's name, borrowed, to be compared: a str, or an int from which asyncio makes "Task-N" when
 * it is asked. NULL: not known. */
PyObject *fl_asyncio_name_object(PyObject *task);

/* Its string id. Names that asyncio made up are copied for some thousand tasks only: a program that makes tasks without
 * end must not grow us. 0: none. */
uint32_t fl_asyncio_name_of(PyObject *name_object);

/* The task's coroutine, a new reference, or NULL. */
PyObject *fl_asyncio_coroutine(PyObject *task);

/*
 * The stack of a suspended coroutine, as far as Python code goes; nothing for one that has not begun, or runs. Calls
 * `visit` with each frame's code and the instruction (byte offset) at which it is suspended, outermost first.
 */
void fl_asyncio_walk(PyObject *coroutine, void (*visit)(PyCodeObject *code, int instruction, void *context),
                     void *context);

/* Calls `visit` with each task of this loop that is not done; borrowed. `visit` runs no Python. False: they cannot be
 * found. */
bool fl_asyncio_each(PyObject *loop, void (*visit)(PyObject *task, void *context), void *context);

/* In the child of a fork: strings belong to the parent's session. */
void fl_asyncio_state_after_fork_in_child(void);

#endif
