/* Exclusion and order: by tickets, by real time, and by a serial replay. */
#include "property/oracle.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sizes.h"
#include "feature/cut/workload.h"
#include "property/judge.h"
#include "property/workload_feature.h"
#include "support/memory.h"
#include "support/random.h"

enum { TICKET_BITS = 40 };

void oracle_log_init(struct oracle_log *log, const struct workload *workload)
{
    memset(log, 0, sizeof *log);
    log->tasks = memory_get(workload->params.task_count, sizeof *log->tasks);
    log->keys = memory_get(workload->params.key_count, sizeof *log->keys);
    atomic_init(&log->clock, 0);
    EACH_FEATURE(init_log, log, workload);
}

void oracle_copy_misses(struct oracle_log *to, const struct oracle_log *from,
                        const struct workload *workload)
{
    if (from->misses) {
        memcpy(to->misses, from->misses,
               (size_t)workload->params.task_count * workload->params.key_count *
                   sizeof *from->misses);
    }
}

void oracle_log_fini(struct oracle_log *log)
{
    free(log->tasks);
    free(log->keys);
    EACH_FEATURE(fini_log, log);
    memset(log, 0, sizeof *log);
}

void judge_blame(struct oracle_verdict *verdict, const char *format, ...)
{
    va_list arguments;

    if (!verdict->passed) {
        return;
    }
    verdict->passed = false;
    va_start(arguments, format);
    vsnprintf(verdict->why, sizeof verdict->why, format, arguments);
    va_end(arguments);
}

bool judge_is_accepted(const struct oracle_task *task)
{
    return oracle_when(&task->submit_end) != 0 && task->submitted == LANEPOOL_OK;
}

/* --- how tasks change keys --- */

static uint64_t load(const _Atomic uint64_t *from)
{
    return atomic_load_explicit(from, memory_order_relaxed);
}

static uint64_t chain_next(const struct oracle_key *key, uint32_t task)
{
    uint64_t sets = random_mix(load(&key->readers)) ^ random_mix(load(&key->adders) + 1);

    return random_mix(key->history ^ sets) + task + 1;
}

static uint64_t task_mark(uint32_t task)
{
    return random_mix((uint64_t)task + 1);
}

/* Returns a hash of `seen` and of what the task sees there. */
static uint64_t touch_key(struct oracle_key *key, uint32_t task, lanepool_mode mode, uint64_t seen)
{
    if (mode == LANEPOOL_SHARED) {
        seen = random_mix(seen ^ key->history ^ random_mix(load(&key->adders)));
        atomic_fetch_add_explicit(&key->readers, task_mark(task), memory_order_relaxed);
    } else if (mode == LANEPOOL_COMMUTING) {
        seen = random_mix(seen ^ key->history ^ random_mix(load(&key->readers)));
        atomic_fetch_add_explicit(&key->adders, task_mark(task), memory_order_relaxed);
    } else {
        key->history = chain_next(key, task);
        atomic_store_explicit(&key->readers, 0, memory_order_relaxed);
        atomic_store_explicit(&key->adders, 0, memory_order_relaxed);
    }
    return seen;
}

void oracle_touch_keys(struct oracle_log *log, const struct workload *workload, uint32_t task)
{
    const struct workload_task *what = &workload->tasks[task];
    uint32_t number = what->visit_of != WORKLOAD_NONE ? what->visit_of : task;
    uint64_t seen = 0;

    for (uint32_t i = 0; i < what->merged_count; i++) {
        if (!oracle_misses(log, workload, task, what->merged[i].key)) {
            seen = touch_key(&log->keys[what->merged[i].key], number, what->merged[i].mode, seen);
        }
    }
    log->tasks[task].seen = seen;
}

void oracle_touch_part(struct oracle_log *log, const struct workload *workload, uint32_t task,
                       bool of_lane)
{
    const struct workload_task *what = &workload->tasks[task];

    for (uint32_t i = 0; i < what->merged_count; i++) {
        uint32_t key = what->merged[i].key;

        if ((key == what->gives_up) == of_lane && !oracle_misses(log, workload, task, key)) {
            (void)touch_key(&log->keys[key], task, what->merged[i].mode, 0);
        }
    }
}

