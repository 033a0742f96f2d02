/*
 * A model replays events. It has the tasks, lanes and workers of a run as they are after the last
 * event, and what they did before. Events are fed one by one, so a model serves live views as well
 * as whole recordings.
 *
 * Events may be missing, and a damaged file may hold any events: the model does not rely on their
 * order.
 */
#ifndef LANEVIEW_MODEL_H
#define LANEVIEW_MODEL_H

#include "base/map.h"
#include "lanepool/inspect.h"
#include "lanepool/pool.h"
#include "record/recording.h"

#define MODEL_NONE   ((size_t)-1) /* no index */
#define MODEL_UNSEEN UINT64_MAX   /* the time of an event that was not seen */

enum model_state {
    MODEL_SUBMITTED, /* accepted or about to be, not routed yet */
    MODEL_WAITING,   /* for lanes */
    MODEL_READY,     /* for a worker */
    MODEL_RUNNING,
    MODEL_RETRYING, /* an attempt has failed, and the next one is not due yet */
    MODEL_PARKED,   /* the last attempt has failed: the task's lanes are poisoned */
    MODEL_ENDED,
    MODEL_CANCELLED,
    MODEL_STATES
};

/* One call of a task's function. All times are nanoseconds since the recording's zero. */
struct model_attempt {
    uint64_t start, end;
    uint16_t thread;
    uint64_t parked, ready_again; /* of a failed attempt: when its task was parked, and when it was
                                     ready again */
};

struct model_task {
    enum model_state state;
    uint64_t ticket;
    bool has_ticket;
    uint8_t tag;
    uint16_t submitter; /* the thread that submitted it, if that was seen */
    uint32_t status;    /* a lanepool_status, once the task has ended */
    uint64_t submit, route, ready, end;
    uint64_t start;               /* of its last attempt, if that has begun */
    uint16_t thread;              /* where the last attempt runs or ran */
    struct model_attempt *failed; /* the attempts before the last one */
    size_t failed_count, failed_capacity;
    size_t first_entry, last_entry;   /* of model->entries, or MODEL_NONE */
    unsigned entry_count, lane_count; /* all of its entries; those in lanes */
    unsigned arrived;                 /* entries that are granted */
    size_t previous, next;            /* in the list of its state, if there is one */
};

/* Tasks in the order in which they reached the state. */
struct model_list {
    size_t first, last;
};

struct model_entry {
    size_t task;
    size_t lane;     /* MODEL_NONE: behind tasks, not in a lane */
    uint64_t object; /* without a lane: the ticket of the task in front, or a kind */
    uint8_t object_type;
    bool shared;
    uint64_t enter, arrive, release;
    size_t next_of_task;
    size_t previous, next; /* in the lane, until the entry is released */
};

/* How many entries wait in a lane from a time on. */
struct model_depth {
    uint64_t time;
    unsigned waiting;
};

struct model_lane {
    uint8_t type; /* a lanepool_event_lane */
    uint64_t object;
    char *name; /* clean; never NULL */
    bool is_named;
    size_t first_open, last_open; /* entries that are not released, first to last */
    unsigned open, waiting;       /* the number of these; of those that are not granted */
    size_t *entries;              /* all entries that there ever were */
    size_t entry_count, entry_capacity;
    struct model_depth *depths;
    size_t depth_count, depth_capacity;
};

enum model_span_kind {
    MODEL_RUNS,
    MODEL_NO_WORK,  /* no task is pending, or all pending tasks run already */
    MODEL_BLOCKED,  /* tasks are pending, but all of them wait in lanes or have failed */
    MODEL_SEARCHES, /* there is work, and the worker is about to find it */
    MODEL_SLEEPS,   /* there is work, and the worker is still asleep */
    MODEL_SPAN_KINDS
};

/* One activity of a worker. */
struct model_span {
    uint64_t from, to; /* `to` is MODEL_UNSEEN while the span lasts */
    enum model_span_kind kind;
    size_t task;   /* RUNS: the task; BLOCKED: the first latched rollup that others wait for, or
                      MODEL_NONE */
    size_t holder; /* BLOCKED: the task that all wait for in the end, or MODEL_NONE */
    enum model_state holder_state; /* BLOCKED: RETRYING, PARKED, or else RUNNING */
};

