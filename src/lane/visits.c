/* Owns the lists of a cut's entries and visitors; see visits.h. */
#include "lane/visits.h"

#include <string.h>

#include "base/planted.h"
#include "base/sizes.h"
#include "lane/mode.h"
#include "lane/shares.h"

static lanepool_i_wide_entry *entries_of(lanepool_i_task *cut)
{
    return lanepool_i_visits_entries(cut);
}

static lanepool_i_wide_entry *next_of(const lanepool_i_wide_entry *entry)
{
    return lanepool_i_granted_next(entry);
}

/* --- memory --- */

static size_t round_up(size_t offset)
{
    return (offset + 63) & ~(size_t)63;
}

static size_t first_visitor(const lanepool_i_visits_layout *layout)
{
    return round_up(layout->offset + sizeof(lanepool_i_visits) + layout->room);
}

static size_t visitor_count(const lanepool_i_visits_layout *layout)
{
    return layout->claim_count < layout->workers ? layout->claim_count : layout->workers;
}

static size_t visitor_size(const lanepool_i_visits_layout *layout)
{
    return round_up(LANEPOOL_I_VISITOR_SIZE + layout->visitor_room);
}

static size_t part_size(const lanepool_i_visits_layout *layout)
{
    return layout->has_parts ? round_up(sizeof(lanepool_i_task) + layout->part_room) : 0;
}

static size_t first_number(const lanepool_i_visits_layout *layout)
{
    return first_visitor(layout) + visitor_count(layout) * visitor_size(layout);
}

static size_t first_listing(const lanepool_i_visits_layout *layout)
{
    return first_number(layout) + layout->claim_count * sizeof(uint32_t);
}

static size_t first_part(const lanepool_i_visits_layout *layout)
{
    size_t size = layout->has_levels ? layout->claim_count * sizeof(lanepool_i_listing) : 0;
    return round_up(first_listing(layout) + size);
}

size_t lanepool_i_visits_size(const lanepool_i_visits_layout *layout)
{
    return first_part(layout) + layout->claim_count * part_size(layout) - layout->offset;
}

lanepool_i_visits *lanepool_i_visits_init(lanepool_i_task *cut,
                                          const lanepool_i_visits_layout *layout)
{
    char *block = (char *)cut;
    lanepool_i_visits *visits = (lanepool_i_visits *)(block + layout->offset);
    char *at = block + first_visitor(layout);
    cut->as.wide.room = visits + 1;
    *visits = (lanepool_i_visits){ .state = LANEPOOL_I_VISITS_NOT_BEGUN,
                                   .numbers = (uint32_t *)(block + first_number(layout)),
                                   .visitors = at,
                                   .visitor_size = visitor_size(layout),
                                   .visitor_count = visitor_count(layout),
                                   .part_size = part_size(layout) };
    if (layout->has_levels)
        visits->listings = (lanepool_i_listing *)(block + first_listing(layout));
    if (layout->has_parts)
        visits->parts = block + first_part(layout);
    lanepool_i_word_lock_init(&visits->lock, LANEPOOL_I_LOCK_VISITS);
    for (size_t i = 0; i < visits->visitor_count; i++) {
        lanepool_i_task *visitor = &lanepool_i_visits_visitor(visits, i)->block;
        store_relaxed(&visitor->next, visits->idle);
        visits->idle = visitor;
    }
    return visits;
}

/* The part has no entries, and is no cut. */
static lanepool_i_task *init_part(lanepool_i_task *part, const lanepool_i_task *cut)
{
    uint64_t ticket = load_relaxed(&cut->word) & LANEPOOL_I_TICKET_MASK;
    part->function = cut->function;
    part->context = cut->context;
    part->as.wide = (lanepool_i_wide){ .room = part + 1, .tag = cut->as.wide.tag };
    atomic_init(&part->word, ticket | LANEPOOL_I_WIDE);
    return part;
}

/* --- routing --- */

