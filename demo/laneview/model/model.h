/*
 * A model of a run: a replay of its events says what its tasks, lanes and workers do. The model
 * adds what pictures need: names, and what workers, lanes and failed attempts were like before.
 * Events are fed one by one, so a model serves live views as well as whole recordings.
 */
#ifndef LANEVIEW_MODEL_H
#define LANEVIEW_MODEL_H

#include "lanepool/pool.h"
#include "lanepool/replay.h"
#include "record/recording.h"

/* The failed attempts of a task, which has their number. */
struct model_attempts {
    lanepool_replay_attempt *items;
    size_t capacity;
};

/* A visit of a lane by a cut. */
struct model_visit {
    uint64_t from, to; /* `to` is LANEPOOL_REPLAY_UNSEEN while the visit lasts */
    uint16_t thread;   /* as in events */
    bool has_failed;
};

/* The visits of an entry; more than one if the cut is retried. */
struct model_visits {
    struct model_visit *items;
    size_t count, capacity;
};

/* How many entries wait in a lane from a time on. */
struct model_depth {
    uint64_t time;
    unsigned waiting;
};

struct model_depths {
    struct model_depth *items;
    size_t count;
};

struct model_lane {
    char *name; /* clean; never NULL */
    bool is_named;
};

enum model_span_kind {
    MODEL_RUNS,     /* a task, or a cut's visit of a lane */
    MODEL_NO_WORK,  /* no task is pending, or all pending tasks run already */
    MODEL_BLOCKED,  /* tasks are pending, but all of them wait in lanes or have failed */
    MODEL_SEARCHES, /* there is work, and the worker is about to find it */
    MODEL_SLEEPS,   /* there is work, and the worker is still asleep */
    MODEL_SPAN_KINDS
};

/* One activity of a worker. */
struct model_span {
    uint64_t from, to; /* `to` is LANEPOOL_REPLAY_UNSEEN while the span lasts */
    enum model_span_kind kind;
    size_t task;   /* RUNS: the task; BLOCKED: the first latched rollup that others wait for, or
                      LANEPOOL_REPLAY_NONE */
    size_t entry;  /* RUNS: the entry of the cut whose lane it visits, or LANEPOOL_REPLAY_NONE */
    size_t holder; /* BLOCKED: the task that all wait for in the end, or LANEPOOL_REPLAY_NONE */
    lanepool_replay_state holder_state; /* BLOCKED: RETRYING, PARKED, or else RUNNING */
};

struct model_worker {
    struct model_span *spans; /* from 0 on, without gaps */
    size_t span_count, span_capacity;
    uint64_t ended_ns[MODEL_SPAN_KINDS]; /* the length of all spans that have ended */
    uint64_t steals, stolen;             /* how often it stole; how many tasks it stole */
};

/* Times are nanoseconds since the recording's zero, also those of the replay. */
struct model {
    const struct recording *recording; /* not for its events */
    uint64_t now;                      /* the time of the last event, or from model_advance() */
    bool has_history;
    lanepool_replay *replay;
    struct model_attempts *attempts; /* for each task of the replay */
    size_t attempts_count, attempts_capacity;
    struct model_visits *visits; /* for each entry of the replay; only with a history */
    size_t visits_count, visits_capacity;
    struct model_lane *lanes; /* for each lane of the replay */
    size_t lane_count, lane_capacity;
    struct model_worker *workers; /* recording->worker_count of them */
};

/* The recording must outlive the model. Without a history the model does not grow with the run:
 * enough for frames, not for pictures over time. */
void model_init(struct model *model, const struct recording *recording, bool has_history);
void model_fini(struct model *model);

/* Feeds one event, which recording_check() has accepted. */
void model_feed(struct model *model, const lanepool_event *event);

/* Feeds the recording's events up to a time. `fed` is the number of events fed before. Returns
 * the number fed so far. */
size_t model_feed_until(struct model *model, size_t fed, uint64_t time);

/* Moves the time on without an event. */
void model_advance(struct model *model, uint64_t time);

/* --- questions --- */

/* Returns true for a task whose lanes wait for one another. */
static inline bool model_is_rollup(const lanepool_replay_task *task)
{
    return task->lane_count > 1 && !task->is_cut;
}

/* Returns true for a task with a colour of its own. */
static inline bool model_is_rollup_or_cut(const lanepool_replay_task *task)
{
    return task->lane_count > 1 || task->is_cut;
}

/* The number of tasks that have neither ended nor been cancelled. */
size_t model_pending(const struct model *model);

/* An attempt at a task, numbered from 0. The last one may not have begun. */
lanepool_replay_attempt model_attempt(const struct model *model, size_t task, size_t number);

/* The number of the last attempt that had begun at a time; 0 if none is known. */
size_t model_attempt_at(const struct model *model, size_t task, uint64_t time);

/* The visits of an entry; none without a history. */
static inline struct model_visits model_visits_of(const struct model *model, size_t entry)
{
    return entry < model->visits_count ? model->visits[entry] : (struct model_visits){ 0 };
}

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

/* Returns how many entries waited in a lane at each time. The caller frees the items. */
struct model_depths model_depths(const struct model *model, size_t lane);

/* Returns the indexes of all lanes, sorted by name; numbers within names are sorted by value.
 * The caller frees the array. */
size_t *model_sorted_lanes(const struct model *model);

#endif
