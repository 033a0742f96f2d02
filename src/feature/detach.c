/* Owns detaching, completing, early release and hand-off; see detach.h. */
#include "feature/detach.h"

#include "core/caller_runs.h"
#include "core/pool_submit.h"
#include "core/run.h"
#include "feature/context.h"
#include "feature/lane_limit.h"
#include "feature/retry.h"
#include "future/member.h"

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
    lanepool_i_detach **at = &detaches->first;
    while (*at != detach)
        at = &(*at)->next;
    *at = detach->next;
    lanepool_i_mutex_unlock(&detaches->lock);
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
    atomic_init(&detach->state, LANEPOOL_I_DETACH_CALLED);
    lanepool_i_mutex_lock(&detaches->lock);
    detach->next = detaches->first;
    detaches->first = detach;
    lanepool_i_mutex_unlock(&detaches->lock);
    run->detach = detach;
    return detach;
}

bool lanepool_i_detach_returned(lanepool_i_detach *detach, lanepool_result *result)
{
    if (!detach->detached)
        return true;
    if (exchange_acq_rel(&detach->state, LANEPOOL_I_DETACH_RETURNED) != LANEPOOL_I_DETACH_COMPLETED)
        return false;
    *result = detach->result;
    return true;
}

lanepool_i_task *lanepool_i_detach_end(lanepool_pool *pool, lanepool_i_detach *detach)
{
    lanepool_i_task *receiver = detach->receiver;
    lanepool_i_contexts_end_all_uses(pool, detach->uses);
    unlink_record(pool->detaches, detach);
    if (receiver != NULL) {
        pool->rule->hand_over_lanes(pool, detach->task, receiver);
        if (pool->limits_lanes)
            *lanepool_i_lane_limits_charge_of(pool, receiver) =
                lanepool_i_lane_limits_take_charge(pool, detach->task);
    }
    lanepool_i_memory_free(detach);
    return receiver;
}

/* --- detaching --- */

bool lanepool_i_detach_is_run(const lanepool_run *run)
{
    return run != NULL && run->pool != NULL && run->detach != LANEPOOL_I_NOT_A_RUN;
}

/* A detached task counts as a worker that has not left its loop: a pool that stops waits for it. */
lanepool_status lanepool_run_detach(lanepool_run *run, lanepool_detached **detached)
{
    if (detached != NULL)
        *detached = NULL;
    if (!lanepool_i_detach_is_run(run) || detached == NULL ||
        (run->detach != NULL && run->detach->detached))
        return LANEPOOL_INVALID;
    if (lanepool_i_pool_is_forked(run->pool))
        return LANEPOOL_FORKED;
    lanepool_i_detach *detach = lanepool_i_detach_record(run);
    if (detach == NULL)
        return LANEPOOL_NOMEM;
    fetch_add_seq(&run->pool->lifecycle.workers_left, 1);
    detach->detached = true;
    *detached = detach;
    return LANEPOOL_OK;
}

lanepool_status lanepool_task_complete(lanepool_detached *detached, int code, void *value)
{
    if (detached == NULL)
        return LANEPOOL_INVALID;
    lanepool_pool *pool = detached->pool;
    lanepool_i_thread_record *record;
    lanepool_status entered = lanepool_i_pool_enter(pool, &record);
    if (entered != LANEPOOL_OK)
        return entered;
    detached->result = (lanepool_result){ code == 0 ? LANEPOOL_OK : LANEPOOL_FAILED, code, value };
    if (exchange_acq_rel(&detached->state, LANEPOOL_I_DETACH_COMPLETED) ==
        LANEPOOL_I_DETACH_RETURNED)
        lanepool_i_run_completed(pool, record, detached);
    return LANEPOOL_OK;
}

bool lanepool_detached_is_cancelled(const lanepool_detached *detached)
{
    const lanepool_i_task *task = detached->task;
    return lanepool_i_task_is_wide(task) && task->as.wide.future != NULL &&
           load_relaxed(&task->as.wide.future->asked_to_end);
}

/* --- early release --- */

static bool has_own_lanes(const lanepool_run *run)
{
    return lanepool_i_detach_is_run(run) && run->pool->rule->hand_over_lanes != NULL;
}

/* One early release; on the caller's stack. */
struct early_release {
    lanepool_i_task *task;
    lanepool_i_detach *detach; /* NULL if it uses no context */
    const lanepool_claim *claim;
    bool found;
};

/* Role's holder: other threads read a running task's entries only with the role. */
static void release_lane_early(lanepool_pool *pool, lanepool_i_thread_record *record, void *context)
{
    struct early_release *early_release = context;
    lanepool_i_grants grants = lanepool_i_no_grants(record->ring);
    if (early_release->detach != NULL)
        lanepool_i_contexts_end_use(pool, &early_release->detach->uses, early_release->claim);
    early_release->found =
        pool->rule->release(pool, early_release->task, early_release->claim, &grants);
    lanepool_i_count_up(&record->latched, grants.latched);
    lanepool_i_router_put_ready(pool, record, &grants.ready);
}

lanepool_status lanepool_run_release(lanepool_run *run, const lanepool_claim *claim)
{
    if (!has_own_lanes(run) || claim == NULL)
        return LANEPOOL_INVALID;
    if (lanepool_i_pool_is_forked(run->pool))
        return LANEPOOL_FORKED;
    if (run->record->callbacks > 0)
        return LANEPOOL_DEADLOCK;
    struct early_release early_release = { run->task, run->detach, claim, false };
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

/* The receiver has been accepted, and cannot start before this function has returned. */
static void join_group(lanepool_group *group, lanepool_i_task *receiver)
{
    if (group == NULL)
        return;
    lanepool_i_members_enter(group, receiver, receiver);
    lanepool_i_members_entered(group, receiver, receiver, true);
}

/* Makes the receiver visible to calls that cancel several tasks. */
static void set_receiver(lanepool_i_detaches *detaches, lanepool_i_detach *detach,
                         lanepool_i_task *receiver)
{
    lanepool_i_mutex_lock(&detaches->lock);
    detach->receiver = receiver;
    lanepool_i_mutex_unlock(&detaches->lock);
}

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
    status = lanepool_i_role_run_action(pool, record, UINT64_MAX, count_receiver, &hand_off);
    if (status == LANEPOOL_OK) {
        join_group(task->group, receiver);
        set_receiver(pool->detaches, detach, receiver);
    } else {
        lanepool_i_submit_undo_prepare(pool, record, task, receiver);
    }
    return status;
}

lanepool_status lanepool_run_hand_over(lanepool_run *run, const lanepool_task *task)
{
    if (task != NULL && task->future != NULL)
        *task->future = NULL;
    if (!has_own_lanes(run) || task == NULL || task->claim_count > 0 ||
        (run->detach != NULL && run->detach->receiver != NULL))
        return LANEPOOL_INVALID;
    if (lanepool_i_pool_is_forked(run->pool))
        return LANEPOOL_FORKED;
    if (run->record->callbacks > 0)
        return LANEPOOL_DEADLOCK;
    if (load_seq(run->pool->lifecycle.state) == LANEPOOL_I_STOPPING)
        return LANEPOOL_SHUT_DOWN;
    lanepool_i_detach *detach = lanepool_i_detach_record(run);
    return detach != NULL ? submit_receiver(run, detach, task) : LANEPOOL_NOMEM;
}
