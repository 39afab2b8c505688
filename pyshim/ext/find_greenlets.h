/*
 * find_greenlets.h: all greenlets of the process, whichever thread they belong to, also the frozen ones (gc.freeze()).
 */
#ifndef FL_EXT_FIND_GREENLETS_H
#define FL_EXT_FIND_GREENLETS_H

#include "compat.h"

struct fl_found {
    PyObject **rows; /* borrowed; shape: count */
    size_t count, capacity;
};

/*
 * Greenlets of `type` and its subclasses that the garbage collector knows; `found` begins zeroed. What it finds is
 * valid as long as the GIL is held, nothing of the program runs and the collector is off. Runs no code and makes no
 * object; a pass over the heap, about 10 to 30 ns for each object. Where memory is at its end there may be fewer.
 */
void fl_find_greenlets(PyTypeObject *type, struct fl_found *found);
void fl_found_fini(struct fl_found *found);

#endif
