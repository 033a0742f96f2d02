#include "support/step.h"

#include <string.h>

#include "support/test.h"

static void journal_enter(struct journal *journal, uint32_t id)
{
    uint32_t place = atomic_fetch_add(&journal->count, 1);
    uint32_t running = atomic_fetch_add(&journal->running, 1) + 1;
    uint32_t most = atomic_load(&journal->most_running);

    if (place < JOURNAL_MAX) {
        atomic_store(&journal->ids[place], id);
    }
    while (running > most &&
           !atomic_compare_exchange_weak(&journal->most_running, &most, running)) {
    }
}

int step_body(lanepool_run *run, void *context)
{
    struct step *step = context;

    step->ticket = lanepool_run_ticket(run);
    step->worker = lanepool_run_worker(run);
    atomic_fetch_add(&step->runs, 1);
    if (step->journal) {
        journal_enter(step->journal, step->id);
    }
    if (step->gate) {
        gate_pass(step->gate);
    }
    if (step->value) {
        lanepool_run_set_result(run, step->value);
    }
    if (step->journal) {
        atomic_fetch_sub(&step->journal->running, 1);
    }
    return step->code;
}

void step_cancelled(void *context, lanepool_status why)
{
    struct step *step = context;

    step->why = why;
    atomic_fetch_add(&step->cancels, 1);
}

void step_release(void *context)
{
    struct step *step = context;

    atomic_fetch_add(&step->releases, 1);
}

lanepool_task step_task(struct step *step, const lanepool_claim *claims, size_t claim_count)
{
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = step_body;
    task.context = step;
    task.cancelled = step_cancelled;
    task.claims = claims;
    task.claim_count = claim_count;
    return task;
}

lanepool_task member_task(lanepool_group *group, struct step *step, const lanepool_claim *claim)
{
    lanepool_task task = step_task(step, claim, claim ? 1 : 0);

    task.group = group;
    return task;
}

lanepool_status step_submit(lanepool_pool *pool, struct step *step)
{
    lanepool_task task = step_task(step, NULL, 0);

    return lanepool_pool_submit(pool, &task);
}

lanepool_status step_submit_on(lanepool_pool *pool, struct step *step, uint64_t key)
{
    lanepool_claim claim = lanepool_exclusive(key);
    lanepool_task task = step_task(step, &claim, 1);

    return lanepool_pool_submit(pool, &task);
}

lanepool_status step_submit_rollup(lanepool_pool *pool, struct step *step, uint64_t a, uint64_t b)
{
    lanepool_claim claims[2] = { lanepool_exclusive(a), lanepool_exclusive(b) };
    lanepool_task task = step_task(step, claims, 2);

    return lanepool_pool_submit(pool, &task);
}

bool step_was_called(struct step *step)
{
    return atomic_load(&step->runs) + atomic_load(&step->cancels) > 0;
}

uint32_t journal_place(struct journal *journal, uint32_t id)
{
    uint32_t count = atomic_load(&journal->count);

    for (uint32_t place = 0; place < count && place < JOURNAL_MAX; place++) {
        if (atomic_load(&journal->ids[place]) == id) {
            return place;
        }
    }
    return JOURNAL_MAX;
}

lanepool_pool *pool_make_with(const lanepool_options *options)
{
    lanepool_pool *pool = NULL;

    expect_ok(lanepool_pool_create(options, &pool));
    expect(pool != NULL);
    return pool;
}

lanepool_pool *pool_make(unsigned workers, lanepool_layout layout)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = workers;
    options.layout = layout;
    return pool_make_with(&options);
}

void pool_end(lanepool_pool *pool)
{
    expect_ok(lanepool_pool_destroy(pool));
}

lanepool_group *group_make(bool keeps)
{
    lanepool_group *group;
    lanepool_group_options options = LANEPOOL_GROUP_OPTIONS_INIT;

    options.keeps_completions = keeps;
    expect_ok(lanepool_group_create(&options, &group));
    return group;
}

void pool_settle(lanepool_pool *pool)
{
    expect_ok(lanepool_pool_quiesce(pool, LANEPOOL_FOREVER));
}

void pool_settle_parked(lanepool_pool *pool)
{
    expect_status(lanepool_pool_quiesce(pool, LANEPOOL_FOREVER), LANEPOOL_PARKED);
}

size_t pool_parked_count(lanepool_pool *pool)
{
    lanepool_parked_tasks *parked;

    expect_ok(lanepool_pool_parked(pool, &parked));
    size_t count = parked->count;
    lanepool_parked_tasks_release(parked);
    return count;
}

void future_finish(lanepool_future *future)
{
    expect_ok(lanepool_future_wait(future, LANEPOOL_FOREVER, NULL));
    lanepool_future_release(future);
}

void text_append(void *context, const char *text, size_t size)
{
    strncat(context, text, size);
}
