/*
 * Owns the pool's state: both ways of shutting down, the moment of the hand-back, and awaiting the
 * end; see lifecycle.h. Quiescing, which does not stop a pool, is in pool_quiesce.c.
 */
#include "route/lifecycle.h"

#include "base/misuse.h"
#include "base/timer_heap.h"
#include "core/call_record.h"
#include "feature/barrier.h"
#include "feature/context.h"
#include "feature/delay.h"
#include "feature/failures.h"
#include "feature/journal.h"
#include "feature/pause.h"
#include "platform/notes.h"
#include "pool/hand_back.h"
#include "pool/pool_quiesce.h"
#include "pool/pool_shutdown.h"
#include "pool/stalled.h"
#include "route/pool.h"

/* A thread that waits for the pool's end; on its stack. */
struct end_waiter {
    lanepool_i_waiter waiter;
    bool precedes_check;   /* L: it has waited since before the check that runs now */
    bool only_parked_left; /* L, until it is called: only parked tasks are left */
};

/* --- threads that wait for the end --- */

/* A waiter that waits for more enters the list again. */
static void call_end_waiters_locked(lanepool_i_lifecycle *lifecycle)
{
    while (lanepool_i_waiter_call_first_locked(&lifecycle->end_waiters))
        ;
}

/* Notes which waiters the coming check is for. */
static void note_end_waiters(lanepool_i_lifecycle *lifecycle)
{
    lanepool_i_mutex_lock(&lifecycle->lock);
    LANEPOOL_I_EACH(struct end_waiter, waiter, &lifecycle->end_waiters, waiter.link)
        waiter->precedes_check = true;
    lanepool_i_mutex_unlock(&lifecycle->lock);
}

static void notify_end_waiters_parked(lanepool_i_lifecycle *lifecycle)
{
    lanepool_i_mutex_lock(&lifecycle->lock);
    LANEPOOL_I_EACH(struct end_waiter, waiter, &lifecycle->end_waiters, waiter.link)
        if (waiter->precedes_check) {
            waiter->only_parked_left = true;
            lanepool_i_waiter_call_locked(&waiter->waiter);
        }
    lanepool_i_mutex_unlock(&lifecycle->lock);
}

static void set_stopped(lanepool_i_lifecycle *lifecycle)
{
    lanepool_i_mutex_lock(&lifecycle->lock);
    store_seq(&lifecycle->stopped, true);
    call_end_waiters_locked(lifecycle);
    lanepool_i_mutex_unlock(&lifecycle->lock);
}

/* --- the end, on the role's holder --- */

/* `cancels` is read last. A canceller counts itself before a task that it cancels can finish, so
 * each cancelled task that is counted here shows its canceller. */
static bool all_routed_are_finished(lanepool_pool *pool)
{
    return lanepool_i_thread_records_finished(&pool->records) == lanepool_i_router_routed(pool) &&
           load_seq(&pool->lifecycle.cancels) == 0;
}

/* When everything has finished, no task runs, so no thread is inside to submit. A thread that
 * submits from outside finds the inbox closed, or its task keeps it open. Threads that wait in
 * pumps are woken. */
static void try_to_end_drain(lanepool_pool *pool)
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

/* Only a drain without delayed tasks notifies the end waiters: delayed tasks become due by
 * themselves. They are counted before the check: a task that becomes due after the check is not
 * noticed there. The state is read after the waiters are noted. If one of them came after a
 * shutdown-now, the state that is read is STOPPING, and no end waiter is notified. */
static void notify_if_only_parked_left(lanepool_pool *pool)
{
    note_end_waiters(&pool->lifecycle);
    bool drains = load_seq(pool->lifecycle.state) == LANEPOOL_I_DRAINING;
    bool ends = drains && lanepool_i_delays_count(pool) == 0;
    if (load_seq(&pool->lifecycle.stopped) || !lanepool_i_only_parked_left(pool))
        return;
    lanepool_i_quiesce_notify_parked(pool);
    if (ends)
        notify_end_waiters_parked(&pool->lifecycle);
}

