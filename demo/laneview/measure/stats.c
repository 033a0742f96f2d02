/* Owns how figures are gathered. */
#include "measure/stats.h"

#include <stdlib.h>

#include "memory.h"
#include "model/describe.h"
#include "model/spans.h"

static void add_between(struct stats_measure *measure, uint64_t from, uint64_t to)
{
    if (from == LANEPOOL_REPLAY_UNSEEN || to == LANEPOOL_REPLAY_UNSEEN) {
        return;
    }
    measure->values =
        memory_grow(measure->values, &measure->capacity, measure->count + 1, sizeof(uint64_t));
    measure->values[measure->count++] = to > from ? to - from : 0;
}

static int compare_values(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static void sort_phases(struct stats_group *group)
{
    for (size_t phase = 0; phase < STATS_PHASES; phase++) {
        struct stats_measure *measure = &group->phases[phase];
        if (measure->count > 0) {
            qsort(measure->values, measure->count, sizeof(uint64_t), compare_values);
        }
    }
}

/* By nearest rank, so the result is always a measured value. */
uint64_t stats_percentile(const struct stats_measure *measure, unsigned percent)
{
    if (measure->count == 0) {
        return 0;
    }
    size_t rank = (measure->count * percent + 99) / 100;
    return measure->values[rank > 0 ? rank - 1 : 0];
}

/* Returns the index of a lane's last depth at or before a time; 0 if there is none. */
static size_t depth_at(const struct model_depths *depths, uint64_t time)
{
    size_t low = 0, high = depths->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (depths->items[middle].time <= time) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* How long others waited in a lane between two times. */
static uint64_t waiting_within(const struct model_depths *depths, uint64_t now, uint64_t from,
                               uint64_t to)
{
    uint64_t sum = 0;
    for (size_t i = depth_at(depths, from); i < depths->count && depths->items[i].time < to; i++) {
        uint64_t next = i + 1 < depths->count ? depths->items[i + 1].time : now;
        uint64_t begin = depths->items[i].time > from ? depths->items[i].time : from;
        uint64_t end = next < to ? next : to;
        sum += depths->items[i].waiting > 0 && end > begin ? end - begin : 0;
    }
    return sum;
}

static void add_attempts(struct stats_group *group, const struct model *model, size_t index)
{
    const lanepool_replay_task *task = &model->replay->tasks[index];
    for (size_t i = 0; i <= task->failed_count; i++) {
        const lanepool_replay_attempt attempt = model_attempt(model, index, i);
        uint64_t ready_again =
            attempt.ready_ns == LANEPOOL_REPLAY_UNSEEN ? task->end_ns : attempt.ready_ns;
        add_between(&group->phases[STATS_RUNNING], attempt.start_ns, attempt.end_ns);
        if (i < task->failed_count) {
            if (attempt.parked_ns == LANEPOOL_REPLAY_UNSEEN) {
                add_between(&group->phases[STATS_RETRIED], attempt.end_ns, ready_again);
            }
            add_between(&group->phases[STATS_PARKED], attempt.parked_ns, ready_again);
        }
    }
}

/* A cut runs in a lane while it visits it. */
static void add_visits(struct stats_group *group, const struct model *model, size_t entry)
{
    struct model_visits visits = model_visits_of(model, entry);
    for (size_t i = 0; i < visits.count; i++) {
        add_between(&group->phases[STATS_RUNNING], visits.items[i].from, visits.items[i].to);
    }
}

static void gather_lane(struct stats *stats, const struct model *model, size_t index,
                        struct stats_group *group)
{
    const lanepool_replay *replay = model->replay;
    struct model_depths depths = model_depths(model, index);
    struct lane_spans spans = { 0 };
    group->name = model->lanes[index].name;
    for (size_t i = replay->lanes[index].first_entry; i != LANEPOOL_REPLAY_NONE;
         i = replay->entries[i].next_of_lane) {
        const lanepool_replay_entry *entry = &replay->entries[i];
        const lanepool_replay_task *task = &model->replay->tasks[entry->task];
        add_between(&group->phases[STATS_WAITING], entry->enter_ns, entry->arrive_ns);
        if (task->is_cut) {
            add_visits(group, model, i);
        } else if (entry->arrive_ns != LANEPOOL_REPLAY_UNSEEN) {
            add_attempts(group, model, entry->task);
        }
        if (model_is_rollup(task)) {
            add_between(&group->phases[STATS_LATCHED], entry->arrive_ns,
                        model_attempt(model, entry->task, 0).start_ns);
        }
    }
    spans_of_lane(model, index, &spans);
    for (size_t i = 0; i < spans.count; i++) {
        const struct lane_span *span = &spans.items[i];
        if (span->kind == LANE_LATCHED) {
            stats->latched_ns += span->to - span->from;
            stats->latched_waiting_ns += waiting_within(&depths, model->now, span->from, span->to);
        } else if (span->kind == LANE_PARKED) {
            stats->poisoned_ns += span->to - span->from;
        }
    }
    spans_fini(&spans);
    free(depths.items);
    sort_phases(group);
}

static void gather_lanes(struct stats *stats, const struct model *model)
{
    size_t *order = model_sorted_lanes(model);
    stats->lane_count = model->replay->lane_count;
    stats->lanes = memory_zeroed(model->replay->lane_count, sizeof *stats->lanes);
    for (size_t i = 0; i < model->replay->lane_count; i++) {
        gather_lane(stats, model, order[i], &stats->lanes[i]);
    }
    free(order);
}

/* Returns true if the task's last attempt is not among its failed attempts. Only the function of
 * a cut has a start; its visits are an attempt, too. */
static bool has_last_attempt(const lanepool_replay_task *task, bool has_failed)
{
    bool ends_parked = task->failed_count > 0 && task->failed.parked_ns != LANEPOOL_REPLAY_UNSEEN &&
                       task->failed.ready_ns == LANEPOOL_REPLAY_UNSEEN;
    return task->start_ns != LANEPOOL_REPLAY_UNSEEN || (task->is_cut && has_failed && !ends_parked);
}

static void count_attempts(struct stats *stats, const struct model *model, size_t index)
{
    const lanepool_replay_task *task = &model->replay->tasks[index];
    bool has_failed = task->status == LANEPOOL_FAILED || task->status == LANEPOOL_ABANDONED;
    bool was_made = has_last_attempt(task, has_failed);
    stats->attempts += task->failed_count + was_made;
    stats->failed_attempts += task->failed_count + (was_made && has_failed);
    for (size_t i = 0; i < task->failed_count; i++) {
        lanepool_replay_attempt failed = model_attempt(model, index, i);
        stats->retries += failed.ready_ns != LANEPOOL_REPLAY_UNSEEN;
        stats->parked_count += failed.parked_ns != LANEPOOL_REPLAY_UNSEEN;
    }
}

static void gather_task(struct stats *stats, const struct model *model, size_t index)
{
    const lanepool_replay_task *task = &model->replay->tasks[index];
    struct stats_group *group = &stats->tags[task->tag];
    group->name = group->name ? group->name : describe_tag(model, index);
    add_between(&group->phases[STATS_WAITING], task->submit_ns, task->ready_ns);
    add_attempts(group, model, index);
    count_attempts(stats, model, index);
    if (!model_is_rollup(task)) {
        return;
    }
    for (size_t i = task->first_entry; i != LANEPOOL_REPLAY_NONE;
         i = model->replay->entries[i].next_of_task) {
        if (model->replay->entries[i].lane != LANEPOOL_REPLAY_NONE) {
            add_between(&group->phases[STATS_LATCHED], model->replay->entries[i].arrive_ns,
                        model_attempt(model, index, 0).start_ns);
        }
    }
}

void stats_gather(struct stats *stats, const struct model *model)
{
    *stats = (struct stats){ 0 };
    gather_lanes(stats, model);
    for (size_t i = 0; i < model->replay->task_count; i++) {
        gather_task(stats, model, i);
    }
    for (size_t tag = 0; tag < RECORDING_TAGS; tag++) {
        sort_phases(&stats->tags[tag]);
    }
}

static void fini_group(struct stats_group *group)
{
    for (size_t phase = 0; phase < STATS_PHASES; phase++) {
        free(group->phases[phase].values);
    }
}

void stats_fini(struct stats *stats)
{
    for (size_t i = 0; i < stats->lane_count; i++) {
        fini_group(&stats->lanes[i]);
    }
    for (size_t tag = 0; tag < RECORDING_TAGS; tag++) {
        fini_group(&stats->tags[tag]);
    }
    free(stats->lanes);
}
