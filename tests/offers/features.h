/*
 * What each sort of pool offers, found out from outside: for each feature a function that uses it
 * in a pool of the given sort. The page docs/features.md is made of the answers.
 */
#ifndef TESTS_FEATURES_FEATURES_H
#define TESTS_FEATURES_FEATURES_H

#include "lanepool/lanepool.h"

enum { SORTS = 4 };

/* The sort of a pool: its layout and its conflict rule. */
struct sort {
    const char *title;
    lanepool_layout layout;
    lanepool_compatible_fn rule;
};

/* The description is NULL in a row that begins a section. */
struct feature {
    const char *name;
    const char *how; /* what a program calls or sets */
    /* Returns OK if the feature was used and has worked, and UNSUPPORTED if it was refused. Any
     * other answer is a defect. */
    lanepool_status (*try)(const struct sort *sort);
};

extern const struct feature features[];
extern const size_t feature_count;

/* A field of a description that some ways to submit refuse. */
struct field {
    const char *name;
    void (*set)(lanepool_task *task, lanepool_pool *pool);
    void (*unset)(void);
};

enum {
    FIELD_CLAIMS,
    FIELD_FUTURE,
    FIELD_GROUP,
    FIELD_PUMP,
    FIELD_PRIORITY,
    FIELD_TAG,
    FIELD_POLICY,
    FIELD_DEADLINES
};

extern const struct field fields[];
extern const size_t field_count;

/* A way to submit. */
struct way {
    const char *name;
    lanepool_status (*submit)(lanepool_pool *pool, lanepool_task *task);
};

enum { WAY_NOW, WAY_WITHIN, WAY_BATCH, WAY_OR_RUN, WAY_AFTER, WAY_EVERY };

extern const struct way ways[];
extern const size_t way_count;

/* Submits one task with the field in the given way, and waits for its end. The field may be NULL.
 */
lanepool_status try_way(const lanepool_options *options, const struct way *way,
                        const struct field *field);

/* frames.c: what the functions of features share. */

enum { KEY = 7 };

/* The options of a pool of the sort. */
lanepool_options options_of(const struct sort *sort);

/* Returns the first status that is not OK. */
lanepool_status first_of(lanepool_status earlier, lanepool_status later);

/* A task that does nothing. */
lanepool_task nothing(void);
/* A lanepool_at_lane_fn that does nothing. */
int visit_nothing(lanepool_run *run, void *context, size_t index);

/* An exclusive claim on KEY. */
lanepool_claim exclusive(void);

/* Calls `use` with a pool that has the options. */
lanepool_status with_options(const lanepool_options *options,
                             lanepool_status (*use)(lanepool_pool *pool));

/* Calls `use` with a pool of the sort. */
lanepool_status with_pool(const struct sort *sort, lanepool_status (*use)(lanepool_pool *pool));

/* Calls `use` with the lane of KEY. */
lanepool_status with_lane(lanepool_pool *pool, lanepool_status (*use)(lanepool_lane *lane));

/* Submits the task and waits for its end. */
lanepool_status run_task(lanepool_pool *pool, lanepool_task *task);

/* Runs a task with exclusive claims on KEY and the next key. The functions may be NULL. */
lanepool_status run_with_two(lanepool_pool *pool, lanepool_at_lane_fn at_lane,
                             lanepool_at_lane_fn at_grant);

/* Runs a task that does nothing and has the claim. */
lanepool_status run_with_claim(lanepool_pool *pool, lanepool_claim claim);

/* Has a task make the call; the task claims KEY if the pool's tasks may. */
lanepool_status call_in_task(lanepool_pool *pool, lanepool_status (*call)(lanepool_run *run));

#endif
