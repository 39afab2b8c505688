#include "table.h"
#include "error.h"

#include <stdlib.h>
#include <string.h>

int fl_table_init(struct fl_table *table, size_t row, uint32_t bits, uint32_t directory)
{
    table->chunks = calloc(directory, sizeof *table->chunks);
    if (!table->chunks)
        return FL_ENOMEM;
    table->directory = directory;
    table->bits = bits;
    table->row = row;
    atomic_init(&table->used, 0);
    return 0;
}

void fl_table_fini(struct fl_table *table)
{
    for (uint32_t i = 0; i < fl_table_used(table); i++)
        free(fl_table_chunk(table, i));
    free(table->chunks);
    table->chunks = NULL;
    atomic_init(&table->used, 0);
}

static void *chunk_create(const struct fl_table *table)
{
    size_t size = table->row << table->bits;
    size_t alignment = (size & (size - 1)) == 0 && size > 64 ? size : 64;
    void *chunk;
    size = (size + alignment - 1) / alignment * alignment;
    if (posix_memalign(&chunk, alignment, size) != 0)
        return NULL;
    memset(chunk, 0, size);
    return chunk;
}

int64_t fl_table_add_chunk(struct fl_table *table)
{
    void *chunk = chunk_create(table);
    if (!chunk)
        return FL_ENOMEM;
    uint32_t index = atomic_load_explicit(&table->used, memory_order_relaxed);
    do {
        if (index >= table->directory) {
            free(chunk);
            return FL_ELIMIT;
        }
    } while (!atomic_compare_exchange_weak_explicit(&table->used, &index, index + 1, memory_order_release,
                                                    memory_order_relaxed));
    atomic_store_explicit(&table->chunks[index], chunk, memory_order_release);
    return index;
}
