#include "error.h"

const char *fl_error_text(int code)
{
    switch (code) {
    case 0:
        return "no error";
#define FL__CASE(name, number, text)                                                                                   \
    case FL_E##name:                                                                                                   \
        return text;
        FL_ERRORS(FL__CASE)
#undef FL__CASE
    default:
        return "unknown error";
    }
}
