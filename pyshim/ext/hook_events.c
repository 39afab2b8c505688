#include "hook_events.h"
#include "polls.h"
#include "sharing.h"

void fl_hook_enter_other(struct fl_thread *thread, PyCodeObject *code, enum fl_entry entry)
{
    struct fl_ext_thread *ext = fl_thread_cell.ext;
    fl_code_word word = fl_code_word_of(code);
    uint32_t function = (uint32_t)word;
    if (word & FL_CODE_SHARES)
        fl_sharing_begins(code);
    if (function == 0 && !(word & (FL_CODE_ASYNC | FL_CODE_POLL)))
        return;
    bool begins = (word & FL_CODE_ASYNC || entry == FL_ENTRY_THROW) && fl_asyncio_before(ext, entry);
    if (begins && !(word & FL_CODE_ASYNC))
        fl_code_mark(code, FL_CODE_ASYNC); /* a generator that a coroutine waits for: it may end the step, too */
    if (function == 0) {
        if (word & FL_CODE_ASYNC)
            fl_asyncio_hidden(ext, true);
        if (word & FL_CODE_POLL)
            fl_asyncio_selects_hidden(ext);
        return;
    }
    if (entry == FL_ENTRY_THROW && fl_throws_enter(ext, function))
        return;
    fl_enter(thread, function, entry == FL_ENTRY_CALL, fl_now(thread));
    if (word & FL_CODE_POLL)
        fl_polls_entered(thread);
}

static void leave(struct fl_thread *thread, fl_code_word word)
{
    if (fl_throws_open != 0)
        fl_throws_leaving(fl_thread_cell.ext, (uint32_t)word);
    fl_hook_leave_plain(thread, word);
}

void fl_hook_leave_other(struct fl_thread *thread, PyCodeObject *code)
{
    fl_code_word word = fl_code_word_of(code);
    if ((uint32_t)word != 0)
        leave(thread, word);
    else if (word & FL_CODE_ASYNC)
        fl_asyncio_hidden(fl_thread_cell.ext, false);
    if (word & FL_CODE_ASYNC)
        fl_asyncio_after(fl_thread_cell.ext, fl_now(thread));
}

void fl_hook_yield_other(struct fl_thread *thread, PyCodeObject *code, int instruction, const PyObject *value)
{
    struct fl_ext_thread *ext = fl_thread_cell.ext;
    fl_code_word word = fl_code_word_of(code);
    if ((uint32_t)word == 0 && !(word & FL_CODE_ASYNC))
        return;
    if (word & FL_CODE_ASYNC)
        fl_asyncio_yields(ext, code, word, instruction, value);
    if ((uint32_t)word != 0)
        leave(thread, word);
    else
        fl_asyncio_hidden(ext, false);
    if (fl_throws_open != 0)
        fl_throws_yielded(ext);
    if (word & FL_CODE_ASYNC)
        fl_asyncio_suspended(ext, fl_now(thread));
}
