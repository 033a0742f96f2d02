/* Owns the events: each moves a task from one state to the next. */
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "model/model_internal.h"

void model_init(struct model *model, const struct recording *recording)
{
    *model = (struct model){ .recording = recording,
                             .submitted = { MODEL_NONE, MODEL_NONE },
                             .waiting = { MODEL_NONE, MODEL_NONE },
                             .retrying = { MODEL_NONE, MODEL_NONE },
                             .parked = { MODEL_NONE, MODEL_NONE } };
    model->workers = memory_zeroed(recording->worker_count, sizeof *model->workers);
    model_update_workers(model);
}

void model_fini(struct model *model)
{
    for (size_t i = 0; i < model->lane_count; i++) {
        free(model->lanes[i].name);
        free(model->lanes[i].entries);
        free(model->lanes[i].depths);
    }
    for (size_t i = 0; i < model->recording->worker_count; i++) {
        free(model->workers[i].stack);
        free(model->workers[i].spans);
    }
    for (size_t i = 0; i < model->task_count; i++) {
        free(model->tasks[i].failed);
    }
    free(model->tasks);
    free(model->entries);
    free(model->lanes);
    free(model->aliases);
    free(model->workers);
    map_fini(&model->tickets);
    map_fini(&model->submissions);
    map_fini(&model->lane_aliases);
}

static void take_submit(struct model *model, const lanepool_event *event)
{
    size_t before = map_get(&model->submissions, 0, event->object);
    if (before != MAP_NONE && model->tasks[before].state < MODEL_ENDED) {
        model_give_up(model, before); /* a number is reused only after its task is over */
    }
    size_t task = model_add_task(model);
    model->tasks[task].submit = model->now;
    model->tasks[task].submitter = event->thread;
    map_set(&model->submissions, 0, event->object, task);
}

/* Gives up the tasks that the same thread submitted before and that are not routed yet. Tasks of
 * a thread are routed in the order of their submits, so these have been routed, too: the event
 * was missed. */
static void give_up_submitted_before(struct model *model, size_t task)
{
    size_t before = model->submitted.first;
    while (before != task && before != MODEL_NONE) {
        size_t next = model->tasks[before].next;
        if (model->tasks[before].submitter == model->tasks[task].submitter) {
            model_give_up(model, before);
        }
        before = next;
    }
}

static void take_route(struct model *model, const lanepool_event *event)
{
    size_t task = map_get(&model->submissions, 0, event->object);
    if (task == MAP_NONE || model->tasks[task].state != MODEL_SUBMITTED ||
        model->tasks[task].has_ticket) {
        task = model_add_task(model);
        map_set(&model->submissions, 0, event->object, task);
    }
    size_t before = map_get(&model->tickets, 0, event->task);
    if (before != MAP_NONE && model->tasks[before].state < MODEL_ENDED) {
        model_give_up(model, before); /* tickets have begun again, and this task's END was missed */
    }
    model_give_ticket(model, task, event->task);
    model->tasks[task].route = model->now;
    model->tasks[task].tag = (uint8_t)event->detail;
    give_up_submitted_before(model, task);
    model_advance_task(model, task, MODEL_WAITING);
}

static void take_enter(struct model *model, const lanepool_event *event)
{
    size_t task = model_task_of(model, event->task);
    model_advance_task(model, task, MODEL_WAITING);
    size_t entry = model_find_entry(model, task, event);
    if (entry == MODEL_NONE) {
        entry = model_add_entry(model, task, event, false);
        model->entries[entry].enter = model->now;
        model->entries[entry].shared = (event->detail & LANEPOOL_EVENT_SHARED) != 0;
    }
    if ((event->detail & LANEPOOL_EVENT_GRANTED) != 0) {
        model_arrive(model, entry);
    }
}

static void take_arrive(struct model *model, const lanepool_event *event)
{
    size_t task = model_task_of(model, event->task);
    model_advance_task(model, task, MODEL_WAITING);
    size_t entry = model_find_entry(model, task, event);
    model_arrive(model, entry == MODEL_NONE ? model_add_entry(model, task, event, true) : entry);
}

