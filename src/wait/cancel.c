/*
 * Owns cancelling: deciding that a task never starts, its one call, and making
 * a mark of it.
 *
 * Who decides. A task with a future: the future's `cancelled` against `started`,
 * under its lock. When several are cancelled at once, also those without: the
 * task's MARK against STARTED, by the role's holder while the pool is watched
 * (census.h). Whoever starts a task then sets STARTED by one atomic operation,
 * which tells it of a MARK; what had started before stands in its thread's list,
 * or, where it keeps its places for a while after that, its latch says so.
 * A MARK without STARTED says that the task's reference to its future is now the
 * canceller's; one with it, that the future has cancelled the task and knows the
 * mark, until that passes.
 *
 * What is left. Who cancels takes function, context and release out of the
 * block, which may go at any time. The mark's places go through their lanes like
 * any other's; a router that can have a rollup's lanes go on each by itself
 * (rule.h's `mark`) does so, told by a message that stands in the future.
 *
 * With a rule of the program's, which may be asked about the task until it is
 * marked by the role's holder, the release is called after that.
 */
#include "lanepool/cancel.h"

#include "base/planted.h"
#include "core/caller_runs.h"
#include "core/run.h"
#include "feature/barrier.h"
#include "feature/delay_every.h"
#include "feature/detach.h"
#include "feature/pump.h"
#include "feature/retry.h"
#include "observe/take_census.h"
#include "route/entries.h"
#include "route/lane_handle.h"
#include "route/pool.h"
#include "sequence/sequence.h"
#include "task/countdown.h"
#include "wait/cancel.h"

/* A task that is to be told: a copy of its front, without places. */
struct told {
    lanepool_i_task front;
    lanepool_release_fn release;
    lanepool_future *future; /* whose completion is the canceller's, or NULL */
};

static lanepool_release_fn release_of(const lanepool_i_task *task)
{
    return lanepool_i_task_is_wide(task) ? lanepool_i_periodic_release_of(task) : NULL;
}

static void copy_front(struct told *told, const lanepool_i_task *task, lanepool_release_fn release,
                       lanepool_future *future)
{
    told->front.function = task->function;
    told->front.context = task->context;
    uint64_t ticket = load_relaxed(&task->word) & LANEPOOL_I_TICKET_MASK;
    atomic_init(&told->front.word, ticket | LANEPOOL_I_TOMBSTONE);
    told->release = release;
    told->future = future;
}

static void tell(lanepool_pool *pool, lanepool_i_thread_record *record, struct told *told)
{
    record->callbacks++;
    lanepool_i_run_call_cancelled(pool, record, &told->front, told->future);
    record->callbacks--;
}

static void release_context(lanepool_i_thread_record *record, lanepool_release_fn release,
                            void *context)
{
    if (release == NULL)
        return;
    record->callbacks++;
    release(context);
    record->callbacks--;
}

/* --- one task, by its future --- */

/* NULL: it is complete, or that of a sequence's task. */
static lanepool_pool *pool_of(lanepool_future *future)
{
    lanepool_i_mutex_lock(&future->lock);
    lanepool_pool *pool = future->complete ? NULL : future->pool;
    lanepool_i_mutex_unlock(&future->lock);
    return pool;
}

/* The mark and the message have a reference each; the task's own goes when it completes. False: who
 * cancels several has just made a mark of it, and may have let it pass by now. */
static bool decide_locked(lanepool_pool *pool, lanepool_future *future, struct told *told)
{
    copy_front(told, future->task, release_of(future->task), future);
    if ((load_acquire(&future->task->word) & LANEPOOL_I_TOMBSTONE) != 0)
        return false;
    lanepool_i_lifecycle_begin_cancel(&pool->lifecycle);
    future->cancelled = true;
    future->mark = future->task;
    future->task = NULL;
    lanepool_future_retain(future);
    lanepool_future_retain(future);
    return true;
}

static lanepool_status decide(lanepool_pool *pool, lanepool_future *future, struct told *told)
{
    lanepool_status status = LANEPOOL_OK;
    if (!PLANTED(UNLOCKED))
        lanepool_i_mutex_lock(&future->lock);
    if (future->complete || future->cancelled) {
        status = LANEPOOL_DONE;
    } else if (future->started) {
        store_relaxed(&future->asked, true);
        status = LANEPOOL_RUNNING;
    } else if (!decide_locked(pool, future, told)) {
        status = LANEPOOL_DONE;
    }
    if (!PLANTED(UNLOCKED))
        lanepool_i_mutex_unlock(&future->lock);
    return status;
}

