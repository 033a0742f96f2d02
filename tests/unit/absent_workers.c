/* Workers without threads, step by step: which thread may start one, and which returns. */
#include "sched/sleep.h"
#include "support/test.h"

enum { WORKERS = 4, RESIDENT = 1 };

struct fixture {
    lanepool_i_sleepers sleepers;
    size_t start_count;
    size_t last_started;
};

static void start(void *owner, size_t index)
{
    struct fixture *fixture = owner;

    fixture->start_count++;
    fixture->last_started = index;
}

static void fixture_init(struct fixture *fixture)
{
    *fixture = (struct fixture){ .start_count = 0 };
    expect(lanepool_i_sleepers_init(&fixture->sleepers, WORKERS, RESIDENT, start, fixture));
}

static void fixture_fini(struct fixture *fixture)
{
    lanepool_i_sleepers_fini(&fixture->sleepers);
}

static void expect_sleeping(struct fixture *fixture, uint32_t sleeping)
{
    expect_eq(lanepool_i_sleepers_sleeping(lanepool_i_sleepers_load(&fixture->sleepers)), sleeping);
}

/* Claims all absent workers. Returns how many were started. */
static size_t start_all(struct fixture *fixture)
{
    size_t before = fixture->start_count;

    for (size_t i = 0; i < WORKERS; i++) {
        lanepool_i_sleepers_wake(&fixture->sleepers);
    }
    return fixture->start_count - before;
}

Test(absent_workers, a_worker_that_becomes_absent_may_be_started_again)
{
    struct fixture fixture;

    fixture_init(&fixture);
    expect_eq(start_all(&fixture), WORKERS - RESIDENT);
    lanepool_i_sleepers_set_absent(&fixture.sleepers, 2);
    expect_sleeping(&fixture, 1);
    expect(lanepool_i_sleepers_is_absent(&fixture.sleepers, 2));
    lanepool_i_sleepers_wake(&fixture.sleepers);
    expect_eq(fixture.last_started, 2);
    expect_sleeping(&fixture, 0);
    fixture_fini(&fixture);
}

Test(absent_workers, a_worker_takes_itself_back_unless_another_thread_has_claimed_it)
{
    struct fixture fixture;

    fixture_init(&fixture);
    expect(lanepool_i_sleepers_take_back(&fixture.sleepers, 1));
    expect_sleeping(&fixture, WORKERS - RESIDENT - 1);
    expect(!lanepool_i_sleepers_is_absent(&fixture.sleepers, 1));
    lanepool_i_sleepers_set_absent(&fixture.sleepers, 1);
    expect_eq(start_all(&fixture), WORKERS - RESIDENT);
    expect(!lanepool_i_sleepers_take_back(&fixture.sleepers, 1));
    expect_sleeping(&fixture, 0);
    fixture_fini(&fixture);
}

Test(absent_workers, after_a_refused_thread_none_is_started)
{
    struct fixture fixture;

    fixture_init(&fixture);
    lanepool_i_sleepers_wake(&fixture.sleepers);
    lanepool_i_sleepers_thread_failed(&fixture.sleepers, fixture.last_started);
    expect_sleeping(&fixture, 0);
    for (size_t i = RESIDENT; i < WORKERS; i++) {
        expect(lanepool_i_sleepers_is_absent(&fixture.sleepers, i));
    }
    lanepool_i_sleepers_wake_slowly(&fixture.sleepers);
    expect_eq(fixture.start_count, 1);
    expect(!lanepool_i_sleepers_is_absent(&fixture.sleepers, 0));
    fixture_fini(&fixture);
}

Test(absent_workers, a_refused_thread_changes_no_worker_that_has_one)
{
    struct fixture fixture;

    fixture_init(&fixture);
    expect_eq(start_all(&fixture), WORKERS - RESIDENT);
    lanepool_i_sleepers_thread_failed(&fixture.sleepers, 3);
    for (size_t i = 0; i < WORKERS; i++) {
        expect_eq(lanepool_i_sleepers_is_absent(&fixture.sleepers, i), i == 3);
    }
    lanepool_i_sleepers_start_search(&fixture.sleepers);
    lanepool_i_sleepers_prepare(&fixture.sleepers, 2);
    lanepool_i_sleepers_thread_failed(&fixture.sleepers, 3);
    expect(!lanepool_i_sleepers_is_absent(&fixture.sleepers, 2)); /* it sleeps */
    expect_sleeping(&fixture, 1);
    fixture_fini(&fixture);
}

Test(absent_workers, a_retry_makes_those_startable_that_were_refused)
{
    struct fixture fixture;

    fixture_init(&fixture);
    lanepool_i_sleepers_wake(&fixture.sleepers);
    lanepool_i_sleepers_thread_failed(&fixture.sleepers, fixture.last_started);
    lanepool_i_sleepers_retry_threads(&fixture.sleepers);
    expect_sleeping(&fixture, WORKERS - RESIDENT);
    expect_eq(start_all(&fixture), WORKERS - RESIDENT);
    lanepool_i_sleepers_retry_threads(&fixture.sleepers); /* none is unstartable */
    expect_sleeping(&fixture, 0);
    expect_eq(start_all(&fixture), 0);
    fixture_fini(&fixture);
}

Test(absent_workers, a_refused_worker_does_not_take_itself_back)
{
    struct fixture fixture;

    fixture_init(&fixture);
    lanepool_i_sleepers_wake(&fixture.sleepers);
    lanepool_i_sleepers_thread_failed(&fixture.sleepers, fixture.last_started);
    expect(!lanepool_i_sleepers_take_back(&fixture.sleepers, fixture.last_started));
    expect_sleeping(&fixture, 0);
    fixture_fini(&fixture);
}