/* The block's word is as the cut's, so that a worker finds ticket and epoch there. */
static void init_visitor(lanepool_i_visitor *visitor, lanepool_i_task *cut)
{
    uint64_t kept = LANEPOOL_I_TICKET_MASK | LANEPOOL_I_EPOCH_MASK;
    uint64_t word = load_relaxed(&cut->word) & kept;
    lanepool_i_task *block = &visitor->block;
    block->function = NULL;
    block->context = cut;
    block->as.wide = (lanepool_i_wide){ .future = cut->as.wide.future, .tag = cut->as.wide.tag };
    atomic_init(&block->word, word | LANEPOOL_I_WIDE | LANEPOOL_I_CUT | LANEPOOL_I_MESSAGE);
    visitor->at = NULL;
    visitor->use = NULL;
    visitor->unsettled = 0;
    visitor->has_share = false;
    atomic_init(&visitor->share, 0);
}

static void forget_levels(lanepool_i_visits *visits, size_t count)
{
    if (visits->listings != NULL)
        memset(visits->listings, 0, count * sizeof *visits->listings);
}

void lanepool_i_visits_begin_routing(lanepool_i_task *cut, uint32_t count)
{
    lanepool_i_visits *visits = lanepool_i_visits_of(cut);
    for (lanepool_i_task *visitor = visits->idle; visitor != NULL;
         visitor = load_relaxed(&visitor->next))
        init_visitor((lanepool_i_visitor *)visitor, cut);
    forget_levels(visits, count);
    visits->left = count;
    visits->shares = 0;
}

/* Drops the passed entries. The kept ones move to the front. A progressive rollup has passed all of
 * its entries, or none. */
static void drop_passed_locked(lanepool_i_visits *visits, lanepool_i_task *cut)
{
    lanepool_i_wide_entry *entries = entries_of(cut);
    uint32_t count = 0;
    if (visits->holds_lanes && visits->state != LANEPOOL_I_VISITS_CANCELLED)
        return;
    for (uint32_t i = 0; i < cut->as.wide.count && visits->kept > 0; i++) {
        if (load_relaxed(&entries[i].entry.next) != LANEPOOL_I_NEXT_KEPT)
            continue;
        entries[count].entry.at.lane = entries[i].entry.at.lane;
        entries[count].owner = entries[i].owner;
        store_relaxed(&entries[count].entry.next, LANEPOOL_I_NEXT_KEPT);
        visits->numbers[count++] = visits->numbers[i];
    }
    cut->as.wide.count = count & LANEPOOL_I_WIDE_COUNT_MASK;
}

static bool end_round_locked(lanepool_i_visits *visits, lanepool_i_task *cut)
{
    bool ends = visits->left == 0 && visits->active == 0 && visits->is_routed;
    if (ends)
        drop_passed_locked(visits, cut);
    return ends;
}

bool lanepool_i_visits_end_routing(lanepool_i_task *cut)
{
    lanepool_i_visits *visits = lanepool_i_visits_of(cut);
    lanepool_i_word_lock_lock(&visits->lock);
    visits->is_routed = true;
    bool ends = end_round_locked(visits, cut);
    lanepool_i_word_lock_unlock(&visits->lock);
    return ends;
}

/* --- entries and visitors --- */

static lanepool_i_task *activate_locked(lanepool_i_visits *visits)
{
    lanepool_i_task *visitor = visits->idle;
    if (visitor == NULL)
        return NULL;
    visits->idle = load_relaxed(&visitor->next);
    visits->active++;
    ((lanepool_i_visitor *)visitor)->is_fresh = true;
    return visitor;
}

/* Adds up to `most` visitors to `ready`. */
static void activate_up_to_locked(lanepool_i_visits *visits, uint32_t most, lanepool_i_tasks *ready)
{
    lanepool_i_task *visitor;
    for (; most > 0 && (visitor = activate_locked(visits)) != NULL; most--)
        lanepool_i_tasks_add(ready, visitor);
}

static void append_entry_locked(lanepool_i_visits *visits, lanepool_i_task *cut,
                                lanepool_i_wide_entry *entry)
{
    uint32_t index = (uint32_t)(entry - entries_of(cut));
    uint32_t level = visits->listings == NULL ? 0 : visits->listings[index].level;
    lanepool_i_granted *list = &visits->listed[level];
    if (visits->listings != NULL) {
        bool is_first = list->first == NULL;
        visits->listings[index].before =
            is_first ? 0 : (uint32_t)(list->last - entries_of(cut) + 1);
        visits->listings[index].is_listed = true;
    }
    lanepool_i_granted_add(list, entry);
}

