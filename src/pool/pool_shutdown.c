/*
 * Owns the state, shutting down in both ways, the hand-back, and awaiting; see
 * lifecycle.h. Quiescing without stopping is pool_quiesce.c's.
 */
#include "route/lifecycle.h"

#include "base/deadline.h"
#include "base/timer_heap.h"
#include "feature/barrier.h"
#include "feature/context.h"
#include "feature/delay.h"
#include "feature/pause.h"
#include "feature/retry.h"
#include "pool/hand_back.h"
#include "pool/pool_quiesce.h"
#include "pool/pool_shutdown.h"
#include "pool/stalled.h"
#include "route/pool.h"

/* Someone who waits for the pool's end; on its stack. */
struct lanepool_i_end_waiter {
    lanepool_i_end_waiter *next; /* L */
    bool is_addressed;           /* L: it came before what is left was looked at */
    bool is_held;                /* L, until it is posted: that is held up */
    lanepool_i_semaphore semaphore;
};

/* --- visitors --- */

/* A visitor may be gone once it is posted; those who still wait for more come again. */
static void post_visitors_locked(lanepool_i_lifecycle *lifecycle)
{
    while (lifecycle->end_waiters != NULL) {
        lanepool_i_end_waiter *visitor = lifecycle->end_waiters;
        lifecycle->end_waiters = visitor->next;
        lanepool_i_semaphore_post(&visitor->semaphore);
    }
}

static void leave_locked(lanepool_i_lifecycle *lifecycle, const lanepool_i_end_waiter *visitor)
{
    lanepool_i_end_waiter **at = &lifecycle->end_waiters;
    while (*at != NULL && *at != visitor)
        at = &(*at)->next;
    if (*at != NULL)
        *at = visitor->next;
}

/* Those that are here now will be told of what is looked for from now on. */
static void address_visitors(lanepool_i_lifecycle *lifecycle)
{
    lanepool_i_mutex_lock(&lifecycle->lock);
    for (lanepool_i_end_waiter *visitor = lifecycle->end_waiters; visitor != NULL;
         visitor = visitor->next)
        visitor->is_addressed = true;
    lanepool_i_mutex_unlock(&lifecycle->lock);
}

static void tell_held(lanepool_i_lifecycle *lifecycle)
{
    lanepool_i_mutex_lock(&lifecycle->lock);
    for (lanepool_i_end_waiter **at = &lifecycle->end_waiters; *at != NULL;) {
        lanepool_i_end_waiter *visitor = *at;
        if (!visitor->is_addressed) {
            at = &visitor->next;
            continue;
        }
        *at = visitor->next;
        visitor->is_held = true;
        lanepool_i_semaphore_post(&visitor->semaphore);
    }
    lanepool_i_mutex_unlock(&lifecycle->lock);
}

static void set_stopped(lanepool_i_lifecycle *lifecycle)
{
    lanepool_i_mutex_lock(&lifecycle->lock);
    store_seq(&lifecycle->stopped, true);
    post_visitors_locked(lifecycle);
    lanepool_i_mutex_unlock(&lifecycle->lock);
}

/* --- the end, decided by the role's holder --- */

/* The cancels last: they began before the cancelled tasks could finish. */
static bool all_routed_are_finished(lanepool_pool *pool)
{
    return lanepool_i_thread_records_finished(&pool->records) == lanepool_i_router_routed(pool) &&
           load_seq(&pool->lifecycle.cancels) == 0;
}

/* With everything finished nothing runs, so nobody is inside to submit; and whoever submits from
 * outside finds the inbox closed or is found in it. Who waits in a pump is told. */
static void look_for_drained(lanepool_pool *pool)
{
    if (!all_routed_are_finished(pool) || !lanepool_i_delays_try_close(pool))
        return;
    if (lanepool_i_inbox_try_close(&pool->router.inbox)) {
        lanepool_i_workers_stop(&pool->workers);
        lanepool_i_timers_end(&pool->delays->timers);
        lanepool_i_waits_wake(&pool->waits, LANEPOOL_I_EVERYONE);
    } else {
        lanepool_i_delays_reopen(pool);
    }
}

/* What is delayed becomes due by itself; only a drain waits for it. The state is looked at when the
 * visitors are known: one that came after a shutdown now is not told of what was before. */
