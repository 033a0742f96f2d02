/* Owns the lane word and its protocol, which lane.h explains. */
#include "lane/lane.h"

#include "base/planted.h"
#include "lane/visits.h"

#define ACTIVE_MASK        LANEPOOL_I_LANE_ACTIVE
#define MODE               LANEPOOL_I_LANE_MODE
#define BLOCKED            LANEPOOL_I_LANE_BLOCKED
#define DUE                ((uint64_t)1 << 26)
#define WHICH              ((uint64_t)1 << 27)
#define ODD                ((uint64_t)1 << 28)
#define TURN               ODD /* adding it begins or ends a turn */
#define UNCHANGED_BY_GRANT (~(ACTIVE_MASK | MODE))

static uint64_t active_count(uint64_t word)
{
    return word & ACTIVE_MASK;
}

static bool overlaps_with_granted(lanepool_mode mode, uint64_t word)
{
    lanepool_mode granted = lanepool_i_mode_at(word, LANEPOOL_I_LANE_MODE_SHIFT);
    if (PLANTED(MODES_MIXED))
        return mode != LANEPOOL_EXCLUSIVE && granted != LANEPOOL_EXCLUSIVE;
    return lanepool_modes_overlap(mode, granted);
}

static uint64_t granted_bits(uint64_t count, lanepool_mode mode)
{
    return count | lanepool_i_mode_put(mode, LANEPOOL_I_LANE_MODE_SHIFT);
}

static size_t head_index(uint64_t word)
{
    return (word & WHICH) != 0;
}

void lanepool_i_lane_init(lanepool_i_lane *lane)
{
    atomic_init(&lane->word, 0);
    atomic_init(&lane->first[0], 0);
    atomic_init(&lane->first[1], 0);
    lane->last = 0;
    lane->use.stamp = 0;
}

bool lanepool_i_lane_is_idle(const lanepool_i_lane *lane)
{
    return (load_acquire(&lane->word) & (ACTIVE_MASK | BLOCKED)) == 0;
}

/* A progressive rollup is none: it may be latched. */
static bool is_of_cut(uintptr_t link)
{
    return lanepool_i_link_is_of_cut(link) &&
           !lanepool_i_visits_of(lanepool_i_link_task(link))->holds_lanes;
}

void lanepool_i_lane_write_event(const lanepool_i_lane *lane, lanepool_event_type type,
                                 uintptr_t link, uint32_t granted, lanepool_i_ring *ring)
{
    uint32_t flags = granted;
    if (type == LANEPOOL_EVENT_ENTER)
        flags |= lanepool_i_mode_event_flags(lanepool_i_link_mode(link)) |
                 (is_of_cut(link) ? LANEPOOL_EVENT_CUT : 0);
    lanepool_i_trace_at(ring, type, lanepool_i_link_task(link), lanepool_i_lane_number(lane),
                        lanepool_i_lane_type(lane), flags);
}

/* --- advance --- */

/* Adds a task whose last grant has arrived. Its other entries were counted as latches; those
 * end. */
static void arrive_ready(lanepool_i_task *task, lanepool_i_grants *grants)
{
    grants->latched -= lanepool_i_task_count(task) - 1;
    lanepool_i_grants_add(grants, task);
}

/* Passes a tombstone's entry. After the last one the tombstone is ready: a worker disposes of
 * it. */
static LANEPOOL_I_COLD void pass_tombstone(const lanepool_i_lane *lane, lanepool_i_task *task,
                                           lanepool_i_grants *grants)
{
    lanepool_i_lane_trace_early(lane, task, grants->ring);
    if (lanepool_i_countdown_arrive(task, 1))
        lanepool_i_tasks_add(&grants->ready, task);
}

/* Returns true if the gate was opened before: it passes, and may be freed. Otherwise it keeps the
 * lane. */
