/* Owns periodic tasks, from their submit to their last call; see periodic.h. */
#include "periodic.h"

#include "build.h"
#include "deadline.h"
#include "description.h"
#include "planted.h"
#include "pool.h"
#include "submit.h"

#include <string.h>

/* Guards: I immutable, A atomic, D the lock of the pool's delays. */
struct lanepool_timer {
    lanepool_i_delayed delayed;  /* the first member; its task is the block */
    lanepool_task description;   /* I: its claims are held lanes; its `release` is the pool's own */
    lanepool_release_fn release; /* I: as submitted */
    lanepool_future *gate;       /* D: one reference, until it has ended; each run has another */
    uint64_t word;               /* I: the block's, when it is built */
    uint64_t period_ns;          /* I */
    lanepool_period period;      /* I */
    bool over;                   /* D: no further run starts */
    lanepool_timer *next;        /* D: in the pool's list */
    lanepool_timer **link;       /* D: what points to it there; NULL: it is not in the list */
    _Atomic bool ended;          /* A: the pool may be gone */
    _Atomic uint32_t references; /* A: the program's, and the pool's until it has ended */
    size_t held;                 /* I: how many lanes it holds itself */
    lanepool_claim claims[];     /* I: those of the lanes that it holds come first */
};

/* Stands for every periodic task's `release`, so that whoever lets go of a run looks closer. */
static void release_of_a_run(void *context)
{
    (void)context;
}

static lanepool_timer *timer_of(const lanepool_i_task *task)
{
    return task->as.wide.future->delayed->series;
}

static bool is_periodic(const lanepool_i_task *task)
{
    return lanepool_i_word_is_periodic(load_relaxed(&task->word));
}

void lanepool_timer_release(lanepool_timer *timer)
{
    if (timer == NULL || fetch_sub_acq_rel(&timer->references, 1) != 1)
        return;
    lanepool_i_memory_free(timer);
}

/* --- the end of a series --- */

static void unlink_locked(lanepool_timer *timer)
{
    if (timer->link == NULL)
        return;
    *timer->link = timer->next;
    if (timer->next != NULL)
        timer->next->link = timer->link;
    timer->link = NULL;
}

/* Its last call has been made, and nobody else can come to its block. */
static void let_go_of_timer(lanepool_pool *pool, lanepool_timer *timer)
{
    lanepool_future *gate = timer->gate;
    lanepool_i_mutex_lock(&pool->delays.lock);
    timer->over = true;
    timer->gate = NULL;
    unlink_locked(timer);
    lanepool_i_mutex_unlock(&pool->delays.lock);
    lanepool_future_release(gate);
    for (size_t i = 0; i < timer->held; i++)
        lanepool_lane_release(timer->claims[i].key.lane);
    store_release(&timer->ended, true);
    lanepool_timer_release(timer);
}

void lanepool_i_periodic_end(lanepool_pool *pool, lanepool_i_local *local, lanepool_timer *timer)
{
    lanepool_i_delays_call_off(pool, local, timer->delayed.task, timer->release);
    let_go_of_timer(pool, timer);
    lanepool_i_delays_count_down(pool, local, 1);
}

bool lanepool_i_periodic_is_over(lanepool_timer *timer)
{
    lanepool_i_delays *delays = &timer->delayed.pool->delays;
    lanepool_i_mutex_lock(&delays->lock);
    bool over = timer->over;
    lanepool_i_mutex_unlock(&delays->lock);
    return over;
}

/* If it waits for its next turn, that comes at once, and is its end. */
static void end_soon_locked(lanepool_i_delays *delays, lanepool_timer *timer)
{
    timer->over = true;
    if (lanepool_i_timers_remove(&delays->timers, &timer->delayed.timer))
        lanepool_i_timers_add(&delays->timers, &timer->delayed.timer, 0);
}