uint64_t oracle_touch_lane(struct oracle_log *log, const struct workload *workload, uint32_t cut,
                           uint32_t lane)
{
    const struct workload_claim *claim = &workload->tasks[cut].merged[lane];

    return touch_key(&log->keys[claim->key], cut, claim->mode, 0);
}

static uint64_t add_key(uint64_t read, const struct oracle_log *log, struct workload_claim claim)
{
    const struct oracle_key *key = &log->keys[claim.key];

    read = random_mix(read ^ key->history);
    if (claim.mode != LANEPOOL_SHARED) {
        read = random_mix(read ^ load(&key->readers));
    }
    if (claim.mode != LANEPOOL_COMMUTING) {
        read = random_mix(read ^ load(&key->adders));
    }
    return read;
}

uint64_t oracle_read_key(const struct oracle_log *log, struct workload_claim claim)
{
    return add_key(0, log, claim);
}

uint64_t oracle_read_keys(const struct oracle_log *log, const struct workload *workload,
                          uint32_t task)
{
    const struct workload_task *what = &workload->tasks[task];
    uint64_t read = 0;

    for (uint32_t i = 0; i < what->merged_count; i++) {
        if (!oracle_misses(log, workload, task, what->merged[i].key)) {
            read = add_key(read, log, what->merged[i]);
        }
    }
    return read;
}

/* --- orders --- */

struct sort_item {
    uint64_t at;
    uint64_t called_at; /* orders tasks with equal tickets: a receiver has its giver's */
    uint32_t task;
};

static int compare_items(const void *left, const void *right)
{
    const struct sort_item *a = left;
    const struct sort_item *b = right;

    if (a->at == b->at) {
        return (a->called_at > b->called_at) - (a->called_at < b->called_at);
    }
    return a->at > b->at ? 1 : -1;
}

static uint32_t *sorted_by(const struct judge *judge, uint64_t (*when)(const struct oracle_task *))
{
    struct sort_item *items = memory_get(judge->count, sizeof *items);
    uint32_t *order = memory_get(judge->count, sizeof *order);
    uint32_t found = 0;

    for (uint32_t i = 0; i < judge->workload->params.task_count; i++) {
        if (judge_is_accepted(&judge->log->tasks[i])) {
            items[found].at = when(&judge->log->tasks[i]);
            items[found].called_at = oracle_when(&judge->log->tasks[i].call_begin);
            items[found++].task = i;
        }
    }
    qsort(items, judge->count, sizeof *items, compare_items);
    for (uint32_t i = 0; i < judge->count; i++) {
        order[i] = items[i].task;
    }
    free(items);
    return order;
}

/* Returns the ticket relative to the first one, because tickets wrap around. Cancelled tasks follow
 * in the order of their calls. */
static uint64_t when_ticket(const struct oracle_task *task)
{
    if (!judge_has_ticket(task)) {
        return ((uint64_t)1 << TICKET_BITS) + oracle_when(&task->call_begin);
    }
    return (task->ticket - LANEPOOL_I_FIRST_TICKET) & (((uint64_t)1 << TICKET_BITS) - 1);
}

static uint64_t when_submit_begins(const struct oracle_task *task)
{
    return oracle_when(&task->submit_begin);
}

static uint64_t when_submit_ends(const struct oracle_task *task)
{
    return oracle_when(&task->submit_end);
}

static void check_tickets_are_unique(struct judge *judge)
{
    const struct oracle_task *tasks = judge->log->tasks;

    for (uint32_t i = 1; i < judge->count; i++) {
        uint32_t task = judge->by_ticket[i];
        uint32_t before = judge->by_ticket[i - 1];

        if (when_ticket(&tasks[task]) == when_ticket(&tasks[before]) &&
            judge_has_place(judge, task) && judge_has_place(judge, before) &&
            !judge->workload->tasks[task].is_heir) {
            judge_blame(&judge->verdict, "tasks %u and %u have the same ticket", before, task);
        }
    }
}

