#include "buffer.h"

#include <stdint.h>
#include <stdlib.h>

enum { FIRST_CAPACITY = 256 };

void fl_buffer_fini(struct fl_buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct fl_buffer){.limit = buffer->limit};
}

bool fl_buffer_reserve(struct fl_buffer *buffer, size_t size)
{
    if (buffer->failed)
        return false;
    size_t limit = buffer->limit ? buffer->limit : SIZE_MAX / 2;
    if (size > limit - buffer->length) {
        buffer->failed = true;
        return false;
    }
    if (buffer->data && size <= buffer->capacity - buffer->length)
        return true;

    size_t needed = buffer->length + size;
    size_t capacity = buffer->capacity ? buffer->capacity : FIRST_CAPACITY;
    while (capacity < needed)
        capacity *= 2;
    unsigned char *bigger = realloc(buffer->data, capacity);
    if (!bigger) {
        buffer->failed = true;
        return false;
    }
    buffer->data = bigger;
    buffer->capacity = capacity;
    return true;
}

void fl_buffer_add(struct fl_buffer *buffer, const void *data, size_t size)
{
    if (size == 0 || !fl_buffer_reserve(buffer, size))
        return;
    memcpy(buffer->data + buffer->length, data, size);
    buffer->length += size;
}
