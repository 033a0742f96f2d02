/* Owns the records of calls: their list, and how a detached task ends; see call_record.h. */
#include "core/call_record.h"

#include "core/run.h"
#include "future/expiry.h"
#include "future/member.h"
#include "route/pool.h"

bool lanepool_i_call_records_init(lanepool_i_call_records *calls)
{
    lanepool_i_list_init(&calls->list);
    return lanepool_i_mutex_init(&calls->lock, LANEPOOL_I_LOCK_CALL_RECORDS);
}

void lanepool_i_call_records_fini(lanepool_i_call_records *calls)
{
    lanepool_i_mutex_fini(&calls->lock);
}

/* --- the list --- */

bool lanepool_i_run_is_of_pool(const lanepool_run *run)
{
    return run != NULL && run->pool != NULL;
}

static lanepool_i_call_record *find_call_locked(lanepool_i_call_records *calls,
                                                const lanepool_i_task *task)
{
    LANEPOOL_I_EACH(lanepool_i_call_record, call, &calls->list, link)
        if (call->suspended.task == task)
            return call;
    return NULL;
}

lanepool_i_call_record *lanepool_i_call_record_of(lanepool_i_call_records *calls,
                                                  const lanepool_i_task *task)
{
    lanepool_i_mutex_lock(&calls->lock);
    lanepool_i_call_record *call = find_call_locked(calls, task);
    lanepool_i_mutex_unlock(&calls->lock);
    return call;
}

lanepool_i_task *lanepool_i_call_record_receiver_of(lanepool_i_call_records *calls,
                                                    const lanepool_i_task *task)
{
    lanepool_i_mutex_lock(&calls->lock);
    const lanepool_i_call_record *call = find_call_locked(calls, task);
    lanepool_i_task *receiver = call != NULL ? call->receiver : NULL;
    lanepool_i_mutex_unlock(&calls->lock);
    return receiver;
}

size_t lanepool_i_call_records_each_receiver(lanepool_i_call_records *calls, size_t most,
                                             void (*found)(lanepool_i_task *receiver,
                                                           lanepool_i_task *giver, void *context),
                                             void *context)
{
    size_t count = 0;
    lanepool_i_mutex_lock(&calls->lock);
    LANEPOOL_I_EACH(const lanepool_i_call_record, call, &calls->list, link) {
        if (call->receiver == NULL)
            continue;
        if (count < most)
            found(call->receiver, call->suspended.task, context);
        count++;
    }
    lanepool_i_mutex_unlock(&calls->lock);
    return count;
}

lanepool_i_call_record *lanepool_i_call_record_make(lanepool_run *run)
{
    if (run->call != NULL)
        return run->call;
    lanepool_i_call_record *call = lanepool_i_memory_alloc(sizeof *call);
    if (call == NULL)
        return NULL;
    lanepool_i_call_records *calls = run->pool->call_records;
    *call = (lanepool_i_call_record){ .pool = run->pool };
    lanepool_i_suspended_init(&call->suspended, run->task);
    atomic_init(&call->state, 0);
    atomic_init(&call->references, 1);
    LANEPOOL_I_QUARANTINE_NAME(call, run->pool->quarantine);
    lanepool_i_mutex_lock(&calls->lock);
    lanepool_i_list_add(&calls->list, &call->link);
    lanepool_i_mutex_unlock(&calls->lock);
    run->call = call;
    return call;
}

/* The future may outlive the pool, and so may the record. */
void lanepool_i_call_record_release(lanepool_i_call_record *call)
{
    if (fetch_sub_acq_rel(&call->references, 1) != 1)
        return;
    lanepool_i_future_release(call->future);
    LANEPOOL_I_QUARANTINE_KEEP(call, lanepool_i_memory_free);
}

/* --- the end of a call --- */

lanepool_i_task *lanepool_i_call_record_end(lanepool_pool *pool, lanepool_i_call_record *call)
{
    lanepool_i_task *receiver = call->receiver;
    for (size_t i = 0; pool->slots.end_call[i] != NULL; i++)
        pool->slots.end_call[i]->end_call(pool, call);
    lanepool_i_mutex_lock(&pool->call_records->lock);
    lanepool_i_unlink(&call->link);
    lanepool_i_mutex_unlock(&pool->call_records->lock);
    if (lanepool_i_call_record_is_detached(call))
        lanepool_i_expiry_set_detached(call->future, NULL);
    if (receiver != NULL) {
        pool->rule->hand_over_lanes(pool, call->suspended.task, receiver);
        for (size_t i = 0; pool->slots.hand_over[i] != NULL; i++)
            pool->slots.hand_over[i]->hand_over(pool, call->suspended.task, receiver);
    }
    lanepool_i_call_record_release(call);
    return receiver;
}

