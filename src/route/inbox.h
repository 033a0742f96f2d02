/*
 * The inbox: where submitted tasks stand, in acceptance order, until they are
 * routed.
 *
 * An append swings `tail` to the new node and then links it behind the old
 * one, or makes it the `head` if there was none: two steps. A node's place in
 * the order is fixed by the first; it can be routed after the second. A link
 * not yet made is not waited for: the taker stops there, and whoever completes
 * the link sees to it that someone comes (sleep.h).
 *
 * For that the appender looks at the sleepers after it made the link. It is not
 * the appender that pays for this order: its link is a plain store, which may
 * become visible after the look. Who finds a link missing, or a tail without a
 * head, has every other thread pass a barrier, and reads once more. What is then
 * still missing is stored, and so the look made, after all that the reader did
 * before. Where the system has no such barrier links are made at once, by an
 * operation in the total order.
 *
 * Who may call at once: append, any number of threads (lock-free; with one
 * appender, wait-free); left, any thread; the rest, the role's holder.
 */
#ifndef LANEPOOL_SRC_ROUTE_INBOX_H
#define LANEPOOL_SRC_ROUTE_INBOX_H

#include "task/message.h"

/* Stands in `tail` when the inbox is closed. Never dereferenced. */
#define LANEPOOL_I_INBOX_CLOSED ((lanepool_i_task *)1)

/* Guards: A atomic, R role's holder. */
typedef struct lanepool_i_inbox {
    _Alignas(LANEPOOL_I_CACHE_LINE) _Atomic(lanepool_i_task *) tail; /* A: newest node, or closed */
    bool links_at_once;                                              /* I: there is no barrier */
    _Alignas(LANEPOOL_I_CACHE_LINE) _Atomic(lanepool_i_task *) head; /* A: oldest not taken */
    /* A: R writes: what is taken and not routed. Read by all who search; what changes with each
     * task is kept away from it. */
    _Atomic(uintptr_t) rest;
    _Atomic uint32_t role; /* A: router.h's: who looks at these looks at it, too */
    _Alignas(LANEPOOL_I_CACHE_LINE) lanepool_i_task *next; /* R: the same, while the role is held */
    lanepool_i_task *taken_last;                           /* R: the newest that was taken */
    bool is_half_linked; /* R: the link behind `next` is missing */
    uint64_t moment;     /* R: another one whenever the holder may have seen what it had not, or has
                          spent time: when it takes all, when another may have held the role before,
                          after a message */
} lanepool_i_inbox;

void lanepool_i_inbox_init(lanepool_i_inbox *inbox);

/* Release: the nodes are whole when the link is seen. */
static inline void lanepool_i_inbox_make_link(const lanepool_i_inbox *inbox,
                                              _Atomic(lanepool_i_task *) *link,
                                              lanepool_i_task *node)
{
    if (inbox->links_at_once)
        exchange_seq(link, node);
    else
        store_release(link, node);
}

/*
 * Appends nodes linked from first to last. `guess` is the node that this
 * thread appended last, or NULL: if it is still the newest, its line need not
 * be fetched twice. False: closed, nothing has changed.
 *
 * The tail moves in the total order of `seq` operations. A look at the sleepers after the append
 * cannot miss one that missed the nodes.
 */
static inline bool lanepool_i_inbox_append(lanepool_i_inbox *inbox, lanepool_i_task *first,
                                           lanepool_i_task *last, lanepool_i_task *guess)
{
    store_relaxed(&last->next, NULL);
    lanepool_i_task *before = guess;
    /* A compare-and-swap rather than an exchange, so that a closed inbox can refuse. Acquire and
     * release: the next appender writes into `last`, after what is written here. */
    while (!cas_seq(&inbox->tail, &before, last))
        if (before == LANEPOOL_I_INBOX_CLOSED)
            return false;
    lanepool_i_inbox_make_link(inbox, before == NULL ? &inbox->head : &before->next, first);
    return true;
}

/* What a link that was found missing says after the barrier. */
lanepool_i_task *lanepool_i_inbox_reread_link(const lanepool_i_inbox *inbox,
                                              const _Atomic(lanepool_i_task *) *link);

/* Whether there is a first node to be taken; from outside, of what was appended since the last
 * taking of all. */
static inline bool lanepool_i_inbox_has_first(const lanepool_i_inbox *inbox)
{
    if (load_seq(&inbox->head) != NULL)
        return true;
    const lanepool_i_task *tail = load_seq(&inbox->tail);
    return tail != NULL && tail != LANEPOOL_I_INBOX_CLOSED &&
           lanepool_i_inbox_reread_link(inbox, &inbox->head) != NULL;
}

/* The submitter has left word of a block that it has probably used some tasks later. */
static inline void lanepool_i_inbox_prefetch_block(const lanepool_i_task *task)
{
    if ((load_relaxed(&task->word) & (LANEPOOL_I_WIDE | LANEPOOL_I_MESSAGE)) == 0)
        lanepool_i_prefetch((const void *)load_relaxed(&task->as.narrow[0].next));
}

/* All that has been appended is now taken; false: nothing, or the first link is not made yet. */
bool lanepool_i_inbox_take_all(lanepool_i_inbox *inbox);

/* The oldest node, which is now the caller's; NULL: none, or its link is not made yet. */
static inline lanepool_i_task *lanepool_i_inbox_take(lanepool_i_inbox *inbox)
{
    inbox->is_half_linked = false;
    if (inbox->next == NULL && !lanepool_i_inbox_take_all(inbox))
        return NULL;
    lanepool_i_task *task = inbox->next;
    lanepool_i_task *next = NULL;
    if (task != inbox->taken_last) {
        next = load_acquire(&task->next);
        if (next == NULL)
            next = lanepool_i_inbox_reread_link(inbox, &task->next);
        if (next == NULL) {
            inbox->is_half_linked = true;
            return NULL;
        }
    }
    lanepool_i_inbox_prefetch_block(task);
    inbox->next = next;
    return task;
}
/* Lets other threads see what is left; before each give-back of the role. */
void lanepool_i_inbox_publish(lanepool_i_inbox *inbox);
/* Closes an empty inbox for ever, or finds it closed; false: it is not empty. */
bool lanepool_i_inbox_try_close(lanepool_i_inbox *inbox);

/* Whether nodes can be taken. Behind a missing link nothing can, whatever stands there: who makes
 * the link sees to the rest. */
static inline bool lanepool_i_inbox_has_nodes(const lanepool_i_inbox *inbox)
{
    uintptr_t rest = load_seq(&inbox->rest);
    return (rest & 1) == 0 && (rest != 0 || lanepool_i_inbox_has_first(inbox));
}

/* The same for who will look again: it may miss what is being appended. */
static inline bool lanepool_i_inbox_may_have_nodes(const lanepool_i_inbox *inbox)
{
    uintptr_t rest = load_relaxed(&inbox->rest);
    return (rest & 1) == 0 && (rest != 0 || load_relaxed(&inbox->head) != NULL);
}

/* The role's holder: whether it could take another. From outside that cannot be told while the role
 * is held, since what is taken is then not published. */
static inline bool lanepool_i_inbox_more(const lanepool_i_inbox *inbox)
{
    return !inbox->is_half_linked && (inbox->next != NULL || lanepool_i_inbox_has_first(inbox));
}

/* Whether the taker stopped at a missing link: the role's holder can tell whether it is made. */
static inline bool lanepool_i_inbox_is_half_linked(const lanepool_i_inbox *inbox)
{
    return (load_seq(&inbox->rest) & 1) != 0;
}

#endif
