/**
 * @file
 * Planning a run before it is made. docs/plan.md explains it.
 */
#ifndef LANEPOOL_PLAN_H
#define LANEPOOL_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lanepool/future.h"
#include "lanepool/inspect.h"
#include "lanepool/key.h"
#include "lanepool/status.h"

LANEPOOL_C_BEGIN

/**
 * @defgroup plan Plans
 * A plan has the tasks of a program in the order of their submits, with their claims and durations.
 * It tells how long a pool would take for them, and what costs the most time. It needs no pool, no
 * thread and no clock, and always gives the same answer. One thread at a time for each plan. @{
 */

/** A plan. */
typedef struct lanepool_plan lanepool_plan;

/** The form of a task of a plan. */
typedef enum lanepool_plan_form {
    LANEPOOL_PLAN_PLAIN = 0, /**< it runs once it has all of its lanes */
    LANEPOOL_PLAN_CUT = 1,   /**< a cut, as with `at_lane`: it leaves each lane after its visit */
    LANEPOOL_PLAN_PROGRESSIVE = 2 /**< as with `at_grant`: it visits each lane and keeps it */
} lanepool_plan_form;

/** A task of a plan. All zero: a task without claims that takes no time. */
typedef struct lanepool_plan_task {
    const lanepool_claim *claims; /**< as in lanepool_task, without lane handles and without
                                       lanepool_claim_all() */
    size_t claim_count;           /**< 0 to LANEPOOL_CLAIMS_MAX */
    uint64_t duration_ns;         /**< how long its function takes */
    uint64_t visit_ns;            /**< how long each visit takes; 0 for a PLAIN task */
    lanepool_plan_form form;      /**< its form */
    uint32_t tag;                 /**< as in lanepool_task */
    uint64_t reserved[2];         /**< 0 */
} lanepool_plan_task;

/** A change of the tasks before a run. */
typedef enum lanepool_plan_change {
    LANEPOOL_PLAN_AS_IT_IS = 0, /**< nothing */
    LANEPOOL_PLAN_CUT_TASK = 1, /**< one rollup is a cut. Each visit takes an equal part of its
                                     duration, and its function the rest */
    LANEPOOL_PLAN_CUT_TAG = 2,  /**< the same for all rollups with one tag */
    LANEPOOL_PLAN_COMMUTE = 3   /**< all EXCLUSIVE claims of one key are COMMUTING, except those of
                                     cuts and of rollups over more than two keys */
} lanepool_plan_change;

/** A pool that does not exist. Zero means the default. */
typedef struct lanepool_plan_pool {
    unsigned workers;            /**< 1 to 65,535 */
    bool in_one_order;           /**< as with `priorities`: all workers take the ready tasks in one
                                      order. Every task has the same priority */
    unsigned quantum_tasks;      /**< as in lanepool_options */
    uint64_t quantum_ns;         /**< as in lanepool_options */
    lanepool_plan_change change; /**< what is changed */
    size_t task;                 /**< CUT_TASK: the number of the task. COMMUTE: of one that claims
                                      the key */
    size_t claim;                /**< COMMUTE: the number of that task's claim */
    uint32_t tag;                /**< CUT_TAG: the tag */
    uint64_t reserved[4];        /**< 0 */
} lanepool_plan_pool;

/** How long a pool takes. */
typedef struct lanepool_plan_result {
    uint64_t work_ns;     /**< the sum of all functions and visits */
    uint64_t path_ns;     /**< the longest chain of tasks that wait for one another: no number of
                               workers takes less */
    uint64_t makespan_ns; /**< from the start of the first task to the end of the last */
    uint64_t idle_ns;     /**< the time that workers have nothing to run, added up over them */
    uint64_t reserved[4]; /**< 0 */
} lanepool_plan_result;

/** When a task runs; 0 is the start of the run. */
typedef struct lanepool_plan_time {
    uint64_t granted_ns; /**< it gets its first lane; without claims as `start_ns` */
    uint64_t start_ns;   /**< its function is called */
    uint64_t end_ns;     /**< its function returns */
} lanepool_plan_time;

/** A rollup or a key, and the time that its change would save. */
typedef struct lanepool_plan_row {
    lanepool_plan_change change; /**< CUT_TASK or COMMUTE */
    size_t task;                 /**< as in lanepool_plan_pool */
    size_t claim;                /**< as in lanepool_plan_pool; 0 for a rollup */
    uint64_t held_ns;            /**< of a rollup: how long it has lanes in which others wait, added
                                      up over these. Of a key: the work of the tasks that claim it
                                      EXCLUSIVE */
    uint64_t makespan_ns;        /**< with the change */
    uint64_t saved_ns;           /**< by how much it is shorter; 0 if it is not */
    uint64_t reserved[2];        /**< 0 */
} lanepool_plan_row;

