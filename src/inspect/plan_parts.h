/*
 * The parts of a plan, shared by its files.
 */
#ifndef LANEPOOL_SRC_INSPECT_PLAN_PARTS_H
#define LANEPOOL_SRC_INSPECT_PLAN_PARTS_H

#include "lanepool/plan.h"

#include "inspect/key_list.h"

#define LANEPOOL_I_PLAN_NONE LANEPOOL_I_NO_INDEX

/* A task's position in a lane. */
typedef struct lanepool_i_plan_entry {
    size_t lane;
    size_t task;
    size_t claim;        /* the first claim of the key */
    size_t next_of_lane; /* the entry behind it, or NONE */
    uint8_t mode;
} lanepool_i_plan_entry;

/* The lane of a key, which has the key's index. */
typedef struct lanepool_i_plan_lane {
    uint64_t number; /* of a key that is one */
    size_t first;    /* its entries; NONE: it has none */
    size_t last;
    uint64_t call;  /* the last call of lanepool_plan_add() with this key */
    size_t claimed; /* the entry of the key in that call */
} lanepool_i_plan_lane;

/* The part of a task in the moment when the run begins. All but WAITS have their lanes then. */
typedef enum lanepool_i_plan_begin {
    LANEPOOL_I_PLAN_WAITS = 0,      /* it waits for its lanes, then for a worker */
    LANEPOOL_I_PLAN_RUNS = 1,       /* a worker runs it, for its duration */
    LANEPOOL_I_PLAN_RUNS_APART = 2, /* as RUNS, without a worker */
    LANEPOOL_I_PLAN_RETURNS = 3     /* it waits for a worker after `returns_ns` */
} lanepool_i_plan_begin;

/* As a duration: the task never ends. */
#define LANEPOOL_I_PLAN_ENDLESS UINT64_MAX

typedef struct lanepool_i_planned {
    uint64_t duration_ns;
    uint64_t visit_ns;
    uint64_t returns_ns;
    lanepool_i_plan_begin begin;
    bool is_endless; /* its function and its visits never end */
    size_t first_entry;
    size_t entry_count;
    lanepool_plan_form form;
    uint32_t tag;
    bool commutes; /* it has a COMMUTING claim, so it cannot be a cut */
} lanepool_i_planned;

struct lanepool_plan {
    lanepool_i_key_list keys;
    lanepool_i_plan_lane *lanes; /* by key */
    size_t lane_capacity;
    lanepool_i_plan_entry *entries; /* by task */
    size_t entry_count;
    size_t entry_capacity;
    lanepool_i_planned *tasks;
    size_t task_count;
    size_t task_capacity;
    uint64_t call;    /* how many tasks were given, whether they could be added or not */
    uint64_t work_ns; /* of all tasks */
    bool has_begun;   /* tasks may run at the start; all are routed then */
};

/* A plan with a change. */
typedef struct lanepool_i_plan_view {
    const lanepool_plan *plan;
    lanepool_plan_change change;
    size_t task;  /* CUT_TASK */
    size_t lane;  /* COMMUTE */
    uint32_t tag; /* CUT_TAG */
} lanepool_i_plan_view;

/* A task with so many keys may be a transfer: it adds to each of them, and needs both at once. A
 * task with more is taken for a rollup, which reads. */
#define LANEPOOL_I_PLAN_TRANSFER_KEYS ((size_t)2)

static inline bool lanepool_i_plan_may_be_cut(const lanepool_i_planned *task)
{
    return task->form != LANEPOOL_PLAN_CUT && task->entry_count > 1 && !task->commutes;
}

static inline bool lanepool_i_plan_may_commute(const lanepool_plan *plan,
                                               const lanepool_i_plan_entry *entry)
{
    const lanepool_i_planned *task = &plan->tasks[entry->task];
    return entry->mode == LANEPOOL_EXCLUSIVE && task->form == LANEPOOL_PLAN_PLAIN &&
           task->entry_count <= LANEPOOL_I_PLAN_TRANSFER_KEYS;
}

static inline bool lanepool_i_plan_is_changed(const lanepool_i_plan_view *view, size_t task)
{
    const lanepool_i_planned *planned = &view->plan->tasks[task];
    return lanepool_i_plan_may_be_cut(planned) &&
           ((view->change == LANEPOOL_PLAN_CUT_TASK && task == view->task) ||
            (view->change == LANEPOOL_PLAN_CUT_TAG && planned->tag == view->tag));
}

static inline lanepool_plan_form lanepool_i_plan_form_of(const lanepool_i_plan_view *view,
                                                         size_t task)
{
    return lanepool_i_plan_is_changed(view, task) ? LANEPOOL_PLAN_CUT
                                                  : view->plan->tasks[task].form;
}

static inline uint64_t lanepool_i_plan_visit_of(const lanepool_i_plan_view *view, size_t task)
{
    const lanepool_i_planned *planned = &view->plan->tasks[task];
    if (planned->is_endless)
        return LANEPOOL_I_PLAN_ENDLESS;
    return planned->form == LANEPOOL_PLAN_PLAIN && lanepool_i_plan_is_changed(view, task)
               ? planned->duration_ns / planned->entry_count
               : planned->visit_ns;
}

static inline uint64_t lanepool_i_plan_duration_of(const lanepool_i_plan_view *view, size_t task)
{
    const lanepool_i_planned *planned = &view->plan->tasks[task];
    if (planned->is_endless)
        return LANEPOOL_I_PLAN_ENDLESS;
    return planned->form == LANEPOOL_PLAN_PLAIN && lanepool_i_plan_is_changed(view, task)
               ? planned->duration_ns % planned->entry_count
               : planned->duration_ns;
}

static inline lanepool_mode lanepool_i_plan_mode_of(const lanepool_i_plan_view *view, size_t entry)
{
    const lanepool_i_plan_entry *at = &view->plan->entries[entry];
    return view->change == LANEPOOL_PLAN_COMMUTE && at->lane == view->lane &&
                   lanepool_i_plan_may_commute(view->plan, at)
               ? LANEPOOL_COMMUTING
               : (lanepool_mode)at->mode;
}

/* Reads what a pool changes. Returns false if the change is not possible. */
bool lanepool_i_plan_view_make(const lanepool_plan *plan, const lanepool_plan_pool *pool,
                               lanepool_i_plan_view *view);

/* Of the longest chain of tasks: its length, or no length if memory cannot be allocated. If `tasks`
 * is not NULL, it receives up to `capacity` of them, and *count their number. */
lanepool_status lanepool_i_plan_find_path(const lanepool_i_plan_view *view, uint64_t *length_ns,
                                          size_t *tasks, size_t capacity, size_t *count);

/* As lanepool_plan_run(), with valid arguments, and without the path. `granted_ns` is NULL, or
 * receives for each entry when it was granted. A time that never comes is UINT64_MAX; in
 * `granted_ns` it is left as it was. */
lanepool_status lanepool_i_plan_simulate(const lanepool_i_plan_view *view,
                                         const lanepool_plan_pool *pool,
                                         lanepool_plan_result *result, lanepool_plan_time *times,
                                         uint64_t *granted_ns);

/* Returns true if the pool could exist. */
bool lanepool_i_plan_is_pool_valid(const lanepool_plan_pool *pool);

#endif
