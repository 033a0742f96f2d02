/* Owns what follows when a task has failed: retries, their delays, and their end; see retry.h. */
#include "feature/retry.h"

#include "base/deadline.h"
#include "base/versioned.h"
#include "core/run.h"
#include "core/task_check.h"
#include "feature/delay.h"
#include "feature/pause.h"
#include "feature/poison.h"
#include "feature/priority.h"
#include "route/entries.h"
#include "route/pool.h"

/* --- policies --- */

bool lanepool_i_failures_read_policy(lanepool_pool *pool)
{
    const lanepool_failure_policy *given = pool->options.on_failure;
    if (given == NULL)
        return true;
    if (!lanepool_i_policy_is_valid(pool, given))
        return false;
    pool->failures->policy = *given;
    pool->failures->has_policy = lanepool_i_policy_says_something(given);
    pool->options.on_failure = NULL;
    return true;
}

static void fire(lanepool_i_timer *timer);

/* One for each claim; false: memory is lacking. */
static bool make_gates(lanepool_i_failing *failing, size_t count)
{
    failing->gates = NULL;
    while (count-- > 0 && failing->policy.at_end == LANEPOOL_FAILURE_PAUSE) {
        lanepool_i_gate *gate = lanepool_i_memory_alloc(sizeof *gate);
        if (gate == NULL)
            return false;
        gate->is_of_failure = true;
        gate->next = failing->gates;
        failing->gates = gate;
    }
    return true;
}

/* As if it had never been. */
static void unmake(lanepool_future *future)
{
    lanepool_i_member_refuse(future);
    lanepool_future_release(future);
    lanepool_future_release(future);
}

lanepool_future *lanepool_i_failing_create(lanepool_pool *pool, lanepool_i_task *task,
                                           const lanepool_task *description,
                                           lanepool_status *status)
{
    bool is_own = description->on_failure != NULL;
    const lanepool_failure_policy *policy =
        is_own ? description->on_failure : &pool->failures->policy;
    if (policy->retries > 0 && policy->delay_ns > 0) {
        *status = lanepool_i_delays_ready_clock(pool);
        if (*status != LANEPOOL_OK)
            return NULL;
    }
    lanepool_future *future =
        lanepool_i_member_create(pool->options.allocator, sizeof(lanepool_i_failing), pool->origin,
                                 pool, task, description, status);
    if (future == NULL)
        return NULL;
    lanepool_i_failing *failing = (lanepool_i_failing *)future;
    failing->member.has_policy = true;
    failing->policy = *policy;
    failing->is_own = is_own;
    failing->has_given_up = false;
    failing->ends = false;
    failing->is_called_off = false;
    failing->failed = 0;
    failing->pool = pool;
    failing->task = task;
    failing->timer.fire = fire;
    failing->timer.waits = false;
    failing->timer.keeps_its_time = true;
    failing->link = NULL;
    failing->is_kept = false;
    failing->is_resolved = false;
    failing->is_told = false;
    failing->is_refused = false;
    if (make_gates(failing, description->claim_count))
        return future;
    *status = LANEPOOL_NOMEM;
    unmake(future);
    return NULL;
}

/* Who avoids poison stands in the inbox as a message does; so does a barrier, for other reasons. */
void lanepool_i_failing_withdraw(lanepool_i_task *task)
{
    lanepool_i_failing *failing = lanepool_i_failing_of(task);
    if (failing == NULL)
        return;
    lanepool_i_failing_free_gates(failing);
    failing->member.has_policy = false;
    if (!lanepool_i_task_is_barrier(task))
        store_relaxed(&task->word, load_relaxed(&task->word) & ~LANEPOOL_I_MESSAGE);
}

/* --- the list --- */

static void link_locked(lanepool_i_failures *failures, lanepool_i_failing *failing)
{
    failing->next = failures->first;
    failing->link = &failures->first;
    if (failing->next != NULL)
        failing->next->link = &failing->next;
    failures->first = failing;
}

bool lanepool_i_failing_holds_some(lanepool_pool *pool)
{
    lanepool_i_mutex_lock(&pool->failures->lock);
    bool some = pool->failures->kept + pool->failures->paused > 0;
    lanepool_i_mutex_unlock(&pool->failures->lock);
    return some;
}

/* Counted before it can be found: if all workers are inside tasks, waits there are woken after it
 * was appended, and look at the count. */