void lanepool_i_periodic_end_all(lanepool_pool *pool)
{
    lanepool_i_delays *delays = &pool->delays;
    bool more = true;
    while (more) {
        lanepool_i_mutex_lock(&delays->lock);
        lanepool_timer *timer = delays->series;
        more = timer != NULL;
        if (more) {
            unlink_locked(timer);
            end_soon_locked(delays, timer);
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

lanepool_status lanepool_timer_cancel(lanepool_timer *timer)
{
    if (timer == NULL)
        return LANEPOOL_INVALID;
    if (load_acquire(&timer->ended))
        return LANEPOOL_DONE;
    lanepool_i_delays *delays = &timer->delayed.pool->delays;
    lanepool_i_mutex_lock(&delays->lock);
    bool over = timer->over;
    bool runs = timer->gate != NULL && stop_run(timer->gate);
    if (!over)
        end_soon_locked(delays, timer);
    lanepool_i_mutex_unlock(&delays->lock);
    if (runs)
        return LANEPOOL_RUNNING;
    return over ? LANEPOOL_DONE : LANEPOOL_OK;
}

/* --- from run to run --- */

static uint64_t next_due(const lanepool_timer *timer)
{
    if (timer->period == LANEPOOL_FIXED_DELAY)
        return lanepool_i_deadline(timer->period_ns);
    uint64_t last_ns = timer->delayed.timer.due_ns;
    return timer->period_ns < UINT64_MAX - last_ns ? last_ns + timer->period_ns : UINT64_MAX;
}

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

static void refill(lanepool_pool *pool, lanepool_i_local *local, lanepool_i_task *task,
                   const lanepool_timer *timer)
{
    lanepool_i_build_again(pool, local, task, &timer->description);
    task->as.wide.future = lanepool_future_retain(timer->gate);
    store_relaxed(&task->word, timer->word);
}

/* A hand-back without a receiver: the task's call was its last. */
static void end_in_handback(lanepool_pool *pool, lanepool_i_local *local, lanepool_i_task *task)
{
    lanepool_timer *timer = timer_of(task);
    if (timer->release != NULL) {
        local->callbacks++;
        timer->release(task->context);
        local->callbacks--;
    }
    let_go_of_timer(pool, timer);
    lanepool_i_slab_give(&pool->slab, &local->cache, lanepool_i_task_class(task), task);
}

/* Who decides that it is over, and who decides that it waits, do so under the lock. */
void lanepool_i_periodic_again(lanepool_pool *pool, lanepool_i_local *local, lanepool_i_task *task)
{
    lanepool_i_delays *delays = &pool->delays;
    lanepool_timer *timer = timer_of(task);
    uint64_t due_ns = next_due(timer);
    refill(pool, local, task, timer);
    open_gate(timer->gate, task, pool);
    lanepool_i_admission_force(&pool->admission, local);
    lanepool_i_mutex_lock(&delays->lock);
    timer->over |= delays->ends_series;
    lanepool_i_timers_add(&delays->timers, &timer->delayed.timer, timer->over ? 0 : due_ns);
    lanepool_i_mutex_unlock(&delays->lock);
}

/* Counted before the run counts as finished: a drain is not to end in between. */
void lanepool_i_periodic_rest(lanepool_pool *pool, lanepool_i_local *local, lanepool_i_task *task)
{
    lanepool_i_delays *delays = &pool->delays;
    if (task->as.wide.future->result.status == LANEPOOL_CANCELLED) {
        end_in_handback(pool, local, task);
        return;
    }
    lanepool_i_mutex_lock(&delays->lock);
    delays->count++;
    lanepool_i_mutex_unlock(&delays->lock);
    if (load_seq(&pool->watch.word) == 0 || PLANTED(UNWATCHED) ||
        !lanepool_i_watch_keeps(pool, local, task))
        lanepool_i_periodic_again(pool, local, task);
}

/* --- cancelled and handed back --- */

lanepool_release_fn lanepool_i_periodic_release_of(const lanepool_i_task *task)
{
    return is_periodic(task) ? timer_of(task)->release : task->as.wide.release;
}

void lanepool_i_periodic_forget(lanepool_pool *pool, lanepool_i_task *task)
{
    let_go_of_timer(pool, timer_of(task));
    store_relaxed(&task->word, load_relaxed(&task->word) & ~LANEPOOL_I_PERIODIC);
}

/* --- submitting --- */

static void free_timer(lanepool_timer *timer)
{
    for (size_t i = 0; i < timer->held; i++)
        lanepool_lane_release(timer->claims[i].key.lane);
    lanepool_i_memory_free(timer);
}

/* Claims of keys become claims of lanes that the timer holds. */
static lanepool_status hold_lanes(lanepool_pool *pool, const lanepool_task *task,
                                  lanepool_timer *timer)
{
    size_t last = task->claim_count;
    lanepool_status status = LANEPOOL_OK;
    for (size_t i = 0; i < task->claim_count && status == LANEPOOL_OK; i++) {
        const lanepool_claim *claim = &task->claims[i];
        if (claim->type == LANEPOOL_KEY_LANE || claim->type == LANEPOOL_KEY_ALL) {
            timer->claims[--last] = *claim;
            continue;
        }
        lanepool_lane *lane;
        status = lanepool_lane_acquire(pool, claim, &lane);
        if (status == LANEPOOL_OK)
            timer->claims[timer->held++] = lanepool_claim_lane(lane, claim->mode);
    }
    return status;
}

static lanepool_status make_timer(lanepool_pool *pool, const lanepool_task *task,
                                  lanepool_timer **made)
{
    size_t size = sizeof(lanepool_timer) + task->claim_count * sizeof(lanepool_claim);
    lanepool_timer *timer = lanepool_i_memory_alloc(size);
    if (timer == NULL)
        return LANEPOOL_NOMEM;
    memset(timer, 0, size);
    timer->delayed.pool = pool;
    timer->delayed.series = timer;
    timer->delayed.timer.fire = lanepool_i_delays_fire;
    timer->release = task->release;
    timer->description = *task;
    timer->description.struct_size = sizeof(lanepool_task);
    timer->description.claims = timer->claims;
    timer->description.release = release_of_a_run;
    atomic_init(&timer->references, 2);
    lanepool_status status = hold_lanes(pool, task, timer);
    if (status != LANEPOOL_OK)
        free_timer(timer);
    *made = timer;
    return status;
}

static bool enter(lanepool_i_delays *delays, lanepool_timer *timer, uint64_t due_ns)
{
    lanepool_i_mutex_lock(&delays->lock);
    bool open = !delays->closed && !delays->ends_series;
    if (open) {
        delays->count++;
        timer->next = delays->series;
        timer->link = &delays->series;
        if (timer->next != NULL)
            timer->next->link = &timer->next;
        delays->series = timer;
        lanepool_i_timers_add(&delays->timers, &timer->delayed.timer, due_ns);
    }
    lanepool_i_mutex_unlock(&delays->lock);
    return open;
}

/* A moment in any case: the next ones may be counted from it. */
static uint64_t first_due(int64_t delay_ns)
{
    return delay_ns > 0 ? lanepool_i_deadline((uint64_t)delay_ns) : lanepool_i_clock_now();
}

/* The gate is a future of its own: the program's reference is the timer's. */
static lanepool_status start(lanepool_pool *pool, lanepool_timer *timer, int64_t delay_ns)
{
    lanepool_task description = timer->description;
    lanepool_i_local *local;
    lanepool_i_task *block;
    description.future = &timer->gate;
    lanepool_status status = lanepool_i_submit_for_later(pool, &description, &local, &block);
    if (status != LANEPOOL_OK)
        return status;
    timer->word = load_relaxed(&block->word) | LANEPOOL_I_PERIODIC;
    store_relaxed(&block->word, timer->word);
    timer->gate->delayed = &timer->delayed;
    timer->delayed.task = block;
    timer->description.claim_count =
        lanepool_i_task_count(block); /* none, if it claims everything */
    status = lanepool_i_delays_ready_clock(pool);
    if (status == LANEPOOL_OK && !enter(&pool->delays, timer, first_due(delay_ns)))
        status = LANEPOOL_SHUT_DOWN;
    if (status != LANEPOOL_OK)
        lanepool_i_submit_undo(pool, local, block, &description);
    return status;
}

lanepool_status lanepool_pool_submit_every(lanepool_pool *pool, const lanepool_task *task,
                                           int64_t delay_ns, uint64_t period_ns,
                                           lanepool_period period, lanepool_timer **timer)
{
    if (timer != NULL)
        *timer = NULL;
    uint64_t lanes;
    if (pool == NULL || task == NULL || timer == NULL || period_ns == 0 ||
        (unsigned)period > LANEPOOL_FIXED_DELAY ||
        !lanepool_i_description_is_valid_for_later(pool, task, &lanes) || task->future != NULL)
        return LANEPOOL_INVALID;
    lanepool_timer *made;
    lanepool_status status = make_timer(pool, task, &made);
    if (status != LANEPOOL_OK)
        return status;
    made->period_ns = period_ns;
    made->period = period;
    *timer = made; /* before the first run, which may want it */
    status = start(pool, made, delay_ns);
    if (status != LANEPOOL_OK) {
        *timer = NULL;
        free_timer(made);
    }
    return status;
}
