#include "request.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void fl_refuse(struct fl_refusal *refusal, enum fl_refusal_id id, const char *format, ...)
{
    va_list arguments;

    refusal->id = id;
    va_start(arguments, format);
    /* Cut where it is too long: a shorter reason is one too.
     * NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): clang-tidy 14 does not see va_start() on this platform */
    (void)vsnprintf(refusal->text, sizeof refusal->text, format, arguments);
    va_end(arguments);
}

static void copy_cut(char *to, size_t size, const char *from)
{
    size_t length = strnlen(from, size - 1);
    memcpy(to, from, length);
    to[length] = '\0';
}

static bool wrong(struct fl_refusal *refusal, const char *name, const char *expected)
{
    fl_refuse(refusal, FL_REFUSED_ARGUMENT, "%s: expected %s", name, expected);
    return false;
}

/* An integer within a range; a real number is none, even 1.0. */
static bool integer_between(const json_t *value, json_int_t low, json_int_t high, json_int_t *result)
{
    if (!json_is_integer(value) || json_integer_value(value) < low || json_integer_value(value) > high)
        return false;
    *result = json_integer_value(value);
    return true;
}

static bool read_protocol(const json_t *range, struct fl_request *request, struct fl_refusal *refusal)
{
    json_int_t min, max;

    if (!integer_between(json_object_get(range, "min"), 0, FL_REQUEST_SEQ_MAX, &min) ||
        !integer_between(json_object_get(range, "max"), min, FL_REQUEST_SEQ_MAX, &max))
        return wrong(refusal, "protocol", "{\"min\": integer, \"max\": integer, not below min}");
    request->protocol_min = min;
    request->protocol_max = max;
    return true;
}

static bool is_text_or_absent(const json_t *value)
{
    return !value || json_is_string(value);
}

static bool read_initialize(const json_t *arguments, struct fl_request *request, struct fl_refusal *refusal)
{
    const char *token = json_string_value(json_object_get(arguments, "token"));
    const char *adapter = json_string_value(json_object_get(arguments, "adapterID"));

    /* Before anything that can be refused: a stranger must hear of the token only. */
    copy_cut(request->token, sizeof request->token, token ? token : "");
    if (!adapter || strcmp(adapter, "flamelet") != 0)
        return wrong(refusal, "adapterID", "\"flamelet\"");
    if (!is_text_or_absent(json_object_get(arguments, "clientID")))
        return wrong(refusal, "clientID", "a string");
    if (!is_text_or_absent(json_object_get(arguments, "clientName")))
        return wrong(refusal, "clientName", "a string");
    return read_protocol(json_object_get(arguments, "protocol"), request, refusal);
}

static bool read_what(const json_t *what, unsigned *sections, struct fl_refusal *refusal)
{
    static const struct {
        const char *name;
        enum fl_section section;
    } known[] = {{"threads", FL_SECTION_THREADS},
                 {"tasks", FL_SECTION_TASKS},
                 {"tree", FL_SECTION_TREE},
                 {"slices", FL_SECTION_SLICES},
                 {"timeline", FL_SECTION_TIMELINE}};
    static const char expected[] = "an array of \"threads\", \"tasks\", \"tree\", \"slices\", \"timeline\"";

    *sections = FL_SECTION_ALL;
    if (!what)
        return true;
    if (!json_is_array(what))
        return wrong(refusal, "what", expected);
    *sections = 0;
    for (size_t i = 0; i < json_array_size(what); i++) {
        const char *name = json_string_value(json_array_get(what, i));
        unsigned section = 0;
        for (size_t k = 0; name && k < sizeof known / sizeof *known; k++)
            if (strcmp(name, known[k].name) == 0)
                section = known[k].section;
        if (section == 0)
            return wrong(refusal, "what", expected);
        *sections |= section;
    }
    return true;
}

