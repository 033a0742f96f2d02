/*
 * The parts of a replay, shared by its files.
 */
#ifndef LANEPOOL_SRC_INSPECT_REPLAY_PARTS_H
#define LANEPOOL_SRC_INSPECT_REPLAY_PARTS_H

#include "lanepool/replay.h"

#include "inspect/growing.h"

/* The parts of a lane's name that were seen. */
typedef struct lanepool_i_replay_name {
    char bytes[LANEPOOL_EVENT_NAME_MAX];
    uint32_t size;
    bool is_new; /* no lane has been given the name yet */
} lanepool_i_replay_name;

/* Types of pairs in the table, besides those of lanes. */
enum {
    LANEPOOL_I_BY_TICKET = 16,
    LANEPOOL_I_BY_SUBMISSION = 17,
    LANEPOOL_I_BY_NAME = 32,    /* plus the lane's type; the number is a hash of the name */
    LANEPOOL_I_NAME_PARTS = 64, /* plus the lane's type: to an index of `names` */
};

typedef struct lanepool_i_replay {
    lanepool_replay seen; /* first: programs have a pointer to it */
    unsigned keep;
    lanepool_replay_task *tasks;
    lanepool_replay_entry *entries;
    lanepool_replay_lane *lanes;
    lanepool_replay_worker *workers;
    lanepool_i_replay_name *names;
    size_t name_count;
    size_t task_capacity, entry_capacity, lane_capacity, worker_capacity, name_capacity;
    size_t gone_tasks; /* list by `next`: free with the next event */
    size_t free_tasks; /* lists by `next`, and of lanes by `first_open` */
    size_t free_entries;
    size_t free_lanes;
    lanepool_i_table table;
} lanepool_i_replay;

/* --- tasks --- */

/* Adds a task without a ticket, in the state SUBMITTED. */
size_t lanepool_i_replay_add_task(lanepool_i_replay *replay);

void lanepool_i_replay_give_ticket(lanepool_i_replay *replay, size_t task, uint64_t ticket);
void lanepool_i_replay_give_submission(lanepool_i_replay *replay, size_t task, uint64_t submission);

/* Returns the task with a ticket. Adds the task if the ticket was not seen before. */
size_t lanepool_i_replay_task_of(lanepool_i_replay *replay, uint64_t ticket);

/* Moves a task to a later state; a task that has failed may go back to READY or RUNNING. Returns
 * false, and does nothing, if the task is in this state or in a later one. */
bool lanepool_i_replay_advance(lanepool_i_replay *replay, size_t task, lanepool_replay_state state);

/* An attempt has failed. A PARK may follow a RETRY. */
void lanepool_i_replay_fail(lanepool_i_replay *replay, size_t task, const lanepool_event *event);

/* Cancels a task whose END was missed, and releases its entries. */
void lanepool_i_replay_give_up(lanepool_i_replay *replay, size_t task);

void lanepool_i_replay_push_run(lanepool_i_replay *replay, size_t worker, size_t task);

/* Takes a task off its worker. The tasks that run inside it are over, too: their END was missed. */
void lanepool_i_replay_pop_run(lanepool_i_replay *replay, size_t task);

/* A retried cut waits again until it has made its visits. */
void lanepool_i_replay_wait_again(lanepool_i_replay *replay, size_t task);

/* Without LANEPOOL_REPLAY_TASKS: frees a task with the next event if it is over and in no lane. */
void lanepool_i_replay_drop_if_over(lanepool_i_replay *replay, size_t task);
void lanepool_i_replay_free_gone(lanepool_i_replay *replay);

/* --- lanes and entries --- */

bool lanepool_i_replay_is_lane(uint8_t type);

/* Takes in a NAME event. */
void lanepool_i_replay_name_lane(lanepool_i_replay *replay, const lanepool_event *event);

/* Returns the entry of a task that an event is about; NONE if there is none. */
size_t lanepool_i_replay_find_entry(lanepool_i_replay *replay, size_t task,
                                    const lanepool_event *event);

/* Adds an entry at the end of its lane; at the head if its ENTER was missed. */
size_t lanepool_i_replay_add_entry(lanepool_i_replay *replay, size_t task,
                                   const lanepool_event *event, bool at_head);

/* Grants or releases an entry. Each does nothing, and returns false, the second time. */
bool lanepool_i_replay_grant(lanepool_i_replay *replay, size_t entry);
bool lanepool_i_replay_release(lanepool_i_replay *replay, size_t entry);

/* Grants all entries of a task. A task that is ready has been granted everywhere, even if events
 * were missed. */
void lanepool_i_replay_grant_all(lanepool_i_replay *replay, size_t task);
/* Releases all entries of a task. */
void lanepool_i_replay_release_all(lanepool_i_replay *replay, size_t task);

/* --- visits --- */

/* Returns true if a cut has been granted an entry and has not begun to visit its lane. */
bool lanepool_i_replay_is_to_visit(const lanepool_i_replay *replay, size_t entry);

/* An event shows that the task is a cut. */
void lanepool_i_replay_note_cut(lanepool_i_replay *replay, size_t task);

/* A visit begins. */
void lanepool_i_replay_visit(lanepool_i_replay *replay, size_t entry, uint16_t thread);

/* Ends the visit that is being made, if any. */
void lanepool_i_replay_end_visit(lanepool_i_replay *replay, size_t entry);

/* A visit has ended, also if its begin was missed. */
void lanepool_i_replay_note_visited(lanepool_i_replay *replay, size_t entry);

/* Ends all visits of a task. */
void lanepool_i_replay_end_visits(lanepool_i_replay *replay, size_t task);

#endif
