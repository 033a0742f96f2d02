/*
 * Owns the threads that wait on behalf of a caller: to run the caller's own task
 * (lanepool_pool_submit_or_run()), for a control call, or for the router role.
 *
 * A task that its caller runs enters its lanes like any other. When it is ready, its caller is
 * posted and runs it. The caller counts as a worker that has not left its loop, so the pool's end
 * waits for it. If the pool stops first, the caller gives up, and the hand-back returns the task.
 */
#include "core/caller_runs.h"
#include "core/run.h"
#include "future/expiry.h"
#include "future/member.h"
#include "route/pool.h"

static bool is_stopping(const lanepool_pool *pool)
{
    return load_seq(pool->lifecycle.state) == LANEPOOL_I_STOPPING;
}

static void unlink_caller_locked(lanepool_i_waits *waits, const lanepool_i_caller *caller)
{
    lanepool_i_caller **at = &waits->callers;
    while (*at != caller)
        at = &(*at)->next;
    *at = caller->next;
    lanepool_i_waits_count_caller_locked(waits, -1);
}

static void enter_caller(lanepool_i_waits *waits, lanepool_i_caller *caller)
{
    lanepool_i_mutex_lock(&waits->lock);
    caller->next = waits->callers;
    waits->callers = caller;
    lanepool_i_waits_count_caller_locked(waits, 1);
    lanepool_i_mutex_unlock(&waits->lock);
}

/* A stopping pool notifies no caller: callers give up, so the hand-back must find the task among
 * the workers' ready tasks, even if it has just routed the task itself. */
bool lanepool_i_caller_notify(lanepool_pool *pool, lanepool_i_task *task)
{
    lanepool_i_waits *waits = &pool->waits;
    if (is_stopping(pool))
        return false;
    lanepool_i_mutex_lock(&waits->lock);
    lanepool_i_caller *caller = waits->callers;
    while (caller != NULL && caller->task != task)
        caller = caller->next;
    if (caller != NULL) {
        caller->called = true;
        lanepool_i_semaphore_post(&caller->waiter.semaphore);
    }
    lanepool_i_mutex_unlock(&waits->lock);
    return caller != NULL;
}

size_t lanepool_i_callers_ready_max_locked(const lanepool_i_waits *waits)
{
    return load_relaxed(&waits->caller_count);
}

void lanepool_i_callers_each_ready_locked(const lanepool_i_waits *waits,
                                          void (*found)(lanepool_i_task *task, void *context),
                                          void *context)
{
    for (const lanepool_i_caller *caller = waits->callers; caller != NULL; caller = caller->next)
        if (caller->called && caller->task != NULL)
            found(caller->task, context);
}

/* --- the caller --- */

static bool is_called(lanepool_i_waits *waits, const lanepool_i_caller *caller)
{
    lanepool_i_mutex_lock(&waits->lock);
    bool called = caller->called;
    lanepool_i_mutex_unlock(&waits->lock);
    return called;
}

/* Waits until the task is ready, and routes in between, since all workers may be busy. Returns true
 * if the task is ready and belongs to the caller; false if the pool stops first, and the task
 * belongs to the pool.
 *
 * The thread counts as sleeping before it checks whether to wait. A thread that stops the pool,
 * frees the role, or leaves something to route reads that count after its change, so no wake-up is
 * lost. A thread that makes the task ready posts this one in any case. */
static bool wait_until_ready(lanepool_pool *pool, lanepool_i_thread_record *record,
                             lanepool_i_caller *caller)
{
    lanepool_i_waits *waits = &pool->waits;
    while (!is_called(waits, caller) && !is_stopping(pool)) {
        fetch_add_seq(&waits->sleeping, 1);
        bool more = lanepool_i_waiter_route(&caller->waiter, pool, record);
        if (!more && !is_called(waits, caller) && !is_stopping(pool))
            lanepool_i_semaphore_wait(&caller->waiter.semaphore);
        fetch_sub_seq(&waits->sleeping, 1);
    }
    lanepool_i_mutex_lock(&waits->lock);
    bool called = caller->called;
    unlink_caller_locked(waits, caller);
    lanepool_i_mutex_unlock(&waits->lock);
    return called;
}

static void wait_and_run(lanepool_pool *pool, lanepool_i_thread_record *record,
                         lanepool_i_caller *caller)
{
    lanepool_i_task *task = caller->task;
    bool called = wait_until_ready(pool, record, caller);
    if (called && !is_stopping(pool)) {
        lanepool_i_run_alone(pool, record, task, NULL);
    } else if (called) {
        lanepool_i_tasks ready = { NULL, NULL, 0 };
        lanepool_i_tasks_add(&ready, task);
        lanepool_i_workers_put(&pool->workers, 0, &ready);
    }
}

static bool append_for_caller(lanepool_pool *pool, const lanepool_i_thread_record *record,
                              lanepool_i_task *task)
{
    const lanepool_i_member *member = lanepool_i_task_member(task);
    lanepool_group *group = member != NULL ? member->group : NULL;
    if (group != NULL && !lanepool_i_members_enter(group, task, task))
        return false;
    bool accepted = lanepool_i_inbox_append(&pool->router.inbox, task, task, record->last_appended);
    if (group != NULL)
        lanepool_i_members_entered(group, task, task, accepted);
    return accepted;
}