static LANEPOOL_I_COLD bool grant_gate(lanepool_i_gate *gate)
{
    uint32_t waits = LANEPOOL_I_GATE_WAITS;
    if (cas_acq_rel(&gate->state, &waits, LANEPOOL_I_GATE_HOLDS))
        return false;
    store_release(&gate->state, LANEPOOL_I_GATE_PASSED);
    return true;
}

/* A visitor lets the lane go on later. */
static LANEPOOL_I_COLD void grant_cut(lanepool_i_task *cut, uintptr_t link,
                                      lanepool_i_grants *grants)
{
    lanepool_i_granted granted = { NULL, NULL, 0 };
    lanepool_i_granted_add(&granted, (lanepool_i_wide_entry *)lanepool_i_link_entry(link));
    lanepool_i_visits_list(cut, &granted, &grants->ready);
}

/* Grants an entry of a gate, of a wide tombstone or of a cut. Returns true if it passes. */
static LANEPOOL_I_COLD bool grant_special(const lanepool_i_lane *lane, uintptr_t link,
                                          uintptr_t owner, lanepool_i_grants *grants)
{
    lanepool_i_task *task = (lanepool_i_task *)(owner & LANEPOOL_I_OWNER_TASK);
    if ((owner & LANEPOOL_I_OWNER_GATE) != 0)
        return grant_gate((lanepool_i_gate *)task);
    lanepool_i_lane_trace(lane, LANEPOOL_EVENT_ARRIVE, link, 0, grants->ring);
    if ((owner & LANEPOOL_I_OWNER_CUT) != 0) {
        grant_cut(task, link, grants);
        return false;
    }
    pass_tombstone(lane, task, grants);
    return true;
}

/* Grants a wide task's entry. Returns true if it passes: the caller releases it at once. */
static bool grant_wide(const lanepool_i_lane *lane, uintptr_t link, lanepool_i_grants *grants)
{
    const lanepool_i_wide_entry *entry = (lanepool_i_wide_entry *)(link & LANEPOOL_I_LINK_ENTRY);
    uintptr_t owner = entry->owner;
    lanepool_i_task *task = (lanepool_i_task *)(owner & LANEPOOL_I_OWNER_TASK);
    if (__builtin_expect((owner & LANEPOOL_I_OWNER_SPECIAL) != 0, 0))
        return grant_special(lane, link, owner, grants);
    lanepool_i_lane_trace(lane, LANEPOOL_EVENT_ARRIVE, link, 0, grants->ring);
    if (lanepool_i_countdown_arrive_wide(task, 1))
        arrive_ready(task, grants);
    else
        grants->latched++;
    return false;
}

static bool grant_entry(const lanepool_i_lane *lane, uintptr_t link, lanepool_i_grants *grants)
{
    if ((link & LANEPOOL_I_LINK_WIDE) != 0)
        return grant_wide(lane, link, grants);
    lanepool_i_task *task = (lanepool_i_task *)(link & ~(uintptr_t)63);
    lanepool_i_lane_trace(lane, LANEPOOL_EVENT_ARRIVE, link, 0, grants->ring);
    if (__builtin_expect((lanepool_i_link_entry(link)->at.bits & LANEPOOL_I_ENTRY_TOMBSTONE) != 0,
                         0)) {
        pass_tombstone(lane, task, grants);
        return true;
    }
    if (lanepool_i_countdown_arrive_plain(task, 1))
        arrive_ready(task, grants);
    else
        grants->latched++;
    return false;
}

/* Grants `count` entries and returns how many passed. Reads each link before its grant: the entry's
 * block may be freed after it. */
static uint64_t grant_run(const lanepool_i_lane *lane, uintptr_t head, uint64_t count,
                          lanepool_i_grants *grants)
{
    uint64_t passed = 0;
    while (count-- > 0) {
        uintptr_t next = load_relaxed(&lanepool_i_link_entry(head)->next);
        passed += grant_entry(lane, head, grants);
        head = next;
    }
    return passed;
}

