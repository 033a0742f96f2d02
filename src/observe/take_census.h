/* Taking a census; see census.h. All functions are called by the role's holder. */
#ifndef LANEPOOL_SRC_OBSERVE_TAKE_CENSUS_H
#define LANEPOOL_SRC_OBSERVE_TAKE_CENSUS_H

#include "route/census.h"

/* Takes a census of all tasks and lanes. Lanes stay frozen, and may be described, until
 * lanepool_i_census_thaw(). Finished blocks are retained until lanepool_i_census_end(). If
 * `out_of_memory` is set, the census is incomplete. */
void lanepool_i_census_take(lanepool_i_census *census);
/* Takes a census of the running tasks only, detached ones included. Freezes no lane. */
void lanepool_i_census_take_running(lanepool_i_census *census);
void lanepool_i_census_thaw(lanepool_i_census *census, lanepool_i_grants *grants);
void lanepool_i_census_end(lanepool_i_census *census);
void lanepool_i_census_fini(lanepool_i_census *census);

#endif
