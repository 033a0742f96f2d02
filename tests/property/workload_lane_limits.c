#include "property/workload_lane_limits.h"

#include "property/world.h"

void workload_limit_lanes(struct run *run)
{
    for (uint32_t i = 0; i < run->workload->limit_count; i++) {
        const struct workload_limit *what = &run->workload->limits[i];
        lanepool_key key = lanepool_key_id(what->key);
        lanepool_lane *lane;

        world_sleep(what->after);
        if (lanepool_lane_acquire(run->pool, key, &lane) != LANEPOOL_OK) {
            if (!world_has_refused()) {
                run_note_failure(run, LANEPOOL_INVALID);
            }
            continue;
        }
        oracle_stamp_at(run->log, &run->log->limits[i].begin);
        run_note_failure(run, lanepool_lane_set_pending_max(lane, what->pending_max));
        oracle_stamp_at(run->log, &run->log->limits[i].end);
        lanepool_lane_release(lane);
    }
}
