/* Reads the notes that a scenario's tasks leave; see scene.h. */
#ifndef TESTS_SIMULATED_NOTES_H
#define TESTS_SIMULATED_NOTES_H

#include "simulated/scene.h"

static inline uint64_t noted_at(const _Atomic uint64_t *moment)
{
    return atomic_load_explicit(moment, memory_order_relaxed);
}

static inline bool noted_is_accepted(const struct scene_task *task)
{
    return noted_at(&task->submit_end) != 0 &&
           atomic_load_explicit(&task->submitted, memory_order_relaxed) == LANEPOOL_OK;
}

static inline bool noted_is_in_submit(const struct scene_task *task)
{
    return noted_at(&task->submit_begin) != 0 && noted_at(&task->submit_end) == 0;
}

static inline enum scene_call noted_call(const struct scene_task *task)
{
    return (enum scene_call)atomic_load_explicit(&task->call, memory_order_relaxed);
}

static inline int noted_index(const struct scene_task *task)
{
    return (int)(task - scene.tasks);
}

#endif
