/*
 * The pool's own memory: the parts that every module of the upper layers works
 * on. Each part is owned by the module whose header defines it.
 */
#ifndef LANEPOOL_SRC_POOL_H
#define LANEPOOL_SRC_POOL_H

#include "admission.h"
#include "apart.h"
#include "delays.h"
#include "keys.h"
#include "lanepool/pool.h"
#include "lifecycle.h"
#include "quiesce.h"
#include "router_predicate.h"
#include "router_workers.h"
#include "rule.h"
#include "survey.h"
#include "wait.h"

struct lanepool_pool {
    lanepool_options options;               /* I: with every default filled in */
    const lanepool_i_rule *rule;            /* I */
    char name[LANEPOOL_I_THREAD_NAME_SIZE]; /* I: its threads'; empty: they have none */
    size_t extension;                       /* I: bytes between a wide task's 64 and its entries */
    bool submitter_routes;                  /* I */
    lanepool_i_watch watch;
    lanepool_i_crew crew;
    lanepool_i_router router;
    lanepool_i_slab slab;
    lanepool_i_rings rings;
    lanepool_i_locals locals;
    lanepool_i_admission admission;
    lanepool_i_keys keys;
    lanepool_i_predicate predicate;
    lanepool_i_queues queues;
    lanepool_i_waits waits;
    lanepool_i_aparts aparts;
    lanepool_i_quiesces quiesces;
    lanepool_i_delays delays;
    lanepool_i_lifecycle lifecycle;
};

static inline lanepool_i_local *lanepool_i_pool_local(lanepool_pool *pool)
{
    return lanepool_i_local_of(pool, &pool->locals);
}

#endif