bool lanepool_i_failing_send(lanepool_pool *pool, lanepool_i_local *local,
                             lanepool_i_failing *failing)
{
    failing->message.urgent = true;
    fetch_add_seq(&pool->failures->messages, 1);
    bool sent = lanepool_i_router_send(pool, local, &failing->message);
    if (!sent)
        fetch_sub_seq(&pool->failures->messages, 1);
    return sent;
}

void lanepool_i_failing_received(lanepool_pool *pool)
{
    fetch_sub_seq(&pool->failures->messages, 1);
}

void lanepool_i_failing_count_paused(lanepool_pool *pool, size_t by)
{
    lanepool_i_mutex_lock(&pool->failures->lock);
    pool->failures->paused += by;
    pool->failures->changes++;
    lanepool_i_mutex_unlock(&pool->failures->lock);
}

void lanepool_i_failing_take_locked(lanepool_i_failures *failures, lanepool_i_failing *failing)
{
    failures->kept -= failing->is_kept;
    failures->changes += failing->is_kept;
    if (failing->is_kept && failing->pool->rule->route_held != NULL)
        lanepool_i_poison_leave_locked(failures, failing->task);
    failing->is_kept = false;
    *failing->link = failing->next;
    if (failing->next != NULL)
        failing->next->link = failing->link;
    failing->link = NULL;
}

/* --- another attempt --- */

static bool is_asked(const lanepool_i_failing *failing)
{
    return load_relaxed(&failing->member.future.asked);
}

static bool is_to_be_tried_again(const lanepool_i_failing *failing)
{
    return failing->failed <= failing->policy.retries && !is_asked(failing) &&
           !failing->has_given_up;
}

static uint64_t delay_of(const lanepool_i_failing *failing)
{
    uint64_t delay_ns = failing->policy.delay_ns;
    uint64_t most_ns = failing->policy.delay_max_ns;
    for (unsigned i = 1; i < failing->failed && delay_ns < most_ns; i++)
        delay_ns = delay_ns <= most_ns / 2 ? 2 * delay_ns : most_ns;
    return delay_ns;
}

/* Who asks it to end meanwhile either finds it in the list, or is seen here. */
static void try_later(lanepool_pool *pool, lanepool_i_failing *failing, uint64_t delay_ns)
{
    uint64_t due_ns = lanepool_i_deadline(delay_ns);
    lanepool_i_mutex_lock(&pool->failures->lock);
    link_locked(pool->failures, failing);
    lanepool_i_timers_add(&pool->delays->timers, &failing->timer, is_asked(failing) ? 0 : due_ns);
    lanepool_i_mutex_unlock(&pool->failures->lock);
}

/* A retry, once started, is waited for like the first attempt. By whoever has the task, who reads
 * it without the lock. */
static void set_awaits_retry(lanepool_i_failing *failing, bool awaits)
{
    lanepool_future *future = &failing->member.future;
    lanepool_i_mutex_lock(&future->lock);
    future->awaits_retry = awaits;
    lanepool_i_mutex_unlock(&future->lock);
}

/* A shutdown now that has not found it waiting for its retry is found here: who waits for it inside
 * a task waits for nothing. */
static void await_retry(lanepool_pool *pool, lanepool_i_failing *failing)
{
    fetch_or_acq_rel(&failing->task->word, LANEPOOL_I_STARTED);
    if (pool->options.priorities)
        lanepool_i_lending_wait_anew(pool, failing->task);
    set_awaits_retry(failing, true);
    if (load_seq(pool->lifecycle.state) == LANEPOOL_I_STOPPING)
        lanepool_i_waits_wake(&pool->waits, LANEPOOL_I_EVERYONE);
}

/* Who was asked to end since the last attempt is not called again; but whose attempts are counted
 * anew is, whatever it was asked before. */
bool lanepool_i_failing_starts(lanepool_i_failing *failing)
{
    failing->is_called_off = failing->failed > 0 && is_asked(failing);
    if (failing->ends || failing->is_called_off)
        return false;
    if (failing->member.future.awaits_retry)
        set_awaits_retry(failing, false);
    return true;
}

/* --- kept --- */

static bool is_to_be_kept(const lanepool_i_failing *failing)
{
    return failing->policy.at_end == LANEPOOL_FAILURE_POISON;
}

