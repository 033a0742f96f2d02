/*
 * Owns the list of the features that the core calls. Its order is that of the calls:
 *
 * - Retry is the first, since it decides how large the task's member is.
 * - A deadline is judged before the watchdog looks for slow tasks.
 */
#include "pool/features.h"

#include "feature/context.h"
#include "feature/delay_every.h"
#include "feature/lane_limit.h"
#include "feature/poison.h"
#include "feature/priority.h"
#include "feature/retry.h"
#include "observe/watchdog.h"
#include "wait/task_deadline.h"

const lanepool_i_feature *const lanepool_i_features[] = {
    &lanepool_i_feature_retry,      &lanepool_i_feature_deadline, &lanepool_i_feature_poison,
    &lanepool_i_feature_lane_limit, &lanepool_i_feature_priority, &lanepool_i_feature_context,
    &lanepool_i_feature_periodic,   &lanepool_i_feature_watchdog, NULL,
};
