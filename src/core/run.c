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

#include "core/run_end.h"
#include "future/attempts.h"
#include "future/expiry.h"
#include "lane/visits.h"

#if defined(LANEPOOL_TESTING)
lanepool_cancelled_fn (*lanepool_i_cancelled_of)(lanepool_task_fn function);
#endif

/* --- one call --- */

/* Ends a task when its turn has come, because a lane that it wanted is poisoned. */
static void refuse_poisoned(lanepool_i_thread_record *record, lanepool_i_task *task,
                            lanepool_i_ending *end)
{
    lanepool_i_run_call_cancelled(record, lanepool_i_task_callbacks(task).cancelled, task->context,
                                  LANEPOOL_POISONED);
    lanepool_i_attempts_of(task)->ends_uncalled = true;
    end->result = (lanepool_result){ LANEPOOL_POISONED, 0, NULL };
}

/* Decides what the turn of a task with CUT is for. */
static LANEPOOL_I_COLD lanepool_i_outcome take_turn(const lanepool_pool *pool,
                                                    lanepool_i_task *task, lanepool_i_ending *end)
{
    lanepool_i_turn turn = pool->slots.cut->turn(task, &end->result);
    if (turn == LANEPOOL_I_TURN_VISITS)
        return LANEPOOL_I_VISITS;
    return turn == LANEPOOL_I_TURN_CALL ? LANEPOOL_I_CALLED : LANEPOOL_I_ENDED;
}

/* Decides whether the task's function is to be called. If not, sets *end, and returns:
 *
 * - WAS_CANCELLED: if its word has TOMBSTONE without STARTED, its reference to the future belongs
 *   to the canceller, and end->future stays NULL. Otherwise its future has cancelled it. See
 *   cancel.c.
 * - ENDED_UNCALLED: the task ends with this result without being called to run. This is a stopped
 *   run of a periodic task, a task not to be retried, or one that a poisoned lane refuses.
 *
 * Where tasks are reaped, a canceller may find a task's entries after it has left the thread's
 * running list. The countdown then says that it has started. It is set before retention.word is
 * read, so that the same membarrier orders it. */
static __attribute__((noinline)) lanepool_i_outcome
start_unless_cancelled(lanepool_pool *pool, lanepool_i_thread_record *record, lanepool_i_task *task,
                       lanepool_i_ending *end)
{
    if (pool->rule->reap != NULL)
        lanepool_i_countdown_set_started(task);
    bool retains = load_seq(&pool->retention.word) != 0;
    uint64_t word =
        retains ? fetch_or_acq_rel(&task->word, LANEPOOL_I_STARTED) : load_relaxed(&task->word);
    if (lanepool_i_word_is_cancelled(word))
        return LANEPOOL_I_WAS_CANCELLED;
    if (lanepool_i_task_is_visitor(task))
        return LANEPOOL_I_VISITS;
    end->future = lanepool_i_task_future_by(task, word);
    if (end->future == NULL)
        return LANEPOOL_I_CALLED;
    for (size_t i = 0; pool->slots.refuses_start[i] != NULL; i++)
        if (pool->slots.refuses_start[i]->refuses_start(task, &end->result))
            return LANEPOOL_I_ENDED_UNCALLED;
    const lanepool_i_attempts *attempts = lanepool_i_attempts_of_future(end->future);
    if (attempts != NULL && attempts->is_refused) {
        if (!lanepool_i_future_give_up(end->future))
            return LANEPOOL_I_WAS_CANCELLED;
        refuse_poisoned(record, task, end);
        return LANEPOOL_I_ENDED_UNCALLED;
    }
    bool starts = lanepool_i_future_start(end->future);
    if (!starts)
        return LANEPOOL_I_WAS_CANCELLED;
    if (lanepool_i_future_phase(end->future) == LANEPOOL_I_PHASE_RUNNING) {
        lanepool_i_expiry_started(end->future);
        return (word & LANEPOOL_I_CUT) != 0 ? take_turn(pool, task, end) : LANEPOOL_I_CALLED;
    }
    end->result = (lanepool_result){ LANEPOOL_OK, 0, NULL };
    lanepool_i_trace_task(record->ring, LANEPOOL_EVENT_START, task, 0);
    return LANEPOOL_I_ENDED_UNCALLED;
}

