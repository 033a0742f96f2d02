/* Owns detaching, completing, early release and handing over; see detach.h. */
#include "feature/detach.h"

#include "core/caller_runs.h"
#include "core/pool_submit.h"
#include "core/run.h"
#include "feature/context.h"
#include "feature/lane_limit.h"
#include "feature/retry.h"
#include "future/member.h"

bool lanepool_i_aparts_init(lanepool_i_aparts *aparts)
{
    aparts->first = NULL;
    return lanepool_i_mutex_init(&aparts->lock);
}

void lanepool_i_aparts_fini(lanepool_i_aparts *aparts)
{
    lanepool_i_mutex_fini(&aparts->lock);
}

/* --- records --- */

lanepool_i_apart *lanepool_i_apart_of(lanepool_i_aparts *aparts, const lanepool_i_task *task)
{
    lanepool_i_mutex_lock(&aparts->lock);
    lanepool_i_apart *apart = aparts->first;
    while (apart != NULL && apart->task != task)
        apart = apart->next;
    lanepool_i_mutex_unlock(&aparts->lock);
    return apart;
}

lanepool_i_task *lanepool_i_apart_heir_of(lanepool_i_aparts *aparts, const lanepool_i_task *task)
{
    lanepool_i_task *heir = NULL;
    lanepool_i_mutex_lock(&aparts->lock);
    for (const lanepool_i_apart *apart = aparts->first; apart != NULL; apart = apart->next)
        if (apart->task == task)
            heir = apart->heir;
    lanepool_i_mutex_unlock(&aparts->lock);
    return heir;
}

size_t lanepool_i_aparts_each_heir(lanepool_i_aparts *aparts, size_t most,
                                   void (*found)(lanepool_i_task *heir, lanepool_i_task *giver,
                                                 void *context),
                                   void *context)
{
    size_t count = 0;
    lanepool_i_mutex_lock(&aparts->lock);
    for (const lanepool_i_apart *apart = aparts->first; apart != NULL; apart = apart->next) {
        if (apart->heir == NULL)
            continue;
        if (count < most)
            found(apart->heir, apart->task, context);
        count++;
    }
    lanepool_i_mutex_unlock(&aparts->lock);
    return count;
}

static void unlink(lanepool_i_aparts *aparts, lanepool_i_apart *apart)
{
    lanepool_i_mutex_lock(&aparts->lock);
    lanepool_i_apart **at = &aparts->first;
    while (*at != apart)
        at = &(*at)->next;
    *at = apart->next;
    lanepool_i_mutex_unlock(&aparts->lock);
}

lanepool_i_apart *lanepool_i_apart_record(lanepool_run *run)
{
    if (run->apart != NULL)
        return run->apart;
    lanepool_i_apart *apart = lanepool_i_memory_alloc(sizeof *apart);
    if (apart == NULL)
        return NULL;
    lanepool_i_aparts *aparts = run->pool->aparts;
    *apart = (lanepool_i_apart){ .pool = run->pool, .task = run->task };
    atomic_init(&apart->state, LANEPOOL_I_APART_CALLED);
    lanepool_i_mutex_lock(&aparts->lock);
    apart->next = aparts->first;
    aparts->first = apart;
    lanepool_i_mutex_unlock(&aparts->lock);
    run->apart = apart;
    return apart;
}

bool lanepool_i_apart_returned(lanepool_i_apart *apart, lanepool_result *result)
{
    if (!apart->detached)
        return true;
    if (exchange_acq_rel(&apart->state, LANEPOOL_I_APART_RETURNED) != LANEPOOL_I_APART_COMPLETED)
        return false;
    *result = apart->result;
    return true;
}

lanepool_i_task *lanepool_i_apart_end(lanepool_pool *pool, lanepool_i_apart *apart)
{
    lanepool_i_task *heir = apart->heir;
    lanepool_i_contexts_leave_all(pool, apart->uses);
    unlink(pool->aparts, apart);
    if (heir != NULL) {
        pool->rule->inherit(pool, apart->task, heir);
        if (pool->limits_lanes)
            *lanepool_i_lane_limits_charge_of(pool, heir) =
                lanepool_i_lane_limits_take(pool, apart->task);
    }
    lanepool_i_memory_free(apart);
    return heir;
}

/* --- detaching --- */

bool lanepool_i_apart_is_run(const lanepool_run *run)
{
    return run != NULL && run->pool != NULL && run->apart != LANEPOOL_I_NOT_A_RUN;
}

/* A detached task counts as a worker that has not left its loop: a pool that is told to stop waits
 * for it. */
lanepool_status lanepool_run_detach(lanepool_run *run, lanepool_detached **detached)
{
    if (detached != NULL)
        *detached = NULL;
    if (!lanepool_i_apart_is_run(run) || detached == NULL ||
        (run->apart != NULL && run->apart->detached))
        return LANEPOOL_INVALID;
    if (lanepool_i_pool_is_forked(run->pool))
        return LANEPOOL_FORKED;
    lanepool_i_apart *apart = lanepool_i_apart_record(run);
    if (apart == NULL)
        return LANEPOOL_NOMEM;
    fetch_add_seq(&run->pool->lifecycle.workers_left, 1);
    apart->detached = true;
    *detached = apart;
    return LANEPOOL_OK;
}

lanepool_status lanepool_task_complete(lanepool_detached *detached, int code, void *value)
{
    if (detached == NULL)
        return LANEPOOL_INVALID;
    lanepool_pool *pool = detached->pool;
    lanepool_i_local *local;
    lanepool_status entered = lanepool_i_pool_come_in(pool, &local);
    if (entered != LANEPOOL_OK)
        return entered;
    detached->result = (lanepool_result){ code == 0 ? LANEPOOL_OK : LANEPOOL_FAILED, code, value };
    if (exchange_acq_rel(&detached->state, LANEPOOL_I_APART_COMPLETED) == LANEPOOL_I_APART_RETURNED)
        lanepool_i_run_completed(pool, local, detached);
    return LANEPOOL_OK;
}

