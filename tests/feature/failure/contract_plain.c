/* Tasks that ask for nothing but claims, in pools with a failure policy, and with other options
 * that have room in such tasks. */
#include "support/book.h"
#include "support/step.h"
#include "support/test.h"

enum { KEYS = 3 };

/* The other options of a pool. */
enum { WITH_JOURNAL = 1, WITH_LIMITS = 2, WITH_RETRIES = 4, WITH_PRIORITIES = 8, OPTIONS_END = 16 };

/* A task that fails while `code` is not 0. */
struct trial {
    _Atomic int code;
    unsigned calls; /* written by the task that has the lane */
    unsigned attempts;
};

static int try_it(lanepool_run *run, void *context)
{
    struct trial *trial = context;

    trial->calls++;
    trial->attempts = lanepool_run_attempt(run);
    return trial->code;
}

static void submit(lanepool_pool *pool, struct trial *trial, const lanepool_claim *claims,
                   size_t count)
{
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = try_it;
    task.context = trial;
    task.claims = claims;
    task.claim_count = count;
    expect_ok(lanepool_pool_submit(pool, &task));
}

static lanepool_pool *make_pool(unsigned with, struct book *book)
{
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    policy.retries = (with & WITH_RETRIES) != 0 ? 2 : 0;
    policy.at_end = LANEPOOL_FAILURE_POISON;
    options.workers = 2;
    options.on_failure = &policy;
    options.lane_pending_max = (with & WITH_LIMITS) != 0 ? 100 : 0;
    options.priorities = (with & WITH_PRIORITIES) != 0;
    return (with & WITH_JOURNAL) != 0 ? book_pool_with(book, options, NULL)
                                      : pool_make_with(&options);
}

/* Submits a failing task with none, one and two claims, and one behind each of their lanes. */
static void submit_all(lanepool_pool *pool, struct trial *failing, struct trial *behind)
{
    lanepool_claim claims[KEYS] = { lanepool_exclusive(1), lanepool_exclusive(2),
                                    lanepool_exclusive(3) };

    for (size_t i = 0; i < KEYS; i++) {
        failing[i] = (struct trial){ .code = 5 };
        behind[i] = (struct trial){ .code = 0 };
    }
    submit(pool, &failing[0], NULL, 0);
    submit(pool, &failing[1], &claims[0], 1);
    submit(pool, &failing[2], &claims[1], 2);
    for (size_t i = 0; i < KEYS; i++)
        submit(pool, &behind[i], &claims[i], 1);
    pool_settle_parked(pool);
    for (size_t i = 0; i < KEYS; i++)
        expect_eq(behind[i].calls, 0);
}

static void expect_calls(const struct trial *trials, unsigned calls)
{
    for (size_t i = 0; i < KEYS; i++)
        expect_eq(trials[i].calls, calls);
}

static void expect_entries(const struct book *book, const struct trial *trials, int code)
{
    for (size_t i = 0; i < KEYS; i++) {
        size_t place = book_place(book, &trials[i]);

        expect(place < book->count);
        expect_eq(book->entries[place].entry.code, code);
    }
}

static void succeed_after_retry(unsigned with)
{
    struct trial failing[KEYS], behind[KEYS];
    struct book book;
    unsigned attempts = (with & WITH_RETRIES) != 0 ? 3 : 1;

    book_init(&book);
    lanepool_pool *pool = make_pool(with, &book);
    submit_all(pool, failing, behind);
    expect_eq(pool_parked_count(pool), KEYS);
    expect_calls(failing, attempts);
    for (size_t i = 0; i < KEYS; i++)
        failing[i].code = 0;
    expect_ok(lanepool_pool_resolve_all(pool, LANEPOOL_RESOLVE_RETRY, NULL));
    pool_settle(pool);
    expect_calls(failing, attempts + 1);
    expect_calls(behind, 1);
    for (size_t i = 0; i < KEYS; i++)
        expect_eq(failing[i].attempts, 1);
    if ((with & WITH_JOURNAL) != 0) {
        expect_eq(book.count, 2 * KEYS);
        expect_entries(&book, failing, 0);
        expect_entries(&book, behind, 0);
    }
    pool_end(pool);
    book_fini(&book);
}

Test(failure_plain, tasks_are_parked_and_retried_with_any_options)
{
    for (unsigned with = 0; with < OPTIONS_END; with++)
        succeed_after_retry(with);
}