struct model_worker {
    bool is_asleep;
    size_t *stack; /* tasks that it runs; a task run inside another one is on top of it */
    size_t depth, stack_capacity;
    struct model_span *spans; /* from 0 on, without gaps */
    size_t span_count, span_capacity;
    uint64_t ended_ns[MODEL_SPAN_KINDS]; /* the length of all spans that have ended */
    uint64_t steals, stolen;             /* how often it stole; how many tasks it stole */
};

/* The name of a lane that events identify by a number, as far as it is known. */
struct model_alias {
    char name[LANEPOOL_EVENT_NAME_MAX];
    size_t size;
    bool is_new; /* no lane has been given the name yet */
    size_t lane; /* MODEL_NONE before the lane's first entry */
};

struct model {
    const struct recording *recording; /* not for its events */
    uint64_t now;                      /* the time of the last event, or from model_advance() */
    struct model_task *tasks;
    size_t task_count, task_capacity;
    struct model_entry *entries;
    size_t entry_count, entry_capacity;
    struct model_lane *lanes;
    size_t lane_count, lane_capacity;
    struct model_alias *aliases;
    size_t alias_count, alias_capacity;
    struct model_worker *workers; /* recording->worker_count of them */
    size_t counts[MODEL_STATES];  /* the number of tasks in each state */
    size_t latched;               /* granted entries of rollups that wait for other lanes */
    struct model_list submitted, waiting, retrying, parked; /* the tasks in these states */
    struct map tickets, submissions;                        /* to tasks */
    struct map lane_aliases;                                /* to aliases */
};

/* The recording must outlive the model. */
void model_init(struct model *model, const struct recording *recording);
void model_fini(struct model *model);

/* Feeds one event, which recording_check() has accepted. */
void model_feed(struct model *model, const lanepool_event *event);

/* Feeds the recording's events up to a time. `fed` is the number of events fed before. Returns
 * the number fed so far. */
size_t model_feed_until(struct model *model, size_t fed, uint64_t time);

/* Moves the time on without an event. */
void model_advance(struct model *model, uint64_t time);

/* Drops tasks that are over, and the history of lanes and workers: enough for frames, not for
 * pictures over time. The sums of what workers did remain. */
void model_forget(struct model *model);

/* --- questions --- */

static inline bool model_is_rollup(const struct model_task *task)
{
    return task->lane_count > 1;
}

/* The number of tasks that have neither ended nor been cancelled. */
size_t model_pending(const struct model *model);

/* An attempt at a task, numbered from 0. The last one may not have begun. */
static inline struct model_attempt model_attempt(const struct model_task *task, size_t number)
{
    struct model_attempt last = { task->start, task->end, task->thread, MODEL_UNSEEN,
                                  MODEL_UNSEEN };
    return number < task->failed_count ? task->failed[number] : last;
}

/* The number of the last attempt that had begun at a time; 0 if none is known. */
size_t model_attempt_at(const struct model_task *task, uint64_t time);

/* Returns the end of a span, or the time of the last event while the span lasts. */
static inline uint64_t model_until(const struct model *model, uint64_t time)
{
    return time < model->now ? time : model->now;
}

/* How many entries of a task were granted at a time, and how many entries it had. An entry that
 * was given up before it was granted no longer counts. */
unsigned model_arrived_at(const struct model *model, size_t task, uint64_t time);
unsigned model_entries_at(const struct model *model, size_t task, uint64_t time);

/* The current activity of a worker, as a span without times. */
struct model_span model_cause(const struct model *model, size_t worker);

/* How long a worker has spent on one kind of activity so far. */
uint64_t model_worker_ns(const struct model *model, size_t worker, unsigned kind);

/* Returns the indexes of all lanes, sorted by name; numbers within names are sorted by value.
 * The caller frees the array. */
size_t *model_sorted_lanes(const struct model *model);

#endif