static void take_ready(struct model *model, const lanepool_event *event)
{
    size_t task = model_task_of(model, event->task);
    if (model_advance_task(model, task, MODEL_READY) && model->tasks[task].failed_count == 0) {
        model->tasks[task].ready = model->now;
        model_arrive_everywhere(model, task);
    }
}

static void take_start(struct model *model, const lanepool_event *event)
{
    size_t task = model_task_of(model, event->task);
    if (model_advance_task(model, task, MODEL_RUNNING)) {
        model->tasks[task].start = model->now;
        model->tasks[task].thread = event->thread;
        model_arrive_everywhere(model, task);
        if (event->thread < LANEPOOL_EVENT_OUTSIDE) {
            model_push_run(model, event->thread, task);
        }
    }
}

static void take_failure(struct model *model, const lanepool_event *event)
{
    model_fail(model, model_task_of(model, event->task), event);
}

static void take_end(struct model *model, const lanepool_event *event)
{
    size_t task = model_task_of(model, event->task);
    if (model_advance_task(model, task, MODEL_ENDED)) {
        model_pop_run(model, task);
        model->tasks[task].end = model->now;
        model->tasks[task].status = event->detail;
        if (model->tasks[task].start == MODEL_UNSEEN) {
            model->tasks[task].thread = event->thread;
        }
        model_arrive_everywhere(model, task);
    }
}

static void take_release(struct model *model, const lanepool_event *event)
{
    size_t task = model_task_of(model, event->task);
    bool is_early = (event->detail & LANEPOOL_EVENT_EARLY) != 0;
    if (!is_early && model_advance_task(model, task, MODEL_ENDED)) {
        model_pop_run(model, task); /* its END was missed */
        model->tasks[task].end = model->now;
    }
    size_t entry = model_find_entry(model, task, event);
    model_release(model, entry == MODEL_NONE ? model_add_entry(model, task, event, true) : entry);
}

/* Cancels a task. A task without a ticket was refused; its submission identifies it. */
static void take_cancel(struct model *model, const lanepool_event *event)
{
    size_t task = MAP_NONE;
    if (event->task == 0 && event->object != 0) {
        task = map_get(&model->submissions, 0, event->object);
    }
    if (task == MAP_NONE || model->tasks[task].state != MODEL_SUBMITTED) {
        task = model_task_of(model, event->task);
    }
    model_give_up(model, task);
}

static void apply_event(struct model *model, const lanepool_event *event)
{
    switch ((lanepool_event_type)event->type) {
    case LANEPOOL_EVENT_SUBMIT:
        take_submit(model, event);
        break;
    case LANEPOOL_EVENT_ROUTE:
        take_route(model, event);
        break;
    case LANEPOOL_EVENT_ENTER:
        take_enter(model, event);
        break;
    case LANEPOOL_EVENT_ARRIVE:
        take_arrive(model, event);
        break;
    case LANEPOOL_EVENT_READY:
        take_ready(model, event);
        break;
    case LANEPOOL_EVENT_START:
        take_start(model, event);
        break;
    case LANEPOOL_EVENT_END:
        take_end(model, event);
        break;
    case LANEPOOL_EVENT_RELEASE:
        take_release(model, event);
        break;
    case LANEPOOL_EVENT_CANCEL:
        take_cancel(model, event);
        break;
    case LANEPOOL_EVENT_RETRY:
    case LANEPOOL_EVENT_PARK:
        take_failure(model, event);
        break;
    case LANEPOOL_EVENT_NAME:
        model_name_lane(model, event);
        break;
    case LANEPOOL_EVENT_STEAL:
    case LANEPOOL_EVENT_SLEEP:
    case LANEPOOL_EVENT_WAKE:
        break; /* about workers only */
    }
}

/* Notes whether a worker sleeps. Every event of a worker except SLEEP shows that it is awake. */
static void note_worker_state(struct model *model, const lanepool_event *event)
{
    if (event->thread >= model->recording->worker_count) {
        return;
    }
    struct model_worker *worker = &model->workers[event->thread];
    worker->is_asleep = event->type == LANEPOOL_EVENT_SLEEP;
    if (event->type == LANEPOOL_EVENT_STEAL) {
        worker->steals++;
        worker->stolen += event->detail;
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
    model_advance(model, event->time_ns - model->recording->zero_ns);
    note_worker_state(model, event);
    apply_event(model, event);
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
