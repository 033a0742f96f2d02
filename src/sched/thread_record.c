/* Owns the per-thread records and their two lists; see thread_record.h. */
#include "sched/thread_record.h"

#include <string.h>

#define OF_THREAD 1u
#define OF_POOL   2u

bool lanepool_i_locals_init(lanepool_i_locals *locals, lanepool_i_slab *slab,
                            lanepool_i_rings *rings)
{
    memset(locals, 0, sizeof *locals);
    locals->slab = slab;
    locals->rings = rings;
    return lanepool_i_mutex_init(&locals->lock);
}

/* Acquire and release: whoever frees comes after the other's last use. */
static void disown(lanepool_i_local *local, uint32_t owner)
{
    if (fetch_and_acq_rel(&local->owners, ~owner) == owner)
        lanepool_i_memory_free(local);
}

void lanepool_i_locals_fini(lanepool_i_locals *locals)
{
    while (locals->first != NULL) {
        lanepool_i_local *local = locals->first;
        locals->first = local->next_of_pool;
        store_relaxed(&local->pool, NULL);
        disown(local, OF_POOL);
    }
    lanepool_i_mutex_fini(&locals->lock);
}

/* --- the thread's list --- */

static void thread_ends(void *slot)
{
    lanepool_i_local *local = slot;
    lanepool_i_thread_slot_set(NULL);
    while (local != NULL) {
        lanepool_i_local *next = local->next_of_thread;
        disown(local, OF_THREAD);
        local = next;
    }
}

void lanepool_i_local_enter(lanepool_i_local *local)
{
    local->next_of_thread = lanepool_i_thread_slot();
    lanepool_i_thread_slot_set(local);
}

static lanepool_i_local *unlink_from_thread(lanepool_i_local **at)
{
    lanepool_i_local *local = *at;
    *at = local->next_of_thread;
    return local;
}

void lanepool_i_local_leave(lanepool_i_local *local)
{
    lanepool_i_local *front = lanepool_i_thread_slot();
    lanepool_i_local **at = &front;
    while (*at != local)
        at = &(*at)->next_of_thread;
    unlink_from_thread(at);
    lanepool_i_thread_slot_set(front);
}

void lanepool_i_local_retire(lanepool_i_local *local)
{
    disown(local, OF_THREAD);
}

/* Moves the wanted record to the front; frees those of pools that are gone. */
lanepool_i_local *lanepool_i_local_find(const lanepool_pool *pool)
{
    lanepool_i_local *front = lanepool_i_thread_slot();
    lanepool_i_local *found = NULL;
    lanepool_i_local **at = &front;
    while (*at != NULL) {
        const lanepool_pool *of = load_relaxed(&(*at)->pool);
        if (of == NULL)
            disown(unlink_from_thread(at), OF_THREAD);
        else if (of == pool)
            found = unlink_from_thread(at);
        else
            at = &(*at)->next_of_thread;
    }
    lanepool_i_thread_slot_set(front);
    if (found != NULL)
        lanepool_i_local_enter(found);
    return found;
}

bool lanepool_i_thread_is_inside(void)
{
    const lanepool_i_local *local = lanepool_i_thread_slot();
    while (local != NULL && !lanepool_i_local_is_inside(local))
        local = local->next_of_thread;
    return local != NULL || lanepool_i_thread_drains() != NULL;
}

void lanepool_i_local_leave_behind(const lanepool_pool *pool)
{
    lanepool_i_local *local = lanepool_i_local_find(pool);
    if (local == NULL)
        return;
    lanepool_i_local_leave(local);
    lanepool_i_memory_free(local);
}

/* --- the pool's list --- */

static void collect_locked(lanepool_i_locals *locals, lanepool_i_local *gone)
{
    locals->accepted += load_relaxed(&gone->accepted);
    for (size_t i = 0; i < LANEPOOL_I_EPOCHS; i++)
        locals->finished[i] += load_relaxed(&gone->finished[i]);
    locals->latched += load_relaxed(&gone->latched);
    locals->admitted += gone->admitted;
    locals->lanes += gone->lanes;
    lanepool_i_slab_flush(locals->slab, &gone->cache);
    lanepool_i_rings_leave(gone->ring);
    lanepool_i_memory_free(gone);
}

