/*
 * One table of the features that only some pools offer. A pool's layout and conflict rule decide
 * which of them it offers. The table is the only place that says so: `create`, the submits and
 * the other calls ask it, and answer LANEPOOL_UNSUPPORTED. docs/features.md shows the same table as
 * a program measures it from outside.
 */
#ifndef LANEPOOL_SRC_ROUTE_OFFERS_H
#define LANEPOOL_SRC_ROUTE_OFFERS_H

#include "lanepool/pool.h"

/* The four sorts of pools, as bits. */
#define LANEPOOL_I_BY_KEYS         1u /* PER_KEY, by claims */
#define LANEPOOL_I_BY_RULE         2u /* PER_KEY, by `is_compatible` */
#define LANEPOOL_I_WORKERS_BY_KEYS 4u /* PER_WORKER, by claims */
#define LANEPOOL_I_WORKERS_BY_RULE 8u /* PER_WORKER, by `is_compatible` */

#define LANEPOOL_I_PER_KEY  (LANEPOOL_I_BY_KEYS | LANEPOOL_I_BY_RULE)
#define LANEPOOL_I_CLAIMING (LANEPOOL_I_BY_KEYS | LANEPOOL_I_WORKERS_BY_KEYS)
#define LANEPOOL_I_KEYED    (LANEPOOL_I_CLAIMING | LANEPOOL_I_BY_RULE)
#define LANEPOOL_I_ALL      (LANEPOOL_I_KEYED | LANEPOOL_I_WORKERS_BY_RULE)
#define LANEPOOL_I_RULED    (LANEPOOL_I_BY_RULE | LANEPOOL_I_WORKERS_BY_RULE)

/* X(feature, the sorts of pools that offer it). A feature that is not here has no condition. */
#define LANEPOOL_I_OFFERS(X)                   \
    X(CLAIMS, LANEPOOL_I_KEYED)                \
    X(KINDS, LANEPOOL_I_RULED)                 \
    X(LANE_HANDLES, LANEPOOL_I_KEYED)          \
    X(LANE_LIMITS, LANEPOOL_I_CLAIMING)        \
    X(LANE_PAUSES, LANEPOOL_I_BY_KEYS)         \
    X(WAIT_CLAIMS, LANEPOOL_I_KEYED)           \
    X(EARLY_RELEASE, LANEPOOL_I_BY_KEYS)       \
    X(HAND_OVER, LANEPOOL_I_BY_KEYS)           \
    X(CONTEXTS, LANEPOOL_I_BY_KEYS)            \
    X(CUTS, LANEPOOL_I_BY_KEYS)                \
    X(PRIORITIES, LANEPOOL_I_PER_KEY)          \
    X(ELASTIC_WORKERS, LANEPOOL_I_PER_KEY)     \
    X(STEPS, LANEPOOL_I_PER_KEY)               \
    X(RETRIES, LANEPOOL_I_PER_KEY)             \
    X(PARKED_TASKS, LANEPOOL_I_PER_KEY)        \
    X(PAUSE_AFTER_FAILURE, LANEPOOL_I_BY_KEYS) \
    X(AT_POISON, LANEPOOL_I_BY_KEYS)           \
    X(DROP_BEHIND, LANEPOOL_I_BY_KEYS)         \
    X(SEQUENCES, LANEPOOL_I_CLAIMING)          \
    X(ACCESS_CHECKS, LANEPOOL_I_ALL)           \
    X(JOURNALS, LANEPOOL_I_ALL)                \
    X(RULE_CHECKS, LANEPOOL_I_RULED)

typedef enum lanepool_i_offer {
#define LANEPOOL_I_FEATURE(feature, sorts) LANEPOOL_I_##feature,
    LANEPOOL_I_OFFERS(LANEPOOL_I_FEATURE)
#undef LANEPOOL_I_FEATURE
} lanepool_i_offer;

/* Returns true if a pool with this layout and rule offers the feature. */
bool lanepool_i_options_offer(const lanepool_options *options, lanepool_i_offer feature);

#endif
