/* Owns futures and their listeners; see future.h. Waiting for a future is future_wait.c's. */
#include "future/future.h"

#include "base/misuse.h"
#include "base/planted.h"
#include "future/expiry.h"
#include "platform/notes.h"

/* A child of fork() sees lock and result as they were at one moment; see fork.h. */
_Static_assert(offsetof(lanepool_future, lock) + sizeof(lanepool_i_word_lock) <=
                   LANEPOOL_I_BLOCK_MIN,
               "the result is on one page with the lock");
#if !defined(LANEPOOL_PLATFORM) && !defined(LANEPOOL_CHECKED)
_Static_assert(sizeof(lanepool_future) == LANEPOOL_I_BLOCK_MIN, "a future is one line");
#endif
_Static_assert(offsetof(lanepool_future, references) >= sizeof(lanepool_i_block),
               "a late use of a future touches poisoned memory");

void lanepool_i_future_init(lanepool_future *future, lanepool_i_future_sort sort,
                            lanepool_i_creator creator, lanepool_pool *pool, lanepool_i_task *task)
{
    lanepool_i_word_lock_init(&future->lock, LANEPOOL_I_LOCK_FUTURE);
    future->until_complete.task = task;
    future->until_complete.pool = pool;
    future->delayed = NULL;
    atomic_init(&future->references, 2);
    future->creator = creator;
    atomic_init(&future->phase, LANEPOOL_I_PHASE_PENDING);
    atomic_init(&future->asked_to_end, false);
    atomic_init(&future->has_callbacks, false);
    future->sort = (uint8_t)sort;
    lanepool_i_list_init(&future->listeners);
    future->tombstone = NULL;
#if defined(LANEPOOL_CHECKED)
    atomic_init(&future->held, 1);
    future->quarantined = (lanepool_i_quarantined){ .quarantine = NULL };
#endif
}

lanepool_future *lanepool_i_future_create(lanepool_i_thread_record *record,
                                          lanepool_i_creator creator, lanepool_pool *pool,
                                          lanepool_i_task *task)
{
    lanepool_future *future =
        lanepool_i_slab_take(record->slab, &record->cache, LANEPOOL_I_FUTURE_CLASS, sizeof *future);
    if (future == NULL)
        return NULL;
    record->futures++;
    lanepool_i_future_init(future, LANEPOOL_I_FUTURE_ALONE, creator, pool, task);
    return future;
}

lanepool_future *lanepool_i_future_create_owned(lanepool_i_creator creator,
                                                const lanepool_i_future_owner *owner,
                                                struct lanepool_i_sequence_task *task)
{
    lanepool_i_owned_future *owned = lanepool_i_memory_alloc(sizeof *owned);
    if (owned == NULL)
        return NULL;
    lanepool_i_future_init(&owned->future, LANEPOOL_I_FUTURE_OWNED, creator, NULL, NULL);
    owned->owner = owner;
    owned->sequence_task = task;
    return &owned->future;
}

#if defined(LANEPOOL_CHECKED)
static const char released_before[] = "the future was released before";

lanepool_future *lanepool_future_retain(lanepool_future *future)
{
    if (LANEPOOL_I_MISUSED(future == NULL, "future is NULL"))
        return NULL;
    LANEPOOL_I_FIND_MISUSE(fetch_add_relaxed(&future->held, 1) == 0, released_before);
    return lanepool_i_future_retain(future);
}

void lanepool_future_release(lanepool_future *future)
{
    if (future == NULL)
        return;
    LANEPOOL_I_FIND_MISUSE(fetch_sub_relaxed(&future->held, 1) == 0, released_before);
    lanepool_i_future_release(future);
}
#endif

lanepool_future *lanepool_i_future_retain(lanepool_future *future)
{
    if (LANEPOOL_I_MISUSED(future == NULL, "future is NULL"))
        return NULL;
    fetch_add_relaxed(&future->references, 1);
    return future;
}

