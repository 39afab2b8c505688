/* stacks.h: Python stacks as function ids. GIL; runs nothing of the program. */
#ifndef FL_EXT_STACKS_H
#define FL_EXT_STACKS_H

#include "compat.h"

/* Until the next call of fl_stack_read(). */
struct fl_stack {
    const uint32_t *functions;  /* of the frames that are shown, outermost first; shape: count */
    PyCodeObject *const *codes; /* borrowed from the frames, all of them, innermost first; shape: code_count */
    uint32_t count, code_count;
};

/* The stack whose innermost frame is `top` (NULL: none), up to frame `end` without it (NULL: to its bottom). Where
 * memory is at its end the stack is empty. */
const struct fl_stack *fl_stack_read(PyFrameObject *top, const PyFrameObject *end);

#endif