void lanepool_i_pool_check_counters(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    lanepool_i_lifecycle *lifecycle = &pool->lifecycle;
    if (load_seq(lifecycle->state) == LANEPOOL_I_DRAINING)
        lanepool_i_gates_open(pool, record);
    lanepool_i_barrier_check(pool, record);
    lanepool_i_quiesce_check(pool);
    if (load_seq(&lifecycle->workers_left) == 0) {
        if (load_seq(&lifecycle->stopped))
            return;
        /* Read the state only now. It becomes STOPPING before the workers are stopped, and so
         * before the last worker leaves. */
        if (load_seq(lifecycle->state) == LANEPOOL_I_STOPPING && !lifecycle->handed_back) {
            /* A periodic task is back in the timer heap once its run is written. */
            if (!lanepool_i_journal_is_drained(pool) || !lanepool_i_delays_stop(pool))
                return;
            lanepool_i_hand_back_tasks(pool, record);
        }
        lifecycle->handed_back = true;
        if (load_seq(&lifecycle->cancels) != 0 || !lanepool_i_journal_is_drained(pool))
            return;
        lanepool_i_quiesce_check(pool);
        set_stopped(lifecycle);
    } else if (load_seq(lifecycle->state) == LANEPOOL_I_DRAINING &&
               !lanepool_i_workers_are_stopped(&pool->workers)) {
        try_to_end_drain(pool);
    }
    if (lanepool_i_failures_block_some(pool))
        notify_if_only_parked_left(pool);
}

/* --- shutting down --- */

/* A worker that is woken checks the counters before it sleeps again. */
static void make_workers_check(lanepool_pool *pool)
{
    lanepool_i_admission_close(&pool->admission);
    lanepool_i_sleepers_wake_all(&pool->workers.sleepers);
}

/* Resumes a paused pool that begins to drain; a shutdown-now does not resume it. A pause checks,
 * under the same lock, that the pool is running, so every pause that passed the check is undone
 * here. If no worker sleeps, the ready tasks may need an absent worker, so one is woken, too. */
static void resume_for_drain(lanepool_pool *pool)
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
    /* Raise `attention` first. A check that is made for a quiesce may end the drain at once; then
     * the last worker to leave must check the counters, too. */
    fetch_add_seq(&pool->lifecycle.attention, 1);
    lanepool_i_delays_close(pool);
    if (cas_seq(pool->lifecycle.state, &running, LANEPOOL_I_DRAINING)) {
        lanepool_i_timers_interrupt(&pool->delays->timers);
        resume_for_drain(pool);
        make_workers_check(pool);
    } else {
        fetch_sub_seq(&pool->lifecycle.attention, 1);
    }
    return LANEPOOL_OK;
}

/* Changes the state to STOPPING; returns false if another caller has done so. Under the lock, so
 * that two callers cannot mix their hand-back functions, and so that the workers are stopped when
 * either returns. `attention` is raised before that: the last worker to leave must check the
 * counters. */
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

/* If memory for this thread's record cannot be allocated, a worker that leaves does this. */
static void end_detached_tasks(lanepool_pool *pool)
{
    lanepool_i_thread_record *record = lanepool_i_pool_thread_record(pool);
    if (record != NULL)
        lanepool_i_call_records_end_all(pool, record, true);
}

lanepool_status lanepool_pool_shutdown_now(lanepool_pool *pool, lanepool_handback_fn handback,
                                           void *context)
{
    if (pool == NULL)
        return LANEPOOL_INVALID;
    if (lanepool_i_pool_is_forked(pool))
        return LANEPOOL_FORKED;
    lanepool_i_note_release(&pool->notes.submits);
    if (lanepool_i_workers_are_stopped(&pool->workers) || !decide_to_stop(pool, handback, context))
        return LANEPOOL_SHUT_DOWN;
    make_workers_check(pool);
    lanepool_i_timers_end(&pool->delays->timers);
    lanepool_i_waits_wake(&pool->waits, LANEPOOL_I_EVERYONE);
    end_detached_tasks(pool);
    return LANEPOOL_OK;
}

