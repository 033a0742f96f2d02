/* Journals: what is written, in which order, and what waits for it. */
#include <stdlib.h>
#include <string.h>

#include "support/book.h"
#include "support/gate.h"
#include "support/step.h"
#include "support/test.h"

static lanepool_journal_options writes_first(void)
{
    lanepool_journal_options journal = LANEPOOL_JOURNAL_OPTIONS_INIT;
    journal.completes_when_written = true;
    journal.wait_ns = 1;
    return journal;
}

/* --- entries --- */

static int records_itself(lanepool_run *run, void *context)
{
    (void)lanepool_run_set_record(run, (char *)context + 1);
    return step_body(run, context);
}

Test(journal, an_entry_says_what_its_task_did)
{
    struct book book;
    struct step good = { .id = 1 };
    struct step bad = { .id = 2, .code = 7 };
    book_init(&book);
    lanepool_journal_options journal = LANEPOOL_JOURNAL_OPTIONS_INIT;
    journal.first_number = 100;
    lanepool_pool *pool = book_pool(&book, 1, &journal);
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_task task = step_task(&good, &claim, 1);
    task.function = records_itself;
    task.tag = 9;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect_ok(step_submit_on(pool, &bad, 1));
    pool_settle(pool);
    expect_eq(book.count, 2);
    const lanepool_journal_entry *first = &book.entries[0].entry;
    const lanepool_journal_entry *second = &book.entries[1].entry;
    expect_eq(first->number, 100);
    expect_eq(second->number, 101);
    expect_eq(first->ticket & (((uint64_t)1 << 40) - 1), good.ticket);
    expect_eq(second->ticket, first->ticket + 1);
    expect(first->record == (char *)&good + 1 && second->record == NULL);
    expect(first->context == &good && first->function == records_itself);
    expect_eq(first->tag, 9);
    expect_status(first->status, LANEPOOL_OK);
    expect_status(second->status, LANEPOOL_FAILED);
    expect_eq(second->code, 7);
    expect(!first->is_part && first->claims == NULL && first->claim_count == 0);
    lanepool_journal_state state;
    expect_ok(lanepool_pool_journal_state(pool, &state));
    expect_eq(state.written, 2);
    expect_eq(state.watermark, second->ticket + 1);
    expect_eq(state.code, 0);
    pool_end(pool);
    book_fini(&book);
}

Test(journal, is_unsupported_without_one)
{
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_journal_state state;
    expect_status(lanepool_pool_journal_state(pool, &state), LANEPOOL_UNSUPPORTED);
    expect_status(lanepool_pool_journal_state(pool, NULL), LANEPOOL_INVALID);
    expect_status(lanepool_pool_journal_state(NULL, &state), LANEPOOL_INVALID);
    expect_status(lanepool_run_set_record(NULL, NULL), LANEPOOL_INVALID);
    pool_end(pool);
}

Test(journal, options_are_checked)
{
    lanepool_pool *pool;
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_journal_options journal = LANEPOOL_JOURNAL_OPTIONS_INIT;
    options.journal = &journal;
    expect_status(lanepool_pool_create(&options, &pool), LANEPOOL_INVALID);
    journal.write = book_write;
    journal.batch_max = LANEPOOL_JOURNAL_BATCH_MAX + 1;
    expect_status(lanepool_pool_create(&options, &pool), LANEPOOL_INVALID);
    journal.batch_max = 0;
    journal.wait_ns = LANEPOOL_JOURNAL_WAIT_MAX_NS + 1;
    expect_status(lanepool_pool_create(&options, &pool), LANEPOOL_INVALID);
    journal.wait_ns = 0;
    journal.idle_ns = LANEPOOL_JOURNAL_WAIT_MAX_NS + 1;
    expect_status(lanepool_pool_create(&options, &pool), LANEPOOL_INVALID);
    journal.idle_ns = 0;
    journal.struct_size = 4;
    expect_status(lanepool_pool_create(&options, &pool), LANEPOOL_INVALID);
}

/* --- calls without entries --- */

struct idle {
    struct gate gate; /* opens with the third call without entries */
    uint32_t calls;
    size_t entries;
    int fails_with;
};