/* Returns false for tasks that get their tickets later than in their submit. */
static bool is_placed_at_once(const struct judge *judge, uint32_t task)
{
    return judge_has_place(judge, task) && judge_has_ticket(&judge->log->tasks[task]) &&
           !workload_is_late(&judge->workload->tasks[task]);
}

/* Tickets are unique, and agree with the order of submits that did not overlap in time. A task that
 * was cancelled before it was routed has none, and a receiver has its giver's. */
static void check_tickets(struct judge *judge)
{
    const struct oracle_task *tasks = judge->log->tasks;
    uint64_t newest = 0;
    uint32_t ended = 0;

    check_tickets_are_unique(judge);
    for (uint32_t i = 0; i < judge->count; i++) {
        uint32_t task = judge->by_submit_begin[i];
        uint64_t begin = when_submit_begins(&tasks[task]);

        for (; when_submit_ends(&tasks[judge->by_submit_end[ended]]) < begin; ended++) {
            uint64_t ticket = when_ticket(&tasks[judge->by_submit_end[ended]]);

            if (ticket > newest && is_placed_at_once(judge, judge->by_submit_end[ended])) {
                newest = ticket;
            }
        }
        if (when_ticket(&tasks[task]) < newest && judge_has_place(judge, task) &&
            !judge->workload->tasks[task].is_heir) {
            judge_blame(&judge->verdict,
                        "task %u has a smaller ticket than one whose submit had ended before",
                        task);
        }
    }
}

/* --- exclusion --- */

static struct latest_end *end_of_barriers(struct judge *judge)
{
    return &judge->ends[judge->workload->params.key_count];
}

/* Returns the latest end of a task whose claim conflicts with one in this mode. */
static uint64_t end_of_conflicting(const struct latest_end *end, lanepool_mode mode)
{
    uint64_t latest = 0;

    for (uint32_t other = 0; other < JUDGE_MODES; other++) {
        if (!lanepool_modes_overlap(mode, other) && end->of_mode[other] > latest) {
            latest = end->of_mode[other];
        }
    }
    return latest;
}

/* Returns true if the task ran although the tasks it waited for ended only after a shutdown now. */
static bool starts_after_stop(const struct judge *judge, uint32_t task, uint64_t waited_until)
{
    uint64_t stopped_at = oracle_when(&judge->log->stopped_at);

    return stopped_at != 0 && waited_until > stopped_at && judge->log->tasks[task].call == CALL_RUN;
}

/* The task's call must begin after the end of all earlier tasks that it conflicts with. */
static void check_against_ends(struct judge *judge, uint32_t task, const char *order)
{
    const struct workload_task *what = &judge->workload->tasks[task];
    uint64_t begin = oracle_when(&judge->log->tasks[task].call_begin);
    const struct latest_end *all = end_of_barriers(judge);

    if (!judge_has_place(judge, task)) {
        return;
    }
    uint64_t must_all =
        end_of_conflicting(all, what->is_barrier ? LANEPOOL_EXCLUSIVE : LANEPOOL_SHARED);

    if (begin < must_all) {
        judge_blame(&judge->verdict, "task %u and a barrier did not keep their order (by %s)", task,
                    order);
    }
    if (starts_after_stop(judge, task, must_all)) {
        judge_blame(&judge->verdict,
                    "task %u or a barrier before it started after the pool had stopped", task);
    }
    for (uint32_t i = 0; i < what->merged_count; i++) {
        const struct latest_end *end = &judge->ends[what->merged[i].key];
        uint64_t must = end_of_conflicting(end, what->merged[i].mode);

        if (begin < must &&
            !oracle_misses(judge->log, judge->workload, task, what->merged[i].key)) {
            judge_blame(&judge->verdict,
                        "task %u started on key %u before an earlier task had finished (by %s)",
                        task, what->merged[i].key, order);
        }
        if (starts_after_stop(judge, task, must) &&
            !oracle_misses(judge->log, judge->workload, task, what->merged[i].key)) {
            judge_blame(&judge->verdict,
                        "task %u started on key %u, which was in use when the pool stopped", task,
                        what->merged[i].key);
        }
    }
}

static void raise_end(struct latest_end *end, uint64_t at, lanepool_mode mode)
{
    if (at > end->of_mode[mode]) {
        end->of_mode[mode] = at;
    }
}

