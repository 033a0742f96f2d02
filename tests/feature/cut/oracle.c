/*
 * Cuts. Most checks follow from splitting them up, see workload.h: each lane's visit is ordered and
 * excluded like a task of its own, so it sees what the serial run has at the cut's ticket. In a
 * progressive rollup such a task has the lane until the rollup has ended. Here:
 * how often which call is made, and how the cut ends.
 */
#include "feature/cut/workload.h"

#include <stdlib.h>

#include "support/memory.h"

/* --- splitting cuts up --- */

/* The simulator judges a run that has not ended. One thread runs at a time there, which
 * ThreadSanitizer does not know. */
__attribute__((no_sanitize("thread"))) static void copy_unordered(void *to, const void *from,
                                                                  size_t size)
{
    volatile uint64_t *words = to;
    const volatile uint64_t *words_from = from;
    volatile unsigned char *bytes = to;
    const volatile unsigned char *bytes_from = from;

    for (size_t i = 0; i < size / sizeof *words; i++) {
        words[i] = words_from[i];
    }
    for (size_t i = size / sizeof *words * sizeof *words; i < size; i++) {
        bytes[i] = bytes_from[i];
    }
}

static uint32_t count_visits(const struct workload *workload)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        count += workload_is_cut(workload, i) ? workload->tasks[i].merged_count : 0;
    }
    return count;
}

/* Makes a record that has not been called; or, in a cut that has ended, never will be. */
static void set_uncalled(struct oracle_task *record)
{
    bool has_ended = oracle_when(&record->call_end) != 0;

    record->call = has_ended ? CALL_HANDED_BACK : CALL_NONE; /* which has a ticket */
    atomic_store(&record->call_begin, has_ended ? UINT64_MAX : 0);
}

static void set_called(struct oracle_task *record, const struct oracle_lane_visit *visit)
{
    uint64_t end = oracle_when(&visit->end);

    atomic_store(&record->call_begin, oracle_when(&visit->begin));
    atomic_store(&record->first_end, oracle_when(&visit->first_end));
    atomic_store(&record->attempt_end, end);
    atomic_store(&record->returned_at, end);
    atomic_store(&record->attempts, atomic_load(&visit->calls));
    record->thread = visit->thread;
    record->worker = visit->worker;
    record->seen = visit->seen;
    if (atomic_load(&visit->has_passed)) {
        record->has_passed = true;
        atomic_store(&record->call_end, end);
        atomic_store(&record->gave_in_at, 0);
    }
}

/* The end of the cut is the end of a lane whose last visit has failed. Reads the copy of the cut's
 * task: the workload may be freed by a thread that is not ordered behind this one. */
static void split_visit(struct oracle_split *split, const struct oracle_log *log,
                        const struct workload *workload, uint32_t cut, uint32_t lane,
                        uint32_t index)
{
    const struct oracle_lane_visit *visit = oracle_visit_of(log, workload, cut, lane);
    struct workload_task *what = &split->workload.tasks[index];
    struct oracle_task *record = &split->log.tasks[index];

    *what = split->workload.tasks[cut];
    what->merged += lane;
    what->merged_count = 1;
    what->awaits = WORKLOAD_NONE;
    what->awaits_group = WORKLOAD_NONE;
    what->group = WORKLOAD_NONE;
    what->visit_of = cut;
    what->duration = workload_visit_takes(&split->workload, cut, lane);
    if (log->misses != NULL) {
        split->log.misses[(size_t)index * workload->params.key_count + what->merged->key] =
            oracle_misses(log, workload, cut, what->merged->key);
    }
    copy_unordered(record, &log->tasks[cut], sizeof *record);
    record->wait_begin = 0;
    atomic_store(&record->detached, false);
    record->has_called = atomic_load(&visit->inside);
    record->is_held = atomic_load(&visit->is_held);
    if (atomic_load(&visit->calls) > 0) {
        set_called(record, visit);
    } else if (record->call == CALL_RUN) {
        set_uncalled(record);
    }
}

