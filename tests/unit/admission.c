/* The limit on pending tasks: how many are admitted, and which submitter is served first. */
#include "lanepool/pool.h"
#include "unit/admission_threads.h"

/* A credit is a 1,024th of the limit, at most 64 tasks. */
enum { EXACT_MAX = 2047, CREDIT_MAX = 64, CREDIT_MAX_LIMIT = 65536 };

static const uint64_t past = 1;

static uint64_t admit_all(struct fixture *all)
{
    uint64_t count = 0;

    while (try_admit(all)) {
        count++;
    }
    return count;
}

Test(admission, as_many_tasks_are_admitted_as_the_limit_says)
{
    static const uint64_t limits[] = { 1, 3, EXACT_MAX, EXACT_MAX + 1, 5000, 9999, 65536, 100001 };

    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct fixture all;

        fixture_init(&all, limits[i], NULL);
        expect_eq(admit_all(&all), limits[i]);
        finish(&all, 1);
        expect_eq(admit_all(&all), 1);
        finish(&all, limits[i]);
        expect_eq(admit_all(&all), limits[i]);
        fixture_fini(&all);
    }
}

Test(admission, small_limits_have_credits_of_one_task)
{
    struct fixture all;

    fixture_init(&all, EXACT_MAX, NULL);
    expect(lanepool_i_admission_is_exact(&all.admission));
    expect(try_admit(&all));
    expect_eq(all.record->admitted, 0);
    fixture_fini(&all);
    fixture_init(&all, EXACT_MAX + 1, NULL);
    expect(!lanepool_i_admission_is_exact(&all.admission));
    expect(try_admit(&all));
    expect_eq(all.record->admitted, 1);
    fixture_fini(&all);
}

Test(admission, large_limits_have_credits_of_at_most_64_tasks)
{
    static const size_t limits[] = { CREDIT_MAX_LIMIT, 100 * CREDIT_MAX_LIMIT };

    for (size_t i = 0; i < 2; i++) {
        struct fixture all;

        fixture_init(&all, limits[i], NULL);
        expect(try_admit(&all));
        expect_eq(all.record->admitted, CREDIT_MAX - 1);
        fixture_fini(&all);
    }
}

Test(admission, without_a_limit_every_task_is_admitted)
{
    struct fixture all;

    fixture_init(&all, LANEPOOL_UNLIMITED, NULL);
    for (int i = 0; i < 1000; i++) {
        expect(try_admit(&all));
    }
    fixture_fini(&all);
}

Test(admission, tasks_admitted_over_the_limit_count)
{
    struct fixture all;

    fixture_init(&all, 1, NULL);
    expect(try_admit(&all));
    lanepool_i_admission_force(&all.admission, all.record, NULL);
    finish(&all, 1);
    expect(!try_admit(&all));
    finish(&all, 1);
    expect(try_admit(&all));
    fixture_fini(&all);
}

Test(admission, a_forced_task_uses_a_credit_that_is_left)
{
    struct fixture all;

    fixture_init(&all, CREDIT_MAX_LIMIT, NULL);
    expect(try_admit(&all));
    lanepool_i_admission_force(&all.admission, all.record, NULL);
    expect_eq(all.record->admitted, CREDIT_MAX - 2);
    expect_eq(admit_all(&all), CREDIT_MAX_LIMIT - 2);
    fixture_fini(&all);
}

Test(admission, a_task_that_was_not_accepted_leaves_its_room)
{
    struct fixture all;

    fixture_init(&all, 1, NULL);
    expect(try_admit(&all));
    lanepool_i_admission_return_to_thread(&all.admission, all.record);
    expect_eq(all.record->admitted, 0); /* any thread may have the room */
    expect(try_admit(&all));
    lanepool_i_admission_return_to_waiting(&all.admission);
    expect(try_admit(&all));
    fixture_fini(&all);
    fixture_init(&all, CREDIT_MAX_LIMIT, NULL);
    expect(try_admit(&all));
    lanepool_i_admission_return_to_thread(&all.admission, all.record);
    expect_eq(all.record->admitted, CREDIT_MAX); /* the thread has the credit again */
    fixture_fini(&all);
}

