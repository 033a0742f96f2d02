/* Journals together with other features. */
#include <string.h>

#include "support/book.h"
#include "support/step.h"
#include "support/store.h"
#include "support/test.h"

/* Returns a pool whose journal numbers lanes. */
static lanepool_pool *numbering_pool(struct book *book, unsigned workers)
{
    lanepool_journal_options journal = LANEPOOL_JOURNAL_OPTIONS_INIT;
    journal.lane_numbers = true;
    return book_pool(book, workers, &journal);
}

/* --- parts --- */

struct parting {
    struct step step;
    lanepool_key gives_up;
    const lanepool_task *receiver; /* or NULL */
    _Atomic lanepool_status status;
};

static int part_body(lanepool_run *run, void *context)
{
    struct parting *parting = context;
    (void)lanepool_run_set_record(run, &parting->gives_up);
    parting->status = lanepool_run_release(run, parting->gives_up);
    (void)lanepool_run_set_record(run, parting);
    if (parting->status == LANEPOOL_OK && parting->receiver) {
        parting->status = lanepool_run_hand_over(run, parting->receiver);
    }
    return step_body(run, &parting->step);
}

static lanepool_task part_task(struct parting *parting, const lanepool_claim *claims, size_t count)
{
    lanepool_task task = LANEPOOL_TASK_INIT;
    task.function = part_body;
    task.context = parting;
    task.claims = claims;
    task.claim_count = count;
    return task;
}

Test(journal_combined, a_lane_released_early_has_an_entry_of_its_own)
{
    struct book book;
    struct gate gate;
    struct parting parting = { .step = { .id = 1, .gate = &gate } };
    struct step behind = { .id = 2 };
    lanepool_journal_state state;
    gate_init(&gate);
    book_init(&book);
    lanepool_pool *pool = numbering_pool(&book, 2);
    lanepool_claim claims[3] = { lanepool_exclusive(7), lanepool_shared(8),
                                 lanepool_claim_of(lanepool_key_bytes("ab", 2),
                                                   LANEPOOL_EXCLUSIVE) };
    parting.gives_up = lanepool_key_id(7);
    lanepool_task task = part_task(&parting, claims, 3);
    expect_ok(lanepool_pool_submit(pool, &task));
    expect(gate_await(&gate, 1));
    expect_ok(step_submit_on(pool, &behind, 7));
    while (book.count < 2) {
    }
    const struct book_entry *part = &book.entries[0];
    expect(part->entry.context == &parting && part->entry.is_part);
    expect(part->entry.record == &parting.gives_up);
    expect_eq(part->entry.claim_count, 1);
    expect_eq(part->claims[0].key.id, 7);
    expect_eq(part->lane_numbers[0], 1);
    expect(book.entries[1].entry.context == &behind);
    expect_eq(book.entries[1].lane_numbers[0], 2);
    do {
        expect_ok(lanepool_pool_journal_state(pool, &state));
    } while (state.written < 2);
    expect_eq(state.watermark, part->entry.ticket);
    gate_open(&gate, 1);
    pool_settle(pool);
    expect_eq(book.count, 3);
    const struct book_entry *end = &book.entries[2];
    expect(end->entry.context == &parting && !end->entry.is_part);
    expect(end->entry.record == &parting);
    expect_eq(end->entry.ticket, part->entry.ticket);
    expect_eq(end->entry.claim_count, 2);
    expect_eq(end->claims[0].key.id, 8);
    expect_eq(end->lane_numbers[0], 0);
    expect(end->claims[1].key.type == LANEPOOL_KEY_BYTES && end->claims[1].key.size == 2);
    expect_eq(end->lane_numbers[1], 1);
    expect_ok(lanepool_pool_journal_state(pool, &state));
    expect_eq(state.watermark, part->entry.ticket + 2);
    pool_end(pool);
    book_fini(&book);
    gate_fini(&gate);
}

Test(journal_combined, a_lane_that_the_task_does_not_have_makes_no_entry)
{
    struct book book;
    struct parting parting = { .step = { .id = 1 }, .gives_up = { .type = LANEPOOL_KEY_ID } };
    book_init(&book);
    lanepool_pool *pool = book_pool(&book, 1, NULL);
    lanepool_claim claim = lanepool_exclusive(7);
    lanepool_task task = part_task(&parting, &claim, 1);
    parting.gives_up = lanepool_key_id(8);
    expect_ok(lanepool_pool_submit(pool, &task));
    pool_settle(pool);
    expect_status(parting.status, LANEPOOL_INVALID);
    expect_eq(book.count, 1);
    pool_end(pool);
    book_fini(&book);
}

