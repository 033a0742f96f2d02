/* Owns the uses of contexts: opening, sharing, and closing them; see context.h. */
#include "base/deadline.h"
#include "base/thread_name.h"
#include "core/run.h"
#include "feature/context_table.h"
#include "feature/detach.h"
#include "route/entries.h"
#include "route/pool.h"

/* --- calling the program --- */

static lanepool_claim context_claim(const lanepool_i_context *context)
{
    lanepool_claim claim = { 0 };
    lanepool_i_key_to_claim(&context->key, &claim);
    return claim;
}

static int call_open(lanepool_i_thread_record *record, lanepool_i_context *context)
{
    const lanepool_pool *pool = context->pool;
    lanepool_claim key = context_claim(context);
    context->value = NULL;
    record->callbacks++;
    int code = pool->contexts->options.open(pool->options.user, &key, &context->value);
    record->callbacks--;
    return code;
}

static bool call_use(lanepool_i_thread_record *record, const lanepool_i_context *context)
{
    const lanepool_pool *pool = context->pool;
    lanepool_claim key = context_claim(context);
    record->callbacks++;
    bool is_good = pool->contexts->options.use(pool->options.user, &key, context->value);
    record->callbacks--;
    return is_good;
}

static void call_close(lanepool_i_thread_record *record, const lanepool_i_context *context)
{
    const lanepool_pool *pool = context->pool;
    lanepool_claim key = context_claim(context);
    if (pool->contexts->options.close == NULL)
        return;
    record->callbacks++;
    pool->contexts->options.close(pool->options.user, &key, context->value);
    record->callbacks--;
}

/* --- BUSY, and the end of it --- */

static void become_busy_locked(lanepool_i_context *context, uint64_t caller)
{
    context->state = LANEPOOL_I_CONTEXT_BUSY;
    context->caller = caller;
}

/* A waiter may be gone as soon as it is posted. */
static void leave_busy_locked(lanepool_i_context *context, lanepool_i_context_state state)
{
    context->state = state;
    while (context->waiters != NULL) {
        lanepool_i_context_waiter *waiter = context->waiters;
        context->waiters = waiter->next;
        lanepool_i_semaphore_post(&waiter->semaphore);
    }
}

/* Called with the lock, returns without it. By then the record may be BUSY again. */
static lanepool_status wait_while_busy(lanepool_i_contexts *contexts, lanepool_i_context *context,
                                       uint64_t ticket)
{
    lanepool_i_context_waiter waiter = { .ticket = ticket };
    if (!lanepool_i_semaphore_init(&waiter.semaphore)) {
        lanepool_i_mutex_unlock(&contexts->lock);
        return LANEPOOL_NO_THREAD;
    }
    waiter.next = context->waiters;
    context->waiters = &waiter;
    lanepool_i_mutex_unlock(&contexts->lock);
    lanepool_i_semaphore_wait(&waiter.semaphore);
    lanepool_i_semaphore_fini(&waiter.semaphore);
    return LANEPOOL_OK;
}

static void become_absent(lanepool_i_context *context, bool was_open)
{
    lanepool_i_contexts *contexts = context->pool->contexts;
    uint64_t now_ns = lanepool_i_clock_now();
    lanepool_i_mutex_lock(&contexts->lock);
    contexts->open_count -= was_open;
    if (!was_open) {
        context->uses = 0;
        context->idle_since_ns = now_ns;
    }
    leave_busy_locked(context, LANEPOOL_I_CONTEXT_ABSENT);
    lanepool_i_context_append_to_list(&contexts->remembered, context);
    lanepool_i_context *dropped = lanepool_i_contexts_drop_remembered(contexts, now_ns);
    lanepool_i_mutex_unlock(&contexts->lock);
    lanepool_i_contexts_free_chain(dropped);
}

/* The context is BUSY, and no task uses it. */
static void close_context(lanepool_i_thread_record *record, lanepool_i_context *context)
{
    call_close(record, context);
    become_absent(context, true);
}

