#include "property/workload_pauses.h"

#include "property/world.h"

static lanepool_status change(struct run *run, lanepool_lane *lane, bool pauses)
{
    if (!lane) {
        return pauses ? lanepool_pool_pause(run->pool) : lanepool_pool_resume(run->pool);
    }
    return pauses ? lanepool_lane_pause(lane) : lanepool_lane_resume(lane);
}

static void pause_and_resume(struct run *run, uint32_t index, lanepool_lane *lane)
{
    const struct workload_pause *what = &run->workload->pauses[index];
    struct oracle_pause *record = &run->log->pauses[index];

    oracle_stamp_at(run->log, &record->begin);
    record->status = change(run, lane, true);
    record->end = oracle_stamp(run->log);
    world_sleep(what->lasts);
    record->resume_begin = oracle_stamp(run->log);
    record->resumed = change(run, lane, false);
    if (record->resumed == LANEPOOL_NO_RESOURCE || record->resumed == LANEPOOL_NOMEM) {
        world_stop_refusing();
        record->resumed = change(run, lane, false);
    }
    oracle_stamp_at(run->log, &record->resume_end);
}

static void pause_lane(struct run *run, uint32_t index)
{
    lanepool_key key = lanepool_key_id(run->workload->pauses[index].key);
    lanepool_lane *lane;

    if (lanepool_lane_acquire(run->pool, key, &lane) != LANEPOOL_OK) {
        if (!world_has_refused()) {
            run_note_failure(run, LANEPOOL_INVALID);
        }
        return;
    }
    pause_and_resume(run, index, lane);
    lanepool_lane_release(lane);
}

void workload_pause_all_of_one(struct run *run, uint32_t pauser)
{
    for (uint32_t i = 0; i < run->workload->pause_count; i++) {
        if (run->workload->pauses[i].pauser != pauser) {
            continue;
        }
        world_sleep(run->workload->pauses[i].after);
        if (run->workload->pauses[i].key == WORKLOAD_NONE) {
            pause_and_resume(run, i, NULL);
        } else {
            pause_lane(run, i);
        }
    }
}
