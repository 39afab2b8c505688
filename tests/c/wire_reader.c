#include "wire_reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const tables[] = {"groups", "threads", "tasks", "nodes", "slices", "holds", "gil"};
enum { TABLES = sizeof tables / sizeof *tables, SLICES_KEPT = 256, LONGEST_KEPT = 64 };

const struct fl_selection everything = {.sections = FL_SECTION_ALL};

json_t *picture_new(void)
{
    json_t *picture = json_object();
    json_object_set_new(picture, "version", json_integer(0));
    return picture;
}

static void forget_everything(json_t *picture)
{
    json_object_clear(picture);
    json_object_set_new(picture, "strings", json_pack("[s]", ""));
    json_object_set_new(picture, "functions", json_pack("[{}]"));
    for (int i = 0; i < TABLES; i++)
        json_object_set_new(picture, tables[i], json_object());
}

/* Row `index` of columns, without id; the caller owns it. */
static json_t *row_at(const json_t *columns, size_t index)
{
    json_t *row = json_object();
    const char *name;
    json_t *column;
    json_object_foreach((json_t *)(uintptr_t)columns, name, column)
    {
        assert_int_equal(json_array_size(column), json_array_size(json_object_get(columns, "id")));
        if (strcmp(name, "id") != 0)
            json_object_set(row, name, json_array_get(column, index));
    }
    /* `hub` of a task is only what was known when it was added; `hub` of its thread tells the rest. */
    if (json_object_get(columns, "begin") && json_object_get(columns, "thread"))
        json_object_del(row, "hub");
    return row;
}

static const char *key_of(json_int_t id)
{
    static char key[32];
    snprintf(key, sizeof key, "%lld", (long long)id);
    return key;
}

static void apply_rows(json_t *table, const char *name, const json_t *columns, bool is_add)
{
    const json_t *ids = json_object_get(columns, "id");
    json_int_t previous = -1;
    for (size_t i = 0; i < json_array_size(ids); i++) {
        json_int_t id = json_integer_value(json_array_get(ids, i));
        json_t *row = row_at(columns, i);
        json_t *known = json_object_get(table, key_of(id));
        json_int_t parent = json_integer_value(json_object_get(row, "parent"));
        if (is_add && known)
            fail_msg("%s: row %lld was added twice", name, (long long)id);
        if (!is_add && !known)
            fail_msg("%s: row %lld is changed, but was never added", name, (long long)id);
        if (parent != 0)
            assert_non_null(json_object_get(table, key_of(parent)));
        assert_true(parent < id || parent == 0);
        if (known) {
            json_object_update(known, row);
            json_decref(row);
        } else {
            json_object_set_new(table, key_of(id), row);
        }
        assert_true(id != previous);
        previous = id;
    }
}

static void apply_table(json_t *picture, const char *name, const json_t *section)
{
    json_t *table = json_object_get(picture, name);
    const json_t *deleted = json_object_get(section, "del");
    apply_rows(table, name, json_object_get(section, "add"), true);
    if (strcmp(name, "slices") != 0)
        apply_rows(table, name, json_object_get(section, "upd"), false);
    /* An id that came and went between two updates is not known; that is allowed. */
    for (size_t i = 0; i < json_array_size(deleted); i++)
        json_object_del(table, key_of(json_integer_value(json_array_get(deleted, i))));
}

static void apply_names(json_t *picture, const json_t *body)
{
    const json_t *strings = json_object_get(body, "strings");
    const json_t *functions = json_object_get(body, "functions");
    json_t *known = json_object_get(picture, "strings");
    if (strings) {
        assert_int_equal(json_integer_value(json_object_get(strings, "first")), json_array_size(known));
        json_array_extend(known, json_object_get(strings, "add"));
    }
    known = json_object_get(picture, "functions");
    if (functions) {
        const json_t *columns = json_object_get(functions, "add");
        assert_int_equal(json_integer_value(json_object_get(functions, "first")), json_array_size(known));
        size_t count = json_array_size(json_object_get(columns, "name"));
        for (size_t i = 0; i < count; i++)
            json_array_append_new(known,
                                  json_pack("{sOsOsOsOsO}", "name", json_array_get(json_object_get(columns, "name"), i),
                                            "qualname", json_array_get(json_object_get(columns, "qualname"), i), "file",
                                            json_array_get(json_object_get(columns, "file"), i), "line",
                                            json_array_get(json_object_get(columns, "line"), i), "kind",
                                            json_array_get(json_object_get(columns, "kind"), i)));
    }
}

