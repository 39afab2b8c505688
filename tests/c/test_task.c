/* Tasks: switches, the four times of each, hubs, ends. */
#include "core_script.h"

/* GIVEN two tasks that take turns, THEN each has its times, its lifetime is their sum, and its wait is at its node. */
static void test_a_switch_parks_one_task_and_resumes_another(void **state)
{
    (void)state;
    script_begin(NULL);
    struct fl_task *main_task = current_task();
    call("main"), busy(10);
    struct fl_task *other = spawn();
    busy(2);
    to(other);
    call("serve"), busy(5), off(4);
    call("wait");
    to(main_task);
    busy(20);
    to(other);
    busy(1), ret("wait"), busy(3);

    assert_sums(task(1), .cpu = 32, .waited = 9);
    assert_sums(task(2), .cpu = 9, .blocked = 4, .waited = 2 + 20);
    assert_int_equal(task(1)->state, FL_TASK_PARKED);
    assert_int_equal(task(2)->state, FL_TASK_CURRENT);
    assert_int_equal(task(1)->begin, 0);
    assert_int_equal(task(2)->begin, 10);
    assert_int_equal(task(1)->since, 12 + 9 + 20);
    assert_int_equal(task(2)->since, 12 + 9 + 20);
    assert_int_equal(task(1)->sums.switches, 2); /* current from the start counts as one */
    assert_int_equal(task(2)->sums.switches, 2);
    assert_node(node("main", "main"), 1, .cpu = 32, .waited = 9);
    assert_node(node("serve", "serve"), 1, .cpu = 8, .blocked = 4);
    assert_node(node("serve", "serve/wait"), 1, .cpu = 1, .waited = 20);
    assert_node(node("", ""), 0, .waited = 2);
    assert_thread(thread(), .cpu = 41, .blocked = 4);
    assert_ptr_equal(&script.shadow->nodes[task(2)->node], node("serve", "serve"));
    assert_ptr_equal(&script.shadow->nodes[task(1)->node], node("main", "main"));
    assert_sums(group("serve"), .cpu = 9, .blocked = 4, .waited = 20);
    assert_int_equal(group("serve")->sums.switches, 1); /* the first was before its group was known */
    assert_int_equal(group("")->sums.switches, 2);
}

/* GIVEN a parked task, THEN its times stand still and `since` tells the rest. */
static void test_a_parked_task_stands_still(void **state)
{
    (void)state;
    script_begin(NULL);
    struct fl_task *other = spawn();
    busy(7);
    to(other);
    busy(5);
    uint64_t changed = (look(), find_task(1)->changed);
    busy(100);
    assert_sums(task(1), .cpu = 7);
    assert_int_equal(task(1)->since, 7);
    assert_int_equal(task(1)->changed, changed);
    assert_sums(task(2), .cpu = 105, .waited = 7);
}

/* GIVEN deep stacks, WHEN switched, THEN each task goes on exactly where it was. */
static void test_stacks_stay_apart(void **state)
{
    (void)state;
    script_begin(NULL);
    struct fl_task *main_task = current_task(), *a = spawn(), *b = spawn();
    call("main");
    to(a), call("f"), call("f"), call("g"), busy(1);
    to(b), call("f"), call("g"), busy(2);
    to(a), busy(4), ret("g"), busy(8);
    to(b), busy(16), ret("g"), ret("f"), busy(32);
    to(a), ret("f"), busy(64);
    to(main_task), busy(128);
    assert_node(node("f", "f/f/g"), 1, .cpu = 5, .waited = 2);
    assert_node(node("f", "f/f"), 1, .cpu = 8, .waited = 48);
    assert_node(node("f", "f/g"), 1, .cpu = 18, .waited = 12);
    assert_node(node("f", "f"), 2, .cpu = 64);
    assert_node(node("f", ""), 0, .cpu = 32);
    assert_node(node("main", "main"), 1, .cpu = 128, .waited = 127);
    assert_int_equal(script.shadow->lost.unmatched, 0);
}

