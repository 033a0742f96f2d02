/*
 * Taking a census; see census.h.
 */
#ifndef LANEPOOL_SRC_OBSERVE_TAKE_CENSUS_H
#define LANEPOOL_SRC_OBSERVE_TAKE_CENSUS_H

#include "route/census.h"

/* Role's holder: looks at everything; then its lanes may be described, until they go on; blocks are
 * kept until it ends. `lacking` says whether that is all. */
void lanepool_i_survey_look(lanepool_i_survey *survey);
/* Only at the tasks that run, detached ones among them, and at no lane: nothing has to go on. */
void lanepool_i_survey_look_at_running(lanepool_i_survey *survey);
void lanepool_i_survey_go_on(lanepool_i_survey *survey, lanepool_i_grants *grants);
void lanepool_i_survey_end(lanepool_i_survey *survey);
void lanepool_i_survey_fini(lanepool_i_survey *survey);

/* Role's holder: how many tasks wait, cancelled ones among them; none that is ready or runs. What
 * becomes ready meanwhile is added to grants. */
size_t lanepool_i_survey_count_waiting(lanepool_pool *pool, lanepool_i_local *local,
                                       lanepool_i_grants *grants);

#endif
