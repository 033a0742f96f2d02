/*
 * The inbox: where submitted tasks stand, in acceptance order, until they are
 * routed.
 *
 * An append swings `tail` to the new node and then links it behind the old
 * one, or makes it the `head` if there was none: two steps. A node's place in
 * the order is fixed by the first; it can be routed after the second. A link
 * not yet made is never waited for: the taker stops there, and whoever
 * completes the link sees to it that someone comes (park.h).
 *
 * Who may call at once: append, any number of threads (lock-free; with one
 * appender, wait-free); left, any thread; the rest, the role's holder.
 */
#ifndef LANEPOOL_SRC_INBOX_H
#define LANEPOOL_SRC_INBOX_H

#include "task.h"

/* Stands in `tail` when the inbox is closed. Never dereferenced. */
#define LANEPOOL_I_INBOX_CLOSED ((lanepool_i_task *)1)

/* Guards: A atomic, R role's holder. */
typedef struct lanepool_i_inbox {
    _Alignas(LANEPOOL_I_APART) _Atomic(lanepool_i_task *) tail; /* A: newest node, or closed */
    _Alignas(LANEPOOL_I_APART) _Atomic(lanepool_i_task *) head; /* A: oldest not taken */
    /* A: R writes: what is taken and not routed. Read by all who search; what changes with each
     * task is kept away from it. */
    _Atomic(uintptr_t) rest;
    _Atomic uint32_t role; /* A: router.h's: who looks at these looks at it, too */
    _Alignas(LANEPOOL_I_APART) lanepool_i_task *next; /* R: the same, while the role is held */
    lanepool_i_task *taken_last;                      /* R: the newest that was taken */
    bool stalled;                                     /* R: the link behind `next` is missing */
} lanepool_i_inbox;

void lanepool_i_inbox_init(lanepool_i_inbox *inbox);

/*
 * Appends nodes linked from first to last. `guess` is the node that this
 * thread appended last, or NULL: if it is still the newest, its line need not
 * be fetched twice. False: closed, nothing has changed.
 *
 * On true the nodes are published by an operation in the total order of `seq`
 * operations: a look at the sleepers after it cannot miss one that missed them.
 */
static inline bool lanepool_i_inbox_append(lanepool_i_inbox *inbox, lanepool_i_task *first,
                                           lanepool_i_task *last, lanepool_i_task *guess)
{
    store_relaxed(&last->next, NULL);
    lanepool_i_task *before = guess;
    /* A compare-and-swap rather than an exchange, so that a closed inbox can refuse. Acquire and
     * release: the next appender writes into `last`, after what is written here. */
    while (!cas_acq_rel(&inbox->tail, &before, last))
        if (before == LANEPOOL_I_INBOX_CLOSED)
            return false;
    if (before == NULL)
        exchange_seq(&inbox->head, first);
    else
        exchange_seq(&before->next, first);
    return true;
}

/* The submitter has left word of a block that it has probably used some tasks later. */
static inline void lanepool_i_inbox_fetch_early(const lanepool_i_task *task)
{
    if ((load_relaxed(&task->word) & (LANEPOOL_I_WIDE | LANEPOOL_I_MESSAGE)) == 0)
        lanepool_i_prefetch((const void *)load_relaxed(&task->as.narrow[0].next));
}

/* All that has been appended is now taken; false: nothing, or the first link is not made yet. */
bool lanepool_i_inbox_take_all(lanepool_i_inbox *inbox);

/* The oldest node, which is now the caller's; NULL: none, or its link is not made yet. */
static inline lanepool_i_task *lanepool_i_inbox_take(lanepool_i_inbox *inbox)
{
    inbox->stalled = false;
    if (inbox->next == NULL && !lanepool_i_inbox_take_all(inbox))
        return NULL;
    lanepool_i_task *task = inbox->next;
    lanepool_i_task *next = NULL;
    if (task != inbox->taken_last) {
        /* In the total order: a link made after this load finds the sleepers that it missed. */
        next = load_seq(&task->next);
        if (next == NULL) {
            inbox->stalled = true;
            return NULL;
        }
    }
    lanepool_i_inbox_fetch_early(task);
    inbox->next = next;
    return task;
}
/* Lets other threads see what is left; before each give-back of the role. */
void lanepool_i_inbox_publish(lanepool_i_inbox *inbox);
/* Closes an empty inbox for ever, or finds it closed; false: it is not empty. */
bool lanepool_i_inbox_try_close(lanepool_i_inbox *inbox);

/* Whether nodes can be taken. Behind a missing link nothing can, whatever stands there: who makes
 * the link sees to the rest. */
static inline bool lanepool_i_inbox_left(const lanepool_i_inbox *inbox)
{
    uintptr_t rest = load_seq(&inbox->rest);
    return (rest & 1) == 0 && (rest != 0 || load_seq(&inbox->head) != NULL);
}

/* The role's holder: whether it could take another. From outside that cannot be told while the role
 * is held, since what is taken is then not published. */
static inline bool lanepool_i_inbox_more(const lanepool_i_inbox *inbox)
{
    return !inbox->stalled && (inbox->next != NULL || load_seq(&inbox->head) != NULL);
}

/* Whether the taker stopped at a missing link: the role's holder can tell whether it is made. */
static inline bool lanepool_i_inbox_is_stalled(const lanepool_i_inbox *inbox)
{
    return (load_seq(&inbox->rest) & 1) != 0;
}

#endif
