/* Owns the lists of a cut's entries and visitors; see visits.h. */
#include "lane/visits.h"

#include "base/planted.h"
#include "lane/mode.h"

static lanepool_i_wide_entry *entries_of(lanepool_i_task *cut)
{
    return (lanepool_i_wide_entry *)(cut + 1);
}

/* --- memory --- */

/* A visitor is queued like a task, whose address is a multiple of 64. */
#define VISITOR_SIZE (2 * sizeof(lanepool_i_task))
_Static_assert(sizeof(lanepool_i_visitor) <= VISITOR_SIZE, "a visitor has two lines");

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

static size_t part_size(const lanepool_i_visits_layout *layout)
{
    return layout->has_parts ? round_up(sizeof(lanepool_i_task) + layout->room) : 0;
}

static size_t first_number(const lanepool_i_visits_layout *layout)
{
    return first_visitor(layout) + visitor_count(layout) * VISITOR_SIZE;
}

static size_t first_part(const lanepool_i_visits_layout *layout)
{
    return round_up(first_number(layout) + layout->claim_count * sizeof(uint32_t));
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
                                   .part_size = part_size(layout) };
    if (layout->has_parts)
        visits->parts = block + first_part(layout);
    lanepool_i_word_lock_init(&visits->lock, LANEPOOL_I_LOCK_VISITS);
    for (size_t i = visitor_count(layout); i > 0; i--, at += VISITOR_SIZE) {
        lanepool_i_task *visitor = (lanepool_i_task *)at;
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
}

void lanepool_i_visits_begin_routing(lanepool_i_task *cut, uint32_t count)
{
    lanepool_i_visits *visits = lanepool_i_visits_of(cut);
    for (lanepool_i_task *visitor = visits->idle; visitor != NULL;
         visitor = load_relaxed(&visitor->next))
        init_visitor((lanepool_i_visitor *)visitor, cut);
    visits->left = count;
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
    return visitor;
}

/* Adds up to `most` visitors to `ready`. */
static void activate_up_to_locked(lanepool_i_visits *visits, uint32_t most, lanepool_i_tasks *ready)
{
    lanepool_i_task *visitor;
    for (; most > 0 && (visitor = activate_locked(visits)) != NULL; most--)
        lanepool_i_tasks_add(ready, visitor);
}

static void append_granted_locked(lanepool_i_visits *visits, const lanepool_i_granted *granted)
{
    if (visits->listed.first == NULL)
        visits->listed.first = granted->first;
    else
        store_relaxed(&visits->listed.last->entry.next, (uintptr_t)granted->first);
    visits->listed.last = granted->last;
}

void lanepool_i_visits_list(lanepool_i_task *cut, const lanepool_i_granted *granted,
                            lanepool_i_tasks *ready)
{
    lanepool_i_visits *visits = lanepool_i_visits_of(cut);
    lanepool_i_word_lock_lock(&visits->lock);
    append_granted_locked(visits, granted);
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

static void settle_locked(lanepool_i_visits *visits, lanepool_i_visitor *visitor)
{
    visits->left -= visitor->unsettled;
    visitor->unsettled = 0;
}

void lanepool_i_visits_settle(lanepool_i_visits *visits, lanepool_i_visitor *visitor)
{
    lanepool_i_word_lock_lock(&visits->lock);
    settle_locked(visits, visitor);
    lanepool_i_word_lock_unlock(&visits->lock);
}

bool lanepool_i_visits_take(lanepool_i_visits *visits, lanepool_i_task *cut,
                            lanepool_i_visitor *visitor)
{
    lanepool_i_word_lock_lock(&visits->lock);
    settle_locked(visits, visitor);
    lanepool_i_wide_entry *entry = visits->listed.first;
    if (entry != NULL) {
        visits->listed.first = (lanepool_i_wide_entry *)load_relaxed(&entry->entry.next);
        visitor->number = visits->numbers[entry - entries_of(cut)];
    }
    lanepool_i_word_lock_unlock(&visits->lock);
    visitor->at = entry;
    if (entry == NULL)
        return false;
    visitor->entry.entry.at.lane = entry->entry.at.lane;
    visitor->entry.owner =
        lanepool_i_mode_owner(&visitor->block, lanepool_i_mode_of_owner(entry->owner));
    visitor->block.as.wide.count = 1;
    if (visits->parts != NULL)
        visitor->block.as.wide.room =
            init_part(lanepool_i_visits_part(visits, visitor->number), cut)->as.wide.room;
    return true;
}

static void activate_for_listed_locked(lanepool_i_visits *visits, lanepool_i_tasks *ready)
{
    for (const lanepool_i_wide_entry *entry = visits->listed.first;
         entry != NULL && visits->idle != NULL;
         entry = (lanepool_i_wide_entry *)load_relaxed(&entry->entry.next))
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

static void mark_visited(lanepool_i_visitor *visitor, uintptr_t next)
{
    store_relaxed(&visitor->at->entry.next, next);
    visitor->at = NULL;
    visitor->block.as.wide.count = 0;
    visitor->unsettled++;
}

void lanepool_i_visits_pass(lanepool_i_visitor *visitor)
{
    mark_visited(visitor, LANEPOOL_I_NEXT_PASSED);
}

bool lanepool_i_visits_hold(lanepool_i_task *cut, lanepool_i_visitor *visitor)
{
    lanepool_i_visits *visits = lanepool_i_visits_of(cut);
    lanepool_i_word_lock_lock(&visits->lock);
    bool is_first_round = !visits->is_counted;
    visits->latched += is_first_round;
    visits->numbers[visitor->at - entries_of(cut)] |= LANEPOOL_I_NUMBER_HELD;
    mark_visited(visitor, LANEPOOL_I_NEXT_HELD);
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
    mark_visited(visitor, LANEPOOL_I_NEXT_KEPT);
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
    bool retires = visits->listed.first == NULL || PLANTED(VISITOR_SLEEPS);
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
    lanepool_i_wide_entry *next = visits->is_counted ? visits->listed.first : NULL;
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
    for (uint32_t i = 0; i < cut->as.wide.count; i++) {
        if ((visits->numbers[i] & LANEPOOL_I_NUMBER_HELD) != 0)
            continue;
        lanepool_i_granted_add(&visits->listed, &entries_of(cut)[i]);
        visits->left++;
    }
    visits->kept = 0;
    activate_for_listed_locked(visits, ready);
    lanepool_i_word_lock_unlock(&visits->lock);
}
