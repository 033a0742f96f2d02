/* Owns listing the parked tasks as plain data, and resolving them; see retry.h. */
#include "lanepool/failure.h"

#include "core/run.h"
#include "feature/detach.h"
#include "feature/retry.h"
#include "route/entries.h"
#include "route/pool.h"
#include "wait/cancel.h"

#include <stdlib.h>
#include <string.h>

/* --- listing --- */

/* The sizes that a list of parked tasks needs, or has room for. */
struct room {
    size_t tasks;
    size_t claims;
    size_t bytes; /* bytes of byte string keys */
};

/* A list for the program: the tasks, claims and bytes follow in the same memory. */
struct listed {
    lanepool_failures failures;
    lanepool_failure *tasks;
    lanepool_claim *claims;
    char *bytes;
    struct room used;
};

static bool has_claims(const lanepool_pool *pool, const lanepool_i_task *task)
{
    return pool->options.is_compatible == NULL && !lanepool_i_task_is_barrier(task);
}

static lanepool_claim claim_of_entry(lanepool_i_task *task, size_t i)
{
    lanepool_claim claim;
    lanepool_i_key_to_claim(&lanepool_i_entry_lane(task, i)->key, &claim);
    claim.mode = lanepool_i_entry_is_shared(task, i) ? LANEPOOL_SHARED : LANEPOOL_EXCLUSIVE;
    return claim;
}

static void measure_parked_locked(const lanepool_pool *pool, struct room *room)
{
    *room = (struct room){ 0, 0, 0 };
    for (const lanepool_i_attempts *attempts = pool->failures->first; attempts != NULL;
         attempts = attempts->next) {
        if (!attempts->is_parked)
            continue;
        room->tasks++;
        room->claims += lanepool_i_task_is_barrier(attempts->task);
        if (!has_claims(pool, attempts->task))
            continue;
        for (size_t i = 0; i < lanepool_i_task_count(attempts->task); i++) {
            if (lanepool_i_lane_is_void(lanepool_i_entry_lane(attempts->task, i)))
                continue;
            lanepool_claim claim = claim_of_entry(attempts->task, i);
            room->claims++;
            room->bytes += claim.type == LANEPOOL_KEY_BYTES ? claim.key.bytes.size : 0;
        }
    }
}

static void add_claim(struct listed *listed, lanepool_claim claim)
{
    if (claim.type == LANEPOOL_KEY_BYTES) {
        char *copy_parked_tasks = listed->bytes + listed->used.bytes;
        if (claim.key.bytes.size > 0)
            memcpy(copy_parked_tasks, claim.key.bytes.data, claim.key.bytes.size);
        claim.key.bytes.data = copy_parked_tasks;
        listed->used.bytes += claim.key.bytes.size;
    }
    listed->claims[listed->used.claims++] = claim;
}

static void add_task(const lanepool_pool *pool, struct listed *listed,
                     const lanepool_i_attempts *attempts)
{
    lanepool_i_task *task = attempts->task;
    size_t before = listed->used.claims;
    if (lanepool_i_task_is_barrier(task))
        add_claim(listed, lanepool_claim_all());
    for (size_t i = 0; has_claims(pool, task) && i < lanepool_i_task_count(task); i++)
        if (!lanepool_i_lane_is_void(lanepool_i_entry_lane(task, i)))
            add_claim(listed, claim_of_entry(task, i));
    listed->tasks[listed->used.tasks++] =
        (lanepool_failure){ .ticket = lanepool_i_task_ticket(task),
                            .function = task->function,
                            .context = task->context,
                            .tag = lanepool_i_task_tag(task),
                            .status = attempts->result.status,
                            .code = attempts->result.code,
                            .attempts = attempts->failed,
                            .claims = listed->claims + before,
                            .claim_count = listed->used.claims - before };
}

static struct listed *allocate_list(const struct room *room)
{
    size_t size = sizeof(struct listed) + room->tasks * sizeof(lanepool_failure) +
                  room->claims * sizeof(lanepool_claim) + room->bytes;
    struct listed *listed = lanepool_i_memory_alloc(size);
    if (listed == NULL)
        return NULL;
    memset(listed, 0, sizeof *listed);
    listed->tasks = (lanepool_failure *)(listed + 1);
    listed->claims = (lanepool_claim *)(listed->tasks + room->tasks);
    listed->bytes = (char *)(listed->claims + room->claims);
    return listed;
}

