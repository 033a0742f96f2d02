/*
 * Judges a pool's events in the order in which they were read. Each task passes its steps from
 * submit to end, lanes are granted as the claims say, and no event is missing.
 */
#ifndef TESTS_SUPPORT_EVENT_JUDGE_H
#define TESTS_SUPPORT_EVENT_JUDGE_H

#include <stdbool.h>

#include "lanepool/lanepool.h"

struct event_judge;

/* Ends the program if memory cannot be allocated. */
struct event_judge *event_judge_create(void);
void event_judge_destroy(struct event_judge *judge);

/* Tasks may hand over to receivers, whose events have the same tickets. */
void event_judge_expect_heirs(struct event_judge *judge);

void event_judge_add(struct event_judge *judge, const lanepool_event *event);

/* Returns how many tasks were routed so far. */
uint32_t event_judge_tasks(const struct event_judge *judge);

/* Returns the first problem, or NULL. */
const char *event_judge_problem(const struct event_judge *judge);

/* To be called when the pool has ended: no task may be unfinished. Returns the first problem, or
 * NULL. */
const char *event_judge_end(struct event_judge *judge);

/* Adds all events that the reader still has. Returns false if memory cannot be allocated; then
 * events may be missing. */
bool event_judge_read(struct event_judge *judge, lanepool_trace_reader *reader);

#endif