/* GIVEN a switch to the current task itself, THEN it is no switch, and what was open is settled. */
static void test_a_switch_to_itself_is_none(void **state)
{
    (void)state;
    script_begin(NULL);
    call("main"), busy(5), off(6);
    to(current_task());
    busy(1);
    assert_sums(task(1), .cpu = 6, .blocked = 6);
    assert_int_equal(task(1)->sums.switches, 1);
    assert_int_equal(thread()->since, 11);
    assert_int_equal(thread()->slice, 0);
}

/* GIVEN a hub, THEN off the processor in its entry function is idle; deeper, and at the root, it is blocked. */
static void test_a_hub_is_idle_in_its_entry_function_only(void **state)
{
    (void)state;
    script_begin(NULL);
    struct fl_task *main_task = current_task(), *hub = spawn();
    call("main");
    to(hub);
    fl_task_set_hub(script.thread, hub);
    off(1);
    call("run"), busy(10), off(20);
    assert_thread(thread(), .cpu = 10, .blocked = 1, .idle = 20); /* also while it is open */
    call("callback"), busy(1), off(40), ret("callback");
    off(80);
    to(main_task);
    off(160); /* no hub */
    assert_node(node("run", "run"), 1, .cpu = 10, .idle = 100);
    assert_node(node("run", "run/callback"), 1, .cpu = 1, .blocked = 40);
    assert_node(node("", ""), 0, .blocked = 1);
    assert_node(node("main", "main"), 1, .blocked = 160, .waited = 152);
    assert_sums(task(2), .cpu = 11, .blocked = 41, .idle = 100);
    assert_thread(thread(), .cpu = 11, .blocked = 201, .idle = 100);
    assert_int_equal(thread()->hub, 2);
    assert_int_equal(task(2)->hub, 1);
    assert_sums(group("run"), .cpu = 11, .blocked = 40, .idle = 100);
}

/* GIVEN a hub that was told where it polls, THEN off the processor there is idle, and nowhere else. */
static void test_a_hub_whose_poll_is_not_its_entry_function(void **state)
{
    (void)state;
    script_begin(NULL);
    struct fl_task *loop = current_task(), *job = spawn();
    call("main"), call("run"), call("select");
    fl_task_set_poll(script.thread, loop, script.thread->node);
    busy(1), off(2);
    assert_thread(thread(), .cpu = 1, .idle = 2); /* also while it is open */
    ret("select"), off(4), ret("run"), off(8);
    call("select"), off(16), ret("select"); /* another node of the same function */
    to(job), call("job"), off(32), to(loop);
    assert_node(node("main", "main/run/select"), 1, .cpu = 1, .idle = 2);
    assert_node(node("main", "main/run"), 1, .blocked = 4);
    assert_node(node("main", "main"), 1, .blocked = 8, .waited = 32);
    assert_node(node("main", "main/select"), 1, .blocked = 16);
    assert_node(node("job", "job"), 1, .blocked = 32);
    assert_int_equal(thread()->hub, 1);
    assert_int_equal(task(1)->hub, 1);
    /* The loop runs from another place now. */
    fl_task_set_poll(script.thread, loop, script.thread->node);
    off(64);
    assert_node(node("main", "main"), 1, .blocked = 8, .idle = 64, .waited = 32);
}

/* GIVEN a hub that polls by a C function which is told, THEN off the processor in it is idle. */
static void test_a_hub_that_polls_in_a_c_function(void **state)
{
    (void)state;
    script_begin(NULL);
    struct fl_task *loop = current_task();
    const struct fl_function row = {.kind = FL_FUNCTION_C, .name = fl_strings_add(&script.session->strings, "poll", 4)};
    fl_function_id poll = fl_functions_add(&script.session->functions, &row);
    call("run");
    fl_task_set_hub(script.thread, loop);
    fl_enter(script.thread, poll, true, fl_now(script.thread));
    off(1);
    assert_thread(thread(), .idle = 1);
    fl_leave(script.thread, poll, fl_now(script.thread));
    call("callback");
    fl_enter(script.thread, poll, true, fl_now(script.thread));
    off(2);
    fl_leave(script.thread, poll, fl_now(script.thread));
    assert_thread(thread(), .blocked = 2, .idle = 1);
}

