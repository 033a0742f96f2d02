/*
 * Owns the order of events when a task runs:
 *
 *     its function returns
 *     a failure is reported; no conflicting later task has started
 *     its lanes move on
 *     its future completes
 *     its release callback is called
 *     its block is reused, and it counts as finished
 *
 * What is needed later is taken out of the task before; nothing of it is
 * touched after its block is given. Of a task that was cancelled (a *mark*) only its places are
 * left: it passes, and its lanes move on. If one of the program's callbacks is to run
 * here, the successors go to a queue before it, where others can take them.
 */
#include "core/run.h"

#include "base/planted.h"
#include "feature/delay_every.h"
#include "feature/detach.h"
#include "feature/lane_limit.h"
#include "feature/retry.h"

/* What outlives the task's lanes. */
typedef struct ending {
    lanepool_future *future;
    lanepool_result result;
    lanepool_i_detach *detach; /* set with ENDS_APART */
} ending;

/* What has become of a task that was taken to be run. */
enum outcome {
    ENDS,       /* its function has returned */
    ENDS_APART, /* likewise, but that may not be the end of it, or not all; see detach.h */
    WAS_MARK    /* it was cancelled before */
};

/* --- the last of a task --- */

/* The pending count falls last. Release: whoever adds the counts up sees what the task did. In the
 * total order with an exact limit, since a blocked submitter relies on it, and outside of the
 * workers, who look at the counts again before they sleep: this thread looks at `attention` next.
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
    lanepool_i_admission_finished(&pool->admission);
}

/* `word` is the task's: of no use any more once the block is given. */
static inline void forget(lanepool_pool *pool, lanepool_i_thread_record *record,
                          lanepool_i_task *task, uint64_t word)
{
    size_t class = (size_t)(word >> LANEPOOL_I_CLASS_SHIFT) & LANEPOOL_I_CLASS_MASK;
    /* After it has left the thread's list; see census.h. */
    if (__builtin_expect(load_seq(&pool->retention.word) == 0, 1) || PLANTED(UNRETAINED) ||
        !lanepool_i_retain_block(pool, record, task))
        lanepool_i_slab_give(&pool->slab, &record->cache, class, task);
    count_finished(pool, record, word);
}

/* The reference to its member that a pump's task has until now. */
static void let_go_of_pump(const lanepool_i_task *task)
{
    if (lanepool_i_task_is_for_pump(task))
        lanepool_future_release(task->as.wide.future);
}

/* A run of a periodic task is not released: its series goes on. */
static __attribute__((noinline)) void release_and_forget(lanepool_pool *pool,
                                                         lanepool_i_thread_record *record,
                                                         lanepool_i_task *task, uint64_t word)
{
    if (lanepool_i_word_is_periodic(word)) {
        lanepool_i_periodic_ran(pool, record, task);
        count_finished(pool, record, word);
        return;
    }
    if (task->as.wide.release != NULL) {
        record->callbacks++;
        task->as.wide.release(task->context);
        record->callbacks--;
    }
    let_go_of_pump(task);
    lanepool_i_lane_limits_ended(pool, record, task);
    forget(pool, record, task, word);
}

static inline void let_go(lanepool_pool *pool, lanepool_i_thread_record *record,
                          lanepool_i_task *task, uint64_t word)
{
    if ((word & LANEPOOL_I_WIDE) != 0)
        release_and_forget(pool, record, task, word);
    else
        forget(pool, record, task, word);
}

void lanepool_i_run_dispose_silently(lanepool_pool *pool, lanepool_i_thread_record *record,
                                     lanepool_i_task *task)
{
    uint64_t word = load_relaxed(&task->word);
    if (lanepool_i_word_is_periodic(word))
        lanepool_i_periodic_free(pool, task);
    let_go_of_pump(task);
    lanepool_i_lane_limits_ended(pool, record, task);
    forget(pool, record, task, word);
}

void lanepool_i_run_dispose(lanepool_pool *pool, lanepool_i_thread_record *record,
                            lanepool_i_task *task)
{
    let_go(pool, record, task, load_relaxed(&task->word));
}

static void complete(lanepool_i_thread_record *record, const ending *end)
{
    record->callbacks++;
    lanepool_i_future_complete(end->future, &end->result);
    record->callbacks--;
}

