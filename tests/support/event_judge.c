#include "support/event_judge.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "support/memory.h"

enum { BATCH = 64, THREADS_MAX = 64, MODES = 3 };

/* A task's entry in a lane, or its wait behind a task or in a kind's batch. */
struct entry {
    uint64_t object;
    uint8_t type;
    uint32_t mode;
    bool arrived;
    bool released;
    bool avoided;    /* left before it was granted, because the lane was poisoned */
    bool is_visited; /* a call of at_lane goes on */
    bool passed;     /* such a call has succeeded */
};

struct task {
    uint64_t ticket;
    uint64_t submission;
    struct entry *entries;
    uint32_t entry_count;
    uint32_t waiting; /* entries that are not granted yet */
    bool ready, started, ended, cancelled;
    bool is_cut;
    bool was_visited; /* a visit was made */
    bool has_failed;  /* at least once; it may have been retried or parked since */
    bool left_early;  /* left a lane early: it must have been cancelled, which is the next event */
    bool heir_cancelled; /* a receiver was cancelled that was accepted during its run */
    bool left;           /* left a lane at its end: no receiver follows with its ticket */
    bool in_parts;       /* a cut that the pool's end has ended */
};

struct lane {
    uint64_t object;
    uint8_t type;
    uint32_t holders[MODES]; /* tasks that have the lane, by the mode of their claims */
    bool was_poisoned;       /* by a parked task */
};

/* Lists are searched from the newest element, because unfinished tasks are near the end. */
struct event_judge {
    struct task *tasks;
    uint32_t task_count;
    struct lane *lanes;
    uint32_t lane_count;
    uint64_t *submissions; /* submissions that are not routed yet */
    uint32_t submission_count;
    uint64_t last_ns[2 * THREADS_MAX]; /* of each worker and each other thread */
    bool has_heirs;
    const char *problem;
};

struct event_judge *event_judge_create(void)
{
    return memory_get(1, sizeof(struct event_judge));
}

void event_judge_destroy(struct event_judge *judge)
{
    for (uint32_t i = 0; i < judge->task_count; i++) {
        free(judge->tasks[i].entries);
    }
    free(judge->tasks);
    free(judge->lanes);
    free(judge->submissions);
    free(judge);
}

void event_judge_expect_heirs(struct event_judge *judge)
{
    judge->has_heirs = true;
}

uint32_t event_judge_tasks(const struct event_judge *judge)
{
    return judge->task_count;
}

const char *event_judge_problem(const struct event_judge *judge)
{
    return judge->problem;
}

static void note(struct event_judge *judge, bool holds, const char *problem)
{
    if (!holds && judge->problem == NULL) {
        judge->problem = problem;
    }
}

/* Makes room for one more item; doubles the memory at each power of two. */
static void *grow(void *items, uint32_t count, size_t size)
{
    if ((count & (count - 1)) != 0) {
        return items;
    }
    void *more = memory_get(count == 0 ? 1 : 2 * (size_t)count, size);
    if (count > 0) {
        memcpy(more, items, count * size);
    }
    free(items);
    return more;
}

/* --- submissions --- */

static void submit(struct event_judge *judge, uint64_t submission)
{
    judge->submissions =
        grow(judge->submissions, judge->submission_count, sizeof *judge->submissions);
    judge->submissions[judge->submission_count++] = submission;
}

static void take_submission(struct event_judge *judge, uint64_t submission)
{
    for (uint32_t i = judge->submission_count; i-- > 0;) {
        if (judge->submissions[i] == submission) {
            judge->submissions[i] = judge->submissions[--judge->submission_count];
            return;
        }
    }
    note(judge, false, "a task was routed or refused that was not submitted");
}

/* --- tasks --- */

static struct task *find_task(struct event_judge *judge, uint64_t ticket)
{
    static struct task nobody;

    for (uint32_t i = judge->task_count; i-- > 0;) {
        if (judge->tasks[i].ticket == ticket) {
            return &judge->tasks[i];
        }
    }
    note(judge, false, "an event of a task that was not routed");
    free(nobody.entries);
    nobody = (struct task){ .ready = true };
    return &nobody;
}