static bool is_room_enough(const struct room *needed, const struct room *room)
{
    return needed->tasks <= room->tasks && needed->claims <= room->claims &&
           needed->bytes <= room->bytes;
}

/* Nothing is allocated under the lock: if the list is too small, returns false and sets *needed. */
static bool copy_parked_tasks(lanepool_pool *pool, struct listed *listed, const struct room *room,
                              struct room *needed)
{
    lanepool_i_mutex_lock(&pool->failures->lock);
    measure_parked_locked(pool, needed);
    bool has_room = is_room_enough(needed, room);
    for (const lanepool_i_attempts *attempts = has_room ? pool->failures->first : NULL;
         attempts != NULL; attempts = attempts->next)
        if (attempts->is_parked)
            add_task(pool, listed, attempts);
    lanepool_i_mutex_unlock(&pool->failures->lock);
    return has_room;
}

static int compare_tickets(const void *left, const void *right)
{
    uint64_t a = ((const lanepool_failure *)left)->ticket;
    uint64_t b = ((const lanepool_failure *)right)->ticket;
    if (a == b)
        return 0;
    return lanepool_i_ticket_before(a, b) ? -1 : 1;
}

lanepool_status lanepool_pool_failures(lanepool_pool *pool, lanepool_failures **failures)
{
    if (failures != NULL)
        *failures = NULL;
    if (pool == NULL || failures == NULL)
        return LANEPOOL_INVALID;
    if (lanepool_i_pool_is_forked(pool))
        return LANEPOOL_FORKED;
    struct room room = { 0, 0, 0 };
    struct listed *listed = allocate_list(&room);
    while (listed != NULL) {
        struct room needed;
        if (copy_parked_tasks(pool, listed, &room, &needed))
            break;
        lanepool_i_memory_free(listed);
        room = needed;
        listed = allocate_list(&room);
    }
    if (listed == NULL)
        return LANEPOOL_NOMEM;
    if (listed->used.tasks > 0)
        qsort(listed->tasks, listed->used.tasks, sizeof *listed->tasks, compare_tickets);
    listed->failures = (lanepool_failures){ listed->tasks, listed->used.tasks };
    *failures = &listed->failures;
    return LANEPOOL_OK;
}

void lanepool_failures_release(lanepool_failures *failures)
{
    lanepool_i_memory_free(failures);
}

bool lanepool_run_holds(const lanepool_run *run, const lanepool_claim *claim)
{
    if (run->pool == NULL || run->detach == LANEPOOL_I_NOT_A_RUN || claim == NULL ||
        run->pool->rule->release == NULL)
        return false;
    size_t i = lanepool_i_task_count(run->task);
    while (i > 0 &&
           !lanepool_i_lane_is_named_by(run->pool, lanepool_i_entry_lane(run->task, i - 1), claim))
        i--;
    return i > 0;
}

/* --- resolving --- */

static lanepool_i_attempts *find_parked_locked(const lanepool_i_failures *failures, uint64_t ticket)
{
    lanepool_i_attempts *attempts = failures->first;
    while (attempts != NULL &&
           (!attempts->is_parked || lanepool_i_task_ticket(attempts->task) != ticket))
        attempts = attempts->next;
    return attempts;
}

static void begin_drop_locked(lanepool_i_failures *failures, lanepool_i_attempts *attempts)
{
    attempts->is_resolved = true;
    failures->dropped++;
}

/* Takes a parked task to resolve it. With DROP, it stays in the list as resolved until the tasks
 * behind it are cancelled, since that can fail. */
