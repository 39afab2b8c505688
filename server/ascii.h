/* ascii.h: texts of protocols compared without regard to case, whatever the program's locale is. */
#ifndef FL_ASCII_H
#define FL_ASCII_H

#include <stdbool.h>
#include <string.h>

static inline unsigned char fl_ascii_lower(char c)
{
    unsigned char byte = (unsigned char)c;
    return byte >= 'A' && byte <= 'Z' ? byte | 0x20u : byte;
}

static inline bool fl_ascii_begins_with(const char *text, const char *start)
{
    for (; *start; text++, start++)
        if (fl_ascii_lower(*text) != fl_ascii_lower(*start))
            return false;
    return true;
}

static inline bool fl_ascii_equal(const char *a, const char *b)
{
    return strlen(a) == strlen(b) && fl_ascii_begins_with(a, b);
}

#endif
