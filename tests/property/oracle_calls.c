/* Each accepted task is called once, each refused task never; the answers to the callers agree with
 * that. */
#include <stdlib.h>

#include "property/judge.h"
#include "support/memory.h"

/* --- submitting --- */

static bool may_lack_resources(const struct judge *judge, lanepool_status status)
{
    return judge->log->refused && (status == LANEPOOL_NOMEM || status == LANEPOOL_NO_RESOURCE);
}

static bool is_inside(const struct workload_task *what)
{
    return what->parent != WORKLOAD_NONE;
}

/* Returns true if the pool was closed for this submit before the stamp. Submits inside tasks are
 * closed later than others. */
static bool is_closed_before(const struct judge *judge, const struct workload_task *what,
                             uint64_t stamp)
{
    uint64_t at = oracle_when(is_inside(what) ? &judge->log->stopping_at : &judge->log->closing_at);

    return at != 0 && at < stamp;
}

/* Returns true if the task's group was perhaps closed before the stamp; in a batch, any group: the
 * tasks behind a refused one get its status. */
static bool is_group_closed_before(const struct judge *judge, const struct workload_task *what,
                                   uint64_t stamp)
{
    bool closed = judge_may_be_closed(judge, what->group, stamp);

    for (uint32_t i = 0; i < judge->workload->params.groups && what->form == FORM_BATCH; i++) {
        closed |= judge_may_be_closed(judge, i, stamp);
    }
    return closed;
}

/* Tasks that are not due when the pool drains are cancelled, and not accepted any more. */
static bool is_off_in_a_drain(const struct judge *judge, const struct workload_task *what)
{
    return workload_is_late(what) && !judge->workload->params.waits_for_delayed;
}

static bool was_before(const _Atomic uint64_t *at, uint64_t stamp)
{
    return oracle_when(at) != 0 && oracle_when(at) < stamp;
}

/* Returns true if a shutdown of any kind, or the pool's end, came before the stamp. */
static bool is_drained_before(const struct judge *judge, uint64_t stamp)
{
    return was_before(&judge->log->closing_at, stamp) || was_before(&judge->log->ending_at, stamp);
}

static bool has_limits(const struct workload *workload)
{
    return workload->params.pending_max != 0 || workload->params.lane_pending_max != 0;
}

static void check_refusal(struct judge *judge, uint32_t index)
{
    const struct workload_task *what = &judge->workload->tasks[index];
    const struct oracle_task *task = &judge->log->tasks[index];
    bool allowed = may_lack_resources(judge, task->submitted);

    if (task->submitted == LANEPOOL_SHUT_DOWN) {
        allowed = is_closed_before(judge, what, oracle_when(&task->submit_end)) ||
                  is_group_closed_before(judge, what, oracle_when(&task->submit_end)) ||
                  (is_off_in_a_drain(judge, what) &&
                   is_drained_before(judge, oracle_when(&task->submit_end)));
    } else if (task->submitted == LANEPOOL_FULL) {
        allowed = has_limits(judge->workload) && what->form == FORM_WITHIN && what->within == 0;
    } else if (task->submitted == LANEPOOL_TIMED_OUT) {
        allowed = has_limits(judge->workload) && what->form == FORM_WITHIN && what->within != 0 &&
                  !is_inside(what);
    }
    if (!allowed) {
        judge_blame(&judge->verdict, "the submit of task %u answered %s", index,
                    lanepool_status_name(task->submitted));
    }
    if (atomic_load(&task->calls) != 0 || atomic_load(&task->releases) != 0) {
        judge_blame(&judge->verdict, "task %u was refused with %s, but called", index,
                    lanepool_status_name(task->submitted));
    }
}

/* --- calls and callbacks --- */

static bool is_cancelled_by_a_drain(const struct judge *judge, uint32_t index)
{
    const struct oracle_task *task = &judge->log->tasks[index];

    return is_off_in_a_drain(judge, &judge->workload->tasks[index]) &&
           task->call == CALL_CANCELLED && is_drained_before(judge, oracle_when(&task->call_begin));
}

static void check_call(struct judge *judge, uint32_t index)
{
    const struct oracle_task *task = &judge->log->tasks[index];
    unsigned calls = atomic_load(&task->calls);

    if (calls != 1) {
        judge_blame(&judge->verdict, "task %u was called %u times", index, calls);
        return;
    }
    if (oracle_when(&task->call_begin) < oracle_when(&task->submit_begin)) {
        judge_blame(&judge->verdict, "task %u was called before it was submitted", index);
    }
    if (judge_has_expired(judge, index) &&
        task->call_ns <
            oracle_when(&task->due_min_ns) + judge->workload->tasks[index].start_within) {
        judge_blame(&judge->verdict, "task %u was cancelled before its deadline", index);
    }
    if (task->call != CALL_RUN && !judge_is_mark(judge, index) &&
        !judge_was_refused(judge, index) && oracle_when(&judge->log->stopping_at) == 0 &&
        !is_cancelled_by_a_drain(judge, index)) {
        judge_blame(&judge->verdict, "task %u did not run, but no shutdown now was called", index);
    }
    if (task->call == CALL_HANDED_BACK && judge->workload->params.ending != END_HANDBACK) {
        judge_blame(&judge->verdict, "task %u was handed back", index);
    }
}

