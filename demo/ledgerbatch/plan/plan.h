/*
 * The plan: every task of the batch in its planned order.
 *
 * The order is: transactions by date, then in the order of reading; after each month, its month-end
 * steps. A task's `seq` is its number in this order, from 1; on a day, it counts on from the day
 * before. A plan has the month-ends of the months that are over by its last day.
 */
#ifndef LEDGERBATCH_PLAN_PLAN_H
#define LEDGERBATCH_PLAN_PLAN_H

#include "book/book.h"
#include "plan/clients.h"
#include "plan/lane_list.h"
#include "plan/opening.h"
#include "plan/rules.h"
#include "plan/step_tables.h"

enum task_kind {
    TASK_POST,
    TASK_STATEMENT,
    TASK_ACCRUAL,
    TASK_CLOSE,
    TASK_FEES,
    TASK_STEP /* of the user's */
};

struct batch;  /* a plan that is run; see batch/batch.h */
struct effect; /* what a task has done; see batch/effect.h */

struct task {
    struct batch *batch;   /* set before the plan is run; the plan does not use it */
    struct effect *effect; /* what it has done, until that is written; likewise */
    uint32_t seq;          /* its number in the planned order; see also plan_late_seq() */
    uint32_t subject;      /* a transaction; of a rollup: a group */
    uint32_t month;        /* of a rollup: year * 12 + (0 to 11) */
    uint32_t member; /* of a part of a rollup: the only client that it is for, or the house lane:
                        see plan_is_group_part(); else NO_INDEX */
    uint16_t step;   /* of a rollup: which of the month-end steps it is */
    uint8_t kind;
    uint8_t outcome; /* see batch/effect.h */
};

/* A place in the planned order for the trial balance of a month: behind the task `after_seq`. */
struct trial_place {
    uint32_t month, after_seq;
};

struct plan {
    struct opening opening; /* of a day */
    bool has_opening;
    uint32_t base_seq;               /* the seq before the first task */
    uint32_t first_month, end_month; /* the months that end in the plan, from first to end - 1 */
    struct book book;
    struct rules rules;
    struct clients clients;
    struct step_tables step_tables;
    struct task *tasks;
    size_t task_count;
    struct trial_place *trials; /* in the planned order */
    size_t trial_count;
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

/* Returns the rule of a user's step; NULL if the task is something else. */
static inline const struct user_step *plan_user_step(const struct plan *plan,
                                                     const struct task *task)
{
    return task->kind == TASK_STEP ? plan->rules.steps.items[task->step].user : NULL;
}

/*
 * Returns true if a part of a user's step is the call of its `group`. Such a part has the house
 * lane as its member, but does not claim it: it needs the contributions of all clients, and no
 * lane.
 */
static inline bool plan_is_group_part(const struct plan *plan, const struct task *task)
{
    return task->kind == TASK_STEP && task->member == plan_house_lane(plan);
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
 * day of the plan, so that days are in the order of seq.
 */
uint32_t plan_date(const struct plan *plan, const struct task *task);

/* Returns the last day of the plan. */
uint32_t plan_last_day(const struct plan *plan);

/* Returns the month of a run that is not over, and so has no month-end; 0: there is none. */
uint32_t plan_open_month(const struct plan *plan);

/* Returns the name of a kind of task: post, statement, accrual, close, fees or step. */
const char *task_kind_word(enum task_kind kind);

#endif