/* --- one call --- */

static inline void enter(lanepool_run *run, lanepool_pool *pool, lanepool_i_thread_record *record,
                         lanepool_i_task *task)
{
    *run = (lanepool_run){ pool, { record }, record->run, task, NULL, NULL, record->worker_index };
    store_relaxed(&task->next, load_relaxed(&record->running));
    store_release(&record->running, task);
    record->run = run;
}

static inline void leave(lanepool_i_thread_record *record, const lanepool_run *run)
{
    record->run = run->outer;
    store_release(&record->running, load_relaxed(&run->task->next));
}

void lanepool_i_run_report_failure(lanepool_pool *pool, lanepool_i_thread_record *record,
                                   const lanepool_i_task *task, const lanepool_result *result,
                                   bool is_last)
{
    const lanepool_i_attempts *attempts = lanepool_i_attempts_of(task);
    if (pool->options.on_error == NULL || (attempts != NULL && attempts->ends))
        return;
    lanepool_error error = { task->function, task->context, lanepool_i_task_ticket(task),
                             result->status, result->code,  attempts != NULL ? attempts->failed : 1,
                             is_last };
    record->callbacks++;
    pool->options.on_error(pool->options.user, &error);
    record->callbacks--;
}

static inline lanepool_future *future_of(const lanepool_i_task *task, uint64_t word)
{
    return (word & LANEPOOL_I_WIDE) != 0 ? task->as.wide.future : NULL;
}

/* Its turn has come, but in poisoned lanes: it is told, and ends. */
static void refuse(lanepool_pool *pool, lanepool_i_thread_record *record, lanepool_i_task *task,
                   ending *end)
{
    record->callbacks++;
    lanepool_i_run_call_cancelled(pool, record, task, NULL);
    record->callbacks--;
    lanepool_i_attempts_of(task)->ends = true;
    end->result.status = LANEPOOL_POISONED;
}

/* False: the task was cancelled, by a mark while the pool was watched, or by its future; see
 * cancel.c. Its thread's list shows it by now; where tasks are reaped it keeps its places for a
 * while when it has left that list, and its latch says that it has started. If cancelled by a mark
 * alone, the future is the canceller's. False and not CANCELLED: a run of a periodic task that has
 * ended, or a task that is not to be tried again; it has its turn, and does nothing. */
static __attribute__((noinline)) bool start_unless_cancelled(lanepool_pool *pool,
                                                             lanepool_i_thread_record *record,
                                                             lanepool_i_task *task, ending *end)
{
    end->result = (lanepool_result){ LANEPOOL_CANCELLED, 0, NULL };
    if (pool->rule->reap != NULL)
        lanepool_i_countdown_set_started(task);
    bool watched = load_seq(&pool->retention.word) != 0;
    uint64_t word =
        watched ? fetch_or_acq_rel(&task->word, LANEPOOL_I_STARTED) : load_relaxed(&task->word);
    if ((word & (LANEPOOL_I_TOMBSTONE | LANEPOOL_I_STARTED)) == LANEPOOL_I_TOMBSTONE)
        return false;
    end->future = future_of(task, word);
    if (end->future == NULL)
        return true;
    lanepool_i_attempts *attempts = lanepool_i_attempts_of_future(end->future);
    if (attempts != NULL && !lanepool_i_retry_may_start(attempts)) {
        end->result = attempts->result;
        return false;
    }
    if (attempts != NULL && attempts->is_refused) {
        if (lanepool_i_future_give_up(end->future))
            refuse(pool, record, task, end);
        return false;
    }
    bool starts = lanepool_i_future_start(end->future);
    if (!starts || end->future->started)
        return starts;
    end->result.status = LANEPOOL_OK;
    lanepool_i_trace_task(record->ring, LANEPOOL_EVENT_START, task, 0);
    return false;
}

/* The watch is looked at before the word: either its thread's list shows the task to whoever
 * watches, or the word shows the mark of who watched before. */
