/*
 * The conflict rules by brute force: a few tasks, which of them conflict, and which may run.
 *
 * A task may run when every earlier task that it conflicts with has finished. Nothing else matters.
 */
#ifndef TESTS_SUPPORT_CONFLICT_MODEL_H
#define TESTS_SUPPORT_CONFLICT_MODEL_H

#include <stdbool.h>
#include <stdint.h>

enum { MODEL_TASKS_MAX = 8 };

struct conflict_model {
    uint32_t count;
    bool allows[MODEL_TASKS_MAX][MODEL_TASKS_MAX]; /* the rule's answer for (row, column) */
    uint32_t submitted;                            /* the tasks 0 to submitted - 1 */
    bool finished[MODEL_TASKS_MAX];
};

bool model_conflict(const struct conflict_model *model, uint32_t a, uint32_t b);

/* Returns true if the task has been submitted, has not finished, and waits for no other task. */
bool model_may_run(const struct conflict_model *model, uint32_t task);

/* Returns the first task that has been submitted and has not finished; `count` if there is none. */
uint32_t model_oldest(const struct conflict_model *model);

#endif
