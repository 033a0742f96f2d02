/* Owns the inbox's list; the protocol is in inbox.h. */
#include "inbox.h"

void lanepool_i_inbox_init(lanepool_i_inbox *inbox)
{
    atomic_init(&inbox->tail, NULL);
    atomic_init(&inbox->head, NULL);
    atomic_init(&inbox->rest, 0);
    atomic_init(&inbox->role, 0);
    inbox->next = NULL;
    inbox->taken_last = NULL;
    inbox->stalled = false;
}

/* `head` is cleared before `tail`: whoever then finds `tail` empty sets `head` anew. */
bool lanepool_i_inbox_take_all(lanepool_i_inbox *inbox)
{
    lanepool_i_task *head = load_acquire(&inbox->head);
    if (head == NULL)
        return false;
    store_relaxed(&inbox->head, NULL);
    inbox->taken_last = exchange_acq_rel(&inbox->tail, NULL);
    inbox->next = head;
    return true;
}

void lanepool_i_inbox_publish(lanepool_i_inbox *inbox)
{
    store_seq(&inbox->rest, (uintptr_t)inbox->next | (inbox->stalled ? 1 : 0));
}

bool lanepool_i_inbox_try_close(lanepool_i_inbox *inbox)
{
    lanepool_i_task *none = NULL;
    return inbox->next == NULL && (cas_acq_rel(&inbox->tail, &none, LANEPOOL_I_INBOX_CLOSED) ||
                                   none == LANEPOOL_I_INBOX_CLOSED);
}
