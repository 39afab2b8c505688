/*
 * readers.h: how an owner knows that no reader looks any more at what it has freed.
 *
 * `frees` counts what was freed. A reader enters `seen` = `frees` when it begins a look and FL_READER_AWAY when it has
 * ended it. What was freed as number n may be used again when each reader is away or has seen n: a reader that began
 * later finds it freed.
 *
 * Sequentially consistent, because a reader writes `seen` and then reads what the owner wrote before `frees`, while the
 * owner writes `frees` and then reads `seen`: one of the two must see the other.
 */
#ifndef FL_READERS_H
#define FL_READERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define FL_READERS_MAX 16u
#define FL_READER_FREE UINT64_MAX       /* nobody has this place */
#define FL_READER_AWAY (UINT64_MAX - 1) /* not in a look */

struct fl_readers {
    _Atomic uint64_t frees;
    _Atomic uint64_t seen[FL_READERS_MAX];
};

static inline void fl_readers_init(struct fl_readers *readers)
{
    atomic_init(&readers->frees, 0);
    for (uint32_t i = 0; i < FL_READERS_MAX; i++)
        atomic_init(&readers->seen[i], FL_READER_FREE);
}

/* Any thread: a place for a new reader, or -1 where all are taken. */
static inline int fl_reader_join(struct fl_readers *readers)
{
    for (uint32_t i = 0; i < FL_READERS_MAX; i++) {
        uint64_t nobody = FL_READER_FREE;
        if (atomic_compare_exchange_strong(&readers->seen[i], &nobody, FL_READER_AWAY))
            return (int)i;
    }
    return -1;
}

static inline void fl_reader_leave(struct fl_readers *readers, int place)
{
    atomic_store(&readers->seen[place], FL_READER_FREE);
}

/* Around each look. */
static inline void fl_reader_begin(struct fl_readers *readers, int place)
{
    uint64_t frees = atomic_load(&readers->frees);
    for (uint64_t before = frees + 1; before != frees;) {
        before = frees;
        atomic_store(&readers->seen[place], frees);
        frees = atomic_load(&readers->frees); /* else an owner may have looked at `seen` before it was written */
    }
}

static inline void fl_reader_end(struct fl_readers *readers, int place)
{
    atomic_store(&readers->seen[place], FL_READER_AWAY);
}

/* Owner: the number of what it has just freed. */
static inline uint64_t fl_readers_freed(struct fl_readers *readers)
{
    return atomic_fetch_add(&readers->frees, 1) + 1;
}

/* Owner: may what was freed as number `freed` be used again? */
static inline bool fl_readers_gone(struct fl_readers *readers, uint64_t freed)
{
    for (uint32_t i = 0; i < FL_READERS_MAX; i++)
        if (atomic_load(&readers->seen[i]) < freed)
            return false;
    return true;
}

#endif
