/*
 * schedule.h: what the server does by the clock, and when: look where threads are, end history periods, refine the
 * trace clock. With nothing to see it does next to nothing. Times: ns of CLOCK_MONOTONIC. One thread: the server's.
 */
#ifndef FL_SCHEDULE_H
#define FL_SCHEDULE_H

#include <stdint.h>

#include "shadow.h"

struct fl_schedule {
    uint64_t look;    /* when to look next */
    uint64_t sample;  /* when a history period ends */
    uint64_t recheck; /* when to refine the clock */
};

/* When the first of all is due. */
uint64_t fl_schedule_next(const struct fl_schedule *schedule);

/* Does what is due. */
void fl_schedule_run(struct fl_schedule *schedule, struct fl_shadow *shadow, uint64_t now);

#endif
