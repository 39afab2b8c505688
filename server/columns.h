/*
 * columns.h: rows of a table, written as JSON columns: {"id":[1,2],"calls":[7,9]}.
 *
 * The rows are picked once, then each column is written in one run over the picks.
 */
#ifndef FL_COLUMNS_H
#define FL_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include "buffer.h"

enum fl_column_kind { FL_COLUMN_ID, FL_COLUMN_32, FL_COLUMN_64 };

/* One column: of the pick's id, or of an unsigned field of its row. */
struct fl_column {
    const char *name;
    size_t offset; /* of the field, bytes */
    enum fl_column_kind kind;
};

/* For tables of columns. */
#define FL_COLUMN_OF_ID                                                                                                \
    {                                                                                                                  \
        .name = "id", .kind = FL_COLUMN_ID                                                                             \
    }
#define FL_COLUMN_OF(row, field_name, field)                                                                           \
    {                                                                                                                  \
        .name = (field_name), .offset = offsetof(row, field),                                                          \
        .kind = sizeof(((row *)0)->field) == sizeof(uint64_t) ? FL_COLUMN_64 : FL_COLUMN_32                            \
    }

/* Rows that were picked. All zeros: none. */
struct fl_picks {
    struct fl_buffer bytes; /* of struct fl_pick */
};

struct fl_pick {
    const void *row; /* borrowed */
    uint32_t id;
};

static inline void fl_picks_add(struct fl_picks *picks, uint32_t id, const void *row)
{
    const struct fl_pick added = {.row = row, .id = id};
    fl_buffer_add(&picks->bytes, &added, sizeof added);
}

static inline size_t fl_picks_count(const struct fl_picks *picks)
{
    return picks->bytes.length / sizeof(struct fl_pick);
}

/* Appends `"NAME":{columns}`; nothing when there are no picks. `columns`: shape count. Fails when the picks have. */
void fl_columns_write(struct fl_buffer *out, const char *name, const struct fl_column *columns, size_t count,
                      const struct fl_picks *picks);

/* Appends `"NAME":[ids]`, likewise. */
void fl_columns_write_ids(struct fl_buffer *out, const char *name, const struct fl_picks *picks);

#endif
