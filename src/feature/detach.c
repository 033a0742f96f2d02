/* Owns detaching, completing, early release and hand-off; see call_record.h. */
#include "base/misuse.h"
#include "core/call_record.h"
#include "core/caller_runs.h"
#include "core/run.h"
#include "core/submit_later.h"
#include "core/task_check.h"
#include "feature/context.h"
#include "feature/journal.h"
#include "feature/retry.h"
#include "future/expiry.h"
#include "future/member.h"
#include "lane/visits.h"
#include "platform/notes.h"
#include "route/offers.h"

static bool pool_stops_now(const lanepool_pool *pool)
{
    return load_seq(pool->lifecycle.state) == LANEPOOL_I_STOPPING;
}

/* --- detaching --- */

/* A detached task counts as a worker that has not left its loop: a pool that stops waits for it. A
 * pool that begins to stop now may miss the task; then the end of its function ends the task, too.
 */
lanepool_status lanepool_run_detach(lanepool_run *run, lanepool_detached **detached)
{
    if (detached != NULL)
        *detached = NULL;
    if (!lanepool_i_run_is_of_pool(run) || detached == NULL ||
        (run->call != NULL && lanepool_i_call_record_is_detached(run->call)))
        return LANEPOOL_INVALID;
    if (lanepool_i_pool_is_forked(run->pool))
        return LANEPOOL_FORKED;
    if (lanepool_i_task_is_visitor(run->task))
        return LANEPOOL_UNSUPPORTED;
    if (pool_stops_now(run->pool))
        return LANEPOOL_SHUT_DOWN;
    lanepool_i_call_record *call = lanepool_i_call_record_make(run);
    if (call == NULL)
        return LANEPOOL_NOMEM;
    lanepool_future *future = lanepool_i_task_future(run->task);
    if (!lanepool_i_expiry_set_detached(future, call))
        return LANEPOOL_TIMED_OUT;
    fetch_add_seq(&run->pool->lifecycle.workers_left, 1);
    fetch_add_relaxed(&call->references, 1);
    /* The call may outlive the pool, and a record made late must not. Nothing asks its task to stop
     * while it runs. */
    bool is_late = lanepool_i_future_is_late(future);
    call->future = future != NULL && !is_late ? lanepool_i_future_retain(future) : NULL;
    (void)fetch_or_acq_rel(&call->state, LANEPOOL_I_CALL_DETACHED);
    *detached = call;
    return LANEPOOL_OK;
}

/* --- completing --- */

#if defined(LANEPOOL_CHECKED)
static const char completed_before[] = "the task was completed before";

static bool is_given_back(const lanepool_detached *detached)
{
    return (load_acquire(&detached->state) & LANEPOOL_I_CALL_GIVEN_BACK) != 0;
}
#endif

lanepool_status lanepool_task_complete(lanepool_detached *detached, int code, void *value)
{
    if (detached == NULL)
        return LANEPOOL_INVALID;
    if (LANEPOOL_I_MISUSED(
            (load_acquire(&detached->state) & (LANEPOOL_I_CALL_CLAIMED | LANEPOOL_I_CALL_ENDED)) ==
                LANEPOOL_I_CALL_CLAIMED,
            completed_before))
        return LANEPOOL_INVALID;
    LANEPOOL_I_FIND_MISUSE(is_given_back(detached), completed_before);
    lanepool_status status = LANEPOOL_DONE;
    lanepool_i_note_release(detached);
    if (lanepool_i_call_record_try_claim(detached, 0)) {
        lanepool_pool *pool = detached->pool;
        lanepool_i_thread_record *record;
        status = lanepool_i_pool_enter(pool, &record);
        if (status != LANEPOOL_OK) {
            (void)fetch_and_acq_rel(&detached->state, ~(uint32_t)LANEPOOL_I_CALL_CLAIMED);
            return status;
        }
        lanepool_i_lifecycle_pin(&pool->lifecycle);
        lanepool_i_call_record_decide(
            pool, record, detached,
            (lanepool_result){ code == 0 ? LANEPOOL_OK : LANEPOOL_FAILED, code, value });
        lanepool_i_lifecycle_unpin(&pool->lifecycle);
    }
#if defined(LANEPOOL_CHECKED)
    (void)fetch_or_acq_rel(&detached->state, LANEPOOL_I_CALL_GIVEN_BACK);
#endif
    lanepool_i_call_record_release(detached);
    return status;
}

bool lanepool_detached_is_cancelled(const lanepool_detached *detached)
{
    if (LANEPOOL_I_MISUSED(detached == NULL, "detached is NULL"))
        return false;
    LANEPOOL_I_FIND_MISUSE(is_given_back(detached), completed_before);
    return (load_acquire(&detached->state) & LANEPOOL_I_CALL_ENDED) != 0 ||
           (detached->future != NULL && load_relaxed(&detached->future->asked_to_end));
}

/* --- early release --- */

/* One early release; on the caller's stack. */
struct early_release {
    lanepool_i_task *task;
    lanepool_i_call_record *call; /* NULL if it uses no context */
    lanepool_key key;
    lanepool_i_journal_part part;
    bool found;
};

/* Role's holder: other threads read a running task's entries only with the role. */
static void release_lane_early(lanepool_pool *pool, lanepool_i_thread_record *record, void *context,
                               lanepool_i_grants *grants)
{
    struct early_release *early_release = context;
    (void)record;
    if (early_release->call != NULL)
        lanepool_i_contexts_end_use(pool, &early_release->call->uses, early_release->task,
                                    early_release->key);
    early_release->found =
        pool->rule->release(pool, early_release->task, early_release->key, grants);
}

