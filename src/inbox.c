/* Owns the inbox's list; the protocol is in inbox.h. */
#include "inbox.h"

/* Stands in `tail` when the inbox is closed. Never dereferenced. */
#define CLOSED ((lanepool_i_task *)1)

void lanepool_i_inbox_init(lanepool_i_inbox *inbox)
{
    atomic_init(&inbox->tail, NULL);
    atomic_init(&inbox->head, NULL);
    atomic_init(&inbox->rest, 0);
    inbox->next = NULL;
    inbox->taken_last = NULL;
    inbox->stalled = false;
}

/*
 * A compare-and-swap rather than an exchange, so that a closed inbox can refuse.
 * Acquire and release: the next appender writes into `last`, after what is
 * written here.
 */
bool lanepool_i_inbox_append(lanepool_i_inbox *inbox, lanepool_i_task *first, lanepool_i_task *last,
                             lanepool_i_task *guess)
{
    store_relaxed(&last->next, NULL);
    lanepool_i_task *before = guess;
    while (!cas_acq_rel(&inbox->tail, &before, last))
        if (before == CLOSED)
            return false;
    if (before == NULL)
        exchange_seq(&inbox->head, first);
    else
        exchange_seq(&before->next, first);
    return true;
}

/* `head` is cleared before `tail`: whoever then finds `tail` empty sets `head` anew. */
static bool take_all(lanepool_i_inbox *inbox)
{
    lanepool_i_task *head = load_acquire(&inbox->head);
    if (head == NULL)
        return false;
    store_relaxed(&inbox->head, NULL);
    inbox->taken_last = exchange_acq_rel(&inbox->tail, NULL);
    inbox->next = head;
    return true;
}

lanepool_i_task *lanepool_i_inbox_take(lanepool_i_inbox *inbox)
{
    inbox->stalled = false;
    if (inbox->next == NULL && !take_all(inbox))
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
        lanepool_i_prefetch(next);
    }
    inbox->next = next;
    return task;
}

void lanepool_i_inbox_publish(lanepool_i_inbox *inbox)
{
    store_seq(&inbox->rest, (uintptr_t)inbox->next | (inbox->stalled ? 1 : 0));
}

bool lanepool_i_inbox_try_close(lanepool_i_inbox *inbox)
{
    lanepool_i_task *none = NULL;
    return inbox->next == NULL && (cas_acq_rel(&inbox->tail, &none, CLOSED) || none == CLOSED);
}
