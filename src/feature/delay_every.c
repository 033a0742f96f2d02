/* Owns periodic tasks, from the submit to the last call; see delay_every.h. */
#include "feature/delay_every.h"

#include "base/planted.h"
#include "core/run.h"
#include "core/submit_later.h"
#include "core/task_build.h"
#include "core/task_check.h"
#include "feature/delay_timer.h"
#include "feature/failures.h"
#include "feature/journal.h"
#include "feature/lane_limit.h"

#include <string.h>

/* Guards: I immutable, D the lock of the pool's delays, W the thread that disposes of a run, A
 * atomic and changed with the run future's lock. */
struct lanepool_i_periodic {
    lanepool_timer timer;           /* the program's handle; the first member */
    lanepool_i_delayed delayed;     /* the timer, and the block */
    lanepool_task description;      /* I: claims by handle; its `release` is release_of_a_run() */
    lanepool_i_callbacks callbacks; /* I: as submitted */
    lanepool_future *run_future;    /* I: one reference, the handle's; each run has another */
    uint64_t word;                  /* I: the block's word when it is built */
    bool over;                      /* D: no more runs start */
    bool is_shut_down;              /* D: because of the pool's end */
    lanepool_i_link link;           /* D: in the pool's list */
    _Atomic bool ended;             /* A: the last call has returned; the pool may be gone */
    lanepool_lane **own_lanes;      /* I: the handles that it owns; behind the claims */
    size_t own_lane_count;          /* I */
    lanepool_claim claims[];        /* I: in their order, which a cut's calls know */
};

/* The `release` of every run: makes its disposal take the path of tasks with a callback. */
static void release_of_a_run(void *context)
{
    (void)context;
}

static lanepool_i_periodic *periodic_of_run(const lanepool_i_task *task)
{
    return task->as.wide.future->delayed->periodic;
}

static bool is_periodic(const lanepool_i_task *task)
{
    return lanepool_i_word_is_periodic(load_relaxed(&task->word));
}

static void free_periodic_handle(lanepool_timer *timer)
{
    lanepool_i_future_release(((lanepool_i_periodic *)timer)->run_future);
    lanepool_i_memory_free(timer);
}

static void release_own_lanes(lanepool_i_periodic *periodic)
{
    for (size_t i = 0; i < periodic->own_lane_count; i++)
        lanepool_lane_release(periodic->own_lanes[i]);
}

/* --- the end of a periodic task --- */

/* The last call has returned, and no other thread can find the block. Once `ended` is set, no
 * thread pins the pool by the timer. The pool still counts the series, and so is there. */
static void retire_periodic(lanepool_pool *pool, lanepool_i_periodic *periodic)
{
    lanepool_i_mutex_lock(&pool->delays->lock);
    periodic->over = true;
    lanepool_i_unlink(&periodic->link);
    lanepool_i_mutex_unlock(&pool->delays->lock);
    release_own_lanes(periodic);
    lanepool_i_word_lock_lock(&periodic->run_future->lock);
    store_release(&periodic->ended, true);
    lanepool_i_word_lock_unlock(&periodic->run_future->lock);
    lanepool_timer_release(&periodic->timer);
}

/* Returns why no more runs follow: the program has cancelled the timer, or the pool has ended it;
 * `otherwise` if neither has. */
static lanepool_status reason_of_end(lanepool_i_periodic *periodic, lanepool_status otherwise)
{
    lanepool_i_delays *delays = periodic->delayed.pool->delays;
    lanepool_i_mutex_lock(&delays->lock);
    lanepool_status why = !periodic->over          ? otherwise
                          : periodic->is_shut_down ? LANEPOOL_SHUT_DOWN
                                                   : LANEPOOL_CANCELLED;
    lanepool_i_mutex_unlock(&delays->lock);
    return why;
}

void lanepool_i_periodic_end(lanepool_pool *pool, lanepool_i_thread_record *record,
                             lanepool_i_periodic *periodic, lanepool_status why)
{
    why = reason_of_end(periodic, why);
    lanepool_i_delays_end_cancelled(pool, record, periodic->delayed.task, periodic->callbacks, why);
    retire_periodic(pool, periodic);
    lanepool_i_delays_count_down(pool, record, 1);
}

bool lanepool_i_periodic_is_over(lanepool_i_periodic *periodic)
{
    lanepool_i_delays *delays = periodic->delayed.pool->delays;
    lanepool_i_mutex_lock(&delays->lock);
    bool over = periodic->over;
    lanepool_i_mutex_unlock(&delays->lock);
    return over;
}

