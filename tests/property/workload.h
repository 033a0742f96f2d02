/*
 * A workload: everything that a run of some tasks is asked to do, fixed in plain data.
 *
 * The same workload can be run under several rules and layouts, on threads and on the simulator;
 * the oracle (oracle.h) judges what happened by the workload alone.
 */
#ifndef TESTS_PROPERTY_WORKLOAD_H
#define TESTS_PROPERTY_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "lanepool/lanepool.h"
#include "property/choices.h"

/* What decides which tasks conflict. */
enum workload_rule {
    RULE_CLAIMS,              /* the default rule */
    RULE_CLAIMS_AS_PREDICATE, /* the same claims, compared by an is_compatible */
    RULE_RELATION,            /* random, neither symmetric nor transitive */
    RULE_KINDS,               /* random between kinds; some tasks have none */
};

/* How a task is submitted. */
enum workload_form { FORM_SUBMIT, FORM_BATCH, FORM_WITHIN, FORM_OR_RUN, FORM_COUNT };

/* How the pool comes to its end. */
enum workload_ending {
    END_DESTROY,  /* when all is submitted */
    END_DRAIN,    /* while submitting */
    END_NOW,      /* while submitting; tasks that did not start are cancelled */
    END_HANDBACK, /* the same, but they are handed back */
    END_BOTH,     /* first drain, then now, by two threads; a third awaits meanwhile */
    END_COUNT
};

/* How large workloads are drawn. */
struct workload_scale {
    uint32_t tasks_most; /* the number of tasks is drawn too, if it is small */
    uint32_t workers_most;
    uint32_t submitters_most;
    uint32_t keys_most;
    bool endings; /* others than END_DESTROY, too */
    bool waits;   /* bodies that wait for other tasks */
};

extern const struct workload_scale workload_small; /* for simulated runs */
extern const struct workload_scale workload_large; /* for threads */

