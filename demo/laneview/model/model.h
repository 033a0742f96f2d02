/*
 * What events tell about a run: its tasks, lanes and workers, as they are after the last event and
 * as they were. Feeding one event after the other serves live views as well as whole recordings.
 *
 * Events may be missing, and a damaged file may hold any: the model never relies on their order.
 */
#ifndef LANEVIEW_MODEL_H
#define LANEVIEW_MODEL_H

#include "base/map.h"
#include "lanepool/pool.h"
#include "lanepool/trace.h"
#include "record/recording.h"

#define MODEL_NONE   ((size_t)-1) /* no index */
#define MODEL_UNSEEN UINT64_MAX   /* a time that no event has told */

enum model_state {
    MODEL_SUBMITTED, /* handed in, not routed yet */
    MODEL_WAITING,   /* for lanes */
    MODEL_READY,     /* for a worker */
    MODEL_RUNNING,
    MODEL_RETRYING, /* an attempt has failed, and the next one is not due yet */
    MODEL_PARKED,   /* the last attempt has failed: its lanes are poisoned */
    MODEL_ENDED,
    MODEL_CANCELLED,
    MODEL_STATES
};

/* One call of a task's function. All times are nanoseconds since the recording's zero. */
struct model_attempt {
    uint64_t start, end;
    uint16_t thread;
    uint64_t parked, ready_again; /* of one that has failed: since when its task was kept, if it
                             was, and when that became ready again */
};

struct model_task {
    enum model_state state;
    uint64_t ticket;
    bool has_ticket;
    uint8_t tag;
    uint16_t submitter; /* the thread that handed it in, if that was seen */
    uint32_t status;    /* a lanepool_status, once it has ended */
    uint64_t submit, route, ready, end;
    uint64_t start;               /* of its last attempt, if that has begun */
    uint16_t thread;              /* where that runs or ran */
    struct model_attempt *failed; /* the attempts before it */
    size_t failed_count, failed_capacity;
    size_t first_entry, last_entry;   /* of model->entries, or MODEL_NONE */
    unsigned entry_count, lane_count; /* of these, those in lanes */
    unsigned arrived;                 /* entries that are granted */
    size_t previous, next;            /* in the list of its state, while there is one */
};

/* Tasks in the order in which they came. */
struct model_list {
    size_t first, last;
};

struct model_entry {
    size_t task;
    size_t lane;     /* MODEL_NONE: it stands behind tasks, not in a lane */
    uint64_t object; /* then the ticket of the task that it stands behind, or a kind */
    uint8_t object_type;
    bool shared;
    uint64_t enter, arrive, release;
    size_t next_of_task;
    size_t previous, next; /* in the lane, until it is released */
};

/* So many entries wait in a lane from this time on. */
struct model_depth {
    uint64_t time;
    unsigned waiting;
};

struct model_lane {
    uint8_t type; /* a lanepool_event_lane */
    uint64_t object;
    char *name; /* clean; never NULL */
    bool is_named;
    size_t first_open, last_open; /* entries that have not been released, in their order */
    unsigned open, waiting;       /* how many these are; of them, those that have not arrived */
    size_t *entries;              /* all that there were */
    size_t entry_count, entry_capacity;
    struct model_depth *depths;
    size_t depth_count, depth_capacity;
};

enum model_span_kind {
    MODEL_RUNS,
    MODEL_NO_WORK,  /* nothing is pending that does not run already */
    MODEL_BLOCKED,  /* tasks are pending, and all of them wait in lanes or have failed */
    MODEL_SEARCHES, /* work is there, and the worker is about to find it */
    MODEL_SLEEPS,   /* work is there, and the worker is still asleep */
    MODEL_SPAN_KINDS
};

/* What a worker did for a while. */
struct model_span {
    uint64_t from, to; /* to: MODEL_UNSEEN while it lasts */
    enum model_span_kind kind;
    size_t task;   /* that runs; or, if BLOCKED, the rollup whose latches hold others up, or NONE */
    size_t holder; /* if BLOCKED: the task that all wait for in the end, or NONE */
    enum model_state holder_state; /* if BLOCKED: RETRYING or KEPT if that is so, else RUNNING */
};

