/* Owns the uses of contexts: opening, sharing, and closing them; see context.h. */
#include "base/thread_name.h"
#include "core/call_record.h"
#include "core/run.h"
#include "feature/context_table.h"
#include "platform/notes.h"
#include "route/entries.h"
#include "route/offers.h"
#include "route/program_key.h"

/* --- calling the program --- */

static int call_open(lanepool_i_thread_record *record, lanepool_i_context *context)
{
    const lanepool_pool *pool = context->pool;
    lanepool_key key = lanepool_i_key_for_program(&context->key);
    context->value = NULL;
    record->callbacks++;
    int code = pool->contexts->options.open(pool->options.user, key, &context->value);
    record->callbacks--;
    lanepool_i_note_release(context);
    return code;
}

static bool call_use(lanepool_i_thread_record *record, const lanepool_i_context *context)
{
    const lanepool_pool *pool = context->pool;
    lanepool_key key = lanepool_i_key_for_program(&context->key);
    record->callbacks++;
    bool is_good = pool->contexts->options.use(pool->options.user, key, context->value);
    record->callbacks--;
    return is_good;
}

static void call_close(lanepool_i_thread_record *record, const lanepool_i_context *context)
{
    const lanepool_pool *pool = context->pool;
    lanepool_key key = lanepool_i_key_for_program(&context->key);
    if (pool->contexts->options.close == NULL)
        return;
    lanepool_i_note_acquire(context);
    record->callbacks++;
    pool->contexts->options.close(pool->options.user, key, context->value);
    record->callbacks--;
}

/* --- BUSY, and the end of it --- */

static void become_busy_locked(lanepool_i_context *context, uint64_t caller)
{
    context->state = LANEPOOL_I_CONTEXT_BUSY;
    context->caller = caller;
}

static void leave_busy_locked(lanepool_i_context *context, lanepool_i_context_state state)
{
    context->state = state;
    while (lanepool_i_waiter_call_first_locked(&context->waiters))
        ;
}

/* Called with the lock, returns without it. By then the record may be BUSY again. */
static lanepool_status wait_while_busy(lanepool_i_contexts *contexts, lanepool_i_context *context,
                                       uint64_t ticket)
{
    lanepool_i_context_waiter waiter = { .ticket = ticket };
    bool has_semaphore = lanepool_i_waiter_init(&waiter.waiter, UINT64_MAX);
    if (has_semaphore)
        lanepool_i_waiter_enter_locked(&waiter.waiter, &context->waiters);
    lanepool_i_mutex_unlock(&contexts->lock);
    if (!has_semaphore)
        return LANEPOOL_NO_RESOURCE;
    (void)lanepool_i_waiter_sleep(&waiter.waiter, &contexts->lock);
    lanepool_i_waiter_fini(&waiter.waiter);
    return LANEPOOL_OK;
}

/* `has_slot`: the record counts as open. `was_open`: a context was closed, not refused by open. */
static void become_absent(lanepool_i_context *context, bool has_slot, bool was_open)
{
    lanepool_i_contexts *contexts = context->pool->contexts;
    uint64_t now_ns = lanepool_i_driver_now(contexts->timers.driver);
    lanepool_i_mutex_lock(&contexts->lock);
    contexts->open_count -= has_slot;
    if (contexts->closing == context)
        contexts->closing = NULL;
    if (!was_open) {
        context->uses = 0;
        context->idle_since_ns = now_ns;
    }
    leave_busy_locked(context, LANEPOOL_I_CONTEXT_ABSENT);
    lanepool_i_context_append_to_list(&contexts->remembered, context);
    lanepool_i_list dropped;
    lanepool_i_contexts_drop_remembered(contexts, now_ns, &dropped);
    lanepool_i_mutex_unlock(&contexts->lock);
    lanepool_i_contexts_free_dropped(&dropped);
}

/* The context is BUSY, and no task uses it. */
static void close_context(lanepool_i_thread_record *record, lanepool_i_context *context)
{
    call_close(record, context);
    become_absent(context, true, true);
}

