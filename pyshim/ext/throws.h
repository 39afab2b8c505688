/*
 * throws.h: generators that are thrown into.
 *
 * An exception that is thrown into a generator (or coroutine) which waits in `yield from` (or `await`) goes straight to
 * the innermost one. Those in between are on the stack then, but no event tells of it: they are told here, from the
 * frames. Each of them has a PY_THROW of its own when what it waited for is left by an exception, which is not another
 * entry; and none when the innermost one catches the exception and yields, which leaves them all. GIL; owner thread.
 */
#ifndef FL_EXT_THROWS_H
#define FL_EXT_THROWS_H

#include "compat.h"
#include "thread.h"

struct fl_ext_thread;

/* Frames of all threads that were told and not left yet. 0: nothing to do when a frame yields. */
extern uint32_t fl_throws_open;

/* A frame of this function is thrown into; it is the current one. True: it was told before, so it is on the stack
 * already. Else the ones between it and the thrower are told, and it is to be entered. */
bool fl_throws_enter(struct fl_ext_thread *ext, uint32_t function);

/* A frame of this function is about to be left. Up to 3.11 no event tells that one that was told here goes on. */
void fl_throws_leaving(struct fl_ext_thread *ext, uint32_t function);

/* A frame was left by a yield: those that waited for it are left with it. */
void fl_throws_yielded(struct fl_ext_thread *ext);

/* The stack of this thread is not known any more. */
void fl_throws_forget(struct fl_ext_thread *ext);

#endif
