/*
 * function.h: what is called, and what tasks are grouped by.
 *
 * A function is a Python code object or a C callable, kept once per (name, qualified name, file, line, kind, column):
 * code that is made anew by exec() for each request does not grow the table. A group is (entry function, label).
 */
#ifndef FL_FUNCTION_H
#define FL_FUNCTION_H

#include "intern.h"

enum fl_function_kind { FL_FUNCTION_PYTHON, FL_FUNCTION_C, FL_FUNCTION_MADE /* by flamelet itself */ };

/* String ids, except line (first line, 0 for C), kind and column. Row 0 is the root of every tree. Code without a name
 * of its own (lambdas, generator expressions), of which there may be several on a line, is told apart by the column at
 * which its body begins, from 1; 0 for all other code. */
struct fl_function {
    uint32_t name, qualname, file, line, kind, column;
};

/* Group 0 holds the tasks that have not yet entered a Python function. */
struct fl_group {
    uint32_t entry; /* function id */
    uint32_t label; /* string id */
};

#define FL_FUNCTIONS_MAX (1u << 22)
#define FL_GROUPS_MAX    (1u << 16)

static inline int fl_functions_init(struct fl_intern *functions)
{
    return fl_intern_init(functions, sizeof(struct fl_function) / sizeof(uint32_t), FL_FUNCTIONS_MAX);
}

static inline uint32_t fl_functions_add(struct fl_intern *functions, const struct fl_function *function)
{
    return fl_intern_add(functions, &function->name);
}

static inline const struct fl_function *fl_functions_get(const struct fl_intern *functions, uint32_t id)
{
    return (const struct fl_function *)(const void *)fl_intern_get(functions, id);
}

static inline int fl_groups_init(struct fl_intern *groups)
{
    return fl_intern_init(groups, sizeof(struct fl_group) / sizeof(uint32_t), FL_GROUPS_MAX);
}

static inline uint32_t fl_groups_add(struct fl_intern *groups, uint32_t entry, uint32_t label)
{
    const struct fl_group group = {.entry = entry, .label = label};
    return fl_intern_add(groups, &group.entry);
}

static inline const struct fl_group *fl_groups_get(const struct fl_intern *groups, uint32_t id)
{
    return (const struct fl_group *)(const void *)fl_intern_get(groups, id);
}

#endif