static uint32_t highest_level_locked(const lanepool_i_visits *visits)
{
    uint32_t level = visits->listings == NULL ? 0 : LANEPOOL_PRIORITY_MAX;
    while (level > 0 && visits->listed[level].first == NULL)
        level--;
    return level;
}

/* The cut is alive as long as it is noted: feature/priority takes all notes before the cut ends. */
static void note_if_raised_locked(lanepool_i_visits *visits, lanepool_i_task *cut)
{
    if (visits->is_noted || highest_level_locked(visits) == 0)
        return;
    visits->is_noted = true;
    lanepool_i_task *first = load_relaxed(visits->noted);
    do
        visits->next_noted = first;
    while (!cas_release(visits->noted, &first, cut));
}

static void append_granted_locked(lanepool_i_visits *visits, lanepool_i_task *cut,
                                  const lanepool_i_granted *granted)
{
    lanepool_i_granted *list = &visits->listed[0];
    lanepool_i_wide_entry *next = visits->listings != NULL ? granted->first : NULL;
    while (next != NULL) {
        lanepool_i_wide_entry *entry = next;
        next = next_of(entry);
        append_entry_locked(visits, cut, entry);
    }
    if (visits->listings != NULL) {
        note_if_raised_locked(visits, cut);
        return;
    }
    if (list->first == NULL)
        list->first = granted->first;
    else
        store_relaxed(&list->last->entry.next, (uintptr_t)granted->first);
    list->last = granted->last;
}

static void unlist_locked(lanepool_i_visits *visits, lanepool_i_task *cut,
                          lanepool_i_wide_entry *entry)
{
    lanepool_i_wide_entry *next = next_of(entry);
    lanepool_i_listing *listing =
        visits->listings == NULL ? NULL : &visits->listings[entry - entries_of(cut)];
    lanepool_i_granted *list = &visits->listed[listing == NULL ? 0 : listing->level];
    lanepool_i_wide_entry *before =
        listing == NULL || listing->before == 0 ? NULL : &entries_of(cut)[listing->before - 1];
    if (before == NULL)
        list->first = next;
    else
        store_relaxed(&before->entry.next, (uintptr_t)next);
    if (next == NULL)
        list->last = before;
    list->count--;
    if (listing == NULL)
        return;
    if (next != NULL)
        visits->listings[next - entries_of(cut)].before = listing->before;
    listing->is_listed = false;
}

static lanepool_i_wide_entry *first_listed_locked(const lanepool_i_visits *visits)
{
    return visits->listed[highest_level_locked(visits)].first;
}

lanepool_i_task *lanepool_i_visits_take_note(lanepool_i_task *cut,
                                             uint32_t counts[LANEPOOL_I_VISIT_LEVELS])
{
    lanepool_i_visits *visits = lanepool_i_visits_of(cut);
    lanepool_i_word_lock_lock(&visits->lock);
    lanepool_i_task *next = visits->next_noted;
    visits->is_noted = false;
    for (size_t i = 0; i < LANEPOOL_I_VISIT_LEVELS; i++)
        counts[i] = visits->listed[i].count;
    lanepool_i_word_lock_unlock(&visits->lock);
    return next;
}

void lanepool_i_visits_raise(lanepool_i_task *cut, uint32_t index, uint32_t level)
{
    lanepool_i_visits *visits = lanepool_i_visits_of(cut);
    lanepool_i_wide_entry *entry = &entries_of(cut)[index];
    lanepool_i_word_lock_lock(&visits->lock);
    bool is_listed = visits->listings[index].is_listed;
    if (is_listed)
        unlist_locked(visits, cut, entry);
    visits->listings[index].level = (uint8_t)level;
    if (is_listed) {
        append_entry_locked(visits, cut, entry);
        note_if_raised_locked(visits, cut);
    }
    lanepool_i_word_lock_unlock(&visits->lock);
}

