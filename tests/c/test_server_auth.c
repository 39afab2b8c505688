/* Who is let in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "auth.h"

static void test_tokens_are_random_hex(void **state)
{
    (void)state;
    char a[FL_TOKEN_DIGITS + 1], b[FL_TOKEN_DIGITS + 1];
    assert_int_equal(fl_token_make(a), 0);
    assert_int_equal(fl_token_make(b), 0);
    assert_int_equal(strlen(a), 64);
    assert_int_equal(strspn(a, "0123456789abcdef"), 64);
    assert_string_not_equal(a, b);
}

static void test_only_the_token_is_the_token(void **state)
{
    (void)state;
    char token[FL_TOKEN_DIGITS + 1];
    assert_int_equal(fl_token_make(token), 0);
    assert_true(fl_token_is(token, token));
    for (int i = 0; i < FL_TOKEN_DIGITS; i++) {
        char other[FL_TOKEN_DIGITS + 2];
        memcpy(other, token, sizeof token);
        other[i] = other[i] == '0' ? '1' : '0';
        assert_false(fl_token_is(token, other));
        memcpy(other, token, sizeof token);
        other[i] = '\0';
        assert_false(fl_token_is(token, other));
    }
    char longer[FL_TOKEN_DIGITS + 2];
    memcpy(longer, token, FL_TOKEN_DIGITS);
    memcpy(longer + FL_TOKEN_DIGITS, "0", 2);
    assert_false(fl_token_is(token, longer));
    assert_false(fl_token_is(token, ""));
}

static void test_hosts(void **state)
{
    (void)state;
    static const char *const good[] = {"localhost", "localhost:1", "LocalHost:8080", "127.0.0.1",
                                       "[::1]",     "[::1]:65535", "127.0.0.1:9123"};
    static const char *const bad[] = {"",
                                      "evil.example",
                                      "localhost.evil.example",
                                      "localhost:",
                                      "localhost:80x",
                                      "localhost:80:80",
                                      "localhost:123456",
                                      "localhost@evil.example",
                                      "evil.example:localhost",
                                      "127.0.0.2",
                                      "127.0.0.1.evil.example",
                                      "127.1",
                                      "::1",
                                      "[::1",
                                      "0.0.0.0",
                                      " localhost",
                                      "localhost ",
                                      "localhost, localhost",
                                      "localhost/"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (!fl_host_allowed(good[i]))
            fail_msg("%s was refused", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (fl_host_allowed(bad[i]))
            fail_msg("%s was allowed", bad[i]);
    assert_false(fl_host_allowed(NULL));
}

static void test_origins(void **state)
{
    (void)state;
    static const struct {
        const char *origin, *host;
        int allowed;
    } cases[] = {
        {NULL, "localhost:1", 1},
        {"http://localhost:1", "localhost:1", 1},
        {"https://localhost:1", "localhost:1", 1},
        {"HTTP://LOCALHOST:1", "localhost:1", 1},
        {"http://[::1]:9", "[::1]:9", 1},
        {"http://localhost:2", "localhost:1", 0},
        {"http://localhost", "localhost:1", 0},
        {"http://127.0.0.1:1", "localhost:1", 0},
        {"http://localhost:1/", "localhost:1", 0},
        {"http://evil.example", "localhost:1", 0},
        {"http://localhost:1.evil.example", "localhost:1", 0},
        {"null", "localhost:1", 0},
        {"", "localhost:1", 0},
        {"file://", "localhost:1", 0},
        {"vscode-webview://localhost:1", "localhost:1", 0},
        {"http://localhost:1", NULL, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (fl_origin_allowed(cases[i].origin, cases[i].host) != cases[i].allowed)
            fail_msg("case %zu: %s", i, cases[i].origin);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens_are_random_hex),
        cmocka_unit_test(test_only_the_token_is_the_token),
        cmocka_unit_test(test_hosts),
        cmocka_unit_test(test_origins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