static lanepool_status take_parked_task(lanepool_i_failures *failures, uint64_t ticket,
                                        lanepool_resolution how, lanepool_i_attempts **taken)
{
    lanepool_status status = LANEPOOL_OK;
    lanepool_i_mutex_lock(&failures->lock);
    lanepool_i_attempts *attempts = find_parked_locked(failures, ticket);
    if (attempts == NULL)
        status = LANEPOOL_DONE;
    else if (attempts->is_resolved)
        status = LANEPOOL_BUSY;
    else if (how == LANEPOOL_RESOLVE_RETRY && attempts->has_released_lane)
        status = LANEPOOL_INVALID;
    else if (how == LANEPOOL_RESOLVE_DROP)
        begin_drop_locked(failures, attempts);
    else
        lanepool_i_retry_unlist_locked(failures, attempts);
    lanepool_i_mutex_unlock(&failures->lock);
    *taken = attempts;
    return status;
}

static void end_parked_task(lanepool_pool *pool, lanepool_i_thread_record *record,
                            lanepool_i_attempts *attempts)
{
    lanepool_result result = attempts->result;
    attempts->ends_uncalled = true;
    lanepool_i_run_end_parked(pool, record, attempts->task, &result);
}

/* Cancels the tasks behind a parked task, then ends it. Until then `dropped` is not 0, and no
 * waiter is notified that only parked tasks are left. This thread may be the one that checks this,
 * and a notified waiter would call again at once and cause the next check, without end. */
static lanepool_status drop_parked_task(lanepool_pool *pool, lanepool_i_thread_record *record,
                                        lanepool_i_attempts *attempts)
{
    lanepool_status status = lanepool_i_cancel_behind(pool, record, attempts->task);
    lanepool_i_mutex_lock(&pool->failures->lock);
    attempts->is_resolved = false;
    pool->failures->dropped--;
    if (status == LANEPOOL_OK)
        lanepool_i_retry_unlist_locked(pool->failures, attempts);
    lanepool_i_mutex_unlock(&pool->failures->lock);
    if (status == LANEPOOL_OK)
        end_parked_task(pool, record, attempts);
    else
        lanepool_i_lifecycle_attend(pool, record);
    return status;
}

static lanepool_status resolve_parked_task(lanepool_pool *pool, lanepool_i_thread_record *record,
                                           uint64_t ticket, lanepool_resolution how)
{
    lanepool_i_attempts *attempts;
    lanepool_status status = take_parked_task(pool->failures, ticket, how, &attempts);
    if (status != LANEPOOL_OK)
        return status;
    if (how == LANEPOOL_RESOLVE_RETRY)
        lanepool_i_retry_reset(pool, record, attempts);
    else if (how == LANEPOOL_RESOLVE_SKIP)
        end_parked_task(pool, record, attempts);
    else
        status = drop_parked_task(pool, record, attempts);
    return status;
}

/* Counts as a worker that has not left its loop, then checks whether the workers are stopped; both
 * in the total order. So either the stop is seen, or the hand-back comes later and finds the tasks
 * that were made ready here. */
lanepool_status lanepool_pool_resolve(lanepool_pool *pool, uint64_t ticket, lanepool_resolution how)
{
    if (pool == NULL || (unsigned)how > LANEPOOL_RESOLVE_DROP ||
        (how == LANEPOOL_RESOLVE_DROP && pool->options.is_compatible != NULL))
        return LANEPOOL_INVALID;
    lanepool_i_thread_record *record;
    lanepool_status entered = lanepool_i_pool_enter(pool, &record);
    if (entered != LANEPOOL_OK)
        return entered;
    if (how == LANEPOOL_RESOLVE_DROP && record->callbacks > 0)
        return LANEPOOL_DEADLOCK;
    fetch_add_seq(&pool->lifecycle.workers_left, 1);
    lanepool_status status = lanepool_i_workers_are_stopped(&pool->workers)
                                 ? LANEPOOL_SHUT_DOWN
                                 : resolve_parked_task(pool, record, ticket, how);
    lanepool_i_lifecycle_count_out(pool, record);
    return status;
}

unsigned lanepool_run_attempt(const lanepool_run *run)
{
    const lanepool_i_attempts *attempts = NULL;
    if (run->task != NULL && run->detach != LANEPOOL_I_NOT_A_RUN)
        attempts = lanepool_i_attempts_of(run->task);
    return attempts != NULL ? attempts->failed + 1 : 1;
}
