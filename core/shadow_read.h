/* shadow_read.h: the steps of fl_shadow_refresh(), each in the file of what it reads. Same thread as the shadow. */
#ifndef FL_SHADOW_READ_H
#define FL_SHADOW_READ_H

#include "shadow.h"
#include "thread.h"

static inline const struct fl_thread *fl__shadow_thread(const struct fl_shadow *shadow, uint32_t index)
{
    return atomic_load_explicit(&shadow->session->threads[index], memory_order_acquire);
}

/* The steps of a look, in order: each has been done. The fourth comes once for each thread. */
enum fl__shadow_step {
    FL__ROOM_MADE,
    FL__FIRST_VIEWS,
    FL__NODES_SCANNED,
    FL__THREAD_VIEWED,
    FL__THREADS_READ,
    FL__TASKS_READ
};

static inline void fl__shadow_did(enum fl__shadow_step step)
{
#ifdef FL_FAKE_CLOCK
    if (fl_fake_meanwhile)
        fl_fake_meanwhile((int)step);
#else
    (void)step;
#endif
}

/* Grows the arrays to what the session has now. 0 or FL_ENOMEM; what was there stays. */
int fl__shadow_reserve(struct fl_shadow *shadow);
/* Likewise to this group, which may be younger than that. */
int fl__shadow_reserve_group(struct fl_shadow *shadow, uint32_t group);

/* shadow_nodes.c */
void fl__shadow_scan_nodes(struct fl_shadow *shadow, uint64_t version);
/* A node that was current and is not now: its times as one even version of thread `index` has them. */
void fl__shadow_left_node(struct fl_shadow *shadow, uint32_t index, const struct fl_node *node, uint64_t version);
/* Makes sure that this node is in the shadow (it may be younger than the scan). False: no node, or no room for it yet.
 */
bool fl__shadow_know_node(struct fl_shadow *shadow, fl_node_id id, uint64_t version);
/* The current node of a view, with the open interval in it. */
void fl__shadow_current_node(struct fl_shadow *shadow, const struct fl_thread_view *view, const struct fl_open *open,
                             uint64_t version);

/* Trees that the thread has folded so far. */
uint64_t fl__shadow_folds(const struct fl_thread *thread);
/* Follows what thread `index` has folded since folds[index]. False: too much for that; the look has to be taken again.
 */
bool fl__shadow_follow_folds(struct fl_shadow *shadow, uint32_t index, uint64_t version);

/* Around whatever reads nodes. */
static inline bool fl__shadow_enter(struct fl_shadow *shadow)
{
    if (shadow->inside)
        return false;
    shadow->inside = true;
    fl_reader_begin(&shadow->session->readers, shadow->place);
    return true;
}

static inline void fl__shadow_exit(struct fl_shadow *shadow, bool entered)
{
    if (!entered)
        return;
    fl_reader_end(&shadow->session->readers, shadow->place);
    shadow->inside = false;
}

/* shadow_timeline.c */
void fl__shadow_timeline(struct fl_shadow *shadow, uint64_t version);

/* shadow_lock.c */
void fl__shadow_lock_waits(struct fl_shadow *shadow, uint64_t version);

/* shadow_tasks.c */
/* Reads the thread again into views[index], the nodes that it left meanwhile, the one that is current, and its row with
 * the open interval up to `now`. False: more was folded meanwhile than can be followed. */
bool fl__shadow_thread_row(struct fl_shadow *shadow, uint32_t index, fl_ticks now, uint64_t version);
void fl__shadow_tasks(struct fl_shadow *shadow, fl_ticks now, uint64_t version);
void fl__shadow_groups(struct fl_shadow *shadow, uint64_t version);
#endif
