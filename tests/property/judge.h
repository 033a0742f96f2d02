/* Shared by the parts of the oracle. */
#ifndef TESTS_PROPERTY_JUDGE_H
#define TESTS_PROPERTY_JUDGE_H

#include "property/oracle.h"

enum { JUDGE_MODES = 3 };

/* While a check walks over all tasks in some order: when the earlier tasks of one key ended. */
struct latest_end {
    uint64_t of_mode[JUDGE_MODES]; /* when the last call with a claim in this mode ended */
};

/* One judgement: the log, the workload, and the orders in which checks walk over the accepted
 * tasks. */
struct judge {
    const struct oracle_log *log;
    const struct workload *workload;
    uint32_t count; /* accepted tasks */
    uint32_t *by_ticket;
    uint32_t *by_submit_begin;
    uint32_t *by_submit_end;
    /* By key; the last one has barriers as exclusive tasks, and all others as shared ones. */
    struct latest_end *ends;
    uint32_t *cancelled_by; /* by task: the call that cancelled it, or WORKLOAD_NONE */
    uint32_t *marks;        /* by key: the modes of claims of cancelled tasks, as a set */
    /* The same run with cuts split up; see feature/cut/workload.h. Without cuts: the judge. */
    const struct judge *by_lane;
    struct oracle_verdict verdict;
};

/* Records a violation. Only the first one is stored, because later ones may follow from it. */
__attribute__((format(printf, 2, 3))) void judge_blame(struct oracle_verdict *verdict,
                                                       const char *format, ...);

/* Returns true if a tombstone in mode `mark` may keep tasks apart that claim its key in this mode,
 * and would overlap otherwise. Exclusive tasks wait for one another anyway; they count as kept
 * apart by an exclusive tombstone only. */
static inline bool judge_mark_divides(lanepool_mode mark, lanepool_mode mode)
{
    return !lanepool_modes_overlap(mark, mode) &&
           (mode != LANEPOOL_EXCLUSIVE || mark == LANEPOOL_EXCLUSIVE);
}

/* Returns the task whose submit decided on the task's position: a receiver has its giver's
 * position. */
static inline const struct oracle_task *
judge_place_of(const struct oracle_log *log, const struct workload *workload, uint32_t task)
{
    return &log->tasks[workload->tasks[task].is_heir ? workload->tasks[task].parent : task];
}

/* Returns true if the library has accepted the task. */
bool judge_is_accepted(const struct oracle_task *task);

/* Returns true if the task was cancelled because it had not started in time; its future says so. */
static inline bool judge_has_expired(const struct judge *judge, uint32_t task)
{
    return judge->workload->tasks[task].start_within != 0 &&
           judge->log->tasks[task].call == CALL_CANCELLED &&
           judge->log->tasks[task].result.status == LANEPOOL_TIMED_OUT;
}

/* Returns true if a call or a deadline has cancelled the task. Its tombstone may remain in lanes
 * for some time. */
static inline bool judge_is_mark(const struct judge *judge, uint32_t task)
{
    return judge->cancelled_by[task] != WORKLOAD_NONE || judge_has_expired(judge, task);
}

/* Returns true if `task` claims a lane that the parked task `kept` has. */
bool judge_share_a_lane(const struct judge *judge, uint32_t kept, uint32_t task);

/* Returns true if the task was refused in a poisoned lane; its future says so. */
static inline bool judge_was_refused(const struct judge *judge, uint32_t task)
{
    return judge->log->tasks[task].call == CALL_CANCELLED &&
           judge->log->tasks[task].result.status == LANEPOOL_POISONED;
}

/* Returns the status that the task's future has, if it has one. */
lanepool_status judge_result_of(const struct judge *judge, uint32_t task);
int judge_code_of(const struct judge *judge, uint32_t task);
const void *judge_value_of(const struct judge *judge, uint32_t task);

/* Returns true if the record has a ticket: `cancelled` does not say it. */
static inline bool judge_has_ticket(const struct oracle_task *record)
{
    return record->call == CALL_RUN || record->call == CALL_HANDED_BACK;
}

/* Returns true if the task has a position in the order. Tombstones have none, nor tasks that were
 * cancelled before they were due. A task that avoids poisoned lanes and never ran has none either,
 * because the lanes that it left are not known. */
static inline bool judge_has_place(const struct judge *judge, uint32_t task)
{
    const struct oracle_task *record = &judge->log->tasks[task];

    return !judge_is_mark(judge, task) &&
           !(workload_is_late(&judge->workload->tasks[task]) && record->call == CALL_CANCELLED) &&
           !(workload_avoids_poison(judge->workload, task) && record->call != CALL_RUN);
}

/* oracle_calls.c: statuses, calls, callbacks, futures, quiesce and await; for any number of
 * tasks. */
void judge_calls(struct judge *judge);
/* oracle_waits.c: the statuses of waits inside tasks. */
void judge_waits(struct judge *judge);

/* Of features. */

/* Returns true if a tombstone or a pause's gate may be between the two tasks, e.g. a cancelled
 * writer between two readers of a key. */
bool judge_meet_at_a_mark(const struct judge *judge, uint32_t task, uint32_t other);
/* Returns true if a call that closes the group began before the stamp. */
bool judge_may_be_closed(const struct judge *judge, uint32_t group, uint64_t stamp);
/* At a quiet moment: returns false if too many idle contexts are open. */
bool judge_contexts_are_few(const struct oracle_log *log, const struct workload *workload);
/* Judges a call that answered PARKED: some task must have been parked or have paused its lanes, and
 * none may have run during the whole call. */
void judge_held_up(struct judge *judge, const struct oracle_visit *visit, const char *what);
/* Returns the begin of the first resume of the lane by a resolver that ended after `stamp`;
 * UINT64_MAX if there is none. */
uint64_t judge_resumed_at(const struct judge *judge, uint32_t key, uint64_t stamp);

#endif