static void check_callbacks(struct judge *judge, uint32_t index)
{
    const struct workload_task *what = &judge->workload->tasks[index];
    const struct oracle_task *task = &judge->log->tasks[index];
    /* The last attempt at a cut may have neither failed nor succeeded. */
    unsigned attempts = atomic_load(&task->attempts) - atomic_load(&task->is_open);
    unsigned releases = what->has_release && task->call != CALL_HANDED_BACK;

    if (atomic_load(&task->releases) != releases) {
        judge_blame(&judge->verdict, "the release of task %u was called %u times", index,
                    atomic_load(&task->releases));
    }
    if (atomic_load(&task->thens) != task->then_asked) {
        judge_blame(&judge->verdict, "the continuation of task %u was called %u times", index,
                    atomic_load(&task->thens));
    }
    if (!atomic_load(&task->abandoned) &&
        atomic_load(&task->errors) != (attempts < what->fails ? attempts : what->fails)) {
        judge_blame(&judge->verdict, "task %u was reported as failed %u times", index,
                    atomic_load(&task->errors));
    }
    if (releases == 1 && oracle_when(&task->released_at) < oracle_when(&task->call_end)) {
        judge_blame(&judge->verdict, "task %u was released before its call had ended", index);
    }
    if (releases == 1 && oracle_when(&task->released_at) < oracle_when(&task->asked_at)) {
        judge_blame(&judge->verdict, "the rule was called for task %u after its release callback",
                    index);
    }
}

/* Returns true if a shutdown now has ended the cut in the middle of an attempt. The attempt may
 * have made no call yet; then the cut has a future, which says so. */
static bool is_in_parts(const struct judge *judge, uint32_t cut)
{
    const struct oracle_task *record = &judge->log->tasks[cut];
    bool is_retried = record->awaits_retry || atomic_load(&record->tried_anew) > record->begun_anew;

    return atomic_load(&record->is_open) ||
           (is_retried && !record->has_called && record->result.status == LANEPOOL_IN_PARTS);
}

lanepool_status judge_result_of(const struct judge *judge, uint32_t task)
{
    const struct oracle_task *record = &judge->log->tasks[task];

    if (record->call != CALL_RUN) {
        return judge_has_expired(judge, task)   ? LANEPOOL_TIMED_OUT
               : judge_was_refused(judge, task) ? LANEPOOL_POISONED
                                                : LANEPOOL_CANCELLED;
    }
    unsigned attempts = atomic_load(&record->attempts);

    if (atomic_load(&record->abandoned)) {
        return LANEPOOL_ABANDONED;
    }
    if (workload_is_cut(judge->workload, task) && is_in_parts(judge, task)) {
        return LANEPOOL_IN_PARTS;
    }
    if (attempts == 0 || attempts > judge->workload->tasks[task].fails) {
        return LANEPOOL_OK;
    }
    /* It was to be called again, and was not. */
    return record->awaits_retry || atomic_load(&record->tried_anew) > record->begun_anew
               ? LANEPOOL_CANCELLED
               : LANEPOOL_FAILED;
}

/* A task that ends between two attempts has the code of the last one. */
int judge_code_of(const struct judge *judge, uint32_t task)
{
    const struct oracle_task *record = &judge->log->tasks[task];
    lanepool_status status = judge_result_of(judge, task);
    bool has_code =
        status == LANEPOOL_FAILED || (status == LANEPOOL_CANCELLED && record->call == CALL_RUN);

    return has_code
               ? oracle_code_of(judge->log, judge->workload, task, atomic_load(&record->attempts))
               : 0;
}

/* Only the function sets a value. */
const void *judge_value_of(const struct judge *judge, uint32_t task)
{
    const struct oracle_task *record = &judge->log->tasks[task];
    bool called = !workload_is_cut(judge->workload, task) ||
                  (record->has_called && judge_result_of(judge, task) != LANEPOOL_IN_PARTS);

    return record->call == CALL_RUN && !atomic_load(&record->abandoned) && called
               ? &judge->workload->tasks[task]
               : NULL;
}

static void check_future(struct judge *judge, uint32_t index)
{
    const struct workload_task *what = &judge->workload->tasks[index];
    const struct oracle_task *task = &judge->log->tasks[index];
    lanepool_status status = judge_result_of(judge, index);

    if (!what->has_future) {
        return;
    }
    if (task->result.status != status || task->result.value != judge_value_of(judge, index) ||
        task->result.code != judge_code_of(judge, index)) {
        judge_blame(&judge->verdict, "the future of task %u says %s, code %d", index,
                    lanepool_status_name(task->result.status), task->result.code);
    }
}

