/* Owns the records of calls: their list, and how a detached task ends; see call_record.h. */
#include "core/call_record.h"

#include "core/run.h"
#include "future/expiry.h"
#include "future/member.h"
#include "route/pool.h"

bool lanepool_i_call_records_init(lanepool_i_call_records *calls)
{
    calls->first = NULL;
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

lanepool_i_call_record *lanepool_i_call_record_of(lanepool_i_call_records *calls,
                                                  const lanepool_i_task *task)
{
    lanepool_i_mutex_lock(&calls->lock);
    lanepool_i_call_record *call = calls->first;
    while (call != NULL && call->task != task)
        call = call->next;
    lanepool_i_mutex_unlock(&calls->lock);
    return call;
}

lanepool_i_task *lanepool_i_call_record_receiver_of(lanepool_i_call_records *calls,
                                                    const lanepool_i_task *task)
{
    lanepool_i_task *receiver = NULL;
    lanepool_i_mutex_lock(&calls->lock);
    for (const lanepool_i_call_record *call = calls->first; call != NULL; call = call->next)
        if (call->task == task)
            receiver = call->receiver;
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
    for (const lanepool_i_call_record *call = calls->first; call != NULL; call = call->next) {
        if (call->receiver == NULL)
            continue;
        if (count < most)
            found(call->receiver, call->task, context);
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
    *call = (lanepool_i_call_record){ .pool = run->pool, .task = run->task };
    atomic_init(&call->state, 0);
    atomic_init(&call->references, 1);
    LANEPOOL_I_QUARANTINE_NAME(call, run->pool->quarantine);
    lanepool_i_mutex_lock(&calls->lock);
    call->next = calls->first;
    call->link = &calls->first;
    if (call->next != NULL)
        call->next->link = &call->next;
    calls->first = call;
    lanepool_i_mutex_unlock(&calls->lock);
    run->call = call;
    return call;
}

static void unlink_record(lanepool_i_call_records *calls, lanepool_i_call_record *call)
{
    lanepool_i_mutex_lock(&calls->lock);
    *call->link = call->next;
    if (call->next != NULL)
        call->next->link = call->link;
    lanepool_i_mutex_unlock(&calls->lock);
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
    unlink_record(pool->call_records, call);
    if (call->detached)
        lanepool_i_expiry_set_detached(call->future, NULL);
    if (receiver != NULL) {
        pool->rule->hand_over_lanes(pool, call->task, receiver);
        for (size_t i = 0; pool->slots.hand_over[i] != NULL; i++)
            pool->slots.hand_over[i]->hand_over(pool, call->task, receiver);
    }
    lanepool_i_call_record_release(call);
    return receiver;
}

/* --- detached tasks --- */

bool lanepool_i_call_record_returned(lanepool_i_call_record *call, lanepool_result *result)
{
    if (!call->detached)
        return true;
    if ((fetch_or_acq_rel(&call->state, LANEPOOL_I_CALL_RETURNED) & LANEPOOL_I_CALL_DECIDED) == 0)
        return false;
    *result = call->result;
    return true;
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
    call->result = result;
    if ((fetch_or_acq_rel(&call->state, LANEPOOL_I_CALL_DECIDED) & LANEPOOL_I_CALL_RETURNED) != 0)
        lanepool_i_run_completed(pool, record, call);
}

void lanepool_i_call_record_end_claimed(lanepool_pool *pool, lanepool_i_thread_record *record,
                                        lanepool_i_call_record *call, lanepool_status status)
{
    lanepool_i_call_record_decide(pool, record, call, (lanepool_result){ status, 0, NULL });
}

/* Returns a claimed task, or NULL. While the list is locked, no listed record is freed. */
static lanepool_i_call_record *claim_one(lanepool_i_call_records *calls, bool *some_busy)
{
    *some_busy = false;
    lanepool_i_mutex_lock(&calls->lock);
    lanepool_i_call_record *call = calls->first;
    bool busy;
    while (call != NULL && !lanepool_i_call_record_claim(call, &busy)) {
        *some_busy |= busy;
        call = call->next;
    }
    lanepool_i_mutex_unlock(&calls->lock);
    return call;
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
