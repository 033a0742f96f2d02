/* Plans: what they accept, and small ones whose times are known. */
#include "feature/plan/plans.h"
#include "support/test.h"

enum { A = 1, B = 2, C = 3, D = 4 };

static lanepool_status add_wrong(lanepool_plan_task task)
{
    lanepool_plan *plan = plan_make();
    lanepool_status status = lanepool_plan_add(plan, &task);

    expect(lanepool_plan_count(plan) == 0);
    lanepool_plan_destroy(plan);
    return status;
}

Test(plan, arguments_are_checked)
{
    lanepool_plan_pool pool = { .workers = 1 };
    lanepool_plan_result result;
    lanepool_plan_row row;
    size_t count;

    expect(lanepool_plan_create(NULL) == LANEPOOL_INVALID);
    expect(lanepool_plan_count(NULL) == 0);
    lanepool_plan_destroy(NULL);
    expect(lanepool_plan_add(NULL, &(lanepool_plan_task){ 0 }) == LANEPOOL_INVALID);
    lanepool_plan *plan = plan_make();
    expect(lanepool_plan_add(plan, NULL) == LANEPOOL_INVALID);
    expect(lanepool_plan_run(NULL, &pool, &result, NULL) == LANEPOOL_INVALID);
    expect(lanepool_plan_run(plan, NULL, &result, NULL) == LANEPOOL_INVALID);
    expect(lanepool_plan_run(plan, &pool, NULL, NULL) == LANEPOOL_INVALID);
    expect(lanepool_plan_path(NULL, NULL, 0, &count) == LANEPOOL_INVALID);
    expect(lanepool_plan_path(plan, NULL, 1, &count) == LANEPOOL_INVALID);
    expect(lanepool_plan_path(plan, NULL, 0, NULL) == LANEPOOL_INVALID);
    expect(lanepool_plan_worst(NULL, &pool, &row, 1, &count) == LANEPOOL_INVALID);
    expect(lanepool_plan_worst(plan, NULL, &row, 1, &count) == LANEPOOL_INVALID);
    expect(lanepool_plan_worst(plan, &pool, NULL, 1, &count) == LANEPOOL_INVALID);
    expect(lanepool_plan_worst(plan, &pool, &row, 1, NULL) == LANEPOOL_INVALID);
    pool.workers = 0;
    expect(lanepool_plan_run(plan, &pool, &result, NULL) == LANEPOOL_INVALID);
    expect(lanepool_plan_worst(plan, &pool, &row, 1, &count) == LANEPOOL_INVALID);
    pool.workers = 65536;
    expect(lanepool_plan_run(plan, &pool, &result, NULL) == LANEPOOL_INVALID);
    lanepool_plan_destroy(plan);
}

Test(plan, wrong_tasks_are_refused)
{
    lanepool_claim all = lanepool_claim_all();
    lanepool_claim commuting = lanepool_commuting(A);
    lanepool_claim wrong = lanepool_claim_of(lanepool_key_id(A), (lanepool_mode)3);
    lanepool_claim none = lanepool_claim_of(lanepool_key_none(), LANEPOOL_SHARED);

    expect(add_wrong((lanepool_plan_task){ .claim_count = 1 }) == LANEPOOL_INVALID);
    expect(add_wrong((lanepool_plan_task){ .claims = &all, .claim_count = 1 }) == LANEPOOL_INVALID);
    expect(add_wrong((lanepool_plan_task){ .claims = &wrong, .claim_count = 1 }) ==
           LANEPOOL_INVALID);
    expect(add_wrong((lanepool_plan_task){ .claims = &none, .claim_count = 1 }) ==
           LANEPOOL_INVALID);
    expect(add_wrong((lanepool_plan_task){
               .claims = &all, .claim_count = LANEPOOL_CLAIMS_MAX + 1 }) == LANEPOOL_INVALID);
    expect(add_wrong((lanepool_plan_task){ .visit_ns = 1 }) == LANEPOOL_INVALID);
    expect(add_wrong((lanepool_plan_task){ .form = LANEPOOL_PLAN_CUT }) == LANEPOOL_INVALID);
    expect(add_wrong((lanepool_plan_task){ .form = (lanepool_plan_form)3 }) == LANEPOOL_INVALID);
    expect(add_wrong((lanepool_plan_task){
               .claims = &commuting, .claim_count = 1, .form = LANEPOOL_PLAN_PROGRESSIVE }) ==
           LANEPOOL_INVALID);
}

