/*
 * A workload: all that a run of some tasks is to do, as plain data.
 *
 * A workload can be run under several rules and layouts, on threads and on the simulator.
 * The oracle (oracle.h) judges the run by the workload alone.
 */
#ifndef TESTS_PROPERTY_WORKLOAD_H
#define TESTS_PROPERTY_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "lanepool/lanepool.h"
#include "property/choices.h"

/* The rule that decides which tasks conflict. */
enum workload_rule {
    RULE_CLAIMS,              /* the default rule */
    RULE_CLAIMS_AS_PREDICATE, /* the same claims, compared by an is_compatible */
    RULE_RELATION,            /* random, neither symmetric nor transitive */
    RULE_KINDS,               /* random between kinds; some tasks have none */
    RULE_SCOPED,              /* the same, asked only in the scope of claims; PER_KEY. Tasks with
                                 claims have no kind */
};

/* How a task is submitted. */
enum workload_form { FORM_SUBMIT, FORM_BATCH, FORM_WITHIN, FORM_OR_RUN, FORM_COUNT };

/* How the pool ends. */
enum workload_ending {
    END_DESTROY,  /* when everything is submitted */
    END_DRAIN,    /* during the submits */
    END_NOW,      /* during the submits; tasks that have not started are cancelled */
    END_HANDBACK, /* as END_NOW, but these tasks are handed back */
    END_BOTH,     /* first drain, then now, by two threads; a third one awaits */
    END_COUNT
};

/* The sizes that workloads are drawn with. */
struct workload_scale {
    uint32_t tasks_most; /* if small, the number of tasks is drawn, too */
    uint32_t workers_most;
    uint32_t submitters_most;
    uint32_t keys_most;
    bool endings; /* draws other endings than END_DESTROY, too */
    bool waits;   /* some bodies wait for other tasks */
};

extern const struct workload_scale workload_small; /* for simulated runs */
extern const struct workload_scale workload_large; /* for threads */

/* Options of a pool that change no result. */
enum {
    WORKLOAD_ALLOCATOR = 1,
    WORKLOAD_WATCHDOG = 2,
    WORKLOAD_SHIFTS = 4, /* worker_start and worker_stop */
    WORKLOAD_KEY_NAMES = 8,
    WORKLOAD_QUANTUM_NS = 16,
    WORKLOAD_STACK_SIZE = 32,
    WORKLOAD_NAME = 64,       /* of the pool's threads */
    WORKLOAD_TAG_NAMES = 128, /* some tasks have tags, most of which have names */
    WORKLOAD_ON_CHECK = 256,  /* bodies assert claims that their tasks have, and others */
    WORKLOAD_SEARCH_NS = 512,
    WORKLOAD_OPTIONS_ALL = 1023
};

