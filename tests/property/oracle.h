/*
 * Judges a finished run of a workload by what its tasks recorded.
 *
 * Stamps come from one counter, incremented with relaxed order: they order the events of a run
 * without making the library under test look better synchronised than it is.
 */
#ifndef TESTS_PROPERTY_ORACLE_H
#define TESTS_PROPERTY_ORACLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "property/workload.h"

/* What became of a task. */
enum oracle_call { CALL_NONE, CALL_RUN, CALL_CANCELLED, CALL_HANDED_BACK };

enum { ORACLE_KEEPS_MAX = 8, ORACLE_RESUMES_MAX = 64 };

/* From before a task is kept until it was resolved. */
struct oracle_keep {
    _Atomic uint64_t from; /* 0: there is none */
    _Atomic uint64_t to;   /* 0: it was not */
};

/* What one task recorded; written by its submitter, by its call, and by its callbacks. */
struct oracle_task {
    _Atomic uint64_t submit_begin; /* 0: not submitted */
    _Atomic uint64_t submit_end;
    lanepool_status submitted;
    enum oracle_call call;
    _Atomic uint64_t call_begin; /* 0: not called */
    _Atomic uint64_t call_end;
    uint64_t ticket;
    size_t worker;
    uint64_t thread;
    uint64_t seen;       /* folds the histories of the keys that it shares */
    uint64_t wait_begin; /* of the wait in its body; 0: none */
    uint64_t wait_end;
    lanepool_status waited;
    lanepool_result result; /* of the future, read after the end */
    bool then_asked;
    atomic_uint calls;
    atomic_uint releases;
    atomic_uint thens;
    atomic_uint errors;
    _Atomic uint64_t released_at;
    _Atomic uint64_t asked_at;   /* when the rule was last asked about it */
    uint64_t end_of_body;        /* when it last looked whether it was asked to end */
    bool was_asked;              /* to end, by then */
    _Atomic uint64_t gave_up_at; /* the lane that it gives up early; 0: it has not */
    _Atomic bool detached;
    _Atomic uint64_t due_ns_min; /* the moment at which it is due lies between these; of a task */
    _Atomic uint64_t due_ns_max; /* without a delay, that of its submit */
    uint64_t call_ns;
    atomic_uint taken; /* its completion, from a group; then the stamp before, and what it said */
    uint64_t taken_from;
    lanepool_result completion;
    atomic_uint attempts;         /* at it */
    _Atomic uint64_t first_end;   /* of the first attempt */
    _Atomic uint64_t attempt_end; /* of the last one */
    unsigned number;              /* of the last one, by lanepool_run_attempt() */
    unsigned begun_anew;          /* attempts behind the first that had the number 1 */
    uint64_t left_keys;           /* what it found in its keys when it had changed them */
    uint64_t not_before_ns;       /* the next attempt */
    _Atomic uint64_t gave_in_at;  /* it was said to have failed for the last time; 0: not, or it is
                                     tried anew */
    atomic_uint resolving;        /* calls that resolve it */
    atomic_uint tried_anew;       /* calls that did */
    atomic_uint skipped;
    atomic_uint drops; /* calls that were to drop what waits behind it */
    struct oracle_keep keeps[ORACLE_KEEPS_MAX];
    atomic_uint keep_count;
};

/* What became of a call that cancels. */
struct oracle_cancel {
    _Atomic uint64_t begin; /* 0: not made */
    _Atomic uint64_t end;
    lanepool_status status;
    size_t count;
    uint64_t thread;
};

/* What became of a pause and of the resume behind it. */
struct oracle_pause {
    _Atomic uint64_t begin; /* 0: not called */
    uint64_t end;
    lanepool_status status;
    uint64_t resume_begin;
    _Atomic uint64_t resume_end; /* 0: still paused, perhaps */
    lanepool_status resumed;
};