lanepool_status lanepool_i_caller_append_and_run(lanepool_pool *pool,
                                                 lanepool_i_thread_record *record,
                                                 lanepool_i_task *task,
                                                 lanepool_i_expiry **expiring)
{
    lanepool_i_caller caller = { .next = NULL, .task = task, .called = false };
    if (!lanepool_i_waiter_init(&caller.waiter))
        return LANEPOOL_NO_RESOURCE;
    store_relaxed(&task->word, load_relaxed(&task->word) | LANEPOOL_I_BY_CALLER);
    fetch_add_seq(&pool->lifecycle.workers_left, 1);
    enter_caller(&pool->waits, &caller);
    lanepool_i_count_up(&record->accepted, 1);
    lanepool_i_trace(record->ring, LANEPOOL_EVENT_SUBMIT, (uintptr_t)task, 0);
    bool accepted = append_for_caller(pool, record, task);
    if (accepted) {
        record->last_appended = task;
        lanepool_i_expiries_accepted(expiring, true);
        lanepool_i_router_after_append(pool, record);
        wait_and_run(pool, record, &caller);
    } else {
        lanepool_i_count_up(&record->accepted, (uint64_t)-1);
        lanepool_i_trace(record->ring, LANEPOOL_EVENT_CANCEL, (uintptr_t)task, 0);
        lanepool_i_mutex_lock(&pool->waits.lock);
        unlink_caller_locked(&pool->waits, &caller);
        lanepool_i_mutex_unlock(&pool->waits.lock);
    }
    lanepool_i_lifecycle_count_out(pool, record);
    lanepool_i_waiter_fini(&caller.waiter);
    return accepted ? LANEPOOL_OK : LANEPOOL_SHUT_DOWN;
}

/* --- control calls --- */

/* First puts the tasks that are ready so far into the ready rings, where the action finds them. */
static void carry_out_control_call(lanepool_pool *pool, lanepool_i_thread_record *record,
                                   lanepool_i_message *message, lanepool_i_grants *grants)
{
    lanepool_i_control_call *call = (lanepool_i_control_call *)message;
    lanepool_i_router_pass_on(pool, record, grants);
    call->action(pool, record, call->context, grants);
    lanepool_i_mutex_lock(&pool->waits.lock);
    call->caller.called = true;
    lanepool_i_semaphore_post(&call->caller.waiter.semaphore);
    lanepool_i_mutex_unlock(&pool->waits.lock);
}

static void wait_until_carried_out(lanepool_pool *pool, lanepool_i_thread_record *record,
                                   lanepool_i_caller *caller)
{
    lanepool_i_waits *waits = &pool->waits;
    while (!is_called(waits, caller)) {
        fetch_add_seq(&waits->sleeping, 1);
        bool more = lanepool_i_waiter_route(&caller->waiter, pool, record);
        if (!more && !is_called(waits, caller))
            lanepool_i_semaphore_wait(&caller->waiter.semaphore);
        fetch_sub_seq(&waits->sleeping, 1);
    }
}

lanepool_status lanepool_i_control_call_run(lanepool_pool *pool, lanepool_i_thread_record *record,
                                            lanepool_i_control_call *call)
{
    lanepool_i_caller *caller = &call->caller;
    if (record->callbacks > 0)
        return LANEPOOL_DEADLOCK;
    /* This thread may be inside a CANCELLED call of the hand-back, and so have the role. */
    if (record->run != NULL && is_stopping(pool))
        return LANEPOOL_SHUT_DOWN;
    *caller = (lanepool_i_caller){ .next = NULL, .task = NULL, .called = false };
    if (!lanepool_i_waiter_init(&caller->waiter))
        return LANEPOOL_NO_RESOURCE;
    call->message.carry_out = carry_out_control_call;
    call->message.urgent = true;
    enter_caller(&pool->waits, caller);
    bool sent = lanepool_i_router_send(pool, record, &call->message);
    if (sent)
        wait_until_carried_out(pool, record, caller);
    lanepool_i_mutex_lock(&pool->waits.lock);
    unlink_caller_locked(&pool->waits, caller);
    lanepool_i_mutex_unlock(&pool->waits.lock);
    lanepool_i_waiter_fini(&caller->waiter);
    return sent ? LANEPOOL_OK : LANEPOOL_SHUT_DOWN;
}

/* --- the role --- */

/* Returns false if the role was not free before the deadline. The thread counts as sleeping before
 * it asks for the role. The holder reads that count after it has seen the request, and posts this
 * thread. */
static bool wait_for_role(lanepool_pool *pool, lanepool_i_caller *caller, uint64_t deadline_ns)
{
    bool taken = false;
    bool in_time = true;
    while (!taken && in_time) {
        fetch_add_seq(&pool->waits.sleeping, 1);
        taken = lanepool_i_waiter_take_role(&caller->waiter, &pool->router);
        if (!taken)
            in_time = lanepool_i_semaphore_wait_until(&caller->waiter.semaphore, deadline_ns);
        fetch_sub_seq(&pool->waits.sleeping, 1);
    }
    return taken;
}

lanepool_status lanepool_i_role_run_action(
    lanepool_pool *pool, lanepool_i_thread_record *record, uint64_t deadline_ns,
    void (*action)(lanepool_pool *pool, lanepool_i_thread_record *record, void *context),
    void *context)
{
    lanepool_i_caller caller = { .next = NULL, .task = NULL, .called = false };
    if (!lanepool_i_waiter_init(&caller.waiter))
        return LANEPOOL_NO_RESOURCE;
    enter_caller(&pool->waits, &caller);
    bool taken = wait_for_role(pool, &caller, deadline_ns);
    if (taken) {
        action(pool, record, context);
        lanepool_i_role_give_back(pool, record);
    }
    lanepool_i_mutex_lock(&pool->waits.lock);
    unlink_caller_locked(&pool->waits, &caller);
    lanepool_i_mutex_unlock(&pool->waits.lock);
    lanepool_i_waiter_fini(&caller.waiter);
    return taken ? LANEPOOL_OK : LANEPOOL_TIMED_OUT;
}
