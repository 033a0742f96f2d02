/* Owns the visits of cuts in a replay: which lanes are still to be visited, and which are being
 * visited. */
#include "inspect/replay_parts.h"

#define NONE   LANEPOOL_REPLAY_NONE
#define UNSEEN LANEPOOL_REPLAY_UNSEEN

bool lanepool_i_replay_is_to_visit(const lanepool_i_replay *replay, size_t index)
{
    const lanepool_replay_entry *entry = &replay->entries[index];
    return replay->tasks[entry->task].is_cut && entry->arrive_ns != UNSEEN &&
           entry->release_ns == UNSEEN && entry->visit_ns == UNSEEN && entry->visited_ns == UNSEEN;
}

void lanepool_i_replay_note_cut(lanepool_i_replay *replay, size_t index)
{
    lanepool_replay_task *task = &replay->tasks[index];
    if (task->is_cut)
        return;
    if (task->state == LANEPOOL_REPLAY_WAITING && task->lane_count > 1)
        replay->seen.latched -= task->arrived;
    task->is_cut = true;
    for (size_t i = task->first_entry; i != NONE; i = replay->entries[i].next_of_task)
        replay->seen.to_visit += lanepool_i_replay_is_to_visit(replay, i);
}

void lanepool_i_replay_visit(lanepool_i_replay *replay, size_t index, uint16_t thread)
{
    lanepool_replay_entry *entry = &replay->entries[index];
    lanepool_i_replay_end_visit(replay, index); /* its VISITED was missed */
    replay->seen.to_visit -= lanepool_i_replay_is_to_visit(replay, index);
    replay->seen.visits++;
    entry->visit_ns = replay->seen.time_ns;
    entry->visited_ns = UNSEEN;
    entry->visitor = thread;
    if (thread < LANEPOOL_EVENT_OUTSIDE)
        replay->workers[thread].visit = index;
}

void lanepool_i_replay_end_visit(lanepool_i_replay *replay, size_t index)
{
    lanepool_replay_entry *entry = &replay->entries[index];
    if (entry->visit_ns == UNSEEN || entry->visited_ns != UNSEEN)
        return;
    entry->visited_ns = replay->seen.time_ns;
    replay->seen.visits--;
    if (entry->visitor < LANEPOOL_EVENT_OUTSIDE && replay->workers[entry->visitor].visit == index)
        replay->workers[entry->visitor].visit = NONE;
}

void lanepool_i_replay_note_visited(lanepool_i_replay *replay, size_t index)
{
    lanepool_replay_entry *entry = &replay->entries[index];
    lanepool_i_replay_end_visit(replay, index);
    replay->seen.to_visit -= lanepool_i_replay_is_to_visit(replay, index); /* VISIT was missed */
    entry->visited_ns = replay->seen.time_ns;
}

void lanepool_i_replay_end_visits(lanepool_i_replay *replay, size_t task)
{
    if (replay->seen.visits == 0)
        return;
    size_t entry = replay->tasks[task].first_entry;
    for (; entry != NONE; entry = replay->entries[entry].next_of_task)
        lanepool_i_replay_end_visit(replay, entry);
}
