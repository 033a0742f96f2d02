/* A worker's queue of ready tasks: a list under a lock that its owner almost always gets at
 * once. */
#ifndef FLOOR_READY_H
#define FLOOR_READY_H

#include <stdalign.h>

#include "floor/spin.h"
#include "floor/task.h"

#define FLOOR_TAKEN_MAX 32

struct floor_ready {
    alignas(128) atomic_bool lock;
    atomic_int count;
    struct floor_task *first, *last;
};

/* A linked list of tasks. */
struct floor_list {
    struct floor_task *first, *last;
    int count;
};

static inline void floor_list_add(struct floor_list *list, struct floor_task *task)
{
    if (list->last != NULL)
        atomic_store_explicit(&list->last->next, task, memory_order_relaxed);
    else
        list->first = task;
    list->last = task;
    list->count++;
}

static inline int floor_ready_count(struct floor_ready *ready)
{
    return atomic_load_explicit(&ready->count, memory_order_relaxed);
}

static inline void floor_ready_add(struct floor_ready *ready, const struct floor_list *list)
{
    if (list->count == 0)
        return;
    atomic_store_explicit(&list->last->next, NULL, memory_order_relaxed);
    floor_lock(&ready->lock);
    if (ready->first != NULL)
        atomic_store_explicit(&ready->last->next, list->first, memory_order_relaxed);
    else
        ready->first = list->first;
    ready->last = list->last;
    atomic_store_explicit(&ready->count, floor_ready_count(ready) + list->count,
                          memory_order_relaxed);
    floor_unlock(&ready->lock);
}

/* Takes the first `count` tasks, which must exist. Needs the lock. */
static inline struct floor_list floor_ready_cut(struct floor_ready *ready, int count)
{
    struct floor_list cut = { ready->first, ready->first, count };
    for (int i = 1; i < count; i++)
        cut.last = atomic_load_explicit(&cut.last->next, memory_order_relaxed);
    ready->first = atomic_load_explicit(&cut.last->next, memory_order_relaxed);
    atomic_store_explicit(&ready->count, floor_ready_count(ready) - count, memory_order_relaxed);
    return cut;
}

/* Returns the first task, or NULL. For the owner. */
static inline struct floor_task *floor_ready_pop(struct floor_ready *ready)
{
    struct floor_task *task = NULL;
    if (floor_ready_count(ready) == 0)
        return NULL;
    floor_lock(&ready->lock);
    if (floor_ready_count(ready) > 0)
        task = floor_ready_cut(ready, 1).first;
    floor_unlock(&ready->lock);
    return task;
}

/* Takes the older half, up to a limit; possibly no tasks. For other workers. */
static inline struct floor_list floor_ready_halve(struct floor_ready *ready)
{
    struct floor_list half = { NULL, NULL, 0 };
    if (floor_ready_count(ready) == 0 || !floor_try_lock(&ready->lock))
        return half;
    int count = (floor_ready_count(ready) + 1) / 2;
    if (count > 0)
        half = floor_ready_cut(ready, count < FLOOR_TAKEN_MAX ? count : FLOOR_TAKEN_MAX);
    floor_unlock(&ready->lock);
    return half;
}

#endif