struct workload_params {
    uint64_t seed; /* of the relation; otherwise only for printing */
    uint32_t task_count;
    uint32_t workers;
    uint32_t submitters;
    uint32_t key_count;
    uint32_t kind_count;
    uint32_t pending_max; /* 0: the default */
    uint32_t quantum_tasks;
    lanepool_layout layout;
    lanepool_routing routing;
    enum workload_rule rule;
    enum workload_form form; /* of most tasks */
    bool mixed_forms;
    bool nested;     /* some tasks are submitted inside an earlier one */
    bool held_lanes; /* claims of odd keys use a handle */
    bool waits;      /* some bodies wait for another task */
    bool extras;     /* some tasks have futures, release callbacks, continuations; some fail */
    uint32_t duration_most;
    enum workload_ending ending;
    uint32_t ending_at;        /* ns after the start */
    uint32_t quiesce_at;       /* as ending_at, for a thread that quiesces; 0: none */
    bool traced;               /* events are recorded and judged */
    uint32_t look_at;          /* as quiesce_at, for a thread that takes snapshots; 0: none */
    uint32_t cancellers;       /* threads that cancel; 0: no task cancels either */
    uint32_t barrier_every;    /* one task in this many is a barrier; 0: none */
    uint32_t pausers;          /* threads that pause and resume; 0: none */
    bool holds;                /* some tasks detach, give up lanes, or hand them over */
    bool delays;               /* some tasks are delayed */
    bool waits_for_delayed;    /* a drain waits for delayed tasks */
    uint32_t groups;           /* some tasks are members of one of this many groups */
    bool keeps_completions;    /* the groups store completions until they are taken */
    uint32_t visitors;         /* threads that wait for groups, and take completions */
    uint32_t lane_pending_max; /* 0: lanes have no limits */
    uint32_t workers_min;      /* if less than `workers`, the pool is elastic */
    uint32_t worker_idle;      /* idle time of elastic workers in ns */
    uint32_t pumps;            /* some tasks run in one of this many pumps; each has a thread */
    bool contexts;             /* keys have contexts, and some tasks use them */
    uint32_t linger_min;       /* idle time of contexts in ns */
    uint32_t linger_max;
    uint32_t lingering_max;
    uint32_t opens_fail; /* one open in this many fails; 0: none */
    uint32_t uses_fail;  /* one check of an idle context in this many fails; 0: no checks */
    bool has_priorities; /* some tasks have a priority above the lowest */
    uint64_t priority_age_ns;
    bool calm;                      /* the next task is known; see tests/feature/priority */
    bool failures;                  /* some tasks fail more than once, and have policies */
    lanepool_failure_policy policy; /* of the pool, if `failures` */
    uint32_t resolvers;             /* threads that resolve parked tasks when they find them */
    bool resolves_late;   /* parked tasks are resolved only when the pool's end answers PARKED */
    bool deadlines;       /* some tasks have deadlines */
    bool skips_quiesce;   /* the pool is destroyed without a quiesce before */
    bool stops_when_held; /* if the pool answers PARKED, it is shut down now */
    bool has_journal;
    bool completes_when_written; /* in a pool with a journal, as in the following fields */
    uint32_t journal_batch;
    uint32_t journal_wait;
    bool lane_numbers;
    bool cuts;          /* some tasks are cuts */
    uint32_t options;   /* options that change no result: a set of WORKLOAD_ bits */
    uint64_t step_seed; /* if not 0, the pool has no threads; not drawn */
    uint64_t step_plain_from;
};

#define WORKLOAD_NONE  UINT32_MAX
#define WORKLOAD_NEVER INT64_MAX
#define WORKLOAD_EACH  UINT32_MAX

struct workload_claim {
    uint32_t key;
    lanepool_mode mode;
};

struct workload_task {
    struct workload_claim *claims; /* as submitted, duplicates included */
    struct workload_claim *merged; /* by ascending key, each in one mode */
    uint32_t claim_count;
    uint32_t merged_count;
    uint32_t submitter; /* a nested task has its parent's */
    uint32_t parent;    /* an earlier task, or WORKLOAD_NONE */
    uint32_t kind;      /* 0: none */
    uint32_t duration;  /* of the body */
    enum workload_form form;
    uint32_t within;       /* for FORM_WITHIN, in ns; 0 polls */
    uint32_t awaits;       /* another task, or WORKLOAD_NONE */
    uint64_t patience;     /* how long it waits: ns, or LANEPOOL_FOREVER */
    uint32_t cancel;       /* the cancelling call that waits in its body, or WORKLOAD_NONE */
    bool is_barrier;       /* the library gets no claims; `merged` contains all keys */
    bool detaches;         /* is completed by another task or thread, if not by itself */
    bool completes_itself; /* before its function returns */
    uint32_t completes;    /* a task that it completes if that is detached then */
    uint32_t gives_up;     /* the key whose lane it gives up early, or WORKLOAD_NONE */
    bool is_heir; /* its parent hands over to it; `merged`: the parent's remaining claims */
    bool is_delayed;
    int64_t delay;         /* in ns; or WORKLOAD_NEVER */
    uint32_t series;       /* the periodic task that it is a run of, or WORKLOAD_NONE */
    uint32_t asked_as;     /* the task that the rule is called for: itself, or the first run */
    uint32_t group;        /* the group that it is a member of, or WORKLOAD_NONE */
    uint32_t awaits_group; /* the group that it waits for instead of a task, or WORKLOAD_NONE */
    uint32_t pump;         /* the pump that it runs in, or WORKLOAD_NONE */
    uint32_t asks;         /* how many of its merged claims it uses the contexts of */
    uint32_t priority;
    uint32_t start_within; /* its deadlines, in ns; 0: none */
    uint32_t run_within;
    bool has_future;
    bool has_then; /* needs a future */
    bool has_release;
    bool has_cancelled;
    uint32_t fails; /* how many attempts fail, or WORKLOAD_EACH */
    bool has_policy;
    lanepool_failure_policy policy;
    bool resolves; /* resolves parked tasks, as a resolver does */
    bool is_cut;
    bool holds_lanes;     /* the cut is a progressive rollup */
    uint32_t visits_fail; /* of a cut: of the attempts that fail, how many fail in visits */
    uint32_t first_visit; /* of a cut: the number of its first lane's record */
    uint32_t visit_of;    /* for the oracle: the cut that it is a visit of, or WORKLOAD_NONE */
    bool dropped;         /* left out, to make a failing workload smaller */
};

