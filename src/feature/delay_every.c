/* Owns periodic tasks, from their submit to their last call; see delay_every.h. */
#include "feature/delay_every.h"

#include "base/planted.h"
#include "core/pool_submit.h"
#include "core/task_build.h"
#include "core/task_check.h"
#include "feature/delay_timer.h"
#include "feature/lane_limit.h"
#include "feature/retry.h"

#include <string.h>

/* Guards: I immutable, A atomic, D the lock of the pool's delays. */
struct lanepool_i_periodic {
    lanepool_timer timer;        /* the first member: the program's handle */
    lanepool_i_delayed delayed;  /* its task is the block */
    lanepool_task description;   /* I: its claims are held lanes; its `release` is the pool's own */
    lanepool_release_fn release; /* I: as submitted */
    lanepool_future *gate;       /* D: one reference, until it has ended; each run has another */
    uint64_t word;               /* I: the block's, when it is built */
    lanepool_i_charge *charge;   /* W: the block's, from one run's end until it is filled anew */
    bool over;                   /* D: no further run starts */
    lanepool_i_periodic *next;   /* D: in the pool's list */
    lanepool_i_periodic **link;  /* D: what points to it there; NULL: it is not in the list */
    _Atomic bool ended;          /* A: the pool may be gone */
    size_t held;                 /* I: how many lanes it holds itself */
    lanepool_claim claims[];     /* I: those of the lanes that it holds come first */
};

/* Stands for every periodic task's `release`, so that whoever lets go of a run looks closer. */
static void release_of_a_run(void *context)
{
    (void)context;
}

static lanepool_i_periodic *series_of(const lanepool_i_task *task)
{
    return task->as.wide.future->delayed->series;
}

static bool is_periodic(const lanepool_i_task *task)
{
    return lanepool_i_word_is_periodic(load_relaxed(&task->word));
}

static void forget_handle(lanepool_timer *timer)
{
    lanepool_i_memory_free(timer);
}

/* --- the end of a series --- */

static void unlink_locked(lanepool_i_periodic *series)
{
    if (series->link == NULL)
        return;
    *series->link = series->next;
    if (series->next != NULL)
        series->next->link = series->link;
    series->link = NULL;
}

/* Its last call has been made, and nobody else can come to its block. */
static void let_go_of_series(lanepool_pool *pool, lanepool_i_periodic *series)
{
    lanepool_future *gate = series->gate;
    lanepool_i_mutex_lock(&pool->delays->lock);
    series->over = true;
    series->gate = NULL;
    unlink_locked(series);
    lanepool_i_mutex_unlock(&pool->delays->lock);
    lanepool_future_release(gate);
    for (size_t i = 0; i < series->held; i++)
        lanepool_lane_release(series->claims[i].key.lane);
    store_release(&series->ended, true);
    lanepool_timer_release(&series->timer);
}

void lanepool_i_periodic_end(lanepool_pool *pool, lanepool_i_thread_record *record,
                             lanepool_i_periodic *series)
{
    lanepool_i_delays_call_off(pool, record, series->delayed.task, series->release);
    let_go_of_series(pool, series);
    lanepool_i_delays_count_down(pool, record, 1);
}

bool lanepool_i_periodic_is_over(lanepool_i_periodic *series)
{
    lanepool_i_delays *delays = series->delayed.pool->delays;
    lanepool_i_mutex_lock(&delays->lock);
    bool over = series->over;
    lanepool_i_mutex_unlock(&delays->lock);
    return over;
}

/* If it waits for its next turn, that comes at once, and is its end. */
static void end_soon_locked(lanepool_i_delays *delays, lanepool_i_periodic *series)
{
    series->over = true;
    if (lanepool_i_timers_remove(&delays->timers, &series->delayed.timer))
        lanepool_i_timers_add(&delays->timers, &series->delayed.timer, 0);
}

void lanepool_i_periodic_end_all(lanepool_pool *pool)
{
    lanepool_i_delays *delays = pool->delays;
    bool more = true;
    while (more) {
        lanepool_i_mutex_lock(&delays->lock);
        lanepool_i_periodic *series = delays->series;
        more = series != NULL;
        if (more) {
            unlink_locked(series);
            end_soon_locked(delays, series);
        }
        lanepool_i_mutex_unlock(&delays->lock);
    }
}

/* True: a run has started, and has not ended. One that has not started is not to. */
static bool stop_run(lanepool_future *gate)
{
    lanepool_i_mutex_lock(&gate->lock);
    bool runs = gate->started && !gate->complete;
    gate->stopped = true;
    store_relaxed(&gate->asked, true);
    lanepool_i_mutex_unlock(&gate->lock);
    return runs;
}

