/* Owns tasks: their states, and a list of the tasks in each state. */
#include "memory.h"
#include "model/model_internal.h"

struct model_list *model_list_of(struct model *model, enum model_state state)
{
    switch (state) {
    case MODEL_SUBMITTED:
        return &model->submitted;
    case MODEL_WAITING:
        return &model->waiting;
    case MODEL_RETRYING:
        return &model->retrying;
    case MODEL_PARKED:
        return &model->parked;
    default:
        return NULL;
    }
}

static void append_to_list(struct model *model, struct model_list *list, size_t task)
{
    model->tasks[task].previous = list->last;
    model->tasks[task].next = MODEL_NONE;
    *(list->last == MODEL_NONE ? &list->first : &model->tasks[list->last].next) = task;
    list->last = task;
}

static void remove_from_list(struct model *model, struct model_list *list, size_t task)
{
    size_t previous = model->tasks[task].previous, next = model->tasks[task].next;
    *(previous == MODEL_NONE ? &list->first : &model->tasks[previous].next) = next;
    *(next == MODEL_NONE ? &list->last : &model->tasks[next].previous) = previous;
}

size_t model_add_task(struct model *model)
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
    append_to_list(model, &model->submitted, model->task_count);
    return model->task_count++;
}

void model_give_ticket(struct model *model, size_t task, uint64_t ticket)
{
    model->tasks[task].ticket = ticket;
    model->tasks[task].has_ticket = true;
    map_set(&model->tickets, 0, ticket, task);
}

size_t model_task_of(struct model *model, uint64_t ticket)
{
    size_t task = map_get(&model->tickets, 0, ticket);
    if (task == MAP_NONE) {
        task = model_add_task(model);
        model_give_ticket(model, task, ticket);
    }
    return task;
}

static size_t count_latched_entries(const struct model_task *task)
{
    return task->state == MODEL_WAITING && model_is_rollup(task) ? task->arrived : 0;
}

void model_set_state(struct model *model, size_t task, enum model_state state)
{
    struct model_task *moved = &model->tasks[task];
    model->latched -= count_latched_entries(moved);
    if (model_list_of(model, moved->state)) {
        remove_from_list(model, model_list_of(model, moved->state), task);
    }
    model->counts[moved->state]--;
    model->counts[state]++;
    moved->state = state;
    if (model_list_of(model, state)) {
        append_to_list(model, model_list_of(model, state), task);
    }
}

static bool has_failed(const struct model_task *task)
{
    return task->state == MODEL_RETRYING || task->state == MODEL_PARKED;
}

bool model_advance_task(struct model *model, size_t task, enum model_state state)
{
    struct model_task *advanced = &model->tasks[task];
    bool is_tried_again = has_failed(advanced) && state >= MODEL_READY && state < MODEL_ENDED;
    if (state <= advanced->state && !is_tried_again) {
        return false;
    }
    if (is_tried_again) {
        advanced->failed[advanced->failed_count - 1].ready_again = model->now;
    }
    model_set_state(model, task, state);
    return true;
}

size_t model_pending(const struct model *model)
{
    size_t count = 0;
    for (unsigned state = 0; state < MODEL_ENDED; state++) {
        count += model->counts[state];
    }
    return count;
}
