/*
 * global_lock.h: the lock that lets only one thread at a time run the program's code (CPython's GIL), as the embedder
 * can see it from outside. Without it a thread that waits for its turn looks as if it blocked by itself.
 */
#ifndef FL_GLOBAL_LOCK_H
#define FL_GLOBAL_LOCK_H

#include <stdint.h>

enum fl_lock_wait { FL_LOCK_NOT_AWAITED, FL_LOCK_AWAITED, FL_LOCK_WAIT_UNKNOWN };

/* Both: any thread, the lock not held; never wait; some microseconds, since the kernel is asked. What they tell was so
 * at one moment during the call. */
struct fl_global_lock {
    /* The system's id of the thread that holds the lock. 0: nobody does, or it cannot be told here. */
    uint32_t (*holder)(void);
    /* Does this thread of the process stand in the queue for the lock? The holder does not, nor who sleeps for another
     * reason. Unknown: where that cannot be told, and of a thread that runs or waits for a processor without holding
     * the lock; one that stands in the queue is seen so now and then, so ask again. */
    enum fl_lock_wait (*wait_of)(uint32_t tid);
};

#endif