static void look_for_standstill(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    address_visitors(&pool->lifecycle);
    bool drains = load_seq(pool->lifecycle.state) == LANEPOOL_I_DRAINING;
    if (load_seq(&pool->lifecycle.stopped) || !lanepool_i_only_parked_left(pool, record))
        return;
    lanepool_i_quiesce_notify_parked(pool);
    if (drains && lanepool_i_delays_count(pool) == 0)
        tell_held(&pool->lifecycle);
}

void lanepool_i_pool_look(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    lanepool_i_lifecycle *lifecycle = &pool->lifecycle;
    if (load_seq(lifecycle->state) == LANEPOOL_I_DRAINING)
        lanepool_i_gates_open(pool, record);
    lanepool_i_barrier_look(pool, record);
    lanepool_i_quiesce_look(pool, record);
    if (load_seq(&lifecycle->workers_left) == 0) {
        if (load_seq(&lifecycle->stopped))
            return;
        /* Looked at only now: a pool that was told to stop is so before its last worker leaves. */
        if (load_seq(lifecycle->state) == LANEPOOL_I_STOPPING && !lifecycle->handed_back) {
            if (!lanepool_i_delays_stop(pool))
                return;
            lanepool_i_handback(pool, record);
        }
        lifecycle->handed_back = true;
        if (load_seq(&lifecycle->cancels) != 0)
            return;
        lanepool_i_quiesce_look(pool, record);
        set_stopped(lifecycle);
    } else if (load_seq(lifecycle->state) == LANEPOOL_I_DRAINING &&
               !lanepool_i_workers_is_stopped(&pool->workers)) {
        look_for_drained(pool);
    }
    if (lanepool_i_retry_some_parked(pool))
        look_for_standstill(pool, record);
}

/* --- shutting down --- */

/* Workers that sleep look at the counters when they are woken and lie down again. */
static void make_look(lanepool_pool *pool)
{
    lanepool_i_admission_close(&pool->admission);
    lanepool_i_sleepers_wake_all(&pool->workers.sleepers);
}

/* Under the lock: a pause that found the pool running is over. What a pool that stops at once has
 * paused does not start any more. Those who sleep are woken; if nobody does, what stands ready may
 * want an absent worker. */
static void resume(lanepool_pool *pool)
{
    lanepool_i_mutex_lock(&pool->lifecycle.lock);
    lanepool_i_workers_resume(&pool->workers);
    lanepool_i_mutex_unlock(&pool->lifecycle.lock);
    lanepool_i_sleepers_wake(&pool->workers.sleepers);
}

lanepool_status lanepool_pool_shutdown(lanepool_pool *pool)
{
    if (pool == NULL)
        return LANEPOOL_INVALID;
    if (lanepool_i_pool_is_forked(pool))
        return LANEPOOL_FORKED;
    uint32_t running = LANEPOOL_I_RUNNING;
    /* Attention first: a look for a quiesce may end the drain at once, and then the last worker to
     * leave must look, too. */
    fetch_add_seq(&pool->lifecycle.attention, 1);
    lanepool_i_delays_close(pool);
    if (cas_seq(pool->lifecycle.state, &running, LANEPOOL_I_DRAINING)) {
        lanepool_i_timers_interrupt(&pool->delays->timers);
        resume(pool);
        make_look(pool);
    } else {
        fetch_sub_seq(&pool->lifecycle.attention, 1);
    }
    return LANEPOOL_OK;
}

/* Under the lock, so that two callers cannot both decide, nor mix their handbacks, and so that the
 * workers have been stopped when either returns. Attention before that: the last worker to leave
 * must look. */
static bool decide_to_stop(lanepool_pool *pool, lanepool_handback_fn handback, void *context)
{
    lanepool_i_lifecycle *lifecycle = &pool->lifecycle;
    lanepool_i_mutex_lock(&lifecycle->lock);
    bool decided = load_seq(lifecycle->state) != LANEPOOL_I_STOPPING;
    if (decided) {
        lifecycle->handback = handback;
        lifecycle->handback_context = context;
        if (exchange_seq(lifecycle->state, LANEPOOL_I_STOPPING) == LANEPOOL_I_RUNNING)
            fetch_add_seq(&lifecycle->attention, 1);
        lanepool_i_workers_stop(&pool->workers);
    }
    lanepool_i_mutex_unlock(&lifecycle->lock);
    return decided;
}