static void split_function(struct oracle_split *split, uint32_t cut)
{
    struct workload_task *what = &split->workload.tasks[cut];
    struct oracle_task *record = &split->log.tasks[cut];

    what->merged_count = 0;
    if (record->call != CALL_RUN) {
        return;
    }
    uint64_t end = oracle_when(&record->call_end);
    if (oracle_when(&record->body_begin) == 0) {
        set_uncalled(record);
        atomic_store(&record->call_begin, end);
        return;
    }
    atomic_store(&record->call_begin, oracle_when(&record->body_begin));
    record->thread = record->body_thread;
    record->worker = record->body_worker;
}

static void copy_tasks(struct oracle_split *split, const struct oracle_log *log,
                       const struct workload *workload, uint32_t more)
{
    uint32_t count = workload->params.task_count;
    size_t misses = (size_t)count * workload->params.key_count;

    split->workload.params.task_count = count + more;
    split->workload.tasks = memory_get((size_t)count + more, sizeof *split->workload.tasks);
    split->log.tasks = memory_get((size_t)count + more, sizeof *split->log.tasks);
    copy_unordered(split->workload.tasks, workload->tasks, count * sizeof *workload->tasks);
    copy_unordered(split->log.tasks, log->tasks, count * sizeof *log->tasks);
    if (log->misses != NULL) {
        split->log.misses =
            memory_get(misses + (size_t)more * workload->params.key_count, sizeof *log->misses);
        copy_unordered(split->log.misses, log->misses, misses * sizeof *log->misses);
    }
}

void oracle_split_cuts(struct oracle_split *split, const struct oracle_log *log,
                       const struct workload *workload)
{
    uint32_t next = workload->params.task_count;

    copy_unordered(&split->log, log, sizeof *log);
    split->workload = *workload;
    split->is_split = false;
    if (!workload->params.cuts) {
        return;
    }
    copy_tasks(split, log, workload, count_visits(workload));
    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        if (!workload_is_cut(workload, i)) {
            continue;
        }
        for (uint32_t lane = 0; lane < workload->tasks[i].merged_count; lane++) {
            split_visit(split, log, workload, i, lane, next++);
        }
        split_function(split, i);
    }
    split->is_split = true;
    split->workload.params.cuts = false;
}

void oracle_split_fini(struct oracle_split *split)
{
    if (split->is_split) {
        free(split->workload.tasks);
        free(split->log.tasks);
        free(split->log.misses);
    }
}

/* --- calls --- */

/* Returns true if the cut makes failing visits in this attempt, in the lanes that it has not left.
 */
static bool fails_in_visits(const struct oracle_log *log, const struct workload *workload,
                            uint32_t cut, unsigned attempt)
{
    bool any = false;

    for (uint32_t lane = 0; lane < workload->tasks[cut].merged_count; lane++) {
        any |= attempt <= workload_visits_fail(workload, cut, lane) &&
               atomic_load(&oracle_visit_of(log, workload, cut, lane)->calls) > 0;
    }
    return any;
}

int oracle_code_of(const struct oracle_log *log, const struct workload *workload, uint32_t task,
                   unsigned attempt)
{
    return workload_is_cut(workload, task) && fails_in_visits(log, workload, task, attempt) ? 2 : 1;
}

bool judge_was_visit_asked(const struct judge *judge, uint32_t task)
{
    bool any = false;

    for (uint32_t i = 0;
         workload_is_cut(judge->workload, task) && i < judge->workload->tasks[task].merged_count;
         i++) {
        any |= oracle_visit_of(judge->log, judge->workload, task, i)->was_asked;
    }
    return any;
}