/* --- the order of the calls at the end, workers, quiesce and await --- */

/* At the end, tasks that did not start are called in submission order, after the last running task
 * has returned. */
static void check_cancellations(struct judge *judge)
{
    uint64_t last_run = 0;
    uint64_t last_cancelled = 0;

    for (uint32_t i = 0; i < judge->count; i++) {
        const struct oracle_task *task = &judge->log->tasks[judge->by_ticket[i]];
        bool is_cut = workload_is_cut(judge->workload, judge->by_ticket[i]);
        uint64_t end = oracle_when(is_cut ? &task->attempt_end : &task->call_end);

        if (task->call == CALL_RUN && end > last_run && !atomic_load(&task->abandoned)) {
            last_run = end;
        }
    }
    for (uint32_t i = 0; i < judge->count; i++) {
        const struct oracle_task *task = &judge->log->tasks[judge->by_ticket[i]];
        uint64_t begin = oracle_when(&task->call_begin);

        if (task->call == CALL_RUN || judge_is_mark(judge, judge->by_ticket[i]) ||
            judge_was_refused(judge, judge->by_ticket[i]) ||
            is_cancelled_by_a_drain(judge, judge->by_ticket[i])) {
            continue;
        }
        if (begin < last_run || begin < last_cancelled) {
            judge_blame(&judge->verdict, "task %u was cancelled out of turn", judge->by_ticket[i]);
        }
        last_cancelled = oracle_when(&task->call_end);
    }
}

/* A resident worker is one thread. */
static void check_threads(struct judge *judge)
{
    uint32_t workers = judge->workload->params.workers;
    uint32_t workers_min = judge->workload->params.workers_min;
    const struct oracle_task **first = memory_get(workers, sizeof *first);

    for (uint32_t i = 0; i < judge->count; i++) {
        const struct oracle_task *task = &judge->log->tasks[judge->by_ticket[i]];

        if (task->worker == SIZE_MAX) {
            continue; /* the task ran on its submitter, or did not run */
        }
        if (task->worker >= workers) {
            judge_blame(&judge->verdict, "task %u ran on worker %zu of %u", judge->by_ticket[i],
                        task->worker, workers);
        } else if (!first[task->worker]) {
            first[task->worker] = task;
        } else if (first[task->worker]->thread != task->thread &&
                   judge->workload->params.step_seed == 0 &&
                   (workers_min == 0 || task->worker < workers_min)) {
            judge_blame(&judge->verdict, "worker %zu ran on two threads", task->worker);
        }
    }
    free(first);
}

/* Checks a quiesce or an await. All tasks accepted before a quiesce have finished, callbacks
 * included; for an await, all tasks have. */
static void check_visit(struct judge *judge, const struct oracle_visit *visit, bool all,
                        const char *what)
{
    uint64_t end = oracle_when(&visit->end);

    if (end == 0) {
        return;
    }
    if (visit->status == LANEPOOL_PARKED) {
        judge_held_up(judge, visit, what);
    } else if (visit->status != LANEPOOL_OK && visit->status != LANEPOOL_TIMED_OUT &&
               !may_lack_resources(judge, visit->status)) {
        judge_blame(&judge->verdict, "the %s answered %s", what,
                    lanepool_status_name(visit->status));
    }
    for (uint32_t i = 0; i < judge->count && visit->status == LANEPOOL_OK; i++) {
        const struct oracle_task *task = &judge->log->tasks[judge->by_ticket[i]];

        bool meant = oracle_when(&task->submit_end) < visit->begin &&
                     !workload_is_late(&judge->workload->tasks[judge->by_ticket[i]]);

        if ((all || meant) &&
            (oracle_when(&task->call_end) > end || oracle_when(&task->released_at) > end)) {
            judge_blame(&judge->verdict, "task %u had not finished when the %s returned",
                        judge->by_ticket[i], what);
        }
    }
}

void judge_calls(struct judge *judge)
{
    for (uint32_t i = 0; i < judge->workload->params.task_count && judge->verdict.passed; i++) {
        const struct oracle_task *task = &judge->log->tasks[i];

        if (judge_is_accepted(task)) {
            check_call(judge, i);
            check_callbacks(judge, i);
            check_future(judge, i);
        } else if (oracle_when(&task->submit_begin) != 0) {
            check_refusal(judge, i);
        } else if (atomic_load(&task->calls) != 0) {
            judge_blame(&judge->verdict, "task %u was never submitted, but called", i);
        }
    }
    check_cancellations(judge);
    check_threads(judge);
    check_visit(judge, &judge->log->quiesce, false, "quiesce");
    check_visit(judge, &judge->log->await, true, "await");
}
