/*
 * buffer.h: bytes that grow at the end.
 *
 * A failed allocation is sticky: the buffer keeps what it has, ignores what is added from then on, and says so in
 * `failed`. So a writer appends without looking and asks once, at its end. One thread at a time.
 */
#ifndef FL_BUFFER_H
#define FL_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* All zeros is a valid, empty buffer. */
struct fl_buffer {
    unsigned char *data; /* owned; NULL while nothing was added */
    size_t length;       /* bytes in use */
    size_t capacity;     /* bytes allocated */
    size_t limit;        /* bytes at most, 0: no limit. Past it the buffer fails, as if memory were at its end */
    bool failed;         /* something is missing: the content must not be used */
};

/* Frees the memory; the buffer is empty and usable again, with the same limit. */
void fl_buffer_fini(struct fl_buffer *buffer);

/* Forgets content and failure, keeps the memory. */
static inline void fl_buffer_clear(struct fl_buffer *buffer)
{
    buffer->length = 0;
    buffer->failed = false;
}

/* Room for `size` more bytes at data + length, which the caller fills and then adds to `length`. False: failed. */
bool fl_buffer_reserve(struct fl_buffer *buffer, size_t size);

/* `data` may be NULL when `size` is 0; it must not lie in the buffer. */
void fl_buffer_add(struct fl_buffer *buffer, const void *data, size_t size);

/* A C string, without its NUL. */
static inline void fl_buffer_text(struct fl_buffer *buffer, const char *text)
{
    fl_buffer_add(buffer, text, strlen(text));
}

#endif