static void check_lane(struct judge *judge, uint32_t cut, uint32_t lane)
{
    const struct oracle_task *record = &judge->log->tasks[cut];
    const struct oracle_lane_visit *visit = oracle_visit_of(judge->log, judge->workload, cut, lane);
    uint64_t calls = atomic_load(&visit->calls);
    bool has_left = oracle_misses(judge->log, judge->workload, cut,
                                  judge->workload->tasks[cut].merged[lane].key);
    bool in_parts = judge_result_of(judge, cut) == LANEPOOL_IN_PARTS;

    if (record->call != CALL_RUN) {
        if (calls > 0) {
            judge_blame(&judge->verdict, "a lane of cut %u was visited, but the cut did not begin",
                        cut);
        }
        return;
    }
    if (calls == 0 && !in_parts && !has_left) {
        judge_blame(&judge->verdict, "a lane of cut %u was not visited", cut);
    }
    if (record->has_called && !atomic_load(&visit->has_passed) && !atomic_load(&visit->is_held) &&
        !has_left) {
        judge_blame(&judge->verdict, "the function of cut %u was called without a visit", cut);
    }
    if (calls > 0 && visit->ticket != record->ticket) {
        judge_blame(&judge->verdict, "a visit of cut %u has another ticket", cut);
    }
    if (calls > atomic_load(&record->attempts)) {
        judge_blame(&judge->verdict, "a lane of cut %u was visited twice in one attempt", cut);
    }
}

static void check_cut(struct judge *judge, uint32_t cut)
{
    const struct oracle_task *record = &judge->log->tasks[cut];
    bool in_parts = record->call == CALL_RUN && !record->has_called;

    for (uint32_t lane = 0; lane < judge->workload->tasks[cut].merged_count; lane++) {
        check_lane(judge, cut, lane);
    }
    if (atomic_load(&record->parts) != in_parts) {
        judge_blame(&judge->verdict, "cut %u was cancelled in parts %u times", cut,
                    atomic_load(&record->parts));
    }
    if (record->call == CALL_RUN && judge_result_of(judge, cut) == LANEPOOL_IN_PARTS &&
        oracle_when(&judge->log->stopping_at) == 0) {
        judge_blame(&judge->verdict, "cut %u did not end, but no shutdown now was called", cut);
    }
}

/* Returns true if the cut of this visit has ended in parts, and the visit was not made or has
 * failed. A cut that avoids poison may have left a lane that it has not visited. */
static bool is_left_out(const struct judge *judge, uint32_t visit)
{
    uint32_t cut = judge->by_lane->workload->tasks[visit].visit_of;

    return cut != WORKLOAD_NONE && judge->log->tasks[cut].call == CALL_RUN &&
           (judge->by_lane->log->tasks[visit].call == CALL_RUN ||
            !workload_avoids_poison(judge->workload, cut)) &&
           atomic_load(&judge->log->tasks[cut].is_open) &&
           !oracle_has_passed(judge->log, judge->workload, cut,
                              (uint32_t)(judge->by_lane->workload->tasks[visit].merged -
                                         judge->workload->tasks[cut].merged));
}

/* The lane has not gone on: no conflicting task behind the cut has run. */
static void check_left_out(struct judge *judge, uint32_t place)
{
    const struct judge *lanes = judge->by_lane;
    uint32_t visit = lanes->by_ticket[place];

    if (!is_left_out(judge, visit)) {
        return;
    }
    for (uint32_t i = place + 1; i < lanes->count; i++) {
        uint32_t behind = lanes->by_ticket[i];

        if (lanes->log->tasks[behind].call == CALL_RUN &&
            oracle_conflict_at(lanes->log, lanes->workload, visit, behind, 0)) {
            judge_blame(&judge->verdict, "task %u ran behind a cut that had not visited the lane",
                        behind);
        }
    }
}

void judge_cuts(struct judge *judge)
{
    for (uint32_t i = 0; i < judge->by_lane->count && judge->workload->params.cuts; i++) {
        check_left_out(judge, i);
    }
    for (uint32_t i = 0; i < judge->count; i++) {
        if (workload_is_cut(judge->workload, judge->by_ticket[i])) {
            check_cut(judge, judge->by_ticket[i]);
        }
    }
}
