/* Owns verdicts, failures and the list of what waits; see batch/quarantine.h. */
#include "batch/quarantine.h"

#include <stdio.h>
#include <stdlib.h>

#include "memory.h"

bool quarantine_init(struct quarantine *quarantine, const struct plan *plan,
                     struct problem *problem)
{
    *quarantine = (struct quarantine){ .plan = plan };
    if (pthread_mutex_init(&quarantine->mutex, NULL) != 0) {
        return problem_set(problem, EXIT_CODE_IO, "no mutex can be had");
    }
    atomic_init(&quarantine->is_used, false);
    quarantine->lanes = memory_zeroed(plan->clients.count + 1, sizeof *quarantine->lanes);
    return true;
}

void quarantine_fini(struct quarantine *quarantine)
{
    for (size_t i = 0; i < quarantine->task_count; i++) {
        free(quarantine->tasks[i].holders.items);
    }
    free(quarantine->tasks);
    free(quarantine->failures);
    free(quarantine->lanes);
    pthread_mutex_destroy(&quarantine->mutex);
}

static void add_failure(struct quarantine *quarantine, struct failure failure)
{
    pthread_mutex_lock(&quarantine->mutex);
    quarantine->failures = memory_grow(quarantine->failures, &quarantine->failure_capacity,
                                       quarantine->failure_count + 1, sizeof failure);
    quarantine->failures[quarantine->failure_count++] = failure;
    pthread_mutex_unlock(&quarantine->mutex);
}

void quarantine_explain(struct quarantine *quarantine, const struct task *task, const char *format,
                        va_list arguments)
{
    struct failure failure = { .seq = task->seq, .member = task->member };
    vsnprintf(failure.reason, sizeof failure.reason, format, arguments);
    add_failure(quarantine, failure);
}

/* The failure that a lane is held for: its own, if a rollup has failed in parts. */
static const struct failure *find_failure(const struct quarantine *quarantine, uint32_t seq,
                                          uint32_t lane)
{
    const struct failure *found = NULL;
    for (size_t i = 0; i < quarantine->failure_count; i++) {
        const struct failure *failure = &quarantine->failures[i];
        if (failure->seq == seq && (!found || failure->member == lane)) {
            found = failure;
        }
    }
    return found;
}

void quarantine_hold(struct quarantine *quarantine, uint32_t lane, uint32_t failed_seq,
                     struct slice reason)
{
    struct failure failure = { .seq = failed_seq, .member = lane };
    const struct failure *known = find_failure(quarantine, failed_seq, lane);
    snprintf(failure.reason, sizeof failure.reason, "%.*s", SLICE_ARGUMENTS(reason));
    quarantine->lanes[lane].root_seq = failed_seq;
    atomic_store_explicit(&quarantine->is_used, true, memory_order_relaxed);
    if (!known || strcmp(known->reason, failure.reason) != 0) {
        add_failure(quarantine, failure);
    }
}

/* Relaxed: who must look is called after the pool has let it go without a lane of this task's. */
static void add_task(struct quarantine *quarantine, struct held_task held)
{
    atomic_store_explicit(&quarantine->is_used, true, memory_order_relaxed);
    pthread_mutex_lock(&quarantine->mutex);
    quarantine->tasks = memory_grow(quarantine->tasks, &quarantine->task_capacity,
                                    quarantine->task_count + 1, sizeof held);
    quarantine->tasks[quarantine->task_count++] = held;
    pthread_mutex_unlock(&quarantine->mutex);
}

void quarantine_fail(struct quarantine *quarantine, const struct task *task)
{
    add_task(quarantine, (struct held_task){ .task = task, .is_listed = true });
}

static size_t count_lanes(const struct plan *plan, const struct task *task)
{
    struct lane_list lanes = { 0 };
    plan_lanes(plan, task, &lanes);
    free(lanes.items);
    return lanes.count;
}

/* In its place in the plan. What is made up for one client is listed elsewhere; behind a late
 * rollup there are only others like it, over the same clients. */
static bool is_regular(const struct quarantine *quarantine, const struct task *task)
{
    return task->member == NO_INDEX && !plan_is_late(quarantine->plan, task);
}