/* The mark stays while the lock is held: it is forgotten before it passes. */
static void mark_locked(lanepool_pool *pool, lanepool_i_thread_record *record,
                        lanepool_i_task *task, lanepool_i_grants *grants)
{
    lanepool_i_run_set_tombstone(record, task);
    if (pool->rule->mark != NULL && !lanepool_i_barrier_holds(&pool->router, task))
        pool->rule->mark(pool, task, grants);
}

static lanepool_future *future_of(lanepool_i_message *message)
{
    return (lanepool_future *)((char *)message - offsetof(lanepool_future, marking));
}

static void end_marking(lanepool_pool *pool, lanepool_i_thread_record *record,
                        lanepool_future *future)
{
    const lanepool_i_task *node = &future->marking.node;
    release_context(record, node->as.wide.release, node->context);
    lanepool_i_lifecycle_end_cancel(&pool->lifecycle);
    lanepool_future_release(future);
}

/* Role's holder. */
static void carry_out_marking(lanepool_pool *pool, lanepool_i_thread_record *record,
                              lanepool_i_message *message, lanepool_i_grants *grants)
{
    lanepool_future *future = future_of(message);
    lanepool_i_mutex_lock(&future->lock);
    if (future->mark != NULL)
        mark_locked(pool, record, future->mark, grants);
    lanepool_i_mutex_unlock(&future->lock);
    if (future->is_member)
        lanepool_i_pumps_give_tombstones(pool);
    lanepool_i_barrier_lift(pool, record, grants);
    end_marking(pool, record, future);
}

/* The cancel ends with the message, which calls the release if the rule may be asked until then. If
 * the pool is being handed back its end may wait for nothing else by now. */
static void send_marking(lanepool_pool *pool, lanepool_i_thread_record *record,
                         const struct told *told)
{
    lanepool_future *future = told->future;
    bool has_rule = pool->options.is_compatible != NULL;
    if (!has_rule)
        release_context(record, told->release, told->front.context);
    future->marking.node.context = told->front.context;
    future->marking.node.as.wide.release = has_rule ? told->release : NULL;
    future->marking.carry_out = carry_out_marking;
    future->marking.urgent = true;
    if (lanepool_i_router_send(pool, record, &future->marking))
        return;
    end_marking(pool, record, future);
    lanepool_i_lifecycle_attend(pool, record);
}

lanepool_status lanepool_future_cancel(lanepool_future *future)
{
    if (future == NULL)
        return LANEPOOL_INVALID;
    if (!lanepool_i_future_is_here(future))
        return LANEPOOL_FORKED;
    lanepool_pool *pool = pool_of(future);
    if (pool == NULL)
        return lanepool_i_sequence_cancel_task(future);
    lanepool_i_thread_record *record;
    lanepool_status entered = lanepool_i_pool_enter(pool, &record);
    if (entered != LANEPOOL_OK)
        return entered;
    if (lanepool_i_delays_cancel(pool, record, future))
        return LANEPOOL_OK;
    struct told told;
    lanepool_status status = decide(pool, future, &told);
    if (status == LANEPOOL_RUNNING)
        lanepool_i_retry_asked_to_stop(future);
    if (status != LANEPOOL_OK)
        return status;
    tell(pool, record, &told);
    send_marking(pool, record, &told);
    return LANEPOOL_OK;
}

lanepool_status lanepool_future_cancel_wait(lanepool_future *future, uint64_t wait_ns_max)
{
    lanepool_status status = lanepool_future_cancel(future);
    if (status != LANEPOOL_RUNNING && status != LANEPOOL_DONE)
        return status;
    status = lanepool_future_wait(future, wait_ns_max, NULL);
    return status == LANEPOOL_OK ? LANEPOOL_DONE : status;
}

bool lanepool_run_is_cancelled(const lanepool_run *run)
{
    const lanepool_i_task *task = run->task;
    if (task == NULL)
        return run->of_sequence->future != NULL && load_relaxed(&run->of_sequence->future->asked);
    return lanepool_i_task_is_wide(task) && task->as.wide.future != NULL &&
           load_relaxed(&task->as.wide.future->asked);
}

/* --- several tasks --- */

/* One call that cancels several; on the caller's stack. */
struct cancelling {
    lanepool_lane *handle; /* NULL: tasks of any lane */
    lanepool_i_task *kept; /* or of one of this one's; or NULL */
    lanepool_i_census census;
    lanepool_i_vector told;
    lanepool_i_vector marked; /* lanepool_i_task * */
    bool lacking;
};

/* A task whose future had cancelled it before is a mark all the same; then its own canceller tells
 * it. True: this one does. */
