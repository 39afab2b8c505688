#include "intern.h"
#include "error.h"
#include "hash.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_BITS = 10, FIRST_CAPACITY = 1024, MAX_WORDS = 8 };

static const uint32_t zeros[MAX_WORDS];

int fl_intern_init(struct fl_intern *table, uint32_t words, uint32_t limit)
{
    memset(table, 0, sizeof *table);
    table->index = calloc(FIRST_CAPACITY, sizeof *table->index);
    if (!table->index)
        return FL_ENOMEM;
    if (fl_table_init(&table->rows, words * sizeof(uint32_t), CHUNK_BITS, (limit >> CHUNK_BITS) + 1) != 0) {
        free(table->index);
        return FL_ENOMEM;
    }
    table->words = words;
    table->capacity = FIRST_CAPACITY;
    pthread_mutex_init(&table->lock, NULL);
    atomic_init(&table->count, 1);
    return 0;
}

void fl_intern_fini(struct fl_intern *table)
{
    fl_table_fini(&table->rows);
    free(table->index);
    pthread_mutex_destroy(&table->lock);
}

const uint32_t *fl_intern_get(const struct fl_intern *table, uint32_t id)
{
    if (id == 0 || id >= fl_intern_count(table))
        return zeros;
    return fl_table_row(&table->rows, id);
}

static uint32_t *slot_of(const struct fl_intern *table, const uint32_t *row)
{
    uint64_t hash = 0;
    for (uint32_t i = 0; i < table->words; i++)
        hash = fl_hash_mix(hash + row[i]);
    uint32_t at = (uint32_t)hash & (table->capacity - 1);
    while (table->index[at] != 0 &&
           memcmp(fl_intern_get(table, table->index[at]), row, table->words * sizeof *row) != 0)
        at = (at + 1) & (table->capacity - 1);
    return &table->index[at];
}

static bool grow_index(struct fl_intern *table)
{
    uint32_t *bigger = calloc((size_t)table->capacity * 2, sizeof *bigger);
    if (!bigger)
        return false;
    free(table->index);
    table->index = bigger;
    table->capacity *= 2;
    for (uint32_t id = 1; id < fl_intern_count(table); id++)
        *slot_of(table, fl_intern_get(table, id)) = id;
    return true;
}

/* Lock held. The id of a new row, or 0. */
static uint32_t append(struct fl_intern *table, const uint32_t *row)
{
    uint32_t id = fl_intern_count(table);
    if (!fl_table_chunk(&table->rows, id >> CHUNK_BITS) && fl_table_add_chunk(&table->rows) < 0)
        return 0;
    memcpy(fl_table_row(&table->rows, id), row, table->words * sizeof *row);
    atomic_store_explicit(&table->count, id + 1, memory_order_release);
    return id;
}

uint32_t fl_intern_add(struct fl_intern *table, const uint32_t *row)
{
    pthread_mutex_lock(&table->lock);
    uint32_t id = *slot_of(table, row);
    /* At most half full, so that slot_of() always finds a free slot. */
    bool room = fl_intern_count(table) < table->capacity / 2 || grow_index(table);
    if (id == 0 && room) {
        id = append(table, row);
        if (id != 0)
            *slot_of(table, row) = id;
    }
    pthread_mutex_unlock(&table->lock);
    return id;
}
