/* Owns how spans are made from entries. */
#include "model/spans.h"

#include <stdlib.h>

#include "memory.h"

void spans_fini(struct lane_spans *spans)
{
    free(spans->items);
    *spans = (struct lane_spans){ 0 };
}

/* Returns true if the task has ended but its last attempt never began: the task ended while it
 * was parked, or was refused. */
static bool ends_without_start(const lanepool_replay_task *task, size_t number)
{
    return number == task->failed_count && (number > 0 || task->status == LANEPOOL_POISONED);
}

bool spans_of_attempt(const struct model *model, size_t index, size_t number, uint64_t earliest,
                      uint64_t *from, uint64_t *to)
{
    const lanepool_replay_task *task = &model->replay->tasks[index];
    lanepool_replay_attempt attempt = model_attempt(model, index, number);
    *to = model_until(model, attempt.end_ns);
    *from = attempt.start_ns == LANEPOOL_REPLAY_UNSEEN ? earliest : attempt.start_ns;
    if (*from > *to) {
        *from = *to;
    }
    return attempt.start_ns != LANEPOOL_REPLAY_UNSEEN ||
           (attempt.end_ns != LANEPOOL_REPLAY_UNSEEN && !ends_without_start(task, number));
}

static void add_span(struct lane_spans *spans, struct lane_span span)
{
    if (span.from < span.to) {
        spans->items =
            memory_grow(spans->items, &spans->capacity, spans->count + 1, sizeof *spans->items);
        spans->items[spans->count++] = span;
    }
}

/* Rollups over more lanes than this get one latched span for each entry. */
#define SPLIT_MAX 32

/* The next moment after `time` at which another entry of the task is granted or given up; `end`
 * if there is none before. */
static uint64_t next_change(const struct model *model, size_t task, uint64_t time, uint64_t end)
{
    size_t index = model->replay->tasks[task].first_entry;
    for (; index != LANEPOOL_REPLAY_NONE; index = model->replay->entries[index].next_of_task) {
        const lanepool_replay_entry *entry = &model->replay->entries[index];
        uint64_t change =
            entry->arrive_ns == LANEPOOL_REPLAY_UNSEEN ? entry->release_ns : entry->arrive_ns;
        if (change > time && change < end) {
            end = change;
        }
    }
    return end;
}

static void add_latched(const struct model *model, struct lane_spans *spans, size_t entry,
                        uint64_t from, uint64_t to)
{
    size_t task = model->replay->entries[entry].task;
    bool is_split = model->replay->tasks[task].entry_count <= SPLIT_MAX;
    while (from < to) {
        uint64_t next = is_split ? next_change(model, task, from, to) : to;
        unsigned arrived = is_split ? model_arrived_at(model, task, from) : 0;
        add_span(spans, (struct lane_span){ .from = from,
                                            .to = next,
                                            .kind = LANE_LATCHED,
                                            .entry = entry,
                                            .task = task,
                                            .slot_count = 1,
                                            .arrived = arrived });
        from = next;
    }
}

static uint64_t earlier_of(uint64_t time, uint64_t limit)
{
    return time < limit ? time : limit;
}

/* Adds the spans before the first attempt: latched until the task is ready, then waiting for a
 * worker. */
static void add_before_run(const struct model *model, struct lane_spans *spans, size_t index,
                           uint64_t run_from)
{
    const lanepool_replay_entry *entry = &model->replay->entries[index];
    const lanepool_replay_task *task = &model->replay->tasks[entry->task];
    uint64_t end = earlier_of(earlier_of(run_from, entry->release_ns), model->now);
    uint64_t ready = earlier_of(task->ready_ns, end);
    if (entry->arrive_ns == LANEPOOL_REPLAY_UNSEEN) {
        return;
    }
    if (!model_is_rollup(task)) {
        ready = earlier_of(entry->arrive_ns, end);
    }
    add_latched(model, spans, index, entry->arrive_ns, ready);
    uint64_t from = entry->arrive_ns > ready ? entry->arrive_ns : ready;
    add_span(spans, (struct lane_span){ .from = from,
                                        .to = end,
                                        .kind = LANE_READY,
                                        .entry = index,
                                        .task = entry->task,
                                        .slot_count = 1 });
}

static uint64_t end_of_entry(const struct model *model, const lanepool_replay_entry *entry)
{
    return earlier_of(earlier_of(model->replay->tasks[entry->task].end_ns, entry->release_ns),
                      model->now);
}

/* Adds the spans after a failed attempt: retrying until the next attempt is due or the task is
 * parked; parked until it is ready again; ready until it starts. Returns the end of the last
 * one. */
static uint64_t add_after_attempt(const struct model *model, struct lane_spans *spans, size_t index,
                                  size_t number)
{
    const lanepool_replay_entry *entry = &model->replay->entries[index];
    const lanepool_replay_attempt failed = model_attempt(model, entry->task, number);
    const lanepool_replay_attempt next = model_attempt(model, entry->task, number + 1);
    uint64_t end = earlier_of(end_of_entry(model, entry), earlier_of(next.start_ns, next.end_ns));
    uint64_t ready_again = earlier_of(failed.ready_ns, end),
             parked = earlier_of(failed.parked_ns, ready_again);
    struct lane_span span = { .from = failed.end_ns,
                              .to = parked,
                              .kind = LANE_RETRYING,
                              .entry = index,
                              .task = entry->task,
                              .slot_count = 1,
                              .attempt = number };
    add_span(spans, span);
    span.from = parked;
    span.to = ready_again;
    span.kind = LANE_PARKED;
    add_span(spans, span);
    span.from = ready_again;
    span.to = end;
    span.kind = LANE_READY;
    add_span(spans, span);
    return end;
}

