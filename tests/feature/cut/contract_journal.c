/* Cuts in pools with a journal: each visit is an entry, which comes before the lane goes on. */
#include <stdlib.h>

#include "support/book.h"
#include "support/cut.h"
#include "support/step.h"
#include "support/test.h"

static lanepool_journal_options numbered(void)
{
    lanepool_journal_options journal = LANEPOOL_JOURNAL_OPTIONS_INIT;

    journal.lane_numbers = true;
    journal.completes_when_written = true;
    journal.wait_ns = 1;
    return journal;
}

/* Its record is the address of the visit's result. */
static int visit_and_record(lanepool_run *run, void *context, size_t index)
{
    struct cut *cut = context;

    expect_ok(lanepool_run_set_record(run, &cut->values[index]));
    return cut_fail_once(run, context, index);
}

static lanepool_future *submit_recording(lanepool_pool *pool, struct cut *cut,
                                         const lanepool_failure_policy *policy)
{
    lanepool_future *future;
    lanepool_task task = cut_task(cut);

    task.at_lane = visit_and_record;
    task.tag = 5;
    task.on_failure = policy;
    task.future = &future;
    expect_ok(lanepool_pool_submit(pool, &task));
    return future;
}

/* Checks that the entries are gapless, and in the order of conflicts. */
static void expect_sound(const struct book *book)
{
    lanepool_journal_check *check;
    lanepool_journal_fault fault;
    size_t faults;

    expect_ok(lanepool_journal_check_create(1, &check));
    for (size_t i = 0; i < book->count; i++) {
        lanepool_journal_entry entry = book->entries[i].entry;
        entry.claims = book->entries[i].claims;
        entry.lane_numbers = book->entries[i].lane_numbers;
        expect_ok(lanepool_journal_check_add(check, &entry, &fault, 1, &faults));
        expect_eq(faults, 0);
    }
    lanepool_journal_check_destroy(check);
}

/* Returns the part for this claim; NULL if there is none. Fails if there are several. */
static const struct book_entry *part_of(const struct book *book, const struct cut *cut,
                                        size_t claim)
{
    const struct book_entry *found = NULL;

    for (size_t i = 0; i < book->count; i++) {
        const struct book_entry *at = &book->entries[i];
        if (at->entry.context != cut || !at->entry.is_part || at->claims[0].key.id != claim)
            continue;
        expect(found == NULL);
        found = at;
    }
    return found;
}

static const lanepool_journal_entry *last_entry(const struct book *book)
{
    expect(book->count > 0);
    return &book->entries[book->count - 1].entry;
}

Test(cut_journal, each_visit_is_a_part_with_its_own_record)
{
    struct book book;
    struct cut cut;

    book_init(&book);
    lanepool_journal_options journal = numbered();
    lanepool_pool *pool = book_pool(&book, 2, &journal);
    cut_init(&cut, 5, LANEPOOL_EXCLUSIVE);
    cut.claims[3].mode = LANEPOOL_SHARED;
    lanepool_future *future = submit_recording(pool, &cut, NULL);
    expect_status(cut_end(future, NULL), LANEPOOL_OK);
    expect_eq(book.count, 6);
    expect_sound(&book);
    const lanepool_journal_entry *last = last_entry(&book);
    expect(!last->is_part && last->record == NULL && last->claim_count == 0);
    expect_status(last->status, LANEPOOL_OK);
    for (size_t i = 0; i < 5; i++) {
        const struct book_entry *part = part_of(&book, &cut, i);
        expect(part != NULL && part->entry.record == &cut.values[i]);
        expect_eq(part->entry.ticket, last->ticket);
        expect_eq(part->entry.tag, 5);
        expect_eq(part->entry.claim_count, 1);
        expect_eq(part->claims[0].mode, i == 3 ? LANEPOOL_SHARED : LANEPOOL_EXCLUSIVE);
        expect_eq(part->lane_numbers[0], i == 3 ? 0 : 1);
        expect_status(part->entry.status, LANEPOOL_OK);
    }
    pool_end(pool);
    book_fini(&book);
}

