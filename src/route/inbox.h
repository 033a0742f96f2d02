/*
 * The inbox: the queue of accepted tasks and messages that are not routed yet, in acceptance order.
 *
 * An append has two steps:
 *   1. A compare-and-swap moves `tail` to the new node. This fixes the node's position.
 *   2. A store links the node behind the previous one, or makes it the `head` if there was none.
 *      From now on the node can be taken.
 * Between the two steps the inbox is half linked. No thread waits for a missing link. The role's
 * holder stops in front of it and gives the role back; the appender wakes a worker after it has
 * made the link (sleep.h).
 *
 * No wake-up is lost there. The appender makes the link and then checks for sleepers. The link is a
 * release store, so the check may be executed before other threads see the link. The reader pays
 * for the order: on a missing link, or a tail without a head, it calls membarrier() and reads the
 * link again. The barrier in the appender's thread falls before or after the link:
 *   - After the link: the reader sees the link now.
 *   - Before the link: the check for sleepers is also after the barrier. It sees what the reader
 *     did before the barrier: the flag of a sleeper, or what the holder published.
 * If the system has no membarrier(), the appender makes the link by an exchange in the total order.
 *
 * Any number of threads may append at once (lock-free; wait-free while only one appends). Any
 * thread may call has_nodes, may_have_nodes and is_half_linked; the role's holder calls the rest.
 */
#ifndef LANEPOOL_SRC_ROUTE_INBOX_H
#define LANEPOOL_SRC_ROUTE_INBOX_H

#include "task/message.h"

/* The value of `tail` in a closed inbox. Never dereferenced. */
#define LANEPOOL_I_INBOX_CLOSED ((lanepool_i_task *)1)

/* Guards: A atomic, R role's holder. */
typedef struct lanepool_i_inbox {
    _Alignas(LANEPOOL_I_CACHE_LINE) _Atomic(lanepool_i_task *) tail; /* A: newest node, or closed */
    bool links_at_once; /* I: there is no membarrier(): links are exchanges */
    _Alignas(LANEPOOL_I_CACHE_LINE) _Atomic(lanepool_i_task *) head; /* A: oldest node not taken */
    /* A: R writes: `next` as last published; its lowest bit says is_half_linked. Searching workers
     * read this line, so no field in it changes with each task. */
    _Atomic(uintptr_t) rest;
    _Atomic uint32_t role;    /* A: the router's word: threads that read `rest` read it, too */
    _Atomic uint32_t crowded; /* A: R writes: 1 while the lanes are crowded; see router.h */
    _Alignas(LANEPOOL_I_CACHE_LINE) lanepool_i_task *next; /* R: oldest node taken, not routed */
    lanepool_i_task *taken_last;                           /* R: newest node taken */
    bool is_half_linked; /* R: the link behind `next` is missing */
    /* R: routing events of the same moment share one reading of the clock. A new moment begins
     * when the holder takes all, starts to route, or has carried out a message. */
    uint64_t moment;
} lanepool_i_inbox;

void lanepool_i_inbox_init(lanepool_i_inbox *inbox);

/* Makes a link. Release: a thread that sees the link sees the whole nodes. */
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
 * Appends nodes linked from first to last. Returns false if the inbox is closed; then nothing has
 * changed. `guess` is the node that this thread appended last, or NULL: if it is still the newest,
 * the tail's cache line is fetched only once.
 *
 * The tail moves in the total order of `seq` operations. A worker sets its sleep flag before its
 * last reading of the tail. If that reading misses the nodes, the flag precedes the append in the
 * total order. The appender's check for sleepers, after the append, then sees the flag.
 */
static inline bool lanepool_i_inbox_append(lanepool_i_inbox *inbox, lanepool_i_task *first,
                                           lanepool_i_task *last, lanepool_i_task *guess)
{
    store_relaxed(&last->next, NULL);
    lanepool_i_task *before = guess;
    /* A compare-and-swap, not an exchange, so that a closed inbox can refuse. Acquire and release:
     * the next appender's link overwrites `last->next` after the NULL stored above. */
    while (!cas_seq(&inbox->tail, &before, last))
        if (before == LANEPOOL_I_INBOX_CLOSED)
            return false;
    lanepool_i_inbox_make_link(inbox, before == NULL ? &inbox->head : &before->next, first);
    return true;
}

