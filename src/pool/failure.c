/* Owns listing the parked tasks as plain data, and resolving them; see retry.h. Owns what a running
 * task may ask about its claims. */
#include "lanepool/task.h"

#include "base/misuse.h"
#include "core/call_record.h"
#include "core/run.h"
#include "feature/parked.h"
#include "feature/retry.h"
#include "platform/notes.h"
#include "route/claimants.h"
#include "route/entries.h"
#include "route/offers.h"
#include "route/pool.h"
#include "route/program_key.h"
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
    lanepool_parked_tasks failures;
    lanepool_parked_task *tasks;
    lanepool_claim *claims;
    char *bytes;
    struct room used;
};

/* Sets the claim that the task's entry stands for. Returns false if the task has left that lane,
 * because it was poisoned. A barrier has no entries. */
static bool read_claim(const lanepool_pool *pool, lanepool_i_task *task, size_t i,
                       lanepool_claim *claim)
{
    if (pool->options.is_compatible != NULL) {
        const lanepool_i_claim_entry *entry = &lanepool_i_claim_entries(pool, task)[i];
        claim->key = lanepool_i_key_for_program(&lanepool_i_claimants_of(entry)->key);
        claim->mode = lanepool_i_claim_mode(entry);
    } else {
        const lanepool_i_lane *lane = lanepool_i_entry_lane(task, i);
        if (lanepool_i_lane_is_void(lane))
            return false;
        claim->key = lanepool_i_key_for_program(&lane->key);
        claim->mode = lanepool_i_entry_mode(task, i);
    }
    return true;
}

static void measure_parked_locked(lanepool_pool *pool, struct room *room)
{
    *room = (struct room){ 0, 0, 0 };
    LANEPOOL_I_EACH(lanepool_i_suspended, suspended, &pool->suspended.list, link) {
        const lanepool_i_attempts *attempts = lanepool_i_suspended_parked(suspended);
        if (attempts == NULL)
            continue;
        room->tasks++;
        room->claims += lanepool_i_task_is_barrier(attempts->suspended.task);
        for (size_t i = 0; i < lanepool_i_task_count(attempts->suspended.task); i++) {
            lanepool_claim claim;
            if (!read_claim(pool, attempts->suspended.task, i, &claim))
                continue;
            room->claims++;
            room->bytes += claim.key.size;
        }
    }
}

static void add_claim(struct listed *listed, lanepool_claim claim)
{
    if (claim.key.type == LANEPOOL_KEY_BYTES) {
        char *copy_parked_tasks = listed->bytes + listed->used.bytes;
        if (claim.key.size > 0)
            memcpy(copy_parked_tasks, claim.key.bytes, claim.key.size);
        claim.key.bytes = copy_parked_tasks;
        listed->used.bytes += claim.key.size;
    }
    listed->claims[listed->used.claims++] = claim;
}

