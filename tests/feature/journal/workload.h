/* The journal of random workloads: what its `write` checks at once, and what the oracle judges. */
#ifndef TESTS_FEATURE_JOURNAL_WORKLOAD_H
#define TESTS_FEATURE_JOURNAL_WORKLOAD_H

#include "property/judge.h"
#include "property/workload_feature.h"
#include "property/workload_tasks.h"

/* One call of `write`. */
struct oracle_write {
    uint64_t end_number; /* behind its last entry */
    uint64_t watermark;
};

/* The record of a visit of a cut. */
struct oracle_visit_record {
    struct task_context *cut; /* NULL: no visit was made */
    uint32_t lane;
};

/* What was written; by the journal's thread. */
struct oracle_journal {
    struct oracle_visit_record *visits; /* by workload_task.first_visit; NULL: no cuts */
    size_t visit_count;
    uint64_t next_number;
    uint64_t first_ticket;    /* whole: tickets wrap around */
    struct oracle_log serial; /* the keys, changed by the entries one by one */
    struct oracle_write *writes;
    size_t write_count;
    atomic_uint inside; /* calls of `write` at this moment */
    lanepool_journal_check *check;
    bool is_unchecked; /* memory for the check was refused on purpose */
};

/* In a call of the task: sets itself as its record. */
void workload_set_record(struct task_context *self, lanepool_run *call);
/* In a visit of a cut: sets the record of this lane. The lane is that of the merged claim with this
 * number. */
void workload_set_record_of_visit(struct task_context *self, lanepool_run *call, uint32_t lane);

void judge_journal(struct judge *judge);

#endif
