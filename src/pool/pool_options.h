/*
 * The options that a pool is created with.
 */
#ifndef LANEPOOL_SRC_POOL_POOL_OPTIONS_H
#define LANEPOOL_SRC_POOL_POOL_OPTIONS_H

#include "route/rule.h"

/* Copies the options, or the defaults for NULL, and fills every default in. Returns false if they
 * are out of range, or contradict each other. */
bool lanepool_i_options_read(const lanepool_options *given, lanepool_options *options);

/* The rule that options, once read, ask for. */
const lanepool_i_rule *lanepool_i_options_rule(const lanepool_options *options);

#endif
