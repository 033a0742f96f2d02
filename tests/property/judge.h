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

/* Whether the library has taken the task. */
bool judge_is_accepted(const struct oracle_task *task);

/* Whether a call has cancelled the task; it may stand as a mark for some time. */
static inline bool judge_is_mark(const struct judge *judge, uint32_t task)
{
    return judge->cancelled_by[task] != WORKLOAD_NONE;
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

#endif