/* GIVEN a task that turns out to be the hub while it is deep inside, THEN its entry function is its poll from then on.
 */
static void test_a_hub_that_is_found_late(void **state)
{
    (void)state;
    script_begin(NULL);
    struct fl_task *main_task = current_task(), *hub = spawn(), *parked_hub = spawn();
    to(hub), call("run"), off(1), call("callback"), off(2);
    fl_task_set_hub(script.thread, hub);
    off(4), ret("callback"), off(8);
    to(parked_hub), call("loop"), call("poll");
    to(main_task);
    fl_task_set_hub(script.thread, parked_hub);
    to(parked_hub), off(16), ret("poll"), off(32);
    to(main_task);
    assert_node(node("run", "run"), 1, .blocked = 1, .idle = 8);
    assert_node(node("run", "run/callback"), 1, .blocked = 6);
    assert_node(node("loop", "loop/poll"), 1, .blocked = 16);
    assert_node(node("loop", "loop"), 1, .idle = 32);
    assert_int_equal(thread()->hub, 3);
}

/* GIVEN a hub whose stack is told anew, or that is entered a second time, THEN its entry function is its poll still,
 * and the reader's open interval agrees with what the thread writes in the end. */
static void test_a_hub_that_is_entered_again(void **state)
{
    (void)state;
    script_begin(NULL);
    struct fl_task *hub = current_task();
    call("first"), ret("first");
    fl_task_set_hub(script.thread, hub); /* at its root, its group being known */
    call("run"), off(1);
    assert_thread(thread(), .idle = 1);
    ret("run");
    assert_thread(thread(), .idle = 1);
    call("again"), off(2);
    assert_thread(thread(), .idle = 3);
    ret("again");
    assert_node(node("first", "again"), 1, .idle = 2);
    call("run");
    fl_forget_stack(script.thread, fl_now(script.thread));
    off(4), resume("run"), off(8), call("callback"), off(16), ret("callback");
    assert_node(node("first", "run"), 2, .idle = 9);
    assert_node(node("first", ""), 0, .blocked = 4);
    assert_thread(thread(), .blocked = 20, .idle = 11);
}

/* GIVEN two hubs on one thread, one after the other, THEN both are idle in their polls, open or closed. */
static void test_two_hubs_on_one_thread(void **state)
{
    (void)state;
    script_begin(NULL);
    struct fl_task *first = current_task(), *second = spawn();
    fl_task_set_hub(script.thread, first);
    call("first"), off(1);
    fl_task_set_hub(script.thread, second);
    to(second), call("second"), off(2);
    to(first), off(4);
    assert_thread(thread(), .idle = 7);
    to(second);
    assert_thread(thread(), .idle = 7);
    assert_int_equal(thread()->hub, 2);
}

/* GIVEN a hub that ends, THEN the thread has none until there is another. */
static void test_a_hub_that_ends(void **state)
{
    (void)state;
    script_begin(NULL);
    struct fl_task *first = spawn(), *second = spawn();
    fl_task_set_hub(script.thread, first);
    end(first);
    assert_int_equal(thread()->hub, 0);
    fl_task_set_hub(script.thread, second);
    assert_int_equal(thread()->hub, 3);
    end(spawn());
    assert_int_equal(thread()->hub, 3);
}

/* GIVEN a task that has ended, THEN its row says so and keeps its numbers, its wait up to the end included. */
static void test_an_ended_task_is_kept(void **state)
{
    (void)state;
    script_begin(NULL);
    struct fl_task *main_task = current_task(), *other = spawn();
    to(other), call("serve"), busy(5), ret("serve");
    to(main_task), busy(3);
    end(other);
    busy(100);
    assert_int_equal(task(2)->state, FL_TASK_ENDED);
    assert_int_equal(task(2)->since, 8);
    assert_sums(task(2), .cpu = 5, .waited = 3);
    assert_node(node("serve", ""), 0, .waited = 3);
    assert_int_equal(group("serve")->started, 1);
    assert_int_equal(group("serve")->ended, 1);
}