Test(journal_combined, giver_and_receiver_have_entries_with_one_ticket)
{
    struct book book;
    struct step heir = { .id = 2 };
    struct parting parting = { .step = { .id = 1 } };
    lanepool_task receiver = step_task(&heir, NULL, 0);
    lanepool_journal_state state;
    book_init(&book);
    lanepool_pool *pool = numbering_pool(&book, 1);
    lanepool_claim claims[2] = { lanepool_exclusive(7), lanepool_exclusive(8) };
    parting.gives_up = lanepool_key_id(8);
    parting.receiver = &receiver;
    lanepool_task task = part_task(&parting, claims, 2);
    expect_ok(lanepool_pool_submit(pool, &task));
    pool_settle(pool);
    expect_status(parting.status, LANEPOOL_OK);
    expect_eq(book.count, 3);
    for (size_t i = 0; i < 3; i++) {
        expect_eq(book.entries[i].entry.ticket, book.entries[0].entry.ticket);
        expect_eq(book.entries[i].entry.is_part, i < 2);
        expect_eq(book.entries[i].entry.claim_count, 1);
    }
    expect_eq(book.entries[1].lane_numbers[0], 1);
    expect_eq(book.entries[2].lane_numbers[0], 2);
    expect(book.entries[2].entry.context == &heir);
    expect_ok(lanepool_pool_journal_state(pool, &state));
    expect_eq(state.watermark, book.entries[0].entry.ticket + 1);
    pool_end(pool);
    book_fini(&book);
}

/* --- lane numbers --- */

static uint64_t number_in_store(void *user, lanepool_key key)
{
    struct book *book = user;
    book->code++; /* counts the calls */
    return key.type == LANEPOOL_KEY_BYTES ? 100 : 10 * key.id;
}

Test(journal_combined, lane_numbers_go_on_where_the_store_ends)
{
    struct book book;
    struct step step = { .id = 1 };
    book_init(&book);
    lanepool_journal_options journal = LANEPOOL_JOURNAL_OPTIONS_INIT;
    journal.lane_numbers = true;
    journal.last_lane_number = number_in_store;
    lanepool_pool *pool = book_pool(&book, 1, &journal);
    lanepool_lane *lane;
    expect_ok(lanepool_lane_acquire(pool, lanepool_key_bytes("ab", 2), &lane));
    lanepool_claim claims[4] = { lanepool_exclusive(3), lanepool_shared(4), lanepool_commuting(5),
                                 lanepool_claim_of(lanepool_key_lane(lane), LANEPOOL_EXCLUSIVE) };
    lanepool_claim twice[3] = { lanepool_shared(3), lanepool_commuting(3), lanepool_shared(4) };
    lanepool_task task = step_task(&step, claims, 4);
    expect_ok(lanepool_pool_submit(pool, &task));
    task = step_task(&step, twice, 3);
    expect_ok(lanepool_pool_submit(pool, &task));
    pool_settle(pool);
    lanepool_lane_release(lane);
    expect_eq(book.count, 2);
    const struct book_entry *first = &book.entries[0];
    expect_eq(first->lane_numbers[0], 31);
    expect_eq(first->lane_numbers[1], 40);
    expect_eq(first->lane_numbers[2], 50);
    expect_eq(first->lane_numbers[3], 101);
    expect_eq(first->claims[3].key.type, LANEPOOL_KEY_BYTES);
    const struct book_entry *second = &book.entries[1];
    expect_eq(second->lane_numbers[0], 32);
    expect_eq(second->lane_numbers[1], 32);
    expect_eq(second->lane_numbers[2], 40);
    expect_eq(book.code, 4);
    pool_end(pool);
    book_fini(&book);
}

/* --- failures --- */

