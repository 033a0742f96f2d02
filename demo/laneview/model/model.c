/* Owns the life of tasks: which event moves which task from one state to the next. */
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
                             .kept = { MODEL_NONE, MODEL_NONE } };
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

struct model_list *model_list_of(struct model *model, enum model_state state)
{
    switch (state) {
    case MODEL_SUBMITTED:
        return &model->submitted;
    case MODEL_WAITING:
        return &model->waiting;
    case MODEL_RETRYING:
        return &model->retrying;
    case MODEL_KEPT:
        return &model->kept;
    default:
        return NULL;
    }
}

static void append(struct model *model, struct model_list *list, size_t task)
{
    model->tasks[task].previous = list->last;
    model->tasks[task].next = MODEL_NONE;
    *(list->last == MODEL_NONE ? &list->first : &model->tasks[list->last].next) = task;
    list->last = task;
}

static void take_out(struct model *model, struct model_list *list, size_t task)
{
    size_t previous = model->tasks[task].previous, next = model->tasks[task].next;
    *(previous == MODEL_NONE ? &list->first : &model->tasks[previous].next) = next;
    *(next == MODEL_NONE ? &list->last : &model->tasks[next].previous) = previous;
}

static size_t new_task(struct model *model)
{
    model->tasks = memory_grow(model->tasks, &model->task_capacity, model->task_count + 1,
                               sizeof *model->tasks);
    model->tasks[model->task_count] = (struct model_task){ .state = MODEL_SUBMITTED,
                                                           .submit = MODEL_UNSEEN,
                                                           .route = MODEL_UNSEEN,
                                                           .ready = MODEL_UNSEEN,
                                                           .start = MODEL_UNSEEN,
                                                           .end = MODEL_UNSEEN,
                                                           .submitter = UINT16_MAX,
                                                           .thread = LANEPOOL_EVENT_OUTSIDE,
                                                           .first_entry = MODEL_NONE,
                                                           .last_entry = MODEL_NONE };
    model->counts[MODEL_SUBMITTED]++;
    append(model, &model->submitted, model->task_count);
    return model->task_count++;
}

static void give_ticket(struct model *model, size_t task, uint64_t ticket)
{
    model->tasks[task].ticket = ticket;
    model->tasks[task].has_ticket = true;
    map_set(&model->tickets, 0, ticket, task);
}

/* The task with a ticket; one that was never seen before begins here. */
static size_t task_of(struct model *model, uint64_t ticket)
{
    size_t task = map_get(&model->tickets, 0, ticket);
    if (task == MAP_NONE) {
        task = new_task(model);
        give_ticket(model, task, ticket);
    }
    return task;
}

static size_t latched_entries(const struct model_task *task)
{
    return task->state == MODEL_WAITING && model_is_rollup(task) ? task->arrived : 0;
}

void model_move(struct model *model, size_t task, enum model_state state)
{
    struct model_task *moved = &model->tasks[task];
    model->latched -= latched_entries(moved);
    if (model_list_of(model, moved->state)) {
        take_out(model, model_list_of(model, moved->state), task);
    }
    model->counts[moved->state]--;
    model->counts[state]++;
    moved->state = state;
    if (model_list_of(model, state)) {
        append(model, model_list_of(model, state), task);
    }
}

static bool has_failed(const struct model_task *task)
{
    return task->state == MODEL_RETRYING || task->state == MODEL_KEPT;
}

/* Tasks only go forward, but for those that are tried again: false, and nothing done, if it is
 * there already or further. */
static bool advance(struct model *model, size_t task, enum model_state state)
{
    struct model_task *advanced = &model->tasks[task];
    bool is_tried_again = has_failed(advanced) && state >= MODEL_READY && state < MODEL_ENDED;
    if (state <= advanced->state && !is_tried_again) {
        return false;
    }
    if (is_tried_again) {
        advanced->failed[advanced->failed_count - 1].again = model->now;
    }
    model_move(model, task, state);
    return true;
}

void model_arrive_everywhere(struct model *model, size_t task)
{
    size_t entry = model->tasks[task].first_entry;
    for (; entry != MODEL_NONE; entry = model->entries[entry].next_of_task) {
        model_arrive(model, entry);
    }
}

void model_give_up(struct model *model, size_t task)
{
    if (model->tasks[task].state < MODEL_ENDED && advance(model, task, MODEL_CANCELLED)) {
        model_pop_run(model, task);
    }
    size_t entry = model->tasks[task].first_entry;
    for (; entry != MODEL_NONE; entry = model->entries[entry].next_of_task) {
        model_release(model, entry);
    }
}

