/*
 * wire_reader.h: a client's picture, kept the plainest way, to hold updates against each other.
 *
 * A picture is a JSON object: "version", "now", "status", "strings" (array), "functions" (array of rows), and for each
 * table an object of rows by id. Rows that were never sent are absent, so two pictures that know the same are equal.
 */
#ifndef WIRE_READER_H
#define WIRE_READER_H

#include <jansson.h>
#include <stddef.h>

#include "wire.h"

/* An empty picture; the caller owns it. */
json_t *picture_new(void);

/* Applies the body of an update. Fails the test where the body breaks protocol.md: an update from another version, a
 * row that is changed before it was added, columns of different lengths, a parent that is not known. */
void picture_apply(json_t *picture, const json_t *body);

/* The body of the update from this cursor, parsed; the caller owns it. */
json_t *update_body(const struct fl_shadow *shadow, struct fl_cursor *cursor, const struct fl_selection *selection);

/* Fails the test, showing where they differ, unless equal. */
void assert_json_equal(const json_t *got, const json_t *wanted);

/* Number of values of column "id" in body[section][part]; 0 where it is absent. */
size_t rows_in(const json_t *body, const char *section, const char *part);

extern const struct fl_selection everything;

#endif