Test(journal_combined, a_retried_task_has_one_entry)
{
    struct book book;
    struct step step = { .id = 1, .code = 5 };
    book_init(&book);
    lanepool_pool *pool = book_pool(&book, 1, NULL);
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    policy.retries = 3;
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_task task = step_task(&step, &claim, 1);
    task.on_failure = &policy;
    expect_ok(lanepool_pool_submit(pool, &task));
    pool_settle(pool);
    expect_eq(step.runs, 4);
    expect_eq(book.count, 1);
    expect_status(book.entries[0].entry.status, LANEPOOL_FAILED);
    expect_eq(book.entries[0].entry.code, 5);
    pool_end(pool);
    book_fini(&book);
}

Test(journal_combined, a_parked_task_has_its_entry_when_it_is_resolved)
{
    struct book book;
    struct step bad = { .id = 1, .code = 5 };
    struct step other = { .id = 2 };
    lanepool_journal_state state;
    book_init(&book);
    lanepool_pool *pool = book_pool(&book, 1, NULL);
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    policy.at_end = LANEPOOL_FAILURE_POISON;
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_task task = step_task(&bad, &claim, 1);
    task.on_failure = &policy;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect_ok(step_submit_on(pool, &other, 2));
    pool_settle_parked(pool);
    expect_eq(book.count, 1);
    expect_ok(lanepool_pool_journal_state(pool, &state));
    expect_eq(state.watermark, book.entries[0].entry.ticket - 1);
    expect_ok(lanepool_pool_resolve_all(pool, LANEPOOL_RESOLVE_SKIP, NULL));
    pool_settle(pool);
    expect_eq(book_place(&book, &bad), 1);
    pool_end(pool);
    book_fini(&book);
}

/* --- periodic tasks --- */

struct repeated {
    struct parting parting;
    _Atomic uint32_t runs;
};

static int repeated_body(lanepool_run *run, void *context)
{
    struct repeated *repeated = context;
    (void)!lanepool_run_release(run, repeated->parting.gives_up);
    repeated->runs++;
    return 0;
}

static lanepool_task repeated_task(struct repeated *repeated, const lanepool_claim *claims,
                                   size_t count)
{
    lanepool_task task = part_task(&repeated->parting, claims, count);
    task.function = repeated_body;
    task.context = repeated;
    return task;
}

Test(journal_combined, each_run_of_a_periodic_task_has_all_its_claims)
{
    struct book book;
    struct repeated repeated;
    lanepool_timer *timer;
    memset(&repeated, 0, sizeof repeated);
    book_init(&book);
    lanepool_pool *pool = numbering_pool(&book, 1);
    lanepool_claim claims[2] = { lanepool_exclusive(1), lanepool_exclusive(2) };
    repeated.parting.gives_up = lanepool_key_id(1);
    lanepool_task task = repeated_task(&repeated, claims, 2);
    expect_ok(lanepool_pool_submit_every(pool, &task, 0, 1, LANEPOOL_FIXED_DELAY, &timer));
    while (repeated.runs < 3) {
    }
    (void)lanepool_timer_cancel(timer);
    lanepool_timer_release(timer);
    pool_end(pool);
    expect(book.count >= 6);
    for (size_t i = 0; i < book.count; i++) {
        expect_eq(book.entries[i].entry.is_part, i % 2 == 0);
        expect_eq(book.entries[i].entry.claim_count, 1);
        expect_eq(book.entries[i].claims[0].key.id, 1 + i % 2);
        expect_eq(book.entries[i].lane_numbers[0], 1 + i / 2);
    }
    book_fini(&book);
}

/* A run of a periodic task waits behind a task at a gate. */
struct gated_series {
    struct book book;
    struct gate gate;
    struct step first;
    struct repeated repeated;
    lanepool_timer *timer;
    lanepool_pool *pool;
};

static void gated_series_begin(struct gated_series *series)
{
    static char name[8000];
    lanepool_stats stats;
    memset(series, 0, sizeof *series);
    gate_init(&series->gate);
    book_init(&series->book);
    series->first.gate = &series->gate;
    series->pool = numbering_pool(&series->book, 2);
    lanepool_claim claim =
        lanepool_claim_of(lanepool_key_bytes(name, sizeof name), LANEPOOL_EXCLUSIVE);
    lanepool_task task = step_task(&series->first, &claim, 1);
    expect_ok(lanepool_pool_submit(series->pool, &task));
    expect(gate_await(&series->gate, 1));
    task = repeated_task(&series->repeated, &claim, 1);
    expect_ok(lanepool_pool_submit_every(series->pool, &task, 0, 1, LANEPOOL_FIXED_DELAY,
                                         &series->timer));
    do {
        expect_ok(lanepool_pool_stats(series->pool, &stats, NULL, 0));
    } while (stats.accepted < 2);
}