static int write_idle(void *user, const lanepool_journal_entry *entries, size_t count,
                      uint64_t watermark)
{
    struct idle *idle = user;
    (void)entries;
    (void)watermark;
    idle->entries += count;
    if (count == 0 && ++idle->calls == 3)
        gate_open(&idle->gate, 1);
    return idle->calls == 3 ? idle->fails_with : 0;
}

static int wait_for_gate(lanepool_run *run, void *context)
{
    (void)run;
    gate_pass(context);
    return 0;
}

static lanepool_pool *idle_pool(struct idle *idle, int fails_with)
{
    lanepool_pool *pool;
    lanepool_journal_options journal = LANEPOOL_JOURNAL_OPTIONS_INIT;
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    *idle = (struct idle){ .fails_with = fails_with };
    gate_init(&idle->gate);
    journal.write = write_idle;
    journal.idle_ns = 1000000;
    options.workers = 1;
    options.user = idle;
    options.journal = &journal;
    expect_ok(lanepool_pool_create(&options, &pool));
    return pool;
}

Test(journal, is_called_while_all_workers_are_busy)
{
    struct idle idle;
    lanepool_pool *pool = idle_pool(&idle, 0);
    lanepool_task task = LANEPOOL_TASK_INIT;
    task.function = wait_for_gate;
    task.context = &idle.gate;
    expect_ok(lanepool_pool_submit(pool, &task));
    pool_settle(pool);
    expect_eq(idle.entries, 1);
    pool_end(pool);
    gate_fini(&idle.gate);
}

Test(journal, a_failed_call_without_entries_ends_the_pool)
{
    struct idle idle;
    lanepool_pool *pool = idle_pool(&idle, 5);
    gate_pass(&idle.gate);
    lanepool_journal_state state;
    expect_status(lanepool_pool_await(pool, LANEPOOL_FOREVER), LANEPOOL_UNWRITTEN);
    expect_ok(lanepool_pool_journal_state(pool, &state));
    expect_eq(state.code, 5);
    expect_eq(idle.calls, 3);
    expect_status(lanepool_pool_destroy(pool), LANEPOOL_UNWRITTEN);
    gate_fini(&idle.gate);
}

/* --- order --- */

struct mixed {
    struct step step;
    uint64_t keys[2];
    size_t key_count;
    lanepool_mode mode;
};

/* An earlier conflicting task has an entry before: the order of tickets in each key. */
static void expect_order_of_tickets(const struct book *book, const struct mixed *tasks)
{
    for (size_t i = 0; i < book->count; i++) {
        const struct mixed *late = book->entries[i].entry.context;
        expect(late >= tasks);
        for (size_t j = i > 200 ? i - 200 : 0; j < i; j++) {
            const struct mixed *early = book->entries[j].entry.context;
            bool meets = false;
            for (size_t a = 0; a < early->key_count; a++) {
                for (size_t b = 0; b < late->key_count; b++) {
                    meets |= early->keys[a] == late->keys[b];
                }
            }
            if (meets && !lanepool_modes_overlap(early->mode, late->mode)) {
                expect(book->entries[j].entry.ticket < book->entries[i].entry.ticket);
            }
        }
    }
}