static bool read_tree(const json_t *tree, struct fl_selection *selection, struct fl_refusal *refusal)
{
    static const char expected[] =
        "{\"of\": \"all\"}, {\"of\": \"group\", \"group\": id} or {\"of\": \"task\", \"task\": id}";
    json_int_t group, task;

    if (!tree)
        return true;
    const char *of = json_string_value(json_object_get(tree, "of"));
    if (!of)
        return wrong(refusal, "tree", expected);
    if (strcmp(of, "all") == 0)
        return true;
    if (strcmp(of, "task") == 0) {
        if (!integer_between(json_object_get(tree, "task"), 1, FL_REQUEST_SEQ_MAX, &task))
            return wrong(refusal, "tree", expected);
        selection->task = (uint32_t)task;
        return true;
    }
    if (strcmp(of, "group") != 0 || !integer_between(json_object_get(tree, "group"), 0, FL_REQUEST_SEQ_MAX, &group))
        return wrong(refusal, "tree", expected);
    selection->one_group = true;
    selection->group = (uint32_t)group;
    return true;
}

static bool read_subscribe(const json_t *arguments, struct fl_request *request, struct fl_refusal *refusal)
{
    const json_t *rate = json_object_get(arguments, "rate");

    if (!read_what(json_object_get(arguments, "what"), &request->selection.sections, refusal) ||
        !read_tree(json_object_get(arguments, "tree"), &request->selection, refusal))
        return false;
    request->rate = rate ? json_number_value(rate) : FL_RATE_DEFAULT;
    if ((rate && !json_is_number(rate)) || !(request->rate >= FL_RATE_MIN && request->rate <= FL_RATE_MAX))
        return wrong(refusal, "rate", "a number from 0.1 to 20");
    return true;
}

static bool read_command(const json_t *message, struct fl_request *request, struct fl_refusal *refusal)
{
    static const struct {
        const char *name;
        enum fl_command command;
    } known[] = {{"initialize", FL_COMMAND_INITIALIZE},
                 {"flamelet/subscribe", FL_COMMAND_SUBSCRIBE},
                 {"flamelet/unsubscribe", FL_COMMAND_UNSUBSCRIBE},
                 {"flamelet/processes", FL_COMMAND_PROCESSES},
                 {"disconnect", FL_COMMAND_DISCONNECT}};
    const char *type = json_string_value(json_object_get(message, "type"));
    const char *name = json_string_value(json_object_get(message, "command"));

    if (name)
        copy_cut(request->name, sizeof request->name, name);
    if (!type || strcmp(type, "request") != 0) {
        fl_refuse(refusal, FL_REFUSED_NO_REQUEST, "type: expected \"request\"");
        return false;
    }
    if (!name) {
        fl_refuse(refusal, FL_REFUSED_NO_REQUEST, "command: expected a string");
        return false;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(name, known[i].name) == 0) {
            request->command = known[i].command;
            return true;
        }
    }
    fl_refuse(refusal, FL_REFUSED_COMMAND, "command: this server does not know \"%s\"", request->name);
    return false;
}

static bool read_request(const json_t *message, struct fl_request *request, struct fl_refusal *refusal)
{
    const json_t *arguments = json_object_get(message, "arguments");

    if (!read_command(message, request, refusal))
        return false;
    if (arguments && !json_is_object(arguments))
        return wrong(refusal, "arguments", "an object");
    switch (request->command) {
    case FL_COMMAND_INITIALIZE:
        return read_initialize(arguments, request, refusal);
    case FL_COMMAND_SUBSCRIBE:
        return read_subscribe(arguments, request, refusal);
    case FL_COMMAND_UNSUBSCRIBE:
    case FL_COMMAND_PROCESSES:
    case FL_COMMAND_DISCONNECT:
    default:
        return true;
    }
}

enum fl_request_result fl_request_parse(const char *text, size_t length, struct fl_request *request,
                                        struct fl_refusal *refusal)
{
    enum fl_request_result result = FL_REQUEST_GARBAGE;
    json_int_t seq;

    *request = (struct fl_request){0};
    *refusal = (struct fl_refusal){0};
    if (length > FL_REQUEST_MAX)
        return FL_REQUEST_GARBAGE;
    /* The parser refuses NULs in strings, invalid UTF-8, and more than 2,048 levels. */
    json_t *message = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
    if (json_is_object(message) && integer_between(json_object_get(message, "seq"), 1, FL_REQUEST_SEQ_MAX, &seq)) {
        request->seq = (uint32_t)seq;
        result = read_request(message, request, refusal) ? FL_REQUEST_OK : FL_REQUEST_REFUSED;
    }
    json_decref(message);
    return result;
}