/* If the timer is in the heap, makes it due at once: then the clock thread ends the task. */
static void end_soon_locked(lanepool_i_delays *delays, lanepool_i_periodic *periodic)
{
    periodic->over = true;
    if (lanepool_i_timers_remove(&delays->timers, &periodic->delayed.timer))
        lanepool_i_timers_add(&delays->timers, &periodic->delayed.timer, 0);
}

void lanepool_i_periodic_end_all(lanepool_pool *pool)
{
    lanepool_i_delays *delays = pool->delays;
    lanepool_i_link *link;
    do {
        lanepool_i_mutex_lock(&delays->lock);
        link = lanepool_i_list_take(&delays->periodics);
        if (link != NULL) {
            lanepool_i_periodic *periodic = LANEPOOL_I_ITEM(link, lanepool_i_periodic, link);
            periodic->is_shut_down |= !periodic->over;
            end_soon_locked(delays, periodic);
        }
        lanepool_i_mutex_unlock(&delays->lock);
    } while (link != NULL);
}

/* Stops a run that has not started. Returns true if a run has started and not ended. Between its
 * calls a cut is SUSPENDED. */
static bool stop_run(lanepool_future *run_future)
{
    lanepool_i_word_lock_lock(&run_future->lock);
    uint8_t phase = lanepool_i_future_phase(run_future);
    bool runs = phase == LANEPOOL_I_PHASE_RUNNING || phase == LANEPOOL_I_PHASE_SUSPENDED;
    store_relaxed(&run_future->asked_to_end, true);
    lanepool_i_word_lock_unlock(&run_future->lock);
    return runs;
}

static lanepool_status cancel_pinned_series(lanepool_pool *pool, lanepool_i_periodic *periodic)
{
    if (lanepool_i_pool_is_forked(pool))
        return LANEPOOL_FORKED;
    lanepool_i_delays *delays = pool->delays;
    lanepool_i_mutex_lock(&delays->lock);
    bool over = periodic->over;
    bool runs = stop_run(periodic->run_future);
    if (!over)
        end_soon_locked(delays, periodic);
    lanepool_i_mutex_unlock(&delays->lock);
    if (runs)
        return LANEPOOL_RUNNING;
    return over ? LANEPOOL_DONE : LANEPOOL_OK;
}

/* Pins the pool: a series cannot end while its run future is locked. Returns NULL if it has ended.
 */
static lanepool_pool *pin_pool_of_series(lanepool_i_periodic *periodic)
{
    lanepool_i_word_lock_lock(&periodic->run_future->lock);
    lanepool_pool *pool = load_acquire(&periodic->ended) ? NULL : periodic->delayed.pool;
    if (pool != NULL)
        lanepool_i_lifecycle_pin(&pool->lifecycle);
    lanepool_i_word_lock_unlock(&periodic->run_future->lock);
    return pool;
}

static lanepool_status cancel_periodic(lanepool_timer *timer)
{
    lanepool_i_periodic *periodic = (lanepool_i_periodic *)timer;
    if (load_acquire(&periodic->ended))
        return LANEPOOL_DONE;
    if (!lanepool_i_future_is_here(periodic->run_future))
        return LANEPOOL_FORKED;
    lanepool_pool *pool = pin_pool_of_series(periodic);
    if (pool == NULL)
        return LANEPOOL_DONE;
    lanepool_status status = cancel_pinned_series(pool, periodic);
    lanepool_i_lifecycle_unpin(&pool->lifecycle);
    return status;
}

/* --- from run to run --- */

static void reset_run_future(lanepool_future *run_future, lanepool_i_task *task,
                             lanepool_pool *pool)
{
    lanepool_i_word_lock_lock(&run_future->lock);
    lanepool_i_future_enter_locked(run_future, LANEPOOL_I_PHASE_PENDING);
    run_future->until_complete.task = task;
    run_future->until_complete.pool = pool;
    lanepool_i_word_lock_unlock(&run_future->lock);
}

static void rebuild_run(lanepool_pool *pool, lanepool_i_thread_record *record,
                        lanepool_i_task *task, const lanepool_i_periodic *periodic)
{
    lanepool_i_build_again(pool, record, task, &periodic->description);
    lanepool_i_journal_next_run(pool, record, task);
    task->as.wide.future = lanepool_i_future_retain(periodic->run_future);
    store_relaxed(&task->word, periodic->word);
}

/* Returns true if the pool's end has ended the run, and with it the series. */
static bool has_ended_with_pool(const lanepool_future *run_future)
{
    lanepool_status status = run_future->result.status;
    return status == LANEPOOL_CANCELLED || status == LANEPOOL_IN_PARTS;
}

