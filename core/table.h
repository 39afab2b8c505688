/*
 * table.h: an append-only table of rows that never move, read by other threads while it grows.
 *
 * Rows live in chunks; the directory of chunks has a fixed size, so a row's address is found without a lock and stays
 * valid until the table is destroyed. A chunk is published with a release store; whoever reads its pointer with acquire
 * may use the chunk's zeroed rows. How many rows of a chunk are in use is the owner's contract, not the table's.
 */
#ifndef FL_TABLE_H
#define FL_TABLE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct fl_table {
    _Atomic(void *) *chunks; /* shape: directory; NULL where there is none yet */
    uint32_t directory;      /* chunks at most */
    uint32_t bits;           /* a chunk has 1 << bits rows */
    size_t row;              /* bytes of a row */
    _Atomic uint32_t used;   /* chunks published: 0 .. used-1 */
};

/* Returns 0 or FL_ENOMEM. `row` * (1 << bits) is a chunk's size in bytes; chunks are aligned to 64 bytes, or to their
 * size when that is a power of two (node.h needs it). */
int fl_table_init(struct fl_table *table, size_t row, uint32_t bits, uint32_t directory);
void fl_table_fini(struct fl_table *table);

/* Adds a zeroed chunk and returns its index, or FL_ENOMEM or FL_ELIMIT. Any thread, also several at once: a slot of the
 * directory is claimed first and filled afterwards, so a reader may see a NULL chunk below `used` and skips it. */
int64_t fl_table_add_chunk(struct fl_table *table);

/* Chunk `index`, or NULL. Any thread. */
static inline void *fl_table_chunk(const struct fl_table *table, uint32_t index)
{
    if (index >= table->directory)
        return NULL;
    return atomic_load_explicit(&table->chunks[index], memory_order_acquire);
}

/* Row `id` (chunk << bits | offset), or NULL. Any thread. */
static inline void *fl_table_row(const struct fl_table *table, uint32_t id)
{
    char *chunk = fl_table_chunk(table, id >> table->bits);
    return chunk ? chunk + (size_t)(id & ((1u << table->bits) - 1)) * table->row : NULL;
}

static inline uint32_t fl_table_used(const struct fl_table *table)
{
    return atomic_load_explicit(&table->used, memory_order_acquire);
}

#endif