static inline enum outcome call(lanepool_pool *pool, lanepool_i_thread_record *record,
                                lanepool_i_task *task, ending *end)
{
    lanepool_run run;
    end->future = NULL;
    enter(&run, pool, record, task);
    uint64_t unusual = load_seq(&pool->retention.word);
    unusual |= load_relaxed(&task->word) & (LANEPOOL_I_WIDE | LANEPOOL_I_TOMBSTONE);
    if (__builtin_expect(unusual != 0, 0) && !start_unless_cancelled(pool, record, task, end)) {
        leave(record, &run);
        return end->result.status == LANEPOOL_CANCELLED ? WAS_MARK : ENDS;
    }
    lanepool_i_trace_task(record->ring, LANEPOOL_EVENT_START, task, 0);
    int code = task->function(&run, task->context, LANEPOOL_CALL_RUN);
    leave(record, &run);
    end->result.status = code == 0 ? LANEPOOL_OK : LANEPOOL_FAILED;
    end->result.code = code;
    end->result.value = run.value;
    end->detach = run.detach;
    return __builtin_expect(run.detach == NULL, 1) ? ENDS : ENDS_APART;
}

static bool calls_back(const lanepool_i_task *task, const ending *end)
{
    return task->as.wide.release != NULL ||
           (end->future != NULL && lanepool_i_future_has_callbacks(end->future));
}

/* From the failure report to the last of the task, unless that is to be tried again; leaves what
 * became ready in the grants, unless a callback might hold it up. Lanes that an heir has got do not
 * move on: the task's places say still which they are, for a survey that may be looking at it, but
 * they are not its own. */
static inline void settle(lanepool_pool *pool, lanepool_i_thread_record *record,
                          lanepool_i_task *task, const ending *end, bool has_lanes,
                          lanepool_i_grants *grants)
{
    uint64_t word = load_relaxed(&task->word);
    *grants = lanepool_i_no_grants(record->ring);
    if (end->result.status != LANEPOOL_OK &&
        lanepool_i_retry_failed(pool, record, task, &end->result, has_lanes, grants))
        return;
    lanepool_i_count_up(&record->ran, 1);
    lanepool_i_trace_task(record->ring, LANEPOOL_EVENT_END, task, (uint32_t)end->result.status);
    if (end->result.status != LANEPOOL_OK)
        lanepool_i_run_report_failure(pool, record, task, &end->result, true);
    bool queue_first = (word & LANEPOOL_I_WIDE) != 0 && calls_back(task, end);
    if (has_lanes)
        pool->rule->finish(pool, record, task, grants);
    if (grants->latched != 0)
        lanepool_i_count_up(&record->latched, grants->latched);
    if (queue_first)
        lanepool_i_router_put_ready(pool, record, &grants->ready);
    if (end->future != NULL)
        complete(record, end);
    if (pool->rule->reap == NULL)
        let_go(pool, record, task, word);
    else
        lanepool_i_router_reap_later(pool, record, task);
    if (PLANTED(LATE_TOUCH))
        task->context = NULL;
}

/* --- marks --- */

void lanepool_i_run_set_tombstone(lanepool_i_thread_record *record, lanepool_i_task *task)
{
    uint64_t mark = LANEPOOL_I_TOMBSTONE | LANEPOOL_I_STARTED;
    if ((fetch_or_acq_rel(&task->word, mark) & LANEPOOL_I_TOMBSTONE) == 0)
        lanepool_i_trace_task(record->ring, LANEPOOL_EVENT_CANCEL, task, 0);
}

/* Its lanes move on; who cancelled it sees to its call, its future and its context. */
static LANEPOOL_I_COLD void pass(lanepool_pool *pool, lanepool_i_thread_record *record,
                                 lanepool_i_task *task, const ending *end,
                                 lanepool_i_grants *grants)
{
    *grants = lanepool_i_no_grants(record->ring);
    lanepool_i_run_set_tombstone(record, task);
    if (end->future != NULL)
        lanepool_i_future_drop_tombstone(end->future);
    pool->rule->finish(pool, record, task, grants);
    if (grants->latched != 0)
        lanepool_i_count_up(&record->latched, grants->latched);
    if (pool->rule->reap == NULL)
        lanepool_i_run_dispose_silently(pool, record, task);
    else
        lanepool_i_router_reap_later(pool, record, task);
}

/* --- ends apart --- */

