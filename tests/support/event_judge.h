/*
 * Judges a pool's events, given in the order in which they were read: that each task goes from
 * submit to end step by step, that lanes are held as their claims say, that nothing is missing.
 */
#ifndef TESTS_SUPPORT_EVENT_JUDGE_H
#define TESTS_SUPPORT_EVENT_JUDGE_H

#include <stdbool.h>

#include "lanepool/lanepool.h"

struct event_judge;

/* Ends the program when memory is lacking. */
struct event_judge *event_judge_create(void);
void event_judge_destroy(struct event_judge *judge);

/* Tasks may hand over to others, whose events have the same tickets. */
void event_judge_expect_heirs(struct event_judge *judge);

void event_judge_add(struct event_judge *judge, const lanepool_event *event);

/* How many tasks were routed so far. */
uint32_t event_judge_tasks(const struct event_judge *judge);

/* What was wrong first, or NULL. */
const char *event_judge_problem(const struct event_judge *judge);

/* The same when the pool has come to its end: nothing may be under way. */
const char *event_judge_end(struct event_judge *judge);

/* Adds all that the reader still has; false: memory is lacking, and something may be missing. */
bool event_judge_read(struct event_judge *judge, lanepool_trace_reader *reader);

#endif
