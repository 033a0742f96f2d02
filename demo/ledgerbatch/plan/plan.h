/*
 * The plan: every task of the batch in its planned order.
 *
 * The order is transactions by date, then as read, and after each month its
 * month-end rollups. A task's `seq` is its place, counted from 1.
 */
#ifndef LEDGERBATCH_PLAN_PLAN_H
#define LEDGERBATCH_PLAN_PLAN_H

#include "book/book.h"
#include "plan/clients.h"
#include "plan/lane_list.h"
#include "plan/rules.h"

enum task_kind { TASK_POST, TASK_STATEMENT, TASK_ACCRUAL, TASK_CLOSE };

struct batch; /* what runs the plan; see batch/batch.h */

struct task {
    struct batch *batch; /* set when the plan is run */
    uint32_t seq;        /* its place in the planned order, from 1; of a late rollup behind it */
    uint32_t subject;    /* a transaction, or for a rollup a group */
    uint32_t month;      /* of a rollup: year * 12 + (0 to 11) */
    uint32_t member;     /* a client that a rollup is made up for, alone; else NO_INDEX */
    uint8_t kind;
};

struct plan {
    struct book book;
    struct rules rules;
    struct clients clients;
    struct task *tasks;
    size_t task_count;
    char digest[65];
};

void plan_init(struct plan *plan);
void plan_fini(struct plan *plan);

/* Reads the files, checks everything and plans the tasks; plan->rules is set before. */
bool plan_make(struct plan *plan, const char *const *files, size_t file_count,
               struct problem *problem);

/*
 * The lanes of a task are numbered like the clients. One more lane, with the
 * number plan->clients.count, takes transactions that touch house accounts only,
 * so that they too have a place where progress is kept.
 */
#define PLAN_HOUSE_NAME "(house)" /* where that lane must be called something */
static inline uint32_t plan_house_lane(const struct plan *plan)
{
    return (uint32_t)plan->clients.count;
}

/* The distinct lanes of a task. */
void plan_lanes(const struct plan *plan, const struct task *task, struct lane_list *lanes);

/*
 * A rollup that has failed because of held clients is done late: behind the whole plan, in the
 * planned order of those that are late. Its seq says so.
 */
static inline bool plan_is_late(const struct plan *plan, const struct task *task)
{
    return task->seq > plan->task_count;
}

static inline uint32_t plan_late_seq(const struct plan *plan, uint32_t seq)
{
    return (uint32_t)plan->task_count + seq;
}

/*
 * The day of a task: a rollup's is the last of its month, a late one's that of the last month, for
 * days have the order of seq.
 */
uint32_t plan_date(const struct plan *plan, const struct task *task);

/* The word for a rollup in codes: statement, accrual or close. */
const char *task_kind_word(enum task_kind kind);

#endif
