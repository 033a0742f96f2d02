/* Owns the events of a replay: each moves a task from one state to the next. */
#include "inspect/memory.h"
#include "inspect/replay_parts.h"

#define NONE      LANEPOOL_REPLAY_NONE
#define UNSEEN    LANEPOOL_REPLAY_UNSEEN
#define PAIRS_MAX 5 /* that an event adds to the table: of a task, a lane and its name */
#define STATES    LANEPOOL_REPLAY_STATES

/* --- create and destroy --- */

void lanepool_replay_clear(lanepool_replay *seen)
{
    lanepool_i_replay *replay = (lanepool_i_replay *)seen;
    lanepool_i_table_clear(&replay->table);
    seen->task_count = seen->entry_count = seen->lane_count = replay->name_count = 0;
    seen->latched = seen->to_visit = seen->visits = 0;
    seen->task = seen->entry = NONE;
    for (size_t i = 0; i < STATES; i++) {
        seen->counts[i] = 0;
        seen->first[i] = seen->last[i] = NONE;
    }
    for (size_t i = 0; i < seen->worker_count; i++)
        replay->workers[i].task = replay->workers[i].visit = NONE;
    replay->gone_tasks = replay->free_tasks = NONE;
    replay->free_entries = replay->free_lanes = NONE;
}

lanepool_status lanepool_replay_create(unsigned keep, lanepool_replay **replay)
{
    unsigned known = LANEPOOL_REPLAY_TASKS | LANEPOOL_REPLAY_LANES;
    if (replay != NULL)
        *replay = NULL;
    if (replay == NULL || (keep & ~known) != 0)
        return LANEPOOL_INVALID;
    lanepool_i_replay *created = lanepool_i_inspect_alloc_zeroed(sizeof *created);
    if (created == NULL)
        return LANEPOOL_NOMEM;
    created->keep = keep;
    lanepool_replay_clear(&created->seen);
    *replay = &created->seen;
    return LANEPOOL_OK;
}

void lanepool_replay_destroy(lanepool_replay *seen)
{
    lanepool_i_replay *replay = (lanepool_i_replay *)seen;
    if (replay == NULL)
        return;
    lanepool_i_inspect_free(replay->tasks);
    lanepool_i_inspect_free(replay->entries);
    lanepool_i_inspect_free(replay->lanes);
    lanepool_i_inspect_free(replay->workers);
    lanepool_i_inspect_free(replay->names);
    lanepool_i_table_fini(&replay->table);
    lanepool_i_inspect_free(replay);
}

/* --- events --- */

static void feed_submit(lanepool_i_replay *replay, const lanepool_event *event)
{
    size_t before = lanepool_i_table_get(&replay->table, LANEPOOL_I_BY_SUBMISSION, event->object);
    if (before != NONE && replay->tasks[before].state < LANEPOOL_REPLAY_ENDED)
        lanepool_i_replay_give_up(replay, before); /* a number is reused when its task is over */
    size_t task = lanepool_i_replay_add_task(replay);
    replay->tasks[task].submit_ns = replay->seen.time_ns;
    replay->tasks[task].submitter = event->thread;
    lanepool_i_replay_give_submission(replay, task, event->object);
}

/* Gives up the tasks that the same thread submitted before and that are not routed yet. Tasks of
 * a thread are routed in the order of their submits, so these have been routed, too: the event
 * was missed. */
static void give_up_submitted_before(lanepool_i_replay *replay, size_t task)
{
    size_t before = replay->seen.first[LANEPOOL_REPLAY_SUBMITTED];
    while (before != task && before != NONE) {
        size_t next = replay->tasks[before].next;
        if (replay->tasks[before].submitter == replay->tasks[task].submitter)
            lanepool_i_replay_give_up(replay, before);
        before = next;
    }
}

