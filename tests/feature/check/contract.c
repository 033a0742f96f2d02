/* Assertions that a task claims what it uses. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/process.h"
#include "support/step.h"
#include "support/test.h"

enum { OWN = 1, READ = 2, OTHER = 3, ASKED_MAX = 12 };

/* What a task asks about, and the answers. */
struct asking {
    lanepool_claim claims[ASKED_MAX];
    size_t count;
    lanepool_key released; /* a key that it releases before, or none */
    bool answers[ASKED_MAX];
};

static int ask(lanepool_run *run, void *context)
{
    struct asking *asking = context;

    if (asking->released.type != LANEPOOL_KEY_NONE &&
        lanepool_run_release(run, asking->released) != LANEPOOL_OK) {
        return 1;
    }
    for (size_t i = 0; i < asking->count; i++) {
        asking->answers[i] = lanepool_run_claims(run, asking->claims[i]);
    }
    return 0;
}

static void run_asking(lanepool_pool *pool, struct asking *asking, const lanepool_claim *claims,
                       size_t claim_count, bool is_wide)
{
    lanepool_future *future = NULL;
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = ask;
    task.context = asking;
    task.claims = claims;
    task.claim_count = claim_count;
    task.future = is_wide ? &future : NULL;
    expect_ok(lanepool_pool_submit(pool, &task));
    pool_settle(pool);
    lanepool_future_release(future);
}

static bool are_compatible(const lanepool_task_view *a, const lanepool_task_view *b, void *user)
{
    (void)user;
    (void)a;
    (void)b;
    return false;
}

static void expect_answers(const struct asking *asking, const char *answers)
{
    for (size_t i = 0; i < asking->count; i++) {
        expect_eq(asking->answers[i], answers[i] == 'y');
    }
}

static void ask_about_each_mode(const lanepool_options *options)
{
    lanepool_pool *pool = pool_make_with(options);
    lanepool_lane *lane;

    expect_ok(lanepool_lane_acquire(pool, lanepool_key_id(OWN), &lane));
    for (int is_wide = 0; is_wide < 2; is_wide++) {
        lanepool_claim claims[] = { lanepool_exclusive(OWN), lanepool_shared(READ) };
        struct asking asking = {
            .claims = { lanepool_exclusive(OWN),
                        lanepool_shared(OWN),
                        lanepool_exclusive(READ),
                        lanepool_shared(READ),
                        lanepool_shared(OTHER),
                        lanepool_claim_all(),
                        lanepool_claim_of(lanepool_key_lane(lane), LANEPOOL_EXCLUSIVE),
                        lanepool_claim_of(lanepool_key_string("\1"), LANEPOOL_SHARED),
                        lanepool_claim_of(lanepool_key_none(), LANEPOOL_SHARED),
                        { .key = lanepool_key_id(OWN), .mode = 77 },
                        lanepool_commuting(OWN),
                        lanepool_commuting(READ) },
            .count = 12,
        };

        run_asking(pool, &asking, claims, 2, is_wide != 0);
        expect_answers(&asking, "yynynnynnnyn");
    }
    lanepool_lane_release(lane);
    pool_end(pool);
}

Test(check, a_claim_covers_its_mode_and_weaker_ones)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = 2;
    ask_about_each_mode(&options);
    options.is_compatible = are_compatible;
    ask_about_each_mode(&options);
    options.is_compatible = NULL;
    options.layout = LANEPOOL_PER_WORKER;
    ask_about_each_mode(&options);
}

Test(check, of_two_claims_of_a_key_the_stronger_one_counts)
{
    for (lanepool_layout layout = LANEPOOL_PER_KEY; layout <= LANEPOOL_PER_WORKER; layout++) {
        lanepool_pool *pool = pool_make(2, layout);
        lanepool_claim claims[] = { lanepool_shared(OWN), lanepool_exclusive(OWN),
                                    lanepool_shared(OWN) };
        struct asking asking = { .claims = { lanepool_exclusive(OWN) }, .count = 1 };

        run_asking(pool, &asking, claims, 3, false);
        expect_answers(&asking, "y");
        pool_end(pool);
    }
}