static void free_future(void *record)
{
    lanepool_future *future = record;
    if (lanepool_i_future_is_member(future))
        lanepool_i_member_free(future);
    else if (future->sort == LANEPOOL_I_FUTURE_OWNED)
        lanepool_i_memory_free(future);
    else
        lanepool_i_slab_return(future, LANEPOOL_I_FUTURE_CLASS);
}

/* Release: this thread's uses happen before the free. Acquire: so do those of all other threads. */
void lanepool_i_future_release(lanepool_future *future)
{
    if (future == NULL || fetch_sub_acq_rel(&future->references, 1) != 1 || PLANTED(LEAK))
        return;
    if (lanepool_i_future_is_member(future))
        lanepool_i_member_fini(future);
    LANEPOOL_I_QUARANTINE_KEEP(future, free_future);
}

/* A thread of the pool gives the block to its own cache, without an atomic operation. */
static void free_alone(lanepool_future *future, lanepool_i_thread_record *record)
{
#if defined(LANEPOOL_CHECKED)
    (void)record;
    LANEPOOL_I_QUARANTINE_KEEP(future, free_future);
#else
    record->futures--;
    lanepool_i_slab_give(record->slab, &record->cache, LANEPOOL_I_FUTURE_CLASS, future);
#endif
}

/* --- phases --- */

void lanepool_i_future_enter_locked(lanepool_future *future, lanepool_i_phase phase)
{
    LANEPOOL_I_ASSERT(lanepool_i_phase_may_follow(lanepool_i_future_phase(future), phase) ||
                      PLANTED_ANY);
    store_relaxed(&future->phase, phase);
}

bool lanepool_i_future_start(lanepool_future *future)
{
    lanepool_i_word_lock_lock(&future->lock);
    bool starts = lanepool_i_future_phase(future) < LANEPOOL_I_PHASE_CANCELLED;
    bool stopped = lanepool_i_future_phase(future) == LANEPOOL_I_PHASE_PENDING &&
                   load_relaxed(&future->asked_to_end);
    if (starts && !stopped)
        lanepool_i_future_enter_locked(future, LANEPOOL_I_PHASE_RUNNING);
    lanepool_i_word_lock_unlock(&future->lock);
    return starts;
}

/* The swap decides between this thread and one that cancels, which swaps, too. It carries nothing:
 * the task came to this thread by the queue of ready tasks. */
bool lanepool_i_future_start_simple(lanepool_future *future)
{
    uint8_t pending = LANEPOOL_I_PHASE_PENDING;
    return cas_relaxed(&future->phase, &pending, LANEPOOL_I_PHASE_RUNNING);
}

/* A thread that finds CANCELLED without the lock takes the lock before it drops the tombstone. */
bool lanepool_i_future_cancel_locked(lanepool_future *future)
{
    uint8_t pending = LANEPOOL_I_PHASE_PENDING;
    LANEPOOL_I_ASSERT(future->delayed == NULL || PLANTED_ANY);
    if (PLANTED(EXPIRES_STARTED))
        store_relaxed(&future->phase, LANEPOOL_I_PHASE_CANCELLED);
    else if (!cas_relaxed(&future->phase, &pending, LANEPOOL_I_PHASE_CANCELLED))
        return false;
    future->tombstone = future->until_complete.task;
    future->until_complete.task = NULL;
    lanepool_i_future_retain(future);
    lanepool_i_future_retain(future);
    return true;
}

bool lanepool_i_future_give_up(lanepool_future *future)
{
    lanepool_i_word_lock_lock(&future->lock);
    bool gives_up = lanepool_i_future_phase(future) < LANEPOOL_I_PHASE_CANCELLED;
    if (gives_up) {
        lanepool_i_future_enter_locked(future, LANEPOOL_I_PHASE_CANCELLED);
        future->until_complete.task = NULL;
    }
    lanepool_i_word_lock_unlock(&future->lock);
    return gives_up;
}