/* The heir comes first of what became ready. */
static LANEPOOL_I_COLD void settle_apart(lanepool_pool *pool, lanepool_i_thread_record *record,
                                         lanepool_i_task *task, const ending *end,
                                         lanepool_i_grants *grants)
{
    bool detached = end->detach->detached;
    lanepool_i_task *receiver = lanepool_i_detach_end(pool, end->detach);
    settle(pool, record, task, end, receiver == NULL, grants);
    if (receiver != NULL)
        lanepool_i_grants_add(grants, receiver);
    if (detached) {
        lanepool_i_router_put_ready(pool, record, &grants->ready);
        lanepool_i_lifecycle_count_out(pool, record);
    }
}

static LANEPOOL_I_COLD void return_apart(lanepool_pool *pool, lanepool_i_thread_record *record,
                                         lanepool_i_task *task, ending *end,
                                         lanepool_i_grants *grants)
{
    *grants = lanepool_i_no_grants(record->ring);
    if (lanepool_i_detach_returned(end->detach, &end->result))
        settle_apart(pool, record, task, end, grants);
}

void lanepool_i_run_completed(lanepool_pool *pool, lanepool_i_thread_record *record,
                              lanepool_i_detach *detach)
{
    lanepool_i_grants grants;
    lanepool_i_task *task = detach->task;
    ending end = { future_of(task, load_relaxed(&task->word)), detach->result, detach };
    settle_apart(pool, record, task, &end, &grants);
    lanepool_i_lifecycle_attend(pool, record);
}

void lanepool_i_run_end_parked(lanepool_pool *pool, lanepool_i_thread_record *record,
                               lanepool_i_task *task, const lanepool_result *result)
{
    lanepool_i_grants grants;
    ending end = { task->as.wide.future, *result, NULL };
    settle(pool, record, task, &end, true, &grants);
    lanepool_i_router_put_ready(pool, record, &grants.ready);
    lanepool_i_lifecycle_attend(pool, record);
}

/* Leaves what became ready in the grants. */
static inline void end_call(lanepool_pool *pool, lanepool_i_thread_record *record,
                            lanepool_i_task *task, enum outcome outcome, ending *end,
                            lanepool_i_grants *grants)
{
    if (__builtin_expect(outcome == ENDS, 1))
        settle(pool, record, task, end, true, grants);
    else if (outcome == ENDS_APART)
        return_apart(pool, record, task, end, grants);
    else
        pass(pool, record, task, end, grants);
}

/* --- chains --- */

/* Any worker may run it, unless its submitter waits to run it. */
static bool is_workers_own(const lanepool_i_task *task)
{
    return (load_relaxed(&task->word) & LANEPOOL_I_BY_CALLER) == 0;
}

static inline bool may_go_on(lanepool_pool *pool, const lanepool_i_worker *worker, uint32_t ran,
                             uint64_t since_ns)
{
    return ran < worker->workers->quantum_tasks && load_relaxed(&pool->workers.halt) == 0 &&
           worker->now_ns - since_ns <= worker->workers->quantum_ns;
}

/* The last task that a quiesce waits for may have finished here, and the one that comes may be
 * long. A new epoch is seen after the attention that its quiesce asked for. */
static inline void notice_epoch(lanepool_pool *pool, lanepool_i_thread_record *record,
                                const lanepool_i_task *task)
{
    uint64_t epoch = load_relaxed(&task->word) & LANEPOOL_I_EPOCH_MASK;
    if (epoch != record->epoch && lanepool_i_lifecycle_wants_attention(&pool->lifecycle))
        lanepool_i_lifecycle_attend(pool, record);
    record->epoch = epoch;
}

/* Calls the task and returns what the worker is to run next of what became ready; the rest goes to
 * a queue. NULL: nothing did, or the quantum since the last one from a queue is over. */
static inline lanepool_i_task *run_and_follow(lanepool_pool *pool, lanepool_i_worker *worker,
                                              lanepool_i_task *task, uint32_t ran,
                                              uint64_t since_ns)
{
    lanepool_i_thread_record *record = worker->record;
    lanepool_i_grants grants;
    ending end;
    notice_epoch(pool, record, task);
    enum outcome outcome = call(pool, record, task, &end);
    end_call(pool, record, task, outcome, &end, &grants);
    lanepool_i_worker_ran_one(worker);
    if (grants.ready.count == 0)
        return NULL;
    task = NULL;
    if (is_workers_own(grants.ready.first) && may_go_on(pool, worker, ran, since_ns))
        task = lanepool_i_tasks_take(&grants.ready);
    if (grants.ready.count > 0)
        lanepool_i_router_put_ready(pool, record, &grants.ready);
    return task;
}