static lanepool_status open_context(lanepool_i_thread_record *record, lanepool_i_context *context,
                                    int *code)
{
    lanepool_i_contexts *contexts = context->pool->contexts;
    *code = call_open(record, context);
    if (*code != 0) {
        become_absent(context, false);
        return LANEPOOL_FAILED;
    }
    lanepool_i_mutex_lock(&contexts->lock);
    contexts->open_count++;
    leave_busy_locked(context, LANEPOOL_I_CONTEXT_OPEN);
    lanepool_i_mutex_unlock(&contexts->lock);
    return LANEPOOL_OK;
}

/* Asks `use` about a context that was idle. If that returns false, closes and reopens the context.
 */
static lanepool_status check_context(lanepool_i_thread_record *record, lanepool_i_context *context,
                                     int *code)
{
    lanepool_i_contexts *contexts = context->pool->contexts;
    bool is_good = call_use(record, context);
    if (!is_good)
        call_close(record, context);
    lanepool_i_mutex_lock(&contexts->lock);
    if (is_good)
        leave_busy_locked(context, LANEPOOL_I_CONTEXT_OPEN);
    else
        contexts->open_count--;
    lanepool_i_mutex_unlock(&contexts->lock);
    return is_good ? LANEPOOL_OK : open_context(record, context, code);
}

/* --- a use begins --- */

/* Records how long the context was idle or closed. */
static void note_gap_locked(lanepool_i_context *context)
{
    uint64_t now_ns = lanepool_i_clock_now();
    const lanepool_context_options *options = &context->pool->contexts->options;
    if (context->idle_since_ns == 0)
        return;
    uint64_t gap_ns = now_ns > context->idle_since_ns ? now_ns - context->idle_since_ns : 0;
    lanepool_i_gap_mean_note(&context->pace, gap_ns, options->linger_ns_max);
}

/* Begins a use of a record that is not BUSY. Returns OPEN if the caller may use the context.
 * Otherwise makes the record BUSY; returns BUSY if the caller must call `use`, ABSENT if it must
 * open. */
static lanepool_i_context_state begin_use_locked(lanepool_i_context *context, uint64_t ticket)
{
    lanepool_i_contexts *contexts = context->pool->contexts;
    if (context->uses++ > 0)
        return LANEPOOL_I_CONTEXT_OPEN;
    lanepool_i_context_state was = context->state;
    note_gap_locked(context);
    lanepool_i_context_remove_from_list(context);
    if (was == LANEPOOL_I_CONTEXT_OPEN && !context->fires)
        context->fires = !lanepool_i_timers_remove(&contexts->timers, &context->timer);
    if (was == LANEPOOL_I_CONTEXT_OPEN && contexts->options.use == NULL)
        return LANEPOOL_I_CONTEXT_OPEN;
    become_busy_locked(context, ticket);
    return was == LANEPOOL_I_CONTEXT_OPEN ? LANEPOOL_I_CONTEXT_BUSY : LANEPOOL_I_CONTEXT_ABSENT;
}

static lanepool_status begin_use(lanepool_run *run, const lanepool_i_key *key,
                                 lanepool_i_context **begun, int *code)
{
    lanepool_pool *pool = run->pool;
    lanepool_i_thread_record *record = run->record;
    uint64_t ticket = lanepool_i_task_ticket(run->task);
    lanepool_i_context *context;
    while ((context = lanepool_i_contexts_lock_record(pool, key)) != NULL) {
        *begun = context;
        if (context->state == LANEPOOL_I_CONTEXT_BUSY) {
            lanepool_status status = wait_while_busy(pool->contexts, context, ticket);
            if (status != LANEPOOL_OK)
                return status;
            continue;
        }
        lanepool_i_context_state was = begin_use_locked(context, ticket);
        lanepool_i_mutex_unlock(&pool->contexts->lock);
        switch (was) {
        case LANEPOOL_I_CONTEXT_ABSENT:
            return open_context(record, context, code);
        case LANEPOOL_I_CONTEXT_BUSY:
            return check_context(record, context, code);
        default:
            return LANEPOOL_OK;
        }
    }
    return LANEPOOL_NOMEM;
}

