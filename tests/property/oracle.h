/*
 * Judges a finished run of a workload by the records of its tasks.
 *
 * Stamps come from one counter, incremented with relaxed order. They order the events of a run, but
 * do not synchronize the library under test.
 */
#ifndef TESTS_PROPERTY_ORACLE_H
#define TESTS_PROPERTY_ORACLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "property/workload.h"

/* The kind of call that a task got. */
enum oracle_call { CALL_NONE, CALL_RUN, CALL_CANCELLED, CALL_HANDED_BACK };

enum { ORACLE_KEEPS_MAX = 8, ORACLE_RESUMES_MAX = 64, ORACLE_WORKERS_MAX = 8 };

/* The time during which a task was parked, from a moment before it was. */
struct oracle_keep {
    _Atomic uint64_t from; /* 0: it was not parked */
    _Atomic uint64_t to;   /* 0: it was not resolved */
};

/* The record of one task; written by its submitter, its call, and its callbacks. */
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
    uint64_t seen;       /* a hash of what it has read of the keys that it claims shared */
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
    _Atomic uint64_t asked_at;   /* when the rule was last called for it */
    uint64_t end_of_body;        /* when it last checked whether it was asked to end */
    bool was_asked;              /* what that check found */
    _Atomic uint64_t gave_up_at; /* when it gave up its lane early; 0: never */
    _Atomic bool detached;
    _Atomic bool abandoned;       /* detached, and ended by a shutdown now */
    _Atomic uint64_t returned_at; /* when the function of a detached task returned */
    _Atomic uint64_t due_min_ns;  /* it became due between these; a task without */
    _Atomic uint64_t due_max_ns;  /* a delay was due at its submit */
    uint64_t call_ns;
    /* Its completion was taken from a group; then the stamp before that, and the completion. */
    atomic_uint taken;
    uint64_t taken_from;
    lanepool_result completion;
    atomic_uint attempts;         /* the number of attempts */
    _Atomic uint64_t first_end;   /* the end of the first attempt */
    _Atomic uint64_t attempt_end; /* the end of the last attempt */
    unsigned number;              /* of the last attempt, by lanepool_run_attempt() */
    unsigned begun_anew;          /* attempts after the first that had the number 1 */
    bool awaits_retry;            /* its last failure was reported as not the last one */
    uint64_t left_keys;           /* a hash of its keys after it had changed them */
    uint64_t not_before_ns;       /* the earliest moment of the next attempt */
    /* When its last failure was reported; 0: not reported, or the task was resolved by a retry. */
    _Atomic uint64_t gave_in_at;
    atomic_uint resolving;  /* calls that are resolving it */
    atomic_uint tried_anew; /* calls that resolved it by a retry */
    atomic_uint skipped;
    atomic_uint drops; /* calls that are to drop the tasks behind it */
    struct oracle_keep keeps[ORACLE_KEEPS_MAX];
    atomic_uint keep_count;
    /* Of a cut, whose call begins with its first visit and ends when all is done. */
    _Atomic bool is_open; /* an attempt has begun; it has not failed or called the function */
    _Atomic uint64_t body_begin; /* of its function's first call; 0: none */
    uint64_t left_until; /* when its first attempt had failed or called its function; 0: never */
    uint64_t body_thread;
    size_t body_worker;
    bool has_called;             /* the last attempt has called the function; for a visit that was
                                    split off: it is being made */
    bool has_passed;             /* for a visit that was split off: the lane has gone on */
    bool is_held;                /* for a visit that was split off: of a progressive rollup, made */
    atomic_uint parts;           /* calls of `cancelled` with IN_PARTS */
    uint64_t part_number;        /* of the journal's entry for the lane that it gave up; 0: none */
    uint64_t entry_number;       /* in the journal, of its end; 0: it has no entry */
    _Atomic uint64_t written_at; /* after its entry was written; 0: it was not */
};