void lanepool_i_future_drop_tombstone(lanepool_future *future)
{
    lanepool_i_word_lock_lock(&future->lock);
    future->tombstone = NULL;
    lanepool_i_word_lock_unlock(&future->lock);
    lanepool_i_future_release(future);
}

bool lanepool_i_future_is_complete(lanepool_future *future)
{
    lanepool_i_word_lock_lock(&future->lock);
    bool complete = lanepool_i_future_phase(future) == LANEPOOL_I_PHASE_DONE;
    lanepool_i_word_lock_unlock(&future->lock);
    return complete;
}

/* Posts or calls each listener. The future is complete, so no thread adds or removes one any more.
 * The memory of a listener that it does not own may be gone after that. */
static void serve_listeners(lanepool_future *future, const lanepool_result *result)
{
    if (!lanepool_i_list_is_empty(&future->listeners))
        lanepool_i_note_acquire(future);
    LANEPOOL_I_EACH(lanepool_i_listener, listener, &future->listeners, link) {
        bool is_owned = listener->is_owned;
        if (listener->then != NULL)
            listener->then(listener->context, result);
        else
            lanepool_i_semaphore_post(listener->semaphore);
        if (is_owned)
            lanepool_i_memory_free(listener);
    }
}

/* Moves the future to DONE. Returns true if the caller must give a reference back, which the timer
 * of a deadline had. */
static bool set_complete(lanepool_future *future, const lanepool_result *result)
{
    lanepool_i_word_lock_lock(&future->lock);
    lanepool_i_future_enter_locked(future, LANEPOOL_I_PHASE_DONE);
    if (future->sort == LANEPOOL_I_FUTURE_OWNED)
        ((lanepool_i_owned_future *)future)->sequence_task = NULL;
    future->result = *result;
    bool is_member = lanepool_i_future_is_member(future);
    lanepool_group *ended_group = is_member ? lanepool_i_member_complete_locked(future) : NULL;
    bool disarmed =
        is_member && lanepool_i_expiry_disarm_locked(lanepool_i_member_of(future)->expiry);
    lanepool_i_word_lock_unlock(&future->lock);
    if (ended_group != NULL)
        lanepool_i_group_free(ended_group);
    return disarmed;
}

/* If the task has the last reference, no other thread can use the future: only a reference leads to
 * another. Acquire: their uses happen before this. The program may still be waiting for a call. */
void lanepool_i_future_complete(lanepool_future *future, lanepool_i_thread_record *record,
                                const lanepool_result *result)
{
    bool is_alone = future->sort == LANEPOOL_I_FUTURE_ALONE;
    lanepool_i_note_release(future);
    if (is_alone && load_acquire(&future->references) == 1 &&
        lanepool_i_list_is_empty(&future->listeners) && !PLANTED(LEAK)) {
        free_alone(future, record);
        return;
    }
    if (set_complete(future, result))
        lanepool_i_future_release(future);
    serve_listeners(future, result);
    if (!is_alone)
        lanepool_i_future_release(future);
    else if (fetch_sub_acq_rel(&future->references, 1) == 1 && !PLANTED(LEAK))
        free_alone(future, record);
}

bool lanepool_i_future_listen(lanepool_future *future, lanepool_i_listener *listener)
{
    lanepool_i_word_lock_lock(&future->lock);
    bool open = lanepool_i_future_phase(future) != LANEPOOL_I_PHASE_DONE;
    if (open)
        lanepool_i_list_add(&future->listeners, &listener->link);
    if (open && listener->then != NULL)
        store_relaxed(&future->has_callbacks, true);
    lanepool_i_word_lock_unlock(&future->lock);
    return open;
}

bool lanepool_i_future_unlisten(lanepool_future *future, lanepool_i_listener *listener)
{
    lanepool_i_word_lock_lock(&future->lock);
    bool open = lanepool_i_future_phase(future) != LANEPOOL_I_PHASE_DONE;
    if (open)
        lanepool_i_unlink(&listener->link);
    lanepool_i_word_lock_unlock(&future->lock);
    return open;
}