Test(admission, credits_of_threads_that_are_gone_are_given_again)
{
    struct fixture all;
    lanepool_i_thread_record *gone;

    fixture_init(&all, CREDIT_MAX_LIMIT, NULL);
    gone = record_make(&all);
    expect(lanepool_i_admission_try(&all.admission, gone, NULL));
    lanepool_i_thread_record_retire(gone);
    lanepool_i_thread_record_retire(record_make(&all)); /* making a record collects it */
    expect_eq(admit_all(&all), CREDIT_MAX_LIMIT - 1);
    fixture_fini(&all);
}

Test(admission, a_closed_admission_admits_only_from_inside)
{
    struct fixture all;

    fixture_init(&all, 10, NULL);
    lanepool_i_admission_close(&all.admission);
    expect(!try_admit(&all));
    expect_status(lanepool_i_admission_wait(&all.admission, all.record, NULL, UINT64_MAX),
                  LANEPOOL_SHUT_DOWN);
    all.record->callbacks = 1; /* inside a callback of the pool */
    expect(try_admit(&all));
    fixture_fini(&all);
}

Test(admission, a_wait_with_room_ends_at_once_with_a_credit)
{
    struct fixture all;

    fixture_init(&all, CREDIT_MAX_LIMIT, NULL);
    expect_ok(lanepool_i_admission_wait(&all.admission, all.record, NULL, past));
    expect_eq(all.record->admitted, CREDIT_MAX - 1);
    expect_eq(count_waiting(&all), 0);
    fixture_fini(&all);
}

Test(admission, a_wait_that_times_out_leaves_the_queue)
{
    struct fixture all;

    fixture_init(&all, 1, NULL);
    expect(try_admit(&all));
    expect_status(lanepool_i_admission_wait(&all.admission, all.record, NULL, past),
                  LANEPOOL_TIMED_OUT);
    expect_eq(count_waiting(&all), 0);
    finish(&all, 1);
    expect(try_admit(&all)); /* no submitter waits for this room */
    fixture_fini(&all);
}

Test(admission, blocked_submitters_are_served_in_turn)
{
    enum { WAITERS = 3 };
    struct fixture all;
    struct waiter waiters[WAITERS];

    fixture_init(&all, 1, NULL);
    expect(try_admit(&all));
    for (size_t i = 0; i < WAITERS; i++) {
        waiter_start(&waiters[i], &all, NULL);
    }
    for (size_t i = 0; i < WAITERS; i++) {
        finish(&all, 1);
        expect_eq(count_waiting(&all), WAITERS - 1 - i);
        expect_ok(waiter_join(&waiters[i]));
    }
    expect(!try_admit(&all));
    fixture_fini(&all);
}

Test(admission, no_submitter_passes_one_that_waits)
{
    struct fixture all;
    struct waiter waiter;

    fixture_init(&all, 1, NULL);
    expect(try_admit(&all));
    waiter_start(&waiter, &all, NULL);
    count_finished(&all, 1);
    expect(!try_admit(&all)); /* though there is room */
    lanepool_i_admission_serve(&all.admission, false);
    expect_ok(waiter_join(&waiter));
    fixture_fini(&all);
}

Test(admission, a_finisher_serves_whole_credits_and_an_idle_worker_any_room)
{
    for (int idle = 0; idle < 2; idle++) {
        struct fixture all;
        struct waiter waiter;

        fixture_init(&all, CREDIT_MAX_LIMIT, NULL);
        expect_eq(admit_all(&all), CREDIT_MAX_LIMIT);
        waiter_start(&waiter, &all, NULL);
        finish(&all, CREDIT_MAX - 1);
        expect_eq(count_waiting(&all), 1);
        if (idle) {
            lanepool_i_admission_serve_before_sleep(&all.admission);
        } else {
            finish(&all, 1);
        }
        expect_eq(count_waiting(&all), 0);
        expect_ok(waiter_join(&waiter));
        fixture_fini(&all);
    }
}

Test(admission, closing_refuses_all_blocked_submitters)
{
    struct fixture all;
    struct waiter waiters[2];

    fixture_init(&all, 1, NULL);
    expect(try_admit(&all));
    waiter_start(&waiters[0], &all, NULL);
    waiter_start(&waiters[1], &all, NULL);
    lanepool_i_admission_close(&all.admission);
    expect_eq(count_waiting(&all), 0);
    expect_status(waiter_join(&waiters[0]), LANEPOOL_SHUT_DOWN);
    expect_status(waiter_join(&waiters[1]), LANEPOOL_SHUT_DOWN);
    fixture_fini(&all);
}