static void keep(lanepool_pool *pool, lanepool_i_local *local, lanepool_i_failing *failing)
{
    lanepool_i_mutex_lock(&pool->failures->lock);
    link_locked(pool->failures, failing);
    failing->is_kept = true;
    pool->failures->kept++;
    pool->failures->changes++;
    if (pool->rule->route_held != NULL)
        lanepool_i_poison_enter_locked(pool->failures, failing->task);
    bool tells = lanepool_i_poison_tells_locked(failing);
    lanepool_i_mutex_unlock(&pool->failures->lock);
    if (tells)
        lanepool_i_poison_tell(pool, local, failing);
}

static void put_ready(lanepool_pool *pool, lanepool_i_local *local, lanepool_i_failing *failing)
{
    lanepool_i_grants grants = lanepool_i_no_grants(local->ring);
    lanepool_i_grants_add(&grants, failing->task);
    lanepool_i_router_put_ready(pool, local, &grants.ready);
}

void lanepool_i_failing_try_anew(lanepool_pool *pool, lanepool_i_local *local,
                                 lanepool_i_failing *failing)
{
    failing->failed = 0;
    put_ready(pool, local, failing);
}

/* --- lanes paused --- */

static void end_soon(lanepool_pool *pool, lanepool_i_local *local, lanepool_i_failing *failing)
{
    lanepool_i_tasks ready = { NULL, NULL, 0 };
    size_t index =
        local->worker != NULL ? local->worker->index : lanepool_i_crew_fewest(&pool->crew);
    failing->ends = true;
    lanepool_i_tasks_add(&ready, failing->task);
    lanepool_i_crew_put(&pool->crew, index, &ready);
    if (lanepool_i_park_all_busy(&pool->crew.park))
        lanepool_i_waits_wake(&pool->waits, LANEPOOL_I_EVERYONE);
}

/* Role's holder. The task has its lanes still, so the gates come before all that waits there. */
static void carry_out_pause(lanepool_pool *pool, lanepool_i_local *local,
                            lanepool_i_message *message, lanepool_i_grants *grants)
{
    lanepool_i_failing *failing =
        (lanepool_i_failing *)((char *)message - offsetof(lanepool_i_failing, message));
    size_t count = lanepool_i_task_count(failing->task);
    lanepool_i_failing_received(pool);
    for (size_t i = 0; i < count && failing->gates != NULL; i++) {
        lanepool_i_lane *lane = lanepool_i_place_lane(failing->task, i);
        lanepool_i_gate *gate = failing->gates;
        lanepool_i_gate *rest = gate->next;
        if (!lanepool_i_lane_is_void(lane) && lanepool_i_gate_close(pool, lane, gate, grants))
            failing->gates = rest;
    }
    end_soon(pool, local, failing);
}

/* Until the message is carried out the task is in no list. The inbox is open: the task is not over.
 */
static void pause_lanes(lanepool_pool *pool, lanepool_i_local *local, lanepool_i_failing *failing)
{
    failing->message.carry_out = carry_out_pause;
    (void)lanepool_i_failing_send(pool, local, failing);
}

/* Without another attempt; and not here and now, since the clock thread does not call the program.
 */
static void come_to_end(lanepool_pool *pool, lanepool_i_local *local, lanepool_i_failing *failing)
{
    if (is_to_be_kept(failing)) {
        lanepool_i_trace_task(local->ring, LANEPOOL_EVENT_KEEP, failing->task,
                              (uint32_t)failing->result.status);
        keep(pool, local, failing);
    } else if (failing->policy.at_end == LANEPOOL_FAILURE_PAUSE) {
        pause_lanes(pool, local, failing);
    } else {
        end_soon(pool, local, failing);
    }
    lanepool_i_lifecycle_attend(pool, local);
}

static void fire(lanepool_i_timer *timer)
{
    lanepool_i_failing *failing =
        (lanepool_i_failing *)((char *)timer - offsetof(lanepool_i_failing, timer));
    lanepool_pool *pool = failing->pool;
    lanepool_i_local *local = load_relaxed(&pool->delays->clock);
    lanepool_i_mutex_lock(&pool->failures->lock);
    lanepool_i_failing_take_locked(pool->failures, failing);
    lanepool_i_mutex_unlock(&pool->failures->lock);
    if (is_asked(failing))
        come_to_end(pool, local, failing);
    else
        put_ready(pool, local, failing);
}

/* Of a task that is over for its pool's end, or whose series goes on anyway, nothing is kept. */
static bool may_go_on(const lanepool_pool *pool, const lanepool_i_task *task)
{
    return load_seq(pool->lifecycle.state) != LANEPOOL_I_STOPPING &&
           !lanepool_i_word_is_periodic(load_relaxed(&task->word));
}

