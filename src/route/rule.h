/*
 * What the conflict rule and the layout decide: how tasks are placed and let
 * go. One implementation for each: keys (rule_keys.c), a predicate
 * (rule_predicate.c), lanes per worker (rule_workers.c).
 */
#ifndef LANEPOOL_SRC_ROUTE_RULE_H
#define LANEPOOL_SRC_ROUTE_RULE_H

#include "lanepool/pool.h"
#include "route/census.h"
#include "route/router.h"

typedef struct lanepool_i_rule {
    bool all_wide;
    /* Of a wide task: bytes between its 64 and its entries, and of an entry. */
    size_t (*extension)(const lanepool_options *options);
    size_t entry_size;

    bool (*init)(lanepool_pool *pool);
    void (*fini)(lanepool_pool *pool);

    /* R: gives a task its place; what becomes ready is added to grants. */
    void (*route)(lanepool_pool *pool, lanepool_i_thread_record *record, lanepool_i_task *task,
                  lanepool_i_grants *grants);
    /* R: the same for a wide task, which waits for one thing more, the caller's. NULL: there are no
     * lanes per key. */
    void (*route_held)(lanepool_pool *pool, lanepool_i_thread_record *record, lanepool_i_task *task,
                       lanepool_i_grants *grants);
    /* How many tasks one hold of the role may route while none of them becomes ready: more than a
     * batch only where placing a task asks nothing about others. */
    size_t route_max;
    /* R: after each batch. */
    void (*batch_done)(lanepool_pool *pool, lanepool_i_thread_record *record);
    /* W: the task's call has returned: its successors go on. */
    void (*finish)(lanepool_pool *pool, lanepool_i_thread_record *record, lanepool_i_task *task,
                   lanepool_i_grants *grants);
    /* R: a finished task that waited to be reaped leaves every structure. NULL: tasks are let go
     * of by whoever finished them. */
    void (*reap)(lanepool_pool *pool, lanepool_i_thread_record *record, lanepool_i_task *task);
    /* W, lanes per worker only: the worker's own next task, and whether there is one. Else NULL. */
    lanepool_i_task *(*own)(lanepool_pool *pool, lanepool_i_worker *worker);
    bool (*has_own)(lanepool_pool *pool, lanepool_i_worker *worker);
    /* R: the places of a cancelled task that was routed hold nothing up any more. NULL: they go in
     * their turn. The block is kept meanwhile. */
    void (*mark)(lanepool_pool *pool, lanepool_i_task *task, lanepool_i_grants *grants);
    /* R: in place of `route`, if there is `mark`: a task that was cancelled before it was routed.
     */
    void (*route_mark)(lanepool_pool *pool, lanepool_i_thread_record *record, lanepool_i_task *task,
                       lanepool_i_grants *grants);
    /* R: whether the task claims the lane. NULL: tasks have no claims. */
    bool (*claims_lane)(const lanepool_pool *pool, lanepool_i_task *task,
                        const lanepool_i_lane *lane);
    /* R: gives up the running task's lane that the claim names; false: it has none. W: a task that
     * ends leaves its lanes to its heir, which has room for them and no places yet; the task's own
     * places do not change, and are not to be finished. NULL: there are no lanes of their own. */
    bool (*release)(lanepool_pool *pool, lanepool_i_task *task, const lanepool_claim *claim,
                    lanepool_i_grants *grants);
    void (*inherit)(lanepool_pool *pool, lanepool_i_task *task, lanepool_i_task *receiver);
    /* R: memory that is not needed goes back to the system. */
    void (*trim)(lanepool_pool *pool, lanepool_i_thread_record *record);
    /* R, no worker left: adds every task that has a place to the list; they are not ready. */
    void (*collect)(lanepool_pool *pool, lanepool_i_tasks *tasks);
    /* R, no worker left: the task's claims, written over its entries or to `narrow`. NULL: tasks
     * have none. */
    const lanepool_claim *(*claims)(const lanepool_pool *pool, lanepool_i_task *task,
                                    lanepool_claim *narrow, size_t *count);
    /* R: calls `found` for every task that directly waits for `task` with a ticket before
     * `limit`; what it froze stays frozen until `end_walk`. */
    void (*each_dependent)(lanepool_pool *pool, lanepool_i_task *task, uint64_t limit,
                           void (*found)(lanepool_i_task *dependent, void *context), void *context);
    void (*end_walk)(lanepool_pool *pool, lanepool_i_thread_record *record,
                     lanepool_i_grants *grants);
    /* R: a survey begins: stops the lanes and adds the tasks that wait; adds the entries of one;
     * describes a lane, leaving `granted` to say how many of its entries are; lets the lanes go on.
     */
    void (*census_begin)(lanepool_i_census *census);
    void (*census_entries)(lanepool_i_census *census, size_t task);
    void (*census_lane)(const lanepool_i_census *census, const void *lane,
                        lanepool_snapshot_lane *described, char *name, size_t size);
    void (*census_end)(lanepool_i_census *census, lanepool_i_grants *grants);
    /* R: whether the task has finished, where lanes are not stopped; else NULL. */
    bool (*census_is_over)(lanepool_i_task *task);
} lanepool_i_rule;

extern const lanepool_i_rule lanepool_i_rule_keys;
extern const lanepool_i_rule lanepool_i_rule_keys_priorities; /* with priorities */
extern const lanepool_i_rule lanepool_i_rule_predicate;
extern const lanepool_i_rule lanepool_i_rule_workers;

#endif