static bool take_future(lanepool_future *future)
{
    bool taken = lanepool_i_future_give_up(future);
    if (!taken)
        lanepool_i_future_drop_tombstone(future);
    return taken;
}

/* Its latch says so where tasks are reaped, once it has been set. */
static bool has_started(const lanepool_pool *pool, const lanepool_i_task *task)
{
    return pool->rule->reap != NULL && !lanepool_i_barrier_holds(&pool->router, task) &&
           lanepool_i_countdown_has_started(task);
}

/* False: it has started, or is a mark. The arrays have room. A mark is never taken back: another
 * thread may have made the same one meanwhile. The release is looked up before: once it is a mark,
 * who lets it pass may forget the series that it is a run of. */
static bool try_to_mark(struct cancelling *cancelling, lanepool_i_task *task)
{
    uint64_t over = LANEPOOL_I_TOMBSTONE | LANEPOOL_I_STARTED;
    uint64_t word = load_relaxed(&task->word);
    if (has_started(cancelling->census.pool, task) || (word & over) != 0)
        return false;
    lanepool_release_fn release = release_of(task);
    while (!cas_acq_rel(&task->word, &word, word | LANEPOOL_I_TOMBSTONE))
        if ((word & over) != 0)
            return false;
    lanepool_future *future = (word & LANEPOOL_I_WIDE) != 0 ? task->as.wide.future : NULL;
    if (future == NULL || take_future(future))
        copy_front(lanepool_i_vector_add(&cancelling->told, sizeof(struct told)), task, release,
                   future);
    lanepool_i_trace_task(cancelling->census.record->ring, LANEPOOL_EVENT_CANCEL, task, 0);
    return true;
}

static void add_marked(struct cancelling *cancelling, lanepool_i_task *task)
{
    lanepool_i_task **marked =
        lanepool_i_vector_add(&cancelling->marked, sizeof(lanepool_i_task *));
    *marked = task;
}

static bool claims(const lanepool_pool *pool, lanepool_i_task *task, const lanepool_i_lane *lane)
{
    if (lanepool_i_barrier_holds(&pool->router, task))
        return lanepool_i_lane_table_is_claimed(pool, task, lane);
    return pool->rule->claims_lane(pool, task, lane);
}

/* NULL: all are meant, or those of a kept task's lanes. */
static const lanepool_i_lane *lane_of(const struct cancelling *cancelling)
{
    if (cancelling->handle == NULL)
        return NULL;
    return lanepool_i_handle_lane(cancelling->census.pool, cancelling->census.record,
                                  cancelling->handle);
}

/* Who has left a poisoned lane stands behind nobody there. */
static bool stands_behind(const lanepool_pool *pool, lanepool_i_task *task,
                          const lanepool_i_lane *lane)
{
    return !lanepool_i_lane_is_void(lane) && claims(pool, task, lane);
}

static bool is_meant(const struct cancelling *cancelling, lanepool_i_task *task,
                     const lanepool_i_lane *lane)
{
    const lanepool_pool *pool = cancelling->census.pool;
    if (cancelling->kept == NULL)
        return lane == NULL || claims(pool, task, lane);
    size_t i = lanepool_i_task_count(cancelling->kept);
    while (i > 0 && !stands_behind(pool, task, lanepool_i_entry_lane(cancelling->kept, i - 1)))
        i--;
    return i > 0;
}

static void mark_seen(struct cancelling *cancelling)
{
    const lanepool_i_lane *lane = lane_of(cancelling);
    for (size_t i = 0; i < cancelling->census.rows.count; i++) {
        const lanepool_i_census_row *seen = lanepool_i_census_row_at(&cancelling->census, i);
        if ((seen->state != LANEPOOL_SNAPSHOT_RUNNING || PLANTED(CANCEL_RUNNING)) &&
            is_meant(cancelling, seen->task, lane) && try_to_mark(cancelling, seen->task))
            add_marked(cancelling, seen->task);
    }
}

/* It gets all its lanes at once: none of them has to go on by itself. */
static void found_heir(lanepool_i_task *receiver, lanepool_i_task *giver, void *context)
{
    struct cancelling *cancelling = context;
    if (is_meant(cancelling, giver, lane_of(cancelling)))
        (void)try_to_mark(cancelling, receiver);
}

/* Those that stand in no lane yet. Under their lock there is no getting room: if there is too
 * little, all are looked at again, of which the first are marks by then. */
