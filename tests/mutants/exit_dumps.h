/* exit_dumps.h: included before everything in the build that counts lines: a child of a test ends by _exit, which
 * loses gcov's counters. */
#ifndef EXIT_DUMPS_H
#define EXIT_DUMPS_H

#include <unistd.h>

extern void __gcov_dump(void);
#define _exit(code) (__gcov_dump(), (_exit)(code))

#endif