struct model_worker {
    bool is_asleep;
    size_t *stack; /* tasks that it runs: one that waits inside of another comes on top */
    size_t depth, stack_capacity;
    struct model_span *spans; /* without gaps from 0 on */
    size_t span_count, span_capacity;
    uint64_t ended_ns[MODEL_SPAN_KINDS]; /* how long its spans were that have ended */
    uint64_t steals, stolen;             /* how often it stole, and how many tasks in all */
};

/* What is known of the name of a lane that an event identifies by a number. */
struct model_alias {
    char name[LANEPOOL_EVENT_NAME_MAX];
    size_t size;
    bool is_new; /* the name has not been given to a lane yet */
    size_t lane; /* MODEL_NONE before its first entry */
};

struct model {
    const struct recording
        *recording; /* for worker count, layout, zero and names; not its events */
    uint64_t now;   /* of the last event */
    struct model_task *tasks;
    size_t task_count, task_capacity;
    struct model_entry *entries;
    size_t entry_count, entry_capacity;
    struct model_lane *lanes;
    size_t lane_count, lane_capacity;
    struct model_alias *aliases;
    size_t alias_count, alias_capacity;
    struct model_worker *workers; /* recording->worker_count of them */
    size_t counts[MODEL_STATES];  /* tasks in each state */
    size_t latched;               /* entries of rollups that are latched now */
    struct model_list submitted, waiting, retrying, parked; /* the tasks in these states */
    struct map tickets, submissions;                        /* to tasks */
    struct map lane_aliases;                                /* to aliases */
};

/* The recording must outlive the model. */
void model_init(struct model *model, const struct recording *recording);
void model_fini(struct model *model);

/* Takes in one event, which recording_check() finds good. */
void model_feed(struct model *model, const lanepool_event *event);

/* All events of the model's recording up to a time; returns how many these are in all. `fed` is
 * what it returned before, at first 0. */
size_t model_feed_until(struct model *model, size_t fed, uint64_t time);

/* Time goes on without an event. */
void model_advance(struct model *model, uint64_t time);

/* Forgets tasks that are over and what was before: enough for frames, not for pictures over time.
 * What workers did until now stays in their sums. */
void model_forget(struct model *model);

/* --- questions --- */

static inline bool model_is_rollup(const struct model_task *task)
{
    return task->lane_count > 1;
}

/* How many tasks have neither ended nor been cancelled. */
size_t model_pending(const struct model *model);

/* An attempt at a task, from 0 on; the last one may not have begun. */
static inline struct model_attempt model_attempt(const struct model_task *task, size_t number)
{
    struct model_attempt last = { task->start, task->end, task->thread, MODEL_UNSEEN,
                                  MODEL_UNSEEN };
    return number < task->failed_count ? task->failed[number] : last;
}

/* The number of the last attempt that had begun at a time; 0 if none is known. */
size_t model_attempt_at(const struct model_task *task, uint64_t time);

/* The time until which a worker's span lasts, as far as it is known. */
static inline uint64_t model_until(const struct model *model, uint64_t time)
{
    return time < model->now ? time : model->now;
}

/* How many entries of a task were granted at a time, and how many it had: not those that it has
 * given up before they were granted. */
unsigned model_arrived_at(const struct model *model, size_t task, uint64_t time);
unsigned model_entries_at(const struct model *model, size_t task, uint64_t time);

/* What a worker does now, as a span without its times. */
struct model_span model_cause(const struct model *model, size_t worker);

/* For how long a worker did something until now. */
uint64_t model_worker_ns(const struct model *model, size_t worker, unsigned kind);

/* Lanes in the order in which people look for them: by name, numbers by value. To be freed. */
size_t *model_sorted_lanes(const struct model *model);

#endif