/* A posting behind the cut, in a lane that went on, is written although the cut is not whole. */
Test(cut_journal, a_part_is_written_before_the_lane_goes_on)
{
    struct book book;
    struct gate gate;
    struct step behind = { .id = 0 };
    struct cut cut;
    lanepool_future *posted;

    gate_init(&gate);
    book_init(&book);
    lanepool_journal_options journal = numbered();
    lanepool_pool *pool = book_pool(&book, 2, &journal);
    cut_init(&cut, 2, LANEPOOL_EXCLUSIVE);
    cut.gate = &gate;
    cut.slow = 1;
    lanepool_future *future = submit_recording(pool, &cut, NULL);
    lanepool_claim claim = lanepool_exclusive(0);
    lanepool_task task = step_task(&behind, &claim, 1);
    task.future = &posted;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect_status(cut_end(posted, NULL), LANEPOOL_OK);
    expect_eq(book.count, 2);
    expect(book.entries[0].entry.context == &cut && book.entries[0].entry.is_part);
    expect(book.entries[1].entry.context == &behind);
    expect_eq(book.entries[1].lane_numbers[0], 2);
    lanepool_journal_state state;
    expect_ok(lanepool_pool_journal_state(pool, &state));
    expect_eq(state.watermark, book.entries[0].entry.ticket);
    gate_open(&gate, 1);
    expect_status(cut_end(future, NULL), LANEPOOL_OK);
    expect_eq(book.count, 4);
    expect_sound(&book);
    pool_end(pool);
    book_fini(&book);
    gate_fini(&gate);
}

Test(cut_journal, a_retried_visit_has_one_part)
{
    struct book book;
    struct cut cut;
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;

    policy.retries = 1;
    book_init(&book);
    lanepool_journal_options journal = numbered();
    lanepool_pool *pool = book_pool(&book, 2, &journal);
    cut_init(&cut, 4, LANEPOOL_EXCLUSIVE);
    cut.codes[2] = 1;
    lanepool_future *future = submit_recording(pool, &cut, &policy);
    expect_status(cut_end(future, NULL), LANEPOOL_OK);
    expect_eq(book.count, 5);
    expect_sound(&book);
    for (size_t i = 0; i < 4; i++)
        expect(part_of(&book, &cut, i)->entry.record == &cut.values[i]);
    expect(part_of(&book, &cut, 2) == &book.entries[3]);
    pool_end(pool);
    book_fini(&book);
}

Test(cut_journal, a_lane_whose_visit_failed_has_its_part_when_the_cut_ends)
{
    struct book book;
    struct step behind = { .id = 2 };
    struct cut cut;

    book_init(&book);
    lanepool_journal_options journal = numbered();
    lanepool_pool *pool = book_pool(&book, 2, &journal);
    cut_init(&cut, 4, LANEPOOL_EXCLUSIVE);
    cut.codes[2] = 7;
    lanepool_future *future = submit_recording(pool, &cut, NULL);
    expect_ok(step_submit_on(pool, &behind, 2));
    expect_status(cut_end(future, NULL), LANEPOOL_FAILED);
    pool_settle(pool);
    expect_eq(book.count, 6);
    expect_sound(&book);
    const struct book_entry *part = part_of(&book, &cut, 2);
    expect(part == &book.entries[3]);
    expect_status(part->entry.status, LANEPOOL_FAILED);
    expect_eq(part->entry.code, 7);
    expect(part->entry.record == &cut.values[2]);
    expect_eq(part->lane_numbers[0], 1);
    expect(book.entries[4].entry.context == &cut && !book.entries[4].entry.is_part);
    expect_status(book.entries[4].entry.status, LANEPOOL_FAILED);
    expect(book.entries[5].entry.context == &behind);
    expect_eq(book.entries[5].lane_numbers[0], 2);
    pool_end(pool);
    book_fini(&book);
}

Test(cut_journal, a_parked_visit_has_a_part_without_a_record)
{
    struct book book;
    struct cut cut;
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_parked_tasks *parked;

    policy.at_end = LANEPOOL_FAILURE_POISON;
    book_init(&book);
    lanepool_journal_options journal = numbered();
    lanepool_pool *pool = book_pool(&book, 2, &journal);
    cut_init(&cut, 3, LANEPOOL_EXCLUSIVE);
    cut.codes[0] = 7;
    lanepool_future *future = submit_recording(pool, &cut, &policy);
    pool_settle_parked(pool);
    expect_ok(lanepool_pool_parked(pool, &parked));
    expect_ok(lanepool_pool_resolve(pool, parked->tasks[0].ticket, LANEPOOL_RESOLVE_SKIP));
    lanepool_parked_tasks_release(parked);
    expect_status(cut_end(future, NULL), LANEPOOL_FAILED);
    expect_eq(book.count, 4);
    expect_sound(&book);
    const struct book_entry *part = part_of(&book, &cut, 0);
    expect(part == &book.entries[2] && part->entry.record == NULL);
    pool_end(pool);
    book_fini(&book);
}

