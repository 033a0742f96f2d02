/* Owns the lane's word and its protocol; both are explained in lane.h. */
#include "lane/lane.h"

#define ACTIVE_MASK   LANEPOOL_I_LANE_ACTIVE
#define SHARED        LANEPOOL_I_LANE_SHARED
#define BLOCKED       LANEPOOL_I_LANE_BLOCKED
#define DUE           ((uint64_t)1 << 25)
#define WHICH         ((uint64_t)1 << 26)
#define ODD           ((uint64_t)1 << 27)
#define TURN          ODD /* adding it ends or begins an append */
#define KEPT_BY_GRANT (~(ACTIVE_MASK | SHARED))

static uint64_t active(uint64_t word)
{
    return word & ACTIVE_MASK;
}

static size_t which(uint64_t word)
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

void lanepool_i_lane_write(const lanepool_i_lane *lane, lanepool_event_type type, uintptr_t link,
                           uint32_t granted, lanepool_i_ring *ring)
{
    bool shared = type == LANEPOOL_EVENT_ENTER && (link & LANEPOOL_I_LINK_SHARED) != 0;
    lanepool_i_trace_at(ring, type, lanepool_i_link_task(link), lanepool_i_lane_number(lane),
                        lanepool_i_lane_type(lane), granted | (shared ? LANEPOOL_EVENT_SHARED : 0));
}

/* --- advance --- */

/* All its other lanes were counted as latched when it arrived there. */
static void became_ready(lanepool_i_task *task, lanepool_i_grants *grants)
{
    grants->latched -= lanepool_i_task_count(task) - 1;
    lanepool_i_grants_add(grants, task);
}

/* A mark's place has come to its turn, and goes: it is counted with the mark's other ones. */
static LANEPOOL_I_COLD void pass_mark(const lanepool_i_lane *lane, lanepool_i_task *task,
                                      lanepool_i_grants *grants)
{
    lanepool_i_lane_trace_early(lane, task, grants->ring);
    if (lanepool_i_countdown_arrive(task, 1))
        lanepool_i_tasks_add(&grants->ready, task);
}

/* True: it was opened before, and passes. It may be gone then. */
static LANEPOOL_I_COLD bool gate_granted(lanepool_i_gate *gate)
{
    uint32_t waits = LANEPOOL_I_GATE_WAITS;
    if (cas_acq_rel(&gate->state, &waits, LANEPOOL_I_GATE_HOLDS))
        return false;
    store_release(&gate->state, LANEPOOL_I_GATE_PASSED);
    return true;
}

/* As below, for an entry that is not a plain one. */
static LANEPOOL_I_COLD bool grant_special(const lanepool_i_lane *lane, uintptr_t link,
                                          uintptr_t owner, lanepool_i_grants *grants)
{
    lanepool_i_task *task = (lanepool_i_task *)(owner & LANEPOOL_I_OWNER_TASK);
    if ((owner & LANEPOOL_I_OWNER_GATE) != 0)
        return gate_granted((lanepool_i_gate *)task);
    lanepool_i_lane_trace(lane, LANEPOOL_EVENT_ARRIVE, link, 0, grants->ring);
    pass_mark(lane, task, grants);
    return true;
}

/* True: the lane goes on past it. */
static bool grant_wide(const lanepool_i_lane *lane, uintptr_t link, lanepool_i_grants *grants)
{
    const lanepool_i_wide_entry *entry = (lanepool_i_wide_entry *)(link & LANEPOOL_I_LINK_ENTRY);
    uintptr_t owner = entry->owner;
    lanepool_i_task *task = (lanepool_i_task *)(owner & LANEPOOL_I_OWNER_TASK);
    if (__builtin_expect((owner & LANEPOOL_I_OWNER_SPECIAL) != 0, 0))
        return grant_special(lane, link, owner, grants);
    lanepool_i_lane_trace(lane, LANEPOOL_EVENT_ARRIVE, link, 0, grants->ring);
    if (lanepool_i_countdown_arrive_wide(task, 1))
        became_ready(task, grants);
    else
        grants->latched++;
    return false;
}

static bool grant(const lanepool_i_lane *lane, uintptr_t link, lanepool_i_grants *grants)
{
    if ((link & LANEPOOL_I_LINK_WIDE) != 0)
        return grant_wide(lane, link, grants);
    lanepool_i_task *task = (lanepool_i_task *)(link & ~(uintptr_t)63);
    lanepool_i_lane_trace(lane, LANEPOOL_EVENT_ARRIVE, link, 0, grants->ring);
    if (__builtin_expect((lanepool_i_link_entry(link)->at.mark & LANEPOOL_I_ENTRY_TOMBSTONE) != 0,
                         0)) {
        pass_mark(lane, task, grants);
        return true;
    }
    if (lanepool_i_countdown_arrive_narrow(task, 1))
        became_ready(task, grants);
    else
        grants->latched++;
    return false;
}

/* After a grant the entry's block may be gone: the link is read before. Returns how many of them
 * were marks. */
static uint64_t grant_run(const lanepool_i_lane *lane, uintptr_t head, uint64_t count,
                          lanepool_i_grants *grants)
{
    uint64_t marks = 0;
    while (count-- > 0) {
        uintptr_t next = load_relaxed(&lanepool_i_link_entry(head)->next);
        marks += grant(lane, head, grants);
        head = next;
    }
    return marks;
}

/*
 * Tries to move on from `word`, in which this thread alone is active or nobody
 * is. Acquire: every link made before the turn became even is visible; the
 * acquire on failure too, since the word is looked at again. A gate may come
 * to the head after the word was read: the swap will fail, but the gate is
 * looked at before that. So its link is acquired; and it stays until it has
 * passed, for which it needs this release. `passed` counts the marks among
 * those granted, which are to be released at once.
 */
