/* Owns the tasks of a replay: their states, the list of each state, and their workers. */
#include "inspect/replay_parts.h"

#define NONE   LANEPOOL_REPLAY_NONE
#define UNSEEN LANEPOOL_REPLAY_UNSEEN

static void append_to_list(lanepool_i_replay *replay, size_t index)
{
    lanepool_replay_task *task = &replay->tasks[index];
    size_t *last = &replay->seen.last[task->state];
    task->previous = *last;
    task->next = NONE;
    *(*last == NONE ? &replay->seen.first[task->state] : &replay->tasks[*last].next) = index;
    *last = index;
}

static void remove_from_list(lanepool_i_replay *replay, size_t index)
{
    const lanepool_replay_task *task = &replay->tasks[index];
    *(task->previous == NONE ? &replay->seen.first[task->state]
                             : &replay->tasks[task->previous].next) = task->next;
    *(task->next == NONE ? &replay->seen.last[task->state] : &replay->tasks[task->next].previous) =
        task->previous;
}

size_t lanepool_i_replay_add_task(lanepool_i_replay *replay)
{
    size_t index = replay->free_tasks;
    if (index == NONE)
        index = replay->seen.task_count++;
    else
        replay->free_tasks = replay->tasks[index].next;
    replay->tasks[index] = (lanepool_replay_task){
        .state = LANEPOOL_REPLAY_SUBMITTED,
        .submitter = UINT16_MAX,
        .thread = LANEPOOL_EVENT_OUTSIDE,
        .submit_ns = UNSEEN,
        .route_ns = UNSEEN,
        .ready_ns = UNSEEN,
        .start_ns = UNSEEN,
        .end_ns = UNSEEN,
        .first_entry = NONE,
        .last_entry = NONE,
        .below = NONE,
    };
    replay->seen.counts[LANEPOOL_REPLAY_SUBMITTED]++;
    append_to_list(replay, index);
    return index;
}

void lanepool_i_replay_give_ticket(lanepool_i_replay *replay, size_t task, uint64_t ticket)
{
    replay->tasks[task].ticket = ticket;
    replay->tasks[task].has_ticket = true;
    lanepool_i_table_set(&replay->table, LANEPOOL_I_BY_TICKET, ticket, task);
}

void lanepool_i_replay_give_submission(lanepool_i_replay *replay, size_t task, uint64_t submission)
{
    replay->tasks[task].submission = submission;
    lanepool_i_table_set(&replay->table, LANEPOOL_I_BY_SUBMISSION, submission, task);
}

size_t lanepool_i_replay_task_of(lanepool_i_replay *replay, uint64_t ticket)
{
    size_t task = lanepool_i_table_get(&replay->table, LANEPOOL_I_BY_TICKET, ticket);
    if (task == NONE) {
        task = lanepool_i_replay_add_task(replay);
        lanepool_i_replay_give_ticket(replay, task, ticket);
    }
    return task;
}

/* --- states --- */

static size_t count_latched(const lanepool_replay_task *task)
{
    bool may_be_latched = task->lane_count > 1 && !task->is_cut;
    return task->state == LANEPOOL_REPLAY_WAITING && may_be_latched ? task->arrived : 0;
}

/* Tasks that are over have no list. */
static void set_state(lanepool_i_replay *replay, size_t index, lanepool_replay_state state)
{
    lanepool_replay_task *task = &replay->tasks[index];
    replay->seen.latched -= count_latched(task);
    if (state != LANEPOOL_REPLAY_WAITING)
        lanepool_i_replay_end_visits(replay, index);
    replay->seen.counts[task->state]--;
    replay->seen.counts[state]++;
    if (task->state < LANEPOOL_REPLAY_ENDED)
        remove_from_list(replay, index);
    task->state = state;
    if (state < LANEPOOL_REPLAY_ENDED)
        append_to_list(replay, index);
    else
        lanepool_i_replay_drop_if_over(replay, index);
}

bool lanepool_i_replay_advance(lanepool_i_replay *replay, size_t index, lanepool_replay_state state)
{
    lanepool_replay_task *task = &replay->tasks[index];
    bool has_failed =
        task->state == LANEPOOL_REPLAY_RETRYING || task->state == LANEPOOL_REPLAY_PARKED;
    bool is_retried = has_failed && state >= LANEPOOL_REPLAY_READY && state < LANEPOOL_REPLAY_ENDED;
    if (state <= task->state && !is_retried)
        return false;
    if (is_retried)
        task->failed.ready_ns = replay->seen.time_ns;
    set_state(replay, index, state);
    return true;
}

