#include "auth.h"
#include "ascii.h"
#include "error.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/random.h>

int fl_token_make(char token[FL_TOKEN_DIGITS + 1])
{
    static const char hex[] = "0123456789abcdef";
    unsigned char bytes[FL_TOKEN_DIGITS / 2];
    size_t have = 0;

    while (have < sizeof bytes) {
        ssize_t got = getrandom(bytes + have, sizeof bytes - have, 0);
        if (got < 0 && errno != EINTR)
            return FL_ESYSTEM;
        have += got > 0 ? (size_t)got : 0;
    }
    for (size_t i = 0; i < sizeof bytes; i++) {
        token[2 * i] = hex[bytes[i] >> 4];
        token[2 * i + 1] = hex[bytes[i] & 15];
    }
    token[FL_TOKEN_DIGITS] = '\0';
    return 0;
}

bool fl_token_is(const char token[FL_TOKEN_DIGITS + 1], const char *given)
{
    /* Only the length of what was given can be measured from outside, and the length is no secret. */
    unsigned different = strlen(given) != FL_TOKEN_DIGITS;
    size_t last = strlen(given);

    for (size_t i = 0; i < FL_TOKEN_DIGITS; i++)
        different |= (unsigned)(unsigned char)token[i] ^ (unsigned char)given[i < last ? i : last];
    return different == 0;
}

bool fl_host_allowed(const char *host)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};

    for (size_t i = 0; host && i < sizeof names / sizeof *names; i++) {
        if (!fl_ascii_begins_with(host, names[i]))
            continue;
        const char *port = host + strlen(names[i]);
        if (*port == '\0')
            return true;
        size_t digits = *port == ':' ? strspn(port + 1, "0123456789") : 0;
        return digits >= 1 && digits <= 5 && port[1 + digits] == '\0';
    }
    return false;
}

bool fl_origin_allowed(const char *origin, const char *host)
{
    if (!origin)
        return true;
    if (!host)
        return false;
    const char *scheme = fl_ascii_begins_with(origin, "https://") ? "https://" : "http://";
    if (!fl_ascii_begins_with(origin, scheme))
        return false;
    return fl_ascii_equal(origin + strlen(scheme), host);
}
