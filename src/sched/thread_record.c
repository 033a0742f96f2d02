/* Owns the per-thread records and their two lists; see thread_record.h. */
#include "sched/thread_record.h"

#include <string.h>

#define OF_THREAD 1u
#define OF_POOL   2u

bool lanepool_i_thread_records_init(lanepool_i_thread_records *records, lanepool_i_slab *slab,
                                    lanepool_i_rings *rings)
{
    memset(records, 0, sizeof *records);
    lanepool_i_list_init(&records->all);
    records->slab = slab;
    records->rings = rings;
    return lanepool_i_mutex_init(&records->lock, LANEPOOL_I_LOCK_THREAD_RECORDS);
}

/* Frees the record if `owner` was its last owner. Acquire and release: it is freed after the other
 * owner's last use. */
static void drop_owner(lanepool_i_thread_record *record, uint32_t owner)
{
    if (fetch_and_acq_rel(&record->owners, ~owner) == owner)
        lanepool_i_memory_free(record);
}

void lanepool_i_thread_records_fini(lanepool_i_thread_records *records)
{
    LANEPOOL_I_EACH(lanepool_i_thread_record, record, &records->all, link) {
        records->futures += record->futures;
        lanepool_i_slab_flush(records->slab, &record->cache);
        store_relaxed(&record->pool, NULL);
        drop_owner(record, OF_POOL);
    }
    lanepool_i_mutex_fini(&records->lock);
}

/* --- the thread's list --- */

static void drop_records_of_thread(void *slot)
{
    lanepool_i_thread_record *record = slot;
    lanepool_i_thread_slot_set(NULL);
    while (record != NULL) {
        lanepool_i_thread_record *next = record->next_of_thread;
        drop_owner(record, OF_THREAD);
        record = next;
    }
}

void lanepool_i_thread_record_enter(lanepool_i_thread_record *record)
{
    record->next_of_thread = lanepool_i_thread_slot();
    lanepool_i_thread_slot_set(record);
}

static lanepool_i_thread_record *unlink_from_thread(lanepool_i_thread_record **at)
{
    lanepool_i_thread_record *record = *at;
    *at = record->next_of_thread;
    return record;
}

void lanepool_i_thread_record_leave(lanepool_i_thread_record *record)
{
    lanepool_i_thread_record *front = lanepool_i_thread_slot();
    lanepool_i_thread_record **at = &front;
    while (*at != record)
        at = &(*at)->next_of_thread;
    unlink_from_thread(at);
    lanepool_i_thread_slot_set(front);
}

void lanepool_i_thread_record_retire(lanepool_i_thread_record *record)
{
    drop_owner(record, OF_THREAD);
}

/* Moves the wanted record to the front, and drops the records of pools that are gone. */
lanepool_i_thread_record *lanepool_i_thread_record_find(const lanepool_pool *pool)
{
    lanepool_i_thread_record *front = lanepool_i_thread_slot();
    lanepool_i_thread_record *found = NULL;
    lanepool_i_thread_record **at = &front;
    while (*at != NULL) {
        const lanepool_pool *of = load_relaxed(&(*at)->pool);
        if (of == NULL)
            drop_owner(unlink_from_thread(at), OF_THREAD);
        else if (of == pool)
            found = unlink_from_thread(at);
        else
            at = &(*at)->next_of_thread;
    }
    lanepool_i_thread_slot_set(front);
    if (found != NULL)
        lanepool_i_thread_record_enter(found);
    return found;
}

lanepool_i_thread_record *lanepool_i_thread_record_swap(const lanepool_pool *pool,
                                                        lanepool_i_thread_record *record)
{
    lanepool_i_thread_record *before = lanepool_i_thread_record_find(pool);
    if (before != NULL)
        lanepool_i_thread_record_leave(before);
    if (record != NULL)
        lanepool_i_thread_record_enter(record);
    return before;
}

bool lanepool_i_thread_is_inside_any(void)
{
    const lanepool_i_thread_record *record = lanepool_i_thread_slot();
    while (record != NULL && !lanepool_i_thread_is_inside_pool(record))
        record = record->next_of_thread;
    return record != NULL || lanepool_i_thread_drains() != NULL;
}

void lanepool_i_thread_record_free_in_child(const lanepool_pool *pool)
{
    lanepool_i_thread_record *record = lanepool_i_thread_record_find(pool);
    if (record == NULL)
        return;
    lanepool_i_thread_record_leave(record);
    lanepool_i_memory_free(record);
}

/* --- the pool's list --- */

static void collect_record_locked(lanepool_i_thread_records *records,
                                  lanepool_i_thread_record *gone)
{
    records->accepted += load_relaxed(&gone->accepted);
    for (size_t i = 0; i < LANEPOOL_I_EPOCHS; i++)
        records->finished[i] += load_relaxed(&gone->finished[i]);
    records->latched += load_relaxed(&gone->latched);
    records->readied += load_relaxed(&gone->readied);
    records->admitted += gone->admitted + gone->lane_credits;
    records->lanes += gone->lanes;
    records->attempts += gone->attempts;
    records->futures += gone->futures;
    lanepool_i_slab_flush(records->slab, &gone->cache);
    lanepool_i_rings_leave(gone->ring);
    lanepool_i_memory_free(gone);
}

