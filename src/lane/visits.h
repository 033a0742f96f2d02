/*
 * The visits of a cut. A cut is a task whose lanes do not wait for one another: `at_lane` is called
 * for each lane in the lane's turn, and the lane then goes on. The task's function is called once
 * all lanes have gone on. feature/cut.c makes the calls; here is what a lane needs to know.
 *
 * A granted entry enters the cut's list. *Visitors* take entries from it, and visit one at a time,
 * so that a visit that lasts long blocks one lane. A visitor is a block of its own, which is queued
 * and run like a task. While it makes a visit it has one entry: a copy of the entry that it visits.
 * So the run that `at_lane` gets has one claim.
 *
 * Each entry is in one of these states. Only entries that wait are in a list of their lane.
 *
 *     waiting --grant--> listed --take--> visited --success--> passed, or held
 *        \                                   \-----failure---> kept: the lane does not go on
 *         \--the cut leaves a poisoned lane------------------> passed, without a visit
 *
 * A lane that is kept makes the tasks behind it wait for the cut's other lanes. No other visit
 * makes one lane wait for another.
 *
 * A *progressive rollup* is a cut whose visits release no lane. A visit that succeeds leaves its
 * entry *held*. Until its function is called, the rollup is treated like a cut, except that each
 * of its lanes makes tasks wait for the others. Then it becomes a rollup that has all its lanes:
 * CUT leaves its word, under the lock.
 *
 * A *round* ends when no entry waits, is listed or is visited, and no visitor is active. Then the
 * passed entries are dropped, and the cut is ready. Its worker calls the function if no entry is
 * kept. Otherwise the cut has failed, and a retry begins a round with the kept entries.
 *
 * The cut begins with its first visit, which decides against a cancel. Until then at most one
 * visitor is active. The visits of a cancelled cut only let the lanes go on. A run of a series that
 * was asked to end is *stopped*: it makes no visit. Like a run of any rollup, a run of a
 * progressive one then has its lanes until it ends.
 *
 * An entry is marked as passed before its lane goes on. The visitor settles it, so that it does not
 * count in `left` any more, when it next takes the lock.
 *
 * To take the lock less often, a visitor takes several entries at once, its *share*: see shares.h.
 *
 * Levels. In a pool with priorities each entry has a level of its own: the highest that it has
 * inherited in its lane. There is a list for each level, and a visitor takes the first entry of the
 * highest one, and no share. Elsewhere all entries are in one list. The thread that lists an entry
 * with a level may have any lock, and cannot raise a visitor that is queued already. It *notes* the
 * cut instead, and feature/priority raises the visitors before a worker chooses its next task.
 *
 * The lock is taken by a thread that advances a lane, whatever other lock it has; no lock is taken
 * under it. Guards: I immutable, L the lock, V the only active visitor of a cut that has not begun,
 * P the overflow list's lock (feature/priority).
 */
#ifndef LANEPOOL_SRC_LANE_VISITS_H
#define LANEPOOL_SRC_LANE_VISITS_H

#include "task/task.h"

typedef enum lanepool_i_visits_state {
    LANEPOOL_I_VISITS_NOT_BEGUN,
    LANEPOOL_I_VISITS_BEGUN,
    LANEPOOL_I_VISITS_CANCELLED, /* no `at_lane` is called, and each lane is released */
    LANEPOOL_I_VISITS_STOPPED    /* the same, but a progressive rollup keeps its lanes */
} lanepool_i_visits_state;

/* Granted entries, linked through `next`. */
typedef struct lanepool_i_granted {
    lanepool_i_wide_entry *first;
    lanepool_i_wide_entry *last; /* not read if `first` is NULL */
    uint32_t count;
} lanepool_i_granted;

static inline void lanepool_i_granted_add(lanepool_i_granted *granted, lanepool_i_wide_entry *entry)
{
    store_relaxed(&entry->entry.next, 0);
    if (granted->first == NULL)
        granted->first = entry;
    else
        store_relaxed(&granted->last->entry.next, (uintptr_t)entry);
    granted->last = entry;
    granted->count++;
}

/* Returns the next entry of a list. */
static inline lanepool_i_wide_entry *lanepool_i_granted_next(const lanepool_i_wide_entry *entry)
{
    return (lanepool_i_wide_entry *)load_relaxed(&entry->entry.next);
}

#define LANEPOOL_I_VISIT_LEVELS (LANEPOOL_PRIORITY_MAX + 1)

/* A: cuts with newly listed entries that have levels. Threads push by compare-and-swap, and the
 * holder of P takes all. */
