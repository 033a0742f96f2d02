/* Owns the feeding of events, and what was before: attempts, and arrivals at a time. */
#include "model/model.h"

#include <stdlib.h>

#include "memory.h"
#include "model/model_internal.h"

void model_init(struct model *model, const struct recording *recording, bool has_history)
{
    unsigned keep = LANEPOOL_REPLAY_LANES | (has_history ? LANEPOOL_REPLAY_TASKS : 0);
    *model = (struct model){ .recording = recording, .has_history = has_history };
    if (lanepool_replay_create(keep, &model->replay) != LANEPOOL_OK) {
        memory_fail();
    }
    model->workers = memory_zeroed(recording->worker_count, sizeof *model->workers);
    model_update_workers(model);
}

void model_fini(struct model *model)
{
    for (size_t i = 0; i < model->lane_count; i++) {
        free(model->lanes[i].name);
    }
    for (size_t i = 0; i < model->recording->worker_count; i++) {
        free(model->workers[i].spans);
    }
    for (size_t i = 0; i < model->attempts_count; i++) {
        free(model->attempts[i].items);
    }
    for (size_t i = 0; i < model->visits_count; i++) {
        free(model->visits[i].items);
    }
    free(model->attempts);
    free(model->visits);
    free(model->lanes);
    free(model->workers);
    lanepool_replay_destroy(model->replay);
}

/* Copies the last failed attempt, to which the event may have added something. */
static void update_attempts(struct model *model, size_t index)
{
    const lanepool_replay_task *task = &model->replay->tasks[index];
    while (model->attempts_count <= index) {
        model->attempts = memory_grow(model->attempts, &model->attempts_capacity,
                                      model->attempts_count + 1, sizeof *model->attempts);
        model->attempts[model->attempts_count++] = (struct model_attempts){ 0 };
    }
    if (task->failed_count > 0) {
        struct model_attempts *attempts = &model->attempts[index];
        attempts->items = memory_grow(attempts->items, &attempts->capacity, task->failed_count,
                                      sizeof *attempts->items);
        attempts->items[task->failed_count - 1] = task->failed;
    }
}

static struct model_visits *visits_of_entry(struct model *model, size_t entry)
{
    while (model->visits_count <= entry) {
        model->visits = memory_grow(model->visits, &model->visits_capacity, model->visits_count + 1,
                                    sizeof *model->visits);
        model->visits[model->visits_count++] = (struct model_visits){ 0 };
    }
    return &model->visits[entry];
}

/* Adds a visit. If the end of the visit before it was missed, that visit ends now. */
static void begin_visit(struct model *model, struct model_visits *visits, uint64_t from,
                        uint16_t thread)
{
    struct model_visit *last = visits->count > 0 ? &visits->items[visits->count - 1] : NULL;
    if (last && last->to == LANEPOOL_REPLAY_UNSEEN) {
        last->to = model->now;
    }
    visits->items =
        memory_grow(visits->items, &visits->capacity, visits->count + 1, sizeof *visits->items);
    visits->items[visits->count++] =
        (struct model_visit){ .from = from, .to = LANEPOOL_REPLAY_UNSEEN, .thread = thread };
}

/* A visit whose begin was missed is taken to have begun when its lane was granted. */
static void end_visit(struct model *model, struct model_visits *visits, const lanepool_event *event)
{
    if (visits->count == 0 || visits->items[visits->count - 1].to != LANEPOOL_REPLAY_UNSEEN) {
        begin_visit(model, visits, model->replay->entries[model->replay->entry].arrive_ns,
                    event->thread);
    }
    visits->items[visits->count - 1].to = model->now;
    visits->items[visits->count - 1].has_failed = event->detail != LANEPOOL_OK;
}

static void update_visits(struct model *model, const lanepool_event *event)
{
    size_t entry = model->replay->entry;
    if (!model->has_history || entry == LANEPOOL_REPLAY_NONE) {
        return;
    }
    if (event->type == LANEPOOL_EVENT_VISIT) {
        begin_visit(model, visits_of_entry(model, entry), model->now, event->thread);
    } else if (event->type == LANEPOOL_EVENT_VISITED) {
        end_visit(model, visits_of_entry(model, entry), event);
    }
}

static void count_steals(struct model *model, const lanepool_event *event)
{
    if (event->type == LANEPOOL_EVENT_STEAL && event->thread < model->recording->worker_count) {
        model->workers[event->thread].steals++;
        model->workers[event->thread].stolen += event->detail;
    }
}

void model_advance(struct model *model, uint64_t time)
{
    if (time > model->now) {
        model->now = time;
    }
}

void model_feed(struct model *model, const lanepool_event *event)
{
    lanepool_event fed = *event;
    model_advance(model, event->time_ns - model->recording->zero_ns);
    fed.time_ns = model->now;
    if (lanepool_replay_feed(model->replay, &fed) != LANEPOOL_OK) {
        memory_fail();
    }
    count_steals(model, event);
    update_visits(model, event);
    if (model->replay->task != LANEPOOL_REPLAY_NONE) {
        update_attempts(model, model->replay->task);
    }
    model_update_lanes(model, event);
    model_update_workers(model);
}

size_t model_feed_until(struct model *model, size_t fed, uint64_t time)
{
    const struct recording *recording = model->recording;
    while (fed < recording->event_count &&
           recording->events[fed].time_ns - recording->zero_ns <= time) {
        model_feed(model, &recording->events[fed++]);
    }
    return fed;
}

/* --- questions --- */

size_t model_pending(const struct model *model)
{
    size_t count = 0;
    for (unsigned state = 0; state < LANEPOOL_REPLAY_ENDED; state++) {
        count += model->replay->counts[state];
    }
    return count;
}

lanepool_replay_attempt model_attempt(const struct model *model, size_t index, size_t number)
{
    const lanepool_replay_task *task = &model->replay->tasks[index];
    lanepool_replay_attempt last = { .start_ns = task->start_ns,
                                     .end_ns = task->end_ns,
                                     .thread = task->thread,
                                     .parked_ns = LANEPOOL_REPLAY_UNSEEN,
                                     .ready_ns = LANEPOOL_REPLAY_UNSEEN };
    return number < task->failed_count ? model->attempts[index].items[number] : last;
}

size_t model_attempt_at(const struct model *model, size_t task, uint64_t time)
{
    size_t number = model->replay->tasks[task].failed_count;
    while (number > 0 && model_attempt(model, task, number).start_ns > time) {
        number--;
    }
    return number;
}

unsigned model_arrived_at(const struct model *model, size_t task, uint64_t time)
{
    const lanepool_replay_entry *entries = model->replay->entries;
    unsigned arrived = 0;
    size_t entry = model->replay->tasks[task].first_entry;
    for (; entry != LANEPOOL_REPLAY_NONE; entry = entries[entry].next_of_task) {
        arrived += entries[entry].arrive_ns <= time;
    }
    return arrived;
}

unsigned model_entries_at(const struct model *model, size_t task, uint64_t time)
{
    const lanepool_replay_entry *entries = model->replay->entries;
    unsigned count = 0;
    size_t entry = model->replay->tasks[task].first_entry;
    for (; entry != LANEPOOL_REPLAY_NONE; entry = entries[entry].next_of_task) {
        count +=
            entries[entry].arrive_ns != LANEPOOL_REPLAY_UNSEEN || entries[entry].release_ns > time;
    }
    return count;
}