static void writes_conflicting_tasks_in_order(lanepool_layout layout, unsigned workers,
                                              bool completes_when_written)
{
    enum { TASKS = 3000 };
    struct book book;
    struct mixed *tasks = calloc(TASKS, sizeof *tasks);
    book_init(&book);
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    options.workers = workers;
    options.layout = layout;
    lanepool_journal_options journal = LANEPOOL_JOURNAL_OPTIONS_INIT;
    journal.completes_when_written = completes_when_written;
    journal.batch_max = 16;
    journal.wait_ns = 1000;
    lanepool_pool *pool = book_pool_with(&book, options, &journal);
    uint32_t random = 12345;
    for (size_t i = 0; i < TASKS; i++) {
        random = random * 1664525u + 1013904223u;
        tasks[i].keys[0] = random >> 28;
        tasks[i].keys[1] = tasks[i].keys[0] + 1 + (random >> 20) % 7;
        tasks[i].key_count = 1 + (random >> 16) % 2;
        tasks[i].mode = (lanepool_mode)((random >> 10) % 3);
        lanepool_claim claims[2] = { lanepool_exclusive(tasks[i].keys[0]),
                                     lanepool_exclusive(tasks[i].keys[1]) };
        claims[0].mode = claims[1].mode = tasks[i].mode;
        lanepool_task task = step_task(&tasks[i].step, claims, tasks[i].key_count);
        expect_ok(lanepool_pool_submit(pool, &task));
    }
    pool_settle(pool);
    expect_eq(book.count, TASKS);
    expect(!book.overlapped && book.largest <= 16);
    for (size_t i = 0; i < TASKS; i++) {
        expect_eq(book.entries[i].entry.number, i + 1);
    }
    expect_order_of_tickets(&book, tasks);
    lanepool_journal_state state;
    expect_ok(lanepool_pool_journal_state(pool, &state));
    expect_eq(state.watermark, book_lowest_ticket(&book) + TASKS);
    pool_end(pool);
    book_fini(&book);
    free(tasks);
}

Test(journal, writes_in_order_with_lanes_per_key)
{
    writes_conflicting_tasks_in_order(LANEPOOL_PER_KEY, 4, false);
    writes_conflicting_tasks_in_order(LANEPOOL_PER_KEY, 2, true);
}

Test(journal, writes_in_order_with_lanes_per_worker)
{
    writes_conflicting_tasks_in_order(LANEPOOL_PER_WORKER, 3, true);
}

/* Each watermark promises that all tickets below it were written by then. */
Test(journal, a_watermark_covers_what_is_below_it)
{
    enum { TASKS = 500 };
    struct book book;
    struct gate gate;
    struct step first = { .id = 1, .gate = &gate };
    static struct step others[TASKS];
    gate_init(&gate);
    book_init(&book);
    lanepool_pool *pool = book_pool(&book, 2, NULL);
    expect_ok(step_submit_on(pool, &first, 1));
    expect(gate_await(&gate, 1));
    for (size_t i = 0; i < TASKS; i++) {
        expect_ok(step_submit_on(pool, &others[i], 2 + i % 5));
    }
    while (book.count < TASKS) {
    }
    lanepool_journal_state state;
    do {
        expect_ok(lanepool_pool_journal_state(pool, &state));
    } while (state.written < TASKS);
    uint64_t first_ticket = book_lowest_ticket(&book);
    expect_eq(state.watermark, first_ticket - 1);
    gate_open(&gate, 1);
    pool_settle(pool);
    expect_ok(lanepool_pool_journal_state(pool, &state));
    expect_eq(state.watermark, first_ticket + TASKS);
    pool_end(pool);
    book_fini(&book);
    gate_fini(&gate);
}

Test(journal, cancelled_tasks_have_no_entry_and_do_not_hold_the_watermark)
{
    struct book book;
    struct gate gate;
    struct step first = { .id = 1, .gate = &gate };
    struct step second = { .id = 2 };
    struct step third = { .id = 3 };
    lanepool_future *future;
    gate_init(&gate);
    book_init(&book);
    lanepool_pool *pool = book_pool(&book, 1, NULL);
    expect_ok(step_submit_on(pool, &first, 1));
    expect(gate_await(&gate, 1));
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_task task = step_task(&second, &claim, 1);
    task.future = &future;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect_ok(step_submit_on(pool, &third, 1));
    expect_ok(lanepool_future_cancel(future));
    gate_open(&gate, 1);
    pool_settle(pool);
    expect_eq(book.count, 2);
    expect_eq(book_place(&book, &third), 1);
    lanepool_journal_state state;
    expect_ok(lanepool_pool_journal_state(pool, &state));
    expect_eq(state.watermark, book.entries[0].entry.ticket + 3);
    lanepool_future_release(future);
    pool_end(pool);
    book_fini(&book);
    gate_fini(&gate);
}

/* --- completion --- */