/** The most rollups, and the most keys, that lanepool_plan_worst() tries. */
#define LANEPOOL_PLAN_TRIES 32u

/**
 * Creates a plan without tasks.
 * @param plan Receives it; the caller destroys it. NULL on failure.
 * @also INVALID, NOMEM.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_plan_create(lanepool_plan **plan);

/** Destroys a plan. @complexity O(byte-string keys + 1) calls of free(). */
LANEPOOL_API void lanepool_plan_destroy(lanepool_plan *plan);

/**
 * Adds the next task. Tasks are numbered from 0.
 * @param task The task. It is copied, and the bytes of its keys, too.
 * @retval LANEPOOL_INVALID An argument is NULL, or a member is wrong. A PLAIN task has no
 *                          `visit_ns`. Others have claims, none of them COMMUTING. Or the work of
 *                          all tasks would exceed INT64_MAX nanoseconds.
 * @retval LANEPOOL_NOMEM   No memory: the plan is as before.
 * @complexity O(claims), amortised.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_plan_add(lanepool_plan *plan, const lanepool_plan_task *task);

/** Returns how many tasks a plan has. */
LANEPOOL_API size_t lanepool_plan_count(const lanepool_plan *plan);

/**
 * Tells how long a pool takes if all tasks are submitted before it starts.
 * @param pool   The pool.
 * @param result Receives how long.
 * @param times  Receives a time for each task; may be NULL.
 * @retval LANEPOOL_INVALID A required argument is NULL, or the pool is wrong: its number of
 *                          workers, its change, or what the change is about.
 * @retval LANEPOOL_NOMEM   No memory. O(tasks + claims + workers) is needed.
 * @complexity O((tasks + claims) log(workers)).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_plan_run(
    const lanepool_plan *plan, const lanepool_plan_pool *pool, lanepool_plan_result *result,
    lanepool_plan_time *times);

/**
 * Lists the tasks of the longest chain, the first one first. Each waits for the one before it.
 * @param tasks    Receives up to `capacity` numbers of tasks; may be NULL if that is 0.
 * @param capacity The room in numbers.
 * @param count    Receives the number of tasks in the chain.
 * @also INVALID, NOMEM. @complexity O(tasks + claims).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_plan_path(const lanepool_plan *plan, size_t *tasks, size_t capacity, size_t *count);

/**
 * Lists the rollups and keys that cost the most time. A rollup over more than two keys is tried as
 * a cut, and a key with commuting claims. Rows are ordered by `saved_ns`, then by `held_ns`, the
 * largest first. Only the LANEPOOL_PLAN_TRIES rollups with the most `held_ns` are tried, and as
 * many keys; each of them alone. The program decides whether a change is right.
 * @param pool     The pool, without a change.
 * @param rows     Receives up to `capacity` rows; may be NULL if that is 0.
 * @param capacity The room in rows.
 * @param count    Receives how many rows were written.
 * @also INVALID, NOMEM. @complexity As lanepool_plan_run(), 2 * LANEPOOL_PLAN_TRIES times.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_plan_worst(
    const lanepool_plan *plan, const lanepool_plan_pool *pool, lanepool_plan_row *rows,
    size_t capacity, size_t *count);

/** @} */

/**
 * @defgroup forecasts Forecasts
 * When will a task start that is in a pool now? A snapshot becomes a plan, with the tasks that run
 * already. The program says how long tasks take. docs/plan.md tells how exact that is. @{
 */

/** How long a task takes. */
typedef struct lanepool_expected {
    uint64_t duration_ns; /**< its function, from the call to the end */
    uint64_t visit_ns;    /**< each visit of a cut or a progressive rollup */
    uint64_t reserved[2]; /**< 0 */
} lanepool_expected;

/**
 * Says how long a task takes. Called once for each task of a snapshot.
 * @param task     The task's index.
 * @param expected All zero; receives the times, also of a task that runs: from its start.
 * @return false: the duration is not known.
 */
typedef bool (*lanepool_expect_fn)(
    void *user, const lanepool_snapshot *snapshot, size_t task, lanepool_expected *expected);