/* A shutdown now may have ended a cut in the middle of an attempt. Then others that it cancels may
 * get their calls before the cut. */
static void note_end(struct judge *judge, uint32_t task)
{
    const struct workload_task *what = &judge->workload->tasks[task];
    const struct oracle_task *record = &judge->log->tasks[task];
    bool is_open = atomic_load(&record->is_open);
    uint64_t at = oracle_when(is_open ? &record->attempt_end : &record->call_end);
    uint64_t gave_up_at = oracle_when(&judge->log->tasks[task].gave_up_at);

    if (!judge_has_place(judge, task)) {
        return;
    }
    raise_end(end_of_barriers(judge), at, what->is_barrier ? LANEPOOL_EXCLUSIVE : LANEPOOL_SHARED);
    for (uint32_t i = 0; i < what->merged_count; i++) {
        uint32_t key = what->merged[i].key;

        if (oracle_misses(judge->log, judge->workload, task, key)) {
            continue;
        }
        raise_end(&judge->ends[key], key == what->gives_up && gave_up_at != 0 ? gave_up_at : at,
                  what->merged[i].mode);
    }
}

static void forget_ends(struct judge *judge)
{
    memset(judge->ends, 0, (judge->workload->params.key_count + 1) * sizeof *judge->ends);
}

/* Checks exclusion and order by ticket, for claims: O(claims) after the sort. */
static void check_keys_by_ticket(struct judge *judge)
{
    forget_ends(judge);
    for (uint32_t i = 0; i < judge->count; i++) {
        check_against_ends(judge, judge->by_ticket[i], "ticket");
        note_end(judge, judge->by_ticket[i]);
    }
}

/* Checks exclusion and order without relying on tickets: compares only with tasks whose submit
 * ended before this one began. A receiver precedes some of those. */
static void check_keys_by_time(struct judge *judge)
{
    const struct oracle_task *tasks = judge->log->tasks;
    uint32_t ended = 0;

    forget_ends(judge);
    for (uint32_t i = 0; i < judge->count; i++) {
        uint32_t task = judge->by_submit_begin[i];
        uint64_t begin = when_submit_begins(&tasks[task]);

        for (; when_submit_ends(&tasks[judge->by_submit_end[ended]]) < begin; ended++) {
            if (is_placed_at_once(judge, judge->by_submit_end[ended])) {
                note_end(judge, judge->by_submit_end[ended]);
            }
        }
        if (!judge->workload->tasks[task].is_heir) {
            check_against_ends(judge, task, "time");
        }
    }
}

/* Checks exclusion and both orders for rules that only answer for pairs. */
static void check_pairs(struct judge *judge)
{
    const struct oracle_task *tasks = judge->log->tasks;

    for (uint32_t i = 0; i < judge->count && judge->verdict.passed; i++) {
        for (uint32_t j = i + 1; j < judge->count; j++) {
            uint32_t a = judge->by_ticket[i];
            uint32_t b = judge->by_ticket[j];

            uint64_t must = oracle_when(&tasks[a].call_end);
            bool is_early = oracle_when(&tasks[b].call_begin) <= must;

            if (!judge_has_place(judge, a) || !judge_has_place(judge, b) ||
                (!is_early && !starts_after_stop(judge, b, must))) {
                continue;
            }
            if (workload_conflict(judge->workload, a, b)) {
                judge_blame(&judge->verdict,
                            is_early ? "task %u started before conflicting task %u had finished"
                                     : "task %u started after task %u, when the pool had stopped",
                            b, a);
            }
        }
    }
}

/* Replays the tasks one by one in ticket order, and compares the histories of the keys. */
static void check_histories(struct judge *judge)
{
    const struct oracle_log *log = judge->log;
    struct oracle_log replay;

    oracle_log_init(&replay, judge->workload);
    oracle_copy_misses(&replay, log, judge->workload);
    for (uint32_t i = 0; i < judge->count; i++) {
        uint32_t task = judge->by_ticket[i];

        if (log->tasks[task].call != CALL_RUN) {
            continue;
        }
        oracle_touch_keys(&replay, judge->workload, task);
        if (replay.tasks[task].seen != log->tasks[task].seen) {
            judge_blame(&judge->verdict, "task %u saw another history than in the serial replay",
                        task);
        }
    }
    for (uint32_t key = 0; key < judge->workload->params.key_count; key++) {
        if (replay.keys[key].history != log->keys[key].history ||
            atomic_load(&replay.keys[key].readers) != atomic_load(&log->keys[key].readers)) {
            judge_blame(&judge->verdict, "key %u has another history than in the serial replay",
                        key);
        }
    }
    oracle_log_fini(&replay);
}

