/*
 * The plan: every task of the batch in its planned order.
 *
 * The order is: transactions by date, then in the order of reading; after each month, its month-end
 * rollups. A task's `seq` is its number in this order, from 1; on a day, it counts on from the day
 * before. A day has the month-ends of the months that end by then.
 */
#ifndef LEDGERBATCH_PLAN_PLAN_H
#define LEDGERBATCH_PLAN_PLAN_H

#include "book/book.h"
#include "plan/clients.h"
#include "plan/lane_list.h"
#include "plan/opening.h"
#include "plan/rules.h"

enum task_kind { TASK_POST, TASK_STATEMENT, TASK_ACCRUAL, TASK_CLOSE };

struct batch;  /* a plan that is run; see batch/batch.h */
struct effect; /* what a task has done; see batch/effect.h */

struct task {
    struct batch *batch;   /* set before the plan is run; the plan does not use it */
    struct effect *effect; /* what it has done, until that is written; likewise */
    uint32_t seq;          /* its number in the planned order; see also plan_late_seq() */
    uint32_t subject;      /* a transaction; of a rollup: a group */
    uint32_t month;        /* of a rollup: year * 12 + (0 to 11) */
    uint32_t member; /* of a part of a rollup: the only client that it is for; else NO_INDEX */
    uint8_t kind;
    uint8_t outcome; /* see batch/effect.h */
};

struct plan {
    struct opening opening; /* of a day */
    bool has_opening;
    uint32_t base_seq;               /* the seq before the first task */
    uint32_t first_month, end_month; /* the months that end in the plan, from first to end - 1 */
    struct book book;
    struct rules rules;
    struct clients clients;
    struct task *tasks;
    size_t task_count;
    size_t left_out_count; /* transactions after rules.until */
    uint32_t retry_day;    /* of deferred transactions; 0: the last day of the batch */
    char digest[SHA256_TEXT_SIZE];
};

void plan_init(struct plan *plan);
void plan_fini(struct plan *plan);

/*
 * Reads the files, checks everything and plans the tasks. The caller has set plan->rules, and for a
 * day plan->opening.
 */
bool plan_make(struct plan *plan, const char *const *files, size_t file_count,
               struct problem *problem);

/* Checks that each client's name can be the name of a folder, if there are statements. */
bool plan_check_folders(const struct plan *plan, struct problem *problem);

/*
 * The lanes of a task have the numbers of its clients. There is one more lane: the house lane is
 * for transactions that touch house accounts only, so that their progress is recorded, too.
 */
#define PLAN_HOUSE_NAME "(house)" /* the name of the house lane for users */
static inline uint32_t plan_house_lane(const struct plan *plan)
{
    return (uint32_t)plan->clients.count;
}

/* Finds the lanes of a task, each once. */
void plan_lanes(const struct plan *plan, const struct task *task, struct lane_list *lanes);

/*
 * A late task: a rollup that has failed because clients were held, or a deferred transaction. It is
 * run after the whole plan. Late tasks are run in their planned order. Each has a second, higher
 * seq.
 */
static inline bool plan_is_late(const struct plan *plan, const struct task *task)
{
    return task->seq > plan->base_seq + plan->task_count;
}

static inline uint32_t plan_late_seq(const struct plan *plan, uint32_t seq)
{
    return (uint32_t)plan->task_count + seq;
}

/* Returns the task of the plan with a seq, or NULL. */
static inline struct task *plan_find(const struct plan *plan, uint32_t seq)
{
    bool is_planned = seq > plan->base_seq && seq - plan->base_seq <= plan->task_count;
    return is_planned ? &plan->tasks[seq - plan->base_seq - 1] : NULL;
}

/* Returns the seq that a late task has in the plan. */
static inline uint32_t plan_early_seq(const struct plan *plan, const struct task *task)
{
    return task->seq - (uint32_t)plan->task_count;
}

/*
 * Returns the day of a task. Of a rollup it is the last day of its month; of a late one, the last
 * day of the plan's last month, so that days are in the order of seq.
 */
uint32_t plan_date(const struct plan *plan, const struct task *task);

/* Returns the last day of the plan. */
uint32_t plan_last_day(const struct plan *plan);

/* Returns the name of a kind of task: post, statement, accrual or close. */
const char *task_kind_word(enum task_kind kind);

#endif
