/* functions.h: code objects and C callables as function ids. GIL; any thread. */
#ifndef FL_EXT_FUNCTIONS_H
#define FL_EXT_FUNCTIONS_H

#include "compat.h"

/* First sight of a code object: copies its names and remembers the id in its extra slot. 0: not shown (flamelet's own
 * code, or memory is at its end). Leaves a set exception as it is. */
uint32_t fl_function_first_sight(PyCodeObject *code);

/* The id of a code object; 0: not shown. The hot path. */
static inline uint32_t fl_function_of(PyCodeObject *code)
{
    uint32_t function = fl_compat_code_slot_get(code);
    return __builtin_expect(function != 0, 1) ? function : fl_function_first_sight(code);
}

/* The id of a C callable (built-in function or method, type, any other callable by its type); 0 for what runs as Python
 * code, and so has events of its own. */
uint32_t fl_function_of_callable(PyObject *callable);

/* Is this function id that of a C callable? */
bool fl_function_is_c(uint32_t function);

/* Code whose file lies under this folder is flamelet's own. The string is copied. 0, or -1 with an exception set. */
int fl_functions_hide(const char *folder);

/* In the child of a fork: the ids belong to the parent's session. */
void fl_functions_after_fork_in_child(void);

/* The string id of a str; 0 for anything else. */
uint32_t fl_string_of(PyObject *string);

#endif
