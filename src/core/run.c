/*
 * Owns the steps of running a task, in this order:
 *
 * 1. The task's function returns.
 * 2. A failure is reported. No conflicting later task has started yet.
 * 3. The task's lanes are released.
 * 4. Its future completes.
 * 5. Its release callback is called.
 * 6. Its block is given back, and the task counts as finished.
 *
 * Every value that a later step needs is copied out of the task first; no thread touches the block
 * after step 6. Of a cancelled task only the entries are left, and its lanes are released. If a
 * callback of the program is to be called here, the tasks that became ready are put into a ready
 * ring before, where other workers can take them.
 */
#include "core/run.h"

#include "base/planted.h"
#include "core/call_record.h"
#include "future/attempts.h"
#include "future/expiry.h"

/* The parts of a task that are needed after it has left its lanes. */
typedef struct ending {
    lanepool_future *future;
    lanepool_result result;
    lanepool_i_call_record *call; /* set with RETURNED_WITH_RECORD */
} ending;

enum outcome {
    CALLED,               /* the function is to be called now */
    PLAIN_SUCCEEDED,      /* a plain task's function has returned 0 */
    ENDED,                /* the task ends now, with the result in `ending` */
    RETURNED_WITH_RECORD, /* the function has returned, and its call has a record; see
                             call_record.h */
    WAS_CANCELLED         /* the task was cancelled; only its entries are left */
};

#if defined(LANEPOOL_TESTING)
lanepool_cancelled_fn (*lanepool_i_cancelled_of)(lanepool_task_fn function);
#endif

/* --- disposing of a task --- */

/* Comes after everything else that is done for the task. Release: a thread that adds up the
 * counters sees what the task did. In two cases the store is in the total order:
 *
 * - With an exact limit, a blocked submitter raises `waiting` and then reads the counters; this
 *   thread stores the counter and then reads `waiting`. At least one of them sees the other's
 *   store.
 * - A thread that is not a worker reads `attention` next. Either it sees that the counters are
 *   wanted, or the holder that wants them sees this count. A worker checks again before it sleeps.
 */
static inline void count_finished(lanepool_pool *pool, lanepool_i_thread_record *record,
                                  uint64_t word)
{
    size_t epoch = (size_t)(word & LANEPOOL_I_EPOCH_MASK) >> LANEPOOL_I_EPOCH_SHIFT;
    _Atomic uint64_t *finished = &record->finished[epoch];
    uint64_t count = load_relaxed(finished) + 1;
    if (lanepool_i_admission_is_exact(&pool->admission) || record->worker == NULL)
        store_seq(finished, count);
    else
        store_release(finished, count);
    lanepool_i_admission_serve_after_finish(&pool->admission);
}

static inline size_t class_by_word(uint64_t word)
{
    return (size_t)(word >> LANEPOOL_I_CLASS_SHIFT) & LANEPOOL_I_CLASS_MASK;
}

/* `word` is a copy of the task's word, since the block cannot be read after it is given back. */
static inline void give_back_and_count(lanepool_pool *pool, lanepool_i_thread_record *record,
                                       lanepool_i_task *task, uint64_t word, size_t class)
{
    /* Read after the task has left the thread's running list; see census.h. */
    if (__builtin_expect(load_seq(&pool->retention.word) == 0, 1) || PLANTED(UNRETAINED) ||
        !lanepool_i_retain_block(pool, record, task))
        lanepool_i_slab_give(&pool->slab, &record->cache, class, task);
    count_finished(pool, record, word);
}

/* A pump's task has a reference to its member until its block is given back. */
static void release_pump_member(const lanepool_i_task *task)
{
    if (lanepool_i_task_is_for_pump(task))
        lanepool_i_future_release(task->as.wide.future);
}

static bool recycle_block(lanepool_pool *pool, lanepool_i_thread_record *record,
                          lanepool_i_task *task)
{
    bool taken = false;
    for (size_t i = 0; pool->slots.recycle[i] != NULL && !taken; i++)
        taken = pool->slots.recycle[i]->recycle(pool, record, task);
    return taken;
}

