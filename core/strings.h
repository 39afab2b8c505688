/*
 * strings.h: every name once, as an id. Strings are copied at first sight, so no reader ever touches a Python object.
 *
 * Ids count up from 1 in the order of first use; 0 is the empty string. Strings are never removed; the table is bounded
 * (FL_STRINGS_MAX), and past that bound fl_strings_add() answers 0 and counts.
 */
#ifndef FL_STRINGS_H
#define FL_STRINGS_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "table.h"

#define FL_STRINGS_MAX       (1u << 20)
#define FL_STRING_MAX_LENGTH 4096u /* bytes; longer ones are cut */

struct fl_string {
    char *text;      /* owned, NUL terminated, may hold NULs and invalid UTF-8: the serialiser escapes */
    uint32_t length; /* bytes */
    uint32_t hash;
};

struct fl_strings {
    struct fl_table rows;   /* of struct fl_string */
    _Atomic uint32_t count; /* published rows, the empty one included; release */
    _Atomic uint64_t lost;  /* strings that found no room */
    pthread_mutex_t lock;   /* guards the index and additions; readers take no lock */
    uint32_t *index;        /* open addressing, ids, 0 = free; shape: capacity */
    uint32_t capacity;      /* power of two */
};

/* Returns 0 or FL_ENOMEM. */
int fl_strings_init(struct fl_strings *strings);
void fl_strings_fini(struct fl_strings *strings);

/* The id of these bytes, added when they are new. 0 for the empty string and where there is no room. Any thread; takes
 * the lock, so not for the hot path. */
uint32_t fl_strings_add(struct fl_strings *strings, const char *text, size_t length);

/* String `id`, valid until fini; the empty string for an id that is not published. Any thread, no lock. */
const struct fl_string *fl_strings_get(const struct fl_strings *strings, uint32_t id);

static inline uint32_t fl_strings_count(const struct fl_strings *strings)
{
    return atomic_load_explicit(&strings->count, memory_order_acquire);
}

#endif