enum workload_cancel_kind {
    CANCEL_TASK,
    CANCEL_TASK_AND_WAIT,
    CANCEL_LANE,
    CANCEL_POOL,
    CANCEL_GROUP,
    CANCEL_BEHIND
};

/* One cancelling call. */
struct workload_cancel {
    enum workload_cancel_kind kind;
    uint32_t target;    /* a task, a key, a group; the parked task for CANCEL_BEHIND */
    uint32_t inside;    /* the task that makes the call, or WORKLOAD_NONE */
    uint32_t canceller; /* otherwise the thread that makes the call */
    uint32_t after;     /* ns that the thread sleeps before the call */
    uint64_t patience;  /* for CANCEL_TASK_AND_WAIT; as of a task */
};

/* One pause, and the resume after it. */
struct workload_pause {
    uint32_t key;    /* of a lane; or WORKLOAD_NONE for the pool */
    uint32_t pauser; /* the thread */
    uint32_t after;  /* ns that the thread sleeps before the pause */
    uint32_t lasts;
};

/* A periodic task. Its runs are consecutive, after all other tasks in `tasks`. */
struct workload_series {
    uint32_t first;
    uint32_t runs; /* the last run ends the periodic task */
    int64_t delay;
    uint64_t period_ns;
    lanepool_period period;
    uint32_t after;        /* ns that its thread sleeps before the submit */
    uint32_t cancel_after; /* ns until its thread cancels it, or WORKLOAD_NONE */
    bool awaits_end;       /* otherwise its thread does not wait for its end */
};

/* A change of a lane's limit; one thread makes all of them. */
struct workload_limit {
    uint32_t key;
    uint32_t pending_max; /* 0: as the pool's */
    uint32_t after;       /* ns that the thread sleeps before the change */
};

/* One call of a thread for a group: waits, takes a completion, or closes the group. */
struct workload_visit {
    uint32_t group;
    uint32_t visitor;
    uint32_t after; /* ns that the thread sleeps before the call */
    uint64_t patience;
    bool takes;
    bool closes;
};

struct workload {
    struct workload_params params;
    struct workload_task *tasks;
    struct workload_cancel *cancels;
    uint32_t cancel_count;
    struct workload_pause *pauses;
    uint32_t pause_count;
    struct workload_series *series;
    uint32_t series_count;
    struct workload_visit *visits;
    uint32_t visit_count;
    struct workload_limit *limits;
    uint32_t limit_count;
    uint32_t lane_visit_count;          /* the lanes of all cuts */
    struct workload_claim *claim_store; /* the claims of all tasks */
    struct workload_claim *all_keys;    /* the claims that barriers have for the oracle */
};

/* Draws a workload. Ends the program if memory cannot be allocated. The workload must be freed with
 * workload_fini(). */
void workload_draw(struct workload *workload, const struct workload_scale *scale, uint64_t seed,
                   struct choices *choices);
void workload_fini(struct workload *workload);

