/*
 * Owns the list of the features that the core calls. Its order is that of the calls:
 *
 * - Retry is the first, since it decides how large the task's member is.
 * - A deadline is judged before the watchdog looks for slow tasks.
 * - The journal's room is found without a search, so it comes before the other features with room.
 * - Priorities have room for each entry, so they come after these.
 */
#include "pool/features.h"

#define FEATURES(X) \
    X(retry)        \
    X(late_record)  \
    X(deadline)     \
    X(poison)       \
    X(cut)          \
    X(journal)      \
    X(lane_limit)   \
    X(accesses)     \
    X(priority)     \
    X(context)      \
    X(periodic)     \
    X(watchdog)     \
    X(step)         \
    X(rule_answers)

#define DECLARE(name) extern const lanepool_i_feature lanepool_i_feature_##name;
FEATURES(DECLARE)

#define ADDRESS(name) &lanepool_i_feature_##name,
const lanepool_i_feature *const lanepool_i_features[] = { FEATURES(ADDRESS) NULL };
