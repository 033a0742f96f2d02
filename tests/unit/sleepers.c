/*
 * Sleeping and waking, step by step on one thread: what the word counts, which flag is taken, and
 * which worker is posted. A wait with a deadline in the past tells whether a worker was posted.
 */
#include "sched/sleep.h"
#include "support/test.h"

enum { WORKERS = 4, RESIDENT = 2, FIRST_ABSENT = RESIDENT, LAST = WORKERS - 1 };

static const uint64_t past = 1;

struct fixture {
    lanepool_i_sleepers sleepers;
    size_t started[WORKERS]; /* how often, for each worker */
};

static void start(void *owner, size_t index)
{
    ((struct fixture *)owner)->started[index]++;
}

static void fixture_init(struct fixture *fixture, size_t resident)
{
    *fixture = (struct fixture){ .started = { 0 } };
    expect(lanepool_i_sleepers_init(&fixture->sleepers, WORKERS, resident, start, fixture));
}

static void fixture_fini(struct fixture *fixture)
{
    lanepool_i_sleepers_fini(&fixture->sleepers);
}

static void expect_counts(struct fixture *fixture, uint32_t sleeping, uint32_t searching)
{
    uint64_t word = lanepool_i_sleepers_load(&fixture->sleepers);

    expect_eq(lanepool_i_sleepers_sleeping(word), sleeping);
    expect_eq(lanepool_i_sleepers_searching(word), searching);
    expect_eq(lanepool_i_sleepers_all_busy(&fixture->sleepers), sleeping + searching == 0);
}

static size_t count_started(const struct fixture *fixture)
{
    size_t count = 0;

    for (size_t i = 0; i < WORKERS; i++) {
        count += fixture->started[i];
    }
    return count;
}

static void search_and_prepare(struct fixture *fixture, size_t index)
{
    lanepool_i_sleepers_start_search(&fixture->sleepers);
    lanepool_i_sleepers_prepare(&fixture->sleepers, index);
}

/* Returns true if the worker was posted. If it was not, it leaves. */
static bool was_posted(struct fixture *fixture, size_t index)
{
    return lanepool_i_sleepers_sleep_or_leave(&fixture->sleepers, index, past);
}

Test(sleepers, at_first_residents_are_busy_and_the_others_absent)
{
    struct fixture fixture;

    fixture_init(&fixture, RESIDENT);
    expect_counts(&fixture, WORKERS - RESIDENT, 0);
    for (size_t i = 0; i < WORKERS; i++) {
        expect_eq(lanepool_i_sleepers_is_absent(&fixture.sleepers, i), i >= RESIDENT);
    }
    fixture_fini(&fixture);
    fixture_init(&fixture, WORKERS);
    expect_counts(&fixture, 0, 0);
    fixture_fini(&fixture);
}

Test(sleepers, the_end_of_the_last_search_is_reported)
{
    struct fixture fixture;

    fixture_init(&fixture, WORKERS);
    lanepool_i_sleepers_start_search(&fixture.sleepers);
    lanepool_i_sleepers_start_search(&fixture.sleepers);
    expect_counts(&fixture, 0, 2);
    expect(!lanepool_i_sleepers_end_search(&fixture.sleepers));
    expect(lanepool_i_sleepers_end_search(&fixture.sleepers));
    expect_counts(&fixture, 0, 0);
    fixture_fini(&fixture);
}

Test(sleepers, sleeping_workers_do_not_count_as_searchers)
{
    struct fixture fixture;

    fixture_init(&fixture, WORKERS);
    search_and_prepare(&fixture, 0);
    lanepool_i_sleepers_start_search(&fixture.sleepers);
    expect_counts(&fixture, 1, 1);
    expect(lanepool_i_sleepers_end_search(&fixture.sleepers));
    fixture_fini(&fixture);
}

Test(sleepers, a_wake_posts_one_sleeper_which_then_searches)
{
    struct fixture fixture;

    fixture_init(&fixture, WORKERS);
    search_and_prepare(&fixture, 1);
    search_and_prepare(&fixture, 2);
    expect_counts(&fixture, 2, 0);
    lanepool_i_sleepers_wake(&fixture.sleepers);
    expect_counts(&fixture, 1, 1);
    expect(was_posted(&fixture, 1));
    expect_counts(&fixture, 1, 1);
    expect(!was_posted(&fixture, 2));
    fixture_fini(&fixture);
}

Test(sleepers, no_worker_is_woken_while_another_searches)
{
    struct fixture fixture;

    fixture_init(&fixture, WORKERS);
    search_and_prepare(&fixture, 0);
    lanepool_i_sleepers_start_search(&fixture.sleepers);
    lanepool_i_sleepers_wake(&fixture.sleepers);
    expect_counts(&fixture, 1, 1);
    expect(!was_posted(&fixture, 0));
    fixture_fini(&fixture);
}

Test(sleepers, a_wake_goes_by_the_word_that_the_waker_saw)
{
    struct fixture fixture;
    uint64_t all_busy;
    uint64_t one_sleeps;

    fixture_init(&fixture, WORKERS);
    all_busy = lanepool_i_sleepers_load(&fixture.sleepers);
    search_and_prepare(&fixture, 0);
    one_sleeps = lanepool_i_sleepers_load(&fixture.sleepers);
    lanepool_i_sleepers_wake_if(&fixture.sleepers, all_busy);
    expect_counts(&fixture, 1, 0);
    lanepool_i_sleepers_start_search(&fixture.sleepers);
    lanepool_i_sleepers_wake_if(&fixture.sleepers, one_sleeps);
    expect_counts(&fixture, 0, 2);
    expect(was_posted(&fixture, 0));
    fixture_fini(&fixture);
}