Test(journal, a_future_completes_when_written)
{
    struct book book;
    struct gate writing;
    struct step step = { .id = 1, .value = &book };
    lanepool_future *future;
    lanepool_result result;
    gate_init(&writing);
    book_init(&book);
    book.gate = &writing;
    lanepool_journal_options journal = writes_first();
    lanepool_pool *pool = book_pool(&book, 1, &journal);
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_task task = step_task(&step, &claim, 1);
    task.future = &future;
    task.release = step_release;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect(gate_await(&writing, 1));
    expect_eq(step.runs, 1);
    expect_eq(step.releases, 0);
    expect_status(lanepool_future_wait(future, 0, &result), LANEPOOL_TIMED_OUT);
    expect_status(lanepool_future_cancel(future), LANEPOOL_RUNNING);
    expect_status(lanepool_pool_quiesce(pool, 0), LANEPOOL_TIMED_OUT);
    lanepool_snapshot_place place;
    char text[100] = "";
    expect_ok(lanepool_snapshot_locate(future, &place));
    expect_eq(place.where, LANEPOOL_SNAPSHOT_UNWRITTEN);
    expect_ok(lanepool_explain(future, text_append, text));
    expect(strstr(text, "its journal entry is not written yet") != NULL);
    gate_open(&writing, 1);
    expect_ok(lanepool_future_wait(future, LANEPOOL_FOREVER, &result));
    expect_status(result.status, LANEPOOL_OK);
    expect(result.value == &book);
    pool_settle(pool);
    expect_eq(step.releases, 1);
    lanepool_future_release(future);
    pool_end(pool);
    book_fini(&book);
    gate_fini(&writing);
}

Test(journal, a_lane_goes_on_before_its_task_is_written)
{
    struct book book;
    struct gate writing;
    struct gate running;
    struct step first = { .id = 1 };
    struct step second = { .id = 2, .gate = &running };
    gate_init(&writing);
    gate_init(&running);
    book_init(&book);
    book.gate = &writing;
    lanepool_journal_options journal = writes_first();
    lanepool_pool *pool = book_pool(&book, 1, &journal);
    expect_ok(step_submit_on(pool, &first, 1));
    expect(gate_await(&writing, 1));
    expect_ok(step_submit_on(pool, &second, 1));
    expect(gate_await(&running, 1));
    gate_open(&running, 1);
    gate_open(&writing, 2);
    pool_settle(pool);
    expect_eq(book_place(&book, &second), 1);
    pool_end(pool);
    book_fini(&book);
    gate_fini(&running);
    gate_fini(&writing);
}

Test(journal, a_future_completes_at_the_end_by_default)
{
    struct book book;
    struct gate writing;
    struct step step = { .id = 1 };
    lanepool_future *future;
    gate_init(&writing);
    book_init(&book);
    book.gate = &writing;
    lanepool_pool *pool = book_pool(&book, 1, NULL);
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_task task = step_task(&step, &claim, 1);
    task.future = &future;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect_ok(lanepool_future_wait(future, LANEPOOL_FOREVER, NULL));
    expect_eq(book.count, 0);
    gate_open(&writing, 1);
    pool_settle(pool);
    expect_eq(book.count, 1);
    lanepool_future_release(future);
    pool_end(pool);
    book_fini(&book);
    gate_fini(&writing);
}

struct waiting {
    lanepool_future *future;
    _Atomic lanepool_status status;
};

static int wait_for_other(lanepool_run *run, void *context)
{
    struct waiting *waiting = context;
    (void)run;
    waiting->status = lanepool_future_wait(waiting->future, LANEPOOL_FOREVER, NULL);
    return 0;
}

Test(journal, a_task_may_wait_for_a_write)
{
    struct book book;
    struct step step = { .id = 1 };
    struct waiting waiting = { .status = LANEPOOL_FAILED };
    book_init(&book);
    lanepool_journal_options journal = writes_first();
    lanepool_pool *pool = book_pool(&book, 1, &journal);
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_task task = step_task(&step, &claim, 1);
    task.future = &waiting.future;
    expect_ok(lanepool_pool_submit(pool, &task));
    lanepool_task waiter = LANEPOOL_TASK_INIT;
    waiter.function = wait_for_other;
    waiter.context = &waiting;
    waiter.claims = &claim;
    waiter.claim_count = 1;
    expect_ok(lanepool_pool_submit(pool, &waiter));
    pool_settle(pool);
    expect_status(waiting.status, LANEPOOL_OK);
    expect_eq(book.count, 2);
    lanepool_future_release(waiting.future);
    pool_end(pool);
    book_fini(&book);
}