/* Takes an idle context out of its list and makes it BUSY: one that is due, or else the one that
 * has been idle for longest. Returns NULL if none is idle. */
static lanepool_i_context *take_idle_locked(lanepool_i_contexts *contexts, uint64_t caller)
{
    lanepool_i_context *idle = LANEPOOL_I_FIRST(&contexts->due.records, lanepool_i_context, link);
    if (idle == NULL)
        idle = LANEPOOL_I_FIRST(&contexts->idle.records, lanepool_i_context, link);
    if (idle == NULL)
        return NULL;
    lanepool_i_context_remove_from_list(idle);
    if (!idle->fires)
        idle->fires = !lanepool_i_timers_remove(&contexts->timers, &idle->timer);
    become_busy_locked(idle, caller);
    return idle;
}

/* Counts a context that is about to be opened. At the limit, closes an idle one on this thread. If
 * none is idle, but the keeper is closing one, waits for that: it needs no other task. Otherwise
 * returns FULL: waiting for a context that another task uses could be a deadlock. */
static lanepool_status take_slot(lanepool_i_contexts *contexts, lanepool_i_thread_record *record,
                                 uint64_t ticket)
{
    lanepool_status status = LANEPOOL_OK;
    lanepool_i_mutex_lock(&contexts->lock);
    while (contexts->open_count >= contexts->options.contexts_max) {
        lanepool_i_context *idle = take_idle_locked(contexts, ticket);
        if (idle != NULL) {
            lanepool_i_mutex_unlock(&contexts->lock);
            close_context(record, idle);
        } else if (contexts->closing != NULL) {
            status = wait_while_busy(contexts, contexts->closing, ticket);
        } else {
            lanepool_i_mutex_unlock(&contexts->lock);
            status = LANEPOOL_FULL;
        }
        if (status != LANEPOOL_OK)
            return status;
        lanepool_i_mutex_lock(&contexts->lock);
    }
    contexts->open_count++;
    lanepool_i_mutex_unlock(&contexts->lock);
    return LANEPOOL_OK;
}

/* The record is BUSY and counts as open. */
static lanepool_status open_in_slot(lanepool_i_thread_record *record, lanepool_i_context *context,
                                    int *code)
{
    lanepool_i_contexts *contexts = context->pool->contexts;
    context->is_dropped = false;
    *code = call_open(record, context);
    if (*code != 0) {
        become_absent(context, true, false);
        return LANEPOOL_NO_CONTEXT;
    }
    lanepool_i_mutex_lock(&contexts->lock);
    leave_busy_locked(context, LANEPOOL_I_CONTEXT_OPEN);
    lanepool_i_mutex_unlock(&contexts->lock);
    return LANEPOOL_OK;
}

static lanepool_status open_context(lanepool_i_thread_record *record, lanepool_i_context *context,
                                    uint64_t ticket, int *code)
{
    lanepool_status status = take_slot(context->pool->contexts, record, ticket);
    if (status == LANEPOOL_OK)
        return open_in_slot(record, context, code);
    become_absent(context, false, false);
    return status;
}

/* Asks `use` about a context that was idle. If that returns false, or the context was dropped,
 * closes and reopens the context. */
static lanepool_status check_context(lanepool_i_thread_record *record, lanepool_i_context *context,
                                     int *code)
{
    lanepool_i_contexts *contexts = context->pool->contexts;
    if (context->is_dropped || !call_use(record, context)) {
        call_close(record, context);
        return open_in_slot(record, context, code);
    }
    lanepool_i_mutex_lock(&contexts->lock);
    leave_busy_locked(context, LANEPOOL_I_CONTEXT_OPEN);
    lanepool_i_mutex_unlock(&contexts->lock);
    return LANEPOOL_OK;
}

/* --- a use begins --- */

