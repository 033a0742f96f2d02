/* Owns quiescing and its epochs; see pool_quiesce.h. */
#include "pool/pool_quiesce.h"

#include "feature/journal.h"
#include "route/pool.h"

#include <string.h>

/* One call; shared by the caller and the pool, since the caller may give up first. */
typedef struct lanepool_i_quiesce {
    lanepool_i_message message;
    lanepool_i_link link;           /* R */
    uint64_t last_epoch;            /* R: the last epoch that the quiesce waits for */
    _Atomic bool only_parked_left;  /* A: R writes: all that is left waits for parked tasks */
    lanepool_i_semaphore semaphore; /* posted when it is done, or when only_parked_left is set */
    _Atomic uint32_t references;    /* A: the caller's reference and the pool's */
} lanepool_i_quiesce;

static void release_quiesce(lanepool_i_quiesce *quiesce)
{
    if (fetch_sub_acq_rel(&quiesce->references, 1) != 1)
        return;
    lanepool_i_semaphore_fini(&quiesce->semaphore);
    lanepool_i_memory_free(quiesce);
}

/* --- epochs --- */

static bool is_epoch_done(lanepool_pool *pool, uint64_t epoch)
{
    size_t i = epoch % LANEPOOL_I_EPOCHS;
    return lanepool_i_thread_records_finished_in(&pool->records, i) ==
               load_relaxed(&pool->router.routed[i]) &&
           load_seq(&pool->lifecycle.cancels) == 0;
}

static void pass_done_epochs(lanepool_pool *pool)
{
    lanepool_i_quiesces *quiesces = pool->quiesces;
    while (quiesces->oldest < pool->router.epoch && is_epoch_done(pool, quiesces->oldest))
        quiesces->oldest++;
}

/* Returns false if no counters are free for another epoch. */
static bool begin_epoch(lanepool_pool *pool)
{
    pass_done_epochs(pool);
    bool room = pool->router.epoch + 1 - pool->quiesces->oldest < LANEPOOL_I_EPOCHS;
    if (room)
        pool->router.epoch++;
    return room;
}

/* --- on the role's holder --- */

/* Whether a quiesce found no free counters for the epoch that should have begun after it. */
static bool is_epoch_wanted(const lanepool_i_quiesces *quiesces, uint64_t newest)
{
    LANEPOOL_I_EACH(const lanepool_i_quiesce, quiesce, &quiesces->pending, link)
        if (quiesce->last_epoch == newest)
            return true;
    return false;
}

/* Returns true if the caller has given up, or was notified that only parked tasks are left. */
static bool is_abandoned(lanepool_i_quiesce *quiesce)
{
    return load_acquire(&quiesce->references) == 1;
}

static void end_quiesce(lanepool_pool *pool, lanepool_i_quiesce *quiesce)
{
    lanepool_i_unlink(&quiesce->link);
    fetch_sub_seq(&pool->lifecycle.attention, 1);
    lanepool_i_semaphore_post(&quiesce->semaphore);
    release_quiesce(quiesce);
}

void lanepool_i_quiesce_check(lanepool_pool *pool)
{
    lanepool_i_quiesces *quiesces = pool->quiesces;
    if (lanepool_i_list_is_empty(&quiesces->pending))
        return;
    pass_done_epochs(pool);
    /* Begin that epoch before any quiesce ends. Tasks that the program submits after this end must
     * not belong to the earlier epoch. */
    if (is_epoch_wanted(quiesces, pool->router.epoch) && begin_epoch(pool))
        pass_done_epochs(pool);
    LANEPOOL_I_EACH(lanepool_i_quiesce, quiesce, &quiesces->pending, link)
        if (quiesce->last_epoch < quiesces->oldest || is_abandoned(quiesce))
            end_quiesce(pool, quiesce);
}

/* `attention` is raised before the check, so a thread that finishes the last task later sees it,
 * and checks again. */
static void begin_quiesce(lanepool_pool *pool, lanepool_i_thread_record *record,
                          lanepool_i_message *message, lanepool_i_grants *grants)
{
    (void)record;
    (void)grants;
    lanepool_i_quiesce *quiesce = (lanepool_i_quiesce *)message;
    fetch_add_seq(&pool->lifecycle.attention, 1);
    quiesce->last_epoch = pool->router.epoch;
    (void)begin_epoch(pool);
    lanepool_i_list_add(&pool->quiesces->pending, &quiesce->link);
    lanepool_i_quiesce_check(pool);
}