typedef _Atomic(lanepool_i_task *) lanepool_i_noted_cuts;

/* The level of an entry, and its place in the list of that level. */
typedef struct lanepool_i_listing {
    uint32_t before; /* L: of a listed entry: one more than the index of the entry before it in its
                        list, or 0 */
    bool is_listed;  /* L */
    uint8_t level;   /* P and L to write, either to read: in no memory that L alone guards */
} lanepool_i_listing;

/* Behind the entries of a cut's block. These follow it: the features' room, the visitors, the
 * claims' numbers, with levels the listings, and, if a feature has `begin_visit`, a part for each
 * claim. A *part* is a block that stands for one visit: the visitor's task has the part's room. */
typedef struct lanepool_i_visits {
    lanepool_i_callbacks callbacks; /* the task's */
    lanepool_at_lane_fn at_lane;    /* I */
    uint32_t tag;                   /* I: the task's, whose word also has the count */
    uint32_t *numbers;              /* L: of each entry, the number of its claim; NUMBER_HELD */
    lanepool_i_listing *listings;   /* of each entry; or NULL: no entry has a level */
    lanepool_i_noted_cuts *noted;   /* I: with listings: where the cut is noted */
    lanepool_i_task *next_noted;    /* L: the next one that is noted */
    bool is_noted;                  /* L */
    char *parts;                    /* I: of each claim, by its number; or NULL */
    char *visitors;                 /* I: the first one */
    size_t visitor_size;            /* I */
    size_t visitor_count;           /* I */
    size_t part_size;               /* I */
    lanepool_i_word_lock lock;
    lanepool_i_visits_state state; /* L; V writes it once */
    bool holds_lanes;              /* I: a progressive rollup, whose visits release no lane */
    bool is_routed;                /* L: all entries are in their lanes */
    bool is_counted;               /* L: the cut has been counted as ready */
    bool has_called;               /* W: the function was called */
    uint32_t left;          /* L: entries that wait, are listed, are visited or not settled */
    uint32_t active;        /* L: visitors that are ready or run */
    uint32_t shares;        /* L: visitors with `has_share` */
    uint32_t kept;          /* L */
    uint32_t latched;       /* L: lanes held in the first round */
    int code;               /* L: of the round's first failed visit */
    lanepool_status status; /* L: of that visit */
    lanepool_i_granted listed[LANEPOOL_I_VISIT_LEVELS]; /* L: by level; counts only with levels */
    lanepool_i_task *idle; /* L: visitors that are not active, linked through `next` */
} lanepool_i_visits;

/* A visitor. */
typedef struct lanepool_i_visitor {
    lanepool_i_task block;       /* its context is the cut */
    lanepool_i_wide_entry entry; /* V: the copy */
    lanepool_i_wide_entry *at;   /* V: the entry that it visits, or NULL */
    void *use;                   /* V: the context in use; of feature/context.c; or NULL */
    uint32_t number;             /* V: of the claim */
    uint32_t unsettled;          /* V: entries that it has passed, and `left` still counts */
    bool is_fresh;               /* V: it was not queued since it has become active */
    bool has_share;              /* L: its share may have entries */
    _Atomic uint64_t share;      /* A, L to fill it or to take all: see shares.h; 0: empty */
} lanepool_i_visitor;

/* A visitor is queued like a task, whose address is a multiple of 64. The room that a feature has
 * for it is behind it. */
#define LANEPOOL_I_VISITOR_SIZE (2 * sizeof(lanepool_i_task))
_Static_assert(sizeof(lanepool_i_visitor) <= LANEPOOL_I_VISITOR_SIZE, "a visitor has two lines");

static inline void *lanepool_i_visitor_room(lanepool_i_visitor *visitor)
{
    return (char *)visitor + LANEPOOL_I_VISITOR_SIZE;
}

/* In `next` of an entry that has been visited, or that its cut has left. */
#define LANEPOOL_I_NEXT_PASSED ((uintptr_t)1)
#define LANEPOOL_I_NEXT_KEPT   ((uintptr_t)2)
#define LANEPOOL_I_NEXT_HELD   ((uintptr_t)3) /* of a progressive rollup */

/* In a number of an entry that is held: `next` does not say so while the task is parked. */
#define LANEPOOL_I_NUMBER_HELD ((uint32_t)1 << 31)

static inline bool lanepool_i_task_is_cut(const lanepool_i_task *task)
{
    uint64_t all = LANEPOOL_I_WIDE | LANEPOOL_I_CUT;
    return (load_relaxed(&task->word) & (all | LANEPOOL_I_MESSAGE)) == all;
}

