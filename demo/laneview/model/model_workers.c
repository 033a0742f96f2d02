/* Owns what workers do, and why they do nothing. */
#include "memory.h"
#include "model/model_internal.h"

/* Chains of waiting tasks are followed up to this length. Only damaged files have longer ones. */
#define CHAIN_MAX 1000

static lanepool_replay_state state_of_holder(const struct model *model, size_t holder)
{
    lanepool_replay_state state = model->replay->tasks[holder].state;
    return state == LANEPOOL_REPLAY_RETRYING || state == LANEPOOL_REPLAY_PARKED
               ? state
               : LANEPOOL_REPLAY_RUNNING;
}

static struct model_span make_idle_span(enum model_span_kind kind)
{
    return (struct model_span){ .kind = kind,
                                .task = LANEPOOL_REPLAY_NONE,
                                .entry = LANEPOOL_REPLAY_NONE,
                                .holder = LANEPOOL_REPLAY_NONE };
}

static struct model_span make_run_span(size_t task, size_t entry)
{
    return (struct model_span){
        .kind = MODEL_RUNS, .task = task, .entry = entry, .holder = LANEPOOL_REPLAY_NONE
    };
}

/* Follows a chain of waiting tasks. The span has the first latched rollup on the way, and the
 * last task as holder. A task behind a cut waits for the visit of its lane, not for what the cut
 * waits for in other lanes. */
static struct model_span make_blocked_span(const struct model *model, size_t task)
{
    struct model_span cause = { .kind = MODEL_BLOCKED,
                                .task = LANEPOOL_REPLAY_NONE,
                                .entry = LANEPOOL_REPLAY_NONE,
                                .holder = task };
    for (unsigned followed = 0; followed < CHAIN_MAX; followed++) {
        const lanepool_replay_task *waiter = &model->replay->tasks[cause.holder];
        size_t next = lanepool_replay_blocker(model->replay, cause.holder);
        if (cause.task == LANEPOOL_REPLAY_NONE && waiter->state == LANEPOOL_REPLAY_WAITING &&
            model_is_rollup(waiter) && waiter->arrived > 0) {
            cause.task = cause.holder;
        }
        if (next == LANEPOOL_REPLAY_NONE) {
            break;
        }
        cause.holder = next;
        if (model->replay->tasks[next].is_cut) {
            break;
        }
    }
    cause.holder_state = state_of_holder(model, cause.holder);
    return cause;
}

/* Returns the first task that waits in a lane. A cut that has been granted all of its lanes waits
 * for its visits only. */
static size_t first_waiting(const struct model *model)
{
    size_t i = model->replay->first[LANEPOOL_REPLAY_WAITING];
    while (i != LANEPOOL_REPLAY_NONE && model->replay->tasks[i].is_cut &&
           model->replay->tasks[i].arrived == model->replay->tasks[i].entry_count) {
        i = model->replay->tasks[i].next;
    }
    return i;
}

/* The span of a worker when no task waits in lanes: a failed task is still pending. */
static struct model_span blocked_by_failed_task(const struct model *model)
{
    size_t task = model->replay->first[LANEPOOL_REPLAY_RETRYING] != LANEPOOL_REPLAY_NONE
                      ? model->replay->first[LANEPOOL_REPLAY_RETRYING]
                      : model->replay->first[LANEPOOL_REPLAY_PARKED];
    return task == LANEPOOL_REPLAY_NONE ? make_idle_span(MODEL_NO_WORK)
                                        : make_blocked_span(model, task);
}

/* With lanes per worker, a worker only runs tasks of its own lane. */
static size_t head_of_own_lane(const struct model *model, size_t worker)
{
    const lanepool_replay *replay = model->replay;
    size_t lane = lanepool_replay_lane_of(replay, LANEPOOL_EVENT_LANE_WORKER, worker);
    size_t head = lane == LANEPOOL_REPLAY_NONE ? lane : replay->lanes[lane].first_open;
    return head == LANEPOOL_REPLAY_NONE ? head : replay->entries[head].task;
}

struct model_span model_cause(const struct model *model, size_t index)
{
    lanepool_replay_worker worker = index < model->replay->worker_count
                                        ? model->replay->workers[index]
                                        : (lanepool_replay_worker){ .task = LANEPOOL_REPLAY_NONE,
                                                                    .visit = LANEPOOL_REPLAY_NONE };
    enum model_span_kind about_to = worker.asleep ? MODEL_SLEEPS : MODEL_SEARCHES;
    size_t ready = model->replay->counts[LANEPOOL_REPLAY_READY] + model->replay->to_visit;
    if (worker.visit != LANEPOOL_REPLAY_NONE) {
        return make_run_span(model->replay->entries[worker.visit].task, worker.visit);
    }
    if (worker.task != LANEPOOL_REPLAY_NONE) {
        return make_run_span(worker.task, LANEPOOL_REPLAY_NONE);
    }
    if (model->recording->layout == LANEPOOL_PER_WORKER) {
        size_t head = head_of_own_lane(model, index);
        if (head != LANEPOOL_REPLAY_NONE) {
            return model->replay->tasks[head].state == LANEPOOL_REPLAY_READY
                       ? make_idle_span(about_to)
                       : make_blocked_span(model, head);
        }
        ready = 0; /* these are for other workers */
    }
    if (ready + model->replay->counts[LANEPOOL_REPLAY_SUBMITTED] > 0) {
        return make_idle_span(about_to);
    }
    size_t waiting = first_waiting(model);
    return waiting == LANEPOOL_REPLAY_NONE ? blocked_by_failed_task(model)
                                           : make_blocked_span(model, waiting);
}

static bool is_same_activity(const struct model_span *a, const struct model_span *b)
{
    return a->kind == b->kind && a->task == b->task && a->entry == b->entry &&
           a->holder == b->holder && a->holder_state == b->holder_state;
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
            last->to = LANEPOOL_REPLAY_UNSEEN;
            return;
        }
    }
    if (last && last->to == LANEPOOL_REPLAY_UNSEEN) {
        last->to = model->now;
        worker->ended_ns[last->kind] += last->to - last->from;
    }
    if (!model->has_history) {
        worker->span_count = 0; /* the sums remain */
    }
    worker->spans = memory_grow(worker->spans, &worker->span_capacity, worker->span_count + 1,
                                sizeof *worker->spans);
    span.from = model->now;
    span.to = LANEPOOL_REPLAY_UNSEEN;
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
