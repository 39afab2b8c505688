#include "columns.h"
#include "json_writer.h"

static uint64_t value_of(const struct fl_column *column, const struct fl_pick *pick)
{
    const char *field = (const char *)pick->row + column->offset;
    uint32_t narrow;
    uint64_t wide;

    switch (column->kind) {
    case FL_COLUMN_ID:
        return pick->id;
    case FL_COLUMN_32:
        memcpy(&narrow, field, sizeof narrow);
        return narrow;
    case FL_COLUMN_64:
    default:
        memcpy(&wide, field, sizeof wide);
        return wide;
    }
}

static void write_column(struct fl_buffer *out, const struct fl_column *column, const struct fl_pick *picks,
                         size_t count)
{
    fl_json_key(out, column->name);
    fl_buffer_add(out, "[", 1);
    /* Room for the longest possible column at once, so that the loop need not look. */
    if (!fl_buffer_reserve(out, count * (FL_JSON_INTEGER_MAX + 1)))
        return;
    unsigned char *at = out->data + out->length;
    for (size_t i = 0; i < count; i++) {
        at = fl_json_digits(at, value_of(column, &picks[i]));
        *at++ = ',';
    }
    at[-1] = ']';
    out->length = (size_t)(at - out->data);
}

static const struct fl_pick *all(const struct fl_picks *picks)
{
    return (const struct fl_pick *)(const void *)picks->bytes.data;
}

void fl_columns_write(struct fl_buffer *out, const char *name, const struct fl_column *columns, size_t count,
                      const struct fl_picks *picks)
{
    if (picks->bytes.failed)
        out->failed = true;
    if (fl_picks_count(picks) == 0)
        return;
    fl_json_key(out, name);
    fl_buffer_add(out, "{", 1);
    for (size_t i = 0; i < count; i++)
        write_column(out, &columns[i], all(picks), fl_picks_count(picks));
    fl_buffer_add(out, "}", 1);
}

void fl_columns_write_ids(struct fl_buffer *out, const char *name, const struct fl_picks *picks)
{
    const struct fl_column ids = {.name = name, .kind = FL_COLUMN_ID};

    if (picks->bytes.failed)
        out->failed = true;
    if (fl_picks_count(picks) > 0)
        write_column(out, &ids, all(picks), fl_picks_count(picks));
}