static void add_task(const lanepool_pool *pool, struct listed *listed,
                     const lanepool_i_attempts *attempts)
{
    lanepool_i_task *task = attempts->suspended.task;
    size_t before = listed->used.claims;
    if (lanepool_i_task_is_barrier(task))
        add_claim(listed, lanepool_claim_all());
    for (size_t i = 0; i < lanepool_i_task_count(task); i++) {
        lanepool_claim claim;
        if (read_claim(pool, task, i, &claim))
            add_claim(listed, claim);
    }
    listed->tasks[listed->used.tasks++] =
        (lanepool_parked_task){ .ticket = lanepool_i_task_ticket(task),
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
    size_t size = sizeof(struct listed) + room->tasks * sizeof(lanepool_parked_task) +
                  room->claims * sizeof(lanepool_claim) + room->bytes;
    struct listed *listed = lanepool_i_memory_alloc(size);
    if (listed == NULL)
        return NULL;
    memset(listed, 0, sizeof *listed);
    listed->tasks = (lanepool_parked_task *)(listed + 1);
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
    lanepool_i_mutex_lock(&pool->suspended.lock);
    measure_parked_locked(pool, needed);
    bool has_room = is_room_enough(needed, room);
    LANEPOOL_I_EACH(lanepool_i_suspended, suspended, &pool->suspended.list, link) {
        const lanepool_i_attempts *attempts = lanepool_i_suspended_parked(suspended);
        if (has_room && attempts != NULL)
            add_task(pool, listed, attempts);
    }
    lanepool_i_mutex_unlock(&pool->suspended.lock);
    return has_room;
}

static int compare_tickets(const void *left, const void *right)
{
    uint64_t a = ((const lanepool_parked_task *)left)->ticket;
    uint64_t b = ((const lanepool_parked_task *)right)->ticket;
    if (a == b)
        return 0;
    return lanepool_i_ticket_before(a, b) ? -1 : 1;
}

lanepool_status lanepool_pool_parked(lanepool_pool *pool, lanepool_parked_tasks **failures)
{
    if (failures != NULL)
        *failures = NULL;
    if (pool == NULL || failures == NULL)
        return LANEPOOL_INVALID;
    if (lanepool_i_pool_is_forked(pool))
        return LANEPOOL_FORKED;
    lanepool_i_note_acquire(&pool->notes.ends);
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
    listed->failures = (lanepool_parked_tasks){ listed->tasks, listed->used.tasks };
    *failures = &listed->failures;
    return LANEPOOL_OK;
}

void lanepool_parked_tasks_release(lanepool_parked_tasks *failures)
{
    lanepool_i_memory_free(failures);
}

/* --- what a running task has --- */

size_t lanepool_run_claim_count(const lanepool_run *run)
{
    if (LANEPOOL_I_MISUSED(run == NULL, "run is NULL"))
        return 0;
    if (run->pool == NULL || run->pool->rule->release == NULL)
        return 0;
    return lanepool_i_task_count(run->task);
}

bool lanepool_run_holds(const lanepool_run *run, lanepool_key key)
{
    if (LANEPOOL_I_MISUSED(run == NULL, "run is NULL"))
        return false;
    size_t i = lanepool_run_claim_count(run);
    while (i > 0 &&
           !lanepool_i_lane_is_named_by(run->pool, lanepool_i_entry_lane(run->task, i - 1), key))
        i--;
    return i > 0;
}

lanepool_status lanepool_run_claim(const lanepool_run *run, size_t i, lanepool_claim *claim)
{
    if (claim == NULL)
        return LANEPOOL_INVALID;
    memset(claim, 0, sizeof *claim);
    if (run == NULL || i >= lanepool_run_claim_count(run))
        return LANEPOOL_INVALID;
    return read_claim(run->pool, run->task, i, claim) ? LANEPOOL_OK : LANEPOOL_POISONED;
}

size_t lanepool_run_missing(const lanepool_run *run, size_t *numbers, size_t numbers_max)
{
    size_t claim_count = lanepool_run_claim_count(run);
    size_t missing = 0;
    for (size_t i = 0; i < claim_count; i++) {
        if (!lanepool_i_lane_is_void(lanepool_i_entry_lane(run->task, i)))
            continue;
        if (missing < numbers_max)
            numbers[missing] = i;
        missing++;
    }
    return missing;
}

/* --- resolving --- */

static bool may_resolve(const lanepool_i_attempts *attempts, lanepool_resolution how)
{
    return how != LANEPOOL_RESOLVE_RETRY || !attempts->has_released_lane;
}

/* Takes a parked task to resolve it. With DROP, it stays in the list until the tasks behind it are
 * cancelled, since that can fail. */
static void take_locked(lanepool_pool *pool, lanepool_i_attempts *attempts, lanepool_resolution how,
                        const void *by)
{
    if (how != LANEPOOL_RESOLVE_DROP) {
        lanepool_i_parked_remove_locked(pool, attempts);
        return;
    }
    attempts->dropped_by = by;
    pool->failures->unsettled++;
}

static lanepool_status take_parked_task(lanepool_pool *pool, uint64_t ticket,
                                        lanepool_resolution how, lanepool_i_attempts **taken)
{
    lanepool_status status = LANEPOOL_OK;
    lanepool_i_mutex_lock(&pool->suspended.lock);
    lanepool_i_attempts *attempts = lanepool_i_parked_find_locked(pool->failures, ticket);
    if (attempts == NULL)
        status = LANEPOOL_DONE;
    else if (attempts->dropped_by != NULL)
        status = LANEPOOL_BUSY;
    else if (!may_resolve(attempts, how))
        status = LANEPOOL_INVALID;
    if (status == LANEPOOL_OK) {
        attempts->taken = NULL;
        take_locked(pool, attempts, how, taken);
    }
    lanepool_i_mutex_unlock(&pool->suspended.lock);
    *taken = attempts;
    return status;
}

/* The result begins with the task that was parked first. */
static size_t take_all_parked(lanepool_pool *pool, lanepool_resolution how,
                              lanepool_i_attempts **taken)
{
    size_t count = 0;
    lanepool_i_attempts **last = taken;
    lanepool_i_mutex_lock(&pool->suspended.lock);
    LANEPOOL_I_EACH(lanepool_i_suspended, suspended, &pool->suspended.list, link) {
        lanepool_i_attempts *attempts = lanepool_i_suspended_parked(suspended);
        if (attempts == NULL || attempts->dropped_by != NULL || !may_resolve(attempts, how))
            continue;
        take_locked(pool, attempts, how, taken);
        *last = attempts;
        last = &attempts->taken;
        count++;
    }
    *last = NULL;
    lanepool_i_mutex_unlock(&pool->suspended.lock);
    return count;
}

/* Once a task has ended, its record may be gone. */
static void end_parked_tasks(lanepool_pool *pool, lanepool_i_thread_record *record,
                             lanepool_i_attempts *taken)
{
    while (taken != NULL) {
        lanepool_i_attempts *next = taken->taken;
        taken->ends_uncalled = true;
        lanepool_i_run_end_suspended(pool, record, taken->suspended.task, NULL, taken->result);
        taken = next;
    }
}

/* Cancels the tasks behind parked tasks, then ends these. Until then `unsettled` is not 0, and no
 * waiter is notified that only parked tasks are left. This thread may be the one that checks this,
 * and a notified waiter would call again at once and cause the next check, without end. */
static lanepool_status drop_parked_tasks(lanepool_pool *pool, lanepool_i_thread_record *record,
                                         lanepool_i_attempts **taken)
{
    lanepool_status status =
        *taken != NULL ? lanepool_i_cancel_behind(pool, record, taken) : LANEPOOL_OK;
    lanepool_i_mutex_lock(&pool->suspended.lock);
    for (lanepool_i_attempts *attempts = *taken; attempts != NULL; attempts = attempts->taken) {
        attempts->dropped_by = NULL;
        pool->failures->unsettled--;
        if (status == LANEPOOL_OK)
            lanepool_i_parked_remove_locked(pool, attempts);
    }
    lanepool_i_mutex_unlock(&pool->suspended.lock);
    if (status == LANEPOOL_OK)
        end_parked_tasks(pool, record, *taken);
    else
        lanepool_i_lifecycle_attend(pool, record);
    return status;
}

/* Resolves the taken tasks. The address of `taken` names this resolution. */
static lanepool_status resolve_taken(lanepool_pool *pool, lanepool_i_thread_record *record,
                                     lanepool_resolution how, lanepool_i_attempts **taken)
{
    if (how == LANEPOOL_RESOLVE_DROP)
        return drop_parked_tasks(pool, record, taken);
    if (how == LANEPOOL_RESOLVE_RETRY)
        lanepool_i_retry_reset(pool, record, *taken);
    else
        end_parked_tasks(pool, record, *taken);
    return LANEPOOL_OK;
}

/* Checks the arguments. Counts as a worker that has not left its loop, then checks whether the
 * workers are stopped; both in the total order. So either the stop is seen, or the hand-back comes
 * later and finds the tasks that are made ready. If the result is OK, the caller counts out. */
static lanepool_status enter_resolving(lanepool_pool *pool, lanepool_resolution how,
                                       lanepool_i_thread_record **record)
{
    if (pool == NULL || (unsigned)how > LANEPOOL_RESOLVE_DROP)
        return LANEPOOL_INVALID;
    if (!lanepool_i_pool_offers(pool, how == LANEPOOL_RESOLVE_DROP ? LANEPOOL_I_DROP_BEHIND
                                                                   : LANEPOOL_I_PARKED_TASKS))
        return LANEPOOL_UNSUPPORTED;
    lanepool_status entered = lanepool_i_pool_enter(pool, record);
    if (entered != LANEPOOL_OK)
        return entered;
    if (how == LANEPOOL_RESOLVE_DROP && (*record)->callbacks > 0)
        return LANEPOOL_DEADLOCK;
    lanepool_i_note_release(&pool->notes.controls);
    fetch_add_seq(&pool->lifecycle.workers_left, 1);
    if (!lanepool_i_workers_are_stopped(&pool->workers))
        return LANEPOOL_OK;
    lanepool_i_lifecycle_count_out(pool, *record);
    return LANEPOOL_SHUT_DOWN;
}

lanepool_status lanepool_pool_resolve(lanepool_pool *pool, uint64_t ticket, lanepool_resolution how)
{
    lanepool_i_thread_record *record;
    lanepool_status status = enter_resolving(pool, how, &record);
    if (status != LANEPOOL_OK)
        return status;
    lanepool_i_attempts *taken;
    status = take_parked_task(pool, ticket, how, &taken);
    if (status == LANEPOOL_OK)
        status = resolve_taken(pool, record, how, &taken);
    lanepool_i_lifecycle_count_out(pool, record);
    return status;
}

lanepool_status lanepool_pool_resolve_all(lanepool_pool *pool, lanepool_resolution how,
                                          size_t *count)
{
    if (count != NULL)
        *count = 0;
    lanepool_i_thread_record *record;
    lanepool_status status = enter_resolving(pool, how, &record);
    if (status != LANEPOOL_OK)
        return status;
    lanepool_i_attempts *taken;
    size_t taken_count = take_all_parked(pool, how, &taken);
    status = resolve_taken(pool, record, how, &taken);
    if (count != NULL && status == LANEPOOL_OK)
        *count = taken_count;
    lanepool_i_lifecycle_count_out(pool, record);
    return status;
}

unsigned lanepool_run_attempt(const lanepool_run *run)
{
    if (LANEPOOL_I_MISUSED(run == NULL, "run is NULL"))
        return 1;
    const lanepool_i_attempts *attempts =
        run->task != NULL ? lanepool_i_attempts_of(run->task) : NULL;
    return attempts != NULL ? attempts->failed + 1 : 1;
}