static void take_submit(struct model *model, const lanepool_event *event)
{
    size_t before = map_get(&model->submissions, 0, event->object);
    if (before != MAP_NONE && model->tasks[before].state < MODEL_ENDED) {
        model_give_up(model, before); /* numbers are only used again when their task is over */
    }
    size_t task = new_task(model);
    model->tasks[task].submit = model->now;
    model->tasks[task].submitter = event->thread;
    map_set(&model->submissions, 0, event->object, task);
}

/* A thread's tasks are accepted in the order of its submits: what it submitted before has been
 * routed, too, even if that was not seen. */
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
        task = new_task(model);
        map_set(&model->submissions, 0, event->object, task);
    }
    size_t before = map_get(&model->tickets, 0, event->task);
    if (before != MAP_NONE && model->tasks[before].state < MODEL_ENDED) {
        model_give_up(model, before); /* tickets have begun again, and its end was missed */
    }
    give_ticket(model, task, event->task);
    model->tasks[task].route = model->now;
    model->tasks[task].tag = (uint8_t)event->detail;
    give_up_submitted_before(model, task);
    advance(model, task, MODEL_WAITING);
}

static void take_enter(struct model *model, const lanepool_event *event)
{
    size_t task = task_of(model, event->task);
    advance(model, task, MODEL_WAITING);
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
    size_t task = task_of(model, event->task);
    advance(model, task, MODEL_WAITING);
    size_t entry = model_find_entry(model, task, event);
    model_arrive(model, entry == MODEL_NONE ? model_add_entry(model, task, event, true) : entry);
}

static void take_ready(struct model *model, const lanepool_event *event)
{
    size_t task = task_of(model, event->task);
    if (advance(model, task, MODEL_READY) && model->tasks[task].failed_count == 0) {
        model->tasks[task].ready = model->now;
        model_arrive_everywhere(model, task);
    }
}

static void take_start(struct model *model, const lanepool_event *event)
{
    size_t task = task_of(model, event->task);
    if (advance(model, task, MODEL_RUNNING)) {
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
    model_fail(model, task_of(model, event->task), event);
}

static void take_end(struct model *model, const lanepool_event *event)
{
    size_t task = task_of(model, event->task);
    if (advance(model, task, MODEL_ENDED)) {
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
    size_t task = task_of(model, event->task);
    bool is_early = (event->detail & LANEPOOL_EVENT_EARLY) != 0;
    if (!is_early && advance(model, task, MODEL_ENDED)) {
        model_pop_run(model, task); /* its END was missed */
        model->tasks[task].end = model->now;
    }
    size_t entry = model_find_entry(model, task, event);
    model_release(model, entry == MODEL_NONE ? model_add_entry(model, task, event, true) : entry);
}

/* Without a ticket it was refused: then its submission tells which it is. */
static void take_cancel(struct model *model, const lanepool_event *event)
{
    size_t task = MAP_NONE;
    if (event->task == 0 && event->object != 0) {
        task = map_get(&model->submissions, 0, event->object);
    }
    if (task == MAP_NONE || model->tasks[task].state != MODEL_SUBMITTED) {
        task = task_of(model, event->task);
    }
    model_give_up(model, task);
}

static void apply(struct model *model, const lanepool_event *event)
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
    case LANEPOOL_EVENT_KEEP:
        take_failure(model, event);
        break;
    case LANEPOOL_EVENT_NAME:
        model_name_lane(model, event);
        break;
    case LANEPOOL_EVENT_STEAL:
    case LANEPOOL_EVENT_PARK:
    case LANEPOOL_EVENT_WAKE:
        break; /* these are about workers alone */
    }
}

/* Whatever a worker does but PARK shows that it is awake. */
static void watch_worker(struct model *model, const lanepool_event *event)
{
    if (event->thread >= model->recording->worker_count) {
        return;
    }
    struct model_worker *worker = &model->workers[event->thread];
    worker->is_asleep = event->type == LANEPOOL_EVENT_PARK;
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
    watch_worker(model, event);
    apply(model, event);
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

size_t model_pending(const struct model *model)
{
    size_t count = 0;
    for (unsigned state = 0; state < MODEL_ENDED; state++) {
        count += model->counts[state];
    }
    return count;
}