/* --- the whole judgement --- */

static uint32_t count_accepted(const struct judge *judge)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < judge->workload->params.task_count; i++) {
        count += judge_is_accepted(&judge->log->tasks[i]);
    }
    return count;
}

static void judge_order(struct judge *judge)
{
    if (workload_has_claims(judge->workload)) {
        check_keys_by_ticket(judge);
        check_keys_by_time(judge);
        check_histories(judge);
    } else {
        check_pairs(judge);
    }
}

static void judge_what_was_seen(struct judge *judge)
{
    const char *fault = atomic_load(&judge->log->fault);

    if (fault) {
        judge_blame(&judge->verdict, "%s", fault);
    }
    if (judge->log->events != NULL) {
        judge_blame(&judge->verdict, "events: %s", judge->log->events);
    }
    if (judge->log->look != NULL) {
        judge_blame(&judge->verdict, "snapshot: %s", judge->log->look);
    }
}

static void begin_judge(struct judge *judge)
{
    judge->verdict.passed = true;
    judge->count = count_accepted(judge);
    judge->by_ticket = sorted_by(judge, when_ticket);
    judge->by_submit_begin = sorted_by(judge, when_submit_begins);
    judge->by_submit_end = sorted_by(judge, when_submit_ends);
    judge->ends = memory_get((size_t)judge->workload->params.key_count + 1, sizeof *judge->ends);
    judge->marks = memory_get(judge->workload->params.key_count, sizeof *judge->marks);
    judge->cancelled_by =
        memory_get(judge->workload->params.task_count, sizeof *judge->cancelled_by);
}

static void end_judge(const struct judge *judge)
{
    free(judge->by_ticket);
    free(judge->by_submit_begin);
    free(judge->by_submit_end);
    free(judge->ends);
    free(judge->cancelled_by);
    free(judge->marks);
}

/* A visit was cancelled with its cut. */
static void copy_cancels(struct judge *by_lane, const struct judge *judge)
{
    memcpy(by_lane->marks, judge->marks, judge->workload->params.key_count * sizeof *judge->marks);
    for (uint32_t i = 0; i < by_lane->workload->params.task_count; i++) {
        uint32_t cut = by_lane->workload->tasks[i].visit_of;

        by_lane->cancelled_by[i] = judge->cancelled_by[cut != WORKLOAD_NONE ? cut : i];
    }
}

/* Judges what needs the orders. Without a call there is no ticket. */
static void judge_all(struct judge *judge, struct judge *by_lane)
{
    check_tickets(judge);
    judge_order(by_lane);
    judge_waits(by_lane);
    if (!by_lane->verdict.passed) {
        judge_blame(&judge->verdict, "%s", by_lane->verdict.why);
    }
    EACH_FEATURE(judge, judge);
}

struct oracle_verdict oracle_judge(const struct oracle_log *log, const struct workload *workload)
{
    struct oracle_split split;
    struct judge judge = { .log = log, .workload = workload };

    oracle_split_cuts(&split, log, workload);
    struct judge by_lane = { .log = &split.log, .workload = &split.workload };
    begin_judge(&judge);
    begin_judge(&by_lane);
    judge.by_lane = &by_lane;
    by_lane.by_lane = &by_lane;
    EACH_FEATURE(prepare_judge, &judge);
    copy_cancels(&by_lane, &judge);
    judge_calls(&judge);
    judge_what_was_seen(&judge);
    if (judge.verdict.passed) {
        judge_all(&judge, &by_lane);
    }
    end_judge(&by_lane);
    end_judge(&judge);
    oracle_split_fini(&split);
    return judge.verdict;
}