Test(check, byte_strings_are_compared_by_their_bytes)
{
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_claim claims[] = { lanepool_claim_of(lanepool_key_string("EUR"), LANEPOOL_SHARED) };
    char bytes[] = "EURO";
    struct asking asking = {
        .claims = { lanepool_claim_of(lanepool_key_bytes(bytes, 3), LANEPOOL_SHARED),
                    lanepool_claim_of(lanepool_key_bytes(bytes, 4), LANEPOOL_SHARED),
                    lanepool_claim_of(lanepool_key_bytes(bytes, 0), LANEPOOL_SHARED) },
        .count = 3,
    };

    run_asking(pool, &asking, claims, 1, false);
    expect_answers(&asking, "ynn");
    pool_end(pool);
}

Test(check, a_barrier_has_every_claim_and_a_task_without_claims_none)
{
    for (int i = 0; i < 4; i++) {
        lanepool_options options = LANEPOOL_OPTIONS_INIT;
        lanepool_claim all = lanepool_claim_all();
        struct asking asking = { .claims = { lanepool_exclusive(OWN), lanepool_claim_all() },
                                 .count = 2 };

        options.workers = 2;
        options.layout = i < 2 ? LANEPOOL_PER_KEY : LANEPOOL_PER_WORKER;
        options.is_compatible = i % 2 == 0 ? NULL : are_compatible;
        lanepool_pool *pool = pool_make_with(&options);
        run_asking(pool, &asking, &all, 1, false);
        expect_answers(&asking, "yy");
        run_asking(pool, &asking, NULL, 0, false);
        expect_answers(&asking, "nn");
        pool_end(pool);
    }
}

Test(check, a_lane_that_was_released_early_is_not_claimed)
{
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);
    lanepool_claim claims[] = { lanepool_exclusive(OWN), lanepool_exclusive(OTHER),
                                lanepool_shared(READ) };
    struct asking asking = { .claims = { lanepool_shared(OTHER), lanepool_exclusive(OWN),
                                         lanepool_shared(READ) },
                             .count = 3,
                             .released = lanepool_key_id(OTHER) };

    run_asking(pool, &asking, claims, 3, true);
    expect_answers(&asking, "nyy");
    pool_end(pool);
}

/* Of each type of key. A plain task's word has the type of its key where a barrier's bit is. */
Test(check, a_task_that_has_released_its_only_lane_has_no_claim)
{
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);
    lanepool_lane *lane;

    expect_ok(lanepool_lane_acquire(pool, lanepool_key_id(READ), &lane));
    const lanepool_key keys[] = { lanepool_key_id(OWN), lanepool_key_pointer(&lane),
                                  lanepool_key_string("EUR"), lanepool_key_lane(lane) };
    for (int i = 0; i < 4; i++) {
        lanepool_claim claim = lanepool_claim_of(keys[i], LANEPOOL_EXCLUSIVE);
        struct asking asking = { .claims = { claim, lanepool_exclusive(OTHER) },
                                 .count = 2,
                                 .released = keys[i] };

        run_asking(pool, &asking, &claim, 1, false);
        expect_answers(&asking, "nn");
    }
    lanepool_lane_release(lane);
    pool_end(pool);
}

/* --- lanes that a task does not have --- */

struct handing_over {
    struct asking *receiver;
    lanepool_status answer;
};

static int hand_over(lanepool_run *run, void *context)
{
    struct handing_over *handing_over = context;
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = ask;
    task.context = handing_over->receiver;
    handing_over->answer = lanepool_run_hand_over(run, &task);
    return 0;
}

Test(check, a_receiver_has_the_claims_that_were_handed_over)
{
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);
    lanepool_claim claims[] = { lanepool_exclusive(OWN), lanepool_shared(READ) };
    struct asking receiver = { .claims = { lanepool_exclusive(OWN), lanepool_shared(READ),
                                           lanepool_exclusive(READ), lanepool_shared(OTHER) },
                               .count = 4 };
    struct handing_over handing_over = { &receiver, LANEPOOL_INVALID };
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = hand_over;
    task.context = &handing_over;
    task.claims = claims;
    task.claim_count = 2;
    expect_ok(lanepool_pool_submit(pool, &task));
    pool_settle(pool);
    expect_ok(handing_over.answer);
    expect_answers(&receiver, "yynn");
    pool_end(pool);
}