uint32_t lanepool_i_visits_level(lanepool_i_visits *visits)
{
    lanepool_i_word_lock_lock(&visits->lock);
    uint32_t level = highest_level_locked(visits);
    bool any = visits->listed[level].first != NULL;
    lanepool_i_word_lock_unlock(&visits->lock);
    return any ? level + 1 : 0;
}

void lanepool_i_visits_list(lanepool_i_task *cut, const lanepool_i_granted *granted,
                            lanepool_i_tasks *ready)
{
    lanepool_i_visits *visits = lanepool_i_visits_of(cut);
    lanepool_i_word_lock_lock(&visits->lock);
    append_granted_locked(visits, cut, granted);
    if (visits->state != LANEPOOL_I_VISITS_NOT_BEGUN)
        activate_up_to_locked(visits, granted->count, ready);
    else if (visits->active == 0)
        activate_up_to_locked(visits, 1, ready);
    lanepool_i_word_lock_unlock(&visits->lock);
}

bool lanepool_i_visits_leave(lanepool_i_task *cut, lanepool_i_wide_entry *entry,
                             struct lanepool_i_lane *instead)
{
    lanepool_i_visits *visits = lanepool_i_visits_of(cut);
    lanepool_i_word_lock_lock(&visits->lock);
    entry->entry.at.lane = instead;
    store_relaxed(&entry->entry.next, LANEPOOL_I_NEXT_PASSED);
    visits->left--;
    bool ends = end_round_locked(visits, cut);
    lanepool_i_word_lock_unlock(&visits->lock);
    return ends;
}

/* --- taking and settling --- */

static void settle_locked(lanepool_i_visits *visits, lanepool_i_visitor *visitor)
{
    visits->left -= visitor->unsettled;
    visitor->unsettled = 0;
}

void lanepool_i_visits_settle(lanepool_i_task *cut, lanepool_i_visitor *visitor)
{
    lanepool_i_visits *visits = lanepool_i_visits_of(cut);
    lanepool_i_word_lock_lock(&visits->lock);
    settle_locked(visits, visitor);
    lanepool_i_share_put_back_locked(visits, cut, visitor);
    lanepool_i_word_lock_unlock(&visits->lock);
}

/* With levels each visit is chosen anew. */
static lanepool_i_wide_entry *choose_locked(lanepool_i_visits *visits, lanepool_i_task *cut,
                                            lanepool_i_visitor *visitor, uint32_t most)
{
    lanepool_i_wide_entry *entry = first_listed_locked(visits);
    if (entry == NULL)
        return lanepool_i_share_of_others_locked(visits, cut, visitor);
    if (visits->listings == NULL)
        return lanepool_i_share_listed_locked(visits, cut, visitor,
                                              visits->idle == NULL ? most : 1);
    unlist_locked(visits, cut, entry);
    return entry;
}

lanepool_i_wide_entry *lanepool_i_visits_take_listed(lanepool_i_visits *visits,
                                                     lanepool_i_task *cut,
                                                     lanepool_i_visitor *visitor, uint32_t most)
{
    lanepool_i_word_lock_lock(&visits->lock);
    settle_locked(visits, visitor);
    lanepool_i_wide_entry *entry = choose_locked(
        visits, cut, visitor, most < LANEPOOL_I_VISIT_SHARE ? most : LANEPOOL_I_VISIT_SHARE);
    lanepool_i_word_lock_unlock(&visits->lock);
    return entry;
}

void lanepool_i_visits_begin_part(const lanepool_i_visits *visits, lanepool_i_task *cut,
                                  lanepool_i_visitor *visitor)
{
    lanepool_i_task *part = lanepool_i_visits_part(visits, visitor->number);
    visitor->block.as.wide.room = init_part(part, cut)->as.wide.room;
}

static void activate_for_listed_locked(lanepool_i_visits *visits, lanepool_i_tasks *ready)
{
    for (size_t level = 0; level < LANEPOOL_I_VISIT_LEVELS; level++)
        for (const lanepool_i_wide_entry *entry = visits->listed[level].first;
             entry != NULL && visits->idle != NULL; entry = next_of(entry))
            activate_up_to_locked(visits, 1, ready);
}

