/* Owns futures and their listeners; see future.h. Waiting for a future is future_wait.c's. */
#include "future/future.h"

#include "base/misuse.h"
#include "base/planted.h"
#include "future/attempts_memory.h"
#include "future/expiry.h"
#include "platform/notes.h"

#include <string.h>

/* A child of fork() sees lock and result as they were at one moment; see fork.h. */
_Static_assert(offsetof(lanepool_future, result) + sizeof(lanepool_result) <= LANEPOOL_I_CACHE_LINE,
               "the result is on one page with the lock");

/* Initializes all but the lock and the memory's owner. */
static void init_future(lanepool_future *future, size_t size, lanepool_i_creator creator,
                        lanepool_pool *pool, lanepool_i_task *task)
{
    future->creator = creator;
    atomic_init(&future->references, 2);
    atomic_init(&future->phase, LANEPOOL_I_PHASE_PENDING);
    future->is_member = size != sizeof *future;
    future->size = size;
    future->allocator = NULL;
    future->memory = NULL;
    future->task = task;
    future->pool = pool;
    future->delayed = NULL;
    future->owner = NULL;
    future->sequence_task = NULL;
    memset(&future->result, 0, sizeof future->result);
    lanepool_i_list_init(&future->listeners);
    future->tombstone = NULL;
    atomic_init(&future->asked_to_end, false);
#if defined(LANEPOOL_CHECKED)
    atomic_init(&future->held, 1);
    future->quarantined = (lanepool_i_quarantined){ .quarantine = NULL };
#endif
}

lanepool_future *lanepool_i_future_create(const lanepool_allocator *allocator, size_t size,
                                          lanepool_i_creator creator, lanepool_pool *pool,
                                          lanepool_i_task *task, lanepool_status *status)
{
    lanepool_future *future = lanepool_i_allocate(allocator, size);
    if (future == NULL) {
        *status = LANEPOOL_NOMEM;
        return NULL;
    }
    if (!lanepool_i_mutex_init(&future->lock, LANEPOOL_I_LOCK_FUTURE)) {
        lanepool_i_deallocate(allocator, future, size);
        *status = LANEPOOL_NO_RESOURCE;
        return NULL;
    }
    init_future(future, size, creator, pool, task);
    future->allocator = allocator;
    return future;
}

void lanepool_i_future_init_late(lanepool_future *future, size_t size,
                                 struct lanepool_i_attempts_memory *memory, lanepool_pool *pool,
                                 lanepool_i_creator creator, lanepool_i_task *task)
{
    lanepool_i_mutex_init_static(&future->lock, LANEPOOL_I_LOCK_FUTURE);
    init_future(future, size, creator, pool, task);
    future->memory = memory;
    store_relaxed(&future->references, 1);
    store_relaxed(&future->phase, LANEPOOL_I_PHASE_RUNNING);
#if defined(LANEPOOL_CHECKED)
    store_relaxed(&future->held, 0);
#endif
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
    if (lanepool_i_future_is_here(future))
        lanepool_i_mutex_fini(&future->lock);
    if (future->memory != NULL)
        lanepool_i_attempts_memory_give(future->memory, future);
    else
        lanepool_i_deallocate(future->allocator, future, future->size);
}

/* Release: this thread's uses happen before the free. Acquire: so do those of all other threads. */
void lanepool_i_future_release(lanepool_future *future)
{
    if (future == NULL || fetch_sub_acq_rel(&future->references, 1) != 1 || PLANTED(LEAK))
        return;
    if (future->is_member)
        lanepool_i_member_fini(future);
    LANEPOOL_I_QUARANTINE_KEEP(future, free_future);
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
    lanepool_i_mutex_lock(&future->lock);
    bool starts = lanepool_i_future_phase(future) < LANEPOOL_I_PHASE_CANCELLED;
    bool stopped = lanepool_i_future_phase(future) == LANEPOOL_I_PHASE_PENDING &&
                   load_relaxed(&future->asked_to_end);
    if (starts && !stopped)
        lanepool_i_future_enter_locked(future, LANEPOOL_I_PHASE_RUNNING);
    lanepool_i_mutex_unlock(&future->lock);
    return starts;
}

bool lanepool_i_future_give_up(lanepool_future *future)
{
    lanepool_i_mutex_lock(&future->lock);
    bool gives_up = lanepool_i_future_phase(future) < LANEPOOL_I_PHASE_CANCELLED;
    if (gives_up) {
        lanepool_i_future_enter_locked(future, LANEPOOL_I_PHASE_CANCELLED);
        future->task = NULL;
    }
    lanepool_i_mutex_unlock(&future->lock);
    return gives_up;
}

void lanepool_i_future_drop_tombstone(lanepool_future *future)
{
    lanepool_i_mutex_lock(&future->lock);
    future->tombstone = NULL;
    lanepool_i_mutex_unlock(&future->lock);
    lanepool_i_future_release(future);
}

bool lanepool_i_future_is_complete(lanepool_future *future)
{
    lanepool_i_mutex_lock(&future->lock);
    bool complete = lanepool_i_future_phase(future) == LANEPOOL_I_PHASE_DONE;
    lanepool_i_mutex_unlock(&future->lock);
    return complete;
}

bool lanepool_i_future_has_callbacks(lanepool_future *future)
{
    bool has = false;
    lanepool_i_mutex_lock(&future->lock);
    if (lanepool_i_future_phase(future) != LANEPOOL_I_PHASE_DONE)
        LANEPOOL_I_EACH(const lanepool_i_listener, listener, &future->listeners, link)
            has |= listener->then != NULL;
    lanepool_i_mutex_unlock(&future->lock);
    return has;
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

void lanepool_i_future_complete(lanepool_future *future, const lanepool_result *result)
{
    lanepool_i_note_release(future);
    lanepool_i_mutex_lock(&future->lock);
    lanepool_i_future_enter_locked(future, LANEPOOL_I_PHASE_DONE);
    future->task = NULL;
    future->pool = NULL;
    future->sequence_task = NULL;
    future->result = *result;
    lanepool_group *ended_group =
        future->is_member ? lanepool_i_member_complete_locked(future) : NULL;
    bool disarmed =
        future->is_member && lanepool_i_expiry_disarm_locked(lanepool_i_member_of(future)->expiry);
    lanepool_i_mutex_unlock(&future->lock);
    if (disarmed)
        lanepool_i_future_release(future);
    if (ended_group != NULL)
        lanepool_i_group_free(ended_group);
    serve_listeners(future, result);
    lanepool_i_future_release(future);
}

bool lanepool_i_future_listen(lanepool_future *future, lanepool_i_listener *listener)
{
    lanepool_i_mutex_lock(&future->lock);
    bool open = lanepool_i_future_phase(future) != LANEPOOL_I_PHASE_DONE;
    if (open)
        lanepool_i_list_add(&future->listeners, &listener->link);
    lanepool_i_mutex_unlock(&future->lock);
    return open;
}

bool lanepool_i_future_unlisten(lanepool_future *future, lanepool_i_listener *listener)
{
    lanepool_i_mutex_lock(&future->lock);
    bool open = lanepool_i_future_phase(future) != LANEPOOL_I_PHASE_DONE;
    if (open)
        lanepool_i_unlink(&listener->link);
    lanepool_i_mutex_unlock(&future->lock);
    return open;
}