/* What became of a periodic task. */
struct oracle_series {
    _Atomic uint64_t submit_end; /* 0: not submitted */
    lanepool_status submitted;
    uint32_t runs;        /* that were made, one after the other */
    atomic_uint ends;     /* calls that told of its end */
    atomic_uint returned; /* hand-backs */
    atomic_uint releases;
    uint64_t ended_at;
    uint64_t cancelled_at; /* after a call that cancels it, on a thread; 0: none */
    lanepool_status cancelled;
};

/* What became of a visit to a group; or its wait, for one that stands in a task. */
struct oracle_group_call {
    uint64_t begin; /* 0: not called */
    uint64_t end;
    lanepool_status status;
};

/* A change of a lane's limit. */
struct oracle_limit {
    _Atomic uint64_t begin; /* 0: not made */
    _Atomic uint64_t end;
};

/* One pump, and the thread that runs it. */
struct oracle_pump {
    uint64_t thread;
    _Atomic bool waits; /* the thread is in lanepool_pump_run() */
    uint64_t ran;       /* tasks that it was told of */
};

/* The context of one key. */
struct oracle_context {
    _Atomic bool open;
    _Atomic bool calling; /* a callback for it is being called */
    atomic_uint users;    /* tasks that use it */
    atomic_uint opens;
    atomic_uint closes;
    uint64_t cell; /* its callbacks write it; see workload_contexts.c */
};

/* Pauses of one lane that followed from failures. */
struct oracle_lane_failure {
    _Atomic uint64_t paused_at;  /* the last time; 0: never */
    _Atomic uint64_t resumed_at; /* the last call that resumes it was made, and has returned */
    struct {
        _Atomic uint64_t begin;
        uint64_t end;
    } resumes[ORACLE_RESUMES_MAX];
    atomic_uint resume_count; /* may be more than there is room for */
};

/* One quiesce or await. */
struct oracle_visit {
    uint64_t begin;
    _Atomic uint64_t end; /* 0: still in it, or none */
    lanepool_status status;
};

/*
 * What the tasks of one key did to it. The history is plain on purpose: a second task beside an
 * exclusive one is a data race, which ThreadSanitizer reports.
 */
struct oracle_key {
    uint64_t history;         /* a hash chain over the exclusive tasks */
    _Atomic uint64_t readers; /* the shared ones since the last exclusive one, as a set */
};

struct oracle_log {
    struct oracle_task *tasks;
    struct oracle_key *keys;
    struct oracle_cancel *cancels;
    struct oracle_pause *pauses;
    struct oracle_series *series;
    struct oracle_group_call *visits;
    struct oracle_limit *limits;
    struct oracle_pump *pumps;
    struct oracle_context *contexts;   /* by key */
    _Atomic(const char *) fault;       /* what was wrong while the run went on, or NULL */
    bool *misses;                      /* by task, then by key: it went without its lane */
    struct oracle_lane_failure *lanes; /* by key */
    atomic_uint dropping;              /* calls that drop what waits behind a kept task */
    struct oracle_visit quiesce;
    struct oracle_visit await;    /* by a thread beside the others */
    _Atomic uint64_t stopping_at; /* before lanepool_pool_shutdown_now() was called; 0: never */
    _Atomic uint64_t stopped_at;  /* when it had returned; 0: never */
    _Atomic uint64_t closing_at;  /* before a shutdown of any kind was called; 0: never */
    _Atomic uint64_t ending_at;   /* before the pool is ended for want of more to do */
    bool refused;                 /* the platform has refused something on purpose */
    const char *events;           /* what was wrong with the pool's events, or NULL */
    const char *look;             /* the same of a snapshot */
    _Atomic uint64_t clock;
};

struct oracle_verdict {
    bool passed;
    uint32_t choices; /* of workers, that could be judged */
    char why[256];
};

void oracle_log_init(struct oracle_log *log, const struct workload *workload);
void oracle_log_fini(struct oracle_log *log);
/* For a replay, in which each task goes without what it went without before. */
void oracle_copy_misses(struct oracle_log *to, const struct oracle_log *from,
                        const struct workload *workload);

static inline uint64_t oracle_stamp(struct oracle_log *log)
{
    return atomic_fetch_add_explicit(&log->clock, 1, memory_order_relaxed) + 1;
}