static lanepool_status cancel(lanepool_timer *timer)
{
    lanepool_i_periodic *series = (lanepool_i_periodic *)timer;
    if (load_acquire(&series->ended))
        return LANEPOOL_DONE;
    if (lanepool_i_pool_is_forked(series->delayed.pool))
        return LANEPOOL_FORKED;
    lanepool_i_delays *delays = series->delayed.pool->delays;
    lanepool_i_mutex_lock(&delays->lock);
    bool over = series->over;
    bool runs = series->gate != NULL && stop_run(series->gate);
    if (!over)
        end_soon_locked(delays, series);
    lanepool_i_mutex_unlock(&delays->lock);
    if (runs)
        return LANEPOOL_RUNNING;
    return over ? LANEPOOL_DONE : LANEPOOL_OK;
}

/* --- from run to run --- */

/* As it was before the last run. */
static void open_gate(lanepool_future *gate, lanepool_i_task *task, lanepool_pool *pool)
{
    lanepool_i_mutex_lock(&gate->lock);
    gate->complete = false;
    gate->started = false;
    gate->task = task;
    gate->pool = pool;
    lanepool_i_mutex_unlock(&gate->lock);
}

static void refill(lanepool_pool *pool, lanepool_i_thread_record *record, lanepool_i_task *task,
                   const lanepool_i_periodic *series)
{
    lanepool_i_rebuild(pool, record, task, &series->description);
    if (pool->limits_lanes)
        *lanepool_i_lane_limits_charge_of(pool, task) = series->charge;
    task->as.wide.future = lanepool_future_retain(series->gate);
    store_relaxed(&task->word, series->word);
}

/* A hand-back without a receiver: the task's call was its last. */
static void end_in_handback(lanepool_pool *pool, lanepool_i_thread_record *record,
                            lanepool_i_task *task)
{
    lanepool_i_periodic *series = series_of(task);
    if (series->release != NULL) {
        record->callbacks++;
        series->release(task->context);
        record->callbacks--;
    }
    let_go_of_series(pool, series);
    lanepool_i_lane_limits_ended(pool, record, task);
    lanepool_i_slab_give(&pool->slab, &record->cache, lanepool_i_task_class(task), task);
}

/* Who decides that it is over, and who decides that it waits, do so under the lock. */
void lanepool_i_periodic_rearm(lanepool_pool *pool, lanepool_i_thread_record *record,
                               lanepool_i_task *task)
{
    lanepool_i_delays *delays = pool->delays;
    lanepool_i_periodic *series = series_of(task);
    uint64_t due_ns = lanepool_i_timer_next_due(&series->timer, series->delayed.timer.due_ns);
    refill(pool, record, task, series);
    open_gate(series->gate, task, pool);
    lanepool_i_admission_force(&pool->admission, record, NULL);
    lanepool_i_mutex_lock(&delays->lock);
    series->over |= delays->ends_series;
    lanepool_i_timers_add(&delays->timers, &series->delayed.timer, series->over ? 0 : due_ns);
    lanepool_i_mutex_unlock(&delays->lock);
}

/* Counted before the run counts as finished: a drain is not to end in between. */
void lanepool_i_periodic_ran(lanepool_pool *pool, lanepool_i_thread_record *record,
                             lanepool_i_task *task)
{
    lanepool_i_delays *delays = pool->delays;
    if (task->as.wide.future->result.status == LANEPOOL_CANCELLED) {
        end_in_handback(pool, record, task);
        return;
    }
    lanepool_i_mutex_lock(&delays->lock);
    delays->count++;
    lanepool_i_mutex_unlock(&delays->lock);
    series_of(task)->charge = lanepool_i_lane_limits_take(pool, task);
    if (load_seq(&pool->retention.word) == 0 || PLANTED(UNRETAINED) ||
        !lanepool_i_retain_block(pool, record, task))
        lanepool_i_periodic_rearm(pool, record, task);
}

/* --- cancelled and handed back --- */

lanepool_release_fn lanepool_i_periodic_release_of(const lanepool_i_task *task)
{
    return is_periodic(task) ? series_of(task)->release : lanepool_i_task_release(task);
}

void lanepool_i_periodic_free(lanepool_pool *pool, lanepool_i_task *task)
{
    let_go_of_series(pool, series_of(task));
    store_relaxed(&task->word, load_relaxed(&task->word) & ~LANEPOOL_I_PERIODIC);
}

/* --- submitting --- */

static void free_series(lanepool_i_periodic *series)
{
    for (size_t i = 0; i < series->held; i++)
        lanepool_lane_release(series->claims[i].key.lane);
    lanepool_i_memory_free(series);
}

