/* One lane, and tasks with one claim on it, named by letters. The test's thread has the role. */
#ifndef TESTS_UNIT_LANE_TASKS_H
#define TESTS_UNIT_LANE_TASKS_H

#include "support/test.h"
#include "unit/blocks.h"

enum { LANE_TASKS = 26 };

struct lane_tasks {
    lanepool_i_lane lane;
    struct plain_block blocks[LANE_TASKS];
    lanepool_i_grants grants;
    char ready[LANE_TASKS + 1];
};

static inline void lane_tasks_init(struct lane_tasks *all)
{
    memset(all, 0, sizeof *all);
    lanepool_i_lane_init(&all->lane);
    all->grants = lanepool_i_no_grants(NULL);
    for (size_t i = 0; i < LANE_TASKS; i++) {
        plain_init(&all->blocks[i], i + 1, 1);
    }
}

static inline struct plain_block *block_of(struct lane_tasks *all, char name)
{
    return &all->blocks[name - 'a'];
}

static inline lanepool_i_entry *entry_of(struct lane_tasks *all, char name)
{
    return &block_of(all, name)->task.as.plain[0];
}

/* Returns true if the entry was granted at once. */
static inline bool append(struct lane_tasks *all, char name, lanepool_mode mode)
{
    return lanepool_i_lane_append(&all->lane, plain_link(block_of(all, name), 0, mode),
                                  &all->grants);
}

/* Appends each named task in turn; all of them must wait. */
static inline void append_waiting(struct lane_tasks *all, const char *names, lanepool_mode mode)
{
    for (; *names != '\0'; names++) {
        expect(!append(all, *names, mode));
    }
}

/* Finishes one granted task. */
static inline void release(struct lane_tasks *all)
{
    lanepool_i_lane_release(&all->lane, &all->grants);
}

/* Returns the names of the tasks that became ready since the last call, in order. */
static inline const char *take_ready(struct lane_tasks *all)
{
    size_t count = 0;
    const lanepool_i_task *task;

    while (count < LANE_TASKS && (task = lanepool_i_tasks_take(&all->grants.ready)) != NULL) {
        all->ready[count++] = (char)('a' + lanepool_i_task_ticket(task) - 1);
    }
    all->ready[count] = '\0';
    return all->ready;
}

#define expect_ready(all, names) expect(strcmp(take_ready(all), names) == 0)

static inline void expect_idle(const struct lane_tasks *all)
{
    expect(lanepool_i_lane_is_idle(&all->lane));
    expect_eq(all->grants.ready.count, 0);
    expect_eq(all->grants.latched, 0);
}

#endif