/* --- a use ends --- */

/* A task may still use the context before the keeper has the lock. */
static void make_due_locked(lanepool_i_contexts *contexts, lanepool_i_context *context)
{
    lanepool_i_context_remove_from_list(context);
    context->due_ns = 0;
    if (context->fires)
        return;
    if (lanepool_i_timers_remove(&contexts->timers, &context->timer))
        lanepool_i_timers_add(&contexts->timers, &context->timer, 0);
    else
        context->fires = true;
}

static void become_idle_locked(lanepool_i_contexts *contexts, lanepool_i_context *context)
{
    const lanepool_context_options *options = &contexts->options;
    context->idle_since_ns = lanepool_i_clock_now();
    uint64_t idle_ns = lanepool_i_gap_mean_idle_time(&context->pace, options->linger_ns_min,
                                                     options->linger_ns_max);
    context->due_ns = idle_ns < UINT64_MAX - context->idle_since_ns
                          ? context->idle_since_ns + idle_ns
                          : UINT64_MAX;
    lanepool_i_context_append_to_list(&contexts->idle, context);
    if (!context->fires)
        lanepool_i_timers_add(&contexts->timers, &context->timer, context->due_ns);
    if (contexts->idle.count > options->lingering_max)
        make_due_locked(contexts, contexts->idle.first);
}

static void end_use(lanepool_pool *pool, lanepool_i_context_use *use)
{
    lanepool_i_contexts *contexts = pool->contexts;
    lanepool_i_mutex_lock(&contexts->lock);
    if (--use->context->uses == 0)
        become_idle_locked(contexts, use->context);
    lanepool_i_mutex_unlock(&contexts->lock);
    lanepool_i_memory_free(use);
}

void lanepool_i_contexts_end_all_uses(lanepool_pool *pool, lanepool_i_context_use *uses)
{
    while (uses != NULL) {
        lanepool_i_context_use *next = uses->next;
        end_use(pool, uses);
        uses = next;
    }
}

void lanepool_i_contexts_end_use(lanepool_pool *pool, lanepool_i_context_use **uses,
                                 const lanepool_claim *claim)
{
    while (*uses != NULL && !lanepool_i_lane_is_named_by(pool, (*uses)->lane, claim))
        uses = &(*uses)->next;
    lanepool_i_context_use *use = *uses;
    if (use == NULL)
        return;
    *uses = use->next;
    end_use(pool, use);
}

/* --- the keeper --- */

/* If the context is idle and due, closes it. If it is idle but not due, adds the timer, which was
 * left to the keeper. If it is in use, the last task to use it finds `fires` false and adds the
 * timer. */
void lanepool_i_context_fire(lanepool_i_timer *timer)
{
    lanepool_i_context *context = (lanepool_i_context *)timer;
    lanepool_i_contexts *contexts = context->pool->contexts;
    uint64_t now_ns = lanepool_i_clock_now();
    lanepool_i_mutex_lock(&contexts->lock);
    context->fires = false;
    bool idle = context->state == LANEPOOL_I_CONTEXT_OPEN && context->uses == 0;
    bool due = idle && context->due_ns <= now_ns;
    if (due) {
        lanepool_i_context_remove_from_list(context);
        become_busy_locked(context, LANEPOOL_I_CONTEXT_KEEPER);
    } else if (idle) {
        lanepool_i_timers_add(&contexts->timers, timer, context->due_ns);
    }
    lanepool_i_mutex_unlock(&contexts->lock);
    if (due)
        close_context(contexts->keeper, context);
}

static bool begin_keeper(void *owner)
{
    lanepool_pool *pool = owner;
    lanepool_i_thread_name_keeper(pool->name);
    lanepool_i_thread_record_enter(pool->contexts->keeper);
    return true;
}

