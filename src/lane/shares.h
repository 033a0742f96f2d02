/*
 * The shares of a cut's visitors. A visitor that takes the lock takes several listed entries at
 * once. It visits the first one; the others are its *share*. It takes these one by one, by a swap
 * of the share's word, without the lock. A visitor that finds nothing listed takes the share of
 * another one, which may be in a long visit.
 *
 * So a share delays no visit:
 *
 * 1. Entries become a share only while no visitor is idle.
 * 2. A visitor becomes idle only if no visitor has a share. Shares are filled and change hands
 * under the lock, so it misses none.
 * 3. So while a visitor has a share, each other one is queued, or runs. When it next takes the lock
 *    it finds the share, unless entries are listed.
 * 4. A visitor that queues anew puts its share back into the list.
 *
 * With levels there are no shares: each visit is chosen anew.
 *
 * The word has the count of the entries, and above it the offset of the first one in bytes. The
 * entries are linked through `next`. Only the visitor fills its share, so no word comes back while
 * it takes an entry. Another visitor takes all of them, and then `next` may not be a link any more;
 * but then the swap fails. The swap is relaxed: the changes of one word have one order, which says
 * who has an entry, and what the entry says was written under the lock before it was listed.
 */
#ifndef LANEPOOL_SRC_LANE_SHARES_H
#define LANEPOOL_SRC_LANE_SHARES_H

#include "lane/mode.h"
#include "lane/visits.h"

#define LANEPOOL_I_SHARE_SHIFT 32

static inline lanepool_i_wide_entry *lanepool_i_share_first(lanepool_i_task *cut, uint64_t share)
{
    return (lanepool_i_wide_entry *)((char *)lanepool_i_visits_entries(cut) +
                                     (share >> LANEPOOL_I_SHARE_SHIFT));
}

/* `first` is not read if the count is 0. */
static inline uint64_t lanepool_i_share_of(lanepool_i_task *cut, uintptr_t first, uint32_t count)
{
    uint64_t offset = first - (uintptr_t)lanepool_i_visits_entries(cut);
    return count == 0 ? 0 : offset << LANEPOOL_I_SHARE_SHIFT | count;
}

/* Takes the first entry out of the visitor's own share; returns NULL if there is none. */
static inline lanepool_i_wide_entry *lanepool_i_share_take(lanepool_i_task *cut,
                                                           lanepool_i_visitor *visitor)
{
    uint64_t share = load_relaxed(&visitor->share);
    while (share != 0) {
        lanepool_i_wide_entry *entry = lanepool_i_share_first(cut, share);
        uint64_t rest =
            lanepool_i_share_of(cut, load_relaxed(&entry->entry.next), (uint32_t)share - 1);
        if (cas_relaxed(&visitor->share, &share, rest))
            return entry;
    }
    return NULL;
}

/* Takes an entry of the highest level for a visitor, if one is listed. The visitor may visit `most`
 * entries, at least one, before it queues anew. */
static inline bool lanepool_i_visits_take(lanepool_i_visits *visits, lanepool_i_task *cut,
                                          lanepool_i_visitor *visitor, uint32_t most)
{
    lanepool_i_wide_entry *entry = lanepool_i_share_take(cut, visitor);
    if (entry == NULL)
        entry = lanepool_i_visits_take_listed(visits, cut, visitor, most);
    if (entry == NULL)
        return false;
    visitor->at = entry;
    visitor->number = visits->numbers[entry - lanepool_i_visits_entries(cut)];
    visitor->entry.entry.at.lane = entry->entry.at.lane;
    visitor->entry.owner =
        lanepool_i_mode_owner(&visitor->block, lanepool_i_mode_of_owner(entry->owner));
    visitor->block.as.wide.count = 1;
    if (visits->parts != NULL)
        lanepool_i_visits_begin_part(visits, cut, visitor);
    return true;
}

/* Under the lock, without levels, for a visitor without a share: takes up to `most` entries from
 * the list, of which at least one is there. Returns the first one. */
lanepool_i_wide_entry *lanepool_i_share_listed_locked(lanepool_i_visits *visits,
                                                      lanepool_i_task *cut,
                                                      lanepool_i_visitor *visitor, uint32_t most);
/* Under the lock, for a visitor without a share: takes another one's share. Returns the first
 * entry, or NULL if there is none. */
lanepool_i_wide_entry *lanepool_i_share_of_others_locked(lanepool_i_visits *visits,
                                                         lanepool_i_task *cut,
                                                         lanepool_i_visitor *visitor);
/* Under the lock: puts the visitor's share back in front of the list. */
void lanepool_i_share_put_back_locked(lanepool_i_visits *visits, lanepool_i_task *cut,
                                      lanepool_i_visitor *visitor);
/* Under the lock: returns true if a visitor has a share. */
bool lanepool_i_share_is_any_locked(const lanepool_i_visits *visits);

#endif
