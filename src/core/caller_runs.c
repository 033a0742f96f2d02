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

/* A stopping pool notifies no caller: callers give up, so the hand-back must find the task among
 * the workers' ready tasks, even if it has just routed the task itself. */
bool lanepool_i_caller_notify(lanepool_pool *pool, lanepool_i_task *task)
{
    bool found = false;
    if (is_stopping(pool))
        return false;
    lanepool_i_mutex_lock(&pool->waits.lock);
    LANEPOOL_I_EACH(lanepool_i_pool_waiter, caller, &pool->waits.waiters, waiter.link)
        if (caller->own_task == task) {
            caller->waiter.called = found = true;
            lanepool_i_semaphore_post(&caller->waiter.semaphore);
        }
    lanepool_i_mutex_unlock(&pool->waits.lock);
    return found;
}

void lanepool_i_callers_each_ready_locked(const lanepool_i_waits *waits,
                                          void (*found)(lanepool_i_task *task, void *context),
                                          void *context)
{
    LANEPOOL_I_EACH(const lanepool_i_pool_waiter, caller, &waits->waiters, waiter.link)
        if (caller->waiter.called && caller->own_task != NULL)
            found(caller->own_task, context);
}

/* --- the caller of a task --- */

static bool is_called_or_stopping(lanepool_i_pool_waiter *caller)
{
    return lanepool_i_pool_waiter_is_called(caller) || is_stopping(caller->pool);
}

/* Routes until the task is ready, since all workers may be busy. Once the caller has left the list,
 * the task is the caller's if it was called, and the pool's otherwise. */
static void wait_and_run(lanepool_i_pool_waiter *caller)
{
    lanepool_pool *pool = caller->pool;
    (void)lanepool_i_pool_waiter_wait(caller, is_called_or_stopping, lanepool_i_pool_waiter_route);
    bool called = lanepool_i_pool_waiter_leave(caller);
    if (called && !is_stopping(pool)) {
        lanepool_i_run_alone(pool, caller->record, caller->own_task, NULL);
    } else if (called) {
        lanepool_i_tasks ready = { NULL, NULL, 0 };
        lanepool_i_tasks_add(&ready, caller->own_task);
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
    lanepool_i_pool_waiter caller = { .own_task = task };
    if (!lanepool_i_pool_waiter_enter(&caller, pool, record, UINT64_MAX))
        return LANEPOOL_NO_RESOURCE;
    store_relaxed(&task->word, load_relaxed(&task->word) | LANEPOOL_I_BY_CALLER);
    fetch_add_seq(&pool->lifecycle.workers_left, 1);
    lanepool_i_count_up(&record->accepted, 1);
    lanepool_i_trace(record->ring, LANEPOOL_EVENT_SUBMIT, (uintptr_t)task, 0);
    bool accepted = append_for_caller(pool, record, task);
    if (accepted) {
        record->last_appended = task;
        lanepool_i_expiries_accepted(expiring, true);
        lanepool_i_router_after_append(pool, record);
        wait_and_run(&caller);
    } else {
        lanepool_i_count_up(&record->accepted, (uint64_t)-1);
        lanepool_i_trace(record->ring, LANEPOOL_EVENT_CANCEL, (uintptr_t)task, 0);
        (void)lanepool_i_pool_waiter_leave(&caller);
    }
    lanepool_i_lifecycle_count_out(pool, record);
    lanepool_i_waiter_fini(&caller.waiter);
    return accepted ? LANEPOOL_OK : LANEPOOL_SHUT_DOWN;
}

/* --- control calls --- */

/* On the caller's stack. Guards: I immutable, L the waits' lock, T the caller. */
struct control_call {
    lanepool_i_pool_waiter waiter; /* called when the action was called in its turn */
    lanepool_i_message message;
    lanepool_i_action action; /* I */
    void *context;            /* I */
    bool has_role;            /* T */
};

static bool has_call_role(lanepool_i_pool_waiter *waiter)
{
    return ((struct control_call *)waiter)->has_role;
}

static bool take_call_role(lanepool_i_pool_waiter *waiter)
{
    ((struct control_call *)waiter)->has_role = lanepool_i_pool_waiter_take_role(waiter);
    return false;
}

static void leave_call(lanepool_i_pool_waiter *waiter)
{
    (void)lanepool_i_pool_waiter_leave(waiter);
    lanepool_i_waiter_fini(&waiter->waiter);
}

lanepool_status lanepool_i_control_enter(lanepool_pool *pool, lanepool_i_thread_record **record)
{
    lanepool_status entered = lanepool_i_pool_enter(pool, record);
    if (entered != LANEPOOL_OK)
        return entered;
    if (lanepool_i_thread_record_may_hold_role(*record))
        return LANEPOOL_DEADLOCK;
    return (*record)->run != NULL && is_stopping(pool) ? LANEPOOL_SHUT_DOWN : LANEPOOL_OK;
}

lanepool_status lanepool_i_control_call(lanepool_pool *pool, lanepool_i_thread_record *record,
                                        uint64_t deadline_ns, lanepool_i_action action,
                                        void *context)
{
    struct control_call call = { .has_role = false };
    if (!lanepool_i_pool_waiter_enter(&call.waiter, pool, record, deadline_ns))
        return LANEPOOL_NO_RESOURCE;
    (void)lanepool_i_pool_waiter_wait(&call.waiter, has_call_role, take_call_role);
    if (call.has_role) {
        lanepool_i_grants grants = lanepool_i_no_grants(record->ring);
        action(pool, record, context, &grants);
        lanepool_i_router_pass_on(pool, record, &grants);
        lanepool_i_role_give_back(pool, record);
    }
    leave_call(&call.waiter);
    return call.has_role ? LANEPOOL_OK : LANEPOOL_TIMED_OUT;
}

/* First puts the tasks that are ready so far into the ready rings, where the action finds them. */
static void carry_out_control_call(lanepool_pool *pool, lanepool_i_thread_record *record,
                                   lanepool_i_message *message, lanepool_i_grants *grants)
{
    struct control_call *call = LANEPOOL_I_ITEM(message, struct control_call, message);
    lanepool_i_router_pass_on(pool, record, grants);
    call->action(pool, record, call->context, grants);
    lanepool_i_mutex_lock(&pool->waits.lock);
    call->waiter.waiter.called = true;
    lanepool_i_semaphore_post(&call->waiter.waiter.semaphore);
    lanepool_i_mutex_unlock(&pool->waits.lock);
}

lanepool_status lanepool_i_control_call_in_turn(lanepool_pool *pool,
                                                lanepool_i_thread_record *record,
                                                lanepool_i_action action, void *context)
{
    if (record->callbacks > 0)
        return LANEPOOL_DEADLOCK;
    /* This thread may be inside a CANCELLED call of the hand-back, and so have the role. */
    if (record->run != NULL && is_stopping(pool))
        return LANEPOOL_SHUT_DOWN;
    struct control_call call = { .action = action, .context = context };
    call.message.carry_out = carry_out_control_call;
    call.message.urgent = true;
    if (!lanepool_i_pool_waiter_enter(&call.waiter, pool, record, UINT64_MAX))
        return LANEPOOL_NO_RESOURCE;
    bool sent = lanepool_i_router_send(pool, record, &call.message);
    if (sent)
        (void)lanepool_i_pool_waiter_wait(&call.waiter, lanepool_i_pool_waiter_is_called,
                                          lanepool_i_pool_waiter_route);
    leave_call(&call.waiter);
    return sent ? LANEPOOL_OK : LANEPOOL_SHUT_DOWN;
}