Test(plan, work_of_more_than_a_signed_number_is_refused)
{
    lanepool_plan *plan = plan_make();
    lanepool_claim claims[2] = { lanepool_shared(A), lanepool_shared(B) };
    lanepool_plan_task visits = {
        .claims = claims, .claim_count = 2, .visit_ns = INT64_MAX / 2 + 1, .form = LANEPOOL_PLAN_CUT
    };

    expect(lanepool_plan_add(plan, &visits) == LANEPOOL_INVALID);
    plan_add(plan, INT64_MAX, 1, lanepool_exclusive(A));
    expect(lanepool_plan_add(plan, &(lanepool_plan_task){ .duration_ns = 1 }) == LANEPOOL_INVALID);
    expect(plan_run_by(plan, 3).makespan_ns == INT64_MAX);
    expect(plan_run_by(plan, 3).idle_ns == UINT64_MAX);
    lanepool_plan_destroy(plan);
}

Test(plan, a_plan_without_tasks_takes_no_time)
{
    lanepool_plan *plan = plan_make();
    lanepool_plan_result result = plan_run_by(plan, 4);
    lanepool_plan_row row;
    size_t count = 1;

    expect(result.work_ns == 0 && result.path_ns == 0);
    expect(result.makespan_ns == 0 && result.idle_ns == 0);
    expect(lanepool_plan_path(plan, NULL, 0, &count) == LANEPOOL_OK && count == 0);
    count = 1;
    expect(lanepool_plan_worst(plan, &(lanepool_plan_pool){ .workers = 4 }, &row, 1, &count) ==
           LANEPOOL_OK);
    expect(count == 0);
    lanepool_plan_destroy(plan);
}

Test(plan, independent_tasks_share_the_workers)
{
    lanepool_plan *plan = plan_make();

    for (uint64_t i = 0; i < 10; i++) {
        plan_add(plan, 100, 1, lanepool_exclusive(i));
    }
    expect(plan_run_by(plan, 1).makespan_ns == 1000);
    expect(plan_run_by(plan, 2).makespan_ns == 500);
    expect(plan_run_by(plan, 4).makespan_ns == 300);
    expect(plan_run_by(plan, 4).idle_ns == 200);
    expect(plan_run_by(plan, 4).path_ns == 100);
    expect(plan_run_by(plan, 16).makespan_ns == 100);
    lanepool_plan_destroy(plan);
}

/* Two SHARED claims overlap, and so do two COMMUTING ones. One of each does not. */
Test(plan, modes_decide_what_overlaps)
{
    lanepool_plan *plan = plan_make();

    plan_add(plan, 10, 1, lanepool_shared(A));
    plan_add(plan, 30, 1, lanepool_shared(A));
    plan_add(plan, 10, 1, lanepool_commuting(A));
    plan_add(plan, 20, 1, lanepool_commuting(A));
    plan_add(plan, 5, 1, lanepool_shared(A));
    plan_add(plan, 5, 1, lanepool_exclusive(A));
    expect(plan_run_by(plan, 9).makespan_ns == 30 + 20 + 5 + 5);
    expect(plan_run_by(plan, 9).path_ns == 60);
    expect(plan_run_by(plan, 1).makespan_ns == 80);
    lanepool_plan_destroy(plan);
}

/* SHARED and COMMUTING claims of one key are together EXCLUSIVE. */
Test(plan, claims_of_one_key_count_as_one)
{
    lanepool_plan *plan = plan_make();

    plan_add(plan, 10, 2, lanepool_shared(A), lanepool_commuting(A));
    plan_add(plan, 10, 2, lanepool_shared(A), lanepool_shared(A));
    plan_add(plan, 10, 2, lanepool_shared(A), lanepool_shared(A));
    expect(plan_run_by(plan, 3).makespan_ns == 20);
    lanepool_plan_destroy(plan);
}

Test(plan, keys_of_different_types_are_different)
{
    lanepool_plan *plan = plan_make();
    char name[] = "name";

    plan_add(plan, 10, 1, lanepool_exclusive(A));
    plan_add(plan, 10, 1,
             lanepool_claim_of(lanepool_key_pointer((void *)(uintptr_t)A), LANEPOOL_EXCLUSIVE));
    plan_add(plan, 10, 1, lanepool_claim_of(lanepool_key_bytes(name, 4), LANEPOOL_EXCLUSIVE));
    memset(name, 'x', 4); /* the plan has copied the bytes */
    plan_add(plan, 10, 1, lanepool_claim_of(lanepool_key_bytes("name", 4), LANEPOOL_EXCLUSIVE));
    plan_add(plan, 10, 1, lanepool_claim_of(lanepool_key_bytes(NULL, 0), LANEPOOL_EXCLUSIVE));
    expect(plan_run_by(plan, 9).makespan_ns == 20);
    lanepool_plan_destroy(plan);
}