static inline void oracle_stamp_at(struct oracle_log *log, _Atomic uint64_t *at)
{
    atomic_store_explicit(at, oracle_stamp(log), memory_order_relaxed);
}

static inline uint64_t oracle_when(const _Atomic uint64_t *at)
{
    return atomic_load_explicit(at, memory_order_relaxed);
}

/* What the body of task does to the keys it claims. */
void oracle_touch_keys(struct oracle_log *log, const struct workload *workload, uint32_t task);

/* What must hold while the run goes on; the first that does not is kept. */
static inline void oracle_expect(struct oracle_log *log, bool holds, const char *fault)
{
    const char *none = NULL;

    if (!holds) {
        atomic_compare_exchange_strong(&log->fault, &none, fault);
    }
}

/* How often it came to what only some workloads have. */
struct oracle_counts {
    uint64_t cancelled; /* by calls that cancel */
    uint64_t barriers;  /* that ran, as all that follow */
    uint64_t pauses;
    uint64_t detached;
    uint64_t given_up; /* lanes */
    uint64_t heirs;
    uint64_t delayed;
    uint64_t periodic_runs;
    uint64_t members;
    uint64_t taken; /* completions, from groups */
    uint64_t pumped;
    uint64_t contexts;     /* opened */
    uint64_t choices;      /* between ready tasks of several priorities, that were judged */
    uint64_t without_room; /* submits that were refused for that */
    uint64_t retries;      /* attempts behind the first */
    uint64_t kept;
    uint64_t refused; /* in poisoned lanes */
    uint64_t without; /* that ran without such a lane */
};

/* Adds those of a run that was judged. */
void oracle_count(const struct oracle_log *log, const struct workload *workload,
                  struct oracle_counts *counts);
/* Prints them, as a part of a line. */
void oracle_print_counts(const struct oracle_counts *counts, FILE *out);

/* Whether the task went without the lane of a key that it claims: another had poisoned it. An heir
 * has what its giver had. */
static inline bool oracle_misses(const struct oracle_log *log, const struct workload *workload,
                                 uint32_t task, uint32_t key)
{
    const struct workload_task *what = &workload->tasks[task];
    size_t whose = what->is_heir ? what->parent : task;

    return log->misses && log->misses[whose * workload->params.key_count + key];
}

/* What the task finds in its keys; it is their only one, but for readers. */
uint64_t oracle_read_keys(const struct oracle_log *log, const struct workload *workload,
                          uint32_t task);

/* Whether it is kept for certain; of tasks of a pool that was not told to stop now, at a moment at
 * which no thread can go on. */
bool oracle_is_kept(const struct oracle_log *log, const struct workload *workload, uint32_t task);

/* Whether the second task must wait for the first, if that stands before it, after this stamp: of
 * what the first claimed it may have given something up. */
bool oracle_conflict_at(const struct oracle_log *log, const struct workload *workload,
                        uint32_t first, uint32_t second, uint64_t stamp);

/* Whose claims the task has: its own, or its giver's. Those of an heir are drawn without what its
 * giver was to give up, which may have been refused. */
uint32_t oracle_claimant(const struct oracle_log *log, const struct workload *workload,
                         uint32_t task);

/* Checks everything; the first violation is described. */
struct oracle_verdict oracle_judge(const struct oracle_log *log, const struct workload *workload);

/* For the same moment as the next: which tasks are being submitted and may wait for their lanes.
 * `waits` has one for each task, all false. */
void oracle_find_waits_for_lanes(const struct oracle_log *log, const struct workload *workload,
                                 bool *waits);

/*
 * For a moment at which no thread can go on before time passes. Nothing may be held up that need
 * not be: `idle_workers` of them sleep without work, and each accepted task that has not started
 * must have an unfinished earlier one that it conflicts with. A task that is being submitted can
 * only be held up by a full pool, a quiesce only by tasks accepted before it.
 */
struct oracle_verdict oracle_judge_quiet(const struct oracle_log *log,
                                         const struct workload *workload, size_t idle_workers);

#endif