/* The record of one lane of a cut. Visits of a lane follow one another. */
struct oracle_lane_visit {
    _Atomic uint64_t begin; /* of the first call; 0: none */
    _Atomic uint64_t first_end;
    _Atomic uint64_t end; /* of the last call */
    _Atomic bool inside;
    _Atomic bool has_passed; /* a call has succeeded, and the lane has gone on */
    _Atomic bool is_held;    /* a call has succeeded, and the lane stays: a progressive rollup */
    atomic_uint calls;
    uint64_t seen; /* as of a task */
    uint64_t left; /* a hash of the key after the first call had changed it */
    uint64_t ticket;
    uint64_t thread;
    size_t worker;
    bool was_asked;        /* a call found that the cut was asked to end */
    uint64_t entry_number; /* in the journal; 0: it has no entry */
};

/* The record of a cancelling call. */
struct oracle_cancel {
    _Atomic uint64_t begin; /* 0: not made */
    _Atomic uint64_t end;
    lanepool_status status;
    size_t count;
    uint64_t thread;
};

/* The record of a pause and of the resume after it. */
struct oracle_pause {
    _Atomic uint64_t begin; /* 0: not called */
    uint64_t end;
    lanepool_status status;
    uint64_t resume_begin;
    _Atomic uint64_t resume_end; /* 0: possibly still paused */
    lanepool_status resumed;
};

/* The record of a periodic task. */
struct oracle_series {
    _Atomic uint64_t submit_end; /* 0: not submitted */
    lanepool_status submitted;
    uint32_t runs;        /* how many runs were made */
    atomic_uint ends;     /* calls of `cancelled`, which end it */
    atomic_uint returned; /* hand-backs */
    atomic_uint releases;
    uint64_t ended_at;
    uint64_t cancelled_at; /* after the cancelling call of its thread; 0: none */
    lanepool_status cancelled;
};

/* The record of a wait for a group or of taking a completion; for a task, of the wait in its
 * body. */
struct oracle_group_call {
    uint64_t begin; /* 0: not called */
    uint64_t end;
    lanepool_status status;
};

/* When a group was closed. The settling of the last task closes each group, too. */
struct oracle_closing {
    _Atomic uint64_t begin; /* before the first call; 0: never */
    _Atomic uint64_t end;   /* when a call had returned; 0: none has */
};

/* A change of a lane's limit. */
struct oracle_limit {
    _Atomic uint64_t begin; /* 0: not made */
    _Atomic uint64_t end;
};

/* The record of one pump, and the thread that runs it. */
struct oracle_pump {
    uint64_t thread;
    _Atomic bool waits; /* the thread is in lanepool_pump_run() */
    uint64_t ran;       /* how many tasks its calls reported */
};

/* The record of one key's context. */
struct oracle_context {
    _Atomic bool open;
    _Atomic bool calling; /* a callback is running for it */
    atomic_uint users;    /* the number of tasks that use it */
    atomic_uint opens;
    atomic_uint closes;
    uint64_t cell; /* written by the callbacks; see tests/feature/context */
};

/* The record of the pauses of one lane that followed from failures. */
struct oracle_lane_failure {
    _Atomic uint64_t paused_at;  /* the last pause; 0: never */
    _Atomic uint64_t resumed_at; /* before the last resuming call that has returned */
    struct {
        _Atomic uint64_t begin;
        uint64_t end;
    } resumes[ORACLE_RESUMES_MAX];
    atomic_uint resume_count; /* may exceed the size of `resumes` */
};

/* The record of one quiesce or await. */
struct oracle_visit {
    uint64_t begin;
    _Atomic uint64_t end; /* 0: not returned, or not called */
    lanepool_status status;
};

/*
 * The history of one key. It is plain memory on purpose: if a task overlaps with an exclusive one,
 * that is a data race, which ThreadSanitizer reports.
 */
struct oracle_key {
    uint64_t history;         /* a hash chain over the exclusive tasks */
    _Atomic uint64_t readers; /* the shared tasks since the last exclusive one, as a set */
    _Atomic uint64_t adders;  /* the commuting tasks since the last exclusive one, as a set */
};