static bool mark_heirs(struct cancelling *cancelling)
{
    lanepool_i_detaches *detaches = cancelling->census.pool->detaches;
    size_t room = 0;
    size_t count;
    while ((count = lanepool_i_detaches_each_receiver(detaches, room, found_heir, cancelling)) >
           room) {
        room = count;
        if (!lanepool_i_vector_reserve(&cancelling->told, room, sizeof(struct told)))
            return false;
    }
    return true;
}

/* Once the lanes go on: each of a rollup's by itself. */
static void let_go_of_lanes(const struct cancelling *cancelling, lanepool_i_grants *grants)
{
    lanepool_pool *pool = cancelling->census.pool;
    const lanepool_i_rule *rule = pool->rule;
    lanepool_i_task *const *marked = cancelling->marked.items;
    const lanepool_i_router *router = &pool->router;
    for (size_t i = 0; i < cancelling->marked.count && rule->mark != NULL; i++)
        if (!lanepool_i_barrier_holds(router, marked[i]))
            rule->mark(pool, marked[i], grants);
}

/* Role's holder. */
static void carry_out_cancelling(lanepool_pool *pool, lanepool_i_thread_record *record,
                                 void *context, lanepool_i_grants *grants)
{
    struct cancelling *cancelling = context;
    lanepool_i_census *census = &cancelling->census;
    *census = (lanepool_i_census){ .pool = pool, .record = record };
    lanepool_i_census_take(census);
    size_t most = census->rows.count;
    cancelling->lacking =
        census->out_of_memory ||
        !lanepool_i_vector_reserve(&cancelling->told, most, sizeof(struct told)) ||
        !lanepool_i_vector_reserve(&cancelling->marked, most, sizeof(lanepool_i_task *));
    if (!cancelling->lacking) {
        mark_seen(cancelling);
        cancelling->lacking = !mark_heirs(cancelling);
    }
    lanepool_i_census_thaw(census, grants);
    let_go_of_lanes(cancelling, grants);
    lanepool_i_pumps_give_tombstones(pool);
    lanepool_i_census_end(census);
    lanepool_i_census_fini(census);
    lanepool_i_barrier_lift(pool, record, grants);
}

static void tell_all(lanepool_pool *pool, lanepool_i_thread_record *record, struct told *tell_these,
                     size_t count)
{
    for (size_t i = 0; i < count; i++) {
        tell(pool, record, &tell_these[i]);
        release_context(record, tell_these[i].release, tell_these[i].front.context);
    }
}

static lanepool_status cancel_several(lanepool_pool *pool, lanepool_i_thread_record *record,
                                      lanepool_lane *handle, lanepool_i_task *kept, size_t *count)
{
    struct cancelling cancelling = { .handle = handle, .kept = kept };
    lanepool_i_control_call order = { .action = carry_out_cancelling, .context = &cancelling };
    lanepool_i_lifecycle_begin_cancel(&pool->lifecycle);
    lanepool_status status = lanepool_i_control_call_run(pool, record, &order);
    if (status == LANEPOOL_OK && cancelling.lacking)
        status = LANEPOOL_NOMEM;
    tell_all(pool, record, cancelling.told.items, cancelling.told.count);
    size_t told_count = cancelling.told.count;
    if (status == LANEPOOL_OK && handle == NULL && kept == NULL) {
        told_count += lanepool_i_delays_cancel_all(pool, record);
        lanepool_i_retry_ask_all_to_stop(pool);
    }
    lanepool_i_lifecycle_end_cancel(&pool->lifecycle);
    lanepool_i_lifecycle_attend(pool, record);
    if (count != NULL)
        *count = told_count;
    lanepool_i_vector_fini(&cancelling.told);
    lanepool_i_vector_fini(&cancelling.marked);
    return status;
}

static lanepool_status cancel_of(lanepool_pool *pool, lanepool_lane *handle, size_t *count)
{
    lanepool_i_thread_record *record;
    lanepool_status status = lanepool_i_pool_enter(pool, &record);
    return status == LANEPOOL_OK ? cancel_several(pool, record, handle, NULL, count) : status;
}

lanepool_status lanepool_lane_cancel(lanepool_lane *lane, size_t *count)
{
    if (count != NULL)
        *count = 0;
    return lane != NULL ? cancel_of(lane->pool, lane, count) : LANEPOOL_INVALID;
}

lanepool_status lanepool_pool_cancel(lanepool_pool *pool, size_t *count)
{
    if (count != NULL)
        *count = 0;
    return pool != NULL ? cancel_of(pool, NULL, count) : LANEPOOL_INVALID;
}

lanepool_status lanepool_i_cancel_behind(lanepool_pool *pool, lanepool_i_thread_record *record,
                                         lanepool_i_task *kept)
{
    return cancel_several(pool, record, NULL, kept, NULL);
}
