/* Owns the shares of a cut's visitors; see shares.h. */
#include "lane/shares.h"

#include "base/planted.h"

/* The visitor has none. */
static void give_locked(lanepool_i_visits *visits, lanepool_i_visitor *visitor, uint64_t share)
{
    visits->shares += (uint32_t)(share != 0) - (uint32_t)visitor->has_share;
    visitor->has_share = share != 0;
    store_relaxed(&visitor->share, share);
}

/* Takes the share of any visitor; returns 0 if none has one. */
static uint64_t take_any_locked(const lanepool_i_visits *visits)
{
    uint64_t share = 0;
    if (PLANTED(SHARE_LEFT))
        return 0;
    for (size_t i = 0; i < visits->visitor_count && visits->shares > 0 && share == 0; i++) {
        lanepool_i_visitor *visitor = lanepool_i_visits_visitor(visits, i);
        if (load_relaxed(&visitor->share) != 0)
            share = exchange_relaxed(&visitor->share, 0);
    }
    return share;
}

bool lanepool_i_share_is_any_locked(const lanepool_i_visits *visits)
{
    bool found = false;
    if (PLANTED(SHARE_LEFT))
        return false;
    for (size_t i = 0; i < visits->visitor_count && visits->shares > 0 && !found; i++)
        found = load_relaxed(&lanepool_i_visits_visitor(visits, i)->share) != 0;
    return found;
}

/* Fetches the lanes of the share. */
lanepool_i_wide_entry *lanepool_i_share_listed_locked(lanepool_i_visits *visits,
                                                      lanepool_i_task *cut,
                                                      lanepool_i_visitor *visitor, uint32_t most)
{
    lanepool_i_granted *list = &visits->listed[0];
    lanepool_i_wide_entry *first = list->first;
    lanepool_i_wide_entry *behind = lanepool_i_granted_next(first);
    uintptr_t second = (uintptr_t)behind;
    uint32_t count = 1;
    for (; count < most && behind != NULL; count++) {
        lanepool_i_prefetch(behind->entry.at.lane);
        behind = lanepool_i_granted_next(behind);
    }
    list->first = behind;
    give_locked(visits, visitor, lanepool_i_share_of(cut, second, count - 1));
    return first;
}

lanepool_i_wide_entry *lanepool_i_share_of_others_locked(lanepool_i_visits *visits,
                                                         lanepool_i_task *cut,
                                                         lanepool_i_visitor *visitor)
{
    give_locked(visits, visitor, take_any_locked(visits));
    return lanepool_i_share_take(cut, visitor);
}

void lanepool_i_share_put_back_locked(lanepool_i_visits *visits, lanepool_i_task *cut,
                                      lanepool_i_visitor *visitor)
{
    lanepool_i_granted *list = &visits->listed[0];
    uint64_t share = exchange_relaxed(&visitor->share, 0);
    if (share != 0) {
        lanepool_i_wide_entry *last = lanepool_i_share_first(cut, share);
        for (uint32_t count = (uint32_t)share; count > 1; count--)
            last = lanepool_i_granted_next(last);
        store_relaxed(&last->entry.next, (uintptr_t)list->first);
        if (list->first == NULL)
            list->last = last;
        list->first = lanepool_i_share_first(cut, share);
    }
    give_locked(visits, visitor, 0);
}