/* Collects the records of threads that are gone, but not those of workers. Acquire: such a thread's
 * last use of its record happens before this. */
static void collect_gone_locked(lanepool_i_thread_records *records)
{
    LANEPOOL_I_EACH(lanepool_i_thread_record, record, &records->all, link)
        if (record->worker == NULL && load_acquire(&record->owners) == OF_POOL) {
            lanepool_i_unlink(&record->link);
            collect_record_locked(records, record);
        }
}

lanepool_i_thread_record *
lanepool_i_thread_record_create_for_worker(lanepool_pool *pool, lanepool_i_thread_records *records,
                                           lanepool_i_worker *worker)
{
    lanepool_i_thread_record *record = lanepool_i_memory_alloc(sizeof *record);
    if (record == NULL)
        return NULL;
    memset(record, 0, sizeof *record);
    if (!lanepool_i_rings_join(records->rings, &record->ring)) {
        lanepool_i_memory_free(record);
        return NULL;
    }
    record->slab = records->slab;
    record->worker = worker;
    record->worker_index = worker != NULL ? worker->index : SIZE_MAX;
    atomic_init(&record->pool, pool);
    atomic_init(&record->owners, worker != NULL ? OF_POOL : OF_THREAD | OF_POOL);
    lanepool_i_mutex_lock(&records->lock);
    collect_gone_locked(records);
    if (worker == NULL) {
        record->lanes = records->lanes;
        records->lanes = 0;
        record->attempts = records->attempts;
        records->attempts = 0;
    }
    lanepool_i_list_add(&records->all, &record->link);
    lanepool_i_mutex_unlock(&records->lock);
    return record;
}

lanepool_i_thread_record *lanepool_i_thread_record_create(lanepool_pool *pool,
                                                          lanepool_i_thread_records *records)
{
    lanepool_i_thread_record *record = lanepool_i_thread_record_find(pool);
    if (record != NULL)
        return record;
    if (!lanepool_i_thread_slot_hook(drop_records_of_thread))
        return NULL;
    record = lanepool_i_thread_record_create_for_worker(pool, records, NULL);
    if (record != NULL)
        lanepool_i_thread_record_enter(record);
    return record;
}

/* --- sums --- */

/* Adds up a counter, the member of a record at this offset. The collected records count, too. */
static uint64_t add_up(lanepool_i_thread_records *records, const uint64_t *collected, size_t offset)
{
    lanepool_i_mutex_lock(&records->lock);
    uint64_t sum = *collected;
    LANEPOOL_I_EACH(lanepool_i_thread_record, record, &records->all, link)
        sum += load_seq((const _Atomic uint64_t *)((const char *)record + offset));
    lanepool_i_mutex_unlock(&records->lock);
    return sum;
}

uint64_t lanepool_i_thread_records_accepted(lanepool_i_thread_records *records)
{
    return add_up(records, &records->accepted, offsetof(lanepool_i_thread_record, accepted));
}

uint64_t lanepool_i_thread_records_latched(lanepool_i_thread_records *records)
{
    return add_up(records, &records->latched, offsetof(lanepool_i_thread_record, latched));
}

uint64_t lanepool_i_thread_records_readied(lanepool_i_thread_records *records)
{
    return add_up(records, &records->readied, offsetof(lanepool_i_thread_record, readied));
}

uint64_t lanepool_i_thread_records_finished_in(lanepool_i_thread_records *records, size_t epoch)
{
    return add_up(records, &records->finished[epoch],
                  offsetof(lanepool_i_thread_record, finished) + epoch * sizeof(uint64_t));
}

uint64_t lanepool_i_thread_records_finished(lanepool_i_thread_records *records)
{
    uint64_t sum = 0;
    lanepool_i_mutex_lock(&records->lock);
    for (size_t epoch = 0; epoch < LANEPOOL_I_EPOCHS; epoch++) {
        sum += records->finished[epoch];
        LANEPOOL_I_EACH(lanepool_i_thread_record, record, &records->all, link)
            sum += load_seq(&record->finished[epoch]);
    }
    lanepool_i_mutex_unlock(&records->lock);
    return sum;
}

/* Compares pointers only: the task may be freed. */
bool lanepool_i_thread_records_have_progressed(lanepool_i_thread_records *records, size_t *inside)
{
    bool moved = false;
    *inside = 0;
    lanepool_i_mutex_lock(&records->lock);
    LANEPOOL_I_EACH(lanepool_i_thread_record, record, &records->all, link) {
        const lanepool_i_task *running = load_relaxed(&record->running);
        moved = moved || running != record->ran_at_last_check;
        record->ran_at_last_check = running;
        *inside += running != NULL;
    }
    lanepool_i_mutex_unlock(&records->lock);
    return moved;
}