/* Adds the span of an attempt. Returns its end, or `earliest` if that is later. */
static uint64_t add_attempt(const struct model *model, struct lane_spans *spans, size_t index,
                            size_t number, uint64_t earliest)
{
    const lanepool_replay_entry *entry = &model->replay->entries[index];
    uint64_t from, to;
    if (!spans_of_attempt(model, entry->task, number, earliest, &from, &to)) {
        return earliest;
    }
    to = earlier_of(to, entry->release_ns);
    add_span(spans, (struct lane_span){ .from = from,
                                        .to = to,
                                        .kind = LANE_RUNS,
                                        .entry = index,
                                        .task = entry->task,
                                        .slot_count = 1,
                                        .attempt = number });
    return to > earliest ? to : earliest;
}

/* --- cuts --- */

/* The first failed attempt of a task that ended at a time or later; failed_count if there is
 * none. */
static size_t attempt_from(const struct model *model, size_t task, uint64_t time)
{
    size_t number = 0;
    while (number < model->replay->tasks[task].failed_count &&
           model_attempt(model, task, number).end_ns < time) {
        number++;
    }
    return number;
}

/* Adds the spans after a failed visit: latched until the cut's other visits have been made, and
 * then as for any failed attempt. */
static void add_after_failed_visit(const struct model *model, struct lane_spans *spans,
                                   size_t index, uint64_t from, uint64_t to)
{
    size_t task = model->replay->entries[index].task, number = attempt_from(model, task, from);
    lanepool_replay_attempt failed = model_attempt(model, task, number);
    struct lane_span span = {
        .kind = LANE_LATCHED, .entry = index, .task = task, .slot_count = 1, .attempt = number
    };
    span.from = from;
    span.to = earlier_of(failed.end_ns, to);
    add_span(spans, span);
    span.from = span.to;
    span.to = earlier_of(earlier_of(failed.parked_ns, failed.ready_ns), to);
    span.kind = LANE_RETRYING;
    add_span(spans, span);
    span.from = span.to;
    span.to = earlier_of(failed.ready_ns, to);
    span.kind = LANE_PARKED;
    add_span(spans, span);
    span.from = span.to;
    span.to = to;
    span.kind = LANE_READY;
    add_span(spans, span);
}

/* Adds the spans of a cut's entry: ready until the visit, the visit, and what follows if it has
 * failed. Returns the end of the last one. */
static uint64_t add_visits(const struct model *model, struct lane_spans *spans, size_t index)
{
    const lanepool_replay_entry *entry = &model->replay->entries[index];
    struct model_visits visits = model_visits_of(model, index);
    uint64_t end = end_of_entry(model, entry), from = entry->arrive_ns;
    bool has_failed = false;
    if (from == LANEPOOL_REPLAY_UNSEEN) {
        return 0;
    }
    for (size_t i = 0; i <= visits.count; i++) {
        uint64_t next = i < visits.count ? earlier_of(visits.items[i].from, end) : end;
        struct lane_span span = { .from = from,
                                  .to = next,
                                  .kind = LANE_READY,
                                  .entry = index,
                                  .task = entry->task,
                                  .slot_count = 1 };
        if (has_failed) {
            add_after_failed_visit(model, spans, index, from, next);
        } else if (i == 0) {
            add_span(spans, span);
        }
        if (i == visits.count) {
            break;
        }
        span.from = next;
        span.to = earlier_of(visits.items[i].to, end);
        span.kind = LANE_VISITED;
        span.attempt = i;
        add_span(spans, span);
        from = span.to;
        has_failed = visits.items[i].has_failed;
    }
    return end;
}

/* --- lanes --- */

void spans_of_lane(const struct model *model, size_t index, struct lane_spans *spans)
{
    uint64_t last = 0; /* a run whose start was missed is drawn from the end of the previous run */
    spans->count = 0;
    size_t number = model->replay->lanes[index].first_entry;
    for (; number != LANEPOOL_REPLAY_NONE; number = model->replay->entries[number].next_of_lane) {
        const lanepool_replay_entry *entry = &model->replay->entries[number];
        uint64_t from, to;
        if (model->replay->tasks[entry->task].is_cut) {
            uint64_t end = add_visits(model, spans, number);
            last = end > last ? end : last;
            continue;
        }
        bool ran = spans_of_attempt(model, entry->task, 0, last, &from, &to);
        add_before_run(model, spans, number, ran ? from : end_of_entry(model, entry));
        for (size_t k = 0; k <= model->replay->tasks[entry->task].failed_count; k++) {
            last = add_attempt(model, spans, number, k, last);
            if (k < model->replay->tasks[entry->task].failed_count) {
                uint64_t end = add_after_attempt(model, spans, number, k);
                last = end > last ? end : last;
            }
        }
    }
}