struct workload_params {
    uint64_t seed; /* of the relation; else for printing only */
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
    bool nested;     /* some tasks are submitted from inside an earlier one */
    bool held_lanes; /* claims of odd keys go by handle */
    bool waits;      /* some bodies wait for another task */
    bool extras;     /* some tasks have futures, releases, thens, and some fail */
    uint32_t duration_most;
    enum workload_ending ending;
    uint32_t ending_at;        /* ns after the start */
    uint32_t quiesce_at;       /* the same, for a thread that quiesces; 0: none */
    bool traced;               /* events are recorded, and judged */
    uint32_t look_at;          /* as quiesce_at, for a thread that takes a snapshot; 0: none */
    uint32_t cancellers;       /* threads that cancel; 0: nobody does, inside tasks neither */
    uint32_t barrier_every;    /* one task in so many is a barrier; 0: none */
    uint32_t pausers;          /* threads that pause and resume; 0: nobody does */
    bool holds;                /* some tasks detach, give lanes up, or hand them over */
    bool delays;               /* some tasks are due later */
    bool waits_for_delayed;    /* a drain does */
    uint32_t groups;           /* some tasks are members of one of them */
    bool keeps_completions;    /* the groups do */
    uint32_t visitors;         /* threads that wait for groups, and take what they keep */
    uint32_t lane_pending_max; /* 0: lanes have no limits */
    uint32_t workers_min;      /* less: the pool is elastic, and the others come and go */
    uint32_t worker_idle;      /* ns */
    uint32_t pumps;            /* some tasks run in one of them, which has a thread of its own */
    bool contexts;             /* keys have them, and some tasks ask for them */
    uint32_t linger_min;       /* of contexts: ns */
    uint32_t linger_max;
    uint32_t lingering_max;
    uint32_t opens_fail; /* one in so many; 0: none */
    uint32_t uses_fail;  /* the same; 0: nobody asks whether what lingered is still good */
    bool has_priorities; /* some tasks have another than the lowest */
    uint64_t priority_age_ns;
    bool calm;                      /* it can be told which task is next; see oracle_priorities.c */
    bool failures;                  /* some tasks fail more than once, and have policies */
    lanepool_failure_policy policy; /* the pool's, where there are failures */
    uint32_t resolvers;             /* threads that resolve what is kept, when they find it */
    bool resolves_late;   /* nobody else does, before the pool's end is told that it is held up */
    bool ends_held;       /* it is its destruction that is told, where nothing is to come before */
    bool stops_when_held; /* then the pool is shut down now, instead of resolving anything */
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
    struct workload_claim *merged; /* by ascending key, the strongest mode of each */
    uint32_t claim_count;
    uint32_t merged_count;
    uint32_t submitter; /* that of a nested task is its parent's */
    uint32_t parent;    /* an earlier task, or WORKLOAD_NONE */
    uint32_t kind;      /* 0: none */
    uint32_t duration;  /* how long the body takes */
    enum workload_form form;
    uint32_t within;       /* FORM_WITHIN: ns; 0 polls */
    uint32_t awaits;       /* another task, or WORKLOAD_NONE */
    uint64_t patience;     /* for how long: ns, or LANEPOOL_FOREVER */
    uint32_t cancel;       /* that the wait is a part of, or WORKLOAD_NONE */
    bool is_barrier;       /* given to the library without the claims; merged are all keys */
    bool detaches;         /* and is completed by somebody else, if not by itself */
    bool completes_itself; /* before its function returns */
    uint32_t completes;    /* another task, which it completes if that stands detached then */
    uint32_t gives_up;     /* the key whose lane it gives up early, or WORKLOAD_NONE */
    bool is_heir; /* its parent hands over to it, and merged are the claims which that has then */
    bool is_delayed;
    int64_t delay;         /* ns until it is due; WORKLOAD_NEVER */
    uint32_t series;       /* the periodic task that it is a run of, or WORKLOAD_NONE */
    uint32_t asked_as;     /* the rule is asked about this one: itself, or its series' first run */
    uint32_t group;        /* that it is a member of, or WORKLOAD_NONE */
    uint32_t awaits_group; /* that it waits for, instead of a task; or WORKLOAD_NONE */
    uint32_t pump;         /* that it runs in, or WORKLOAD_NONE */
    uint32_t asks;         /* for the contexts of so many of its merged claims */
    uint32_t priority;
    bool has_future;
    bool has_then; /* needs a future */
    bool has_release;
    uint32_t fails; /* so many attempts at it, or WORKLOAD_EACH */
    bool has_policy;
    lanepool_failure_policy policy;
    bool resolves; /* it resolves what is kept, as a resolver does */
    bool dropped;  /* left out, to make a failing workload smaller */
};

enum workload_cancel_kind {
    CANCEL_TASK,
    CANCEL_TASK_AND_WAIT,
    CANCEL_LANE,
    CANCEL_POOL,
    CANCEL_GROUP,
    CANCEL_BEHIND
};

/* One call that cancels. */
struct workload_cancel {
    enum workload_cancel_kind kind;
    uint32_t target;    /* a task, the key of a lane, a group; or who is kept, and dropped */
    uint32_t inside;    /* the task that makes it, or WORKLOAD_NONE */
    uint32_t canceller; /* otherwise: which thread */
    uint32_t after;     /* ns that this one sleeps before */
    uint64_t patience;  /* CANCEL_TASK_AND_WAIT: as a task's */
};

/* One pause, and the resume that follows. */
struct workload_pause {
    uint32_t key;    /* of a lane, or WORKLOAD_NONE: the pool */
    uint32_t pauser; /* which thread */
    uint32_t after;  /* ns that this one sleeps before */
    uint32_t lasts;
};

/* A periodic task. Its runs stand behind all other tasks, one after the other. */
struct workload_series {
    uint32_t first;
    uint32_t runs; /* the last one ends the series */
    int64_t delay;
    uint64_t period_ns;
    lanepool_period period;
    uint32_t after;        /* ns that its thread sleeps before it submits the series */
    uint32_t cancel_after; /* ns that it sleeps before it cancels it, or WORKLOAD_NONE */
    bool awaits_end;       /* else it leaves the series alone */
};

