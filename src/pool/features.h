/*
 * The list of the features that the core calls.
 */
#ifndef LANEPOOL_SRC_POOL_FEATURES_H
#define LANEPOOL_SRC_POOL_FEATURES_H

#include "route/feature.h"

/* Ends with NULL. */
extern const lanepool_i_feature *const lanepool_i_features[];

#endif