/* Claims of keys become claims of lanes that the series holds. */
static lanepool_status hold_lanes(lanepool_pool *pool, const lanepool_task *task,
                                  lanepool_i_periodic *series)
{
    size_t last = task->claim_count;
    lanepool_status status = LANEPOOL_OK;
    for (size_t i = 0; i < task->claim_count && status == LANEPOOL_OK; i++) {
        const lanepool_claim *claim = &task->claims[i];
        if (claim->type == LANEPOOL_KEY_LANE || claim->type == LANEPOOL_KEY_ALL) {
            series->claims[--last] = *claim;
            continue;
        }
        lanepool_lane *lane;
        status = lanepool_lane_acquire(pool, claim, &lane);
        if (status == LANEPOOL_OK)
            series->claims[series->held++] = lanepool_claim_lane(lane, claim->mode);
    }
    return status;
}

static lanepool_status make_series(lanepool_pool *pool, const lanepool_task *task,
                                   lanepool_i_periodic **made)
{
    size_t size = sizeof(lanepool_i_periodic) + task->claim_count * sizeof(lanepool_claim);
    lanepool_i_periodic *series = lanepool_i_memory_alloc(size);
    if (series == NULL)
        return LANEPOOL_NOMEM;
    memset(series, 0, size);
    series->delayed.pool = pool;
    series->delayed.series = series;
    series->delayed.timer.fire = lanepool_i_delays_fire;
    series->release = task->release;
    series->description = *task;
    series->description.struct_size = sizeof(lanepool_task);
    series->description.claims = series->claims;
    series->description.release = release_of_a_run;
    series->timer.cancel = cancel;
    series->timer.forget = forget_handle;
    lanepool_status status = hold_lanes(pool, task, series);
    if (status != LANEPOOL_OK)
        free_series(series);
    *made = series;
    return status;
}

static bool enter(lanepool_i_delays *delays, lanepool_i_periodic *series, uint64_t due_ns)
{
    lanepool_i_mutex_lock(&delays->lock);
    bool open = !delays->closed && !delays->ends_series;
    if (open) {
        delays->count++;
        series->next = delays->series;
        series->link = &delays->series;
        if (series->next != NULL)
            series->next->link = &series->next;
        delays->series = series;
        lanepool_i_timers_add(&delays->timers, &series->delayed.timer, due_ns);
    }
    lanepool_i_mutex_unlock(&delays->lock);
    return open;
}

/* The gate is a future of its own: the program's reference is the series'. */
static lanepool_status start(lanepool_pool *pool, lanepool_i_periodic *series, int64_t delay_ns)
{
    lanepool_task description = series->description;
    lanepool_i_thread_record *record;
    lanepool_i_task *block;
    description.future = &series->gate;
    lanepool_status status = lanepool_i_submit_for_later(pool, &description, &record, &block);
    if (status != LANEPOOL_OK)
        return status;
    lanepool_i_retry_withdraw(block);
    series->word = load_relaxed(&block->word) | LANEPOOL_I_PERIODIC;
    store_relaxed(&block->word, series->word);
    series->gate->delayed = &series->delayed;
    series->delayed.task = block;
    series->description.claim_count =
        lanepool_i_task_count(block); /* none, if it claims everything */
    status = lanepool_i_delays_ready_clock(pool);
    if (status == LANEPOOL_OK && !enter(pool->delays, series, lanepool_i_timer_first_due(delay_ns)))
        status = LANEPOOL_SHUT_DOWN;
    if (status != LANEPOOL_OK)
        lanepool_i_submit_undo(pool, record, block, &description);
    return status;
}

lanepool_status lanepool_pool_submit_every(lanepool_pool *pool, const lanepool_task *task,
                                           int64_t delay_ns, uint64_t period_ns,
                                           lanepool_period period, lanepool_timer **timer)
{
    if (timer != NULL)
        *timer = NULL;
    uint64_t lanes;
    if (pool == NULL || task == NULL || timer == NULL ||
        !lanepool_i_period_is_valid(period_ns, period) ||
        !lanepool_i_description_is_valid_for_later(pool, task, &lanes) || task->future != NULL ||
        task->on_failure != NULL)
        return LANEPOOL_INVALID;
    lanepool_i_periodic *series;
    lanepool_status status = make_series(pool, task, &series);
    if (status != LANEPOOL_OK)
        return status;
    lanepool_i_timer_init(&series->timer, period_ns, period);
    *timer = &series->timer; /* before the first run, which may want it */
    status = start(pool, series, delay_ns);
    if (status != LANEPOOL_OK) {
        *timer = NULL;
        free_series(series);
    }
    return status;
}
