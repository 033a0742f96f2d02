/* Owns held lanes, failures and the list of what waits; see quarantine.h. */
#include "quarantine.h"

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
    if (!known || strcmp(known->reason, failure.reason) != 0) {
        add_failure(quarantine, failure);
    }
}

static void add_task(struct quarantine *quarantine, struct held_task held)
{
    pthread_mutex_lock(&quarantine->mutex);
    quarantine->tasks = memory_grow(quarantine->tasks, &quarantine->task_capacity,
                                    quarantine->task_count + 1, sizeof held);
    quarantine->tasks[quarantine->task_count++] = held;
    pthread_mutex_unlock(&quarantine->mutex);
}

/*
 * Holds lanes of a task from it on. They are the task's own at this moment; a
 * statement, which claims them SHARED, has its group to itself.
 */
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

void quarantine_fail(struct quarantine *quarantine, const struct task *task)
{
    struct lane_list lanes = { 0 };
    plan_lanes(quarantine->plan, task, &lanes);
    hold_lanes(quarantine, &lanes, task->seq, task->seq);
    free(lanes.items);
    add_task(quarantine, (struct held_task){ .task = task });
}

/* Those of a task's lanes that are held; the earliest failure that is to blame, or 0. */
static uint32_t find_held(const struct quarantine *quarantine, const struct lane_list *lanes,
                          struct lane_list *held_lanes)
{
    uint32_t root_seq = 0;
    for (size_t i = 0; i < lanes->count; i++) {
        uint32_t blamed = quarantine->lanes[lanes->items[i]].root_seq;
        if (blamed != 0) {
            lane_list_add(held_lanes, lanes->items[i]);
            root_seq = root_seq == 0 || blamed < root_seq ? blamed : root_seq;
        }
    }
    return root_seq;
}

/* A rollup in its place, not what is made up of it. */
static bool is_regular(const struct quarantine *quarantine, const struct task *task)
{
    return task->member == NO_INDEX && !plan_is_late(quarantine->plan, task);
}

static enum verdict find_verdict(const struct quarantine *quarantine, const struct task *task,
                                 const struct lane_list *lanes, const struct lane_list *held_lanes)
{
    if (held_lanes->count == 0) {
        return VERDICT_RUN;
    }
    if (task->kind == TASK_POST || held_lanes->count == lanes->count ||
        !is_regular(quarantine, task)) {
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

/* Lists a task as held. A lane that it failed for itself, in an earlier run, is no holder. */
static void list_held(struct quarantine *quarantine, const struct task *task,
                      const struct lane_list *held_lanes)
{
    struct held_task held = { .task = task };
    for (size_t i = 0; i < held_lanes->count; i++) {
        if (quarantine->lanes[held_lanes->items[i]].root_seq != task->seq) {
            lane_list_add(&held.holders, held_lanes->items[i]);
        }
    }
    add_task(quarantine, held);
}

enum verdict quarantine_judge(struct quarantine *quarantine, const struct task *task,
                              struct lane_list *missing)
{
    struct lane_list lanes = { 0 };
    struct lane_list held_lanes = { 0 };
    plan_lanes(quarantine->plan, task, &lanes);
    uint32_t root_seq = find_held(quarantine, &lanes, &held_lanes);
    enum verdict verdict = find_verdict(quarantine, task, &lanes, &held_lanes);
    /* What is made up is listed elsewhere; behind a late rollup there are only others like it. */
    bool is_listed = verdict == VERDICT_HOLD && is_regular(quarantine, task);
    hold_lanes(quarantine, is_listed ? &lanes : &held_lanes, task->seq, root_seq);
    if (is_listed) {
        list_held(quarantine, task, &held_lanes);
    }
    if (verdict == VERDICT_HOLD) {
        free(held_lanes.items);
    } else {
        *missing = held_lanes;
    }
    free(lanes.items);
    return verdict;
}

const char *quarantine_reason(const struct quarantine *quarantine, uint32_t lane)
{
    const struct failure *failure =
        find_failure(quarantine, quarantine->lanes[lane].root_seq, lane);
    return failure ? failure->reason : "for an unknown reason";
}

static int compare_held(const void *left, const void *right)
{
    uint32_t a = ((const struct held_task *)left)->task->seq;
    uint32_t b = ((const struct held_task *)right)->task->seq;
    return (a > b) - (a < b);
}

/* Of a rollup, several parts can have failed. */
void quarantine_sort(struct quarantine *quarantine)
{
    size_t kept = 0;
    if (quarantine->task_count > 0) {
        qsort(quarantine->tasks, quarantine->task_count, sizeof *quarantine->tasks, compare_held);
    }
    for (size_t i = 0; i < quarantine->task_count; i++) {
        if (kept == 0 || compare_held(&quarantine->tasks[kept - 1], &quarantine->tasks[i]) != 0) {
            quarantine->tasks[kept++] = quarantine->tasks[i];
        } else {
            free(quarantine->tasks[i].holders.items);
        }
    }
    quarantine->task_count = kept;
}
