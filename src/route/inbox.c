/* Owns what the inbox does rarely: missing links, and closing. The protocol is in inbox.h. */
#include "route/inbox.h"

#include "base/planted.h"
#include "base/sizes.h"

void lanepool_i_inbox_init(lanepool_i_inbox *inbox)
{
    atomic_init(&inbox->tail, NULL);
    inbox->links_at_once = !lanepool_i_membarrier_init();
    atomic_init(&inbox->head, NULL);
    atomic_init(&inbox->rest, 0);
    atomic_init(&inbox->role, 0);
    atomic_init(&inbox->crowded, 0);
    inbox->next = NULL;
    inbox->taken_last = NULL;
    inbox->is_half_linked = false;
    inbox->moment = 0;
}

/* Pauses first: usually the link is just being made, and membarrier() costs about forty pauses. */
lanepool_i_task *lanepool_i_inbox_reread_link(const lanepool_i_inbox *inbox,
                                              const _Atomic(lanepool_i_task *) *link)
{
    for (int i = 0; i < LANEPOOL_I_LINK_PAUSES; i++) {
        lanepool_i_pause();
        lanepool_i_task *node = load_acquire(link);
        if (node != NULL)
            return node;
    }
    if (!inbox->links_at_once && !PLANTED(NO_BARRIER))
        lanepool_i_membarrier_others();
    return load_seq(link);
}

bool lanepool_i_inbox_try_close(lanepool_i_inbox *inbox)
{
    lanepool_i_task *none = NULL;
    return inbox->next == NULL && (cas_acq_rel(&inbox->tail, &none, LANEPOOL_I_INBOX_CLOSED) ||
                                   none == LANEPOOL_I_INBOX_CLOSED);
}