/* Reads a missing link again, after membarrier(); see above. */
lanepool_i_task *lanepool_i_inbox_reread_link(const lanepool_i_inbox *inbox,
                                              const _Atomic(lanepool_i_task *) *link);

/* Returns true if there is a head: a node appended since the role's holder last took all. Relaxed:
 * no caller decides by a missing head. The tail, which was moved before, is in the total order. */
static inline bool lanepool_i_inbox_has_first(const lanepool_i_inbox *inbox)
{
    if (load_relaxed(&inbox->head) != NULL)
        return true;
    const lanepool_i_task *tail = load_seq(&inbox->tail);
    return tail != NULL && tail != LANEPOOL_I_INBOX_CLOSED &&
           lanepool_i_inbox_reread_link(inbox, &inbox->head) != NULL;
}

/* Takes the whole list of appended nodes. Returns false if it is empty or its head is missing.
 * Clears `head` before `tail`: an appender that finds `tail` empty sets `head` anew, and that must
 * not be overwritten. */
static inline bool lanepool_i_inbox_take_all(lanepool_i_inbox *inbox)
{
    lanepool_i_task *head = load_acquire(&inbox->head);
    if (head == NULL)
        return false;
    store_relaxed(&inbox->head, NULL);
    inbox->taken_last = exchange_acq_rel(&inbox->tail, NULL);
    inbox->next = head;
    inbox->moment++;
    return true;
}

/* Takes the oldest node. Returns NULL if there is none, or if the link behind it is missing. */
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
    /* The submitter of a plain or a bare task has left a guess of a later task's address in the
     * first entry's link, which is unused until the task is routed. Any other wide task has its
     * kind or its room there, and to prefetch any address does no harm. */
    if ((load_relaxed(&task->word) & LANEPOOL_I_MESSAGE) == 0)
        lanepool_i_prefetch((const void *)load_relaxed(&task->as.plain[0].next));
    inbox->next = next;
    return task;
}

/* Lets other threads see what is left. Called before each give-back of the role. */
static inline void lanepool_i_inbox_publish(lanepool_i_inbox *inbox)
{
    store_seq(&inbox->rest, (uintptr_t)inbox->next | (inbox->is_half_linked ? 1 : 0));
}

/* Closes an empty inbox for ever. Returns false if it is not empty; true if it is now closed. */
bool lanepool_i_inbox_try_close(lanepool_i_inbox *inbox);

/* Returns true if nodes can be taken. Nodes behind a missing link do not count: the thread that
 * makes the link then wakes a worker for them. */
static inline bool lanepool_i_inbox_has_nodes(const lanepool_i_inbox *inbox)
{
    uintptr_t rest = load_seq(&inbox->rest);
    return (rest & 1) == 0 && (rest != 0 || lanepool_i_inbox_has_first(inbox));
}

/* Returns true if nodes can be taken; may miss one that is being appended. A caller must check with
 * has_nodes before it sleeps. */
static inline bool lanepool_i_inbox_may_have_nodes(const lanepool_i_inbox *inbox)
{
    uintptr_t rest = load_relaxed(&inbox->rest);
    return (rest & 1) == 0 && (rest != 0 || load_relaxed(&inbox->head) != NULL);
}

/* Role's holder: returns true if it can take another node. Other threads cannot tell while the role
 * is taken: `next` is not published. */
static inline bool lanepool_i_inbox_more(const lanepool_i_inbox *inbox)
{
    return !inbox->is_half_linked && (inbox->next != NULL || lanepool_i_inbox_has_first(inbox));
}

/* Returns true if nothing was appended since the role's holder last took all, and it has left
 * nothing. Role's holder only. */
static inline bool lanepool_i_inbox_is_empty(const lanepool_i_inbox *inbox)
{
    const lanepool_i_task *tail = load_seq(&inbox->tail);
    return inbox->next == NULL && (tail == NULL || tail == LANEPOOL_I_INBOX_CLOSED);
}

/* Returns true if the last holder stopped at a missing link. Only a holder of the role can find out
 * whether the link has been made since. */
static inline bool lanepool_i_inbox_is_half_linked(const lanepool_i_inbox *inbox)
{
    return (load_seq(&inbox->rest) & 1) != 0;
}

#endif