/* A task whose block is kept for another run is not released: it continues. */
static __attribute__((noinline)) void dispose_wide(lanepool_pool *pool,
                                                   lanepool_i_thread_record *record,
                                                   lanepool_i_task *task, uint64_t word)
{
    if (recycle_block(pool, record, task)) {
        count_finished(pool, record, word);
        return;
    }
    lanepool_i_run_call_release(record, lanepool_i_task_callbacks(task).release, task->context);
    release_pump_member(task);
    lanepool_i_features_dispose(pool, record, task);
    give_back_and_count(pool, record, task, word, class_by_word(word));
}

static inline void dispose_task(lanepool_pool *pool, lanepool_i_thread_record *record,
                                lanepool_i_task *task, uint64_t word)
{
    if ((word & LANEPOOL_I_WIDE) != 0)
        dispose_wide(pool, record, task, word);
    else
        give_back_and_count(pool, record, task, word, LANEPOOL_I_PLAIN_CLASS);
}

void lanepool_i_run_call_release(lanepool_i_thread_record *record, lanepool_release_fn release,
                                 void *context)
{
    if (release == NULL)
        return;
    record->callbacks++;
    release(context);
    record->callbacks--;
}

void lanepool_i_run_dispose_silently(lanepool_pool *pool, lanepool_i_thread_record *record,
                                     lanepool_i_task *task)
{
    uint64_t word = load_relaxed(&task->word);
    if ((word & LANEPOOL_I_WIDE) != 0) {
        lanepool_i_features_dispose(pool, record, task);
        release_pump_member(task);
    }
    give_back_and_count(pool, record, task, word, class_by_word(word));
}

void lanepool_i_run_dispose(lanepool_pool *pool, lanepool_i_thread_record *record,
                            lanepool_i_task *task)
{
    dispose_task(pool, record, task, load_relaxed(&task->word));
}

static void complete_future(lanepool_i_thread_record *record, const ending *end)
{
    record->callbacks++;
    lanepool_i_future_complete(end->future, &end->result);
    record->callbacks--;
}

/* --- one call --- */

static inline void push_run(lanepool_run *run, lanepool_pool *pool,
                            lanepool_i_thread_record *record, lanepool_i_task *task)
{
    *run = (lanepool_run){ pool, { record }, record->run, task, NULL, NULL, record->worker_index };
    store_relaxed(&task->next, load_relaxed(&record->running));
    store_release(&record->running, task);
    record->run = run;
}

static inline void pop_run(lanepool_i_thread_record *record, const lanepool_run *run)
{
    record->run = run->outer;
    store_release(&record->running, load_relaxed(&run->task->next));
}

void lanepool_i_run_report_failure(lanepool_pool *pool, lanepool_i_thread_record *record,
                                   const lanepool_i_task *task, const lanepool_result *result,
                                   bool is_last)
{
    const lanepool_i_attempts *attempts = lanepool_i_attempts_of(task);
    if (pool->options.on_error == NULL || (attempts != NULL && attempts->ends_uncalled))
        return;
    lanepool_error error = { task->function, task->context, lanepool_i_task_ticket(task),
                             result->status, result->code,  attempts != NULL ? attempts->failed : 1,
                             is_last };
    record->callbacks++;
    pool->options.on_error(pool->options.user, &error);
    record->callbacks--;
}

static inline lanepool_future *future_by_word(const lanepool_i_task *task, uint64_t word)
{
    return (word & LANEPOOL_I_WIDE) != 0 ? task->as.wide.future : NULL;
}

/* Ends a task when its turn has come, because a lane that it wanted is poisoned. */
static void refuse_poisoned(lanepool_i_thread_record *record, lanepool_i_task *task, ending *end)
{
    lanepool_i_run_call_cancelled(record, lanepool_i_task_callbacks(task).cancelled, task->context,
                                  LANEPOOL_POISONED);
    lanepool_i_attempts_of(task)->ends_uncalled = true;
    end->result = (lanepool_result){ LANEPOOL_POISONED, 0, NULL };
}

/* Decides whether the task's function is to be called. If not, sets *end, and returns:
 *
 * - WAS_CANCELLED: if its word has TOMBSTONE without STARTED, its reference to the future belongs
 *   to the canceller, and end->future stays NULL. Otherwise its future has cancelled it. See
 *   cancel.c.
 * - ENDED: the task ends with this result without being called to run. This is a stopped run of a
 *   periodic task, a task not to be retried, or one that a poisoned lane refuses.
 *
 * Where tasks are reaped, a canceller may find a task's entries after it has left the thread's
 * running list. The countdown then says that it has started. It is set before retention.word is
 * read, so that the same membarrier orders it. */
