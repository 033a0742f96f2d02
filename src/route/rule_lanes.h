/*
 * The common part of the rules whose tasks wait in lanes: rule_keys.c and rule_workers.h. These
 * functions know a task's entries and their lanes, and nothing else.
 *
 * Threads: R the role's holder, W the thread that finishes the task.
 */
#ifndef LANEPOOL_SRC_ROUTE_RULE_LANES_H
#define LANEPOOL_SRC_ROUTE_RULE_LANES_H

#include "route/rule.h"

/*
 * R: counts down the entries that were granted at once, together with the router's own count. If
 * all were granted at once, no other thread counts the countdown down, and nothing needs it any
 * more.
 *
 * `latched` is a difference: each grant that leaves the rollup waiting adds one. The grant that
 * makes it ready subtracts what all the others have added.
 */
static inline void lanepool_i_lanes_count_arrivals(lanepool_i_task *task, uint32_t lanes,
                                                   uint32_t granted, lanepool_i_grants *grants)
{
    if (granted == lanes) {
        lanepool_i_grants_add_granted_at_once(grants, task);
    } else if (lanepool_i_countdown_arrive(task, granted + 1)) {
        grants->latched -= lanes - granted;
        lanepool_i_grants_add(grants, task);
    } else {
        grants->latched += granted;
        grants->rollup_waits |= lanes > 1;
    }
}

/* Functions of a rule; see rule.h. */
void lanepool_i_lanes_finish(lanepool_pool *pool, lanepool_i_thread_record *record,
                             lanepool_i_task *task, lanepool_i_grants *grants);
void lanepool_i_lanes_collect(lanepool_pool *pool, lanepool_i_tasks *tasks);
void lanepool_i_lanes_each_dependent(lanepool_pool *pool, lanepool_i_task *task, uint64_t limit,
                                     void (*found)(lanepool_i_task *dependent, void *context),
                                     void *context);
void lanepool_i_lanes_thaw(lanepool_pool *pool, lanepool_i_grants *grants);
void lanepool_i_lanes_census_begin(lanepool_i_census *census);
void lanepool_i_lanes_census_entries(lanepool_i_census *census, size_t index);
void lanepool_i_lanes_census_lane(const lanepool_i_census *census, const void *lane_address,
                                  lanepool_snapshot_lane *described, char *name, size_t size);

/* The part of a rule's table that these functions fill. */
#define LANEPOOL_I_LANES_FUNCTIONS                                                          \
    .collect = lanepool_i_lanes_collect, .each_dependent = lanepool_i_lanes_each_dependent, \
    .thaw = lanepool_i_lanes_thaw, .census_begin = lanepool_i_lanes_census_begin,           \
    .census_entries = lanepool_i_lanes_census_entries, .census_lane = lanepool_i_lanes_census_lane

#endif
