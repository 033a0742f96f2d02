/*
 * Shared by the files of the model.
 */
#ifndef LANEVIEW_MODEL_INTERNAL_H
#define LANEVIEW_MODEL_INTERNAL_H

#include "model/model.h"

/* The list of the tasks in a state; NULL if the state has no list. */
struct model_list *model_list_of(struct model *model, enum model_state state);

/* Adds a task without a ticket, in the state SUBMITTED. */
size_t model_add_task(struct model *model);

void model_give_ticket(struct model *model, size_t task, uint64_t ticket);

/* Returns the task with a ticket. Adds the task if the ticket was not seen before. */
size_t model_task_of(struct model *model, uint64_t ticket);

/* Moves a task to a later state; a task that has failed may go back to READY or RUNNING. Returns
 * false, and does nothing, if the task is in this state or in a later one. */
bool model_advance_task(struct model *model, size_t task, enum model_state state);

/* Moves a task to any other state. */
void model_set_state(struct model *model, size_t task, enum model_state state);

/* Feeds RETRY or PARK: an attempt has failed. A PARK may follow a RETRY. */
void model_fail(struct model *model, size_t task, const lanepool_event *event);

/* Grants all entries of a task. A task that is ready has been granted everywhere, even if events
 * were missed. */
void model_arrive_everywhere(struct model *model, size_t task);

/* The lane that an event names; MODEL_NONE if the event names a task or a kind instead. */
size_t model_lane_of(struct model *model, const lanepool_event *event);

/* Feeds a NAME event. */
void model_name_lane(struct model *model, const lanepool_event *event);

/* The entry of a task that an event is about; MODEL_NONE if there is none. */
size_t model_find_entry(struct model *model, size_t task, const lanepool_event *event);

/* Adds an entry at the end of its lane; at the head if its ENTER was missed. */
size_t model_add_entry(struct model *model, size_t task, const lanepool_event *event, bool at_head);

/* Grants or releases an entry. Each does nothing the second time. */
void model_arrive(struct model *model, size_t entry);
void model_release(struct model *model, size_t entry);

/* Cancels a task whose END was missed, and releases its entries. */
void model_give_up(struct model *model, size_t task);

/* Brings the spans of all workers up to date. */
void model_update_workers(struct model *model);

void model_push_run(struct model *model, unsigned worker, size_t task);
void model_pop_run(struct model *model, size_t task);

#endif
