/*
 * auth.h: who may talk to us: the token, and the headers that a browser cannot forge.
 *
 * DNS rebinding makes a foreign page's requests arrive here with the foreign name in Host; cross-site requests arrive
 * with a foreign Origin. Both are refused before anything is served. The port is not compared: a tunnel keeps the name
 * and changes the port.
 */
#ifndef FL_AUTH_H
#define FL_AUTH_H

#include <stdbool.h>

#define FL_TOKEN_DIGITS 64

/* Writes a new token of 256 random bits, 64 hex digits and a NUL. Returns 0 or FL_ESYSTEM. */
int fl_token_make(char token[FL_TOKEN_DIGITS + 1]);

/* Is `given` the token? Takes the same time wherever they differ. Any text for `given`. */
bool fl_token_is(const char token[FL_TOKEN_DIGITS + 1], const char *given);

/* Host header: localhost, 127.0.0.1 or [::1], with or without a port. NULL (no header): false. */
bool fl_host_allowed(const char *host);

/* Origin header: absent (NULL), or http(s) with exactly the authority that `host` has. */
bool fl_origin_allowed(const char *origin, const char *host);

#endif