static enum verdict find_verdict(const struct quarantine *quarantine, const struct task *task,
                                 size_t holder_count)
{
    if (holder_count == 0) {
        return VERDICT_RUN;
    }
    if (!is_regular(quarantine, task) || holder_count == count_lanes(quarantine->plan, task)) {
        return VERDICT_PASS;
    }
    if (task->kind == TASK_POST) {
        return VERDICT_HOLD;
    }
    switch (quarantine->on_quarantine) {
    case ON_QUARANTINE_HOLD:
        return VERDICT_HOLD;
    case ON_QUARANTINE_EXCLUDE:
        return VERDICT_RUN;
    case ON_QUARANTINE_FAIL:
        return VERDICT_FAIL;
    }
    return VERDICT_HOLD;
}

enum verdict quarantine_judge(struct quarantine *quarantine, const struct task *task,
                              const struct lane_list *holders)
{
    enum verdict verdict = find_verdict(quarantine, task, holders->count);
    if (holders->count > 0) {
        bool waits = verdict == VERDICT_HOLD || verdict == VERDICT_PASS;
        struct held_task held = { .task = task,
                                  .is_listed = waits && is_regular(quarantine, task) };
        for (size_t i = 0; i < holders->count; i++) {
            lane_list_add(&held.holders, holders->items[i]);
        }
        add_task(quarantine, held);
    }
    return verdict;
}

/* --- when no task runs any more --- */

static int compare_held(const void *left, const void *right)
{
    uint32_t a = ((const struct held_task *)left)->task->seq;
    uint32_t b = ((const struct held_task *)right)->task->seq;
    return (a > b) - (a < b);
}

/* The earliest failure that one of the holders is held for; the task's own if there is none. */
static uint32_t find_root(const struct quarantine *quarantine, const struct held_task *held)
{
    uint32_t root_seq = held->task->seq;
    for (size_t i = 0; i < held->holders.count; i++) {
        uint32_t blamed = quarantine->lanes[held->holders.items[i]].root_seq;
        root_seq = blamed < root_seq ? blamed : root_seq;
    }
    return root_seq;
}

static void hold_lanes(struct quarantine *quarantine, const struct lane_list *lanes, uint32_t seq,
                       uint32_t root_seq)
{
    for (size_t i = 0; i < lanes->count; i++) {
        struct lane_state *lane = &quarantine->lanes[lanes->items[i]];
        if (lane->root_seq == 0) {
            lane->root_seq = root_seq;
        }
        if (lane->held_seq == 0) {
            lane->held_seq = seq;
        }
    }
}

/*
 * All lanes that were held before a task: of those that a held statement has, which only reads,
 * another statement was not told. A lane that the task has failed for itself, in an earlier run,
 * does not hold it.
 */
static void find_holders(const struct quarantine *quarantine, const struct lane_list *lanes,
                         struct held_task *held)
{
    held->holders.count = 0;
    for (size_t i = 0; i < lanes->count; i++) {
        uint32_t blamed = quarantine->lanes[lanes->items[i]].root_seq;
        if (blamed != 0 && blamed != held->task->seq) {
            lane_list_add(&held->holders, lanes->items[i]);
        }
    }
}

static void settle_task(struct quarantine *quarantine, struct held_task *held)
{
    struct lane_list lanes = { 0 };
    plan_lanes(quarantine->plan, held->task, &lanes);
    if (held->is_listed && held->holders.count > 0) {
        find_holders(quarantine, &lanes, held);
    }
    uint32_t root_seq = find_root(quarantine, held);
    hold_lanes(quarantine, held->is_listed ? &lanes : &held->holders, held->task->seq, root_seq);
    free(lanes.items);
}

/* In the planned order, which is that of each lane. Of a rollup, several parts can have failed. */
void quarantine_settle(struct quarantine *quarantine)
{
    size_t kept = 0;
    if (quarantine->task_count > 0) {
        qsort(quarantine->tasks, quarantine->task_count, sizeof *quarantine->tasks, compare_held);
    }
    for (size_t i = 0; i < quarantine->task_count; i++) {
        struct held_task *held = &quarantine->tasks[i];
        settle_task(quarantine, held);
        bool is_new = kept == 0 || compare_held(&quarantine->tasks[kept - 1], held) != 0;
        if (held->is_listed && is_new) {
            quarantine->tasks[kept++] = *held;
        } else {
            free(held->holders.items);
        }
    }
    quarantine->task_count = kept;
}

const char *quarantine_reason(const struct quarantine *quarantine, uint32_t lane)
{
    const struct failure *failure =
        find_failure(quarantine, quarantine->lanes[lane].root_seq, lane);
    return failure ? failure->reason : "for an unknown reason";
}