/* Returns the length of the run that begins at `head`: entries that can be granted together. Sets
 * *behind to the link behind it. */
static inline uint64_t measure_run(uintptr_t head, uintptr_t *behind)
{
    uint64_t count = 1;
    uintptr_t next = load_acquire(&lanepool_i_link_entry(head)->next);
    lanepool_mode mode = lanepool_i_link_mode(head);
    for (; next != 0 && lanepool_modes_overlap(mode, lanepool_i_link_mode(next)) &&
           count < ACTIVE_MASK;
         count++)
        next = load_acquire(&lanepool_i_link_entry(next)->next);
    *behind = next;
    return count;
}

/*
 * Tries to advance from `word`, in which no entry is active, or only this thread's own. Returns
 * false, with the new word in *word, if the word has changed. Adds to *passed the number of granted
 * entries that pass; the caller releases them.
 *
 * Acquire on success: every link made before the turn became even is visible. Acquire on failure:
 * the caller decides by the new word.
 *
 * Head and links are acquired, too: the role's holder may have inserted a gate at the head after
 * `word` was read. The swap then fails, but only after the gate's link was read. The gate is still
 * there: it is freed after it has passed, which needs this thread's release first.
 */
static bool try_advance(lanepool_i_lane *lane, uint64_t *word, lanepool_i_grants *grants,
                        uint64_t *passed)
{
    uintptr_t head = load_acquire(&lane->first[head_index(*word)]);
    uintptr_t next;
    uint64_t count = measure_run(head, &next);
    uint64_t moved = (*word & UNCHANGED_BY_GRANT) ^ WHICH;
    moved |= granted_bits(count, lanepool_i_link_mode(head));
    if (next == 0)
        moved &= ~BLOCKED;
    else
        lanepool_i_prefetch(lanepool_i_link_entry(next));
    store_relaxed(&lane->first[head_index(moved)], next);
    if (!cas_acq_rel(&lane->word, word, moved))
        return false;
    *passed += grant_run(lane, head, count, grants);
    return true;
}

/* Releases `count` granted entries, and those that pass in the advances made here. */
static void release_entries(lanepool_i_lane *lane, uint64_t count, uint64_t word,
                            lanepool_i_grants *grants)
{
    while (count > 0) {
        bool released;
        if (active_count(word) == 1 && (word & BLOCKED) != 0 && (word & ODD) == 0) {
            released = try_advance(lane, &word, grants, &count);
        } else {
            bool leave_due = active_count(word) == 1 && (word & BLOCKED) != 0;
            released = cas_acq_rel(&lane->word, &word, (word - 1) | (leave_due ? DUE : 0));
        }
        if (released && --count > 0)
            word = load_acquire(&lane->word);
    }
}

void lanepool_i_lane_release_slowly(lanepool_i_lane *lane, uint64_t word, lanepool_i_grants *grants)
{
    release_entries(lane, 1, word, grants);
}

/* --- append --- */

/* Makes the turn even, which publishes the links. Takes a due advance over and carries it out. */
static void end_turn(lanepool_i_lane *lane, lanepool_i_grants *grants)
{
    uint64_t word = load_relaxed(&lane->word);
    while (!cas_acq_rel(&lane->word, &word, (word + TURN) & ~DUE))
        continue;
    if ((word & DUE) == 0)
        return;
    word = load_acquire(&lane->word);
    uint64_t passed = 0;
    while (!try_advance(lane, &word, grants, &passed))
        continue;
    if (passed > 0)
        release_entries(lane, passed, load_acquire(&lane->word), grants);
}

/* Makes the turn odd. Returns false if no entry waits any more; then the turn is even again. */
static bool begin_turn(lanepool_i_lane *lane)
{
    if ((fetch_add_acq_rel(&lane->word, TURN) & BLOCKED) != 0)
        return true;
    fetch_add_acq_rel(&lane->word, TURN);
    return false;
}