/* --- detached tasks --- */

bool lanepool_i_call_record_returned(lanepool_i_call_record *call, lanepool_result *result)
{
    if (!lanepool_i_call_record_is_detached(call))
        return true;
    lanepool_i_suspended_tasks *suspended = &call->pool->suspended;
    lanepool_i_mutex_lock(&suspended->lock);
    bool decided = (load_relaxed(&call->state) & LANEPOOL_I_CALL_DECIDED) != 0;
    if (decided)
        *result = call->result;
    else
        lanepool_i_suspended_add_locked(suspended, &call->suspended, LANEPOOL_I_UNTIL_COMPLETION);
    lanepool_i_mutex_unlock(&suspended->lock);
    return decided;
}

bool lanepool_i_call_record_try_claim(lanepool_i_call_record *call, uint32_t bits)
{
    uint32_t state = load_acquire(&call->state);
    while ((state & (LANEPOOL_I_CALL_DETACHED | LANEPOOL_I_CALL_CLAIMED)) ==
           LANEPOOL_I_CALL_DETACHED)
        if (cas_acq_rel(&call->state, &state, state | bits | LANEPOOL_I_CALL_CLAIMED))
            return true;
    return false;
}

bool lanepool_i_call_record_claim(lanepool_i_call_record *call, bool *busy)
{
    bool claimed = lanepool_i_call_record_try_claim(call, LANEPOOL_I_CALL_ENDED);
    uint32_t state = load_acquire(&call->state);
    *busy = !claimed && (state & LANEPOOL_I_CALL_DETACHED) != 0 &&
            (state & LANEPOOL_I_CALL_DECIDED) == 0;
    return claimed;
}

void lanepool_i_call_record_decide(lanepool_pool *pool, lanepool_i_thread_record *record,
                                   lanepool_i_call_record *call, lanepool_result result)
{
    lanepool_i_mutex_lock(&pool->suspended.lock);
    call->result = result;
    (void)fetch_or_acq_rel(&call->state, LANEPOOL_I_CALL_DECIDED);
    bool ends = call->suspended.until == LANEPOOL_I_UNTIL_COMPLETION;
    if (ends)
        lanepool_i_suspended_remove_locked(&call->suspended);
    lanepool_i_mutex_unlock(&pool->suspended.lock);
    if (ends)
        lanepool_i_run_end_suspended(pool, record, call->suspended.task, call, result);
}

void lanepool_i_call_record_end_claimed(lanepool_pool *pool, lanepool_i_thread_record *record,
                                        lanepool_i_call_record *call, lanepool_status status)
{
    lanepool_i_call_record_decide(pool, record, call, (lanepool_result){ status, 0, NULL });
}

/* Returns a claimed task, or NULL. While the list is locked, no listed record is freed. */
static lanepool_i_call_record *claim_one(lanepool_i_call_records *calls, bool *some_busy)
{
    lanepool_i_call_record *claimed = NULL;
    *some_busy = false;
    lanepool_i_mutex_lock(&calls->lock);
    LANEPOOL_I_EACH(lanepool_i_call_record, call, &calls->list, link) {
        bool busy;
        if (lanepool_i_call_record_claim(call, &busy)) {
            claimed = call;
            break;
        }
        *some_busy |= busy;
    }
    lanepool_i_mutex_unlock(&calls->lock);
    return claimed;
}

void lanepool_i_call_records_end_all(lanepool_pool *pool, lanepool_i_thread_record *record,
                                     bool waits)
{
    bool some_busy;
    lanepool_i_call_record *call;
    do {
        call = claim_one(pool->call_records, &some_busy);
        if (call != NULL)
            lanepool_i_call_record_end_claimed(pool, record, call, LANEPOOL_ABANDONED);
        else if (some_busy && waits)
            lanepool_i_yield();
    } while (call != NULL || (some_busy && waits));
}
