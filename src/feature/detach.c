/* Owns detaching, completing, early release and hand-off; see detach.h. */
#include "feature/detach.h"

#include "base/misuse.h"
#include "core/caller_runs.h"
#include "core/pool_submit.h"
#include "core/run.h"
#include "core/task_check.h"
#include "feature/context.h"
#include "feature/deadline.h"
#include "feature/lane_limit.h"
#include "feature/retry.h"
#include "future/member.h"
#include "route/offers.h"

bool lanepool_i_detaches_init(lanepool_i_detaches *detaches)
{
    detaches->first = NULL;
    return lanepool_i_mutex_init(&detaches->lock);
}

void lanepool_i_detaches_fini(lanepool_i_detaches *detaches)
{
    lanepool_i_mutex_fini(&detaches->lock);
}

/* --- records --- */

lanepool_i_detach *lanepool_i_detach_of(lanepool_i_detaches *detaches, const lanepool_i_task *task)
{
    lanepool_i_mutex_lock(&detaches->lock);
    lanepool_i_detach *detach = detaches->first;
    while (detach != NULL && detach->task != task)
        detach = detach->next;
    lanepool_i_mutex_unlock(&detaches->lock);
    return detach;
}

lanepool_i_task *lanepool_i_detach_receiver_of(lanepool_i_detaches *detaches,
                                               const lanepool_i_task *task)
{
    lanepool_i_task *receiver = NULL;
    lanepool_i_mutex_lock(&detaches->lock);
    for (const lanepool_i_detach *detach = detaches->first; detach != NULL; detach = detach->next)
        if (detach->task == task)
            receiver = detach->receiver;
    lanepool_i_mutex_unlock(&detaches->lock);
    return receiver;
}

size_t lanepool_i_detaches_each_receiver(lanepool_i_detaches *detaches, size_t most,
                                         void (*found)(lanepool_i_task *receiver,
                                                       lanepool_i_task *giver, void *context),
                                         void *context)
{
    size_t count = 0;
    lanepool_i_mutex_lock(&detaches->lock);
    for (const lanepool_i_detach *detach = detaches->first; detach != NULL; detach = detach->next) {
        if (detach->receiver == NULL)
            continue;
        if (count < most)
            found(detach->receiver, detach->task, context);
        count++;
    }
    lanepool_i_mutex_unlock(&detaches->lock);
    return count;
}

static void unlink_record(lanepool_i_detaches *detaches, lanepool_i_detach *detach)
{
    lanepool_i_mutex_lock(&detaches->lock);
    *detach->link = detach->next;
    if (detach->next != NULL)
        detach->next->link = detach->link;
    lanepool_i_mutex_unlock(&detaches->lock);
}

/* The future may outlive the pool, and so may the record. */
static void release_record(lanepool_i_detach *detach)
{
    if (fetch_sub_acq_rel(&detach->references, 1) != 1)
        return;
    lanepool_i_future_release(detach->future);
    LANEPOOL_I_QUARANTINE_KEEP(detach, lanepool_i_memory_free);
}

lanepool_i_detach *lanepool_i_detach_record(lanepool_run *run)
{
    if (run->detach != NULL)
        return run->detach;
    lanepool_i_detach *detach = lanepool_i_memory_alloc(sizeof *detach);
    if (detach == NULL)
        return NULL;
    lanepool_i_detaches *detaches = run->pool->detaches;
    *detach = (lanepool_i_detach){ .pool = run->pool, .task = run->task };
    atomic_init(&detach->state, 0);
    atomic_init(&detach->references, 1);
    LANEPOOL_I_QUARANTINE_NAME(detach, run->pool->quarantine);
    lanepool_i_mutex_lock(&detaches->lock);
    detach->next = detaches->first;
    detach->link = &detaches->first;
    if (detach->next != NULL)
        detach->next->link = &detach->next;
    detaches->first = detach;
    lanepool_i_mutex_unlock(&detaches->lock);
    run->detach = detach;
    return detach;
}

static bool pool_stops_now(const lanepool_pool *pool)
{
    return load_seq(pool->lifecycle.state) == LANEPOOL_I_STOPPING;
}

bool lanepool_i_detach_returned(lanepool_i_detach *detach, lanepool_result *result)
{
    if (!detach->detached)
        return true;
    if ((fetch_or_acq_rel(&detach->state, LANEPOOL_I_DETACH_RETURNED) &
         LANEPOOL_I_DETACH_DECIDED) == 0)
        return false;
    *result = detach->result;
    return true;
}

lanepool_i_task *lanepool_i_detach_end(lanepool_pool *pool, lanepool_i_detach *detach)
{
    lanepool_i_task *receiver = detach->receiver;
    lanepool_i_contexts_end_all_uses(pool, &detach->uses);
    unlink_record(pool->detaches, detach);
    if (detach->detached)
        lanepool_i_deadline_set_detached(detach->future, NULL);
    if (receiver != NULL) {
        pool->rule->hand_over_lanes(pool, detach->task, receiver);
        if (pool->limits_lanes)
            *lanepool_i_lane_limits_charge_of(pool, receiver) =
                lanepool_i_lane_limits_take_charge(pool, detach->task);
    }
    release_record(detach);
    return receiver;
}