/* Records how long the context was idle or closed. */
static void note_gap_locked(lanepool_i_context *context)
{
    uint64_t now_ns = lanepool_i_driver_now(context->pool->driver);
    const lanepool_context_options *options = &context->pool->contexts->options;
    if (context->idle_since_ns == 0)
        return;
    uint64_t gap_ns = now_ns > context->idle_since_ns ? now_ns - context->idle_since_ns : 0;
    lanepool_i_gap_mean_note(&context->pace, gap_ns, options->linger_max_ns);
}

/* Begins a use of a record that is not BUSY. Returns OPEN if the caller may use the context.
 * Otherwise makes the record BUSY; returns BUSY if the caller must check the context, ABSENT if it
 * must open. */
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
    if (was == LANEPOOL_I_CONTEXT_OPEN && contexts->options.use == NULL && !context->is_dropped)
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
        lanepool_i_note_acquire(context);
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
            return open_context(record, context, ticket, code);
        case LANEPOOL_I_CONTEXT_BUSY:
            return check_context(record, context, code);
        default:
            return LANEPOOL_OK;
        }
    }
    return LANEPOOL_NOMEM;
}

/* --- a use ends --- */

/* The keeper will close the context. Until it has the lock, a task may still use the context. */
static void make_due_locked(lanepool_i_contexts *contexts, lanepool_i_context *context)
{
    lanepool_i_context_remove_from_list(context);
    lanepool_i_context_append_to_list(&contexts->due, context);
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
    context->idle_since_ns = lanepool_i_driver_now(contexts->timers.driver);
    uint64_t idle_ns = lanepool_i_gap_mean_idle_time(&context->pace, options->linger_min_ns,
                                                     options->linger_max_ns);
    context->due_ns = idle_ns < UINT64_MAX - context->idle_since_ns
                          ? context->idle_since_ns + idle_ns
                          : UINT64_MAX;
    lanepool_i_context_append_to_list(&contexts->idle, context);
    if (!context->fires)
        lanepool_i_timers_add(&contexts->timers, &context->timer, context->due_ns);
    if (context->is_dropped)
        make_due_locked(contexts, context);
    else if (contexts->idle.count > options->lingering_max)
        make_due_locked(contexts,
                        LANEPOOL_I_FIRST(&contexts->idle.records, lanepool_i_context, link));
}

static void end_use(lanepool_i_contexts *contexts, lanepool_i_context *context, bool drops)
{
    lanepool_i_note_release(context);
    lanepool_i_mutex_lock(&contexts->lock);
    context->is_dropped |= drops;
    if (--context->uses == 0)
        become_idle_locked(contexts, context);
    lanepool_i_mutex_unlock(&contexts->lock);
}

/* Ends all uses of a task before its lanes are released. */
static void end_uses_of_call(lanepool_pool *pool, lanepool_i_call_record *call)
{
    lanepool_i_context_uses *uses = &call->uses;
    for (size_t i = 0; i < uses->count; i++)
        if (uses->contexts[i] != NULL)
            end_use(pool->contexts, uses->contexts[i], false);
    lanepool_i_memory_free(uses->contexts);
    *uses = (lanepool_i_context_uses){ NULL, 0 };
}

/* Returns the number of the task's lane that the key names, SIZE_MAX if there is none. A key of no
 * type means the task's only lane. A running task's entries change only when it releases a lane. */
static size_t find_lane(const lanepool_pool *pool, lanepool_i_task *task, lanepool_key key)
{
    size_t count = lanepool_i_task_count(task);
    size_t i = 0;
    if (key.type == LANEPOOL_KEY_NONE)
        return count == 1 ? 0 : SIZE_MAX;
    while (i < count && !lanepool_i_lane_is_named_by(pool, lanepool_i_entry_lane(task, i), key))
        i++;
    return i < count ? i : SIZE_MAX;
}

/* The task's last entry gets the number of the released one; see entries.c. */
void lanepool_i_contexts_end_use(lanepool_pool *pool, lanepool_i_context_uses *uses,
                                 lanepool_i_task *task, lanepool_key key)
{
    size_t i = uses->contexts != NULL ? find_lane(pool, task, key) : SIZE_MAX;
    size_t last = lanepool_i_task_count(task) - 1;
    if (i == SIZE_MAX)
        return;
    if (uses->contexts[i] != NULL)
        end_use(pool->contexts, uses->contexts[i], false);
    uses->contexts[i] = uses->contexts[last];
    uses->contexts[last] = NULL;
}

