/* Requests, as far as tests/vectors/bad-requests.json (test_wire_vectors.c) does not have them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "request.h"

static struct fl_request request;
static struct fl_refusal refusal;

static enum fl_request_result parse(const char *text)
{
    return fl_request_parse(text, strlen(text), &request, &refusal);
}

#define SUBSCRIBE(arguments) "{\"seq\":3,\"type\":\"request\",\"command\":\"flamelet/subscribe\"" arguments "}"

static void test_initialize(void **state)
{
    (void)state;
    assert_int_equal(parse("{\"seq\":2147483647,\"type\":\"request\",\"command\":\"initialize\",\"arguments\":"
                           "{\"adapterID\":\"flamelet\",\"clientID\":\"x\",\"clientName\":\"y\",\"token\":\"abc\","
                           "\"protocol\":{\"min\":1,\"max\":3},\"linesStartAt1\":true}}"),
                     FL_REQUEST_OK);
    assert_int_equal(request.seq, 2147483647);
    assert_int_equal(request.command, FL_COMMAND_INITIALIZE);
    assert_string_equal(request.token, "abc");
    assert_int_equal(request.protocol_min, 1);
    assert_int_equal(request.protocol_max, 3);
}

#define INITIALIZE(arguments)                                                                                          \
    "{\"seq\":3,\"type\":\"request\",\"command\":\"initialize\",\"arguments\":{\"token\":\"abc\"," arguments "}}"
#define PROTOCOL ",\"protocol\":{\"min\":1,\"max\":3}"

static void test_initialize_with_wrong_arguments(void **state)
{
    (void)state;
    static const struct {
        const char *text, *name;
    } cases[] = {
        {INITIALIZE("\"adapterID\":\"gdb\"" PROTOCOL), "adapterID"},
        {INITIALIZE("\"adapterID\":7" PROTOCOL), "adapterID"},
        {INITIALIZE("\"clientID\":\"x\"" PROTOCOL), "adapterID"},
        {INITIALIZE("\"adapterID\":\"flamelet\",\"clientID\":7" PROTOCOL), "clientID"},
        {INITIALIZE("\"adapterID\":\"flamelet\",\"clientName\":null" PROTOCOL), "clientName"},
        {INITIALIZE("\"adapterID\":\"flamelet\""), "protocol"},
        {INITIALIZE("\"adapterID\":\"flamelet\",\"protocol\":{\"min\":1}"), "protocol"},
        {INITIALIZE("\"adapterID\":\"flamelet\",\"protocol\":{\"min\":2,\"max\":1}"), "protocol"},
        {INITIALIZE("\"adapterID\":\"flamelet\",\"protocol\":{\"min\":-1,\"max\":1}"), "protocol"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(parse(cases[i].text), FL_REQUEST_REFUSED);
        assert_int_equal(refusal.id, FL_REFUSED_ARGUMENT);
        assert_int_equal(strncmp(refusal.text, cases[i].name, strlen(cases[i].name)), 0);
        assert_string_equal(request.token, "abc"); /* who may not be told anything is told so first */
    }
}

static void test_subscribe_has_defaults(void **state)
{
    (void)state;
    assert_int_equal(parse(SUBSCRIBE("")), FL_REQUEST_OK);
    assert_int_equal(request.selection.sections, FL_SECTION_ALL);
    assert_false(request.selection.one_group);
    assert_true(request.rate == FL_RATE_DEFAULT);
    assert_int_equal(parse(SUBSCRIBE(",\"arguments\":{}")), FL_REQUEST_OK);
    assert_true(request.rate == FL_RATE_DEFAULT);
}

static void test_subscribe_with_everything(void **state)
{
    (void)state;
    assert_int_equal(parse(SUBSCRIBE(",\"arguments\":{\"what\":[\"tree\",\"threads\",\"tree\"],\"tree\":{\"of\":"
                                     "\"group\",\"group\":7},\"rate\":0.1}")),
                     FL_REQUEST_OK);
    assert_int_equal(request.selection.sections, FL_SECTION_TREE | FL_SECTION_THREADS);
    assert_true(request.selection.one_group);
    assert_int_equal(request.selection.group, 7);
    assert_true(request.rate == 0.1);
    assert_int_equal(parse(SUBSCRIBE(",\"arguments\":{\"what\":[],\"rate\":20,\"tree\":{\"of\":\"all\"}}")),
                     FL_REQUEST_OK);
    assert_int_equal(request.selection.sections, 0);
    assert_true(request.rate == 20);
    assert_int_equal(parse(SUBSCRIBE(",\"arguments\":{\"tree\":{\"of\":\"task\",\"task\":9}}")), FL_REQUEST_OK);
    assert_int_equal(request.selection.task, 9);
    assert_false(request.selection.one_group);
}