static __attribute__((noinline)) enum outcome
start_unless_cancelled(lanepool_pool *pool, lanepool_i_thread_record *record, lanepool_i_task *task,
                       ending *end)
{
    if (pool->rule->reap != NULL)
        lanepool_i_countdown_set_started(task);
    bool retains = load_seq(&pool->retention.word) != 0;
    uint64_t word =
        retains ? fetch_or_acq_rel(&task->word, LANEPOOL_I_STARTED) : load_relaxed(&task->word);
    if (lanepool_i_word_is_cancelled(word))
        return WAS_CANCELLED;
    end->future = future_by_word(task, word);
    if (end->future == NULL)
        return CALLED;
    for (size_t i = 0; pool->slots.refuses_start[i] != NULL; i++)
        if (pool->slots.refuses_start[i]->refuses_start(task, &end->result))
            return ENDED;
    const lanepool_i_attempts *attempts = lanepool_i_attempts_of_future(end->future);
    if (attempts != NULL && attempts->is_refused) {
        if (!lanepool_i_future_give_up(end->future))
            return WAS_CANCELLED;
        refuse_poisoned(record, task, end);
        return ENDED;
    }
    bool starts = lanepool_i_future_start(end->future);
    if (!starts)
        return WAS_CANCELLED;
    if (end->future->phase == LANEPOOL_I_PHASE_RUNNING) {
        lanepool_i_expiry_started(end->future);
        return CALLED;
    }
    end->result = (lanepool_result){ LANEPOOL_OK, 0, NULL };
    lanepool_i_trace_task(record->ring, LANEPOOL_EVENT_START, task, 0);
    return ENDED;
}

/* The task enters the thread's running list, then retention.word is read, then the task's word. A
 * role's holder that cancels several tasks sets RETAINING, passes a membarrier, reads the running
 * lists, sets tombstones, and clears RETAINING. So there are three cases:
 *
 * 1. retention.word is 0, because RETAINING is set only later. The membarrier lets the holder see
 *    this task in the list, and the holder leaves it alone.
 * 2. retention.word is 0, because RETAINING is cleared already. The task's word, read after it,
 *    shows the tombstone.
 * 3. retention.word is not 0: RETAINING is set, or the system has no membarrier. Then STARTED is
 *    set by a read-modify-write of the task's word, as TOMBSTONE is, so the later one sees the
 *    earlier.
 *
 * If the task's word were read first, a cancelling between the two reads would be missed. */
static inline enum outcome call_task(lanepool_pool *pool, lanepool_i_thread_record *record,
                                     lanepool_i_task *task, ending *end)
{
    lanepool_run run;
    end->future = NULL;
    push_run(&run, pool, record, task);
    uint64_t unusual = load_seq(&pool->retention.word);
    unusual |= load_relaxed(&task->word) & (LANEPOOL_I_WIDE | LANEPOOL_I_TOMBSTONE);
    if (__builtin_expect(unusual != 0, 0)) {
        enum outcome outcome = start_unless_cancelled(pool, record, task, end);
        if (outcome != CALLED) {
            if (PLANTED(RUNS_CANCELLED) && outcome == WAS_CANCELLED)
                (void)task->function(&run, task->context);
            pop_run(record, &run);
            return outcome;
        }
    }
    lanepool_i_trace_task(record->ring, LANEPOOL_EVENT_START, task, 0);
    int code = task->function(&run, task->context);
    pop_run(record, &run);
    if (__builtin_expect(unusual == 0 && code == 0 && run.call == NULL, 1))
        return PLAIN_SUCCEEDED;
    end->result.status = code == 0 ? LANEPOOL_OK : LANEPOOL_FAILED;
    end->result.code = code;
    end->result.value = run.value;
    end->call = run.call;
    return __builtin_expect(run.call == NULL, 1) ? ENDED : RETURNED_WITH_RECORD;
}

static bool calls_back(const lanepool_i_task *task, const ending *end)
{
    return lanepool_i_task_callbacks(task).release != NULL ||
           (end->future != NULL && lanepool_i_future_has_callbacks(end->future));
}

