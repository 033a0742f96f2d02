/* Random plans beside a slow computation, which compares each two tasks. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "feature/plan/plans.h"
#include "support/memory.h"
#include "support/random.h"
#include "support/test.h"

enum { TASKS_MOST = 60, CLAIMS_MOST = 5, KEYS_MOST = 9, SEEDS = 400 };

struct drawn {
    lanepool_plan_task task;
    lanepool_claim claims[CLAIMS_MOST];
    bool has[KEYS_MOST];
    uint64_t mode[KEYS_MOST]; /* of all claims of the key */
    uint64_t released[KEYS_MOST];
    lanepool_plan_time time;
};

struct story {
    struct drawn tasks[TASKS_MOST];
    size_t count;
    unsigned workers;
    uint64_t work_ns;
};

static void draw_claims(struct drawn *drawn, unsigned keys, uint64_t *random)
{
    for (size_t i = 0; i < drawn->task.claim_count; i++) {
        unsigned modes = drawn->task.form == LANEPOOL_PLAN_PLAIN ? 3 : 2;
        unsigned key = random_below(random, keys);
        uint64_t mode = random_below(random, modes);

        drawn->claims[i] = lanepool_claim_of(lanepool_key_id(key), (lanepool_mode)mode);
        drawn->mode[key] = drawn->has[key] ? drawn->mode[key] & mode : mode;
        drawn->has[key] = true;
    }
}

static void draw_story(struct story *story, uint64_t seed, bool with_visits)
{
    uint64_t random = seed;
    unsigned keys = 1 + random_below(&random, KEYS_MOST);

    memset(story, 0, sizeof *story);
    story->count = 1 + random_below(&random, TASKS_MOST);
    story->workers = 1 + random_below(&random, 6);
    for (size_t i = 0; i < story->count; i++) {
        struct drawn *drawn = &story->tasks[i];
        unsigned form = with_visits ? random_below(&random, 8) : 0;

        drawn->task.claims = drawn->claims;
        drawn->task.claim_count = random_below(&random, CLAIMS_MOST + 1);
        drawn->task.duration_ns = random_next(&random) >> 30;
        if (drawn->task.claim_count > 0 && form < 3) {
            drawn->task.form = (lanepool_plan_form)form;
        }
        if (drawn->task.form != LANEPOOL_PLAN_PLAIN) {
            drawn->task.visit_ns = random_next(&random) >> 30;
        }
        draw_claims(drawn, keys, &random);
    }
}

static lanepool_plan *plan_of(struct story *story)
{
    lanepool_plan *plan = plan_make();

    for (size_t i = 0; i < story->count; i++) {
        expect_ok(lanepool_plan_add(plan, &story->tasks[i].task));
    }
    expect_eq(lanepool_plan_count(plan), story->count);
    return plan;
}

static uint64_t later_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Returns when task b can have the key, if each earlier task that conflicts there has released it.
 */
static uint64_t grant_of(const struct story *story, size_t b, unsigned key)
{
    uint64_t granted = 0;

    for (size_t a = 0; a < b; a++) {
        if (story->tasks[a].has[key] &&
            !lanepool_modes_overlap(story->tasks[a].mode[key], story->tasks[b].mode[key])) {
            granted = later_of(granted, story->tasks[a].released[key]);
        }
    }
    return granted;
}

/* Returns the earliest end of all tasks with a worker for each. */
static uint64_t end_of_all(struct story *story)
{
    uint64_t last = 0;

    for (size_t i = 0; i < story->count; i++) {
        struct drawn *drawn = &story->tasks[i];
        uint64_t start = 0;

        for (unsigned key = 0; key < KEYS_MOST; key++) {
            if (drawn->has[key]) {
                drawn->released[key] = grant_of(story, i, key) + drawn->task.visit_ns;
                start = later_of(start, drawn->released[key]);
                story->work_ns += drawn->task.visit_ns;
            }
        }
        uint64_t end = start + drawn->task.duration_ns;
        for (unsigned key = 0; key < KEYS_MOST; key++) {
            if (drawn->task.form != LANEPOOL_PLAN_CUT) {
                drawn->released[key] = end;
            }
        }
        story->work_ns += drawn->task.duration_ns;
        last = later_of(last, end);
    }
    return last;
}

Test(plan_random, path_and_bounds_agree_with_a_slow_computation)
{
    struct story *story = memory_get(1, sizeof *story);

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        draw_story(story, seed, true);
        lanepool_plan *plan = plan_of(story);
        lanepool_plan_result result = plan_run_by(plan, story->workers);
        uint64_t path_ns = end_of_all(story);
        uint64_t rest_ns = (story->work_ns - path_ns) / story->workers;

        expect_eq(result.path_ns, path_ns);
        expect_eq(result.work_ns, story->work_ns);
        expect(result.makespan_ns >= later_of(path_ns, story->work_ns / story->workers));
        expect(result.makespan_ns <= path_ns + rest_ns + 1);
        expect_eq(result.idle_ns, result.makespan_ns * story->workers - story->work_ns);
        lanepool_plan_destroy(plan);
    }
    free(story);
}

/* --- the run, without visits --- */