static size_t find_submitted(const lanepool_i_replay *replay, uint64_t submission)
{
    size_t task = lanepool_i_table_get(&replay->table, LANEPOOL_I_BY_SUBMISSION, submission);
    return task != NONE && replay->tasks[task].state == LANEPOOL_REPLAY_SUBMITTED ? task : NONE;
}

static size_t feed_route(lanepool_i_replay *replay, const lanepool_event *event)
{
    size_t task = find_submitted(replay, event->object);
    if (task == NONE || replay->tasks[task].has_ticket) {
        task = lanepool_i_replay_add_task(replay);
        lanepool_i_replay_give_submission(replay, task, event->object);
    }
    size_t before = lanepool_i_table_get(&replay->table, LANEPOOL_I_BY_TICKET, event->task);
    if (before != NONE && replay->tasks[before].state < LANEPOOL_REPLAY_ENDED)
        lanepool_i_replay_give_up(replay, before); /* tickets have begun again */
    lanepool_i_replay_give_ticket(replay, task, event->task);
    replay->tasks[task].route_ns = replay->seen.time_ns;
    replay->tasks[task].tag = event->detail;
    give_up_submitted_before(replay, task);
    lanepool_i_replay_advance(replay, task, LANEPOOL_REPLAY_WAITING);
    return task;
}

static void feed_enter(lanepool_i_replay *replay, size_t task, const lanepool_event *event)
{
    lanepool_i_replay_advance(replay, task, LANEPOOL_REPLAY_WAITING);
    if ((event->detail & LANEPOOL_EVENT_CUT) != 0)
        lanepool_i_replay_note_cut(replay, task);
    size_t entry = lanepool_i_replay_find_entry(replay, task, event);
    bool is_added = entry == NONE;
    if (is_added) {
        entry = lanepool_i_replay_add_entry(replay, task, event, false);
        replay->entries[entry].mode = (uint8_t)lanepool_event_mode(event->detail);
    }
    bool is_granted =
        (event->detail & LANEPOOL_EVENT_GRANTED) != 0 && lanepool_i_replay_grant(replay, entry);
    replay->seen.entry = is_added || is_granted ? entry : NONE;
}

static void feed_arrive(lanepool_i_replay *replay, size_t task, const lanepool_event *event)
{
    lanepool_i_replay_advance(replay, task, LANEPOOL_REPLAY_WAITING);
    size_t entry = lanepool_i_replay_find_entry(replay, task, event);
    if (entry == NONE)
        entry = lanepool_i_replay_add_entry(replay, task, event, true);
    replay->seen.entry = lanepool_i_replay_grant(replay, entry) ? entry : NONE;
}

static void feed_ready(lanepool_i_replay *replay, size_t task)
{
    if (lanepool_i_replay_advance(replay, task, LANEPOOL_REPLAY_READY) &&
        replay->tasks[task].failed_count == 0) {
        replay->tasks[task].ready_ns = replay->seen.time_ns;
        lanepool_i_replay_grant_all(replay, task);
    }
}

static void feed_start(lanepool_i_replay *replay, size_t task, const lanepool_event *event)
{
    if (!lanepool_i_replay_advance(replay, task, LANEPOOL_REPLAY_RUNNING))
        return;
    replay->tasks[task].start_ns = replay->seen.time_ns;
    replay->tasks[task].thread = event->thread;
    lanepool_i_replay_grant_all(replay, task);
    if (replay->tasks[task].is_cut)
        lanepool_i_replay_release_all(replay, task); /* a RELEASE may have been missed */
    if (event->thread < LANEPOOL_EVENT_OUTSIDE)
        lanepool_i_replay_push_run(replay, event->thread, task);
}

/* Returns false if the task was over before. */
static bool end_task(lanepool_i_replay *replay, size_t index)
{
    lanepool_replay_task *task = &replay->tasks[index];
    if (!lanepool_i_replay_advance(replay, index, LANEPOOL_REPLAY_ENDED))
        return false;
    lanepool_i_replay_pop_run(replay, index);
    task->end_ns = replay->seen.time_ns;
    return true;
}