/* Acquire: a thread that is gone has done its last with the record. Workers' records stay. */
static void collect_gone_locked(lanepool_i_locals *locals)
{
    lanepool_i_local **at = &locals->first;
    while (*at != NULL) {
        lanepool_i_local *local = *at;
        if (local->worker != NULL || load_acquire(&local->owners) != OF_POOL) {
            at = &local->next_of_pool;
            continue;
        }
        *at = local->next_of_pool;
        collect_locked(locals, local);
    }
}

lanepool_i_local *lanepool_i_local_make_for_worker(lanepool_pool *pool, lanepool_i_locals *locals,
                                                   lanepool_i_worker *worker)
{
    lanepool_i_local *local = lanepool_i_memory_alloc(sizeof *local);
    if (local == NULL)
        return NULL;
    memset(local, 0, sizeof *local);
    if (!lanepool_i_rings_join(locals->rings, &local->ring)) {
        lanepool_i_memory_free(local);
        return NULL;
    }
    local->worker = worker;
    local->worker_index = worker != NULL ? worker->index : SIZE_MAX;
    atomic_init(&local->pool, pool);
    atomic_init(&local->owners, worker != NULL ? OF_POOL : OF_THREAD | OF_POOL);
    lanepool_i_mutex_lock(&locals->lock);
    collect_gone_locked(locals);
    if (worker == NULL) {
        local->lanes = locals->lanes;
        locals->lanes = 0;
    }
    local->next_of_pool = locals->first;
    locals->first = local;
    lanepool_i_mutex_unlock(&locals->lock);
    return local;
}

lanepool_i_local *lanepool_i_local_make(lanepool_pool *pool, lanepool_i_locals *locals)
{
    lanepool_i_local *local = lanepool_i_local_find(pool);
    if (local != NULL)
        return local;
    if (!lanepool_i_thread_slot_hook(thread_ends))
        return NULL;
    local = lanepool_i_local_make_for_worker(pool, locals, NULL);
    if (local != NULL)
        lanepool_i_local_enter(local);
    return local;
}

/* --- sums --- */

uint64_t lanepool_i_locals_accepted(lanepool_i_locals *locals)
{
    lanepool_i_mutex_lock(&locals->lock);
    uint64_t sum = locals->accepted;
    for (lanepool_i_local *local = locals->first; local != NULL; local = local->next_of_pool)
        sum += load_relaxed(&local->accepted);
    lanepool_i_mutex_unlock(&locals->lock);
    return sum;
}

uint64_t lanepool_i_locals_latched(lanepool_i_locals *locals)
{
    lanepool_i_mutex_lock(&locals->lock);
    uint64_t sum = locals->latched;
    for (lanepool_i_local *local = locals->first; local != NULL; local = local->next_of_pool)
        sum += load_relaxed(&local->latched);
    lanepool_i_mutex_unlock(&locals->lock);
    return sum;
}

uint64_t lanepool_i_locals_finished_in(lanepool_i_locals *locals, size_t epoch)
{
    lanepool_i_mutex_lock(&locals->lock);
    uint64_t sum = locals->finished[epoch];
    for (lanepool_i_local *local = locals->first; local != NULL; local = local->next_of_pool)
        sum += load_seq(&local->finished[epoch]);
    lanepool_i_mutex_unlock(&locals->lock);
    return sum;
}

uint64_t lanepool_i_locals_finished(lanepool_i_locals *locals)
{
    uint64_t sum = 0;
    for (size_t epoch = 0; epoch < LANEPOOL_I_EPOCHS; epoch++)
        sum += lanepool_i_locals_finished_in(locals, epoch);
    return sum;
}

/* Never dereferenced: the task may be gone. */
bool lanepool_i_locals_have_moved(lanepool_i_locals *locals, size_t *inside)
{
    bool moved = false;
    *inside = 0;
    lanepool_i_mutex_lock(&locals->lock);
    for (lanepool_i_local *local = locals->first; local != NULL; local = local->next_of_pool) {
        const lanepool_i_task *running = load_relaxed(&local->running);
        moved = moved || running != local->was_running;
        local->was_running = running;
        *inside += running != NULL;
    }
    lanepool_i_mutex_unlock(&locals->lock);
    return moved;
}
