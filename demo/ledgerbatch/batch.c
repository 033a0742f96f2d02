/* Owns a running batch: the dispatch of tasks, quarantine and held lanes. */
#include "batch.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "memory.h"

bool batch_init(struct batch *batch, struct plan *plan, size_t commit_size, struct problem *problem)
{
    *batch = (struct batch){ .plan = plan };
    atomic_init(&batch->held_count, 0);
    atomic_init(&batch->done_count, 0);
    if (pthread_mutex_init(&batch->failures_mutex, NULL) != 0) {
        return problem_set(problem, EXIT_CODE_IO, "no mutex can be had");
    }
    if (!commit_queue_init(&batch->queue, commit_size)) {
        pthread_mutex_destroy(&batch->failures_mutex);
        return problem_set(problem, EXIT_CODE_IO, "no mutex can be had");
    }
    batch->balances = memory_zeroed(plan->clients.cell_count, sizeof *batch->balances);
    batch->before = memory_zeroed(plan->clients.cell_count, sizeof *batch->before);
    batch->after = memory_zeroed(plan->book.posting_count, sizeof *batch->after);
    batch->lanes = memory_zeroed(plan->clients.count + 1, sizeof *batch->lanes);
    for (size_t i = 0; i < plan->task_count; i++) {
        plan->tasks[i].batch = batch;
    }
    return true;
}

void batch_fini(struct batch *batch)
{
    free(batch->balances);
    free(batch->before);
    free(batch->after);
    free(batch->lanes);
    free(batch->failures);
    commit_queue_fini(&batch->queue);
    pthread_mutex_destroy(&batch->failures_mutex);
}

void batch_fail(struct batch *batch, const struct task *task, const char *format, ...)
{
    struct failure failure = { .seq = plan_seq(batch->plan, task) };
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(failure.reason, sizeof failure.reason, format, arguments);
    va_end(arguments);
    pthread_mutex_lock(&batch->failures_mutex);
    batch->failures = memory_grow(batch->failures, &batch->failure_capacity,
                                  batch->failure_count + 1, sizeof *batch->failures);
    batch->failures[batch->failure_count++] = failure;
    pthread_mutex_unlock(&batch->failures_mutex);
}

const struct failure *batch_failure(const struct batch *batch, uint32_t seq)
{
    for (size_t i = 0; i < batch->failure_count; i++) {
        if (batch->failures[i].seq == seq) {
            return &batch->failures[i];
        }
    }
    return NULL;
}

/*
 * Holds all lanes of a task from it on. The lanes are the task's own at this
 * moment; a statement, which claims them SHARED, has its group to itself.
 */
static void hold_lanes(struct batch *batch, const struct lane_list *lanes, uint32_t seq,
                       uint32_t root_seq)
{
    for (size_t i = 0; i < lanes->count; i++) {
        struct lane_state *lane = &batch->lanes[lanes->items[i]];
        if (lane->held_seq == 0) {
            lane->held_seq = seq;
            lane->root_seq = root_seq;
        }
    }
    atomic_fetch_add_explicit(&batch->held_count, 1, memory_order_relaxed);
}

void batch_on_error(void *user, const lanepool_error *error)
{
    struct batch *batch = user;
    const struct task *task = error->context;
    struct lane_list lanes = { 0 };
    uint32_t seq = plan_seq(batch->plan, task);
    plan_lanes(batch->plan, task, &lanes);
    hold_lanes(batch, &lanes, seq, seq);
    free(lanes.items);
}

/* The earliest failure that one of the task's lanes is held for; 0 if none is held. */
static uint32_t find_root(const struct batch *batch, const struct lane_list *lanes)
{
    uint32_t root = 0;
    for (size_t i = 0; i < lanes->count; i++) {
        uint32_t blamed = batch->lanes[lanes->items[i]].root_seq;
        if (blamed != 0 && (root == 0 || blamed < root)) {
            root = blamed;
        }
    }
    return root;
}

/* A task that meets a held lane is held too, and with it all its other lanes. */
static bool is_held(struct batch *batch, const struct task *task)
{
    struct lane_list lanes = { 0 };
    plan_lanes(batch->plan, task, &lanes);
    uint32_t root = find_root(batch, &lanes);
    if (root != 0) {
        hold_lanes(batch, &lanes, plan_seq(batch->plan, task), root);
    }
    free(lanes.items);
    return root != 0;
}

static int run_body(struct batch *batch, const struct task *task)
{
    switch ((enum task_kind)task->kind) {
    case TASK_POST:
        return post_transaction(batch, task);
    case TASK_STATEMENT:
        return month_end_statement(batch, task);
    case TASK_ACCRUAL:
        return month_end_accrual(batch, task);
    case TASK_CLOSE:
        return month_end_close(batch, task);
    }
    return BATCH_FAILED;
}

/* As if each task asked a slow service: it makes lanes and latches visible in a recording. */
static void wait_first(const struct batch *batch)
{
    struct timespec left = { (time_t)(batch->task_wait_us / 1000000),
                             (long)(batch->task_wait_us % 1000000) * 1000 };
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

int batch_task(lanepool_run *run, void *context, lanepool_call call)
{
    const struct task *task = context;
    struct batch *batch = task->batch;
    (void)run;
    if (call == LANEPOOL_CALL_CANCELLED) {
        return 0;
    }
    if (batch->task_wait_us > 0) {
        wait_first(batch);
    }
    int code = is_held(batch, task) ? 0 : run_body(batch, task);
    atomic_fetch_add_explicit(&batch->done_count, 1, memory_order_relaxed);
    return code;
}
