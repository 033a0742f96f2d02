/* What the parts of the oracle share. */
#ifndef TESTS_PROPERTY_JUDGE_H
#define TESTS_PROPERTY_JUDGE_H

#include "property/oracle.h"

/* What is left of the earlier tasks of a key while a check walks over all tasks in some order. */
struct latest_end {
    uint64_t exclusive; /* when the last exclusive call ended */
    uint64_t any;       /* when the last call of either mode ended */
};

/* One judgement: the material, and the orders in which checks walk over the accepted tasks. */
struct judge {
    const struct oracle_log *log;
    const struct workload *workload;
    uint32_t count; /* accepted tasks */
    uint32_t *by_ticket;
    uint32_t *by_submit_begin;
    uint32_t *by_submit_end;
    struct latest_end *ends; /* per key; then one that barriers have exclusive, others shared */
    uint32_t *cancelled_by;  /* by task: which call has cancelled it, or WORKLOAD_NONE */
    bool *has_mark;          /* by key: a task was cancelled that has claimed it exclusively */
    struct oracle_verdict verdict;
};

/* The first violation is the one to look at: later ones are not recorded. */
__attribute__((format(printf, 2, 3))) void judge_blame(struct oracle_verdict *verdict,
                                                       const char *format, ...);

/* Whose submit has decided on the task's place: an heir stands where its giver does. */
static inline const struct oracle_task *
judge_place_of(const struct oracle_log *log, const struct workload *workload, uint32_t task)
{
    return &log->tasks[workload->tasks[task].is_heir ? workload->tasks[task].parent : task];
}

/* Whether the library has taken the task. */
bool judge_is_accepted(const struct oracle_task *task);

/* Whether a call has cancelled the task; it may stand as a mark for some time. */
static inline bool judge_is_mark(const struct judge *judge, uint32_t task)
{
    return judge->cancelled_by[task] != WORKLOAD_NONE;
}

/* Whether the second claims a lane that the first, which is kept, has. */
bool judge_share_a_lane(const struct judge *judge, uint32_t kept, uint32_t task);

/* Whether it had its one call because of a poisoned lane: its future says so. */
static inline bool judge_was_refused(const struct judge *judge, uint32_t task)
{
    return judge->log->tasks[task].call == CALL_CANCELLED &&
           judge->log->tasks[task].result.status == LANEPOOL_POISONED;
}

/* What its future has, if it has one. */
lanepool_status judge_result_of(const struct judge *judge, uint32_t task);

/* Whether it has a place in the order: no mark, and not cancelled before it was due; nor one that
 * does not wait in poisoned lanes and never ran, of which it is not known what it had left. */
static inline bool judge_has_place(const struct judge *judge, uint32_t task)
{
    const struct oracle_task *record = &judge->log->tasks[task];

    return !judge_is_mark(judge, task) &&
           !(workload_is_late(&judge->workload->tasks[task]) && record->call == CALL_CANCELLED) &&
           !(workload_avoids_poison(judge->workload, task) && record->call != CALL_RUN);
}

/* oracle_cancels.c: finds out who has cancelled what; then judges what the calls have answered. */
void judge_find_cancelled(struct judge *judge);
void judge_cancels(struct judge *judge);
/* Whether a mark may stand between them, or a pause: as a cancelled writer between two readers of a
 * key. */
bool judge_meet_at_a_mark(const struct judge *judge, uint32_t task, uint32_t other);
/* oracle_calls.c: statuses, calls, callbacks, futures, visits; tasks may be many. */
void judge_calls(struct judge *judge);
/* oracle_waits.c: the statuses of waits inside tasks. */
void judge_waits(struct judge *judge);
/* oracle_held.c: heirs, and what is given up. */
void judge_held(struct judge *judge);
/* oracle_delays.c: what is due, in which order, and periodic tasks. */
void judge_delays(struct judge *judge);
/* oracle_groups.c: visits to groups, completions, and who runs a pump's tasks. */
void judge_groups(struct judge *judge);
/* oracle_contexts.c: contexts of keys; and, at a quiet moment, whether too many linger. */
void judge_contexts(struct judge *judge);
bool judge_contexts_are_few(const struct oracle_log *log, const struct workload *workload);
/* oracle_priorities.c: the order in which a worker chooses. */
void judge_priorities(struct judge *judge);
/* oracle_lane_limits.c: who waits for room is accepted into no full lane. */
void judge_lane_limits(struct judge *judge);
/* oracle_failures.c: attempts, who is kept, what becomes of them, and who avoids their lanes. */
void judge_failures(struct judge *judge);
/* Whether the call may have found that all that was left was held up. */
void judge_held_up(struct judge *judge, const struct oracle_visit *visit, const char *what);
/* From when the lane may have been resumed by who resolves failures, after this stamp. */
uint64_t judge_resumed_at(const struct judge *judge, uint32_t key, uint64_t stamp);
/* oracle_pauses.c: what a pause holds up does not start. */
void judge_pauses(struct judge *judge);

#endif