static void end_skipped(unsigned with)
{
    struct trial failing[KEYS], behind[KEYS];
    struct book book;

    book_init(&book);
    lanepool_pool *pool = make_pool(with, &book);
    submit_all(pool, failing, behind);
    expect_ok(lanepool_pool_resolve_all(pool, LANEPOOL_RESOLVE_SKIP, NULL));
    pool_settle(pool);
    expect_calls(behind, 1);
    if ((with & WITH_JOURNAL) != 0) {
        expect_entries(&book, failing, 5);
        expect_entries(&book, behind, 0);
        expect(book_place(&book, &failing[1]) < book_place(&book, &behind[0]));
        expect(book_place(&book, &failing[2]) < book_place(&book, &behind[1]));
        expect(book_place(&book, &failing[2]) < book_place(&book, &behind[2]));
    }
    pool_end(pool);
    book_fini(&book);
}

Test(failure_plain, tasks_are_skipped_with_any_options)
{
    for (unsigned with = 0; with < OPTIONS_END; with++)
        end_skipped(with);
}

static void drop_behind(unsigned with)
{
    struct trial failing[KEYS], behind[KEYS];
    struct book book;

    book_init(&book);
    lanepool_pool *pool = make_pool(with, &book);
    submit_all(pool, failing, behind);
    expect_ok(lanepool_pool_resolve_all(pool, LANEPOOL_RESOLVE_DROP, NULL));
    pool_settle(pool);
    expect_calls(behind, 0);
    if ((with & WITH_JOURNAL) != 0) {
        expect_eq(book.count, KEYS);
        expect_entries(&book, failing, 5);
    }
    pool_end(pool);
    book_fini(&book);
}

Test(failure_plain, tasks_behind_are_dropped_with_any_options)
{
    for (unsigned with = 0; with < OPTIONS_END; with++)
        drop_behind(with);
}

static void count_task(void *context, const lanepool_task *task, uint64_t ticket)
{
    size_t *counts = context;

    (void)ticket;
    expect(task->claim_count <= 2);
    counts[task->claim_count]++;
}

Test(failure_plain, pool_that_stops_hands_back_only_what_was_not_called)
{
    for (unsigned with = 0; with < OPTIONS_END; with++) {
        struct trial failing[KEYS], behind[KEYS];
        struct book book;
        size_t counts[KEYS] = { 0 };

        book_init(&book);
        lanepool_pool *pool = make_pool(with, &book);
        submit_all(pool, failing, behind);
        expect_ok(lanepool_pool_shutdown_now(pool, count_task, counts));
        expect_ok(lanepool_pool_destroy(pool));
        expect_eq(counts[0], 0);
        expect_eq(counts[1], KEYS);
        expect_eq(counts[2], 0);
        if ((with & WITH_JOURNAL) != 0)
            expect_entries(&book, failing, 5);
        book_fini(&book);
    }
}

/* --- a task that is detached when it fails --- */

struct leaving {
    lanepool_detached *detached;
    struct gate gate;
    unsigned calls;
};

static int leave_once(lanepool_run *run, void *context)
{
    struct leaving *leaving = context;

    if (leaving->calls++ > 0)
        return 0;
    expect_ok(lanepool_run_detach(run, &leaving->detached));
    gate_arrive(&leaving->gate);
    return 0;
}

Test(failure_plain, detached_task_that_fails_is_parked_and_retried)
{
    for (unsigned with = 0; with < OPTIONS_END; with++) {
        struct leaving leaving = { .calls = 0 };
        lanepool_claim claims[2] = { lanepool_exclusive(1), lanepool_exclusive(2) };
        lanepool_task task = LANEPOOL_TASK_INIT;
        struct book book;

        gate_init(&leaving.gate);
        book_init(&book);
        lanepool_pool *pool = make_pool(with & ~(unsigned)WITH_RETRIES, &book);
        task.function = leave_once;
        task.context = &leaving;
        task.claims = claims;
        task.claim_count = 1 + with % 2;
        expect_ok(lanepool_pool_submit(pool, &task));
        expect(gate_await(&leaving.gate, 1));
        expect_ok(lanepool_task_complete(leaving.detached, 7, NULL));
        pool_settle_parked(pool);
        expect_eq(pool_parked_count(pool), 1);
        expect_ok(lanepool_pool_resolve_all(pool, LANEPOOL_RESOLVE_RETRY, NULL));
        pool_settle(pool);
        expect_eq(leaving.calls, 2);
        pool_end(pool);
        book_fini(&book);
        gate_fini(&leaving.gate);
    }
}