/* The caller returns, so the next check drops the quiesce. */
static void notify_quiesce_parked(lanepool_i_quiesce *quiesce)
{
    if (load_relaxed(&quiesce->only_parked_left))
        return;
    store_relaxed(&quiesce->only_parked_left, true);
    lanepool_i_semaphore_post(&quiesce->semaphore);
}

static bool is_quiesce(const lanepool_i_task *node)
{
    return (load_relaxed(&node->word) & LANEPOOL_I_MESSAGE) != 0 &&
           !lanepool_i_task_is_barrier(node) &&
           ((const lanepool_i_message *)node)->carry_out == begin_quiesce;
}

/* Some of the quiesces may still be held back behind a barrier. Each node held back there is
 * visited once: a later barrier may hold it back again, but it was notified. */
void lanepool_i_quiesce_notify_parked(lanepool_pool *pool)
{
    LANEPOOL_I_EACH(lanepool_i_quiesce, quiesce, &pool->quiesces->pending, link)
        notify_quiesce_parked(quiesce);
    lanepool_i_task *node = pool->router.unnotified;
    for (; node != NULL; node = load_relaxed(&node->next))
        if (is_quiesce(node))
            notify_quiesce_parked((lanepool_i_quiesce *)node);
    pool->router.unnotified = NULL;
}

/* --- on the caller --- */

static lanepool_i_quiesce *create_quiesce(lanepool_status *status)
{
    lanepool_i_quiesce *quiesce = lanepool_i_memory_alloc(sizeof *quiesce);
    *status = LANEPOOL_NOMEM;
    if (quiesce == NULL)
        return NULL;
    memset(quiesce, 0, sizeof *quiesce);
    quiesce->message.carry_out = begin_quiesce;
    atomic_init(&quiesce->references, 2);
    if (lanepool_i_semaphore_init(&quiesce->semaphore))
        return quiesce;
    lanepool_i_memory_free(quiesce);
    *status = LANEPOOL_NO_RESOURCE;
    return NULL;
}

/* The finished counters are summed first. If the sums are equal, nothing was pending in between. */
static bool is_nothing_pending(lanepool_pool *pool)
{
    uint64_t finished = lanepool_i_thread_records_finished(&pool->records);
    return finished == lanepool_i_thread_records_accepted(&pool->records);
}

static lanepool_status look_for_idle(lanepool_pool *pool)
{
    bool is_idle = is_nothing_pending(pool);
    lanepool_i_note_wait_ends(&pool->notes);
    return is_idle ? lanepool_i_journal_answer(pool) : LANEPOOL_TIMED_OUT;
}

lanepool_status lanepool_pool_quiesce(lanepool_pool *pool, uint64_t wait_max_ns)
{
    if (pool == NULL)
        return LANEPOOL_INVALID;
    lanepool_i_thread_record *record;
    lanepool_status entered = lanepool_i_pool_enter(pool, &record);
    if (entered != LANEPOOL_OK)
        return entered;
    if (lanepool_i_thread_is_inside_pool(record))
        return LANEPOOL_DEADLOCK;
    if (wait_max_ns == 0)
        return look_for_idle(pool);
    lanepool_status status;
    lanepool_i_quiesce *quiesce = create_quiesce(&status);
    if (quiesce == NULL)
        return status;
    uint64_t deadline_ns = lanepool_i_driver_deadline(pool->driver, wait_max_ns);
    if (!lanepool_i_router_send(pool, record, &quiesce->message)) {
        release_quiesce(quiesce);
        status = lanepool_pool_await(pool, wait_max_ns);
    } else if (!lanepool_i_driver_wait(pool->driver, &quiesce->semaphore, deadline_ns)) {
        status = LANEPOOL_TIMED_OUT;
    } else if (load_relaxed(&quiesce->only_parked_left)) {
        status = LANEPOOL_PARKED;
    } else {
        status = lanepool_i_journal_answer(pool);
    }
    release_quiesce(quiesce);
    lanepool_i_note_wait_ends(&pool->notes);
    return status;
}