static void feed_end(lanepool_i_replay *replay, size_t index, const lanepool_event *event)
{
    lanepool_replay_task *task = &replay->tasks[index];
    if (!end_task(replay, index))
        return;
    task->status = event->detail;
    if (task->start_ns != UNSEEN)
        task->ran_ns += task->end_ns - task->start_ns;
    else
        task->thread = event->thread;
    lanepool_i_replay_grant_all(replay, index);
}

static void feed_release(lanepool_i_replay *replay, size_t task, const lanepool_event *event)
{
    if ((event->detail & LANEPOOL_EVENT_EARLY) == 0)
        (void)end_task(replay, task); /* its END was missed */
    size_t entry = lanepool_i_replay_find_entry(replay, task, event);
    if (entry == NONE)
        entry = lanepool_i_replay_add_entry(replay, task, event, true);
    replay->seen.entry = lanepool_i_replay_release(replay, entry) ? entry : NONE;
}

static void feed_visit(lanepool_i_replay *replay, size_t task, const lanepool_event *event)
{
    lanepool_i_replay_advance(replay, task, LANEPOOL_REPLAY_WAITING);
    lanepool_i_replay_wait_again(replay, task);
    if (replay->tasks[task].state != LANEPOOL_REPLAY_WAITING)
        return;
    lanepool_i_replay_note_cut(replay, task);
    size_t entry = lanepool_i_replay_find_entry(replay, task, event);
    if (entry == NONE)
        entry = lanepool_i_replay_add_entry(replay, task, event, true);
    (void)lanepool_i_replay_grant(replay, entry);
    if (replay->entries[entry].release_ns != UNSEEN)
        return;
    replay->seen.entry = entry;
    if (event->type == LANEPOOL_EVENT_VISIT)
        lanepool_i_replay_visit(replay, entry, event->thread);
    else
        lanepool_i_replay_note_visited(replay, entry);
}

static void feed_task_event(lanepool_i_replay *replay, size_t task, const lanepool_event *event)
{
    switch ((lanepool_event_type)event->type) {
    case LANEPOOL_EVENT_ENTER:
        feed_enter(replay, task, event);
        break;
    case LANEPOOL_EVENT_ARRIVE:
        feed_arrive(replay, task, event);
        break;
    case LANEPOOL_EVENT_READY:
        feed_ready(replay, task);
        break;
    case LANEPOOL_EVENT_START:
        feed_start(replay, task, event);
        break;
    case LANEPOOL_EVENT_END:
        feed_end(replay, task, event);
        break;
    case LANEPOOL_EVENT_RELEASE:
        feed_release(replay, task, event);
        break;
    case LANEPOOL_EVENT_RETRY:
    case LANEPOOL_EVENT_PARK:
        lanepool_i_replay_fail(replay, task, event);
        break;
    case LANEPOOL_EVENT_VISIT:
    case LANEPOOL_EVENT_VISITED:
        feed_visit(replay, task, event);
        break;
    case LANEPOOL_EVENT_CANCEL:
        lanepool_i_replay_give_up(replay, task);
        break;
    default:
        break;
    }
}

/* Returns the task of an event, added if needed. A task that was refused has no ticket; its
 * submission identifies it. */
static size_t task_of_event(lanepool_i_replay *replay, const lanepool_event *event)
{
    size_t task = NONE;
    if (event->type == LANEPOOL_EVENT_CANCEL && event->task == 0 && event->object != 0)
        task = find_submitted(replay, event->object);
    return task != NONE ? task : lanepool_i_replay_task_of(replay, event->task);
}

