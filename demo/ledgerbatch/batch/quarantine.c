/* Owns verdicts, failures and the list of held tasks; see batch/quarantine.h. */
#include "batch/quarantine.h"

#include <stdio.h>
#include <stdlib.h>

#include "memory.h"

bool quarantine_init(struct quarantine *quarantine, const struct plan *plan,
                     struct problem *problem)
{
    *quarantine = (struct quarantine){ .plan = plan };
    if (pthread_mutex_init(&quarantine->mutex, NULL) != 0) {
        return problem_set(problem, EXIT_CODE_IO, "a mutex cannot be created");
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

void quarantine_explain(struct quarantine *quarantine, const struct task *task, uint32_t client,
                        const char *format, va_list arguments)
{
    struct failure failure = { .seq = task->seq, .member = client };
    vsnprintf(failure.reason, sizeof failure.reason, format, arguments);
    add_failure(quarantine, failure);
}

/*
 * Returns the failure of a task that a lane is held for. If parts of a rollup failed, this is the
 * lane's own failure.
 */
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

/* Returns the last failure of a task. Searches from the end: it is about a recent task. */
static const struct failure *find_last_failure(const struct quarantine *quarantine, uint32_t seq)
{
    for (size_t i = quarantine->failure_count; i-- > 0;) {
        if (quarantine->failures[i].seq == seq) {
            return &quarantine->failures[i];
        }
    }
    return NULL;
}

uint32_t quarantine_failed_client(struct quarantine *quarantine, const struct task *task)
{
    pthread_mutex_lock(&quarantine->mutex);
    const struct failure *failure = find_last_failure(quarantine, task->seq);
    uint32_t client = failure ? failure->member : NO_INDEX;
    pthread_mutex_unlock(&quarantine->mutex);
    return client;
}

void quarantine_copy_reason(struct quarantine *quarantine, uint32_t seq, char *reason, size_t size)
{
    pthread_mutex_lock(&quarantine->mutex);
    const struct failure *failure = find_last_failure(quarantine, seq);
    snprintf(reason, size, "%s", failure ? failure->reason : "for an unknown reason");
    pthread_mutex_unlock(&quarantine->mutex);
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

/*
 * Records a task. The relaxed store is enough: a later task that runs without a lane of this one is
 * called after this one has returned, and the pool orders the two calls.
 */
static void add_held_task(struct quarantine *quarantine, struct held_task held)
{
    atomic_store_explicit(&quarantine->is_used, true, memory_order_relaxed);
    pthread_mutex_lock(&quarantine->mutex);
    quarantine->tasks = memory_grow(quarantine->tasks, &quarantine->task_capacity,
                                    quarantine->task_count + 1, sizeof held);
    quarantine->tasks[quarantine->task_count++] = held;
    quarantine->failed_so_far += held.is_listed && held.holders.count == 0;
    quarantine->held_so_far += held.is_listed && held.holders.count > 0;
    pthread_mutex_unlock(&quarantine->mutex);
}

void quarantine_count(struct quarantine *quarantine, size_t *failed, size_t *held)
{
    pthread_mutex_lock(&quarantine->mutex);
    *failed = quarantine->failed_so_far;
    *held = quarantine->held_so_far;
    pthread_mutex_unlock(&quarantine->mutex);
}

void quarantine_fail(struct quarantine *quarantine, const struct task *task)
{
    add_held_task(quarantine, (struct held_task){ .task = *task, .is_listed = true });
}

static size_t count_lanes(const struct plan *plan, const struct task *task)
{
    struct lane_list lanes = { 0 };
    plan_lanes(plan, task, &lanes);
    free(lanes.items);
    return lanes.count;
}

/*
 * Returns true if a task is neither a part of a rollup nor a late rollup. A held part is listed
 * as missing from its rollup. A late rollup runs when no client of it is held any more. A late
 * transaction is like any other: it must not be overtaken.
 */
static bool is_regular(const struct quarantine *quarantine, const struct task *task)
{
    return task->member == NO_INDEX &&
           (task->kind == TASK_POST || !plan_is_late(quarantine->plan, task));
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
    /* A blocking step has its clients at the same time, as a transaction has. */
    const struct user_step *user = plan_user_step(quarantine->plan, task);
    bool is_blocking = user && user_step_is_blocking(user);
    if (task->kind == TASK_POST ||
        (is_blocking && quarantine->on_quarantine == ON_QUARANTINE_EXCLUDE)) {
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
        bool is_held = verdict == VERDICT_HOLD || verdict == VERDICT_PASS;
        struct held_task held = { .task = *task,
                                  .is_listed = is_held && is_regular(quarantine, task) };
        for (size_t i = 0; i < holders->count; i++) {
            lane_list_add(&held.holders, holders->items[i]);
        }
        add_held_task(quarantine, held);
    }
    return verdict;
}

/* --- when no task runs any more --- */

static int compare_held(const void *left, const void *right)
{
    uint32_t a = ((const struct held_task *)left)->task.seq;
    uint32_t b = ((const struct held_task *)right)->task.seq;
    return (a > b) - (a < b);
}

/* Returns the earliest failed task that a holder is held for; the task itself if there is none. */
static uint32_t find_root(const struct quarantine *quarantine, const struct held_task *held)
{
    uint32_t root_seq = held->task.seq;
    for (size_t i = 0; i < held->holders.count; i++) {
        uint32_t lane_root = quarantine->lanes[held->holders.items[i]].root_seq;
        root_seq = lane_root < root_seq ? lane_root : root_seq;
    }
    return root_seq;
}

static void mark_lanes_held(struct quarantine *quarantine, const struct lane_list *lanes,
                            uint32_t seq, uint32_t root_seq)
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
 * Finds all lanes that were held before a task. The pool does not report all of them: statements
 * have SHARED claims, so a statement is called with the lanes of another one that is held. A lane
 * that the task itself failed for in an earlier run is no holder.
 */
static void find_holders(const struct quarantine *quarantine, const struct lane_list *lanes,
                         struct held_task *held)
{
    held->holders.count = 0;
    for (size_t i = 0; i < lanes->count; i++) {
        uint32_t lane_root = quarantine->lanes[lanes->items[i]].root_seq;
        if (lane_root != 0 && lane_root != held->task.seq) {
            lane_list_add(&held->holders, lanes->items[i]);
        }
    }
}

static void settle_task(struct quarantine *quarantine, struct held_task *held)
{
    struct lane_list lanes = { 0 };
    plan_lanes(quarantine->plan, &held->task, &lanes);
    if (held->is_listed && held->holders.count > 0) {
        find_holders(quarantine, &lanes, held);
    }
    uint32_t root_seq = find_root(quarantine, held);
    mark_lanes_held(quarantine, held->is_listed ? &lanes : &held->holders, held->task.seq,
                    root_seq);
    free(lanes.items);
}

/*
 * Settles the tasks in the planned order, which is the order of each lane. Several parts of one
 * rollup can have failed; the list then has it once.
 */
void quarantine_settle(struct quarantine *quarantine)
{
    size_t listed = 0;
    if (quarantine->task_count > 0) {
        qsort(quarantine->tasks, quarantine->task_count, sizeof *quarantine->tasks, compare_held);
    }
    for (size_t i = 0; i < quarantine->task_count; i++) {
        struct held_task *held = &quarantine->tasks[i];
        settle_task(quarantine, held);
        bool is_new = listed == 0 || compare_held(&quarantine->tasks[listed - 1], held) != 0;
        if (held->is_listed && is_new) {
            quarantine->tasks[listed++] = *held;
        } else {
            free(held->holders.items);
        }
    }
    quarantine->task_count = listed;
}

const char *quarantine_reason(const struct quarantine *quarantine, uint32_t lane)
{
    const struct failure *failure =
        find_failure(quarantine, quarantine->lanes[lane].root_seq, lane);
    return failure ? failure->reason : "for an unknown reason";
}
