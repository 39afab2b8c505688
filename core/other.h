/*
 * other.h: writing a thread's data on its behalf.
 *
 * A thread that sleeps has no events, and yet has to be there, with its stack and its parked tasks, from the moment at
 * which profiling starts. So whoever starts it writes for the others. One writer at a time stays the rule:
 *
 * - The caller holds a lock of the embedder's that each owner holds at each of its events (the GIL). So the owner
 * writes nothing meanwhile, and sees at its next event all that was written for it.
 * - Between fl_other_begin() and fl_other_end() the session's lock is held too: an owner can end without any event, and
 *   without the embedder's lock.
 *
 * Readers see no difference. Besides what stands here, between the two may be called what works on tasks that are not
 * current: fl_task_create(), fl_task_end(), fl_task_set_...(), fl_seed_parked().
 */
#ifndef FL_OTHER_H
#define FL_OTHER_H

#include "event.h"

/*
 * Attaches the thread with this system id, as fl_thread_attach() does for the calling one. NULL as there. The owner
 * calls fl_thread_adopt() at its first event; a thread that ends without one is given up with fl_other_detach().
 */
struct fl_thread *fl_other_attach(struct fl_session *session, uint32_t tid, uint32_t name);

/* False, and nothing held: the thread has ended. Do not block before fl_other_end(). */
bool fl_other_begin(struct fl_thread *thread);
void fl_other_end(struct fl_thread *thread);

/* As fl_session_resume(): settles what was open when the session was stopped. */
void fl_other_resume(struct fl_thread *thread);

/* As fl_switch(), then fl_seed(): this task is current, and that is its stack, outermost first; shape: count. */
void fl_other_place(struct fl_thread *thread, struct fl_task *task, const fl_function_id *functions, uint32_t count,
                    fl_ticks now);

/* The thread is gone, and was never adopted: ends it and its tasks. Takes the session's lock itself. */
void fl_other_detach(struct fl_thread *thread);

/* Owner thread: takes over what fl_other_attach() made, before its first event. */
void fl_thread_adopt(struct fl_thread *thread);

#endif