static uint64_t pause_keeper(void *owner)
{
    lanepool_pool *pool = owner;
    lanepool_i_contexts *contexts = pool->contexts;
    uint64_t now_ns = lanepool_i_clock_now();
    lanepool_i_mutex_lock(&contexts->lock);
    lanepool_i_context *dropped = lanepool_i_contexts_drop_remembered(contexts, now_ns);
    lanepool_i_mutex_unlock(&contexts->lock);
    lanepool_i_contexts_free_chain(dropped);
    return UINT64_MAX;
}

/* Every task has ended, so each open context is idle and its timer is in the heap. */
static void end_keeper(void *owner)
{
    lanepool_pool *pool = owner;
    lanepool_i_contexts *contexts = pool->contexts;
    lanepool_i_timer *timer;
    while ((timer = lanepool_i_timers_take(&contexts->timers)) != NULL) {
        lanepool_i_context *context = (lanepool_i_context *)timer;
        lanepool_i_mutex_lock(&contexts->lock);
        lanepool_i_context_remove_from_list(context);
        become_busy_locked(context, LANEPOOL_I_CONTEXT_KEEPER);
        lanepool_i_mutex_unlock(&contexts->lock);
        close_context(contexts->keeper, context);
    }
    lanepool_i_thread_record_leave(contexts->keeper);
}

const lanepool_i_clock_work lanepool_i_work_of_keeper = { begin_keeper, pause_keeper, end_keeper };

/* --- for a running task --- */

/* Returns NULL if the task has no such lane; a NULL claim means its only lane. A running task's
 * entries change only when it releases a lane itself. */
static const lanepool_i_lane *find_lane(const lanepool_run *run, const lanepool_claim *claim)
{
    size_t count = lanepool_i_task_count(run->task);
    size_t i = 0;
    if (claim == NULL) {
        const lanepool_i_lane *only = count == 1 ? lanepool_i_entry_lane(run->task, 0) : NULL;
        return only == NULL || lanepool_i_lane_is_void(only) ? NULL : only;
    }
    while (i < count &&
           !lanepool_i_lane_is_named_by(run->pool, lanepool_i_entry_lane(run->task, i), claim))
        i++;
    return i < count ? lanepool_i_entry_lane(run->task, i) : NULL;
}

static lanepool_i_context_use *find_use(lanepool_i_context_use *uses, const lanepool_i_lane *lane)
{
    while (uses != NULL && uses->lane != lane)
        uses = uses->next;
    return uses;
}

static lanepool_status use_context(lanepool_run *run, lanepool_i_detach *detach,
                                   const lanepool_i_lane *lane, void **value, int *code)
{
    lanepool_i_context_use *use = find_use(detach->uses, lane);
    if (use != NULL) {
        *value = use->context->value;
        return LANEPOOL_OK;
    }
    use = lanepool_i_memory_alloc(sizeof *use);
    if (use == NULL)
        return LANEPOOL_NOMEM;
    lanepool_status status = begin_use(run, &lane->key, &use->context, code);
    if (status != LANEPOOL_OK) {
        lanepool_i_memory_free(use);
        return status;
    }
    use->lane = lane;
    use->next = detach->uses;
    detach->uses = use;
    *value = use->context->value;
    return LANEPOOL_OK;
}

lanepool_status lanepool_run_context(lanepool_run *run, const lanepool_claim *claim, void **context,
                                     int *code)
{
    int unwanted;
    code = code != NULL ? code : &unwanted;
    *code = 0;
    if (context != NULL)
        *context = NULL;
    if (context == NULL || !lanepool_i_detach_is_run(run) || run->pool->contexts->buckets == NULL)
        return LANEPOOL_INVALID;
    if (lanepool_i_pool_is_forked(run->pool))
        return LANEPOOL_FORKED;
    if (run->record->callbacks > 0)
        return LANEPOOL_DEADLOCK;
    const lanepool_i_lane *lane = find_lane(run, claim);
    if (lane == NULL)
        return LANEPOOL_INVALID;
    lanepool_i_detach *detach = lanepool_i_detach_record(run);
    if (detach == NULL)
        return LANEPOOL_NOMEM;
    return use_context(run, detach, lane, context, code);
}