static void test_wrong_arguments_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *name;
    } cases[] = {
        {SUBSCRIBE(",\"arguments\":{\"rate\":1e400}"), NULL}, /* no number at all: refused by the parser */
        {SUBSCRIBE(",\"arguments\":{\"rate\":null}"), "rate"},
        {SUBSCRIBE(",\"arguments\":{\"rate\":-5}"), "rate"},
        {SUBSCRIBE(",\"arguments\":{\"tree\":{\"of\":\"task\",\"task\":0}}"), "tree"},
        {SUBSCRIBE(",\"arguments\":{\"tree\":{\"of\":\"task\"}}"), "tree"},
        {SUBSCRIBE(",\"arguments\":{\"what\":null}"), "what"},
        {SUBSCRIBE(",\"arguments\":{\"what\":[1]}"), "what"},
        {SUBSCRIBE(",\"arguments\":{\"tree\":null}"), "tree"},
        {SUBSCRIBE(",\"arguments\":{\"tree\":{\"of\":\"group\",\"group\":1.0}}"), "tree"},
        {SUBSCRIBE(",\"arguments\":{\"tree\":{\"of\":\"group\",\"group\":2147483648}}"), "tree"},
        {SUBSCRIBE(",\"arguments\":null"), "arguments"},
    };
    for (size_t i = 1; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(parse(cases[i].text), FL_REQUEST_REFUSED);
        assert_int_equal(request.seq, 3);
        assert_int_equal(refusal.id, FL_REFUSED_ARGUMENT);
        assert_int_equal(strncmp(refusal.text, cases[i].name, strlen(cases[i].name)), 0);
    }
    assert_int_equal(parse(cases[0].text), FL_REQUEST_GARBAGE);
}

static void test_what_is_no_request_is_garbage(void **state)
{
    (void)state;
    static const char *const cases[] = {"",
                                        " ",
                                        "null",
                                        "7",
                                        "\"text\"",
                                        "{}",
                                        "{\"seq\":1.0,\"type\":\"request\"}",
                                        "{\"seq\":-1,\"type\":\"request\"}",
                                        "{\"seq\":99999999999999999999,\"type\":\"request\"}",
                                        "{\"seq\":1,\"seq\":2,\"type\":\"request\"}",
                                        "{\"seq\":1,\"type\":\"request\"} x",
                                        "{\"seq\":1,\"type\":\"re\\u0000quest\"}",
                                        "{\"seq\":1,\"type\":\"\xff\"}",
                                        "{\"seq\":1,\"type\":\"\xed\xa0\x80\"}",
                                        "{'seq':1}"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (parse(cases[i]) != FL_REQUEST_GARBAGE)
            fail_msg("%s", cases[i]);
    assert_int_equal(fl_request_parse("{\"seq\":1}\0", 10, &request, &refusal), FL_REQUEST_GARBAGE);
}

/* GIVEN as many levels as fit into a message, THEN they cost no stack. */
static void test_deep_nesting(void **state)
{
    (void)state;
    char *text = malloc(FL_REQUEST_MAX + 1);
    assert_non_null(text);
    memset(text, '[', FL_REQUEST_MAX + 1);
    assert_int_equal(fl_request_parse(text, FL_REQUEST_MAX, &request, &refusal), FL_REQUEST_GARBAGE);
    for (size_t i = 0; i + 5 <= FL_REQUEST_MAX; i += 5)
        memcpy(text + i, "{\"a\":", 5);
    assert_int_equal(fl_request_parse(text, FL_REQUEST_MAX, &request, &refusal), FL_REQUEST_GARBAGE);
    assert_int_equal(fl_request_parse(text, FL_REQUEST_MAX + 1, &request, &refusal), FL_REQUEST_GARBAGE);
    free(text);
}

/* GIVEN long texts, THEN they are cut and still named. */
static void test_long_texts_are_cut(void **state)
{
    (void)state;
    char text[1024], name[600];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    snprintf(text, sizeof text, "{\"seq\":1,\"type\":\"request\",\"command\":\"%s\"}", name);
    assert_int_equal(parse(text), FL_REQUEST_REFUSED);
    assert_int_equal(refusal.id, FL_REFUSED_COMMAND);
    assert_int_equal(strlen(request.name), sizeof request.name - 1);
    assert_non_null(strstr(refusal.text, "xxxx"));
    snprintf(text, sizeof text,
             "{\"seq\":1,\"type\":\"request\",\"command\":\"initialize\",\"arguments\":{\"token\":\"%s\"}}", name);
    assert_int_equal(parse(text), FL_REQUEST_REFUSED);
    assert_int_equal(strlen(request.token), sizeof request.token - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_initialize),
        cmocka_unit_test(test_initialize_with_wrong_arguments),
        cmocka_unit_test(test_subscribe_has_defaults),
        cmocka_unit_test(test_subscribe_with_everything),
        cmocka_unit_test(test_wrong_arguments_are_named),
        cmocka_unit_test(test_what_is_no_request_is_garbage),
        cmocka_unit_test(test_deep_nesting),
        cmocka_unit_test(test_long_texts_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
