/*
 * The rule: decides which tasks conflict, and makes them wait for one another. There are four:
 * rule_keys.c (a lane for each key), rule_predicate.c (the program's predicate), and the two with a
 * lane for each worker (rule_workers.h). The common part of those with lanes is in rule_lanes.c.
 *
 * Threads: R the role's holder, W the thread that runs or finishes the task. A function that a rule
 * does not need is NULL.
 */
#ifndef LANEPOOL_SRC_ROUTE_RULE_H
#define LANEPOOL_SRC_ROUTE_RULE_H

#include "lanepool/pool.h"
#include "route/census.h"
#include "route/router.h"

typedef struct lanepool_i_rule {
    /* Every task is wide. */
    bool all_wide;
    /* Returns the bytes between a wide task's first 64 and its entries. NULL if there are none. */
    size_t (*extension)(const lanepool_options *options);
    /* Bytes of one entry of a wide task. */
    size_t entry_size;

    bool (*init)(lanepool_pool *pool);
    void (*fini)(lanepool_pool *pool);

    /* --- routing and finishing --- */

    /* R: makes a task wait for its conflicts. Adds it to grants if it is ready at once. */
    void (*route)(lanepool_pool *pool, lanepool_i_thread_record *record, lanepool_i_task *task,
                  lanepool_i_grants *grants);
    /* R: routes a wide task with one more count in its countdown, which is the caller's to count
     * down. Only with lanes for keys. */
    void (*route_with_hold)(lanepool_pool *pool, lanepool_i_thread_record *record,
                            lanepool_i_task *task, lanepool_i_grants *grants);
    /* How many tasks one hold of the role may route while none of them becomes ready. Larger than a
     * batch only if routing a task does not search through other tasks. */
    size_t route_max;
    /* R: called at the end of each hold of the role. */
    void (*batch_done)(lanepool_pool *pool, lanepool_i_thread_record *record);
    /* W: releases the lanes of a task that has ended, or counts its successors down. */
    void (*finish)(lanepool_pool *pool, lanepool_i_thread_record *record, lanepool_i_task *task,
                   lanepool_i_grants *grants);
    /* R: removes a finished task from the rule's structures. NULL if it is in none; then the thread
     * that finishes a task disposes of it. */
    void (*reap)(lanepool_pool *pool, lanepool_i_thread_record *record, lanepool_i_task *task);
    /* The thread that has the ready task: returns the only worker that may run it. NULL if each
     * worker may run every task. */
    size_t (*worker_of)(const lanepool_pool *pool, const lanepool_i_thread_record *record,
                        lanepool_i_task *task);

    /* --- cancelled tasks --- */

    /* R: makes the entries of a routed task that was cancelled block nothing more. The block is not
     * reused during the call. NULL if a tombstone's entries pass in their turn. */
    void (*split_tombstone)(lanepool_pool *pool, lanepool_i_task *task, lanepool_i_grants *grants);
    /* R: instead of `route`, if there is `split_tombstone`: routes a task that was cancelled
     * before. */
    void (*route_tombstone)(lanepool_pool *pool, lanepool_i_thread_record *record,
                            lanepool_i_task *task, lanepool_i_grants *grants);

    /* --- claims and lanes of one task --- */

    /* R: returns true if the task claims the lane. NULL if tasks have no claims. */
    bool (*claims_lane)(const lanepool_pool *pool, lanepool_i_task *task,
                        const lanepool_i_lane *lane);
    /* W: returns true if the running task has the claim, in its mode or EXCLUSIVE. The task is
     * no barrier. */
    bool (*has_claim)(const lanepool_pool *pool, lanepool_i_task *task, lanepool_claim claim);
    /* W: calls `found` for each claim that the running task has. NULL with a predicate. */
    void (*each_claim)(const lanepool_pool *pool, lanepool_i_task *task,
                       void (*found)(const lanepool_pool *pool, const lanepool_i_lane *lane,
                                     lanepool_mode mode));
    /* R: releases the running task's lane that the claim names. Returns false if there is none.
     * Only with lanes for keys. */
    bool (*release)(lanepool_pool *pool, lanepool_i_task *task, lanepool_key key,
                    lanepool_i_grants *grants);
    /* W: hands the lanes of a task that ends over to a receiver, which has room for the entries.
     * The giver's entries do not change, and are not released. Only with lanes for keys. */
    void (*hand_over_lanes)(lanepool_pool *pool, lanepool_i_task *task, lanepool_i_task *receiver);

    /* --- the whole pool --- */

    /* R: does a part of a trim of the lanes, or begins one. Returns false once it is done. */
    bool (*trim_some)(lanepool_pool *pool, lanepool_i_thread_record *record);
    /* R: calls `found` for each lane, which begins with its key. Only with lanes for tasks. */
    void (*each_lane)(lanepool_pool *pool, void (*found)(lanepool_i_key *lane, void *context),
                      void *context);
    /* R, no worker left: adds the unfinished tasks in the rule's structures to the list, unless
     * they are VISITED. */
    void (*collect)(lanepool_pool *pool, lanepool_i_tasks *tasks);
    /* R, no worker left: returns the task's claims, written over its entries or to `plain_claims`.
     * NULL if tasks have no claims. */
    const lanepool_claim *(*claims)(const lanepool_pool *pool, lanepool_i_task *task,
                                    lanepool_claim *plain_claims, size_t *count);
    /* R: calls `found` for every task that directly waits for `task` and has a ticket before
     * `limit`. May leave out a task that it has found since the walk began. The lanes that it
     * freezes stay frozen until `thaw`. */
    void (*each_dependent)(lanepool_pool *pool, lanepool_i_task *task, uint64_t limit,
                           void (*found)(lanepool_i_task *dependent, void *context), void *context);
    /* R: thaws the lanes that a walk or a census has frozen. NULL if they freeze none. */
    void (*thaw)(lanepool_pool *pool, lanepool_i_grants *grants);

    /* --- a census, by R --- */

    /* Adds all tasks that wait, and maybe others; freezes lanes first. */
    void (*census_begin)(lanepool_i_census *census);
    /* Adds the entries of one task. */
    void (*census_entries)(lanepool_i_census *census, size_t task);
    /* Describes the lane of an entry; `granted` is set to the number of its granted entries. */
    void (*census_lane)(const lanepool_i_census *census, const void *lane,
                        lanepool_snapshot_lane *described, char *name, size_t size);
    /* Returns true if the task has finished. For rules that do not see all tasks at one moment. */
    bool (*census_is_finished)(lanepool_i_task *task);
} lanepool_i_rule;

extern const lanepool_i_rule lanepool_i_rule_keys;
extern const lanepool_i_rule lanepool_i_rule_predicate;
extern const lanepool_i_rule lanepool_i_rule_workers_keys;
extern const lanepool_i_rule lanepool_i_rule_workers_predicate;

#endif