static void route(struct event_judge *judge, const lanepool_event *event)
{
    take_submission(judge, event->object);
    note(judge, judge->task_count == 0 || judge->tasks[judge->task_count - 1].ticket != event->task,
         "one ticket for two tasks");
    judge->tasks = grow(judge->tasks, judge->task_count, sizeof *judge->tasks);
    judge->tasks[judge->task_count++] =
        (struct task){ .ticket = event->task, .submission = event->object };
}

static struct entry *find_entry(struct event_judge *judge, struct task *task,
                                const lanepool_event *event)
{
    static struct entry nothing;

    for (uint32_t i = task->entry_count; i-- > 0;) {
        struct entry *entry = &task->entries[i];
        if (entry->object == event->object && entry->type == event->object_type) {
            return entry;
        }
    }
    note(judge, false, "a task is granted or leaves a lane that it never entered");
    return &nothing;
}

/* --- lanes --- */

static bool is_lane(uint8_t type)
{
    return type >= LANEPOOL_EVENT_LANE_ID && type <= LANEPOOL_EVENT_LANE_WORKER;
}

static struct lane *find_lane(struct event_judge *judge, const struct entry *entry)
{
    for (uint32_t i = judge->lane_count; i-- > 0;) {
        struct lane *lane = &judge->lanes[i];
        if (lane->object == entry->object && lane->type == entry->type) {
            return lane;
        }
    }
    judge->lanes = grow(judge->lanes, judge->lane_count, sizeof *judge->lanes);
    judge->lanes[judge->lane_count] = (struct lane){ .object = entry->object, .type = entry->type };
    return &judge->lanes[judge->lane_count++];
}

static void arrive(struct event_judge *judge, struct task *task, struct entry *entry)
{
    note(judge, !entry->arrived, "an entry is granted twice");
    entry->arrived = true;
    task->waiting -= !entry->avoided;
    if (!is_lane(entry->type) || entry->released) {
        return;
    }
    struct lane *lane = find_lane(judge, entry);
    for (uint32_t mode = 0; mode < MODES; mode++) {
        note(judge, lane->holders[mode] == 0 || lanepool_modes_overlap(entry->mode, mode),
             "a lane is granted while a task has it that conflicts");
    }
    lane->holders[entry->mode]++;
}

static void enter(struct event_judge *judge, const lanepool_event *event)
{
    struct task *task = find_task(judge, event->task);

    note(judge, !task->ready, "a task enters a lane after it became ready");
    task->entries = grow(task->entries, task->entry_count, sizeof *task->entries);
    struct entry *entry = &task->entries[task->entry_count++];
    *entry = (struct entry){ .object = event->object,
                             .type = event->object_type,
                             .mode = lanepool_event_mode(event->detail) };
    task->waiting++;
    task->is_cut |= (event->detail & LANEPOOL_EVENT_CUT) != 0;
    if ((event->detail & LANEPOOL_EVENT_GRANTED) != 0) {
        arrive(judge, task, entry);
    }
}

/* Returns true if the task leaves a poisoned lane. A cancelled rollup also leaves lanes early; its
 * cancel event follows. */
static bool avoids(const struct task *task, const struct entry *entry, const struct lane *lane)
{
    return lane->was_poisoned && !entry->arrived && !task->ready && !task->cancelled;
}

static void avoid(struct task *task, struct entry *entry)
{
    entry->avoided = true;
    entry->released = true;
    task->waiting--;
}

/* Records that the task's lanes are poisoned. They remain so, because the task may be resolved
 * before the last task that avoids them has left them. */
static void poison(struct event_judge *judge, const struct task *task)
{
    for (uint32_t i = 0; i < task->entry_count; i++) {
        const struct entry *entry = &task->entries[i];

        if (is_lane(entry->type) && entry->arrived && !entry->released) {
            find_lane(judge, entry)->was_poisoned = true;
        }
    }
}