void lanepool_i_replay_wait_again(lanepool_i_replay *replay, size_t index)
{
    lanepool_replay_task *task = &replay->tasks[index];
    bool has_failed =
        task->state == LANEPOOL_REPLAY_RETRYING || task->state == LANEPOOL_REPLAY_PARKED;
    if (has_failed)
        task->failed.ready_ns = replay->seen.time_ns; /* its READY was missed */
    if (has_failed || task->state == LANEPOOL_REPLAY_READY)
        set_state(replay, index, LANEPOOL_REPLAY_WAITING);
}

static void note_failed_attempt(lanepool_replay_task *task, uint64_t now_ns, uint16_t thread)
{
    bool was_seen = task->start_ns != UNSEEN;
    task->failed = (lanepool_replay_attempt){ .start_ns = task->start_ns,
                                              .end_ns = now_ns,
                                              .parked_ns = UNSEEN,
                                              .ready_ns = UNSEEN,
                                              .thread = was_seen ? task->thread : thread };
    task->failed_count++;
    task->ran_ns += was_seen ? now_ns - task->start_ns : 0;
    task->start_ns = UNSEEN;
}

void lanepool_i_replay_fail(lanepool_i_replay *replay, size_t index, const lanepool_event *event)
{
    lanepool_replay_task *task = &replay->tasks[index];
    bool is_parked = event->type == LANEPOOL_EVENT_PARK;
    if (task->state >= LANEPOOL_REPLAY_PARKED ||
        (task->state == LANEPOOL_REPLAY_RETRYING && !is_parked))
        return;
    if (task->state != LANEPOOL_REPLAY_RETRYING) {
        lanepool_i_replay_pop_run(replay, index);
        note_failed_attempt(task, replay->seen.time_ns, event->thread);
        lanepool_i_replay_grant_all(replay, index);
    }
    if (is_parked)
        task->failed.parked_ns = replay->seen.time_ns;
    set_state(replay, index, is_parked ? LANEPOOL_REPLAY_PARKED : LANEPOOL_REPLAY_RETRYING);
}

void lanepool_i_replay_give_up(lanepool_i_replay *replay, size_t task)
{
    if (replay->tasks[task].state < LANEPOOL_REPLAY_ENDED) {
        set_state(replay, task, LANEPOOL_REPLAY_CANCELLED);
        lanepool_i_replay_pop_run(replay, task);
    }
    lanepool_i_replay_release_all(replay, task);
}

/* --- workers --- */

void lanepool_i_replay_push_run(lanepool_i_replay *replay, size_t worker, size_t task)
{
    replay->tasks[task].below = replay->workers[worker].task;
    replay->workers[worker].task = task;
}

void lanepool_i_replay_pop_run(lanepool_i_replay *replay, size_t task)
{
    uint16_t thread = replay->tasks[task].thread;
    if (thread >= replay->seen.worker_count)
        return;
    size_t top = replay->workers[thread].task;
    while (top != task && top != NONE)
        top = replay->tasks[top].below;
    if (top == task)
        replay->workers[thread].task = replay->tasks[task].below;
}

/* --- tasks that are over --- */

void lanepool_i_replay_drop_if_over(lanepool_i_replay *replay, size_t index)
{
    lanepool_replay_task *task = &replay->tasks[index];
    bool is_over = task->state >= LANEPOOL_REPLAY_ENDED && task->open == 0;
    if (!is_over || task->gone || (replay->keep & LANEPOOL_REPLAY_TASKS) != 0)
        return;
    task->gone = true;
    task->next = replay->gone_tasks;
    replay->gone_tasks = index;
}

static void free_task(lanepool_i_replay *replay, size_t index)
{
    lanepool_replay_task *task = &replay->tasks[index];
    lanepool_i_table_remove(&replay->table, LANEPOOL_I_BY_TICKET, task->ticket, index);
    lanepool_i_table_remove(&replay->table, LANEPOOL_I_BY_SUBMISSION, task->submission, index);
    if (task->first_entry != NONE) {
        replay->entries[task->last_entry].next_of_task = replay->free_entries;
        replay->free_entries = task->first_entry;
    }
    task->next = replay->free_tasks;
    replay->free_tasks = index;
}

void lanepool_i_replay_free_gone(lanepool_i_replay *replay)
{
    while (replay->gone_tasks != NONE) {
        size_t task = replay->gone_tasks;
        replay->gone_tasks = replay->tasks[task].next;
        free_task(replay, task);
    }
}