/* A cut of three lanes behind a task that stops at the gate in one of them. */
struct stopped {
    struct book book;
    struct gate gate;
    struct step before;
    struct cut cut;
    lanepool_pool *pool;
    lanepool_future *future;
};

static void begin_stopped(struct stopped *stopped, unsigned workers, uint64_t key)
{
    lanepool_journal_options journal = numbered();

    gate_init(&stopped->gate);
    book_init(&stopped->book);
    stopped->before = (struct step){ .gate = &stopped->gate };
    stopped->pool = book_pool(&stopped->book, workers, &journal);
    expect_ok(step_submit_on(stopped->pool, &stopped->before, key));
    expect(gate_await(&stopped->gate, 1));
    cut_init(&stopped->cut, 3, LANEPOOL_EXCLUSIVE);
    stopped->future = submit_recording(stopped->pool, &stopped->cut, NULL);
}

static void end_stopped(struct stopped *stopped)
{
    book_fini(&stopped->book);
    gate_fini(&stopped->gate);
}

Test(cut_journal, a_cut_that_is_cancelled_before_its_first_visit_has_no_entry)
{
    struct stopped stopped;
    lanepool_journal_state state;

    begin_stopped(&stopped, 1, 0);
    expect_ok(lanepool_future_cancel(stopped.future));
    expect_status(cut_end(stopped.future, NULL), LANEPOOL_CANCELLED);
    gate_open(&stopped.gate, 1);
    pool_settle(stopped.pool);
    expect_eq(stopped.book.count, 1);
    expect_ok(lanepool_pool_journal_state(stopped.pool, &state));
    expect_eq(state.written, 1);
    pool_end(stopped.pool);
    expect(stopped.book.entries[0].entry.context == &stopped.before);
    end_stopped(&stopped);
}

/* The lane that was not visited has no part. */
Test(cut_journal, a_shutdown_now_leaves_the_parts_that_were_made)
{
    struct stopped stopped;
    const struct book *book = &stopped.book;
    const struct cut *cut = &stopped.cut;

    begin_stopped(&stopped, 2, 2);
    expect_ok(lanepool_pool_wait_claims(stopped.pool, cut->claims, 2, LANEPOOL_FOREVER));
    expect_ok(lanepool_pool_shutdown_now(stopped.pool, NULL, NULL));
    gate_open(&stopped.gate, 1);
    expect_status(cut_end(stopped.future, NULL), LANEPOOL_IN_PARTS);
    pool_end(stopped.pool);
    expect_eq(book->count, 4);
    expect_sound(book);
    expect(part_of(book, cut, 0) != NULL && part_of(book, cut, 1) != NULL);
    expect(part_of(book, cut, 2) == NULL);
    expect_status(last_entry(book)->status, LANEPOOL_IN_PARTS);
    expect_eq(cut->cancels, 1);
    end_stopped(&stopped);
}

/* The second visit of lane 1 is not made. Its first one has been, so the lane has a part. */
Test(cut_journal, a_shutdown_now_between_two_visits_of_a_lane_leaves_it_a_part)
{
    struct book book;
    struct gate gate;
    struct cut cut;
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;

    policy.retries = 1;
    gate_init(&gate);
    book_init(&book);
    lanepool_journal_options journal = numbered();
    lanepool_pool *pool = book_pool(&book, 1, &journal);
    cut_init(&cut, 2, LANEPOOL_EXCLUSIVE);
    cut.codes[0] = 1;
    cut.codes[1] = 1;
    cut.gate = &gate;
    lanepool_future *future = submit_recording(pool, &cut, &policy);
    gate_open(&gate, 1);
    expect(gate_await(&gate, 2));
    expect_ok(lanepool_pool_shutdown_now(pool, NULL, NULL));
    gate_open(&gate, 1);
    expect_status(cut_end(future, NULL), LANEPOOL_IN_PARTS);
    pool_end(pool);
    expect_eq(cut.visits[0], 2);
    expect_eq(cut.visits[1], 1);
    expect_eq(book.count, 3);
    expect_sound(&book);
    expect_status(part_of(&book, &cut, 0)->entry.status, LANEPOOL_OK);
    expect_status(part_of(&book, &cut, 1)->entry.status, LANEPOOL_IN_PARTS);
    expect(part_of(&book, &cut, 1)->entry.record == NULL);
    book_fini(&book);
    gate_fini(&gate);
}