static void leave(struct event_judge *judge, const lanepool_event *event)
{
    struct task *task = find_task(judge, event->task);
    struct entry *entry = find_entry(judge, task, event);
    struct lane *lane = find_lane(judge, entry);

    bool early = (event->detail & LANEPOOL_EVENT_EARLY) != 0;
    bool makes_no_visit = task->is_cut && !task->was_visited;
    bool has_passed = task->is_cut && (entry->passed || makes_no_visit);
    bool gives_up = early && (task->started || has_passed);

    note(judge, !entry->released, "a task leaves a lane twice");
    if (early && avoids(task, entry, lane)) {
        avoid(task, entry);
        return;
    }
    task->left_early |= !entry->arrived || (!gives_up && !task->ended && !task->cancelled);
    task->left |= !early;
    entry->released = true;
    /* A cancelled rollup may leave a lane that it was just granted before the grant's event. */
    if (!entry->arrived) {
        return;
    }
    find_lane(judge, entry)->holders[entry->mode]--;
}

/* --- visits --- */

/* A retried cut is ready before it visits the lanes again, and once more afterwards. */
static void visit(struct event_judge *judge, const lanepool_event *event)
{
    struct task *task = find_task(judge, event->task);
    struct entry *entry = find_entry(judge, task, event);

    note(judge, !task->started && !task->ended, "a visit that is too late");
    note(judge, !task->ready || task->has_failed, "a visit after the cut became ready");
    task->ready = false;
    task->was_visited = true;
    if (event->type == LANEPOOL_EVENT_VISIT) {
        note(judge, entry->arrived && !entry->released && !entry->passed && !entry->is_visited,
             "a visit of a lane that the cut does not have, or twice");
        entry->is_visited = true;
        return;
    }
    note(judge, entry->is_visited && !entry->released, "a visit ends that has not begun");
    entry->is_visited = false;
    entry->passed = event->detail == LANEPOOL_OK;
}

/* A run of a repeated cut that was cancelled before its first visit makes none, and starts only to
 * end. */
static bool has_made_visits(const struct task *task, bool all_passed)
{
    for (uint32_t i = 0; i < task->entry_count; i++) {
        const struct entry *entry = &task->entries[i];

        bool has_passed =
            entry->avoided || (entry->released && (entry->passed || !task->was_visited));
        if (entry->is_visited || (all_passed && !has_passed)) {
            return false;
        }
    }
    return true;
}

/* Returns true if a progressive rollup has visited all of its lanes, and has them. A retry after
 * its function has failed makes no visit. */
static bool has_gathered(const struct task *task)
{
    for (uint32_t i = 0; i < task->entry_count; i++) {
        if (!task->entries[i].passed || task->entries[i].is_visited || task->entries[i].released) {
            return false;
        }
    }
    return true;
}

static bool has_left_all(const struct task *task)
{
    for (uint32_t i = 0; i < task->entry_count; i++) {
        if (is_lane(task->entries[i].type) && !task->entries[i].released) {
            return false;
        }
    }
    return true;
}

/* --- steps --- */

/* A receiver continues under the ticket of its ended giver, in the lanes that the giver has not
 * left. */
static void inherit(struct task *task)
{
    task->ready = false;
    task->cancelled = task->heir_cancelled;
    task->has_failed = false;
    task->started = false;
    task->ended = false;
}

static void step(struct event_judge *judge, const lanepool_event *event)
{
    struct task *task = find_task(judge, event->task);

    if (judge->has_heirs && task->ended && !task->left) {
        inherit(task);
    }
    switch (event->type) {
    case LANEPOOL_EVENT_READY:
        note(judge,
             (!task->ready || (task->was_visited && task->has_failed && !task->started)) &&
                 task->waiting == 0,
             "ready twice, or before every entry is granted");
        note(judge, !task->is_cut || has_made_visits(task, false), "a cut is ready too early");
        task->ready = true;
        break;
    case LANEPOOL_EVENT_START:
        note(judge, !task->is_cut || has_made_visits(task, true), "a cut starts in a lane");
        note(judge, task->is_cut || !task->was_visited || has_gathered(task),
             "a progressive rollup starts before its last visit");
        note(judge, task->ready && !task->started && !task->cancelled,
             "a start before the task is ready, twice, or after a cancel");
        task->started = true;
        break;
    case LANEPOOL_EVENT_END:
        note(judge,
             (task->started || task->has_failed || task->is_cut || task->was_visited ||
              event->detail == LANEPOOL_POISONED) &&
                 !task->ended && !task->left_early,
             "an end without a start, or twice, or too late");
        note(judge, !task->is_cut || event->detail != LANEPOOL_OK || has_left_all(task),
             "a cut ends that has not left its lanes");
        task->in_parts = event->detail == LANEPOOL_IN_PARTS;
        task->ended = true;
        task->has_failed |= event->detail == LANEPOOL_FAILED;
        break;
    case LANEPOOL_EVENT_RETRY:
        note(judge, (task->started || task->was_visited) && !task->ended,
             "a retry without a start");
        task->ready = false;
        task->started = false;
        task->has_failed = true;
        break;
    case LANEPOOL_EVENT_PARK: /* its delay may have been cut short */
        note(judge, task->has_failed || ((task->started || task->was_visited) && !task->ended),
             "parked without a start");
        poison(judge, task);
        task->ready = false;
        task->started = false;
        task->has_failed = true;
        break;
    default:
        if (judge->has_heirs && task->started && !task->heir_cancelled) {
            task->heir_cancelled = true;
            break;
        }
        note(judge, !task->started && !task->cancelled, "a task is cancelled that has started");
        task->cancelled = true;
    }
}

