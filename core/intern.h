/*
 * intern.h: rows of a few 32-bit words, each kept once, as an id: the mechanism behind functions and groups.
 *
 * Ids count up from 1 in the order of first use; row 0 is all zeros. Rows never change and are never removed.
 */
#ifndef FL_INTERN_H
#define FL_INTERN_H

#include <pthread.h>
#include <stdint.h>

#include "table.h"

struct fl_intern {
    struct fl_table rows;
    _Atomic uint32_t count; /* published rows, row 0 included; release */
    uint32_t words;         /* 32-bit words of a row */
    pthread_mutex_t lock;   /* guards the index and additions; readers take no lock */
    uint32_t *index;        /* open addressing, ids, 0 = free; shape: capacity */
    uint32_t capacity;      /* power of two */
};

/* `limit`: rows at most. Returns 0 or FL_ENOMEM. */
int fl_intern_init(struct fl_intern *table, uint32_t words, uint32_t limit);
void fl_intern_fini(struct fl_intern *table);

/* The id of this row (shape: words), added when it is new; 0 where there is no room. Any thread; takes the lock. */
uint32_t fl_intern_add(struct fl_intern *table, const uint32_t *row);

/* Row `id`, valid until fini; row 0 for an id that is not published. Any thread, no lock. */
const uint32_t *fl_intern_get(const struct fl_intern *table, uint32_t id);

static inline uint32_t fl_intern_count(const struct fl_intern *table)
{
    return atomic_load_explicit(&table->count, memory_order_acquire);
}

#endif