static void link_behind_last(lanepool_i_lane *lane, uintptr_t link)
{
    store_release(&lanepool_i_link_entry(lane->last)->next, link);
    lane->last = link;
}

/* Makes the entry the first one to wait. Release: the advancer sees the entry and its block. */
static bool try_block(lanepool_i_lane *lane, uint64_t *word, uintptr_t link)
{
    store_relaxed(&lane->first[head_index(*word)], link);
    lane->last = link;
    return cas_acq_rel(&lane->word, word, *word | BLOCKED);
}

bool lanepool_i_lane_append_slowly(lanepool_i_lane *lane, uintptr_t link, uint64_t word,
                                   lanepool_i_grants *grants)
{
    lanepool_mode mode = lanepool_i_link_mode(link);
    /* Written before another thread can see the entry, so before it is known whether it is
     * granted. */
    lanepool_i_lane_trace(lane, LANEPOOL_EVENT_ENTER, link, 0, grants->ring);
    for (;;) {
        if ((word & BLOCKED) != 0) {
            if (begin_turn(lane)) {
                link_behind_last(lane, link);
                end_turn(lane, grants);
                return false;
            }
            word = load_acquire(&lane->word);
        } else if (active_count(word) == 0) {
            lanepool_i_lane_trace(lane, LANEPOOL_EVENT_ARRIVE, link, 0, grants->ring);
            store_relaxed(&lane->word, (word & UNCHANGED_BY_GRANT) | granted_bits(1, mode));
            return true;
        } else if (overlaps_with_granted(mode, word) && active_count(word) < ACTIVE_MASK) {
            if (cas_acq_rel(&lane->word, &word, word + 1)) {
                lanepool_i_lane_trace(lane, LANEPOOL_EVENT_ARRIVE, link, 0, grants->ring);
                return true;
            }
        } else if (try_block(lane, &word, link)) {
            return false;
        }
    }
}

/* --- gates --- */

/* Inserts a gate at the head while the turn is odd: no advance succeeds. A thread that tried to
 * advance before may read the gate, so the head is stored with release. Since tickets never
 * decrease along a lane, the gate gets the ticket of the entry behind it. */
static void link_before_first(lanepool_i_lane *lane, lanepool_i_gate *gate, uintptr_t link)
{
    _Atomic(uintptr_t) *head = lanepool_i_lane_head(lane);
    uintptr_t first = load_relaxed(head);
    store_relaxed(&gate->entry.entry.next, first);
    uint64_t word = load_relaxed(&lanepool_i_link_task(first)->word) & LANEPOOL_I_TICKET_MASK;
    store_relaxed(&gate->block.word,
                  word | LANEPOOL_I_MESSAGE | LANEPOOL_I_WIDE | LANEPOOL_I_TOMBSTONE);
    store_release(head, link);
}

void lanepool_i_lane_close_gate(lanepool_i_lane *lane, lanepool_i_gate *gate, uint64_t ticket,
                                lanepool_i_grants *grants)
{
    uintptr_t link =
        lanepool_i_link_to(&gate->entry.entry, LANEPOOL_I_LINK_WIDE, LANEPOOL_EXCLUSIVE);
    gate->lane = lane;
    gate->entry.entry.at.lane = lane;
    gate->entry.owner = (uintptr_t)&gate->block | LANEPOOL_I_OWNER_GATE;
    gate->block.as.wide.count = 0;
    atomic_init(&gate->entry.entry.next, 0);
    atomic_init(&gate->state, LANEPOOL_I_GATE_WAITS);
    atomic_init(&gate->block.word, ticket << LANEPOOL_I_TICKET_SHIFT | LANEPOOL_I_MESSAGE |
                                       LANEPOOL_I_WIDE | LANEPOOL_I_TOMBSTONE);
    for (uint64_t word = load_acquire(&lane->word);;) {
        if ((word & BLOCKED) != 0) {
            if (begin_turn(lane)) {
                link_before_first(lane, gate, link);
                end_turn(lane, grants);
                return;
            }
            word = load_acquire(&lane->word);
        } else if (active_count(word) == 0) {
            atomic_init(&gate->state, LANEPOOL_I_GATE_HOLDS);
            store_relaxed(&lane->word, (word & UNCHANGED_BY_GRANT) | 1);
            return;
        } else if (try_block(lane, &word, link)) {
            return;
        }
    }
}

