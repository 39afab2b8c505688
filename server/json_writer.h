/*
 * json_writer.h: JSON text, written straight into a buffer.
 *
 * A library that builds a tree first needs ten times as long for columns of 100,000 integers, and refuses names that
 * are not valid UTF-8, which a program may have.
 */
#ifndef FL_JSON_WRITER_H
#define FL_JSON_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "buffer.h"

/* Longest decimal text of 64 bits, sign included. */
enum { FL_JSON_INTEGER_MAX = 20 };

/*
 * Writes the decimal digits of `value` to `at`, which has room for FL_JSON_INTEGER_MAX bytes, and returns the end.
 */
unsigned char *fl_json_digits(unsigned char *at, uint64_t value);

void fl_json_unsigned(struct fl_buffer *buffer, uint64_t value);
void fl_json_signed(struct fl_buffer *buffer, int64_t value);

/*
 * A string in quotes, from `length` bytes of any content. Control characters, NUL included, are escaped; what is not
 * valid UTF-8 (also encoded surrogates) becomes U+FFFD, one for each maximal part, as browsers do.
 */
void fl_json_string(struct fl_buffer *buffer, const char *text, size_t length);

/* Appends `,` unless the last byte opened an object or array. Not behind text that may end in such a byte. */
void fl_json_comma(struct fl_buffer *buffer);

/* A comma where one is due, and `"name":`. `name` needs no escaping. */
void fl_json_key(struct fl_buffer *buffer, const char *name);

/* Key and value. `text` NULL counts as "". */
void fl_json_unsigned_field(struct fl_buffer *buffer, const char *name, uint64_t value);
void fl_json_text_field(struct fl_buffer *buffer, const char *name, const char *text);

#endif
