/*
 * Draws pauses, makes them, and judges them.
 *
 * Pauses: a task that was submitted after a pause had begun does not start before the pause ends.
 * There are two exceptions: a worker may just be about to start one task, and a thread that waits
 * inside a task runs the tasks that it needs.
 */
#include <stdlib.h>

#include "property/judge.h"
#include "property/workload_feature.h"
#include "property/workload_tasks.h"
#include "property/world.h"
#include "support/memory.h"

enum { PAUSES_MAX = 4 };

/* --- drawing --- */

static uint32_t draw_moment(const struct workload_params *params, struct choices *choices)
{
    return choose(choices, 2 * params->duration_most);
}

static void draw(struct workload *workload, struct choices *choices)
{
    struct workload_params *params = &workload->params;

    if (!chance(choices, 4)) {
        return;
    }
    params->pausers = 1 + choose(choices, 2);
    workload->pause_count = 1 + choose(choices, PAUSES_MAX);
    workload->pauses = memory_get(workload->pause_count, sizeof *workload->pauses);
    for (uint32_t i = 0; i < workload->pause_count; i++) {
        struct workload_pause *pause = &workload->pauses[i];

        pause->key = workload_has_named_lanes(workload) && !chance(choices, 3)
                         ? choose(choices, params->key_count)
                         : WORKLOAD_NONE;
        pause->pauser = choose(choices, params->pausers);
        pause->after = chance(choices, 3) ? 0 : draw_moment(params, choices);
        pause->lasts = draw_moment(params, choices);
    }
}

static void fini(struct workload *workload)
{
    free(workload->pauses);
}

static void print_pause(const struct workload_pause *pause, FILE *out)
{
    fprintf(out, "  pause of ");
    if (pause->key == WORKLOAD_NONE) {
        fprintf(out, "the pool");
    } else {
        fprintf(out, "lane %u", pause->key);
    }
    fprintf(out, ", by %u after %u ns, for %u ns\n", pause->pauser, pause->after, pause->lasts);
}

static void print_calls(const struct workload *workload, FILE *out)
{
    for (uint32_t i = 0; i < workload->pause_count; i++) {
        print_pause(&workload->pauses[i], out);
    }
}

/* --- calls --- */

static uint32_t count_threads(const struct workload *workload)
{
    return workload->params.pausers;
}

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
    world_show_all();
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

static void act(struct run *run, uint32_t pauser)
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

/* --- the oracle --- */

static void init_log(struct oracle_log *log, const struct workload *workload)
{
    log->pauses = memory_get(workload->pause_count, sizeof *log->pauses);
}

static void fini_log(struct oracle_log *log)
{
    free(log->pauses);
}

static bool claims(const struct workload_task *what, uint32_t key)
{
    for (uint32_t i = 0; i < what->merged_count; i++) {
        if (what->merged[i].key == key) {
            return true;
        }
    }
    return false;
}

/* Returns the first stamp at which the pause may have ended: at any resume of the same lane or
 * pool, or at a shutdown. */
static uint64_t may_be_over_at(const struct judge *judge, uint32_t index)
{
    const struct oracle_log *log = judge->log;
    uint64_t over = oracle_when(&log->closing_at);

    over = over != 0 ? over : UINT64_MAX;
    for (uint32_t i = 0; i < judge->workload->pause_count; i++) {
        const struct oracle_pause *other = &log->pauses[i];

        if (judge->workload->pauses[i].key == judge->workload->pauses[index].key &&
            oracle_when(&other->begin) != 0 &&
            oracle_when(&other->resume_end) > oracle_when(&log->pauses[index].begin) &&
            other->resume_begin < over) {
            over = other->resume_begin;
        }
    }
    uint64_t resumed = judge_resumed_at(judge, judge->workload->pauses[index].key,
                                        oracle_when(&log->pauses[index].begin));
    return over < resumed ? over : resumed;
}

static bool runs_inside_a_wait(const struct judge *judge, const struct oracle_task *task)
{
    for (uint32_t i = 0; i < judge->count; i++) {
        const struct oracle_task *other = &judge->log->tasks[judge->by_ticket[i]];

        if (other->wait_begin != 0 && other->thread == task->thread &&
            other->wait_begin < oracle_when(&task->call_begin) &&
            other->wait_end > oracle_when(&task->call_begin)) {
            return true;
        }
    }
    return false;
}

/* Returns true if the pause blocks the task. A receiver has its giver's lanes already, and a
 * barrier has no lanes. */
static bool is_held_up(const struct judge *judge, uint32_t pause, uint32_t task)
{
    const struct workload_task *what = &judge->workload->tasks[task];
    uint32_t key = judge->workload->pauses[pause].key;

    if (key != WORKLOAD_NONE) {
        return !what->is_heir && !what->is_barrier && claims(what, key) &&
               !oracle_misses(judge->log, judge->workload, task, key);
    }
    return judge->log->tasks[task].worker != SIZE_MAX &&
           !runs_inside_a_wait(judge, &judge->log->tasks[task]);
}

static void check_pause(struct judge *judge, uint32_t pause)
{
    const struct judge *lanes = judge->by_lane;
    const struct oracle_pause *record = &judge->log->pauses[pause];
    bool of_lane = judge->workload->pauses[pause].key != WORKLOAD_NONE;
    uint64_t over_at = may_be_over_at(judge, pause);
    uint32_t started = 0;

    for (uint32_t i = 0; i < lanes->count; i++) {
        const struct oracle_task *task = &lanes->log->tasks[lanes->by_ticket[i]];

        started += task->call == CALL_RUN && oracle_when(&task->submit_begin) > record->end &&
                   oracle_when(&task->call_begin) < over_at &&
                   is_held_up(lanes, pause, lanes->by_ticket[i]);
    }
    if (started > (of_lane ? 0 : judge->workload->params.workers)) {
        judge_blame(&judge->verdict, "%u tasks started during pause %u", started, pause);
    }
}

static void check_status(struct judge *judge, lanepool_status status, uint64_t end)
{
    uint64_t closing_at = oracle_when(&judge->log->closing_at);
    bool lacks =
        judge->log->refused && (status == LANEPOOL_NOMEM || status == LANEPOOL_NO_RESOURCE);
    bool closed = status == LANEPOOL_SHUT_DOWN && closing_at != 0 && closing_at < end;

    if (status != LANEPOOL_OK && !lacks && !closed) {
        judge_blame(&judge->verdict, "a pause or resume answered %s", lanepool_status_name(status));
    }
}

static void judge_pauses(struct judge *judge)
{
    for (uint32_t i = 0; i < judge->workload->pause_count; i++) {
        const struct oracle_pause *record = &judge->log->pauses[i];

        if (oracle_when(&record->begin) == 0) {
            continue;
        }
        check_status(judge, record->status, record->end);
        check_status(judge, record->resumed, oracle_when(&record->resume_end));
        if (record->status == LANEPOOL_OK) {
            check_pause(judge, i);
        }
    }
}

const struct workload_feature workload_feature_pause = {
    .draw = draw,
    .fini = fini,
    .print_calls = print_calls,
    .count_threads = count_threads,
    .act = act,
    .init_log = init_log,
    .fini_log = fini_log,
    .judge = judge_pauses,
};