Test(check, a_poisoned_lane_that_a_task_runs_without_is_not_claimed)
{
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    struct step bad = { .code = 1 };
    lanepool_claim claims[] = { lanepool_exclusive(OWN), lanepool_exclusive(OTHER) };
    struct asking asking = { .claims = { lanepool_shared(OWN), lanepool_exclusive(OTHER) },
                             .count = 2 };
    lanepool_failure_policy parks = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_failure_policy goes_without = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_task failing = step_task(&bad, claims, 1);
    lanepool_task task = LANEPOOL_TASK_INIT;
    size_t count;

    parks.at_end = LANEPOOL_FAILURE_POISON;
    goes_without.at_poison = LANEPOOL_AT_POISON_RUN_WITHOUT;
    failing.on_failure = &parks;
    task.function = ask;
    task.context = &asking;
    task.claims = claims;
    task.claim_count = 2;
    task.on_failure = &goes_without;
    expect_ok(lanepool_pool_submit(pool, &failing));
    expect_ok(lanepool_pool_submit(pool, &task));
    pool_settle_parked(pool);
    expect_ok(lanepool_pool_resolve_all(pool, LANEPOOL_RESOLVE_SKIP, &count));
    expect_eq(count, 1);
    pool_end(pool);
    expect_answers(&asking, "ny");
}

/* --- assertions --- */

enum { FAILED_MAX = 8 };

/* The failed assertions of a pool, in their order; one thread runs its tasks. */
struct failures {
    lanepool_failed_check failed[FAILED_MAX];
    bool run_claims[FAILED_MAX]; /* what the run answers about its first claim */
    size_t count;
};

static void note_failure(void *user, const lanepool_failed_check *failed)
{
    struct failures *failures = user;

    failures->run_claims[failures->count] =
        failed->run != NULL && lanepool_run_claims(failed->run, lanepool_exclusive(OWN));
    failures->failed[failures->count++] = *failed;
}

static lanepool_pool *make_with_failures(struct failures *failures)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = 1;
    options.user = failures;
    options.on_check = note_failure;
    return pool_make_with(&options);
}

/* A function far from its task. */
static void use_account(lanepool_pool *pool, uint64_t account)
{
    lanepool_assert_claimed(pool, lanepool_exclusive(account));
}

static int use_two_accounts(lanepool_run *run, void *context)
{
    (void)context;
    use_account(lanepool_run_pool(run), OWN);
    use_account(lanepool_run_pool(run), OTHER);
    return 0;
}

Test(check, a_failed_assertion_names_the_task_and_the_claim)
{
    struct failures failures = { .count = 0 };
    lanepool_pool *pool = make_with_failures(&failures);
    int context;

    expect_ok(lanepool_pool_run(pool, lanepool_key_id(OWN), use_two_accounts, &context));
    expect_ok(lanepool_pool_run(pool, lanepool_key_id(OWN), use_two_accounts, &context));
    pool_settle(pool);
    expect_eq(failures.count, 2);
    for (size_t i = 0; i < 2; i++) {
        const lanepool_failed_check *failed = &failures.failed[i];

        expect(failed->pool == pool);
        expect(failed->function == use_two_accounts);
        expect(failed->context == &context);
        expect_eq(failed->ticket, i);
        expect_eq(failed->claim.key.id, OTHER);
        expect_eq(failed->claim.mode, LANEPOOL_EXCLUSIVE);
        expect(failures.run_claims[i]);
    }
    pool_end(pool);
}

static int use_other_pool(lanepool_run *run, void *context)
{
    (void)run;
    use_account(context, OWN);
    return 0;
}

Test(check, an_assertion_fails_outside_of_the_pools_tasks)
{
    struct failures failures = { .count = 0 };
    lanepool_pool *pool = make_with_failures(&failures);
    lanepool_pool *other = pool_make(1, LANEPOOL_PER_KEY);

    use_account(pool, OWN);
    expect_ok(lanepool_pool_run(other, lanepool_key_id(OWN), use_other_pool, pool));
    pool_settle(other);
    expect_ok(lanepool_pool_run(pool, lanepool_key_id(OWN), use_other_pool, pool));
    pool_settle(pool);
    use_account(pool, OWN);
    expect_eq(failures.count, 3);
    for (size_t i = 0; i < failures.count; i++) {
        expect(failures.failed[i].run == NULL);
        expect(failures.failed[i].function == NULL);
    }
    pool_end(other);
    pool_end(pool);
}