static bool do_conflict(const struct drawn *a, const struct drawn *b)
{
    bool any = false;

    for (unsigned key = 0; key < KEYS_MOST; key++) {
        any |= a->has[key] && b->has[key] && !lanepool_modes_overlap(a->mode[key], b->mode[key]);
    }
    return any;
}

/* Returns when all earlier tasks that conflict with the task have ended. */
static uint64_t ready_of(const struct story *story, size_t task)
{
    uint64_t ready = 0;

    for (size_t i = 0; i < task; i++) {
        if (do_conflict(&story->tasks[i], &story->tasks[task])) {
            ready = later_of(ready, story->tasks[i].time.end_ns);
        }
    }
    return ready;
}

static unsigned running_at(const struct story *story, uint64_t ns)
{
    unsigned count = 0;

    for (size_t i = 0; i < story->count; i++) {
        const lanepool_plan_time *time = &story->tasks[i].time;
        count += time->start_ns <= ns && ns < time->end_ns;
    }
    return count;
}

/* No worker is idle while the task is ready. The number of running tasks falls at ends only. */
static bool is_waiting_justified(const struct story *story, size_t task)
{
    uint64_t ready = ready_of(story, task);
    uint64_t start = story->tasks[task].time.start_ns;
    bool justified = ready == start || running_at(story, ready) == story->workers;

    for (size_t i = 0; i < story->count; i++) {
        uint64_t end = story->tasks[i].time.end_ns;
        if (ready <= end && end < start) {
            justified &= running_at(story, end) == story->workers;
        }
    }
    return justified;
}

static void judge_run(const struct story *story, bool in_one_order)
{
    for (size_t b = 0; b < story->count; b++) {
        const lanepool_plan_time *time = &story->tasks[b].time;
        uint64_t ready = ready_of(story, b);

        expect_eq(time->end_ns, time->start_ns + story->tasks[b].task.duration_ns);
        expect(ready <= time->start_ns);
        expect(running_at(story, time->start_ns) <= story->workers);
        expect(is_waiting_justified(story, b));
        for (size_t a = 0; in_one_order && a < story->count; a++) {
            expect(ready_of(story, a) >= ready || story->tasks[a].time.start_ns <= time->start_ns);
        }
    }
}

static void run_story(struct story *story, bool in_one_order)
{
    lanepool_plan *plan = plan_of(story);
    lanepool_plan_pool pool = { .workers = story->workers, .in_one_order = in_one_order };
    lanepool_plan_result result;
    lanepool_plan_time times[TASKS_MOST];
    uint64_t last = 0;

    expect_ok(lanepool_plan_run(plan, &pool, &result, times));
    for (size_t i = 0; i < story->count; i++) {
        story->tasks[i].time = times[i];
        last = later_of(last, times[i].end_ns);
    }
    expect_eq(result.makespan_ns, last);
    judge_run(story, in_one_order);
    lanepool_plan_destroy(plan);
}

/* These rules leave only the order of tasks open that become ready together. */
Test(plan_random, runs_keep_the_rules_of_the_pool)
{
    struct story *story = memory_get(1, sizeof *story);

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        draw_story(story, seed, false);
        run_story(story, true);
        run_story(story, false);
    }
    free(story);
}

/* --- changes --- */

/* A rollup with a change is as slow as the same rollup that is added as a cut. */
Test(plan_random, a_change_is_as_if_the_task_were_added_so)
{
    struct story *story = memory_get(1, sizeof *story);

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        draw_story(story, seed, false);
        lanepool_plan *plan = plan_of(story);
        size_t task = seed % story->count;
        struct drawn *drawn = &story->tasks[task];
        lanepool_plan_pool pool = { .workers = story->workers,
                                    .change = LANEPOOL_PLAN_CUT_TASK,
                                    .task = task };
        lanepool_plan_result changed;
        uint64_t keys = 0;
        bool may_be_cut = true;

        for (unsigned key = 0; key < KEYS_MOST; key++) {
            keys += drawn->has[key];
            may_be_cut &= !drawn->has[key] || drawn->mode[key] != LANEPOOL_COMMUTING;
        }
        may_be_cut &= keys > 1;
        for (size_t i = 0; i < drawn->task.claim_count; i++) {
            lanepool_claim *claim = &drawn->claims[i];
            claim->mode = drawn->mode[claim->key.id];
        }
        lanepool_status status = lanepool_plan_run(plan, &pool, &changed, NULL);
        expect_eq(status, may_be_cut ? LANEPOOL_OK : LANEPOOL_INVALID);
        lanepool_plan_destroy(plan);
        if (!may_be_cut) {
            continue;
        }
        drawn->task.form = LANEPOOL_PLAN_CUT;
        drawn->task.visit_ns = drawn->task.duration_ns / keys;
        drawn->task.duration_ns %= keys;
        plan = plan_of(story);
        lanepool_plan_result added = plan_run_by(plan, story->workers);
        expect_eq(changed.makespan_ns, added.makespan_ns);
        expect_eq(changed.path_ns, added.path_ns);
        expect_eq(changed.work_ns, added.work_ns);
        lanepool_plan_destroy(plan);
    }
    free(story);
}