/* The record of an allocator's and of workers' callbacks. */
struct oracle_options {
    _Atomic uint64_t pieces; /* in use */
    _Atomic uint64_t sum;    /* of a number of each piece's address and size */
    struct oracle_shift {
        atomic_bool begun; /* worker_start was called, and worker_stop not yet */
    } shifts[ORACLE_WORKERS_MAX];
};

struct oracle_log {
    struct oracle_task *tasks;
    struct oracle_key *keys;
    struct oracle_cancel *cancels;
    struct oracle_pause *pauses;
    struct oracle_series *series;
    struct oracle_group_call *visits;
    struct oracle_closing *closings; /* by group */
    struct oracle_limit *limits;
    struct oracle_pump *pumps;
    struct oracle_context *contexts; /* by key */
    _Atomic(const char *) fault; /* the first violation that was found during the run, or NULL */
    bool *misses; /* by task, then by key: the task ran without the lane of the key */
    struct oracle_lane_failure *lanes; /* by key */
    atomic_uint dropping;              /* calls that are dropping the tasks behind a parked one */
    struct oracle_visit quiesce;
    struct oracle_visit await;    /* called by a separate thread */
    _Atomic uint64_t stopping_at; /* before lanepool_pool_shutdown_now() was called; 0: never */
    _Atomic uint64_t stopped_at;  /* when it had returned; 0: never */
    _Atomic uint64_t closing_at;  /* before a shutdown of any kind was called; 0: never */
    _Atomic uint64_t ending_at;   /* before the call that ends a pool that has nothing left to do */
    struct oracle_options options;
    struct oracle_journal *journal;        /* NULL: the pool has none */
    struct oracle_lane_visit *lane_visits; /* by workload_task.first_visit; NULL: no cuts */
    bool refused;                          /* the platform has refused a resource on purpose */
    const char *events;                    /* the violation in the pool's events, or NULL */
    const char *look;                      /* the violation in a snapshot, or NULL */
    _Atomic uint64_t clock;
};

struct oracle_verdict {
    bool passed;
    uint32_t choices; /* how many choices of workers could be judged */
    char why[256];
};

void oracle_log_init(struct oracle_log *log, const struct workload *workload);
void oracle_log_fini(struct oracle_log *log);
/* For a replay: each task of `to` runs without the same lanes as in `from`. */
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

/* Changes the keys that the task claims, as its body does. */
void oracle_touch_keys(struct oracle_log *log, const struct workload *workload, uint32_t task);

/* Checks a condition during the run. Stores the first fault. */
static inline void oracle_expect(struct oracle_log *log, bool holds, const char *fault)
{
    const char *none = NULL;

    if (!holds) {
        atomic_compare_exchange_strong(&log->fault, &none, fault);
    }
}

/* Returns true if the task has run, and waits for the journal. */
static inline bool oracle_is_unwritten(const struct oracle_log *log, const struct oracle_task *task)
{
    return log->journal != NULL && task->call == CALL_RUN && oracle_when(&task->call_end) != 0 &&
           oracle_when(&task->written_at) == 0;
}

/* How often the judged runs used features that only some workloads have. */
struct oracle_counts {
    uint64_t cancelled; /* by cancelling calls */
    uint64_t barriers;  /* that ran, as in the following fields */
    uint64_t pauses;
    uint64_t detached;
    uint64_t given_up; /* lanes */
    uint64_t heirs;
    uint64_t delayed;
    uint64_t periodic_runs;
    uint64_t members;
    uint64_t taken; /* completions taken from groups */
    uint64_t pumped;
    uint64_t contexts;     /* opened */
    uint64_t choices;      /* between ready tasks of different levels, that were judged */
    uint64_t without_room; /* submits that were refused because there was no room */
    uint64_t retries;      /* attempts after the first */
    uint64_t kept;
    uint64_t refused; /* in poisoned lanes */
    uint64_t without; /* ran without a poisoned lane */
    uint64_t cuts;    /* that began */
    uint64_t lane_visits;
    uint64_t in_parts; /* cuts */
};