/* In a hand-back without a callback, the CANCELLED call was the last one. */
static void end_in_handback(lanepool_pool *pool, lanepool_i_thread_record *record,
                            lanepool_i_task *task)
{
    lanepool_i_periodic *periodic = periodic_of_run(task);
    lanepool_i_run_call_release(record, periodic->callbacks.release, task->context);
    retire_periodic(pool, periodic);
    lanepool_i_lane_limits_end_charge(pool, record, task);
    lanepool_i_journal_drop(pool, record, task);
    lanepool_i_slab_give(&pool->slab, &record->cache, lanepool_i_task_class(task), task);
}

/* Uses the lock: either this thread sees that the task is to end, or the thread that ends it finds
 * the timer in the heap. */
void lanepool_i_periodic_rearm(lanepool_pool *pool, lanepool_i_thread_record *record,
                               lanepool_i_task *task)
{
    lanepool_i_delays *delays = pool->delays;
    lanepool_i_periodic *periodic = periodic_of_run(task);
    uint64_t due_ns =
        lanepool_i_timer_next_due(&periodic->timer, pool->driver, periodic->delayed.timer.due_ns);
    rebuild_run(pool, record, task, periodic);
    reset_run_future(periodic->run_future, task, pool);
    lanepool_i_admission_force(&pool->admission, record, NULL);
    lanepool_i_mutex_lock(&delays->lock);
    periodic->is_shut_down |= delays->ends_periodic && !periodic->over;
    periodic->over |= delays->ends_periodic;
    lanepool_i_timers_add(&delays->timers, &periodic->delayed.timer, periodic->over ? 0 : due_ns);
    lanepool_i_mutex_unlock(&delays->lock);
}

/* Raises `count` before the run counts as finished: a drain cannot end in between. */
static bool recycle_run(lanepool_pool *pool, lanepool_i_thread_record *record,
                        lanepool_i_task *task)
{
    lanepool_i_delays *delays = pool->delays;
    if (!is_periodic(task))
        return false;
    if (has_ended_with_pool(task->as.wide.future)) {
        end_in_handback(pool, record, task);
        return true;
    }
    lanepool_i_mutex_lock(&delays->lock);
    delays->count++;
    lanepool_i_mutex_unlock(&delays->lock);
    if (load_seq(&pool->retention.word) == 0 || PLANTED(UNRETAINED) ||
        !lanepool_i_retain_block(pool, record, task))
        lanepool_i_periodic_rearm(pool, record, task);
    return true;
}

/* --- cancelled and handed back --- */

lanepool_status lanepool_i_periodic_shutdown_reason(const lanepool_i_task *task)
{
    return is_periodic(task) ? reason_of_end(periodic_of_run(task), LANEPOOL_SHUT_DOWN)
                             : LANEPOOL_SHUT_DOWN;
}

lanepool_i_callbacks lanepool_i_periodic_callbacks(const lanepool_i_task *task)
{
    return is_periodic(task) ? periodic_of_run(task)->callbacks : lanepool_i_task_callbacks(task);
}

/* A run was cancelled or handed back; only the block remains. */
static void free_run(lanepool_pool *pool, lanepool_i_thread_record *record, lanepool_i_task *task)
{
    (void)record;
    if (!is_periodic(task))
        return;
    retire_periodic(pool, periodic_of_run(task));
    store_relaxed(&task->word, load_relaxed(&task->word) & ~LANEPOOL_I_PERIODIC);
}

/* --- submitting --- */

static void free_unstarted_periodic(lanepool_i_periodic *periodic)
{
    release_own_lanes(periodic);
    lanepool_i_memory_free(periodic);
}

/* Copies the claims; claims of keys become claims by handles that the periodic task owns. */
static lanepool_status acquire_lanes(lanepool_pool *pool, const lanepool_task *task,
                                     lanepool_i_periodic *periodic)
{
    lanepool_status status = LANEPOOL_OK;
    for (size_t i = 0; i < task->claim_count && status == LANEPOOL_OK; i++) {
        const lanepool_claim *claim = &task->claims[i];
        periodic->claims[i] = *claim;
        if (claim->key.type == LANEPOOL_KEY_LANE || claim->key.type == LANEPOOL_KEY_ALL)
            continue;
        lanepool_lane *lane;
        status = lanepool_lane_acquire(pool, claim->key, &lane);
        if (status == LANEPOOL_OK) {
            periodic->claims[i].key = lanepool_key_lane(lane);
            periodic->own_lanes[periodic->own_lane_count++] = lane;
        }
    }
    return status;
}