/* The rollup is latched in A, waits for B, and blocks the last task of A. */
static lanepool_plan *plan_with_rollup(lanepool_plan_form form)
{
    lanepool_plan *plan = plan_make();
    lanepool_claim claims[2] = { lanepool_exclusive(A), lanepool_exclusive(B) };
    bool visits = form != LANEPOOL_PLAN_PLAIN;
    lanepool_plan_task rollup = { .claims = claims,
                                  .claim_count = 2,
                                  .duration_ns = visits ? 1 : 7,
                                  .visit_ns = visits ? 3 : 0,
                                  .form = form,
                                  .tag = 5 };

    plan_add(plan, 100, 1, lanepool_exclusive(B));
    expect_ok(lanepool_plan_add(plan, &rollup));
    plan_add(plan, 50, 1, lanepool_exclusive(A));
    return plan;
}

Test(plan, a_rollup_has_its_lanes_until_it_ends)
{
    lanepool_plan *plan = plan_with_rollup(LANEPOOL_PLAN_PLAIN);
    lanepool_plan_time times[3];

    plan_times_by(plan, 2, times);
    expect(times[1].granted_ns == 0 && times[1].start_ns == 100 && times[1].end_ns == 107);
    expect(times[2].granted_ns == 107 && times[2].start_ns == 107 && times[2].end_ns == 157);
    lanepool_plan_destroy(plan);
}

Test(plan, the_lane_of_a_cut_goes_on_after_its_visit)
{
    lanepool_plan *plan = plan_with_rollup(LANEPOOL_PLAN_CUT);
    lanepool_plan_time times[3];

    plan_times_by(plan, 2, times);
    expect(times[1].granted_ns == 0 && times[1].start_ns == 103 && times[1].end_ns == 104);
    expect(times[2].start_ns == 3 && times[2].end_ns == 53);
    expect(plan_run_by(plan, 2).work_ns == 157);
    lanepool_plan_destroy(plan);
}

Test(plan, a_progressive_rollup_visits_and_keeps_its_lanes)
{
    lanepool_plan *plan = plan_with_rollup(LANEPOOL_PLAN_PROGRESSIVE);
    lanepool_plan_time times[3];

    plan_times_by(plan, 2, times);
    expect(times[1].start_ns == 103 && times[1].end_ns == 104);
    expect(times[2].start_ns == 104);
    lanepool_plan_destroy(plan);
}

Test(plan, the_path_is_the_longest_chain)
{
    lanepool_plan *plan = plan_with_rollup(LANEPOOL_PLAN_PLAIN);
    size_t path[3] = { 9, 9, 9 };
    size_t count;

    plan_add(plan, 60, 1, lanepool_exclusive(D));
    expect_ok(lanepool_plan_path(plan, path, 3, &count));
    expect(count == 3 && path[0] == 0 && path[1] == 1 && path[2] == 2);
    path[1] = path[2] = 9;
    expect_ok(lanepool_plan_path(plan, path, 1, &count));
    expect(count == 3 && path[0] == 0 && path[1] == 9);
    lanepool_plan_destroy(plan);
}

/* A's first task, the visit of A, and A's last task. The visit of B is not in the chain. */
Test(plan, the_path_goes_through_one_lane_of_a_cut)
{
    lanepool_plan *plan = plan_make();
    lanepool_claim claims[2] = { lanepool_shared(A), lanepool_shared(B) };
    lanepool_plan_task cut = { .claims = claims,
                               .claim_count = 2,
                               .duration_ns = 1,
                               .visit_ns = 10,
                               .form = LANEPOOL_PLAN_CUT };
    size_t path[4];
    size_t count;

    plan_add(plan, 20, 1, lanepool_exclusive(A));
    plan_add(plan, 50, 1, lanepool_exclusive(B));
    expect_ok(lanepool_plan_add(plan, &cut));
    plan_add(plan, 90, 1, lanepool_exclusive(A));
    expect_ok(lanepool_plan_path(plan, path, 4, &count));
    expect(count == 3 && path[0] == 0 && path[1] == 2 && path[2] == 3);
    expect(plan_run_by(plan, 9).path_ns == 120);
    expect(plan_run_by(plan, 9).makespan_ns == 120);
    lanepool_plan_destroy(plan);
}

/* Returns when the task of B starts: it becomes ready after the first task of A, and before the
 * others. */