Test(sleepers, wake_one_wakes_its_worker_even_if_another_searches)
{
    struct fixture fixture;

    fixture_init(&fixture, RESIDENT);
    search_and_prepare(&fixture, 0);
    search_and_prepare(&fixture, 1);
    lanepool_i_sleepers_start_search(&fixture.sleepers);
    lanepool_i_sleepers_wake_one(&fixture.sleepers, 1);
    expect(was_posted(&fixture, 1));
    expect_counts(&fixture, 1 + WORKERS - RESIDENT, 2);
    lanepool_i_sleepers_wake_one(&fixture.sleepers, 1); /* it is awake */
    lanepool_i_sleepers_wake_one(&fixture.sleepers, LAST);
    expect_counts(&fixture, 1 + WORKERS - RESIDENT, 2);
    expect_eq(count_started(&fixture), 0);
    expect(!was_posted(&fixture, 0));
    fixture_fini(&fixture);
}

Test(sleepers, wake_all_wakes_each_sleeper_and_starts_none)
{
    struct fixture fixture;

    fixture_init(&fixture, RESIDENT);
    search_and_prepare(&fixture, 0);
    search_and_prepare(&fixture, 1);
    lanepool_i_sleepers_wake_all(&fixture.sleepers);
    expect_counts(&fixture, WORKERS - RESIDENT, 2);
    expect(was_posted(&fixture, 0));
    expect(was_posted(&fixture, 1));
    expect_eq(count_started(&fixture), 0);
    fixture_fini(&fixture);
}

Test(sleepers, a_worker_that_stays_awake_searches_again)
{
    struct fixture fixture;

    fixture_init(&fixture, WORKERS);
    search_and_prepare(&fixture, 0);
    lanepool_i_sleepers_stay_awake(&fixture.sleepers, 0);
    expect_counts(&fixture, 0, 1);
    lanepool_i_sleepers_end_search(&fixture.sleepers);
    lanepool_i_sleepers_wake(&fixture.sleepers); /* finds no sleeper */
    expect_counts(&fixture, 0, 0);
    fixture_fini(&fixture);
}

/* If the post were left over, it would end the next sleep. */
Test(sleepers, a_worker_that_stays_awake_after_it_was_claimed_takes_its_post)
{
    struct fixture fixture;

    fixture_init(&fixture, WORKERS);
    search_and_prepare(&fixture, 0);
    lanepool_i_sleepers_wake(&fixture.sleepers);
    lanepool_i_sleepers_stay_awake(&fixture.sleepers, 0);
    expect_counts(&fixture, 0, 1);
    lanepool_i_sleepers_prepare(&fixture.sleepers, 0);
    expect(!was_posted(&fixture, 0));
    fixture_fini(&fixture);
}

Test(sleepers, a_posted_worker_returns_from_its_sleep_and_the_wake_up_is_counted)
{
    struct fixture fixture;

    fixture_init(&fixture, WORKERS);
    for (uint64_t times = 1; times <= 3; times++) {
        search_and_prepare(&fixture, 0);
        lanepool_i_sleepers_wake(&fixture.sleepers);
        lanepool_i_sleepers_sleep(&fixture.sleepers, 0);
        expect_eq(load_relaxed(&fixture.sleepers.all[0].wake_ups), times);
        expect(lanepool_i_sleepers_end_search(&fixture.sleepers));
    }
    fixture_fini(&fixture);
}

Test(sleepers, the_wake_up_of_a_worker_that_might_have_left_is_counted)
{
    struct fixture fixture;

    fixture_init(&fixture, WORKERS);
    search_and_prepare(&fixture, 0);
    lanepool_i_sleepers_wake(&fixture.sleepers);
    expect(was_posted(&fixture, 0));
    expect_eq(load_relaxed(&fixture.sleepers.all[0].wake_ups), 1);
    fixture_fini(&fixture);
}

Test(sleepers, a_worker_that_leaves_counts_as_busy_and_is_not_woken)
{
    struct fixture fixture;

    fixture_init(&fixture, WORKERS);
    search_and_prepare(&fixture, 0);
    expect(!was_posted(&fixture, 0));
    expect_counts(&fixture, 0, 0);
    expect_eq(load_relaxed(&fixture.sleepers.all[0].wake_ups), 0);
    search_and_prepare(&fixture, 1);
    lanepool_i_sleepers_wake(&fixture.sleepers);
    expect(was_posted(&fixture, 1));
    fixture_fini(&fixture);
}

Test(sleepers, a_sleeper_is_woken_before_an_absent_worker_is_started)
{
    struct fixture fixture;

    fixture_init(&fixture, RESIDENT);
    search_and_prepare(&fixture, 1);
    lanepool_i_sleepers_wake(&fixture.sleepers);
    expect_eq(count_started(&fixture), 0);
    expect(was_posted(&fixture, 1));
    fixture_fini(&fixture);
}

Test(sleepers, a_wake_starts_one_absent_worker_which_counts_as_busy)
{
    struct fixture fixture;

    fixture_init(&fixture, RESIDENT);
    lanepool_i_sleepers_wake(&fixture.sleepers);
    expect_eq(count_started(&fixture), 1);
    expect_eq(fixture.started[FIRST_ABSENT], 1);
    expect_counts(&fixture, WORKERS - RESIDENT - 1, 0);
    expect(!lanepool_i_sleepers_is_absent(&fixture.sleepers, FIRST_ABSENT));
    lanepool_i_sleepers_wake(&fixture.sleepers);
    expect_eq(fixture.started[LAST], 1);
    lanepool_i_sleepers_wake(&fixture.sleepers); /* there are no more */
    expect_eq(count_started(&fixture), WORKERS - RESIDENT);
    expect_counts(&fixture, 0, 0);
    fixture_fini(&fixture);
}
