/*
 * sharing.h: functions that the program gives to another interpreter (concurrent.interpreters, 3.14 and newer).
 *
 * CPython shares a function's code only where nobody keeps anything in its extra slots: else the call fails, or the
 * function is pickled. A word of ours is found again whenever it is missing (functions.h): so where a function of that
 * package begins, the functions among its arguments lose theirs. One that another thread calls in that moment has it
 * again, and one that was seen keeps it after a stop: those fail as they do under any tool that uses these slots.
 */
#ifndef FL_EXT_SHARING_H
#define FL_EXT_SHARING_H

#include "functions.h"

/* FL_CODE_SHARES for code of that package, else 0. */
fl_code_word fl_sharing_flag_of(const PyCodeObject *code);

/* Code with that flag begins, in the frame that runs on this thread. GIL; leaves a set exception as it is. */
void fl_sharing_begins(const PyCodeObject *code);

#endif
