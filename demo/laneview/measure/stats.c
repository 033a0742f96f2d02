/* Owns how figures are gathered. */
#include "measure/stats.h"

#include <stdlib.h>

#include "memory.h"
#include "model/describe.h"
#include "model/spans.h"

static void add_between(struct stats_measure *measure, uint64_t from, uint64_t to)
{
    if (from == MODEL_UNSEEN || to == MODEL_UNSEEN) {
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
static size_t depth_at(const struct model_lane *lane, uint64_t time)
{
    size_t low = 0, high = lane->depth_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (lane->depths[middle].time <= time) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* How long others waited in a lane between two times. */
static uint64_t waiting_within(const struct model_lane *lane, uint64_t now, uint64_t from,
                               uint64_t to)
{
    uint64_t sum = 0;
    for (size_t i = depth_at(lane, from); i < lane->depth_count && lane->depths[i].time < to; i++) {
        uint64_t next = i + 1 < lane->depth_count ? lane->depths[i + 1].time : now;
        uint64_t begin = lane->depths[i].time > from ? lane->depths[i].time : from;
        uint64_t end = next < to ? next : to;
        sum += lane->depths[i].waiting > 0 && end > begin ? end - begin : 0;
    }
    return sum;
}

static void add_attempts(struct stats_group *group, const struct model_task *task)
{
    for (size_t i = 0; i <= task->failed_count; i++) {
        const struct model_attempt attempt = model_attempt(task, i);
        uint64_t ready_again =
            attempt.ready_again == MODEL_UNSEEN ? task->end : attempt.ready_again;
        add_between(&group->phases[STATS_RUNNING], attempt.start, attempt.end);
        if (i < task->failed_count) {
            if (attempt.parked == MODEL_UNSEEN) {
                add_between(&group->phases[STATS_RETRIED], attempt.end, ready_again);
            }
            add_between(&group->phases[STATS_PARKED], attempt.parked, ready_again);
        }
    }
}

static void gather_lane(struct stats *stats, const struct model *model, size_t index,
                        struct stats_group *group)
{
    const struct model_lane *lane = &model->lanes[index];
    struct lane_spans spans = { 0 };
    group->name = lane->name;
    for (size_t i = 0; i < lane->entry_count; i++) {
        const struct model_entry *entry = &model->entries[lane->entries[i]];
        const struct model_task *task = &model->tasks[entry->task];
        add_between(&group->phases[STATS_WAITING], entry->enter, entry->arrive);
        if (entry->arrive != MODEL_UNSEEN) {
            add_attempts(group, task);
        }
        if (model_is_rollup(task)) {
            add_between(&group->phases[STATS_LATCHED], entry->arrive, model_attempt(task, 0).start);
        }
    }
    spans_of_lane(model, index, &spans);
    for (size_t i = 0; i < spans.count; i++) {
        const struct lane_span *span = &spans.items[i];
        if (span->kind == LANE_LATCHED) {
            stats->latched_ns += span->to - span->from;
            stats->latched_waiting_ns += waiting_within(lane, model->now, span->from, span->to);
        } else if (span->kind == LANE_PARKED) {
            stats->poisoned_ns += span->to - span->from;
        }
    }
    spans_fini(&spans);
    sort_phases(group);
}

static void gather_lanes(struct stats *stats, const struct model *model)
{
    size_t *order = model_sorted_lanes(model);
    stats->lane_count = model->lane_count;
    stats->lanes = memory_zeroed(model->lane_count, sizeof *stats->lanes);
    for (size_t i = 0; i < model->lane_count; i++) {
        gather_lane(stats, model, order[i], &stats->lanes[i]);
    }
    free(order);
}

static void count_attempts(struct stats *stats, const struct model_task *task)
{
    stats->attempts += task->failed_count + (task->start != MODEL_UNSEEN);
    stats->failed_attempts +=
        task->failed_count + (task->start != MODEL_UNSEEN && (task->status == LANEPOOL_FAILED ||
                                                              task->status == LANEPOOL_ABANDONED));
    for (size_t i = 0; i < task->failed_count; i++) {
        stats->retries += task->failed[i].ready_again != MODEL_UNSEEN;
        stats->parked_count += task->failed[i].parked != MODEL_UNSEEN;
    }
}

static void gather_task(struct stats *stats, const struct model *model, size_t index)
{
    const struct model_task *task = &model->tasks[index];
    struct stats_group *group = &stats->tags[task->tag];
    group->name = group->name ? group->name : describe_tag(model, index);
    add_between(&group->phases[STATS_WAITING], task->submit, task->ready);
    add_attempts(group, task);
    count_attempts(stats, task);
    if (!model_is_rollup(task)) {
        return;
    }
    for (size_t i = task->first_entry; i != MODEL_NONE; i = model->entries[i].next_of_task) {
        if (model->entries[i].lane != MODEL_NONE) {
            add_between(&group->phases[STATS_LATCHED], model->entries[i].arrive,
                        model_attempt(task, 0).start);
        }
    }
}

void stats_gather(struct stats *stats, const struct model *model)
{
    *stats = (struct stats){ 0 };
    gather_lanes(stats, model);
    for (size_t i = 0; i < model->task_count; i++) {
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