void lanepool_i_run_chain(lanepool_pool *pool, lanepool_i_worker *worker, lanepool_i_task *task)
{
    /* Where tasks are to be reaped, or stand in the worker's own lane, it looks there first. */
    bool looks_between = pool->rule->reap != NULL || pool->rule->own != NULL;
    while (task != NULL) {
        uint64_t since_ns = worker->now_ns;
        for (uint32_t ran = 1; task != NULL; ran++)
            task = run_and_follow(pool, worker, task, ran, since_ns);
        task = looks_between ? NULL : lanepool_i_worker_next(worker);
    }
}

/* What finishes outside of the workers may be what the pool's end waits for: nobody who goes to
 * sleep would notice. */
void lanepool_i_run_alone(lanepool_pool *pool, lanepool_i_thread_record *record,
                          lanepool_i_task *task, lanepool_i_wait *helper)
{
    lanepool_i_grants grants;
    ending end;
    enum outcome outcome = call(pool, record, task, &end);
    /* While the block is still the task's: a walk may look at it. */
    if (helper != NULL)
        lanepool_i_waits_end_help(&pool->waits, helper);
    end_call(pool, record, task, outcome, &end, &grants);
    lanepool_i_router_put_ready(pool, record, &grants.ready);
    lanepool_i_lifecycle_attend(pool, record);
}

/* The calls' stack frames are gone; the tasks that were being run are not. */
void lanepool_i_run_abandoned(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    record->run = NULL;
    record->callbacks = 0;
    lanepool_i_waits_abandon(&pool->waits, record);
    lanepool_i_task *task;
    while ((task = load_relaxed(&record->running)) != NULL) {
        store_release(&record->running, load_relaxed(&task->next));
        lanepool_i_grants grants;
        ending end = { future_of(task, load_relaxed(&task->word)),
                       { LANEPOOL_ABANDONED, 0, NULL },
                       lanepool_i_detach_of(pool->detaches, task) };
        end_call(pool, record, task, end.detach == NULL ? ENDS : ENDS_APART, &end, &grants);
        lanepool_i_router_put_ready(pool, record, &grants.ready);
    }
}

/* The task does not run: it is in no thread's list, where surveys would look at what may be a copy.
 */
void lanepool_i_run_call_cancelled(lanepool_pool *pool, lanepool_i_thread_record *record,
                                   lanepool_i_task *task, lanepool_future *future)
{
    lanepool_run run = {
        pool, { record }, record->run, task, NULL, LANEPOOL_I_NOT_A_RUN, SIZE_MAX
    };
    ending end = { future, { LANEPOOL_CANCELLED, 0, NULL }, NULL };
    record->run = &run;
    (void)task->function(&run, task->context, LANEPOOL_CALL_CANCELLED);
    record->run = run.outer;
    if (end.future != NULL)
        complete(record, &end);
}

void lanepool_i_run_cancelled(lanepool_pool *pool, lanepool_i_thread_record *record,
                              lanepool_i_task *task)
{
    lanepool_i_trace_task(record->ring, LANEPOOL_EVENT_CANCEL, task, 0);
    lanepool_i_run_call_cancelled(pool, record, task, future_of(task, load_relaxed(&task->word)));
    lanepool_i_run_dispose(pool, record, task);
}

void lanepool_i_run_end_after_failure(lanepool_pool *pool, lanepool_i_thread_record *record,
                                      lanepool_i_task *task, const lanepool_result *result)
{
    ending end = { task->as.wide.future, *result, NULL };
    lanepool_i_count_up(&record->ran, 1);
    lanepool_i_trace_task(record->ring, LANEPOOL_EVENT_END, task, (uint32_t)result->status);
    complete(record, &end);
    lanepool_i_run_dispose(pool, record, task);
}

int lanepool_i_run_nothing(lanepool_run *run, void *context, lanepool_call call)
{
    (void)run, (void)context, (void)call;
    return 0;
}

/* --- what a function can ask of its call --- */