/* --- detaching --- */

bool lanepool_i_detach_is_run(const lanepool_run *run)
{
    return run != NULL && run->pool != NULL;
}

/* A detached task counts as a worker that has not left its loop: a pool that stops waits for it. A
 * pool that begins to stop now may miss the task; then the end of its function ends the task, too.
 */
lanepool_status lanepool_run_detach(lanepool_run *run, lanepool_detached **detached)
{
    if (detached != NULL)
        *detached = NULL;
    if (!lanepool_i_detach_is_run(run) || detached == NULL ||
        (run->detach != NULL && run->detach->detached))
        return LANEPOOL_INVALID;
    if (lanepool_i_pool_is_forked(run->pool))
        return LANEPOOL_FORKED;
    if (pool_stops_now(run->pool))
        return LANEPOOL_SHUT_DOWN;
    lanepool_i_detach *detach = lanepool_i_detach_record(run);
    if (detach == NULL)
        return LANEPOOL_NOMEM;
    lanepool_future *future = lanepool_i_task_is_wide(run->task) ? run->task->as.wide.future : NULL;
    if (!lanepool_i_deadline_set_detached(future, detach))
        return LANEPOOL_TIMED_OUT;
    fetch_add_seq(&run->pool->lifecycle.workers_left, 1);
    fetch_add_relaxed(&detach->references, 1);
    detach->future = future != NULL ? lanepool_i_future_retain(future) : NULL;
    detach->detached = true;
    (void)fetch_or_acq_rel(&detach->state, LANEPOOL_I_DETACH_DETACHED);
    *detached = detach;
    return LANEPOOL_OK;
}

/* --- completing --- */

static bool claim_detached(lanepool_i_detach *detach, uint32_t bits)
{
    uint32_t state = load_acquire(&detach->state);
    while ((state & (LANEPOOL_I_DETACH_DETACHED | LANEPOOL_I_DETACH_CLAIMED)) ==
           LANEPOOL_I_DETACH_DETACHED)
        if (cas_acq_rel(&detach->state, &state, state | bits | LANEPOOL_I_DETACH_CLAIMED))
            return true;
    return false;
}

bool lanepool_i_detach_claim(lanepool_i_detach *detach, bool *busy)
{
    bool claimed = claim_detached(detach, LANEPOOL_I_DETACH_ENDED);
    uint32_t state = load_acquire(&detach->state);
    *busy = !claimed && (state & LANEPOOL_I_DETACH_DETACHED) != 0 &&
            (state & LANEPOOL_I_DETACH_DECIDED) == 0;
    return claimed;
}

static void decide_result(lanepool_pool *pool, lanepool_i_thread_record *record,
                          lanepool_i_detach *detach, lanepool_result result)
{
    detach->result = result;
    if ((fetch_or_acq_rel(&detach->state, LANEPOOL_I_DETACH_DECIDED) &
         LANEPOOL_I_DETACH_RETURNED) != 0)
        lanepool_i_run_completed(pool, record, detach);
}

void lanepool_i_detach_end_claimed(lanepool_pool *pool, lanepool_i_thread_record *record,
                                   lanepool_i_detach *detach, lanepool_status status)
{
    decide_result(pool, record, detach, (lanepool_result){ status, 0, NULL });
}

/* Returns a claimed task, or NULL. While the list is locked, no listed record is freed. */
static lanepool_i_detach *claim_one(lanepool_i_detaches *detaches, bool *some_busy)
{
    *some_busy = false;
    lanepool_i_mutex_lock(&detaches->lock);
    lanepool_i_detach *detach = detaches->first;
    bool busy;
    while (detach != NULL && !lanepool_i_detach_claim(detach, &busy)) {
        *some_busy |= busy;
        detach = detach->next;
    }
    lanepool_i_mutex_unlock(&detaches->lock);
    return detach;
}

void lanepool_i_detaches_end_all(lanepool_pool *pool, lanepool_i_thread_record *record, bool waits)
{
    bool some_busy;
    lanepool_i_detach *detach;
    do {
        detach = claim_one(pool->detaches, &some_busy);
        if (detach != NULL)
            lanepool_i_detach_end_claimed(pool, record, detach, LANEPOOL_ABANDONED);
        else if (some_busy && waits)
            lanepool_i_yield();
    } while (detach != NULL || (some_busy && waits));
}

#if defined(LANEPOOL_CHECKED)
static const char completed_before[] = "the task was completed before";

static bool is_given_back(const lanepool_detached *detached)
{
    return (load_acquire(&detached->state) & LANEPOOL_I_DETACH_GIVEN_BACK) != 0;
}
#endif

