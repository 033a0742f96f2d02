/*
 * Reading the options that a pool is created with, and choosing its rule.
 */
#ifndef LANEPOOL_SRC_POOL_POOL_OPTIONS_H
#define LANEPOOL_SRC_POOL_POOL_OPTIONS_H

#include "route/rule.h"

/* Copies the options, or the defaults if `given` is NULL, and those of contexts, and fills in every
 * default. Returns INVALID if an option is out of range or options contradict each other. Otherwise
 * returns UNSUPPORTED if the layout and the rule do not offer an option. */
lanepool_status lanepool_i_options_read(const lanepool_options *given, lanepool_options *options,
                                        lanepool_context_options *contexts);

/* Returns the rule for options that were read. */
const lanepool_i_rule *lanepool_i_options_rule(const lanepool_options *options);

#endif
