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

void quarantine_explain(struct quarantine *quarantine, uint32_t seq, const char *format,
                        va_list arguments)
{
    struct failure failure = { .seq = seq };
    vsnprintf(failure.reason, sizeof failure.reason, format, arguments);
    add_failure(quarantine, failure);
}

static const struct failure *find_failure(const struct quarantine *quarantine, uint32_t seq)
{
    for (size_t i = 0; i < quarantine->failure_count; i++) {
        if (quarantine->failures[i].seq == seq) {
            return &quarantine->failures[i];
        }
    }
    return NULL;
}

void quarantine_hold(struct quarantine *quarantine, uint32_t lane, uint32_t failed_seq,
                     struct slice reason)
{
    quarantine->lanes[lane].root_seq = failed_seq;
    if (!find_failure(quarantine, failed_seq)) {
        struct failure failure = { .seq = failed_seq };
        snprintf(failure.reason, sizeof failure.reason, "%.*s", SLICE_ARGUMENTS(reason));
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

/*
 * The earliest failure that one of the lanes is held for, or 0. The holders are those of the lanes
 * that are held, but for what the task itself is to blame for: it has failed in an earlier run.
 */
static uint32_t find_root(const struct quarantine *quarantine, const struct task *task,
                          const struct lane_list *lanes, struct lane_list *holders)
{
    uint32_t root_seq = 0;
    for (size_t i = 0; i < lanes->count; i++) {
        uint32_t blamed = quarantine->lanes[lanes->items[i]].root_seq;
        if (blamed != 0 && blamed != task->seq) {
            lane_list_add(holders, lanes->items[i]);
        }
        if (blamed != 0 && (root_seq == 0 || blamed < root_seq)) {
            root_seq = blamed;
        }
    }
    return root_seq;
}

bool quarantine_holds(struct quarantine *quarantine, const struct task *task)
{
    struct lane_list lanes = { 0 };
    struct held_task held = { .task = task };
    plan_lanes(quarantine->plan, task, &lanes);
    uint32_t root_seq = find_root(quarantine, task, &lanes, &held.holders);
    if (root_seq != 0) {
        hold_lanes(quarantine, &lanes, task->seq, root_seq);
        add_task(quarantine, held);
    }
    free(lanes.items);
    return root_seq != 0;
}

const char *quarantine_reason(const struct quarantine *quarantine, uint32_t seq)
{
    const struct failure *failure = find_failure(quarantine, seq);
    return failure ? failure->reason : "for an unknown reason";
}

static int compare_held(const void *left, const void *right)
{
    uint32_t a = ((const struct held_task *)left)->task->seq;
    uint32_t b = ((const struct held_task *)right)->task->seq;
    return (a > b) - (a < b);
}

void quarantine_sort(struct quarantine *quarantine)
{
    if (quarantine->task_count > 0) {
        qsort(quarantine->tasks, quarantine->task_count, sizeof *quarantine->tasks, compare_held);
    }
}
