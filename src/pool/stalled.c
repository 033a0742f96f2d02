/* Owns the count that tells whether all that is left is held up; see stalled.h. */
#include "pool/stalled.h"

#include "base/planted.h"
#include "feature/barrier.h"
#include "future/attempts.h"
#include "observe/take_census.h"

/* How many tasks are kept; `holds`: they, or paused lanes, hold others up, none of them is just
 * being resolved, and nobody has still to be told that he may leave. */
static size_t count_kept(lanepool_i_failures *failures, uint64_t *changes, bool *holds)
{
    lanepool_i_mutex_lock(&failures->lock);
    size_t kept = failures->parked;
    *holds = kept + failures->paused > 0 && failures->notifying + failures->dropped == 0;
    *changes = failures->changes;
    lanepool_i_mutex_unlock(&failures->lock);
    return kept;
}

/* Calls that tell tasks of their cancelling may submit; they look again when they have. A barrier
 * for which nobody has looked since the last task before it has finished goes on by itself. */
bool lanepool_i_only_parked_left(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    uint64_t before;
    uint64_t after;
    uint64_t finished = lanepool_i_thread_records_finished(&pool->records);
    bool holds;
    uint64_t kept = count_kept(pool->failures, &before, &holds);
    if (!holds || load_seq(&pool->lifecycle.cancels) != 0)
        return false;
    lanepool_i_grants grants = lanepool_i_no_grants(record->ring);
    uint64_t waiting = lanepool_i_census_count_waiting(pool, record, &grants);
    uint64_t accepted = lanepool_i_thread_records_accepted(&pool->records);
    (void)count_kept(pool->failures, &after, &holds);
    lanepool_i_count_up(&record->latched, grants.latched);
    lanepool_i_router_put_ready(pool, record, &grants.ready);
    bool all = accepted - finished == kept + waiting || PLANTED(HELD_TOO_SOON);
    return before == after && kept + waiting > 0 && all && !lanepool_i_barrier_is_due(pool);
}
