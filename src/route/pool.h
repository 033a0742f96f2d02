/* The pool's memory. Each part is owned by the module whose header defines its type. */
#ifndef LANEPOOL_SRC_ROUTE_POOL_H
#define LANEPOOL_SRC_ROUTE_POOL_H

#include "base/quarantine.h"
#include "future/suspended.h"
#include "lanepool/pool.h"
#include "route/feature.h"
#include "route/lane_table.h"
#include "route/lifecycle.h"
#include "route/pool_notes.h"
#include "route/retention.h"
#include "route/rule.h"
#include "route/rule_predicate.h"
#include "route/rule_workers.h"
#include "route/waiters.h"
#include "sched/admission.h"

struct lanepool_pool {
    lanepool_options options;               /* I: with every default filled in */
    lanepool_i_creator creator;             /* I */
    const lanepool_i_rule *rule;            /* I */
    const lanepool_i_router_host *host;     /* I */
    lanepool_i_slots slots;                 /* I */
    char name[LANEPOOL_I_THREAD_NAME_SIZE]; /* I: of the pool's threads; may be empty */
    size_t extension;                       /* I: bytes between a wide task's 64 and its entries */
    lanepool_i_room room;                   /* I: of features, in the blocks of wide tasks */
    lanepool_i_driver *driver;              /* I: runs the tasks if there are no threads, or NULL */
    bool submitter_routes;                  /* I */
    bool all_wide;                          /* I: no task is plain */
    bool has_simple;                        /* I: a task may be simple; see task.h */
    bool has_bare;                          /* I: a simple task may have no future */
    bool limits_lanes;                      /* I: tasks are charged to quotas */
    lanepool_i_retention retention;
    lanepool_i_workers workers;
    lanepool_i_router router;
    lanepool_i_slab slab;
    lanepool_i_rings rings;
    lanepool_i_thread_records records;
    lanepool_i_lane_quotas lane_quotas;
    lanepool_i_admission admission;
    lanepool_i_lane_table lane_table;
    lanepool_i_predicate predicate;
    lanepool_i_worker_lanes worker_lanes;
    lanepool_i_waits waits;
    lanepool_i_lifecycle lifecycle;
    lanepool_i_suspended_tasks suspended;
    /* I: the parts of features; each feature's header defines its type. */
    struct lanepool_i_call_records *call_records;
    struct lanepool_i_delays *delays;
    struct lanepool_i_failures *failures;
    struct lanepool_i_contexts *contexts;
    struct lanepool_i_quiesces *quiesces;
    struct lanepool_i_watchdog *watchdog;
    struct lanepool_i_accesses *accesses; /* NULL unless the pool checks accesses */
    struct lanepool_i_journal *journal;   /* NULL unless the pool has one */
    lanepool_i_pool_notes notes;
#if defined(LANEPOOL_CHECKED)
    lanepool_i_quarantine *quarantine; /* I: of records that the program has handles of */
#endif
};

static inline bool lanepool_i_pool_offers(const lanepool_pool *pool, lanepool_i_offer feature)
{
    return lanepool_i_options_offer(&pool->options, feature);
}

/* Returns entry `i` of a wide task, in the format of the pool's rule. */
static inline lanepool_i_wide_entry *lanepool_i_pool_entry(const lanepool_pool *pool,
                                                           const lanepool_i_task *task, size_t i)
{
    char *entries = (char *)(task + 1) + pool->extension;
    return (lanepool_i_wide_entry *)(entries + i * pool->rule->entry_size);
}

/* Returns true in a child, made by fork(), of the process that the pool was made in. */
static inline bool lanepool_i_pool_is_forked(const lanepool_pool *pool)
{
    return load_relaxed(pool->lifecycle.state) == LANEPOOL_I_FORKED;
}

/* Returns the calling thread's record, made if needed. If it returns NULL,
 * lanepool_i_pool_entry_error() tells why. May return a record even in a child of fork(). */
lanepool_i_thread_record *lanepool_i_pool_thread_record_slowly(lanepool_pool *pool);
static inline lanepool_i_thread_record *lanepool_i_pool_thread_record(lanepool_pool *pool)
{
    lanepool_i_thread_record *front = lanepool_i_thread_record_if_first(pool);
    return front != NULL ? front : lanepool_i_pool_thread_record_slowly(pool);
}

/* Returns FORKED or NOMEM. */
lanepool_status lanepool_i_pool_entry_error(const lanepool_pool *pool);
/* Finds the calling thread's record. Returns OK with the record set; or FORKED or NOMEM. */
lanepool_status lanepool_i_pool_enter(lanepool_pool *pool, lanepool_i_thread_record **record);

#endif
