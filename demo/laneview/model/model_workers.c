/* Owns what workers do, and why they do nothing. */
#include "memory.h"
#include "model/model_internal.h"

/* Chains of waiting tasks are followed up to this length. Only damaged files have longer ones. */
#define CHAIN_MAX 1000

void model_push_run(struct model *model, unsigned index, size_t task)
{
    struct model_worker *worker = &model->workers[index];
    worker->stack = memory_grow(worker->stack, &worker->stack_capacity, worker->depth + 1,
                                sizeof *worker->stack);
    worker->stack[worker->depth++] = task;
}

/* Takes a task off the stack of its worker. The tasks above ran inside it: they are over, too,
 * and their END was missed. */
void model_pop_run(struct model *model, size_t task)
{
    uint16_t thread = model->tasks[task].thread;
    if (thread >= model->recording->worker_count) {
        return;
    }
    struct model_worker *worker = &model->workers[thread];
    for (size_t depth = worker->depth; depth > 0; depth--) {
        if (worker->stack[depth - 1] == task) {
            worker->depth = depth - 1;
            return;
        }
    }
}

/* Returns the task in front of an entry: the head of its lane, or the task that it waits for. */
static size_t task_in_front(const struct model *model, const struct model_entry *entry)
{
    if (entry->lane != MODEL_NONE) {
        size_t head = model->lanes[entry->lane].first_open;
        size_t task = head == MODEL_NONE ? MODEL_NONE : model->entries[head].task;
        return task == entry->task ? MODEL_NONE : task;
    }
    size_t task = entry->object_type == LANEPOOL_EVENT_LANE_TASK
                      ? map_get(&model->tickets, 0, entry->object)
                      : MAP_NONE;
    return task != MAP_NONE && model->tasks[task].state < MODEL_ENDED ? task : MODEL_NONE;
}

/* Returns the first task that a waiting task waits for. */
static size_t find_blocker(const struct model *model, const struct model_task *task)
{
    size_t index = task->first_entry;
    for (; index != MODEL_NONE; index = model->entries[index].next_of_task) {
        const struct model_entry *entry = &model->entries[index];
        if (entry->arrive == MODEL_UNSEEN && entry->release == MODEL_UNSEEN) {
            size_t front = task_in_front(model, entry);
            if (front != MODEL_NONE) {
                return front;
            }
        }
    }
    return MODEL_NONE;
}

static enum model_state state_of_holder(const struct model *model, size_t holder)
{
    enum model_state state = model->tasks[holder].state;
    return state == MODEL_RETRYING || state == MODEL_PARKED ? state : MODEL_RUNNING;
}

static struct model_span make_idle_span(enum model_span_kind kind)
{
    return (struct model_span){ .kind = kind, .task = MODEL_NONE, .holder = MODEL_NONE };
}

/* Follows a chain of waiting tasks. The span has the first latched rollup on the way, and the
 * last task as holder. */
static struct model_span make_blocked_span(const struct model *model, size_t task)
{
    struct model_span cause = { .kind = MODEL_BLOCKED, .task = MODEL_NONE, .holder = task };
    for (unsigned followed = 0; followed < CHAIN_MAX; followed++) {
        const struct model_task *waiter = &model->tasks[cause.holder];
        size_t next = waiter->state == MODEL_WAITING ? find_blocker(model, waiter) : MODEL_NONE;
        if (cause.task == MODEL_NONE && waiter->state == MODEL_WAITING && model_is_rollup(waiter) &&
            waiter->arrived > 0) {
            cause.task = cause.holder;
        }
        if (next == MODEL_NONE) {
            break;
        }
        cause.holder = next;
    }
    cause.holder_state = state_of_holder(model, cause.holder);
    return cause;
}

/* The span of a worker when no task waits in lanes: a failed task is still pending. */
static struct model_span blocked_by_failed_task(const struct model *model)
{
    size_t task = model->retrying.first != MODEL_NONE ? model->retrying.first : model->parked.first;
    return task == MODEL_NONE ? make_idle_span(MODEL_NO_WORK) : make_blocked_span(model, task);
}

/* With lanes per worker, a worker only runs tasks of its own lane. */
static size_t head_of_own_lane(const struct model *model, size_t worker)
{
    size_t alias = map_get(&model->lane_aliases, LANEPOOL_EVENT_LANE_WORKER, worker);
    size_t lane = alias == MAP_NONE ? MODEL_NONE : model->aliases[alias].lane;
    size_t head = lane == MODEL_NONE ? MODEL_NONE : model->lanes[lane].first_open;
    return head == MODEL_NONE ? MODEL_NONE : model->entries[head].task;
}

struct model_span model_cause(const struct model *model, size_t index)
{
    const struct model_worker *worker = &model->workers[index];
    enum model_span_kind about_to = worker->is_asleep ? MODEL_SLEEPS : MODEL_SEARCHES;
    size_t ready = model->counts[MODEL_READY];
    if (worker->depth > 0) {
        return (struct model_span){ .kind = MODEL_RUNS,
                                    .task = worker->stack[worker->depth - 1],
                                    .holder = MODEL_NONE };
    }
    if (model->recording->layout == LANEPOOL_PER_WORKER) {
        size_t head = head_of_own_lane(model, index);
        if (head != MODEL_NONE) {
            return model->tasks[head].state == MODEL_READY ? make_idle_span(about_to)
                                                           : make_blocked_span(model, head);
        }
        ready = 0; /* these are for other workers */
    }
    if (ready + model->counts[MODEL_SUBMITTED] > 0) {
        return make_idle_span(about_to);
    }
    return model->waiting.first == MODEL_NONE ? blocked_by_failed_task(model)
                                              : make_blocked_span(model, model->waiting.first);
}

static bool is_same_activity(const struct model_span *a, const struct model_span *b)
{
    return a->kind == b->kind && a->task == b->task && a->holder == b->holder &&
           a->holder_state == b->holder_state;
}

static void begin_span(struct model *model, struct model_worker *worker, struct model_span span)
{
    struct model_span *last = worker->span_count ? &worker->spans[worker->span_count - 1] : NULL;
    if (last && is_same_activity(last, &span)) {
        return;
    }
    if (last && last->from == model->now) {
        worker->span_count--; /* the span had no length */
        last = worker->span_count ? last - 1 : NULL;
        if (last && is_same_activity(last, &span)) {
            worker->ended_ns[last->kind] -= last->to - last->from;
            last->to = MODEL_UNSEEN;
            return;
        }
    }
    if (last && last->to == MODEL_UNSEEN) {
        last->to = model->now;
        worker->ended_ns[last->kind] += last->to - last->from;
    }
    worker->spans = memory_grow(worker->spans, &worker->span_capacity, worker->span_count + 1,
                                sizeof *worker->spans);
    span.from = model->now;
    span.to = MODEL_UNSEEN;
    worker->spans[worker->span_count++] = span;
}

void model_update_workers(struct model *model)
{
    for (size_t i = 0; i < model->recording->worker_count; i++) {
        begin_span(model, &model->workers[i], model_cause(model, i));
    }
}

uint64_t model_worker_ns(const struct model *model, size_t index, unsigned kind)
{
    const struct model_worker *worker = &model->workers[index];
    const struct model_span *last = &worker->spans[worker->span_count - 1];
    return worker->ended_ns[kind] + (last->kind == kind ? model->now - last->from : 0);
}