/* The lane that the parked cut keeps has its part when the pool ends. */
Test(cut_journal, a_shutdown_now_ends_a_parked_cut_with_its_part)
{
    struct book book;
    struct cut cut;
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;

    policy.at_end = LANEPOOL_FAILURE_POISON;
    book_init(&book);
    lanepool_journal_options journal = numbered();
    lanepool_pool *pool = book_pool(&book, 2, &journal);
    cut_init(&cut, 3, LANEPOOL_EXCLUSIVE);
    cut.codes[0] = 7;
    lanepool_future *future = submit_recording(pool, &cut, &policy);
    pool_settle_parked(pool);
    expect_ok(lanepool_pool_shutdown_now(pool, NULL, NULL));
    expect_status(cut_end(future, NULL), LANEPOOL_FAILED);
    pool_end(pool);
    expect_eq(book.count, 4);
    expect_sound(&book);
    expect_status(part_of(&book, &cut, 0)->entry.status, LANEPOOL_FAILED);
    expect_eq(cut.cancels, 1);
    book_fini(&book);
}

Test(cut_journal, a_cut_is_unwritten_if_a_part_is)
{
    struct book book;
    struct cut cut;

    book_init(&book);
    book.fails_at = 1;
    book.code = 3;
    lanepool_journal_options journal = numbered();
    lanepool_pool *pool = book_pool(&book, 2, &journal);
    cut_init(&cut, 40, LANEPOOL_SHARED);
    lanepool_future *future = submit_recording(pool, &cut, NULL);
    expect_status(cut_end(future, NULL), LANEPOOL_UNWRITTEN);
    expect_status(lanepool_pool_destroy(pool), LANEPOOL_UNWRITTEN);
    expect_eq(cut.releases, 1);
    book_fini(&book);
}

/* Makes a pool whose tasks leave poisoned lanes, and park when they fail. */
static lanepool_pool *leaving_pool(struct book *book)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_journal_options journal = numbered();

    policy.at_end = LANEPOOL_FAILURE_POISON;
    policy.at_poison = LANEPOOL_AT_POISON_RUN_WITHOUT;
    options.workers = 2;
    options.on_failure = &policy;
    return book_pool_with(book, options, &journal);
}

/* The first cut waits in the lane when it becomes poisoned, the second one comes later. */
Test(cut_journal, a_cut_leaves_poisoned_lanes_without_a_visit_or_a_part)
{
    struct book book;
    struct gate gate;
    struct step bad = { .gate = &gate, .code = 9 };
    struct cut cuts[2];
    lanepool_future *futures[2];

    gate_init(&gate);
    book_init(&book);
    lanepool_pool *pool = leaving_pool(&book);
    expect_ok(step_submit_on(pool, &bad, 1));
    expect(gate_await(&gate, 1));
    for (size_t i = 0; i < 2; i++) {
        cut_init(&cuts[i], 3, LANEPOOL_EXCLUSIVE);
        futures[i] = submit_recording(pool, &cuts[i], NULL);
        gate_open(&gate, i == 0);
        if (i == 0)
            expect_status(cut_end(futures[0], NULL), LANEPOOL_OK);
    }
    expect_status(cut_end(futures[1], NULL), LANEPOOL_OK);
    for (size_t i = 0; i < 2; i++) {
        expect_eq(cuts[i].visits[0] + cuts[i].visits[2], 2);
        expect_eq(cuts[i].visits[1], 0);
        expect_eq(cuts[i].calls, 1);
        expect(part_of(&book, &cuts[i], 0) != NULL && part_of(&book, &cuts[i], 1) == NULL);
    }
    expect_eq(book.count, 6);
    expect_sound(&book);
    expect_ok(lanepool_pool_shutdown_now(pool, NULL, NULL));
    pool_end(pool);
    book_fini(&book);
    gate_fini(&gate);
}