lanepool_status lanepool_task_complete(lanepool_detached *detached, int code, void *value)
{
    if (detached == NULL)
        return LANEPOOL_INVALID;
    if (LANEPOOL_I_MISUSED((load_acquire(&detached->state) &
                            (LANEPOOL_I_DETACH_CLAIMED | LANEPOOL_I_DETACH_ENDED)) ==
                               LANEPOOL_I_DETACH_CLAIMED,
                           completed_before))
        return LANEPOOL_INVALID;
    LANEPOOL_I_FIND_MISUSE(is_given_back(detached), completed_before);
    lanepool_status status = LANEPOOL_DONE;
    if (claim_detached(detached, 0)) {
        lanepool_pool *pool = detached->pool;
        lanepool_i_thread_record *record;
        status = lanepool_i_pool_enter(pool, &record);
        if (status != LANEPOOL_OK) {
            (void)fetch_and_acq_rel(&detached->state, ~(uint32_t)LANEPOOL_I_DETACH_CLAIMED);
            return status;
        }
        lanepool_i_lifecycle_pin(&pool->lifecycle);
        decide_result(pool, record, detached,
                      (lanepool_result){ code == 0 ? LANEPOOL_OK : LANEPOOL_FAILED, code, value });
        lanepool_i_lifecycle_unpin(&pool->lifecycle);
    }
#if defined(LANEPOOL_CHECKED)
    (void)fetch_or_acq_rel(&detached->state, LANEPOOL_I_DETACH_GIVEN_BACK);
#endif
    release_record(detached);
    return status;
}

bool lanepool_detached_is_cancelled(const lanepool_detached *detached)
{
    if (LANEPOOL_I_MISUSED(detached == NULL, "detached is NULL"))
        return false;
    LANEPOOL_I_FIND_MISUSE(is_given_back(detached), completed_before);
    return (load_acquire(&detached->state) & LANEPOOL_I_DETACH_ENDED) != 0 ||
           (detached->future != NULL && load_relaxed(&detached->future->asked_to_end));
}

/* --- early release --- */

/* One early release; on the caller's stack. */
struct early_release {
    lanepool_i_task *task;
    lanepool_i_detach *detach; /* NULL if it uses no context */
    lanepool_key key;
    bool found;
};

/* Role's holder: other threads read a running task's entries only with the role. */
static void release_lane_early(lanepool_pool *pool, lanepool_i_thread_record *record, void *context)
{
    struct early_release *early_release = context;
    lanepool_i_grants grants = lanepool_i_no_grants(record->ring);
    if (early_release->detach != NULL)
        lanepool_i_contexts_end_use(pool, &early_release->detach->uses, early_release->task,
                                    early_release->key);
    early_release->found =
        pool->rule->release(pool, early_release->task, early_release->key, &grants);
    lanepool_i_router_pass_on(pool, record, &grants);
}

lanepool_status lanepool_run_release(lanepool_run *run, lanepool_key key)
{
    if (!lanepool_i_detach_is_run(run))
        return LANEPOOL_INVALID;
    if (!lanepool_i_pool_offers(run->pool, LANEPOOL_I_EARLY_RELEASE))
        return LANEPOOL_UNSUPPORTED;
    if (lanepool_i_pool_is_forked(run->pool))
        return LANEPOOL_FORKED;
    if (run->record->callbacks > 0)
        return LANEPOOL_DEADLOCK;
    struct early_release early_release = { run->task, run->detach, key, false };
    lanepool_status status = lanepool_i_role_run_action(run->pool, run->record, UINT64_MAX,
                                                        release_lane_early, &early_release);
    if (early_release.found)
        lanepool_i_retry_released_lane(run->task);
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
static void count_receiver(lanepool_pool *pool, lanepool_i_thread_record *record, void *context)
{
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
static void set_receiver(lanepool_i_detaches *detaches, lanepool_i_detach *detach,
                         lanepool_i_task *receiver)
{
    lanepool_i_mutex_lock(&detaches->lock);
    detach->receiver = receiver;
    lanepool_i_mutex_unlock(&detaches->lock);
}

/* An accepted receiver cannot start before this function has returned. */
static lanepool_status submit_receiver(lanepool_run *run, lanepool_i_detach *detach,
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
    status = joins ? lanepool_i_role_run_action(pool, record, UINT64_MAX, count_receiver, &hand_off)
                   : LANEPOOL_SHUT_DOWN;
    if (status == LANEPOOL_OK) {
        if (task->group != NULL)
            lanepool_i_member_enter_reserved(task->group, receiver);
        lanepool_i_deadline_arm(receiver->as.wide.future);
        set_receiver(pool->detaches, detach, receiver);
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
    if (!lanepool_i_description_read(&task, &room) || !lanepool_i_detach_is_run(run) ||
        (run->detach != NULL && run->detach->receiver != NULL))
        return LANEPOOL_INVALID;
    if (!lanepool_i_pool_offers(run->pool, LANEPOOL_I_HAND_OVER) || task->claim_count > 0)
        return LANEPOOL_UNSUPPORTED;
    if (lanepool_i_pool_is_forked(run->pool))
        return LANEPOOL_FORKED;
    if (run->record->callbacks > 0)
        return LANEPOOL_DEADLOCK;
    if (load_seq(run->pool->lifecycle.state) == LANEPOOL_I_STOPPING)
        return LANEPOOL_SHUT_DOWN;
    lanepool_i_detach *detach = lanepool_i_detach_record(run);
    return detach != NULL ? submit_receiver(run, detach, task) : LANEPOOL_NOMEM;
}