/* --- a failed write --- */

Test(journal, a_failed_write_stops_the_pool)
{
    struct book book;
    struct gate writing;
    struct gate running;
    struct step steps[4] = { { .id = 1 }, { .id = 2 }, { .id = 3, .gate = &running }, { .id = 4 } };
    lanepool_future *futures[4];
    lanepool_result results[4];
    gate_init(&writing);
    gate_init(&running);
    book_init(&book);
    book.gate = &writing;
    book.fails_at = 2;
    book.code = 42;
    lanepool_journal_options journal = writes_first();
    journal.batch_max = 1;
    lanepool_pool *pool = book_pool(&book, 1, &journal);
    lanepool_claim claim = lanepool_exclusive(1);
    for (size_t i = 0; i < 4; i++) {
        lanepool_task task = step_task(&steps[i], &claim, 1);
        task.future = &futures[i];
        task.release = step_release;
        expect_ok(lanepool_pool_submit(pool, &task));
    }
    expect(gate_await(&running, 1));
    gate_open(&writing, 2);
    expect_ok(lanepool_future_wait(futures[1], LANEPOOL_FOREVER, &results[1]));
    expect(lanepool_pool_is_shut_down(pool));
    expect_status(step_submit_on(pool, &steps[0], 1), LANEPOOL_SHUT_DOWN);
    gate_open(&running, 1);
    expect_status(lanepool_pool_await(pool, LANEPOOL_FOREVER), LANEPOOL_UNWRITTEN);
    expect_status(lanepool_pool_quiesce(pool, LANEPOOL_FOREVER), LANEPOOL_UNWRITTEN);
    expect_status(lanepool_pool_quiesce(pool, 0), LANEPOOL_UNWRITTEN);
    for (size_t i = 0; i < 4; i++) {
        expect_ok(lanepool_future_wait(futures[i], LANEPOOL_FOREVER, &results[i]));
        expect_eq(steps[i].releases, 1);
        lanepool_future_release(futures[i]);
    }
    expect_status(results[0].status, LANEPOOL_OK);
    expect_status(results[1].status, LANEPOOL_UNWRITTEN);
    expect_status(results[2].status, LANEPOOL_UNWRITTEN);
    expect_status(results[3].status, LANEPOOL_CANCELLED);
    expect_eq(steps[3].runs, 0);
    expect_eq(steps[3].cancels, 1);
    expect_eq(book.count, 1);
    expect_eq(book.calls, 2);
    lanepool_journal_state state;
    expect_ok(lanepool_pool_journal_state(pool, &state));
    expect_eq(state.code, 42);
    expect_eq(state.written, 1);
    expect_status(lanepool_pool_destroy(pool), LANEPOOL_UNWRITTEN);
    book_fini(&book);
    gate_fini(&running);
    gate_fini(&writing);
}

Test(journal, a_pool_that_stops_now_writes_what_has_ended)
{
    struct book book;
    struct gate writing;
    struct step steps[3] = { { .id = 1 }, { .id = 2 }, { .id = 3 } };
    gate_init(&writing);
    book_init(&book);
    book.gate = &writing;
    lanepool_journal_options journal = writes_first();
    lanepool_pool *pool = book_pool(&book, 1, &journal);
    for (size_t i = 0; i < 3; i++) {
        expect_ok(step_submit_on(pool, &steps[i], i));
    }
    expect(gate_await(&writing, 1));
    while (steps[2].runs == 0) {
    }
    expect_ok(lanepool_pool_shutdown_now(pool, NULL, NULL));
    expect(!lanepool_pool_is_terminated(pool));
    expect_status(lanepool_pool_await(pool, 1000000), LANEPOOL_TIMED_OUT);
    gate_open(&writing, 3);
    expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
    expect_eq(book.count, 3);
    pool_end(pool);
    book_fini(&book);
    gate_fini(&writing);
}