/* Every lane is poisoned: the function is called, and no visit is made. */
Test(cut_journal, a_cut_that_leaves_all_its_lanes_is_called)
{
    struct book book;
    struct step bad = { .id = 0, .code = 9 };
    struct cut cut;

    book_init(&book);
    lanepool_pool *pool = leaving_pool(&book);
    expect_ok(step_submit_on(pool, &bad, 0));
    pool_settle_parked(pool);
    cut_init(&cut, 1, LANEPOOL_EXCLUSIVE);
    lanepool_future *future = submit_recording(pool, &cut, NULL);
    expect_status(cut_end(future, NULL), LANEPOOL_OK);
    expect_eq(cut.visited, 0);
    expect_eq(cut.calls, 1);
    expect_eq(book.count, 1);
    expect_ok(lanepool_pool_shutdown_now(pool, NULL, NULL));
    pool_end(pool);
    book_fini(&book);
}

/* --- among postings --- */

enum { CLIENTS = 24, POSTINGS = 4000, CUTS = 12 };

/* `balances` are guarded by the lanes. */
struct bank {
    uint64_t balances[CLIENTS];
    uint64_t stored[CLIENTS]; /* by the entries so far */
};

struct posting {
    struct bank *bank;
    size_t from, to;
    uint64_t sums[2]; /* the balances behind it: its record */
};

static int post(lanepool_run *run, void *context)
{
    struct posting *posting = context;

    posting->sums[0] = posting->bank->balances[posting->from] -= 1;
    posting->sums[1] = posting->bank->balances[posting->to] += 1;
    return lanepool_run_set_record(run, posting) == LANEPOOL_OK ? 0 : 1;
}

/* Replays the entries. Each part says what the store then has of its lane. */
static void expect_parts_of_the_prefix(const struct book *book, struct bank *bank)
{
    for (size_t i = 0; i < book->count; i++) {
        const struct book_entry *at = &book->entries[i];
        if (at->entry.function == post) {
            const struct posting *posting = at->entry.record;
            bank->stored[posting->from] = posting->sums[0];
            bank->stored[posting->to] = posting->sums[1];
        } else if (at->entry.is_part) {
            const uint64_t *seen = at->entry.record;
            expect_eq(*seen, bank->stored[at->claims[0].key.id]);
        }
    }
}

static void submit_posting(lanepool_pool *pool, struct posting *posting)
{
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_claim claims[2] = { lanepool_exclusive(posting->from),
                                 lanepool_exclusive(posting->to) };

    task.function = post;
    task.context = posting;
    task.claims = claims;
    task.claim_count = 2;
    expect_ok(lanepool_pool_submit(pool, &task));
}

static void expect_sum(const struct cut *cut)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < CLIENTS; i++)
        sum += cut->values[i];
    expect_eq(sum, (uint64_t)CLIENTS * 1000000);
}

static void post_and_cut(unsigned workers)
{
    struct book book;
    struct bank bank;
    struct posting *postings = calloc(POSTINGS, sizeof *postings);
    struct cut *cuts = calloc(CUTS, sizeof *cuts);
    uint32_t random = 99 + workers;

    book_init(&book);
    lanepool_journal_options journal = numbered();
    journal.batch_max = 16;
    lanepool_pool *pool = book_pool(&book, workers, &journal);
    for (size_t i = 0; i < CLIENTS; i++)
        bank.balances[i] = bank.stored[i] = 1000000;
    for (size_t i = 0; i < POSTINGS; i++) {
        random = random * 1664525u + 1013904223u;
        size_t from = (random >> 16) % CLIENTS;
        size_t to = (from + 1 + (random >> 24) % (CLIENTS - 1)) % CLIENTS;
        postings[i] = (struct posting){ &bank, from, to, { 0, 0 } };
        submit_posting(pool, &postings[i]);
        if (i % (POSTINGS / CUTS) != POSTINGS / CUTS / 2)
            continue;
        struct cut *cut = &cuts[i / (POSTINGS / CUTS)];
        cut_init(cut, CLIENTS, i % 2 == 0 ? LANEPOOL_SHARED : LANEPOOL_EXCLUSIVE);
        cut->accounts = bank.balances;
        lanepool_future_release(submit_recording(pool, cut, NULL));
    }
    pool_settle(pool);
    expect_eq(book.count, POSTINGS + CUTS * (CLIENTS + 1));
    expect_sound(&book);
    expect_parts_of_the_prefix(&book, &bank);
    for (size_t i = 0; i < CUTS; i++)
        expect_sum(&cuts[i]);
    pool_end(pool);
    book_fini(&book);
    free(cuts);
    free(postings);
}

Test(cut_journal, parts_are_the_state_of_the_prefix)
{
    for (unsigned workers = 1; workers <= 4; workers++)
        post_and_cut(workers);
}
