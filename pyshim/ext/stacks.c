#include "stacks.h"
#include "functions.h"

#include <stdlib.h>

/* Reused: a program's stacks are about as deep each time. */
static struct {
    PyCodeObject **codes;
    uint32_t *functions;
    uint32_t capacity;
} room;

static bool reserve(uint32_t count)
{
    if (count <= room.capacity)
        return true;
    uint32_t capacity = room.capacity ? room.capacity : 256;
    while (capacity < count)
        capacity *= 2;
    PyCodeObject **codes = realloc(room.codes, capacity * sizeof(PyCodeObject *));
    if (codes)
        room.codes = codes;
    uint32_t *functions = realloc(room.functions, capacity * sizeof(uint32_t));
    if (functions)
        room.functions = functions;
    if (!codes || !functions)
        return false;
    room.capacity = capacity;
    return true;
}

const struct fl_stack *fl_stack_read(PyFrameObject *top, const PyFrameObject *end)
{
    static struct fl_stack stack;
    stack = (struct fl_stack){0};
    if (!top || !reserve(1))
        return &stack;
    uint32_t count = fl_compat_stack_codes(top, end, room.codes, room.capacity);
    if (count > room.capacity) {
        if (!reserve(count))
            return &stack;
        count = fl_compat_stack_codes(top, end, room.codes, room.capacity);
    }
    uint32_t shown = 0;
    for (uint32_t i = count; i-- > 0;) {
        uint32_t function = fl_function_of(room.codes[i]);
        if (function)
            room.functions[shown++] = function;
    }
    stack = (struct fl_stack){.functions = room.functions, .codes = room.codes, .count = shown, .code_count = count};
    return &stack;
}