static inline bool lanepool_i_task_is_visitor(const lanepool_i_task *task)
{
    uint64_t all = LANEPOOL_I_WIDE | LANEPOOL_I_CUT | LANEPOOL_I_MESSAGE;
    return (load_relaxed(&task->word) & all) == all && task->function == NULL;
}

/* Returns the cut of a visitor, and any other task itself. */
static inline lanepool_i_task *lanepool_i_task_or_cut(lanepool_i_task *task)
{
    return lanepool_i_task_is_visitor(task) ? task->context : task;
}

/* A cut that has begun cannot be cancelled. */
static inline bool lanepool_i_cut_has_begun(const lanepool_i_task *cut)
{
    return (load_relaxed(&cut->word) & LANEPOOL_I_STARTED) != 0;
}

static inline lanepool_i_visits *lanepool_i_visits_of(const lanepool_i_task *cut)
{
    return (lanepool_i_visits *)cut->as.wide.room - 1;
}

/* Returns true if the visit of this entry has failed, and the next one has not been listed. While
 * the cut is parked, `next` links its entries instead. */
static inline bool lanepool_i_visits_keeps(const lanepool_i_wide_entry *entry)
{
    return load_relaxed(&entry->entry.next) == LANEPOOL_I_NEXT_KEPT;
}

/* Returns true if the task is a progressive rollup whose function has not been called. */
static inline bool lanepool_i_task_is_progressive(const lanepool_i_task *task)
{
    return lanepool_i_task_is_cut(task) && lanepool_i_visits_of(task)->holds_lanes;
}

/* Returns true if features know of the visits of this task. */
static inline bool lanepool_i_task_has_parts(const lanepool_i_task *task)
{
    return lanepool_i_task_is_cut(task) && lanepool_i_visits_of(task)->parts != NULL;
}

/* Returns a visitor, active or idle. */
static inline lanepool_i_visitor *lanepool_i_visits_visitor(const lanepool_i_visits *visits,
                                                            size_t index)
{
    return (lanepool_i_visitor *)(visits->visitors + index * visits->visitor_size);
}

/* The visitor has ended its visit. `next` says how. The caller releases the lane of an entry that
 * is passed. */
static inline void lanepool_i_visitor_mark(lanepool_i_visitor *visitor, uintptr_t next)
{
    store_relaxed(&visitor->at->entry.next, next);
    visitor->at = NULL;
    visitor->block.as.wide.count = 0;
    visitor->unsettled++;
}

/* Returns the part of the claim with this number. The cut has parts. */
static inline lanepool_i_task *lanepool_i_visits_part(const lanepool_i_visits *visits,
                                                      uint32_t number)
{
    return (lanepool_i_task *)(visits->parts + number * visits->part_size);
}

/* Returns the part of the visit that a visitor makes; NULL if the cut has no parts. */
static inline lanepool_i_task *lanepool_i_visitor_part(const lanepool_i_visits *visits,
                                                       const lanepool_i_visitor *visitor)
{
    return visits->parts == NULL ? NULL : lanepool_i_visits_part(visits, visitor->number);
}

static inline lanepool_i_wide_entry *lanepool_i_visits_entries(lanepool_i_task *cut)
{
    return (lanepool_i_wide_entry *)(cut + 1);
}

/* Calls `at_lane` for the lane that the visitor visits. */
static inline int lanepool_i_visitor_call(const lanepool_i_visitor *visitor, lanepool_run *run)
{
    const lanepool_i_task *cut = visitor->block.context;
    return lanepool_i_visits_of(cut)->at_lane(run, cut->context, visitor->number);
}

/* By the worker that has taken the cut. Returns true if the visits of an attempt have been made, so
 * that the cut has to call its function or to fail. */
static inline bool lanepool_i_cut_is_in_attempt(const lanepool_i_task *cut)
{
    const lanepool_i_visits *visits = lanepool_i_visits_of(cut);
    return !visits->has_called && (visits->kept == 0 || visits->status != LANEPOOL_OK);
}

/* Returns the tag of a task whose last visit may be ending. */
static inline uint32_t lanepool_i_task_or_cut_tag(const lanepool_i_task *task)
{
    return lanepool_i_task_is_cut(task) ? lanepool_i_visits_of(task)->tag
                                        : lanepool_i_task_tag(task);
}