/* --- the keeper --- */

/* If the context is idle and due, closes it. If it is idle but not due, adds the timer, which was
 * left to the keeper. If it is in use, the last task to use it finds `fires` false and adds the
 * timer. */
void lanepool_i_context_fire(lanepool_i_timer *timer)
{
    lanepool_i_context *context = (lanepool_i_context *)timer;
    lanepool_i_contexts *contexts = context->pool->contexts;
    uint64_t now_ns = lanepool_i_driver_now(contexts->timers.driver);
    lanepool_i_mutex_lock(&contexts->lock);
    context->fires = false;
    bool idle = context->state == LANEPOOL_I_CONTEXT_OPEN && context->uses == 0;
    bool due = idle && context->due_ns <= now_ns;
    if (due) {
        lanepool_i_context_remove_from_list(context);
        become_busy_locked(context, LANEPOOL_I_CONTEXT_KEEPER);
        contexts->closing = context;
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
    uint64_t now_ns = lanepool_i_driver_now(contexts->timers.driver);
    lanepool_i_mutex_lock(&contexts->lock);
    lanepool_i_list dropped;
    lanepool_i_contexts_drop_remembered(contexts, now_ns, &dropped);
    lanepool_i_mutex_unlock(&contexts->lock);
    lanepool_i_contexts_free_dropped(&dropped);
    return UINT64_MAX;
}

/* Every task has ended, so each open context is idle and its timer is in the heap. */
static void close_all_contexts(lanepool_pool *pool)
{
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
}

static void end_keeper(void *owner)
{
    lanepool_pool *pool = owner;
    close_all_contexts(pool);
    lanepool_i_note_release(&pool->notes.ends);
    lanepool_i_thread_record_leave(pool->contexts->keeper);
}

void lanepool_i_contexts_end_without_keeper(lanepool_pool *pool)
{
    lanepool_i_thread_record *keeper = pool->contexts->keeper;
    lanepool_i_thread_record *own = lanepool_i_thread_record_swap(pool, keeper);
    close_all_contexts(pool);
    (void)lanepool_i_thread_record_swap(pool, own);
}

const lanepool_i_clock_work lanepool_i_work_of_keeper = { begin_keeper, pause_keeper, end_keeper };

/* --- for a running task --- */

/* Returns false if memory cannot be allocated. */
static bool make_room_for_uses(lanepool_i_context_uses *uses, size_t count)
{
    if (uses->contexts != NULL)
        return true;
    uses->contexts = lanepool_i_memory_alloc(count * sizeof *uses->contexts);
    if (uses->contexts == NULL)
        return false;
    memset(uses->contexts, 0, count * sizeof *uses->contexts);
    uses->count = count;
    return true;
}

/* Returns what the run uses in its i-th lane: in the visitor of a cut, or in the call's record.
 * NULL if it uses nothing there. */
static lanepool_i_context *use_of_lane(const lanepool_run *run, size_t i)
{
    if (lanepool_i_task_is_visitor(run->task))
        return ((const lanepool_i_visitor *)run->task)->use;
    bool has_uses = run->call != NULL && run->call->uses.contexts != NULL;
    return has_uses ? run->call->uses.contexts[i] : NULL;
}

/* The run has room for its uses. */
static void set_use_of_lane(lanepool_run *run, size_t i, lanepool_i_context *context)
{
    if (lanepool_i_task_is_visitor(run->task))
        ((lanepool_i_visitor *)run->task)->use = context;
    else
        run->call->uses.contexts[i] = context;
}

static bool make_room_in_run(lanepool_run *run)
{
    if (lanepool_i_task_is_visitor(run->task))
        return true;
    lanepool_i_call_record *call = lanepool_i_call_record_make(run);
    return call != NULL && make_room_for_uses(&call->uses, lanepool_i_task_count(run->task));
}

static lanepool_status use_context(lanepool_run *run, size_t i, void **value, int *code)
{
    if (!make_room_in_run(run))
        return LANEPOOL_NOMEM;
    lanepool_i_context *used = use_of_lane(run, i);
    lanepool_status status = LANEPOOL_OK;
    if (used == NULL) {
        status = begin_use(run, &lanepool_i_entry_lane(run->task, i)->key, &used, code);
        if (status == LANEPOOL_OK)
            set_use_of_lane(run, i, used);
    }
    if (status == LANEPOOL_OK)
        *value = used->value;
    return status;
}

static void end_use_of_visit(lanepool_pool *pool, lanepool_i_visitor *visitor)
{
    if (visitor->use != NULL)
        end_use(pool->contexts, visitor->use, false);
    visitor->use = NULL;
}

/* A call of `at_lane` counts as a callback, since it must not wait for tasks. */
static bool is_in_callback(const lanepool_run *run)
{
    return run->record->callbacks > (lanepool_i_task_is_visitor(run->task) ? 1 : 0);
}

/* Returns OK if the task may use, or end a use of, the context of a lane. */
static lanepool_status check_run(const lanepool_run *run)
{
    if (!lanepool_i_run_is_of_pool(run))
        return LANEPOOL_INVALID;
    if (!lanepool_i_pool_offers(run->pool, LANEPOOL_I_CONTEXTS))
        return LANEPOOL_UNSUPPORTED;
    if (run->pool->contexts->buckets == NULL)
        return LANEPOOL_INVALID;
    if (lanepool_i_pool_is_forked(run->pool))
        return LANEPOOL_FORKED;
    return is_in_callback(run) ? LANEPOOL_DEADLOCK : LANEPOOL_OK;
}

static bool has_lane(const lanepool_run *run, size_t i)
{
    return i < lanepool_i_task_count(run->task) &&
           !lanepool_i_lane_is_void(lanepool_i_entry_lane(run->task, i));
}

lanepool_status lanepool_run_context_at(lanepool_run *run, size_t i, void **context, int *code)
{
    int unwanted;
    code = code != NULL ? code : &unwanted;
    *code = 0;
    if (context == NULL)
        return LANEPOOL_INVALID;
    *context = NULL;
    lanepool_status status = check_run(run);
    if (status != LANEPOOL_OK)
        return status;
    return has_lane(run, i) ? use_context(run, i, context, code) : LANEPOOL_INVALID;
}

lanepool_status lanepool_run_context(lanepool_run *run, lanepool_key key, void **context, int *code)
{
    bool has_entries = lanepool_i_run_is_of_pool(run) && run->pool->contexts->buckets != NULL;
    size_t i = has_entries ? find_lane(run->pool, run->task, key) : 0;
    return lanepool_run_context_at(run, i, context, code);
}

static lanepool_status end_use_of_key(lanepool_run *run, lanepool_key key, bool drops)
{
    lanepool_status status = check_run(run);
    if (status != LANEPOOL_OK)
        return status;
    size_t i = find_lane(run->pool, run->task, key);
    lanepool_i_context *used = i != SIZE_MAX ? use_of_lane(run, i) : NULL;
    if (used == NULL)
        return LANEPOOL_INVALID;
    end_use(run->pool->contexts, used, drops);
    set_use_of_lane(run, i, NULL);
    return LANEPOOL_OK;
}

lanepool_status lanepool_run_context_release(lanepool_run *run, lanepool_key key)
{
    return end_use_of_key(run, key, false);
}

lanepool_status lanepool_run_context_drop(lanepool_run *run, lanepool_key key)
{
    return end_use_of_key(run, key, true);
}

static bool has_contexts(const lanepool_options *options)
{
    return options->contexts != NULL;
}

const lanepool_i_feature lanepool_i_feature_context = {
    .is_wanted = has_contexts,
    .end_call = end_uses_of_call,
    .end_at_lane = end_use_of_visit,
};