lanepool_status lanepool_run_release(lanepool_run *run, lanepool_key key)
{
    if (!lanepool_i_run_is_of_pool(run))
        return LANEPOOL_INVALID;
    if (!lanepool_i_pool_offers(run->pool, LANEPOOL_I_EARLY_RELEASE))
        return LANEPOOL_UNSUPPORTED;
    if (lanepool_i_pool_is_forked(run->pool))
        return LANEPOOL_FORKED;
    if (run->record->callbacks > 0)
        return LANEPOOL_DEADLOCK;
    struct early_release early_release = { run->task, run->call, key, { NULL, NULL }, false };
    if (!lanepool_i_journal_begin_release(run->pool, run->record, run->task, key,
                                          &early_release.part))
        return LANEPOOL_NOMEM;
    lanepool_status status = lanepool_i_control_call(run->pool, run->record, UINT64_MAX,
                                                     release_lane_early, &early_release);
    if (early_release.found)
        lanepool_i_retry_released_lane(run->pool, run->task);
    lanepool_i_journal_end_release(run->pool, run->record, &early_release.part);
    return status == LANEPOOL_OK && !early_release.found ? LANEPOOL_INVALID : status;
}

/* --- hand-off --- */

/* One hand-off; on the caller's stack. */
struct hand_off {
    const lanepool_i_task *from;
    lanepool_i_task *receiver;
};

/* Role's holder: the receiver gets the ticket and the epoch of the giver, which has not finished.
 * The receiver counts as routed, also in `routed_before`: if there is a barrier, the giver is
 * before it or is the barrier, so the tasks behind it wait for the receiver, too. */
static void count_receiver(lanepool_pool *pool, lanepool_i_thread_record *record, void *context,
                           lanepool_i_grants *grants)
{
    (void)grants;
    struct hand_off *hand_off = context;
    uint64_t taken = LANEPOOL_I_TICKET_MASK | LANEPOOL_I_EPOCH_MASK;
    uint64_t word = load_relaxed(&hand_off->from->word) & taken;
    size_t epoch = (size_t)(word & LANEPOOL_I_EPOCH_MASK) >> LANEPOOL_I_EPOCH_SHIFT;
    store_relaxed(&hand_off->receiver->word, load_relaxed(&hand_off->receiver->word) | word);
    lanepool_i_count_up(&pool->router.routed[epoch], 1);
    lanepool_i_count_up(&record->accepted, 1);
    pool->router.routed_before++;
}

/* Makes the receiver visible to calls that cancel several tasks. */
static void set_receiver(lanepool_i_call_records *calls, lanepool_i_call_record *call,
                         lanepool_i_task *receiver)
{
    lanepool_i_mutex_lock(&calls->lock);
    call->receiver = receiver;
    lanepool_i_mutex_unlock(&calls->lock);
}

/* An accepted receiver cannot start before this function has returned. */
static lanepool_status submit_receiver(lanepool_run *run, lanepool_i_call_record *call,
                                       const lanepool_task *task)
{
    lanepool_pool *pool = run->pool;
    lanepool_i_thread_record *record = run->record;
    lanepool_i_task *receiver;
    lanepool_status status =
        lanepool_i_submit_prepare(pool, record, task, lanepool_i_task_count(run->task), &receiver);
    if (status != LANEPOOL_OK)
        return status;
    struct hand_off hand_off = { run->task, receiver };
    bool joins = task->group == NULL || lanepool_i_member_reserve(task->group);
    status = joins ? lanepool_i_control_call(pool, record, UINT64_MAX, count_receiver, &hand_off)
                   : LANEPOOL_SHUT_DOWN;
    if (status == LANEPOOL_OK) {
        if (task->group != NULL)
            lanepool_i_member_enter_reserved(task->group, receiver);
        lanepool_i_expiry_arm(receiver->as.wide.future);
        set_receiver(pool->call_records, call, receiver);
        return LANEPOOL_OK;
    }
    if (joins && task->group != NULL)
        lanepool_i_member_give_up_reserved(task->group);
    lanepool_i_submit_undo_prepare(pool, record, task, receiver);
    return status;
}

lanepool_status lanepool_run_hand_over(lanepool_run *run, const lanepool_task *task)
{
    lanepool_task room;
    if (!lanepool_i_description_read(&task, &room) || !lanepool_i_run_is_of_pool(run) ||
        (run->call != NULL && run->call->receiver != NULL))
        return LANEPOOL_INVALID;
    if (!lanepool_i_pool_offers(run->pool, LANEPOOL_I_HAND_OVER) || task->claim_count > 0)
        return LANEPOOL_UNSUPPORTED;
    if (lanepool_i_pool_is_forked(run->pool))
        return LANEPOOL_FORKED;
    if (run->record->callbacks > 0)
        return LANEPOOL_DEADLOCK;
    if (load_seq(run->pool->lifecycle.state) == LANEPOOL_I_STOPPING)
        return LANEPOOL_SHUT_DOWN;
    lanepool_i_call_record *call = lanepool_i_call_record_make(run);
    return call != NULL ? submit_receiver(run, call, task) : LANEPOOL_NOMEM;
}
