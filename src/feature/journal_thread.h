/* The journal's thread, and what the appenders of tasks share with it; see journal.h. */
#ifndef LANEPOOL_SRC_FEATURE_JOURNAL_THREAD_H
#define LANEPOOL_SRC_FEATURE_JOURNAL_THREAD_H

#include "feature/journal.h"

/* The journal is the first feature with room, and has the front of the line behind a plain task. */
static inline lanepool_i_journal_room *lanepool_i_journal_room_of(const lanepool_pool *pool,
                                                                  lanepool_i_task *task)
{
    void *room = lanepool_i_task_line(task)->front;
    if (lanepool_i_task_is_wide(task))
        room = pool->room.at != 0 ? (char *)task + pool->room.at : task->as.wide.room;
    return room;
}

_Static_assert(sizeof(lanepool_i_journal_room) <= sizeof((lanepool_i_line_behind *)0)->front,
               "a plain task has room for it");

/* Frees the block that stands for a part of a task. */
void lanepool_i_journal_free_part(lanepool_pool *pool, lanepool_i_thread_record *record,
                                  lanepool_i_task *block);
/* Wakes the journal's thread if it sleeps. Called after `tail` or `ends` was changed. */
static inline void lanepool_i_journal_wake(lanepool_i_journal *journal)
{
    if (load_seq(&journal->sleeps) != 0 && exchange_seq(&journal->sleeps, 0) != 0)
        lanepool_i_semaphore_post(&journal->semaphore);
}

#endif