static json_int_t busy(const json_t *row)
{
    return json_integer_value(json_object_get(row, "cpu")) + json_integer_value(json_object_get(row, "blocked"));
}

/* Is this slice, which is not among the newest, one of the longest of those? Of equals the older is. */
static bool is_among_longest(json_t *slices, const char *key, json_int_t newest)
{
    const json_t *row = json_object_get(slices, key);
    int longer = 0;
    const char *other;
    json_t *value;
    json_object_foreach(slices, other, value) if (atoll(other) <= newest - SLICES_KEPT) longer +=
        busy(value) > busy(row) || (busy(value) == busy(row) && atoll(other) < atoll(key));
    return longer < LONGEST_KEPT;
}

/* A whole picture has only the newest slices and the longest, so whoever was there before forgets the others too. */
static void keep_newest_slices(json_t *picture)
{
    json_t *slices = json_object_get(picture, "slices");
    json_int_t newest = 0;
    const char *key;
    json_t *row;
    void *next;
    json_object_foreach(slices, key, row) newest = atoll(key) > newest ? atoll(key) : newest;
    json_t *gone = json_object();
    json_object_foreach(slices, key,
                        row) if (atoll(key) <= newest - SLICES_KEPT && !is_among_longest(slices, key, newest))
        json_object_set_new(gone, key, json_null());
    json_object_foreach_safe(gone, next, key, row) json_object_del(slices, key);
    json_decref(gone);
}

void picture_apply(json_t *picture, const json_t *body)
{
    json_int_t since = json_integer_value(json_object_get(body, "since"));
    if (since == 0)
        forget_everything(picture);
    else
        assert_int_equal(since, json_integer_value(json_object_get(picture, "version")));
    assert_true(json_integer_value(json_object_get(body, "version")) >= since);
    json_object_set(picture, "version", json_object_get(body, "version"));
    json_object_set(picture, "now", json_object_get(body, "now"));
    json_object_set(picture, "status", json_object_get(body, "status"));
    assert_non_null(json_object_get(body, "status"));
    apply_names(picture, body);
    for (int i = 0; i < TABLES; i++)
        apply_table(picture, tables[i], json_object_get(body, tables[i]));
    keep_newest_slices(picture);
}

json_t *update_body(const struct fl_shadow *shadow, struct fl_cursor *cursor, const struct fl_selection *selection)
{
    struct fl_buffer out = {0};
    json_error_t error;
    fl_buffer_add(&out, "{", 1);
    fl_wire_update(shadow, cursor, selection, &out, cursor);
    fl_buffer_add(&out, "}", 1);
    assert_false(out.failed);
    json_t *body = json_loadb((const char *)out.data, out.length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (!body)
        fail_msg("no JSON: %s at %d in %.*s", error.text, error.position, (int)out.length, (const char *)out.data);
    fl_buffer_fini(&out);
    return body;
}

static void show_difference(const json_t *got, const json_t *wanted, const char *path)
{
    if (json_equal(got, wanted))
        return;
    if (json_is_object(got) && json_is_object(wanted)) {
        const char *name;
        json_t *value;
        char deeper[256];
        json_object_foreach((json_t *)(uintptr_t)wanted, name, value)
        {
            snprintf(deeper, sizeof deeper, "%s/%s", path, name);
            show_difference(json_object_get(got, name), value, deeper);
        }
        json_object_foreach((json_t *)(uintptr_t)got, name, value)
        {
            snprintf(deeper, sizeof deeper, "%s/%s", path, name);
            if (!json_object_get(wanted, name))
                show_difference(value, NULL, deeper);
        }
        return;
    }
    char *got_text = got ? json_dumps(got, JSON_ENCODE_ANY | JSON_SORT_KEYS) : NULL;
    char *wanted_text = wanted ? json_dumps(wanted, JSON_ENCODE_ANY | JSON_SORT_KEYS) : NULL;
    print_error("%s: got %.200s, wanted %.200s\n", path, got_text ? got_text : "nothing",
                wanted_text ? wanted_text : "nothing");
    free(got_text);
    free(wanted_text);
}

void assert_json_equal(const json_t *got, const json_t *wanted)
{
    show_difference(got, wanted, "");
    assert_true(json_equal(got, wanted));
}

size_t rows_in(const json_t *body, const char *section, const char *part)
{
    return json_array_size(json_object_get(json_object_get(json_object_get(body, section), part), "id"));
}