static void apply_event(lanepool_i_replay *replay, const lanepool_event *event)
{
    lanepool_replay *seen = &replay->seen;
    switch ((lanepool_event_type)event->type) {
    case LANEPOOL_EVENT_SUBMIT:
        feed_submit(replay, event);
        break;
    case LANEPOOL_EVENT_ROUTE:
        seen->task = feed_route(replay, event);
        seen->before = LANEPOOL_REPLAY_SUBMITTED;
        break;
    case LANEPOOL_EVENT_NAME:
        lanepool_i_replay_name_lane(replay, event);
        break;
    case LANEPOOL_EVENT_STEAL:
    case LANEPOOL_EVENT_SLEEP:
    case LANEPOOL_EVENT_WAKE:
        break; /* about workers only */
    default:
        seen->task = task_of_event(replay, event);
        seen->before = replay->tasks[seen->task].state;
        feed_task_event(replay, seen->task, event);
    }
}

/* Ends the visit that a worker still makes: the event shows that its VISITED was missed. */
static void end_missed_visit(lanepool_i_replay *replay, const lanepool_event *event)
{
    size_t visit = replay->workers[event->thread].visit;
    bool has_ended = event->type == LANEPOOL_EVENT_SLEEP || event->type == LANEPOOL_EVENT_START ||
                     event->type == LANEPOOL_EVENT_VISIT;
    if (visit != NONE && has_ended)
        lanepool_i_replay_end_visit(replay, visit);
}

/* Every event of a worker except SLEEP shows that it is awake. */
static void note_worker(lanepool_i_replay *replay, const lanepool_event *event)
{
    if (event->thread >= LANEPOOL_EVENT_OUTSIDE)
        return;
    lanepool_replay_worker *worker = &replay->workers[event->thread];
    replay->seen.asleep -= worker->asleep;
    worker->asleep = event->type == LANEPOOL_EVENT_SLEEP;
    replay->seen.asleep += worker->asleep;
    end_missed_visit(replay, event);
}

static bool reserve_worker(lanepool_i_replay *replay, uint16_t thread)
{
    lanepool_replay *seen = &replay->seen;
    if (thread >= LANEPOOL_EVENT_OUTSIDE || thread < seen->worker_count)
        return true;
    if (!lanepool_i_inspect_grow(&replay->workers, &replay->worker_capacity, (size_t)thread + 1,
                                 sizeof *replay->workers))
        return false;
    while (seen->worker_count <= thread)
        replay->workers[seen->worker_count++] =
            (lanepool_replay_worker){ .task = NONE, .visit = NONE };
    return true;
}

/* Makes room for all that an event may add. Returns false if memory cannot be allocated. */
static bool reserve_for_event(lanepool_i_replay *replay, const lanepool_event *event)
{
    const lanepool_replay *seen = &replay->seen;
    return lanepool_i_inspect_grow(&replay->tasks, &replay->task_capacity, seen->task_count + 1,
                                   sizeof *replay->tasks) &&
           lanepool_i_inspect_grow(&replay->entries, &replay->entry_capacity, seen->entry_count + 1,
                                   sizeof *replay->entries) &&
           lanepool_i_inspect_grow(&replay->lanes, &replay->lane_capacity, seen->lane_count + 1,
                                   sizeof *replay->lanes) &&
           lanepool_i_inspect_grow(&replay->names, &replay->name_capacity, replay->name_count + 1,
                                   sizeof *replay->names) &&
           reserve_worker(replay, event->thread) &&
           lanepool_i_table_reserve(&replay->table, PAIRS_MAX);
}

lanepool_status lanepool_replay_feed(lanepool_replay *seen, const lanepool_event *event)
{
    lanepool_i_replay *replay = (lanepool_i_replay *)seen;
    if (replay == NULL || event == NULL)
        return LANEPOOL_INVALID;
    lanepool_i_replay_free_gone(replay);
    seen->task = seen->entry = NONE;
    if (!reserve_for_event(replay, event))
        return LANEPOOL_NOMEM;
    if (event->time_ns > seen->time_ns)
        seen->time_ns = event->time_ns;
    note_worker(replay, event);
    apply_event(replay, event);
    seen->tasks = replay->tasks;
    seen->entries = replay->entries;
    seen->lanes = replay->lanes;
    seen->workers = replay->workers;
    return LANEPOOL_OK;
}
