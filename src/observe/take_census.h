/*
 * Taking a census; see census.h.
 */
#ifndef LANEPOOL_SRC_OBSERVE_TAKE_CENSUS_H
#define LANEPOOL_SRC_OBSERVE_TAKE_CENSUS_H

#include "route/census.h"

/* Role's holder: looks at everything; then its lanes may be described, until they go on; blocks are
 * kept until it ends. `lacking` says whether that is all. */
void lanepool_i_census_take(lanepool_i_census *census);
/* Only at the tasks that run, detached ones among them, and at no lane: nothing has to go on. */
void lanepool_i_census_take_running(lanepool_i_census *census);
void lanepool_i_census_thaw(lanepool_i_census *census, lanepool_i_grants *grants);
void lanepool_i_census_end(lanepool_i_census *census);
void lanepool_i_census_fini(lanepool_i_census *census);

/* Role's holder: how many tasks wait, cancelled ones among them; none that is ready or runs. What
 * becomes ready meanwhile is added to grants. */
size_t lanepool_i_census_count_waiting(lanepool_pool *pool, lanepool_i_thread_record *record,
                                       lanepool_i_grants *grants);

#endif
