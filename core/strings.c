#include "strings.h"
#include "error.h"
#include "hash.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_BITS = 10, FIRST_CAPACITY = 1024 };

static const struct fl_string empty = {.text = "", .length = 0};

int fl_strings_init(struct fl_strings *strings)
{
    memset(strings, 0, sizeof *strings);
    strings->index = calloc(FIRST_CAPACITY, sizeof *strings->index);
    if (!strings->index)
        return FL_ENOMEM;
    if (fl_table_init(&strings->rows, sizeof(struct fl_string), CHUNK_BITS, FL_STRINGS_MAX >> CHUNK_BITS) != 0) {
        free(strings->index);
        return FL_ENOMEM;
    }
    strings->capacity = FIRST_CAPACITY;
    pthread_mutex_init(&strings->lock, NULL);
    atomic_init(&strings->count, 1);
    return 0;
}

void fl_strings_fini(struct fl_strings *strings)
{
    for (uint32_t id = 1; id < fl_strings_count(strings); id++)
        free(((struct fl_string *)fl_table_row(&strings->rows, id))->text);
    fl_table_fini(&strings->rows);
    free(strings->index);
    pthread_mutex_destroy(&strings->lock);
}

const struct fl_string *fl_strings_get(const struct fl_strings *strings, uint32_t id)
{
    if (id == 0 || id >= fl_strings_count(strings))
        return &empty;
    return fl_table_row(&strings->rows, id);
}

static uint32_t *slot_of(const struct fl_strings *strings, uint32_t hash, const char *text, uint32_t length)
{
    uint32_t at = (uint32_t)fl_hash_mix(hash) & (strings->capacity - 1);
    for (;; at = (at + 1) & (strings->capacity - 1)) {
        uint32_t id = strings->index[at];
        if (id == 0)
            return &strings->index[at];
        const struct fl_string *row = fl_strings_get(strings, id);
        if (row->hash == hash && row->length == length && memcmp(row->text, text, length) == 0)
            return &strings->index[at];
    }
}

static bool grow_index(struct fl_strings *strings)
{
    uint32_t *old = strings->index, capacity = strings->capacity;
    uint32_t *bigger = calloc((size_t)capacity * 2, sizeof *bigger);
    if (!bigger)
        return false;
    strings->index = bigger;
    strings->capacity = capacity * 2;
    for (uint32_t i = 0; i < capacity; i++) {
        if (old[i] == 0)
            continue;
        const struct fl_string *row = fl_strings_get(strings, old[i]);
        *slot_of(strings, row->hash, row->text, row->length) = old[i];
    }
    free(old);
    return true;
}

/* Lock held. The id of a new row, or 0. */
static uint32_t append(struct fl_strings *strings, const char *text, uint32_t length, uint32_t hash)
{
    uint32_t id = fl_strings_count(strings);
    if (id >= FL_STRINGS_MAX)
        return 0;
    if (!fl_table_chunk(&strings->rows, id >> CHUNK_BITS) && fl_table_add_chunk(&strings->rows) < 0)
        return 0;
    char *copy = malloc((size_t)length + 1);
    if (!copy)
        return 0;
    memcpy(copy, text, length);
    copy[length] = '\0';
    struct fl_string *row = fl_table_row(&strings->rows, id);
    *row = (struct fl_string){.text = copy, .length = length, .hash = hash};
    atomic_store_explicit(&strings->count, id + 1, memory_order_release);
    return id;
}

uint32_t fl_strings_add(struct fl_strings *strings, const char *text, size_t length)
{
    if (length == 0)
        return 0;
    uint32_t bytes = (uint32_t)(length < FL_STRING_MAX_LENGTH ? length : FL_STRING_MAX_LENGTH);
    /* Cut between two characters of UTF-8, which have at most three bytes that go on. */
    while (length > bytes && bytes > FL_STRING_MAX_LENGTH - 4 && ((unsigned char)text[bytes] & 0xc0) == 0x80)
        bytes--;
    uint32_t hash = fl_hash_bytes(text, bytes);
    pthread_mutex_lock(&strings->lock);
    uint32_t *slot = slot_of(strings, hash, text, bytes);
    uint32_t id = *slot;
    /* At most half full, so that slot_of() always finds a free slot. */
    bool room = fl_strings_count(strings) < strings->capacity / 2 || grow_index(strings);
    if (id == 0 && room) {
        id = append(strings, text, bytes, hash);
        if (id != 0)
            *slot_of(strings, hash, text, bytes) = id;
    }
    if (id == 0)
        atomic_fetch_add_explicit(&strings->lost, 1, memory_order_relaxed);
    pthread_mutex_unlock(&strings->lock);
    return id;
}