/** The last thing that a task waits for before it starts. */
typedef enum lanepool_forecast_limit {
    LANEPOOL_FORECAST_STARTED = 0, /**< nothing: it has started */
    LANEPOOL_FORECAST_NOTHING = 1, /**< nothing: it starts at once */
    LANEPOOL_FORECAST_RUNNING = 2, /**< the end of a task that runs now */
    LANEPOOL_FORECAST_LANE = 3,    /**< a lane, in which another task is that has not started */
    LANEPOOL_FORECAST_WORKER = 4,  /**< a worker: it has its lanes before */
    LANEPOOL_FORECAST_DELAY = 5,   /**< a time: it is not due yet, or is to be retried */
    LANEPOOL_FORECAST_PARKED = 6,  /**< never: the end of a parked task, maybe its own */
    LANEPOOL_FORECAST_PAUSED = 7,  /**< never: the pool or a lane is paused */
    LANEPOOL_FORECAST_ENDLESS = 8, /**< never: the end of a task whose duration is not known */
    LANEPOOL_FORECAST_UNSEEN = 9   /**< never: no snapshot shows the task. It is just being
                                        submitted or ending, or in a sequence */
} lanepool_forecast_limit;

/** When a task starts. */
typedef struct lanepool_forecast {
    lanepool_forecast_limit limit; /**< the last thing that it waits for. "Never" means until a call
                                      of the program, or not known */
    uint64_t start_ns; /**< from the snapshot to the call of its function; 0: it has started, or
                            starts at once; LANEPOOL_FOREVER: never */
    size_t before;     /**< tasks that it waits for in lanes, directly or through others */
    size_t task;       /**< RUNNING, LANE, PARKED, ENDLESS: that task. WORKER: the task whose end
                            frees a worker. An index into the snapshot; else NONE */
    size_t lane;       /**< RUNNING, LANE: the lane. PAUSED: the paused one. An index; else NONE */
    size_t undated;    /**< running tasks of which the snapshot has no `started_ns`. They count as
                            if they had just been called */
    uint64_t reserved[4]; /**< 0 */
} lanepool_forecast;

/**
 * Forecasts when a task of a snapshot starts.
 * @param task     The task's index.
 * @param expect   Says how long tasks take.
 * @param user     Passed to it.
 * @param forecast Receives the answer.
 * @retval LANEPOOL_INVALID A pointer but `user` is NULL, there is no such task, or the work of all
 *                          tasks would exceed INT64_MAX nanoseconds.
 * @also NOMEM. @threads Any thread; blocks only if expect does.
 * @complexity O((tasks + entries) log(workers)), also for many lanes.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_snapshot_forecast(
    const lanepool_snapshot *snapshot, size_t task, lanepool_expect_fn expect, void *user,
    lanepool_forecast *forecast);

/**
 * Writes a forecast as a line of text.
 * @param snapshot The snapshot that it was made from.
 * @param forecast The forecast.
 * @param write    Called with the parts of the line.
 * @also INVALID. @threads Any thread; blocks only if write does.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_snapshot_write_forecast(
    const lanepool_snapshot *snapshot, const lanepool_forecast *forecast, lanepool_write_fn write,
    void *context);

/**
 * As lanepool_explain(), with one more line: when the task starts.
 * @param future   The task's; its pool must not be destroyed during the call.
 * @param expect   Says how long tasks take; called with no lock held.
 * @param user     Passed to it.
 * @param forecast Receives the forecast, whose indices are NONE; may be NULL. A task that is not
 * due starts when it is due, or later.
 * @param write    Called with the parts of the text.
 * @retval LANEPOOL_INVALID As for lanepool_snapshot_forecast().
 * @return Otherwise as lanepool_explain(). @threads As for lanepool_snapshot_take().
 * @complexity As for lanepool_snapshot_take() and lanepool_snapshot_forecast().
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_explain_forecast(
    lanepool_future *future, lanepool_expect_fn expect, void *user, lanepool_forecast *forecast,
    lanepool_write_fn write, void *context);

/**
 * A lanepool_expect_fn: the mean of what tasks with the same tag have taken, all attempts of a task
 * together.
 * @param times    A lanepool_times. No other thread may use it during the call.
 * @param task     The task's index.
 * @param expected Receives the mean.
 * @return false: no task with this tag has ended, or the task makes visits.
 * @complexity O(1).
 */
LANEPOOL_API bool lanepool_times_expect(
    void *times, const lanepool_snapshot *snapshot, size_t task, lanepool_expected *expected);

/** @} */

LANEPOOL_C_END

#endif