lanepool_status lanepool_pool_shutdown_now(lanepool_pool *pool, lanepool_handback_fn handback,
                                           void *context)
{
    if (pool == NULL)
        return LANEPOOL_INVALID;
    if (lanepool_i_pool_is_forked(pool))
        return LANEPOOL_FORKED;
    if (lanepool_i_workers_is_stopped(&pool->workers) || !decide_to_stop(pool, handback, context))
        return LANEPOOL_SHUT_DOWN;
    make_look(pool);
    lanepool_i_timers_end(&pool->delays->timers);
    lanepool_i_waits_wake(&pool->waits, LANEPOOL_I_EVERYONE);
    return LANEPOOL_OK;
}

bool lanepool_pool_is_shut_down(const lanepool_pool *pool)
{
    return load_seq(pool->lifecycle.state) != LANEPOOL_I_RUNNING;
}

bool lanepool_pool_is_terminated(const lanepool_pool *pool)
{
    return load_seq(&pool->lifecycle.stopped);
}

/* --- awaiting --- */

typedef enum step { WAIT, JOIN, DONE } step;

/* What there is to do; WAIT has entered the visitor. */
static step next_step(lanepool_i_lifecycle *lifecycle, lanepool_i_end_waiter *visitor)
{
    lanepool_i_mutex_lock(&lifecycle->lock);
    step next = WAIT;
    if (lifecycle->joined) {
        next = DONE;
    } else if (load_seq(&lifecycle->stopped) && !lifecycle->joining) {
        lifecycle->joining = true;
        next = JOIN;
    } else {
        visitor->is_addressed = false;
        visitor->next = lifecycle->end_waiters;
        lifecycle->end_waiters = visitor;
    }
    lanepool_i_mutex_unlock(&lifecycle->lock);
    return next;
}

static void join(lanepool_pool *pool)
{
    lanepool_i_lifecycle *lifecycle = &pool->lifecycle;
    lanepool_i_workers_join(&pool->workers);
    lanepool_i_timers_join(&pool->delays->timers);
    lanepool_i_contexts_end(pool);
    lanepool_i_mutex_lock(&lifecycle->lock);
    lifecycle->joined = true;
    post_visitors_locked(lifecycle);
    lanepool_i_mutex_unlock(&lifecycle->lock);
}

/* Whether the pool stands still was looked at when it came to that: now it is for this visitor. If
 * memory for this thread is lacking, another one looks. */
static void ask_for_standstill(lanepool_pool *pool)
{
    if (!lanepool_i_retry_some_parked(pool))
        return;
    lanepool_i_thread_record *record = lanepool_i_pool_local(pool);
    if (record != NULL)
        lanepool_i_lifecycle_attend(pool, record);
    else
        lanepool_i_sleepers_wake_all(&pool->workers.sleepers);
}

static lanepool_status visit(lanepool_pool *pool, lanepool_i_end_waiter *visitor,
                             uint64_t deadline_ns)
{
    for (;;) {
        switch (next_step(&pool->lifecycle, visitor)) {
        case DONE:
            return LANEPOOL_OK;
        case JOIN:
            join(pool);
            break;
        case WAIT:
            ask_for_standstill(pool);
            if (lanepool_i_semaphore_wait_until(&visitor->semaphore, deadline_ns)) {
                if (visitor->is_held)
                    return LANEPOOL_HELD;
                break;
            }
            lanepool_i_mutex_lock(&pool->lifecycle.lock);
            leave_locked(&pool->lifecycle, visitor);
            lanepool_i_mutex_unlock(&pool->lifecycle.lock);
            return LANEPOOL_TIMED_OUT;
        }
    }
}

static bool is_inside(const lanepool_pool *pool)
{
    const lanepool_i_thread_record *record = lanepool_i_thread_record_find(pool);
    return record != NULL && lanepool_i_thread_is_inside_pool(record);
}

lanepool_status lanepool_pool_await(lanepool_pool *pool, uint64_t wait_ns_max)
{
    if (pool == NULL)
        return LANEPOOL_INVALID;
    if (lanepool_i_pool_is_forked(pool))
        return LANEPOOL_FORKED;
    if (is_inside(pool))
        return LANEPOOL_DEADLOCK;
    lanepool_i_end_waiter visitor = { .is_addressed = false, .is_held = false };
    if (!lanepool_i_semaphore_init(&visitor.semaphore))
        return LANEPOOL_NO_THREAD;
    lanepool_status status = visit(pool, &visitor, lanepool_i_deadline(wait_ns_max));
    lanepool_i_semaphore_fini(&visitor.semaphore);
    return status;
}
