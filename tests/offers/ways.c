/* The ways to submit, and the fields of a description that some of them refuse. */
#include <stddef.h>

#include "features.h"

enum { MILLISECOND = 1000000 };
#define HOUR_NS UINT64_C(3600000000000)

/* --- fields --- */

static lanepool_claim claim;
static lanepool_future *future;
static lanepool_group *group;
static lanepool_pump *pump;
static lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;

static void set_claims(lanepool_task *task, lanepool_pool *pool)
{
    (void)pool;
    claim = lanepool_exclusive(1);
    task->claims = &claim;
    task->claim_count = 1;
}

static void set_future(lanepool_task *task, lanepool_pool *pool)
{
    (void)pool;
    task->future = &future;
}

static void unset_future(void)
{
    lanepool_future_release(future);
    future = NULL;
}

static void set_group(lanepool_task *task, lanepool_pool *pool)
{
    (void)pool;
    if (lanepool_group_create(NULL, &group) == LANEPOOL_OK) {
        task->group = group;
    }
}

static void unset_group(void)
{
    lanepool_group_destroy(group);
}

static void set_pump(lanepool_task *task, lanepool_pool *pool)
{
    if (lanepool_pump_create(pool, &pump) == LANEPOOL_OK) {
        task->pump = pump;
    }
}

static void unset_pump(void)
{
    lanepool_status status = LANEPOOL_OK;

    while (status == LANEPOOL_OK && lanepool_pump_destroy(pump) == LANEPOOL_BUSY) {
        status = lanepool_pump_run(pump, 1, LANEPOOL_FOREVER, NULL);
    }
}

static void set_priority(lanepool_task *task, lanepool_pool *pool)
{
    (void)pool;
    task->priority = LANEPOOL_PRIORITY_MAX;
}

static void set_tag(lanepool_task *task, lanepool_pool *pool)
{
    (void)pool;
    task->tag = 1;
}

static void set_policy(lanepool_task *task, lanepool_pool *pool)
{
    (void)pool;
    policy.retries = 1;
    task->on_failure = &policy;
}

static void set_deadlines(lanepool_task *task, lanepool_pool *pool)
{
    (void)pool;
    task->start_within_ns = HOUR_NS;
    task->run_within_ns = HOUR_NS;
}

static void unset_nothing(void)
{
}

const struct field fields[] = {
    [FIELD_CLAIMS] = { "claims", set_claims, unset_nothing },
    [FIELD_FUTURE] = { "future", set_future, unset_future },
    [FIELD_GROUP] = { "group", set_group, unset_group },
    [FIELD_PUMP] = { "pump", set_pump, unset_pump },
    [FIELD_PRIORITY] = { "priority", set_priority, unset_nothing },
    [FIELD_TAG] = { "tag", set_tag, unset_nothing },
    [FIELD_POLICY] = { "on_failure", set_policy, unset_nothing },
    [FIELD_DEADLINES] = { "deadlines", set_deadlines, unset_nothing },
};
const size_t field_count = sizeof fields / sizeof *fields;

/* --- ways --- */

static lanepool_status submit_now(lanepool_pool *pool, lanepool_task *task)
{
    return lanepool_pool_submit(pool, task);
}

static lanepool_status submit_within(lanepool_pool *pool, lanepool_task *task)
{
    return lanepool_pool_submit_within(pool, task, LANEPOOL_FOREVER);
}

static lanepool_status submit_batch(lanepool_pool *pool, lanepool_task *task)
{
    return lanepool_pool_submit_batch(pool, task, 1, LANEPOOL_FOREVER, NULL);
}

static lanepool_status submit_or_run(lanepool_pool *pool, lanepool_task *task)
{
    return lanepool_pool_submit_or_run(pool, task);
}

static lanepool_status submit_after(lanepool_pool *pool, lanepool_task *task)
{
    return lanepool_pool_submit_after(pool, task, MILLISECOND);
}