/* The sizes that decide the layout of a cut's block. */
typedef struct lanepool_i_visits_layout {
    size_t offset;       /* in the block, behind the entries */
    size_t room;         /* bytes of the features' room */
    size_t part_room;    /* bytes of it in a part */
    size_t visitor_room; /* bytes behind a visitor */
    bool has_levels;     /* entries have levels */
    bool has_parts;      /* features want to know of visits */
    size_t claim_count;  /* of the cut */
    size_t workers;      /* of the pool */
} lanepool_i_visits_layout;

/* Returns the bytes that a cut's visits and the room need from the offset. */
size_t lanepool_i_visits_size(const lanepool_i_visits_layout *layout);
/* Initializes the visits of a cut, and sets the task's room. */
lanepool_i_visits *lanepool_i_visits_init(lanepool_i_task *cut,
                                          const lanepool_i_visits_layout *layout);
/* Prepares the visitors for a routed cut with this many entries. Role's holder. */
void lanepool_i_visits_begin_routing(lanepool_i_task *cut, uint32_t count);
/* Ends the routing. Returns true if the cut is ready. */
bool lanepool_i_visits_end_routing(lanepool_i_task *cut);
/* Lists granted entries, at least one, and adds visitors for them to `ready`. */
void lanepool_i_visits_list(lanepool_i_task *cut, const lanepool_i_granted *granted,
                            lanepool_i_tasks *ready);
/* The cut leaves a poisoned lane that it waits in. The entry then names the lane `instead`. Returns
 * true if the cut is ready. Role's holder. */
bool lanepool_i_visits_leave(lanepool_i_task *cut, lanepool_i_wide_entry *entry,
                             struct lanepool_i_lane *instead);
/* With levels, P is held: raises the level of an entry. If it is listed, the cut is noted. */
void lanepool_i_visits_raise(lanepool_i_task *cut, uint32_t index, uint32_t level);
/* With levels, P is held: the cut that was noted is not noted any more. Returns the next one that
 * was noted. Sets how many listed entries each level has. */
lanepool_i_task *lanepool_i_visits_take_note(lanepool_i_task *cut,
                                             uint32_t counts[LANEPOOL_I_VISIT_LEVELS]);
/* With levels: returns one more than the highest level of a listed entry; 0 if none is listed. */
uint32_t lanepool_i_visits_level(lanepool_i_visits *visits);
/* Takes an entry of the highest level, if one is listed, or another visitor's share. The visitor
 * has no share; it gets one of fewer than `most` entries. Returns NULL if there is no entry. */
lanepool_i_wide_entry *lanepool_i_visits_take_listed(lanepool_i_visits *visits,
                                                     lanepool_i_task *cut,
                                                     lanepool_i_visitor *visitor, uint32_t most);
/* The cut has parts: the visitor stands for the part of the visit that it begins. */
void lanepool_i_visits_begin_part(const lanepool_i_visits *visits, lanepool_i_task *cut,
                                  lanepool_i_visitor *visitor);
/* The first visit has decided whether the cut begins. Adds visitors to `ready` for the listed
 * entries. */
void lanepool_i_visits_decided(lanepool_i_visits *visits, lanepool_i_visits_state state,
                               lanepool_i_tasks *ready);
/* Settles what the visitor has passed, and puts its share back. It is then queued. */
void lanepool_i_visits_settle(lanepool_i_task *cut, lanepool_i_visitor *visitor);
/* The visit of a progressive rollup has succeeded. The lane stays. Returns true if the rollup may
 * wait in other lanes. */
bool lanepool_i_visits_hold(lanepool_i_task *cut, lanepool_i_visitor *visitor);
/* By the thread that is about to call the function of a progressive rollup: makes it a rollup. */
void lanepool_i_visits_become_rollup(lanepool_i_task *cut);
/* Returns true if the lane may make others wait for further lanes of the cut. */
bool lanepool_i_visits_keep(lanepool_i_visits *visits, lanepool_i_visitor *visitor,
                            lanepool_status status, int code);
/* Makes a visitor idle. Returns false if entries are listed: it must go on. If the round has ended,
 * *ends is set, and no other thread uses the entries. */
bool lanepool_i_visits_retire(lanepool_i_task *cut, lanepool_i_visitor *visitor, bool *ends);
/* Begins a round with the kept entries, and adds visitors to `ready`. */
void lanepool_i_visits_begin_round(lanepool_i_task *cut, lanepool_i_tasks *ready);
/* The cut ends during a round, no visitor is active. The entries of a later round that were not
 * visited again are kept: their visits of the round before have failed. */
void lanepool_i_visits_stop_round(lanepool_i_task *cut);

#endif
