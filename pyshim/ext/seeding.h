/*
 * seeding.h: starts and stops in the middle of things. When profiling starts every thread and every greenlet has a
 * stack already, running or parked; when it stops, parked frames must not keep what the events left in them.
 *
 * A start: begin, wake (by hooks.h), tell, end. A stop: begin, wake, keep, end. GIL; from the first wake() to end()
 * nothing of the program runs, so greenlets can be looked at without holding references. That takes some milliseconds
 * for 10,000 greenlets, and a pass over the heap.
 */
#ifndef FL_EXT_SEEDING_H
#define FL_EXT_SEEDING_H

struct fl_ext_thread;

/* May run code of the program: greenlets that other threads have dropped are buried. Switches the collector off. */
void fl_seeding_begin(void);

/* fl_hooks_wake() for the code of each frame that is parked in any greenlet of any thread. */
void fl_seeding_wake(void);

/* Tells the core all threads with their stacks, and all parked greenlets with theirs, as they are now. The calling
 * thread's own stack is told already. */
void fl_seeding_tell(void);

/* Sees that no address of a greenlet is taken for another one's at the next start. */
void fl_seeding_keep(void);

void fl_seeding_end(void);

/* Owner thread, by itself: deaths and switches were missed. Tasks of greenlets that are gone end; the others' stacks
 * are told anew when they go on. */
void fl_seeding_check(struct fl_ext_thread *ext);

#endif