bool lanepool_pool_is_shut_down(const lanepool_pool *pool)
{
    if (LANEPOOL_I_MISUSED(pool == NULL, "pool is NULL"))
        return true;
    return load_seq(pool->lifecycle.state) != LANEPOOL_I_RUNNING;
}

bool lanepool_pool_is_terminated(const lanepool_pool *pool)
{
    if (LANEPOOL_I_MISUSED(pool == NULL, "pool is NULL"))
        return true;
    bool is_stopped = load_seq(&pool->lifecycle.stopped);
    if (is_stopped)
        lanepool_i_note_wait_ends(&pool->notes);
    return is_stopped;
}

/* --- awaiting --- */

typedef enum step { WAIT, JOIN, DONE } step;

/* Returns what to do next. With WAIT, the waiter is in the list. */
static step next_step(lanepool_i_lifecycle *lifecycle, struct end_waiter *waiter)
{
    lanepool_i_mutex_lock(&lifecycle->lock);
    step next = WAIT;
    if (lifecycle->joined) {
        next = DONE;
    } else if (load_seq(&lifecycle->stopped) && !lifecycle->joining) {
        lifecycle->joining = true;
        next = JOIN;
    } else {
        waiter->precedes_check = false;
        lanepool_i_waiter_enter_locked(&waiter->waiter, &lifecycle->end_waiters);
    }
    lanepool_i_mutex_unlock(&lifecycle->lock);
    return next;
}

static void join_threads(lanepool_pool *pool)
{
    lanepool_i_lifecycle *lifecycle = &pool->lifecycle;
    lanepool_i_workers_join(&pool->workers);
    lanepool_i_timers_join(&pool->delays->timers);
    lanepool_i_journal_join(pool);
    lanepool_i_contexts_end(pool);
    lanepool_i_mutex_lock(&lifecycle->lock);
    lifecycle->joined = true;
    call_end_waiters_locked(lifecycle);
    lanepool_i_mutex_unlock(&lifecycle->lock);
}

/* The checks before this waiter came did not notify it, so another one is needed. If memory for
 * this thread's record cannot be allocated, a worker checks. */
static void request_parked_check(lanepool_pool *pool)
{
    if (!lanepool_i_failures_block_some(pool))
        return;
    lanepool_i_thread_record *record = lanepool_i_pool_thread_record(pool);
    if (record != NULL)
        lanepool_i_lifecycle_attend(pool, record);
    else
        lanepool_i_sleepers_wake_all(&pool->workers.sleepers);
}

static lanepool_status wait_for_end(lanepool_pool *pool, struct end_waiter *waiter)
{
    for (;;) {
        switch (next_step(&pool->lifecycle, waiter)) {
        case DONE:
            return lanepool_i_journal_answer(pool);
        case JOIN:
            join_threads(pool);
            break;
        case WAIT:
            request_parked_check(pool);
            if (!lanepool_i_waiter_sleep(&waiter->waiter, &pool->lifecycle.lock))
                return LANEPOOL_TIMED_OUT;
            if (waiter->only_parked_left)
                return LANEPOOL_PARKED;
            break;
        }
    }
}

static bool is_thread_inside(const lanepool_pool *pool)
{
    const lanepool_i_thread_record *record = lanepool_i_thread_record_find(pool);
    return record != NULL && lanepool_i_thread_is_inside_pool(record);
}

lanepool_status lanepool_pool_await(lanepool_pool *pool, uint64_t wait_max_ns)
{
    if (pool == NULL)
        return LANEPOOL_INVALID;
    if (lanepool_i_pool_is_forked(pool))
        return LANEPOOL_FORKED;
    if (is_thread_inside(pool))
        return LANEPOOL_DEADLOCK;
    struct end_waiter waiter = { .only_parked_left = false };
    if (!lanepool_i_waiter_init(&waiter.waiter,
                                lanepool_i_driver_deadline(pool->driver, wait_max_ns)))
        return LANEPOOL_NO_RESOURCE;
    waiter.waiter.driver = pool->driver;
    lanepool_status status = wait_for_end(pool, &waiter);
    lanepool_i_waiter_fini(&waiter.waiter);
    lanepool_i_note_wait_ends(&pool->notes);
    return status;
}