static void gated_series_end(struct gated_series *series)
{
    lanepool_timer_release(series->timer);
    pool_end(series->pool);
    expect_eq(series->repeated.runs, 0);
    book_fini(&series->book);
    gate_fini(&series->gate);
}

Test(journal_combined, a_periodic_task_that_ends_does_not_hold_the_watermark)
{
    struct gated_series series;
    struct step last = { .id = 2 };
    lanepool_journal_state state;
    gated_series_begin(&series);
    expect_ok(lanepool_timer_cancel(series.timer));
    gate_open(&series.gate, 1);
    pool_settle(series.pool);
    expect_ok(step_submit_on(series.pool, &last, 3));
    pool_settle(series.pool);
    expect_ok(lanepool_pool_journal_state(series.pool, &state));
    expect_eq(state.watermark, series.book.entries[0].entry.ticket + 3);
    gated_series_end(&series);
}

Test(journal_combined, a_periodic_task_ends_with_the_pool)
{
    struct gated_series series;
    gated_series_begin(&series);
    expect_ok(lanepool_pool_shutdown_now(series.pool, NULL, NULL));
    gate_open(&series.gate, 1);
    gated_series_end(&series);
}

/* --- pools without threads --- */

Test(journal_combined, a_step_writes)
{
    struct book book;
    struct step steps[20];
    memset(steps, 0, sizeof steps);
    book_init(&book);
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    options.step_seed = 7;
    lanepool_journal_options journal = LANEPOOL_JOURNAL_OPTIONS_INIT;
    journal.completes_when_written = true;
    lanepool_pool *pool = book_pool_with(&book, options, &journal);
    lanepool_future *futures[20];
    for (size_t i = 0; i < 20; i++) {
        lanepool_claim claim = lanepool_exclusive(i % 3);
        lanepool_task task = step_task(&steps[i], &claim, 1);
        task.future = &futures[i];
        expect_ok(lanepool_pool_submit(pool, &task));
    }
    for (size_t i = 0; i < 20; i++) {
        future_finish(futures[i]);
        expect(book_place(&book, &steps[i]) < 20);
    }
    pool_settle(pool);
    expect_eq(book.count, 20);
    pool_end(pool);
    book_fini(&book);
}

/* --- memory --- */

/* Refuses each request for memory in turn: each task is refused, or has an entry. */
Test(journal_combined, refused_memory_loses_no_entry)
{
    enum { TASKS = 60 };
    for (size_t refused = 1; refused < 40; refused++) {
        struct book book;
        struct store store;
        struct step steps[TASKS];
        size_t accepted = 0;
        memset(steps, 0, sizeof steps);
        book_init(&book);
        lanepool_allocator allocator = store_open(&store);
        lanepool_options options = LANEPOOL_OPTIONS_INIT;
        options.workers = 2;
        options.allocator = &allocator;
        lanepool_journal_options journal = LANEPOOL_JOURNAL_OPTIONS_INIT;
        journal.write = book_write;
        journal.lane_numbers = true;
        options.journal = &journal;
        options.user = &book;
        store.refused_from = refused;
        store.refuses_one = true;
        lanepool_pool *pool;
        lanepool_status status = lanepool_pool_create(&options, &pool);
        for (size_t i = 0; i < TASKS && status == LANEPOOL_OK; i++) {
            char name[3000];
            memset(name, 'a' + (int)(i % 7), sizeof name);
            lanepool_claim claims[2] = { lanepool_exclusive(i % 5),
                                         lanepool_claim_of(lanepool_key_bytes(name, 10 + 49 * i),
                                                           LANEPOOL_EXCLUSIVE) };
            lanepool_task task = step_task(&steps[i], claims, 2);
            accepted += lanepool_pool_submit(pool, &task) == LANEPOOL_OK;
        }
        if (status == LANEPOOL_OK) {
            pool_settle(pool);
            expect_eq(book.count, accepted);
            pool_end(pool);
        }
        store_close(&store);
        book_fini(&book);
    }
}
