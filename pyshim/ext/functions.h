/* functions.h: code objects and C callables as function ids. GIL; any thread. */
#ifndef FL_EXT_FUNCTIONS_H
#define FL_EXT_FUNCTIONS_H

#include "compat.h"

/* What is known of a code object: the function id (0: not shown), above it eight bits for what makes its events
 * special, and above those by which filters that was decided. The word is in the code's extra slot; 0 there: not seen
 * yet. */
typedef uint64_t fl_code_word;
#define FL_CODE_HIDDEN  (1ull << 32) /* flamelet's own, which has no other flag, or hidden by a filter: no id */
#define FL_CODE_ASYNC   (1ull << 33) /* a coroutine or async generator: may begin or end a step of an asyncio task */
#define FL_CODE_ASYNCIO (1ull << 34) /* asyncio's own: what it awaits names no wait */
#define FL_CODE_POLL    (1ull << 35) /* may be where an event loop polls (polls.h) */
#define FL_CODE_SHARES  (1ull << 36) /* gives functions to another interpreter (sharing.h) */

/* First sight of a code object: copies its names and remembers the word. 0: memory is at its end. Leaves a set
 * exception as it is. */
fl_code_word fl_code_first_sight(PyCodeObject *code);

/* Marks a code object that was seen. */
void fl_code_mark(PyCodeObject *code, fl_code_word flag);

/* The upper half of the words that are of now, and have no flag; not 0. */
extern uint32_t fl_code_now;

/* Other filters hold: each code object is decided about again when it is met. */
void fl_code_look_again(void);

/* Seen since then, shown, and with ordinary events: one comparison for all. The hot path. */
static inline bool fl_code_is_plain(fl_code_word word)
{
    return (uint32_t)(word >> 32) == fl_code_now;
}

static inline fl_code_word fl_code_word_of(PyCodeObject *code)
{
    fl_code_word word = fl_compat_code_slot_get(code);
    return __builtin_expect(((uint32_t)(word >> 32) ^ fl_code_now) < 0x100, 1) ? word : fl_code_first_sight(code);
}

/* The id of a code object; 0: not shown. */
static inline uint32_t fl_function_of(PyCodeObject *code)
{
    return (uint32_t)fl_code_word_of(code);
}

/* The id of a C callable (built-in function or method, type, any other callable by its type); 0 for what runs as Python
 * code, and so has events of its own. */
uint32_t fl_function_of_other_callable(PyObject *callable);

/* What was found for the C functions that were called last, by their PyMethodDef: only such as are never freed. */
enum { FL_FOUND_LAST = 64 };
struct fl_found_last {
    const PyMethodDef *method; /* NULL: free */
    uint32_t function;
};
extern struct fl_found_last fl_found_last[FL_FOUND_LAST];

static inline uint32_t fl_function_of_callable(PyObject *callable)
{
    if (__builtin_expect(Py_IS_TYPE(callable, &PyCFunction_Type), 1)) {
        const PyMethodDef *method = ((PyCFunctionObject *)callable)->m_ml;
        const struct fl_found_last *found = &fl_found_last[((uintptr_t)method / sizeof *method) % FL_FOUND_LAST];
        if (__builtin_expect(found->method == method, 1))
            return found->function;
    }
    return fl_function_of_other_callable(callable);
}

/* Is this function id that of a C callable? */
bool fl_function_is_other_c(uint32_t function);
extern uint32_t fl_last_c_function; /* one that is */

static inline bool fl_function_is_c(uint32_t function)
{
    return function == fl_last_c_function || fl_function_is_other_c(function);
}

/* Code whose file lies under this folder is flamelet's own. The string is copied. 0, or -1 with an exception set. */
int fl_functions_hide(const char *folder);

/* In the child of a fork: the ids belong to the parent's session. */
void fl_functions_after_fork_in_child(void);

/* The string id of a str; 0 for anything else. */
uint32_t fl_string_of(PyObject *string);

#endif