static lanepool_status submit_every(lanepool_pool *pool, lanepool_task *task)
{
    lanepool_timer *timer;
    lanepool_status status = lanepool_pool_submit_every(pool, task, MILLISECOND, MILLISECOND,
                                                        LANEPOOL_FIXED_RATE, &timer);

    if (status == LANEPOOL_OK) {
        (void)lanepool_timer_cancel(timer);
        lanepool_timer_release(timer);
    }
    return status;
}

struct handing {
    lanepool_task *receiver;
    lanepool_status status;
};

static int hand_over(lanepool_run *run, void *context)
{
    struct handing *handing = context;

    handing->status = lanepool_run_hand_over(run, handing->receiver);
    return 0;
}

static lanepool_status submit_by_hand_over(lanepool_pool *pool, lanepool_task *task)
{
    struct handing handing = { task, LANEPOOL_INVALID };
    lanepool_task giver = nothing();
    lanepool_future *given;
    lanepool_status status;

    giver.function = hand_over;
    giver.context = &handing;
    giver.future = &given;
    status = lanepool_pool_submit(pool, &giver);
    if (status != LANEPOOL_OK) {
        return status;
    }
    status = lanepool_future_wait(given, LANEPOOL_FOREVER, NULL);
    lanepool_future_release(given);
    return first_of(status, handing.status);
}

/* Submits to a sequence over the pool, and ends the sequence. */
static lanepool_status submit_to_sequence(lanepool_pool *pool, lanepool_task *task,
                                          int64_t delay_ns)
{
    lanepool_executor *executor;
    lanepool_sequence *sequence;
    lanepool_status status = lanepool_pool_executor(pool, &executor);

    if (status != LANEPOOL_OK) {
        return status;
    }
    status = lanepool_sequence_create(executor, &sequence);
    if (status == LANEPOOL_OK) {
        status = lanepool_sequence_submit_after(sequence, task, delay_ns);
        status = first_of(status, lanepool_sequence_wait(sequence, LANEPOOL_FOREVER));
        status = first_of(status, lanepool_sequence_destroy(sequence));
    }
    status = first_of(status, lanepool_pool_quiesce(pool, LANEPOOL_FOREVER));
    return first_of(status, lanepool_executor_destroy(executor));
}

static lanepool_status submit_in_sequence(lanepool_pool *pool, lanepool_task *task)
{
    return submit_to_sequence(pool, task, 0);
}

static lanepool_status submit_in_sequence_after(lanepool_pool *pool, lanepool_task *task)
{
    return submit_to_sequence(pool, task, MILLISECOND);
}

const struct way ways[] = {
    [WAY_NOW] = { "`lanepool_pool_submit`", submit_now },
    [WAY_WITHIN] = { "`lanepool_pool_submit_within`", submit_within },
    [WAY_BATCH] = { "`lanepool_pool_submit_batch`", submit_batch },
    [WAY_OR_RUN] = { "`lanepool_pool_submit_or_run`", submit_or_run },
    [WAY_AFTER] = { "`lanepool_pool_submit_after`", submit_after },
    [WAY_EVERY] = { "`lanepool_pool_submit_every`", submit_every },
    { "`lanepool_run_hand_over`", submit_by_hand_over },
    { "`lanepool_sequence_submit`", submit_in_sequence },
    { "`lanepool_sequence_submit_after`", submit_in_sequence_after },
};
const size_t way_count = sizeof ways / sizeof *ways;

lanepool_status try_way(const lanepool_options *options, const struct way *way,
                        const struct field *field)
{
    lanepool_task task = nothing();
    lanepool_pool *pool;
    lanepool_status status = lanepool_pool_create(options, &pool);

    if (status != LANEPOOL_OK) {
        return status;
    }
    if (field) {
        field->set(&task, pool);
    }
    status = way->submit(pool, &task);
    if (field) {
        field->unset();
    }
    return first_of(status, lanepool_pool_destroy(pool));
}
