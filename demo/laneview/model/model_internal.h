/*
 * What the files of the model share.
 */
#ifndef LANEVIEW_MODEL_INTERNAL_H
#define LANEVIEW_MODEL_INTERNAL_H

#include "model/model.h"

/* The list of the tasks in a state; NULL: they are not listed. */
struct model_list *model_list_of(struct model *model, enum model_state state);

/* Adds a task of which nothing is known yet. */
size_t model_add_task(struct model *model);

void model_give_ticket(struct model *model, size_t task, uint64_t ticket);

/* The task with a ticket; one that was never seen before begins here. */
size_t model_task_of(struct model *model, uint64_t ticket);

/* Tasks only go forward, but for those that are tried again: false, and nothing done, if it is
 * there already or further. */
bool model_advance_task(struct model *model, size_t task, enum model_state state);

/* From one state to another, whichever they are. */
void model_set_state(struct model *model, size_t task, enum model_state state);

/* RETRY or KEEP: nobody runs the task until its next attempt. A KEEP may follow a RETRY. */
void model_fail(struct model *model, size_t task, const lanepool_event *event);

/* A task that is ready has arrived everywhere, whether or not all events have been seen. */
void model_arrive_everywhere(struct model *model, size_t task);

/* The lane that an event names; MODEL_NONE if it stands for tasks. */
size_t model_lane_of(struct model *model, const lanepool_event *event);

/* Takes in a NAME event. */
void model_name_lane(struct model *model, const lanepool_event *event);

/* The entry of a task that an event of it is about; MODEL_NONE. */
size_t model_find_entry(struct model *model, size_t task, const lanepool_event *event);

/* Adds an entry, at the end of its lane or, if it must have been there before, at its head. */
size_t model_add_entry(struct model *model, size_t task, const lanepool_event *event, bool at_head);

/* The steps of an entry; each does nothing the second time. */
void model_arrive(struct model *model, size_t entry);
void model_release(struct model *model, size_t entry);

/* A task that is over without its END and RELEASE having been seen. */
void model_give_up(struct model *model, size_t task);

/* Brings the spans of all workers up to what is true now. */
void model_update_workers(struct model *model);

void model_push_run(struct model *model, unsigned worker, size_t task);
void model_pop_run(struct model *model, size_t task);

#endif
