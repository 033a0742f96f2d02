/* Owns the epochs, and quiescing; see pool_quiesce.h. */
#include "pool/pool_quiesce.h"

#include "base/deadline.h"
#include "route/pool.h"

#include <string.h>

/* One call; shared by the caller and the pool, since the caller may give up first. */
struct lanepool_i_quiesce {
    lanepool_i_message message;
    lanepool_i_quiesce *next;       /* R */
    uint64_t last_epoch;            /* R: the last one that it waits for */
    _Atomic bool is_held;           /* A: R writes: what is left is held up */
    lanepool_i_semaphore semaphore; /* posted when it is done */
    _Atomic uint32_t references;    /* A: the caller's and the pool's */
};

static void drop(lanepool_i_quiesce *quiesce)
{
    if (fetch_sub_acq_rel(&quiesce->references, 1) != 1)
        return;
    lanepool_i_semaphore_fini(&quiesce->semaphore);
    lanepool_i_memory_free(quiesce);
}

/* --- epochs --- */

static bool is_done(lanepool_pool *pool, uint64_t epoch)
{
    size_t i = epoch % LANEPOOL_I_EPOCHS;
    return lanepool_i_thread_records_finished_in(&pool->records, i) ==
               load_relaxed(&pool->router.routed[i]) &&
           load_seq(&pool->lifecycle.cancels) == 0;
}

static void pass_done_epochs(lanepool_pool *pool)
{
    lanepool_i_quiesces *quiesces = pool->quiesces;
    while (quiesces->oldest < pool->router.epoch && is_done(pool, quiesces->oldest))
        quiesces->oldest++;
}

/* The newest epoch ends; false: there are no counters left for another. */
static bool begin_epoch(lanepool_pool *pool)
{
    pass_done_epochs(pool);
    bool room = pool->router.epoch + 1 - pool->quiesces->oldest < LANEPOOL_I_EPOCHS;
    if (room)
        pool->router.epoch++;
    return room;
}

/* --- the role's holder's side --- */

/* Whether a quiesce found no counters left for the epoch that should have begun after it. */
static bool is_epoch_wanted(const lanepool_i_quiesces *quiesces, uint64_t newest)
{
    const lanepool_i_quiesce *quiesce = quiesces->first;
    while (quiesce != NULL && quiesce->last_epoch != newest)
        quiesce = quiesce->next;
    return quiesce != NULL;
}

static void end(lanepool_pool *pool, lanepool_i_quiesce *quiesce)
{
    fetch_sub_seq(&pool->lifecycle.attention, 1);
    lanepool_i_semaphore_post(&quiesce->semaphore);
    drop(quiesce);
}

void lanepool_i_quiesce_look(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    lanepool_i_quiesces *quiesces = pool->quiesces;
    if (quiesces->first == NULL)
        return;
    pass_done_epochs(pool);
    /* Before any quiesce ends: what comes after its end is not to belong to the epoch before. */
    if (is_epoch_wanted(quiesces, pool->router.epoch) && begin_epoch(pool))
        pass_done_epochs(pool);
    lanepool_i_quiesce **at = &quiesces->first;
    bool any_over = false;
    while (*at != NULL) {
        lanepool_i_quiesce *quiesce = *at;
        if (quiesce->last_epoch >= quiesces->oldest) {
            at = &quiesce->next;
            continue;
        }
        if (!any_over && pool->rule->trim != NULL)
            pool->rule->trim(pool, record);
        any_over = true;
        *at = quiesce->next;
        end(pool, quiesce);
    }
}

/* Attention first: whoever finishes the last task after the look below sees it. */
static void begin(lanepool_pool *pool, lanepool_i_thread_record *record,
                  lanepool_i_message *message, lanepool_i_grants *grants)
{
    (void)grants;
    lanepool_i_quiesce *quiesce = (lanepool_i_quiesce *)message;
    fetch_add_seq(&pool->lifecycle.attention, 1);
    quiesce->last_epoch = pool->router.epoch;
    (void)begin_epoch(pool);
    quiesce->next = pool->quiesces->first;
    pool->quiesces->first = quiesce;
    lanepool_i_quiesce_look(pool, record);
}