static uint64_t start_beside_lane(lanepool_plan_pool pool)
{
    lanepool_plan *plan = plan_make();
    lanepool_plan_result result;
    lanepool_plan_time times[6];

    for (unsigned i = 0; i < 5; i++) {
        plan_add(plan, 10, 1, lanepool_exclusive(A));
    }
    plan_add(plan, 10, 1, lanepool_exclusive(B));
    pool.workers = 1;
    expect_ok(lanepool_plan_run(plan, &pool, &result, times));
    expect_eq(result.makespan_ns, 60);
    lanepool_plan_destroy(plan);
    return times[5].start_ns;
}

Test(plan, a_worker_stays_in_a_lane_for_a_quantum)
{
    expect_eq(start_beside_lane((lanepool_plan_pool){ .quantum_tasks = 0 }), 50);
    expect_eq(start_beside_lane((lanepool_plan_pool){ .quantum_tasks = 3 }), 30);
    expect_eq(start_beside_lane((lanepool_plan_pool){ .quantum_ns = 15 }), 20);
    expect_eq(start_beside_lane((lanepool_plan_pool){ .in_one_order = true }), 10);
}

/* --- changes --- */

Test(plan, a_rollup_is_planned_as_a_cut)
{
    lanepool_plan *plan = plan_with_rollup(LANEPOOL_PLAN_PLAIN);
    lanepool_plan_pool pool = { .workers = 2, .change = LANEPOOL_PLAN_CUT_TASK, .task = 1 };
    lanepool_plan_result result;
    lanepool_plan_time times[3];

    expect_ok(lanepool_plan_run(plan, &pool, &result, times));
    expect(times[2].start_ns == 3 && times[1].start_ns == 103 && times[1].end_ns == 104);
    expect(result.work_ns == 157 && result.path_ns == 104 && result.makespan_ns == 104);
    pool = (lanepool_plan_pool){ .workers = 2, .change = LANEPOOL_PLAN_CUT_TAG, .tag = 5 };
    expect_ok(lanepool_plan_run(plan, &pool, &result, NULL));
    expect(result.makespan_ns == 104);
    pool.tag = 6;
    expect_ok(lanepool_plan_run(plan, &pool, &result, NULL));
    expect(result.makespan_ns == 157);
    lanepool_plan_destroy(plan);
}

Test(plan, a_key_is_planned_with_commuting_claims)
{
    lanepool_plan *plan = plan_make();
    lanepool_plan_pool pool = {
        .workers = 4, .change = LANEPOOL_PLAN_COMMUTE, .task = 0, .claim = 1
    };
    lanepool_plan_result result;

    plan_add(plan, 10, 2, lanepool_exclusive(A), lanepool_exclusive(C));
    plan_add(plan, 10, 2, lanepool_exclusive(B), lanepool_exclusive(C));
    plan_add(plan, 10, 1, lanepool_shared(C));
    plan_add(plan, 10, 3, lanepool_exclusive(A), lanepool_exclusive(B), lanepool_exclusive(C));
    expect(plan_run_by(plan, 4).makespan_ns == 40);
    expect_ok(lanepool_plan_run(plan, &pool, &result, NULL));
    expect(result.makespan_ns == 30 && result.path_ns == 30);
    lanepool_plan_destroy(plan);
}

Test(plan, changes_that_are_not_possible_are_refused)
{
    lanepool_plan *plan = plan_with_rollup(LANEPOOL_PLAN_CUT);
    lanepool_plan_pool pool = { .workers = 2, .change = LANEPOOL_PLAN_CUT_TASK, .task = 1 };
    lanepool_plan_result result;

    plan_add(plan, 1, 2, lanepool_commuting(A), lanepool_exclusive(B));
    expect(lanepool_plan_run(plan, &pool, &result, NULL) == LANEPOOL_INVALID); /* it is one */
    pool.task = 0;
    expect(lanepool_plan_run(plan, &pool, &result, NULL) == LANEPOOL_INVALID); /* no rollup */
    pool.task = 3;
    expect(lanepool_plan_run(plan, &pool, &result, NULL) == LANEPOOL_INVALID); /* it commutes */
    pool.task = 4;
    expect(lanepool_plan_run(plan, &pool, &result, NULL) == LANEPOOL_INVALID);
    pool.change = LANEPOOL_PLAN_COMMUTE;
    expect(lanepool_plan_run(plan, &pool, &result, NULL) == LANEPOOL_INVALID);
    pool = (lanepool_plan_pool){ .workers = 2, .change = LANEPOOL_PLAN_COMMUTE, .claim = 1 };
    expect(lanepool_plan_run(plan, &pool, &result, NULL) == LANEPOOL_INVALID);
    pool.change = (lanepool_plan_change)9;
    expect(lanepool_plan_run(plan, &pool, &result, NULL) == LANEPOOL_INVALID);
    lanepool_plan_destroy(plan);
}