static void try_again(lanepool_pool *pool, lanepool_i_failing *failing, lanepool_i_grants *grants)
{
    uint64_t delay_ns = delay_of(failing);
    if (delay_ns > 0)
        try_later(pool, failing, delay_ns);
    else
        lanepool_i_grants_add(grants, failing->task);
}

/* No attempt was made: that there would be one is all that was told of the last one. */
static bool stays_uncalled(lanepool_pool *pool, lanepool_i_local *local,
                           lanepool_i_failing *failing)
{
    bool stays = failing->policy.at_end != LANEPOOL_FAILURE_GO_ON && may_go_on(pool, failing->task);
    failing->is_called_off = false;
    failing->ends = !stays;
    if (stays)
        come_to_end(pool, local, failing);
    return stays;
}

bool lanepool_i_failing_goes_on(lanepool_pool *pool, lanepool_i_local *local, lanepool_i_task *task,
                                const lanepool_result *result, bool has_lanes,
                                lanepool_i_grants *grants)
{
    lanepool_i_failing *failing = lanepool_i_failing_of(task);
    if (failing == NULL || failing->ends)
        return false;
    if (failing->is_called_off)
        return stays_uncalled(pool, local, failing);
    failing->failed++;
    failing->result = *result;
    bool retries = is_to_be_tried_again(failing);
    bool stays = retries || failing->policy.at_end != LANEPOOL_FAILURE_GO_ON;
    if (!has_lanes || !stays || !may_go_on(pool, task))
        return false;
    lanepool_i_run_report_failure(pool, local, task, result, !retries);
    if (retries || is_to_be_kept(failing))
        lanepool_i_trace_task(local->ring, retries ? LANEPOOL_EVENT_RETRY : LANEPOOL_EVENT_KEEP,
                              task, (uint32_t)result->status);
    await_retry(pool, failing);
    if (retries)
        try_again(pool, failing, grants);
    else if (is_to_be_kept(failing))
        keep(pool, local, failing);
    else
        pause_lanes(pool, local, failing);
    return true;
}

void lanepool_i_failing_has_given_up(const lanepool_i_task *task)
{
    lanepool_i_failing *failing = lanepool_i_failing_of(task);
    if (failing != NULL)
        failing->has_given_up = true;
}

/* --- asked to end --- */

/* If it waits for its time, that comes at once. */
static void hasten_locked(lanepool_pool *pool, lanepool_i_failing *failing)
{
    if (failing->link != NULL && lanepool_i_timers_remove(&pool->delays->timers, &failing->timer))
        lanepool_i_timers_add(&pool->delays->timers, &failing->timer, 0);
}

void lanepool_i_failing_asked(lanepool_future *future)
{
    lanepool_i_failing *failing = lanepool_i_failing_of_future(future);
    if (failing == NULL)
        return;
    lanepool_i_mutex_lock(&failing->pool->failures->lock);
    hasten_locked(failing->pool, failing);
    lanepool_i_mutex_unlock(&failing->pool->failures->lock);
}

void lanepool_i_failing_ask_all(lanepool_pool *pool)
{
    lanepool_i_mutex_lock(&pool->failures->lock);
    for (lanepool_i_failing *failing = pool->failures->first; failing != NULL;
         failing = failing->next) {
        if (failing->is_kept)
            continue;
        store_relaxed(&failing->member.future.asked, true);
        hasten_locked(pool, failing);
    }
    lanepool_i_mutex_unlock(&pool->failures->lock);
}

/* --- the pool's end --- */

/* The clock thread has ended: what waits in the timers' heap does so for ever. */
void lanepool_i_failing_collect(lanepool_pool *pool, lanepool_i_tasks *tasks)
{
    lanepool_i_mutex_lock(&pool->failures->lock);
    while (pool->failures->first != NULL) {
        lanepool_i_tasks_collect(tasks, pool->failures->first->task);
        lanepool_i_failing_take_locked(pool->failures, pool->failures->first);
    }
    lanepool_i_mutex_unlock(&pool->failures->lock);
}

bool lanepool_i_failing_end_stopped(lanepool_pool *pool, lanepool_i_local *local,
                                    lanepool_i_task *task)
{
    uint64_t over = LANEPOOL_I_MARK | LANEPOOL_I_STARTED;
    if ((load_relaxed(&task->word) & over) != LANEPOOL_I_STARTED)
        return false;
    lanepool_i_failing *failing = lanepool_i_failing_of(task);
    lanepool_i_run_end_failed(pool, local, task, &failing->result);
    return true;
}