/* Those that are told are not done, and stay until they are. */
static void tell_held(lanepool_i_quiesce *quiesce)
{
    if (load_relaxed(&quiesce->is_held))
        return;
    store_relaxed(&quiesce->is_held, true);
    lanepool_i_semaphore_post(&quiesce->semaphore);
}

static bool is_quiesce(const lanepool_i_task *node)
{
    return (load_relaxed(&node->word) & LANEPOOL_I_MESSAGE) != 0 &&
           !lanepool_i_task_is_barrier(node) &&
           ((const lanepool_i_message *)node)->carry_out == begin;
}

/* Some may be held back behind a barrier. */
void lanepool_i_quiesce_notify_parked(lanepool_pool *pool)
{
    for (lanepool_i_quiesce *quiesce = pool->quiesces->first; quiesce != NULL;
         quiesce = quiesce->next)
        tell_held(quiesce);
    lanepool_i_task *node = pool->router.held_back.first;
    for (size_t left = pool->router.held_back.count; left > 0; left--) {
        if (is_quiesce(node))
            tell_held((lanepool_i_quiesce *)node);
        node = load_relaxed(&node->next);
    }
}

/* --- the caller's side --- */

static lanepool_i_quiesce *make(lanepool_status *status)
{
    lanepool_i_quiesce *quiesce = lanepool_i_memory_alloc(sizeof *quiesce);
    *status = LANEPOOL_NOMEM;
    if (quiesce == NULL)
        return NULL;
    memset(quiesce, 0, sizeof *quiesce);
    quiesce->message.carry_out = begin;
    atomic_init(&quiesce->references, 2);
    if (lanepool_i_semaphore_init(&quiesce->semaphore))
        return quiesce;
    lanepool_i_memory_free(quiesce);
    *status = LANEPOOL_NO_THREAD;
    return NULL;
}

/* What has finished is added up before what was accepted: if they are equal, nothing was pending in
 * between. */
static bool is_nothing_pending(lanepool_pool *pool)
{
    uint64_t finished = lanepool_i_thread_records_finished(&pool->records);
    return finished == lanepool_i_thread_records_accepted(&pool->records);
}

lanepool_status lanepool_pool_quiesce(lanepool_pool *pool, uint64_t wait_ns_max)
{
    if (pool == NULL)
        return LANEPOOL_INVALID;
    lanepool_i_thread_record *record;
    lanepool_status entered = lanepool_i_pool_enter(pool, &record);
    if (entered != LANEPOOL_OK)
        return entered;
    if (lanepool_i_thread_is_inside_pool(record))
        return LANEPOOL_DEADLOCK;
    if (wait_ns_max == 0)
        return is_nothing_pending(pool) ? LANEPOOL_OK : LANEPOOL_TIMED_OUT;
    lanepool_status status;
    lanepool_i_quiesce *quiesce = make(&status);
    if (quiesce == NULL)
        return status;
    uint64_t deadline_ns = lanepool_i_deadline(wait_ns_max);
    status = LANEPOOL_OK;
    if (!lanepool_i_router_send(pool, record, &quiesce->message)) {
        drop(quiesce);
        status = lanepool_pool_await(pool, wait_ns_max);
    } else if (!lanepool_i_semaphore_wait_until(&quiesce->semaphore, deadline_ns)) {
        status = LANEPOOL_TIMED_OUT;
    } else if (load_relaxed(&quiesce->is_held)) {
        status = LANEPOOL_HELD;
    }
    drop(quiesce);
    if (status == LANEPOOL_OK)
        lanepool_i_slab_trim(&pool->slab);
    return status;
}