static LANEPOOL_I_COLD bool take_failed(lanepool_pool *pool, lanepool_i_thread_record *record,
                                        lanepool_i_task *task, const ending *end, bool has_lanes,
                                        lanepool_i_grants *grants)
{
    bool taken = false;
    for (size_t i = 0; pool->slots.failed[i] != NULL && !taken; i++)
        taken = pool->slots.failed[i]->failed(pool, record, task, &end->result, has_lanes, grants);
    return taken;
}

/* Ends a task, unless it is retried or parked. Leaves the tasks that became ready in the grants,
 * unless a callback might delay them.
 *
 * Without `has_lanes` a receiver has the task's lanes, and they are not released. The task's
 * entries still name them, since a census may be reading the task, but it does not have them any
 * more. */
static inline void settle_task(lanepool_pool *pool, lanepool_i_thread_record *record,
                               lanepool_i_task *task, const ending *end, bool has_lanes,
                               lanepool_i_grants *grants)
{
    uint64_t word = load_relaxed(&task->word);
    *grants = lanepool_i_no_grants(record->ring);
    if (end->result.status != LANEPOOL_OK &&
        take_failed(pool, record, task, end, has_lanes, grants))
        return;
    lanepool_i_count_up(&record->ran, 1);
    lanepool_i_trace_task(record->ring, LANEPOOL_EVENT_END, task, (uint32_t)end->result.status);
    if (end->result.status != LANEPOOL_OK)
        lanepool_i_run_report_failure(pool, record, task, &end->result, true);
    bool queue_first = (word & LANEPOOL_I_WIDE) != 0 && calls_back(task, end);
    if (has_lanes)
        pool->rule->finish(pool, record, task, grants);
    lanepool_i_count_grants(record, grants);
    if (queue_first)
        lanepool_i_router_put_ready(pool, record, &grants->ready);
    if (end->future != NULL)
        complete_future(record, end);
    if (pool->rule->reap == NULL)
        dispose_task(pool, record, task, word);
    else
        lanepool_i_router_reap_later(pool, record, task);
    if (PLANTED(LATE_TOUCH))
        task->context = NULL;
}

/* Ends a plain task that has succeeded. It has no future, no callback and no record, so only steps
 * 3 and 6 are left. No rule that reaps has plain tasks. */
static inline void end_plain_success(lanepool_pool *pool, lanepool_i_thread_record *record,
                                     lanepool_i_task *task, lanepool_i_grants *grants)
{
    uint64_t word = load_relaxed(&task->word);
    *grants = lanepool_i_no_grants(record->ring);
    lanepool_i_count_up(&record->ran, 1);
    lanepool_i_trace_task(record->ring, LANEPOOL_EVENT_END, task, LANEPOOL_OK);
    pool->rule->finish(pool, record, task, grants);
    lanepool_i_count_grants(record, grants);
    give_back_and_count(pool, record, task, word, LANEPOOL_I_PLAIN_CLASS);
    if (PLANTED(LATE_TOUCH))
        task->context = NULL;
}

/* --- tombstones --- */

void lanepool_i_run_set_tombstone(lanepool_i_thread_record *record, lanepool_i_task *task)
{
    uint64_t bits = LANEPOOL_I_TOMBSTONE | LANEPOOL_I_STARTED;
    if ((fetch_or_acq_rel(&task->word, bits) & LANEPOOL_I_TOMBSTONE) == 0)
        lanepool_i_trace_task(record->ring, LANEPOOL_EVENT_CANCEL, task, 0);
}

/* Releases a tombstone's lanes. Its canceller calls it, completes its future, and releases its
 * context. */
static LANEPOOL_I_COLD void run_tombstone(lanepool_pool *pool, lanepool_i_thread_record *record,
                                          lanepool_i_task *task, const ending *end,
                                          lanepool_i_grants *grants)
{
    *grants = lanepool_i_no_grants(record->ring);
    lanepool_i_run_set_tombstone(record, task);
    if (end->future != NULL)
        lanepool_i_future_drop_tombstone(end->future);
    pool->rule->finish(pool, record, task, grants);
    lanepool_i_count_grants(record, grants);
    if (pool->rule->reap == NULL)
        lanepool_i_run_dispose_silently(pool, record, task);
    else
        lanepool_i_router_reap_later(pool, record, task);
}

/* --- tasks whose call has a record --- */

