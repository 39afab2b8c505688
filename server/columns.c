#include "columns.h"
#include "json_writer.h"

static uint64_t narrow_field(const struct fl_pick *pick, size_t offset)
{
    uint32_t value;
    memcpy(&value, (const char *)pick->row + offset, sizeof value);
    return value;
}

static uint64_t wide_field(const struct fl_pick *pick, size_t offset)
{
    uint64_t value;
    memcpy(&value, (const char *)pick->row + offset, sizeof value);
    return value;
}

/* One loop for each kind: a choice for each value costs as much as writing it. */
static unsigned char *write_values(unsigned char *at, const struct fl_column *column, const struct fl_pick *picks,
                                   size_t count)
{
    switch (column->kind) {
    case FL_COLUMN_ID:
        for (size_t i = 0; i < count; i++, *at++ = ',')
            at = fl_json_digits(at, picks[i].id);
        break;
    case FL_COLUMN_32:
        for (size_t i = 0; i < count; i++, *at++ = ',')
            at = fl_json_digits(at, narrow_field(&picks[i], column->offset));
        break;
    case FL_COLUMN_64:
    default:
        for (size_t i = 0; i < count; i++, *at++ = ',')
            at = fl_json_digits(at, wide_field(&picks[i], column->offset));
        break;
    }
    return at;
}

static void write_column(struct fl_buffer *out, const struct fl_column *column, const struct fl_pick *picks,
                         size_t count)
{
    fl_json_key(out, column->name);
    fl_buffer_add(out, "[", 1);
    /* Room for the longest possible column at once, so that the loop need not look. */
    if (!fl_buffer_reserve(out, count * (FL_JSON_INTEGER_MAX + 1)))
        return;
    unsigned char *at = write_values(out->data + out->length, column, picks, count);
    at[-1] = ']'; /* in place of the last comma; count is not 0 */
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
