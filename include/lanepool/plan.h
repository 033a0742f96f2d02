/**
 * @file
 * Planning a run before it is made. docs/plan.md explains it.
 */
#ifndef LANEPOOL_PLAN_H
#define LANEPOOL_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

LANEPOOL_C_END

#endif