/* Starts a simple task; returns false if the task is none, or was cancelled. */
static inline bool start_simply(const lanepool_i_task *task)
{
    return (load_relaxed(&task->word) & LANEPOOL_I_SIMPLE) != 0 &&
           (task->as.wide.future == NULL || lanepool_i_future_start_simple(task->as.wide.future));
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
 * If the task's word were read first, a cancelling between the two reads would be missed.
 *
 * In the cases 1 and 2 a simple task starts by a swap of its future's phase, without a lock. If a
 * cancel by the future was first, start_unless_cancelled() finds it.
 *
 * `measuring`, unless NULL, learns how long the function runs. */
static inline lanepool_i_outcome call_task(lanepool_pool *pool, lanepool_i_thread_record *record,
                                           lanepool_i_task *task, lanepool_i_worker *measuring,
                                           lanepool_i_ending *end)
{
    lanepool_run run;
    end->future = NULL;
    lanepool_i_run_push(&run, pool, record, task);
    uint64_t unusual = load_seq(&pool->retention.word);
    unusual |= load_relaxed(&task->word) &
               (LANEPOOL_I_WIDE | LANEPOOL_I_TOMBSTONE | LANEPOOL_I_HAS_RECORD);
    bool is_simple = false;
    if (__builtin_expect(unusual != 0, 0)) {
        lanepool_i_outcome outcome = LANEPOOL_I_CALLED;
        is_simple = unusual == LANEPOOL_I_WIDE && start_simply(task);
        if (!is_simple)
            outcome = start_unless_cancelled(pool, record, task, end);
        if (outcome != LANEPOOL_I_CALLED) {
            if (PLANTED(RUNS_CANCELLED) && outcome == LANEPOOL_I_WAS_CANCELLED)
                (void)task->function(&run, task->context);
            lanepool_i_run_pop(record, &run);
            return outcome;
        }
    }
    lanepool_i_trace_task(record->ring, LANEPOOL_EVENT_START, task, 0);
    /* A feature that calls tasks makes all of them wide. */
    const lanepool_i_feature *caller =
        __builtin_expect(unusual != 0, 0) ? pool->slots.call[0] : NULL;
    uint64_t begin_ns = measuring != NULL ? lanepool_i_clock_now() : 0;
    int code = __builtin_expect(caller == NULL, 1) ? task->function(&run, task->context)
                                                   : caller->call(pool, &run, task);
    if (measuring != NULL)
        lanepool_i_worker_note_time(measuring, lanepool_i_clock_now() - begin_ns);
    lanepool_i_run_pop(record, &run);
    if (__builtin_expect(unusual == 0 && code == 0 && run.call == NULL, 1))
        return LANEPOOL_I_PLAIN_SUCCEEDED;
    end->future = lanepool_i_task_future(task); /* it may be new */
    end->result.status = code == 0 ? LANEPOOL_OK : LANEPOOL_FAILED;
    end->result.code = code;
    end->result.value = run.value;
    end->call = run.call;
    if (__builtin_expect(run.call != NULL, 0))
        return LANEPOOL_I_RETURNED_WITH_RECORD;
    return is_simple && code == 0 ? LANEPOOL_I_SIMPLE_SUCCEEDED : LANEPOOL_I_ENDED;
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
    lanepool_i_run_give_back(pool, record, task, word, LANEPOOL_I_PLAIN_CLASS);
    if (PLANTED(LATE_TOUCH))
        task->context = NULL;
}

static inline void end_by_outcome(lanepool_pool *pool, lanepool_i_thread_record *record,
                                  lanepool_i_task *task, lanepool_i_outcome outcome,
                                  lanepool_i_ending *end, lanepool_i_grants *grants)
{
    if (__builtin_expect(outcome == LANEPOOL_I_PLAIN_SUCCEEDED && pool->slots.in_plain[0] == NULL,
                         1))
        end_plain_success(pool, record, task, grants);
    else
        lanepool_i_run_end(pool, record, task, outcome, end, grants);
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

/* With one order of all ready tasks, the worker publishes the tasks when it chooses the next one.
 */
static void pass_ready_on(lanepool_pool *pool, lanepool_i_worker *worker, lanepool_i_tasks *ready)
{
    if (!lanepool_i_worker_is_in_order(worker) || pool->rule->reap != NULL ||
        lanepool_i_waits_have_callers(&pool->waits))
        lanepool_i_router_put_ready(pool, worker->record, ready);
    else
        worker->kept = *ready;
}

static lanepool_i_task *find_next(lanepool_i_worker *worker)
{
    return lanepool_i_worker_is_in_order(worker) ? lanepool_i_worker_next_in_order(worker)
                                                 : lanepool_i_worker_next(worker);
}

/* Takes the first task that this worker may run. With lanes per worker, that is the next one in its
 * lane. */
static inline lanepool_i_task *take_for_worker(lanepool_pool *pool, const lanepool_i_worker *worker,
                                               lanepool_i_tasks *ready)
{
    if (!may_any_worker_run(ready->first))
        return NULL;
    if (pool->rule->worker_of == NULL ||
        pool->rule->worker_of(pool, worker->record, ready->first) == worker->index)
        return lanepool_i_tasks_take(ready);
    return NULL;
}

/* Returns the next task for this worker out of those that became ready, and puts the others into a
 * ready ring. Returns NULL if none became ready, or the quantum of this chain is over. */
static inline lanepool_i_task *run_and_pick_next(lanepool_pool *pool, lanepool_i_worker *worker,
                                                 lanepool_i_task *task, uint32_t ran,
                                                 uint64_t since_ns, bool is_measured)
{
    lanepool_i_thread_record *record = worker->record;
    lanepool_i_grants grants;
    lanepool_i_ending end;
    attend_at_new_epoch(pool, record, task);
    lanepool_i_outcome outcome = call_task(pool, record, task, is_measured ? worker : NULL, &end);
    end_by_outcome(pool, record, task, outcome, &end, &grants);
    lanepool_i_worker_ran_one(worker);
    if (grants.ready.count == 0)
        return NULL;
    task = NULL;
    if (may_continue_chain(pool, worker, ran, since_ns))
        task = take_for_worker(pool, worker, &grants.ready);
    if (grants.ready.count > 0)
        pass_ready_on(pool, worker, &grants.ready);
    return task;
}

/* Runs tasks of the worker's lane, and measures the first one. The task that comes next in the lane
 * is pinned to this worker. */
static __attribute__((noinline)) void
run_chain_of_lane(lanepool_pool *pool, lanepool_i_worker *worker, lanepool_i_task *task)
{
    uint64_t since_ns = worker->now_ns;
    task = run_and_pick_next(pool, worker, task, 1, since_ns, true);
    for (uint32_t ran = 2; task != NULL; ran++)
        task = run_and_pick_next(pool, worker, task, ran, since_ns, false);
}

void lanepool_i_run_chain(lanepool_pool *pool, lanepool_i_worker *worker, lanepool_i_task *task)
{
    if (pool->rule->worker_of != NULL) {
        run_chain_of_lane(pool, worker, task);
        return;
    }
    /* Where tasks are reaped, the worker checks for that after each chain. */
    bool returns_after_chain = pool->rule->reap != NULL;
    while (task != NULL) {
        uint64_t since_ns = worker->now_ns;
        for (uint32_t ran = 1; task != NULL; ran++)
            task = run_and_pick_next(pool, worker, task, ran, since_ns, false);
        task = returns_after_chain ? NULL : find_next(worker);
    }
}

/* A task that ends outside of the workers may be the last one that the pool's end waits for. All
 * workers may be asleep, so this thread attends to the counters. */
void lanepool_i_run_alone(lanepool_pool *pool, lanepool_i_thread_record *record,
                          lanepool_i_task *task, lanepool_i_wait *helper)
{
    lanepool_i_grants grants;
    lanepool_i_ending end;
    lanepool_i_outcome outcome = call_task(pool, record, task, NULL, &end);
    /* While the block still belongs to the task: a walk may read it. */
    if (helper != NULL)
        lanepool_i_waits_end_help(&pool->waits, helper);
    end_by_outcome(pool, record, task, outcome, &end, &grants);
    lanepool_i_router_put_ready(pool, record, &grants.ready);
    lanepool_i_lifecycle_attend(pool, record);
}

static lanepool_i_outcome outcome_of_abandoned(const lanepool_i_task *task,
                                               const lanepool_i_ending *end)
{
    if (lanepool_i_task_is_visitor(task))
        return LANEPOOL_I_VISIT_ABANDONED;
    return end->call == NULL ? LANEPOOL_I_ENDED : LANEPOOL_I_RETURNED_WITH_RECORD;
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
        lanepool_i_ending end = { lanepool_i_task_future(task),
                                  { LANEPOOL_ABANDONED, 0, NULL },
                                  lanepool_i_call_record_of(pool->call_records, task) };
        lanepool_i_run_end(pool, record, task, outcome_of_abandoned(task, &end), &end, &grants);
        lanepool_i_router_put_ready(pool, record, &grants.ready);
    }
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