static lanepool_status create_periodic(lanepool_pool *pool, const lanepool_task *task,
                                       lanepool_i_periodic **made)
{
    size_t size = sizeof(lanepool_i_periodic) +
                  task->claim_count * (sizeof(lanepool_claim) + sizeof(lanepool_lane *));
    lanepool_i_periodic *periodic = lanepool_i_memory_alloc(size);
    if (periodic == NULL)
        return LANEPOOL_NOMEM;
    memset(periodic, 0, size);
    periodic->own_lanes = (lanepool_lane **)&periodic->claims[task->claim_count];
    periodic->delayed.pool = pool;
    periodic->delayed.periodic = periodic;
    periodic->delayed.timer.fire = lanepool_i_delays_fire;
    periodic->callbacks = (lanepool_i_callbacks){ task->release, task->cancelled };
    periodic->description = *task;
    periodic->description.claims = periodic->claims;
    periodic->description.release = release_of_a_run;
    periodic->description.cancelled = NULL;
    periodic->timer.cancel = cancel_periodic;
    periodic->timer.forget = free_periodic_handle;
    lanepool_status status = acquire_lanes(pool, task, periodic);
    if (status != LANEPOOL_OK)
        free_unstarted_periodic(periodic);
    *made = periodic;
    return status;
}

static bool add_periodic(lanepool_i_delays *delays, lanepool_i_periodic *periodic, uint64_t due_ns)
{
    lanepool_i_mutex_lock(&delays->lock);
    bool open = !delays->closed && !delays->ends_periodic;
    if (open) {
        delays->count++;
        lanepool_i_list_add(&delays->periodics, &periodic->link);
        lanepool_i_timers_add(&delays->timers, &periodic->delayed.timer, due_ns);
    }
    lanepool_i_mutex_unlock(&delays->lock);
    return open;
}

/* The program's reference to the run future becomes the periodic task's. */
static lanepool_status start_periodic(lanepool_pool *pool, lanepool_i_periodic *periodic,
                                      int64_t delay_ns)
{
    lanepool_task description = periodic->description;
    lanepool_i_thread_record *record;
    lanepool_i_task *block;
    description.future = &periodic->run_future;
    lanepool_status status = lanepool_i_submit_for_later(pool, &description, &record, &block);
    if (status != LANEPOOL_OK)
        return status;
    lanepool_i_failures_remove_policy(block);
    periodic->word = load_relaxed(&block->word) | LANEPOOL_I_PERIODIC;
    store_relaxed(&block->word, periodic->word);
    periodic->run_future->delayed = &periodic->delayed;
    periodic->delayed.task = block;
    periodic->description.claim_count =
        lanepool_i_task_count(block); /* 0 if it claims everything */
    status = lanepool_i_delays_start_clock(pool);
    if (status == LANEPOOL_OK &&
        !add_periodic(pool->delays, periodic, lanepool_i_timer_first_due(pool->driver, delay_ns)))
        status = LANEPOOL_SHUT_DOWN;
    if (status != LANEPOOL_OK)
        lanepool_i_submit_undo_for_later(pool, record, block, &description);
    return status;
}

lanepool_status lanepool_pool_submit_every(lanepool_pool *pool, const lanepool_task *task,
                                           int64_t delay_ns, uint64_t period_ns,
                                           lanepool_period period, lanepool_timer **timer)
{
    if (timer != NULL)
        *timer = NULL;
    lanepool_task room;
    if (timer == NULL || !lanepool_i_description_read(&task, &room) ||
        !lanepool_i_period_is_valid(period_ns, period))
        return LANEPOOL_INVALID;
    lanepool_status status = lanepool_i_description_check_for_later(pool, task);
    if (status == LANEPOOL_OK && (task->future != NULL || task->on_failure != NULL ||
                                  (task->start_within_ns | task->run_within_ns) != 0))
        status = LANEPOOL_UNSUPPORTED;
    if (status != LANEPOOL_OK)
        return status;
    lanepool_i_periodic *periodic;
    status = create_periodic(pool, task, &periodic);
    if (status != LANEPOOL_OK)
        return status;
    lanepool_i_timer_init(&periodic->timer, period_ns, period);
    *timer = &periodic->timer; /* set before the first run, which may use it */
    status = start_periodic(pool, periodic, delay_ns);
    if (status != LANEPOOL_OK) {
        *timer = NULL;
        free_unstarted_periodic(periodic);
    }
    return status;
}

const lanepool_i_feature lanepool_i_feature_periodic = {
    .recycle = recycle_run,
    .dispose = free_run,
};