/* Adds the counts of a judged run. */
void oracle_count(const struct oracle_log *log, const struct workload *workload,
                  struct oracle_counts *counts);
/* Prints the counts as a part of a line. */
void oracle_print_counts(const struct oracle_counts *counts, FILE *out);

/* Returns the record of the lane of a cut's merged claim. */
static inline struct oracle_lane_visit *oracle_visit_of(const struct oracle_log *log,
                                                        const struct workload *workload,
                                                        uint32_t cut, uint32_t lane)
{
    return &log->lane_visits[workload->tasks[cut].first_visit + lane];
}

/* Returns true if the task is a cut that has let the lane of this merged claim go on. */
static inline bool oracle_has_passed(const struct oracle_log *log, const struct workload *workload,
                                     uint32_t task, uint32_t lane)
{
    return workload_is_cut(workload, task) &&
           atomic_load(&oracle_visit_of(log, workload, task, lane)->has_passed);
}

/* Returns true if the task ran without the lane of a key that it claims, because another task had
 * poisoned the lane. A receiver has the same lanes as its giver. */
static inline bool oracle_misses(const struct oracle_log *log, const struct workload *workload,
                                 uint32_t task, uint32_t key)
{
    const struct workload_task *what = &workload->tasks[task];
    size_t whose = what->is_heir ? what->parent : task;

    return log->misses && log->misses[whose * workload->params.key_count + key];
}

/* Returns the code with which this attempt at the task fails, if it fails. */
int oracle_code_of(const struct oracle_log *log, const struct workload *workload, uint32_t task,
                   unsigned attempt);

/* As oracle_touch_keys(), for a visit of a cut. Returns what the visit has seen. */
uint64_t oracle_touch_lane(struct oracle_log *log, const struct workload *workload, uint32_t cut,
                           uint32_t lane);
/* As oracle_read_keys(), for one key that is claimed in this mode. */
uint64_t oracle_read_key(const struct oracle_log *log, struct workload_claim claim);

/* As oracle_touch_keys(), for the key that the task gives up, or for its other keys. */
void oracle_touch_part(struct oracle_log *log, const struct workload *workload, uint32_t task,
                       bool of_lane);

/* Returns a hash of the state of the task's keys. Only readers may run in parallel with the task on
 * these keys. */
uint64_t oracle_read_keys(const struct oracle_log *log, const struct workload *workload,
                          uint32_t task);

/* Returns true if the task is certainly parked. To be called at a moment when no thread is ready,
 * for a pool that is not being stopped. */
bool oracle_is_kept(const struct oracle_log *log, const struct workload *workload, uint32_t task);

/* Returns true if `second` must wait for `first` after this stamp, provided that `first` precedes
 * it. `first` may have given up one of its lanes. */
bool oracle_conflict_at(const struct oracle_log *log, const struct workload *workload,
                        uint32_t first, uint32_t second, uint64_t stamp);

/* Returns the task whose claims the task has: itself or its giver. A receiver's claims are drawn
 * without the lane that its giver is to give up, but giving up may have been refused. */
uint32_t oracle_claimant(const struct oracle_log *log, const struct workload *workload,
                         uint32_t task);

/* Checks everything. The verdict describes the first violation. */
struct oracle_verdict oracle_judge(const struct oracle_log *log, const struct workload *workload);

/* For the same moment as oracle_judge_quiet(): finds the tasks that are being submitted and may
 * wait for their lanes. `waits` has one element for each task, all false. */
void oracle_find_waits_for_lanes(const struct oracle_log *log, const struct workload *workload,
                                 bool *waits);

/*
 * Judges a moment at which no thread is ready, before time passes. No task may be blocked without a
 * reason: while `idle_workers` workers sleep, each accepted task that has not started must have an
 * unfinished earlier task that it conflicts with. A task that is being submitted may be blocked
 * only by a full pool or lane, a quiesce only by tasks accepted before it.
 */
struct oracle_verdict oracle_judge_quiet(const struct oracle_log *log,
                                         const struct workload *workload, size_t idle_workers);

#endif