void lanepool_i_visits_decided(lanepool_i_visits *visits, lanepool_i_visits_state state,
                               lanepool_i_tasks *ready)
{
    lanepool_i_word_lock_lock(&visits->lock);
    visits->state = state;
    activate_for_listed_locked(visits, ready);
    lanepool_i_word_lock_unlock(&visits->lock);
}

bool lanepool_i_visits_hold(lanepool_i_task *cut, lanepool_i_visitor *visitor)
{
    lanepool_i_visits *visits = lanepool_i_visits_of(cut);
    lanepool_i_word_lock_lock(&visits->lock);
    bool is_first_round = !visits->is_counted;
    visits->latched += is_first_round;
    visits->numbers[visitor->at - entries_of(cut)] |= LANEPOOL_I_NUMBER_HELD;
    lanepool_i_visitor_mark(visitor, LANEPOOL_I_NEXT_HELD);
    settle_locked(visits, visitor);
    lanepool_i_word_lock_unlock(&visits->lock);
    return is_first_round;
}

void lanepool_i_visits_become_rollup(lanepool_i_task *cut)
{
    lanepool_i_visits *visits = lanepool_i_visits_of(cut);
    lanepool_i_word_lock_lock(&visits->lock);
    (void)fetch_and_acq_rel(&cut->word, ~LANEPOOL_I_CUT);
    lanepool_i_word_lock_unlock(&visits->lock);
}

/* In later rounds no entry waits in a lane. */
bool lanepool_i_visits_keep(lanepool_i_visits *visits, lanepool_i_visitor *visitor,
                            lanepool_status status, int code)
{
    lanepool_i_word_lock_lock(&visits->lock);
    bool is_first_round = !visits->is_counted;
    lanepool_i_visitor_mark(visitor, LANEPOOL_I_NEXT_KEPT);
    settle_locked(visits, visitor);
    if (visits->kept++ == 0) {
        visits->status = status;
        visits->code = code;
    }
    bool waits = is_first_round && visits->left > 0;
    lanepool_i_word_lock_unlock(&visits->lock);
    return waits;
}

bool lanepool_i_visits_retire(lanepool_i_task *cut, lanepool_i_visitor *visitor, bool *ends)
{
    lanepool_i_visits *visits = lanepool_i_visits_of(cut);
    lanepool_i_word_lock_lock(&visits->lock);
    bool retires =
        (first_listed_locked(visits) == NULL && !lanepool_i_share_is_any_locked(visits)) ||
        PLANTED(VISITOR_SLEEPS);
    *ends = false;
    settle_locked(visits, visitor);
    if (retires) {
        store_relaxed(&visitor->block.next, visits->idle);
        visits->idle = &visitor->block;
        visits->active--;
        *ends = end_round_locked(visits, cut);
    }
    lanepool_i_word_lock_unlock(&visits->lock);
    return retires;
}

void lanepool_i_visits_stop_round(lanepool_i_task *cut)
{
    lanepool_i_visits *visits = lanepool_i_visits_of(cut);
    lanepool_i_word_lock_lock(&visits->lock);
    lanepool_i_wide_entry *next = visits->is_counted ? visits->listed[0].first : NULL;
    for (lanepool_i_wide_entry *entry = next; entry != NULL; entry = next) {
        next = (lanepool_i_wide_entry *)load_relaxed(&entry->entry.next);
        store_relaxed(&entry->entry.next, LANEPOOL_I_NEXT_KEPT);
    }
    lanepool_i_word_lock_unlock(&visits->lock);
}

void lanepool_i_visits_begin_round(lanepool_i_task *cut, lanepool_i_tasks *ready)
{
    lanepool_i_visits *visits = lanepool_i_visits_of(cut);
    lanepool_i_word_lock_lock(&visits->lock);
    visits->left = 0;
    forget_levels(visits, cut->as.wide.count);
    for (uint32_t i = 0; i < cut->as.wide.count; i++) {
        if ((visits->numbers[i] & LANEPOOL_I_NUMBER_HELD) != 0)
            continue;
        append_entry_locked(visits, cut, &entries_of(cut)[i]);
        visits->left++;
    }
    visits->kept = 0;
    activate_for_listed_locked(visits, ready);
    lanepool_i_word_lock_unlock(&visits->lock);
}