void lanepool_i_lane_open_gate(lanepool_i_gate *gate, lanepool_i_grants *grants)
{
    uint32_t waits = LANEPOOL_I_GATE_WAITS;
    if (cas_acq_rel(&gate->state, &waits, LANEPOOL_I_GATE_OPENED))
        return;
    store_relaxed(&gate->state, LANEPOOL_I_GATE_PASSED);
    lanepool_i_lane_release(gate->lane, grants);
}

bool lanepool_i_gate_has_passed(const lanepool_i_gate *gate)
{
    return load_acquire(&gate->state) == LANEPOOL_I_GATE_PASSED;
}

/* --- freeze --- */

bool lanepool_i_lane_freeze(lanepool_i_lane *lane)
{
    return (load_acquire(&lane->word) & BLOCKED) != 0 && begin_turn(lane);
}

/* Ends the turn after all waiting entries were taken out: there is nothing to advance to. */
static void end_empty_turn(lanepool_i_lane *lane)
{
    uint64_t word = load_relaxed(&lane->word);
    while (!cas_acq_rel(&lane->word, &word, (word + TURN) & ~(DUE | BLOCKED)))
        continue;
}

void lanepool_i_lane_thaw(lanepool_i_lane *lane, lanepool_i_grants *grants)
{
    if (load_relaxed(lanepool_i_lane_head(lane)) != 0)
        end_turn(lane, grants);
    else
        end_empty_turn(lane);
}

/* No other thread reads the list: one that began to advance before the freeze would hold the only
 * granted entry, but another one is granted whose release has not begun. */
void lanepool_i_lane_take_out(lanepool_i_lane *lane, const lanepool_i_entry *entry)
{
    _Atomic(uintptr_t) *at = lanepool_i_lane_head(lane);
    uintptr_t previous = 0;
    uintptr_t link;
    while (lanepool_i_link_entry(link = load_relaxed(at)) != entry) {
        previous = link;
        at = &lanepool_i_link_entry(link)->next;
    }
    store_release(at, load_relaxed(&entry->next));
    if (lane->last == link)
        lane->last = previous;
}

/* Only releases change the word of a frozen lane. If they have left no entry active, the thaw makes
 * the due advance and grants the run. */
void lanepool_i_lane_grant_overlapping(lanepool_i_lane *lane, lanepool_i_grants *grants)
{
    _Atomic(uintptr_t) *at = lanepool_i_lane_head(lane);
    uintptr_t head = load_relaxed(at);
    if (head == 0)
        return;
    uintptr_t next;
    uint64_t count = measure_run(head, &next);
    uint64_t word = load_acquire(&lane->word);
    do {
        if (active_count(word) == 0 || !overlaps_with_granted(lanepool_i_link_mode(head), word) ||
            count > ACTIVE_MASK - active_count(word))
            return;
    } while (!cas_acq_rel(&lane->word, &word, word + count));
    store_release(at, next);
    uint64_t passed = grant_run(lane, head, count, grants);
    if (passed > 0)
        release_entries(lane, passed, load_acquire(&lane->word), grants);
}

bool lanepool_i_lane_is_frozen(const lanepool_i_lane *lane)
{
    return (load_relaxed(&lane->word) & ODD) != 0;
}

_Atomic(uintptr_t) *lanepool_i_lane_head(lanepool_i_lane *lane)
{
    return &lane->first[head_index(load_acquire(&lane->word))];
}