/* Leaves out a task and the tasks that are submitted inside it. */
void workload_drop(struct workload *workload, uint32_t task);

/* Returns what an is_compatible for the workload's rule answers for tasks a and b, in this
 * order. */
bool workload_allows(const struct workload *workload, uint32_t a, uint32_t b);
/* Returns true if the rule may be called for the two tasks. */
bool workload_may_ask(const struct workload *workload, uint32_t a, uint32_t b);

/* Returns true if the two tasks conflict. A rule is not called for barriers. */
static inline bool workload_conflict(const struct workload *workload, uint32_t a, uint32_t b)
{
    return workload->tasks[a].is_barrier || workload->tasks[b].is_barrier ||
           (workload_may_ask(workload, a, b) &&
            !(workload_allows(workload, a, b) && workload_allows(workload, b, a)));
}

/* Returns true if the task gets its ticket later than in its submit. */
static inline bool workload_is_late(const struct workload_task *task)
{
    return (task->is_delayed && task->delay > 0) || task->series != WORKLOAD_NONE;
}

/* Returns true if the lane of the key is paused at some time. */
static inline bool workload_pauses(const struct workload *workload, uint32_t key)
{
    bool any = false;

    for (uint32_t i = 0; i < workload->pause_count; i++) {
        any |= workload->pauses[i].key == key;
    }
    return any;
}

/* Returns true if conflicts follow from claims. */
static inline bool workload_has_claims(const struct workload *workload)
{
    return workload->params.rule == RULE_CLAIMS ||
           workload->params.rule == RULE_CLAIMS_AS_PREDICATE;
}

/* Returns true if tasks are submitted with their claims. */
static inline bool workload_submits_claims(const struct workload *workload)
{
    return workload->params.rule == RULE_CLAIMS || workload->params.rule == RULE_SCOPED;
}

/* Returns true if lanes have keys, and may be paused and given up one by one. */
static inline bool workload_has_named_lanes(const struct workload *workload)
{
    return workload->params.rule == RULE_CLAIMS && workload->params.layout == LANEPOOL_PER_KEY;
}

/* Returns true if the task is a cut. */
static inline bool workload_is_cut(const struct workload *workload, uint32_t task)
{
    return workload->params.cuts && workload->tasks[task].is_cut;
}

/* Returns true if the task is a cut that is a progressive rollup. */
static inline bool workload_holds_lanes(const struct workload *workload, uint32_t task)
{
    return workload_is_cut(workload, task) && workload->tasks[task].holds_lanes;
}

/* Returns true if any task is a cut. */
bool workload_has_cuts(const struct workload *workload);

/* Returns how many visits of a cut's lane fail, or WORKLOAD_EACH. The lane is that of its merged
 * claim with this number. */
uint32_t workload_visits_fail(const struct workload *workload, uint32_t task, uint32_t lane);

/* Returns the task's failure policy. Runs of a periodic task do not fail. */
const lanepool_failure_policy *workload_policy_of(const struct workload *workload, uint32_t task);

/* Returns true if the task may be unfinished after a failure. */
static inline bool workload_may_stay(const struct workload *workload, uint32_t task)
{
    const lanepool_failure_policy *policy = workload_policy_of(workload, task);

    return policy->retries > 0 || policy->at_end != LANEPOOL_FAILURE_CONTINUE;
}

/* Returns true if some task waits for another one, or for a group. */
bool workload_waits_inside(const struct workload *workload);

/* Returns true if the task does not wait in poisoned lanes. */
static inline bool workload_avoids_poison(const struct workload *workload, uint32_t task)
{
    return !workload->tasks[task].is_barrier && !workload->tasks[task].is_heir &&
           workload_policy_of(workload, task)->at_poison != LANEPOOL_AT_POISON_WAIT;
}

/* Print one line about the parameters, and one about each task that was not dropped. */
void workload_print_params(const struct workload *workload, FILE *out);
void workload_print_tasks(const struct workload *workload, FILE *out);
/* Prints a number of a task, unless it is WORKLOAD_NONE. */
void workload_print_number(const char *what, uint32_t number, FILE *out);

#endif