/* The pool's only worker runs `inner` while `outer` waits for it. */
static int run_inside(lanepool_run *run, void *context)
{
    lanepool_pool *pool = lanepool_run_pool(run);
    lanepool_claim claim = lanepool_exclusive(OTHER);
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_future *future;
    lanepool_status status;

    (void)context;
    task.function = use_two_accounts;
    task.claims = &claim;
    task.claim_count = 1;
    task.future = &future;
    status = lanepool_pool_submit(pool, &task);
    if (status == LANEPOOL_OK) {
        status = lanepool_future_wait(future, LANEPOOL_FOREVER, NULL);
        lanepool_future_release(future);
    }
    use_two_accounts(run, context);
    return status == LANEPOOL_OK ? 0 : 1;
}

Test(check, the_innermost_task_counts)
{
    struct failures failures = { .count = 0 };
    lanepool_pool *pool = make_with_failures(&failures);

    expect_ok(lanepool_pool_run(pool, lanepool_key_id(OWN), run_inside, NULL));
    pool_settle(pool);
    expect_eq(failures.count, 2);
    expect(failures.failed[0].function == use_two_accounts);
    expect_eq(failures.failed[0].claim.key.id, OWN);
    expect(failures.failed[1].function == run_inside);
    expect_eq(failures.failed[1].claim.key.id, OTHER);
    pool_end(pool);
}

/* --- without `on_check` --- */

static size_t name_account(void *user, lanepool_key key, char *text, size_t size)
{
    (void)user;
    return key.type == LANEPOOL_KEY_ID && size >= 6 ? (memcpy(text, "cash/1", 6), (size_t)6) : 0;
}

struct abortion {
    FILE *messages;
    lanepool_claim claim;
    bool in_task;
    bool has_names;
};

static int assert_one(lanepool_run *run, void *context)
{
    const struct abortion *abortion = context;

    lanepool_assert_claimed(lanepool_run_pool(run), abortion->claim);
    return 0;
}

static void abort_by_assertion(void *context)
{
    struct abortion *abortion = context;
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = 1;
    options.key_name = abortion->has_names ? name_account : NULL;
    lanepool_pool *pool = pool_make_with(&options);
    if (dup2(fileno(abortion->messages), STDERR_FILENO) != STDERR_FILENO) {
        return;
    }
    if (!abortion->in_task) {
        lanepool_assert_claimed(pool, abortion->claim);
    } else if (lanepool_pool_run(pool, lanepool_key_id(OWN), assert_one, abortion) == LANEPOOL_OK) {
        pool_settle(pool);
    }
}

static void expect_message(struct abortion abortion, const char *message)
{
    char text[4096];
    size_t size;
    int status;

    abortion.messages = tmpfile();
    expect(abortion.messages != NULL);
    status = process_run_apart(abort_by_assertion, &abortion);
    expect(WIFSIGNALED(status) ? WTERMSIG(status) == SIGABRT : WEXITSTATUS(status) != 0);
    rewind(abortion.messages);
    size = fread(text, 1, sizeof text - 1, abortion.messages);
    text[size] = 0;
    fclose(abortion.messages);
#if defined(LANEPOOL_CHECKED)
    expect(strstr(text, message) != NULL);
#else
    (void)message;
    expect(size == 0);
#endif
}

Test(check, an_assertion_without_a_callback_aborts_with_a_message)
{
    lanepool_claim bytes = lanepool_claim_of(lanepool_key_string("EUR"), LANEPOOL_SHARED);

    expect_message((struct abortion){ .claim = lanepool_exclusive(42), .in_task = true },
                   "lanepool: lanepool_assert_claimed(): task 0 has no exclusive claim of key 42");
    expect_message((struct abortion){ .claim = bytes, .in_task = true },
                   "task 0 has no shared claim of key \"EUR\"");
    expect_message(
        (struct abortion){ .claim = lanepool_shared(7), .in_task = true, .has_names = true },
        "task 0 has no shared claim of key cash/1");
    expect_message((struct abortion){ .claim = { lanepool_key_id(7), 3 }, .in_task = true },
                   "task 0 has no valid claim of key 7");
    expect_message(
        (struct abortion){ .claim = lanepool_exclusive(OWN) },
        "this thread runs no task of the pool, which needs the exclusive claim of key 1");
}
