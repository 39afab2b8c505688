/*
 * error.h: what can go wrong in the core, in one list.
 *
 * Functions that can fail return 0 or a negative code of this list. Functions on the hot path (event.h) cannot fail:
 * they count what they had to shed.
 */
#ifndef FL_ERROR_H
#define FL_ERROR_H

#define FL_ERRORS(X)                                                                                                   \
    X(NOMEM, 1, "out of memory")                                                                                       \
    X(LIMIT, 2, "a table of flamelet is full")                                                                         \
    X(RANGE, 3, "value out of range")                                                                                  \
    X(STATE, 4, "not possible in this state")                                                                          \
    X(ADDRESS_IN_USE, 5, "address already in use")                                                                     \
    X(SYSTEM, 6, "a system call failed")

enum fl_error {
#define FL__ENUM(name, number, text) FL_E##name = -(number),
    FL_ERRORS(FL__ENUM)
#undef FL__ENUM
};

/* Text of a code of this list, static storage; "no error" for 0, "unknown error" for anything else. Any thread. */
const char *fl_error_text(int code);

#endif
