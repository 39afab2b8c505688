/*
 * gil.h: who holds the GIL, and who waits for it, seen by threads that never take it (the server's).
 *
 * CPython keeps both in private words. Their places are looked up once and tried out; where they are not what they
 * should be, nothing is told: "unknown", never a wrong name.
 */
#ifndef FL_EXT_GIL_H
#define FL_EXT_GIL_H

#include "global_lock.h"

/* Finds the words and tries them out. Once per process, with the GIL, which is released for a moment. Cannot fail: at
 * worst all answers are "unknown". */
void fl_gil_init(void);

/* As in global_lock.h. Any thread, without the GIL. Before fl_gil_init(): "unknown". */
uint32_t fl_gil_holder(void);
enum fl_lock_wait fl_gil_wait_of(uint32_t tid);

/* Both, for whoever knows nothing of Python. */
extern const struct fl_global_lock fl_gil;

#endif