static void pass_time(struct event_judge *judge, const lanepool_event *event)
{
    bool outside = event->thread >= LANEPOOL_EVENT_OUTSIDE;
    uint32_t number = event->thread & (LANEPOOL_EVENT_OUTSIDE - 1u);

    if (number < THREADS_MAX) {
        uint64_t *last_ns = &judge->last_ns[2 * number + outside];
        note(judge, event->time_ns >= *last_ns, "a thread's times go back");
        *last_ns = event->time_ns;
    }
}

void event_judge_add(struct event_judge *judge, const lanepool_event *event)
{
    struct task *task;

    pass_time(judge, event);
    switch (event->type) {
    case LANEPOOL_EVENT_SUBMIT:
        submit(judge, event->object);
        break;
    case LANEPOOL_EVENT_ROUTE:
        route(judge, event);
        break;
    case LANEPOOL_EVENT_ENTER:
        enter(judge, event);
        break;
    case LANEPOOL_EVENT_ARRIVE:
        task = find_task(judge, event->task);
        arrive(judge, task, find_entry(judge, task, event));
        break;
    case LANEPOOL_EVENT_VISIT:
    case LANEPOOL_EVENT_VISITED:
        visit(judge, event);
        break;
    case LANEPOOL_EVENT_RELEASE:
        leave(judge, event);
        break;
    case LANEPOOL_EVENT_CANCEL:
        if (event->object != 0) {
            take_submission(judge, event->object);
            break;
        }
        step(judge, event);
        break;
    case LANEPOOL_EVENT_READY:
    case LANEPOOL_EVENT_START:
    case LANEPOOL_EVENT_END:
    case LANEPOOL_EVENT_RETRY:
    case LANEPOOL_EVENT_PARK:
        step(judge, event);
        break;
    case LANEPOOL_EVENT_STEAL:
    case LANEPOOL_EVENT_SLEEP:
    case LANEPOOL_EVENT_WAKE:
    case LANEPOOL_EVENT_NAME:
        break;
    default:
        note(judge, false, "an event of unknown type");
    }
}

const char *event_judge_end(struct event_judge *judge)
{
    note(judge, judge->submission_count == 0, "a task that was submitted was never routed");
    for (uint32_t i = 0; i < judge->task_count; i++) {
        const struct task *task = &judge->tasks[i];
        note(judge, task->ended || task->cancelled, "a task never ended");
        /* If the pool was stopped, a parked task has ended without leaving its lanes. */
        note(judge,
             task->cancelled || task->in_parts || (task->has_failed && !task->left) ||
                 has_left_all(task),
             "a task never left a lane");
    }
    return judge->problem;
}

bool event_judge_read(struct event_judge *judge, lanepool_trace_reader *reader)
{
    lanepool_event events[BATCH];
    lanepool_status status;
    size_t count = 0;

    do {
        status = lanepool_trace_read(reader, events, BATCH, &count);
        for (size_t i = 0; i < count; i++) {
            event_judge_add(judge, &events[i]);
        }
    } while (count > 0);
    note(judge, status == LANEPOOL_OK || status == LANEPOOL_NOMEM, "the events cannot be read");
    return status == LANEPOOL_OK;
}