/* GIVEN more ended tasks than are kept, THEN the oldest are deleted, their rows are used again with new ids, and their
 * group keeps their sums. */
static void test_ended_tasks_are_forgotten_and_rows_reused(void **state)
{
    (void)state;
    script_begin(&(struct fl_session_options){.ended_tasks = 2});
    struct fl_task *main_task = current_task(), *rows[5];
    for (int i = 0; i < 5; i++) {
        rows[i] = spawn();
        to(rows[i]), call("job"), busy(10), ret("job");
        to(main_task);
        end(rows[i]);
        look();
    }
    /* Ids 2 .. 6 have ended; 5 and 6 are kept. The row of 2 was free for 5, that of 3 for 6. */
    assert_ptr_equal(rows[3], rows[0]);
    assert_ptr_equal(rows[4], rows[1]);
    for (uint32_t id = 2; id <= 4; id++)
        assert_null(find_task(id));
    assert_int_equal(task(5)->state, FL_TASK_ENDED);
    assert_sums(task(6), .cpu = 10);
    assert_int_equal(script.shadow->tasks_alive, 3);
    assert_int_equal(script.shadow->deleted_task_count, 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(script.shadow->deleted_tasks[i].id, 2 + i);
    assert_int_equal(group("job")->started, 5);
    assert_int_equal(group("job")->ended, 5);
    assert_sums(group("job"), .cpu = 50);
    assert_node(node("job", "job"), 5, .cpu = 50);
}

/* GIVEN a row that was used before, THEN nothing of the old task is in the new one. */
static void test_a_reused_row_starts_clean(void **state)
{
    (void)state;
    script_begin(&(struct fl_session_options){.ended_tasks = 1});
    struct fl_task *main_task = current_task(), *old = spawn(), *filler = spawn();
    fl_task_set_hub(script.thread, old);
    fl_task_set_name(old, 1);
    to(old), call("run"), off(5), call("deep");
    to(main_task);
    fl_task_set_wait(old, 1);
    end(old), end(filler);
    busy(50);
    struct fl_task *reused = spawn();
    assert_ptr_equal(reused, old);
    const struct fl_shadow_task *row = task(4);
    assert_sums(row, 0);
    assert_int_equal(row->begin, 55);
    assert_int_equal(row->since, 55);
    assert_int_equal(row->hub, 0);
    assert_int_equal(row->name, 0);
    assert_int_equal(row->wait, 0);
    assert_int_equal(row->group, 0);
    assert_int_equal(row->sums.switches, 0);
    assert_int_equal(row->sums.longest, 0);
    assert_int_equal(row->state, FL_TASK_PARKED);
    to(reused), call("job"), off(3);
    assert_sums(task(4), .blocked = 3);
    assert_node(node("job", "job"), 1, .blocked = 3);
}

/* GIVEN what the embedder keeps in a row, THEN it is there until the task ends, and not in the next one. */
static void test_what_the_embedder_keeps(void **state)
{
    (void)state;
    int greenlet;
    script_begin(&(struct fl_session_options){.ended_tasks = 1});
    struct fl_task *kept = fl_task_create(script.thread, 0, &greenlet), *filler = spawn();
    kept->seeded_epoch = 1;
    to(kept), to(filler);
    assert_ptr_equal(kept->key, &greenlet);
    end(kept);
    assert_null(kept->key);
    to(script.thread->main), end(filler);
    assert_ptr_equal(spawn(), kept);
    assert_null(kept->key);
    assert_int_equal(kept->seeded_epoch, 0);
}

/* GIVEN no room for a task, THEN there is none, it is counted, and the others go on. */
static void test_a_task_without_room_is_counted(void **state)
{
    (void)state;
    script_begin(NULL);
    script.session->tasks.directory = 1; /* chunks at most, as if memory was at its end */
    for (uint32_t i = 1; i < 1u << FL_TASK_BITS; i++)
        spawn();
    assert_null(fl_task_create(script.thread, 0, NULL));
    assert_null(fl_task_create(script.thread, 0, NULL));
    look();
    assert_int_equal(script.shadow->lost.tasks, 2);
    assert_int_equal(script.shadow->tasks_alive, 1u << FL_TASK_BITS);
    busy(5);
    assert_sums(task(1), .cpu = 5);
}

/* GIVEN a name and a reason to wait, THEN the row tells them; the reason is over when the task goes on. */
static void test_name_and_wait(void **state)
{
    (void)state;
    script_begin(NULL);
    uint32_t name = fl_strings_add(&script.session->strings, "worker", 6);
    uint32_t wait = fl_strings_add(&script.session->strings, "Queue.get", 9);
    struct fl_task *main_task = current_task(), *other = spawn();
    to(other);
    fl_task_set_name(other, name);
    to(main_task);
    fl_task_set_wait(other, wait);
    assert_int_equal(task(2)->name, name);
    assert_int_equal(task(2)->wait, wait);
    to(other);
    assert_int_equal(task(2)->name, name);
    assert_int_equal(task(2)->wait, 0);
}

/* GIVEN slices of several lengths, THEN the longest is told, idle taken off, the open one included. */
static void test_the_longest_slice(void **state)
{
    (void)state;
    script_begin(NULL);
    struct fl_task *hub = current_task(), *other = spawn();
    fl_task_set_hub(script.thread, hub);
    call("run"), busy(10), off(500);
    to(other), call("job"), busy(20), off(5);
    to(hub), busy(3);
    to(other), busy(7);
    assert_int_equal(task(1)->sums.longest, 10);
    assert_int_equal(task(2)->sums.longest, 25);
    busy(30);
    assert_int_equal(task(2)->sums.longest, 37);
    to(hub);
    assert_int_equal(group("job")->sums.longest, 37);
    assert_int_equal(group("run")->sums.longest, 10);
}

/* GIVEN the current slice, THEN the thread's row tells when it began and what it is made of. */
static void test_the_current_slice(void **state)
{
    (void)state;
    script_begin(NULL);
    struct fl_task *other = spawn();
    call("main"), busy(10), off(20);
    to(other), busy(1), off(2), call("job"), busy(3), off(4);
    const struct fl_shadow_thread *row = thread();
    assert_int_equal(row->slice, 30);
    assert_int_equal(row->since, 33);
    assert_int_equal(row->slice_cpu, 4);
    assert_int_equal(row->slice_blocked, 6);
    assert_int_equal(row->slice_idle, 0);
    assert_int_equal(row->task, 2);
    assert_ptr_equal(&script.shadow->nodes[row->node], find_node("job", "job"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, script_end)
    const struct CMUnitTest tests[] = {
        TEST(test_a_switch_parks_one_task_and_resumes_another),
        TEST(test_a_parked_task_stands_still),
        TEST(test_stacks_stay_apart),
        TEST(test_a_switch_to_itself_is_none),
        TEST(test_a_hub_is_idle_in_its_entry_function_only),
        TEST(test_a_hub_whose_poll_is_not_its_entry_function),
        TEST(test_a_hub_that_polls_in_a_c_function),
        TEST(test_a_hub_that_is_found_late),
        TEST(test_a_hub_that_is_entered_again),
        TEST(test_two_hubs_on_one_thread),
        TEST(test_a_hub_that_ends),
        TEST(test_an_ended_task_is_kept),
        TEST(test_ended_tasks_are_forgotten_and_rows_reused),
        TEST(test_a_reused_row_starts_clean),
        TEST(test_what_the_embedder_keeps),
        TEST(test_a_task_without_room_is_counted),
        TEST(test_name_and_wait),
        TEST(test_the_longest_slice),
        TEST(test_the_current_slice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
