#include "base/quarantine.h"

#if defined(LANEPOOL_CHECKED)

#include "base/atomic.h"
#include "base/fork.h"
#include "platform/platform.h"

/* Guards: I immutable, A atomic, L the lock. No other lock is taken under it. */
struct lanepool_i_quarantine {
    lanepool_i_mutex lock;
    lanepool_i_creator creator; /* I */
    _Atomic size_t references;  /* A: the pool's, and one for each record before its end */
    bool is_closed;             /* L: keeps no more records */
    size_t count;               /* L: records in the list */
    lanepool_i_list parts;      /* L: oldest first */
};

static bool is_in_child(const lanepool_i_quarantine *quarantine)
{
    return quarantine->creator.process != lanepool_i_process();
}

lanepool_i_quarantine *lanepool_i_quarantine_open(void)
{
    lanepool_i_quarantine *quarantine = lanepool_i_memory_alloc(sizeof *quarantine);
    if (quarantine == NULL)
        return NULL;
    *quarantine = (lanepool_i_quarantine){ .creator = lanepool_i_creator_self() };
    lanepool_i_list_init(&quarantine->parts);
    atomic_init(&quarantine->references, 1);
    if (lanepool_i_mutex_init(&quarantine->lock, LANEPOOL_I_LOCK_QUARANTINE))
        return quarantine;
    lanepool_i_memory_free(quarantine);
    return NULL;
}

static void release_quarantine(lanepool_i_quarantine *quarantine)
{
    if (fetch_sub_acq_rel(&quarantine->references, 1) != 1)
        return;
    if (!is_in_child(quarantine))
        lanepool_i_mutex_fini(&quarantine->lock);
    lanepool_i_memory_free(quarantine);
}

/* Once it is closed, no thread adds or takes records. */
void lanepool_i_quarantine_close(lanepool_i_quarantine *quarantine)
{
    if (!is_in_child(quarantine)) {
        lanepool_i_mutex_lock(&quarantine->lock);
        quarantine->is_closed = true;
        lanepool_i_mutex_unlock(&quarantine->lock);
        LANEPOOL_I_EACH(lanepool_i_quarantined, part, &quarantine->parts, link)
            part->free_record(part->record);
    }
    release_quarantine(quarantine);
}

void lanepool_i_quarantine_name(lanepool_i_quarantined *part, lanepool_i_quarantine *quarantine)
{
    if (part->quarantine != NULL || quarantine == NULL)
        return;
    fetch_add_relaxed(&quarantine->references, 1);
    part->quarantine = quarantine;
}

/* Returns the record to free instead, which may be this one; or NULL. */
static lanepool_i_quarantined *exchange_for_oldest(lanepool_i_quarantine *quarantine,
                                                   lanepool_i_quarantined *part)
{
    lanepool_i_quarantined *freed = part;
    lanepool_i_mutex_lock(&quarantine->lock);
    if (!quarantine->is_closed && LANEPOOL_I_QUARANTINE_MAX > 0) {
        freed = NULL;
        lanepool_i_list_add(&quarantine->parts, &part->link);
        if (++quarantine->count > LANEPOOL_I_QUARANTINE_MAX) {
            freed = LANEPOOL_I_ITEM(lanepool_i_list_take(&quarantine->parts),
                                    lanepool_i_quarantined, link);
            quarantine->count--;
        }
    }
    lanepool_i_mutex_unlock(&quarantine->lock);
    return freed;
}

void lanepool_i_quarantine_keep(lanepool_i_quarantined *part, void *record,
                                void (*free_record)(void *record))
{
    lanepool_i_quarantine *quarantine = part->quarantine;
    part->record = record;
    part->free_record = free_record;
    lanepool_i_quarantined *freed = part;
    if (quarantine != NULL && !is_in_child(quarantine))
        freed = exchange_for_oldest(quarantine, part);
    if (freed != NULL)
        freed->free_record(freed->record);
    if (quarantine != NULL)
        release_quarantine(quarantine);
}

#endif