bool lanepool_detached_is_cancelled(const lanepool_detached *detached)
{
    const lanepool_i_task *task = detached->task;
    return lanepool_i_task_is_wide(task) && task->as.wide.future != NULL &&
           load_relaxed(&task->as.wide.future->asked);
}

/* --- early release --- */

static bool has_own_lanes(const lanepool_run *run)
{
    return lanepool_i_apart_is_run(run) && run->pool->rule->inherit != NULL;
}

/* One call; on the caller's stack. */
struct giving_up {
    lanepool_i_task *task;
    lanepool_i_apart *apart; /* NULL: it uses no context */
    const lanepool_claim *claim;
    bool found;
};

/* Role's holder: who else looks at a running task's places holds the role, too. */
static void give_up(lanepool_pool *pool, lanepool_i_local *local, void *context)
{
    struct giving_up *giving_up = context;
    lanepool_i_grants grants = lanepool_i_no_grants(local->ring);
    if (giving_up->apart != NULL)
        lanepool_i_contexts_leave(pool, &giving_up->apart->uses, giving_up->claim);
    giving_up->found = pool->rule->release(pool, giving_up->task, giving_up->claim, &grants);
    lanepool_i_count_up(&local->latched, grants.latched);
    lanepool_i_router_put_ready(pool, local, &grants.ready);
}

lanepool_status lanepool_run_release(lanepool_run *run, const lanepool_claim *claim)
{
    if (!has_own_lanes(run) || claim == NULL)
        return LANEPOOL_INVALID;
    if (lanepool_i_pool_is_forked(run->pool))
        return LANEPOOL_FORKED;
    if (run->local->callbacks > 0)
        return LANEPOOL_DEADLOCK;
    struct giving_up giving_up = { run->task, run->apart, claim, false };
    lanepool_status status =
        lanepool_i_waits_with_role(run->pool, run->local, UINT64_MAX, give_up, &giving_up);
    if (giving_up.found)
        lanepool_i_failing_has_given_up(run->task);
    return status == LANEPOOL_OK && !giving_up.found ? LANEPOOL_INVALID : status;
}

/* --- handing over --- */

/* One call; on the caller's stack. */
struct handing_over {
    const lanepool_i_task *from;
    lanepool_i_task *heir;
};

/* Role's holder: the heir gets the ticket and the epoch of who hands over, which has not finished;
 * and is counted as routed, before a barrier if there is one. */
static void count_heir(lanepool_pool *pool, lanepool_i_local *local, void *context)
{
    struct handing_over *handing_over = context;
    uint64_t taken = LANEPOOL_I_TICKET_MASK | LANEPOOL_I_EPOCH_MASK;
    uint64_t word = load_relaxed(&handing_over->from->word) & taken;
    size_t epoch = (size_t)(word & LANEPOOL_I_EPOCH_MASK) >> LANEPOOL_I_EPOCH_SHIFT;
    store_relaxed(&handing_over->heir->word, load_relaxed(&handing_over->heir->word) | word);
    lanepool_i_count_up(&pool->router.routed[epoch], 1);
    lanepool_i_count_up(&local->accepted, 1);
    pool->router.routed_before++;
}

/* It has been accepted, and does not start before this call has returned. */
static void join_group(lanepool_group *group, lanepool_i_task *heir)
{
    if (group == NULL)
        return;
    lanepool_i_members_enter(group, heir, heir);
    lanepool_i_members_entered(group, heir, heir, true);
}

/* Where others look for it: from now on it can be cancelled with the others. */
static void note_heir(lanepool_i_aparts *aparts, lanepool_i_apart *apart, lanepool_i_task *heir)
{
    lanepool_i_mutex_lock(&aparts->lock);
    apart->heir = heir;
    lanepool_i_mutex_unlock(&aparts->lock);
}

static lanepool_status submit_heir(lanepool_run *run, lanepool_i_apart *apart,
                                   const lanepool_task *task)
{
    lanepool_pool *pool = run->pool;
    lanepool_i_local *local = run->local;
    lanepool_i_task *heir;
    lanepool_status status =
        lanepool_i_submit_prepare(pool, local, task, lanepool_i_task_count(run->task), &heir);
    if (status != LANEPOOL_OK)
        return status;
    struct handing_over handing_over = { run->task, heir };
    status = lanepool_i_waits_with_role(pool, local, UINT64_MAX, count_heir, &handing_over);
    if (status == LANEPOOL_OK) {
        join_group(task->group, heir);
        note_heir(pool->aparts, apart, heir);
    } else {
        lanepool_i_submit_take_back(pool, local, task, heir);
    }
    return status;
}

lanepool_status lanepool_run_hand_over(lanepool_run *run, const lanepool_task *task)
{
    if (task != NULL && task->future != NULL)
        *task->future = NULL;
    if (!has_own_lanes(run) || task == NULL || task->claim_count > 0 ||
        (run->apart != NULL && run->apart->heir != NULL))
        return LANEPOOL_INVALID;
    if (lanepool_i_pool_is_forked(run->pool))
        return LANEPOOL_FORKED;
    if (run->local->callbacks > 0)
        return LANEPOOL_DEADLOCK;
    if (load_seq(run->pool->lifecycle.state) == LANEPOOL_I_STOPPING)
        return LANEPOOL_SHUT_DOWN;
    lanepool_i_apart *apart = lanepool_i_apart_record(run);
    return apart != NULL ? submit_heir(run, apart, task) : LANEPOOL_NOMEM;
}
