/* The inbox: a list to which any thread appends by one exchange. The role's holder takes all of it
 * at once. */
#ifndef FLOOR_INBOX_H
#define FLOOR_INBOX_H

#include <stdalign.h>

#include "floor/spin.h"
#include "floor/task.h"

struct floor_inbox {
    alignas(128) _Atomic(struct floor_task *) last;
    alignas(128) _Atomic(struct floor_task *) first;
};

static inline bool floor_inbox_has(struct floor_inbox *inbox)
{
    return atomic_load_explicit(&inbox->last, memory_order_relaxed) != NULL;
}

/* Appends a task. Returns true if the inbox was empty: then a sleeper must be woken. */
static inline bool floor_inbox_push(struct floor_inbox *inbox, struct floor_task *task)
{
    atomic_store_explicit(&task->next, NULL, memory_order_relaxed);
    struct floor_task *before = atomic_exchange_explicit(&inbox->last, task, memory_order_seq_cst);
    if (before != NULL)
        atomic_store_explicit(&before->next, task, memory_order_release);
    else
        atomic_store_explicit(&inbox->first, task, memory_order_release);
    return before == NULL;
}

/* Takes all tasks. Returns the first one, or NULL; stores the last one in `last`. */
static inline struct floor_task *floor_inbox_take(struct floor_inbox *inbox,
                                                  struct floor_task **last)
{
    if (!floor_inbox_has(inbox))
        return NULL;
    struct floor_task *first = atomic_load_explicit(&inbox->first, memory_order_acquire);
    if (first == NULL) /* the submitter is between its two steps */
        return NULL;
    atomic_store_explicit(&inbox->first, NULL, memory_order_relaxed);
    *last = atomic_exchange_explicit(&inbox->last, NULL, memory_order_acq_rel);
    return first;
}

/* Returns the task after `task`, which is not the last one. Its link may not be made yet: then
 * waits for it. */
static inline struct floor_task *floor_inbox_after(struct floor_task *task)
{
    struct floor_task *next;
    unsigned spins = 0;
    while ((next = atomic_load_explicit(&task->next, memory_order_acquire)) == NULL)
        floor_spin(&spins);
    return next;
}

#endif
