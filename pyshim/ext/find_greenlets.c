#include "find_greenlets.h"

#include <stdlib.h>

#if PY_VERSION_HEX < 0x030e0000
#define Py_BUILD_CORE 1
#undef _PyGC_FINALIZED /* 3.12's private header defines it again, as a function */
#include <internal/pycore_interp.h>
#include <internal/pycore_runtime.h>
#undef Py_BUILD_CORE
#endif

enum { TYPES = 64 };

struct search {
    PyTypeObject *type;
    struct fl_found *found;
    /* Heaps hold few types: whether they are greenlets is remembered by the type's address. */
    struct {
        PyTypeObject *type;
        bool is_greenlet;
    } seen[TYPES];
};

static void look_at(struct search *search, PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    size_t at = ((uintptr_t)type >> 4 ^ (uintptr_t)type >> 10) % TYPES;
    if (search->seen[at].type != type) {
        search->seen[at].type = type;
        search->seen[at].is_greenlet = PyType_IsSubtype(type, search->type) != 0;
    }
    if (!search->seen[at].is_greenlet)
        return;
    struct fl_found *found = search->found;
    if (found->count == found->capacity) {
        size_t capacity = found->capacity ? found->capacity * 2 : 1024;
        PyObject **rows = realloc(found->rows, capacity * sizeof *rows);
        if (!rows)
            return;
        found->rows = rows;
        found->capacity = capacity;
    }
    found->rows[found->count++] = object;
}

#if PY_VERSION_HEX < 0x030e0000
/* The collector's state, or NULL where its layout is not that of our headers. */
static struct _gc_runtime_state *collector(void)
{
#if PY_VERSION_HEX >= 0x030d0000
    struct _gc_runtime_state *gc = (struct _gc_runtime_state *)(void *)((char *)PyInterpreterState_Main() +
                                                                        _PyRuntime.debug_offsets.interpreter_state.gc);
#else
    struct _gc_runtime_state *gc = &PyInterpreterState_Main()->gc;
#endif
    return gc->generation0 == &gc->generations[0].head ? gc : NULL;
}

/* Objects of one generation: each stands right behind its link. */
static void look_through(struct search *search, const PyGC_Head *list)
{
    const uintptr_t flags = 3;
    const PyGC_Head *link = (const PyGC_Head *)(list->_gc_next & ~flags);
    for (; link && link != list; link = (const PyGC_Head *)(link->_gc_next & ~flags))
        look_at(search, (PyObject *)(uintptr_t)(link + 1));
}
#endif

#if PY_VERSION_HEX >= 0x030c0000
static int visit(PyObject *object, void *search)
{
    look_at(search, object);
    return 1;
}
#endif

#if PY_VERSION_HEX >= 0x030c0000 && PY_VERSION_HEX < 0x030e0000
/* Before 3.14 some releases leave the frozen objects out, and others do not. */
static void look_through_frozen(struct search *search)
{
    struct _gc_runtime_state *gc = collector();
    struct fl_found *found = search->found;
    size_t before = found->count;
    if (!gc)
        return;
    look_through(search, &gc->permanent_generation.head);
    if (found->count == before)
        return;
    for (size_t i = 0; i < before; i++)
        if (found->rows[i] == found->rows[before]) {
            found->count = before; /* they were seen already */
            return;
        }
}
#endif

void fl_find_greenlets(PyTypeObject *type, struct fl_found *found)
{
    struct search search = {.type = type, .found = found};
#if PY_VERSION_HEX >= 0x030c0000
    PyUnstable_GC_VisitObjects(visit, &search);
#if PY_VERSION_HEX < 0x030e0000
    look_through_frozen(&search);
#endif
#else
    struct _gc_runtime_state *gc = collector();
    for (int i = 0; gc && i < NUM_GENERATIONS; i++)
        look_through(&search, &gc->generations[i].head);
    if (gc)
        look_through(&search, &gc->permanent_generation.head);
#endif
}

void fl_found_fini(struct fl_found *found)
{
    free(found->rows);
    *found = (struct fl_found){0};
}