/* A receiver becomes the first of the ready tasks. It counts as ready before the giver counts as
 * finished. */
static LANEPOOL_I_COLD void settle_with_record(lanepool_pool *pool,
                                               lanepool_i_thread_record *record,
                                               lanepool_i_task *task, const ending *end,
                                               lanepool_i_grants *grants)
{
    bool detached = lanepool_i_call_record_is_detached(end->call);
    lanepool_i_task *receiver = lanepool_i_call_record_end(pool, end->call);
    lanepool_i_count_up(&record->readied, receiver != NULL);
    settle_task(pool, record, task, end, receiver == NULL, grants);
    if (receiver != NULL)
        lanepool_i_grants_add(grants, receiver);
    if (detached) {
        lanepool_i_router_put_ready(pool, record, &grants->ready);
        lanepool_i_lifecycle_count_out(pool, record);
    }
}

static LANEPOOL_I_COLD void return_with_record(lanepool_pool *pool,
                                               lanepool_i_thread_record *record,
                                               lanepool_i_task *task, ending *end,
                                               lanepool_i_grants *grants)
{
    *grants = lanepool_i_no_grants(record->ring);
    if (lanepool_i_call_record_returned(end->call, &end->result))
        settle_with_record(pool, record, task, end, grants);
    else if (load_seq(pool->lifecycle.state) == LANEPOOL_I_STOPPING)
        lanepool_i_call_records_end_all(pool, record, false);
}

void lanepool_i_run_end_suspended(lanepool_pool *pool, lanepool_i_thread_record *record,
                                  lanepool_i_task *task, lanepool_i_call_record *call,
                                  lanepool_result result)
{
    lanepool_i_grants grants;
    ending end = { future_by_word(task, load_relaxed(&task->word)), result, call };
    if (call != NULL) {
        settle_with_record(pool, record, task, &end, &grants);
    } else {
        settle_task(pool, record, task, &end, true, &grants);
        lanepool_i_router_put_ready(pool, record, &grants.ready);
    }
    lanepool_i_lifecycle_attend(pool, record);
}

static inline void end_by_outcome(lanepool_pool *pool, lanepool_i_thread_record *record,
                                  lanepool_i_task *task, enum outcome outcome, ending *end,
                                  lanepool_i_grants *grants)
{
    if (__builtin_expect(outcome == PLAIN_SUCCEEDED, 1))
        end_plain_success(pool, record, task, grants);
    else if (outcome == ENDED)
        settle_task(pool, record, task, end, true, grants);
    else if (outcome == RETURNED_WITH_RECORD)
        return_with_record(pool, record, task, end, grants);
    else
        run_tombstone(pool, record, task, end, grants);
}

/* --- chains --- */

/* False if only the task's caller or its pump may run it. */
static bool may_any_worker_run(const lanepool_i_task *task)
{
    return (load_relaxed(&task->word) & LANEPOOL_I_BY_CALLER) == 0;
}

static inline bool may_continue_chain(lanepool_pool *pool, const lanepool_i_worker *worker,
                                      uint32_t ran, uint64_t since_ns)
{
    return ran < worker->workers->chain_tasks && load_relaxed(&pool->workers.halt) == 0 &&
           worker->now_ns - since_ns <= worker->workers->quantum_ns;
}

/* This worker may have finished the last task that a quiesce waits for, and the next one may take
 * long. The quiesce raises `attention` before it begins the new epoch, so a worker that sees the
 * epoch sees the attention. */
static inline void attend_at_new_epoch(lanepool_pool *pool, lanepool_i_thread_record *record,
                                       const lanepool_i_task *task)
{
    uint64_t epoch = load_relaxed(&task->word) & LANEPOOL_I_EPOCH_MASK;
    if (epoch != record->epoch && lanepool_i_lifecycle_wants_attention(&pool->lifecycle))
        lanepool_i_lifecycle_attend(pool, record);
    record->epoch = epoch;
}

/* Returns the next task for this worker out of those that became ready, and puts the others into a
 * ready ring. Returns NULL if none became ready, or the quantum of this chain is over. */
