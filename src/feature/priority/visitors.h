/*
 * The visitors of cuts among the ready tasks. A visitor has the level of the highest entry that its
 * cut has listed (lane/visits.h), and at least the cut's. So a worker chooses it when that entry's
 * visit is the most urgent ready task. After a visit the visitor makes the next one only if no
 * ready task has a higher level than that.
 *
 * An entry that is listed, or is raised while it is listed, notes its cut. Before the next choice,
 * the holder of the lock takes the notes, and raises as many ready visitors as entries want them.
 * A thread that lists an entry does so before it publishes what else has become ready. So a choice
 * that finds those tasks finds the note, too.
 */
#ifndef LANEPOOL_SRC_FEATURE_PRIORITY_VISITORS_H
#define LANEPOOL_SRC_FEATURE_PRIORITY_VISITORS_H

#include "feature/priority/priorities.h"

/* Initializes the ranks of a cut's visitors. Submitter only. */
void lanepool_i_visitors_init(lanepool_pool *pool, lanepool_i_visits *visits);
/* Under the overflow list's lock: before a choice, and before a cut leaves its lanes. */
void lanepool_i_visitors_take_notes(lanepool_i_priorities *priorities);
/* Under the lock: sets the level of a visitor that is about to be queued. */
void lanepool_i_visitor_set_level(lanepool_pool *pool, lanepool_i_visitor *visitor);
/* By the worker that runs the visitor, after a visit: returns true if no ready task is more urgent
 * than the next visit. */
bool lanepool_i_visitor_may_visit_on(lanepool_pool *pool, lanepool_i_visitor *visitor);

#endif