/* A change of a lane's limit; one thread makes all of them. */
struct workload_limit {
    uint32_t key;
    uint32_t pending_max; /* 0: the pool's again */
    uint32_t after;       /* ns that the thread sleeps before */
};

/* One call of a thread about a group: a wait, or taking a completion. */
struct workload_visit {
    uint32_t group;
    uint32_t visitor;
    uint32_t after; /* ns that this one sleeps before */
    uint64_t patience;
    bool takes;
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
    struct workload_claim *claim_store; /* all the tasks' claims */
    struct workload_claim *all_keys;    /* what barriers have for claims in the oracle */
};

/* Draws a workload; ends the program when memory is lacking. Give it back with workload_fini(). */
void workload_draw(struct workload *workload, const struct workload_scale *scale, uint64_t seed,
                   struct choices *choices);
void workload_fini(struct workload *workload);

/* What else is drawn, behind all that; each file knows of some. */
void workload_draw_pauses(struct workload *workload, struct choices *choices);
void workload_draw_held(struct workload *workload, struct choices *choices);
void workload_draw_delays(struct workload *workload, struct choices *choices);
void workload_draw_groups(struct workload *workload, struct choices *choices);
void workload_draw_contexts(struct workload *workload, struct choices *choices);
void workload_draw_priorities(struct workload *workload, struct choices *choices);
void workload_draw_lane_limits(struct workload *workload, struct choices *choices);
void workload_draw_failures(struct workload *workload, struct choices *choices);

/* Leaves a task out, and those that are submitted from inside it. */
void workload_drop(struct workload *workload, uint32_t task);

/* What an is_compatible would answer for tasks a and b, in this order, by the workload's rule. */
bool workload_allows(const struct workload *workload, uint32_t a, uint32_t b);

/* Whether two tasks conflict. A rule knows nothing of barriers. */
static inline bool workload_conflict(const struct workload *workload, uint32_t a, uint32_t b)
{
    return workload->tasks[a].is_barrier || workload->tasks[b].is_barrier ||
           !(workload_allows(workload, a, b) && workload_allows(workload, b, a));
}

/* Whether it takes its place, and its ticket, later than in its submit. */
static inline bool workload_is_late(const struct workload_task *task)
{
    return (task->is_delayed && task->delay > 0) || task->series != WORKLOAD_NONE;
}

/* Whether the lane of the key is paused at some time. */
static inline bool workload_pauses(const struct workload *workload, uint32_t key)
{
    bool any = false;

    for (uint32_t i = 0; i < workload->pause_count; i++) {
        any |= workload->pauses[i].key == key;
    }
    return any;
}

/* Whether conflicts come from claims. */
static inline bool workload_has_claims(const struct workload *workload)
{
    return workload->params.rule == RULE_CLAIMS ||
           workload->params.rule == RULE_CLAIMS_AS_PREDICATE;
}

/* What follows when it fails. A periodic task's runs do not. */
const lanepool_failure_policy *workload_policy_of(const struct workload *workload, uint32_t task);

/* Whether a failure need not be the end of it. */
static inline bool workload_may_stay(const struct workload *workload, uint32_t task)
{
    const lanepool_failure_policy *policy = workload_policy_of(workload, task);

    return policy->retries > 0 || policy->at_end != LANEPOOL_FAILURE_GO_ON;
}

/* Whether some task waits for another one, or for a group. */
bool workload_waits_inside(const struct workload *workload);

/* Whether it does not wait in poisoned lanes. */
static inline bool workload_avoids_poison(const struct workload *workload, uint32_t task)
{
    return !workload->tasks[task].is_barrier && !workload->tasks[task].is_heir &&
           workload_policy_of(workload, task)->at_poison != LANEPOOL_AT_POISON_WAIT;
}

/* One line about the parameters; one about each task that is not dropped. */
void workload_print_params(const struct workload *workload, FILE *out);
void workload_print_tasks(const struct workload *workload, FILE *out);

#endif