static inline lanepool_i_task *run_and_pick_next(lanepool_pool *pool, lanepool_i_worker *worker,
                                                 lanepool_i_task *task, uint32_t ran,
                                                 uint64_t since_ns)
{
    lanepool_i_thread_record *record = worker->record;
    lanepool_i_grants grants;
    ending end;
    attend_at_new_epoch(pool, record, task);
    enum outcome outcome = call_task(pool, record, task, &end);
    end_by_outcome(pool, record, task, outcome, &end, &grants);
    lanepool_i_worker_ran_one(worker);
    if (grants.ready.count == 0)
        return NULL;
    task = NULL;
    if (may_any_worker_run(grants.ready.first) && may_continue_chain(pool, worker, ran, since_ns))
        task = lanepool_i_tasks_take(&grants.ready);
    if (grants.ready.count > 0)
        lanepool_i_router_put_ready(pool, record, &grants.ready);
    return task;
}

void lanepool_i_run_chain(lanepool_pool *pool, lanepool_i_worker *worker, lanepool_i_task *task)
{
    /* Where tasks are reaped, the worker checks for that after each chain. */
    bool returns_after_chain = pool->rule->reap != NULL;
    while (task != NULL) {
        uint64_t since_ns = worker->now_ns;
        for (uint32_t ran = 1; task != NULL; ran++)
            task = run_and_pick_next(pool, worker, task, ran, since_ns);
        task = returns_after_chain ? NULL : lanepool_i_worker_next(worker);
    }
}

/* A task that ends outside of the workers may be the last one that the pool's end waits for. All
 * workers may be asleep, so this thread attends to the counters. */
void lanepool_i_run_alone(lanepool_pool *pool, lanepool_i_thread_record *record,
                          lanepool_i_task *task, lanepool_i_wait *helper)
{
    lanepool_i_grants grants;
    ending end;
    enum outcome outcome = call_task(pool, record, task, &end);
    /* While the block still belongs to the task: a walk may read it. */
    if (helper != NULL)
        lanepool_i_waits_end_help(&pool->waits, helper);
    end_by_outcome(pool, record, task, outcome, &end, &grants);
    lanepool_i_router_put_ready(pool, record, &grants.ready);
    lanepool_i_lifecycle_attend(pool, record);
}

/* The calls' stack frames are gone, but the tasks still have their lanes and futures. */
void lanepool_i_run_abandoned(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    record->run = NULL;
    record->callbacks = 0;
    lanepool_i_waits_abandon(&pool->waits, record);
    lanepool_i_task *task;
    while ((task = load_relaxed(&record->running)) != NULL) {
        store_release(&record->running, load_relaxed(&task->next));
        lanepool_i_grants grants;
        ending end = { future_by_word(task, load_relaxed(&task->word)),
                       { LANEPOOL_ABANDONED, 0, NULL },
                       lanepool_i_call_record_of(pool->call_records, task) };
        end_by_outcome(pool, record, task, end.call == NULL ? ENDED : RETURNED_WITH_RECORD, &end,
                       &grants);
        lanepool_i_router_put_ready(pool, record, &grants.ready);
    }
}

void lanepool_i_run_call_cancelled(lanepool_i_thread_record *record,
                                   lanepool_cancelled_fn cancelled, void *context,
                                   lanepool_status why)
{
    if (cancelled == NULL)
        return;
    record->callbacks++;
    cancelled(context, why);
    record->callbacks--;
}

void lanepool_i_run_complete_cancelled(lanepool_i_thread_record *record, lanepool_future *future,
                                       lanepool_status status)
{
    ending end = { future, { status, 0, NULL }, NULL };
    if (future != NULL)
        complete_future(record, &end);
}

void lanepool_i_run_end_after_failure(lanepool_pool *pool, lanepool_i_thread_record *record,
                                      lanepool_i_task *task, const lanepool_result *result)
{
    ending end = { task->as.wide.future, *result, NULL };
    lanepool_i_count_up(&record->ran, 1);
    lanepool_i_trace_task(record->ring, LANEPOOL_EVENT_END, task, (uint32_t)result->status);
    complete_future(record, &end);
    lanepool_i_run_dispose(pool, record, task);
}

int lanepool_i_run_work(lanepool_run *run, void *context)
{
    lanepool_work *work = context;
    (void)run;
    work->run(work);
    return 0;
}

void lanepool_i_cancel_work(void *context, lanepool_status why)
{
    lanepool_work *work = context;
    work->cancel(work, why);
}