static bool try_advance(lanepool_i_lane *lane, uint64_t *word, lanepool_i_grants *grants,
                        uint64_t *passed)
{
    uintptr_t head = load_acquire(&lane->first[which(*word)]);
    uintptr_t next = load_acquire(&lanepool_i_link_entry(head)->next);
    uint64_t count = 1;
    if ((head & LANEPOOL_I_LINK_SHARED) != 0)
        for (; (next & LANEPOOL_I_LINK_SHARED) != 0 && count < ACTIVE_MASK; count++)
            next = load_acquire(&lanepool_i_link_entry(next)->next);
    uint64_t moved = (*word & KEPT_BY_GRANT) ^ WHICH;
    moved |= count | ((head & LANEPOOL_I_LINK_SHARED) != 0 ? SHARED : 0);
    if (next == 0)
        moved &= ~BLOCKED;
    else
        lanepool_i_prefetch(lanepool_i_link_entry(next));
    store_relaxed(&lane->first[which(moved)], next);
    if (!cas_acq_rel(&lane->word, word, moved))
        return false;
    *passed += grant_run(lane, head, count, grants);
    return true;
}

/* Gives up so many granted entries, and those of marks that are granted meanwhile. */
static void release(lanepool_i_lane *lane, uint64_t count, uint64_t word, lanepool_i_grants *grants)
{
    while (count > 0) {
        bool released;
        if (active(word) == 1 && (word & BLOCKED) != 0 && (word & ODD) == 0) {
            released = try_advance(lane, &word, grants, &count);
        } else {
            bool leave_due = active(word) == 1 && (word & BLOCKED) != 0;
            released = cas_acq_rel(&lane->word, &word, (word - 1) | (leave_due ? DUE : 0));
        }
        if (released && --count > 0)
            word = load_acquire(&lane->word);
    }
}

void lanepool_i_lane_release_before(lanepool_i_lane *lane, uint64_t word, lanepool_i_grants *grants)
{
    release(lane, 1, word, grants);
}

/* --- append --- */

/* The turn becomes even again, and with it the links are published. Takes a due advance over. */
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
        release(lane, passed, load_acquire(&lane->word), grants);
}

/* False: nothing waits any more; the word is as if nothing had been tried. */
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

/* The first to wait. Release: the entry and its block are visible to who advances. */
static bool try_block(lanepool_i_lane *lane, uint64_t *word, uintptr_t link)
{
    store_relaxed(&lane->first[which(*word)], link);
    lane->last = link;
    return cas_acq_rel(&lane->word, word, *word | BLOCKED);
}

bool lanepool_i_lane_append_behind(lanepool_i_lane *lane, uintptr_t link, uint64_t word,
                                   lanepool_i_grants *grants)
{
    bool shared = (link & LANEPOOL_I_LINK_SHARED) != 0;
    /* Written while nobody else can see the entry: whether it is granted is not known yet. */
    lanepool_i_lane_trace(lane, LANEPOOL_EVENT_ENTER, link, 0, grants->ring);
    for (;;) {
        if ((word & BLOCKED) != 0) {
            if (begin_turn(lane)) {
                link_behind_last(lane, link);
                end_turn(lane, grants);
                return false;
            }
            word = load_acquire(&lane->word);
        } else if (active(word) == 0) {
            lanepool_i_lane_trace(lane, LANEPOOL_EVENT_ARRIVE, link, 0, grants->ring);
            store_relaxed(&lane->word, (word & KEPT_BY_GRANT) | (shared ? SHARED : 0) | 1);
            return true;
        } else if (shared && (word & SHARED) != 0 && active(word) < ACTIVE_MASK) {
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

/* In a lane that is odd nobody else relies on the head: who tried to advance before fails, but may
 * have looked at the gate. */
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
    uintptr_t link = (uintptr_t)&gate->entry | LANEPOOL_I_LINK_WIDE;
    gate->lane = lane;
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
        } else if (active(word) == 0) {
            atomic_init(&gate->state, LANEPOOL_I_GATE_HOLDS);
            store_relaxed(&lane->word, (word & KEPT_BY_GRANT) | 1);
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

/* As end_turn(), when all that waited was taken out: there is nothing to advance to. */
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

/* Who had begun to move the lane on before it was frozen would have been its last holder. */
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

/* Only releases change the word meanwhile. Once none is active they have left the advance to the
 * thaw, which grants the run by itself. */
void lanepool_i_lane_join(lanepool_i_lane *lane, lanepool_i_grants *grants)
{
    _Atomic(uintptr_t) *at = lanepool_i_lane_head(lane);
    uintptr_t head = load_relaxed(at);
    uintptr_t next = head;
    uint64_t count = 0;
    for (; (next & LANEPOOL_I_LINK_SHARED) != 0; count++)
        next = load_relaxed(&lanepool_i_link_entry(next)->next);
    uint64_t word = load_acquire(&lane->word);
    do {
        if (count == 0 || active(word) == 0 || (word & SHARED) == 0 ||
            count > ACTIVE_MASK - active(word))
            return;
    } while (!cas_acq_rel(&lane->word, &word, word + count));
    store_release(at, next);
    uint64_t passed = grant_run(lane, head, count, grants);
    if (passed > 0)
        release(lane, passed, load_acquire(&lane->word), grants);
}

bool lanepool_i_lane_is_frozen(const lanepool_i_lane *lane)
{
    return (load_relaxed(&lane->word) & ODD) != 0;
}

_Atomic(uintptr_t) *lanepool_i_lane_head(lanepool_i_lane *lane)
{
    return &lane->first[which(load_acquire(&lane->word))];
}
