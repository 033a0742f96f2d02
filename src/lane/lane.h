/*
 * A lane: the first-in first-out order of tasks that claim one key. No lock.
 *
 * The role's holder appends entries; the thread that finishes a task releases its lanes.
 *
 * The lane word, from its highest bit:
 *
 *     turn (35) | odd (1) | which (1) | due (1) | blocked (1) | mode (2) | active (23)
 *
 *     `active`     entries granted and not yet released.
 *     `mode`       the granted entries' mode (mode.h).
 *     `blocked`    entries wait: a list from first[which] to `last`, linked through `next`.
 *     `due`        a release found the turn odd and left its advance to the role's holder.
 *     `which`      the head of the list is first[which].
 *     `turn, odd`  one counter: plus one when an append or a freeze begins, and when it ends. While
 *                  it is odd, the end of the list cannot be relied on.
 *
 * Writers. The role's holder writes `last`, and first[which] while no entry waits or the turn is
 * odd. The advancer, at most one thread at a time, writes first[!which]. No thread follows a link
 * to a granted entry, so a task's block may be freed as soon as its releases are done.
 *
 * Append, by the role's holder:
 *   - Nothing active, nothing waits: store {1, mode}, granted. No other thread changes such a word.
 *   - Nothing waits, the entry's mode overlaps with the granted ones': swap in active + 1, granted.
 *   - Nothing waits otherwise: set first[which] and `last`, then swap in `blocked`.
 *   - Entries wait:
 *       1. Make the turn odd. If the list is empty by then: make it even, and start over.
 *       2. Link the entry behind `last`.
 *       3. Make the turn even and clear `due`, in one swap. If `due` was set, advance.
 * Release:
 *   - Others active, or nothing waits: swap in active - 1.
 *   - Last active, entries wait, turn even: advance.
 *   - Last active, entries wait, turn odd: swap in {0, due}.
 * Advance, by the one thread for which active is 1, its own, or 0 after it took `due` over:
 *   1. Collect the run at the head: the first entry, and those behind it whose modes overlap.
 *   2. Write the link to the entry behind them to first[!which].
 *   3. Swap in {count, mode, !which, blocked if more entries wait} with the same turn. If the swap
 *      fails, start the release over with the new word.
 *   4. Grant each collected entry, reading its link before the grant.
 *   5. Release the entries that pass at once: those of tombstones, and opened gates.
 *
 * Why there is one advancer. Either active is 1 and counts the advancer's own entry, or active is 0
 * and the role's holder took `due` over in one swap. In both cases no other thread has an entry to
 * release, and no entry can join, since `blocked` is set.
 *
 * Why the advancer sees the whole list. Its swap fails if the turn has changed. An even turn means
 * that every link up to `last` is made: the append releases them when it makes the turn even, and
 * the advancer acquires them when it reads the word. Only a turn that wraps around during one
 * advance, after 2^35 appends, could fool it.
 */
#ifndef LANEPOOL_SRC_LANE_LANE_H
#define LANEPOOL_SRC_LANE_LANE_H

#include "base/key_index.h"
#include "base/list.h"
#include "lane/mode.h"
#include "task/countdown.h"
#include "task/event_ring.h"

/* Guards: A atomic, R role's holder, V the advancer (which may be the role's holder). */
typedef struct lanepool_i_lane {
    lanepool_i_key key; /* R: in the index */
    union {
        uint64_t stamp;               /* R: of the last task that claimed it; see lane_table.c */
        struct lanepool_i_lane *link; /* R: in the list of frozen lanes, or of free lanes */
    } use;
    _Atomic uint64_t word;       /* A */
    _Atomic(uintptr_t) first[2]; /* V, R: see above */
    uintptr_t last;              /* R */
} lanepool_i_lane;

_Static_assert(sizeof(lanepool_i_lane) == 64, "a lane is one line");

/* A link is an entry's address and, in its low bits, the entry's format and mode. */
#define LANEPOOL_I_LINK_WIDE       ((uintptr_t)1)
#define LANEPOOL_I_LINK_MODE_SHIFT 1 /* two bits */
#define LANEPOOL_I_LINK_ENTRY      (~(uintptr_t)7)

/* `format` is LINK_WIDE for a wide task's entry, else 0. */
static inline uintptr_t lanepool_i_link_to(const lanepool_i_entry *entry, uintptr_t format,
                                           lanepool_mode mode)
{
    return (uintptr_t)entry | format | lanepool_i_mode_put(mode, LANEPOOL_I_LINK_MODE_SHIFT);
}

static inline lanepool_mode lanepool_i_link_mode(uintptr_t link)
{
    return lanepool_i_mode_at(link, LANEPOOL_I_LINK_MODE_SHIFT);
}

static inline lanepool_i_entry *lanepool_i_link_entry(uintptr_t link)
{
    return (lanepool_i_entry *)(link & LANEPOOL_I_LINK_ENTRY);
}

static inline bool lanepool_i_link_is_of_cut(uintptr_t link)
{
    const lanepool_i_wide_entry *entry = (lanepool_i_wide_entry *)(link & LANEPOOL_I_LINK_ENTRY);
    return (link & LANEPOOL_I_LINK_WIDE) != 0 && (entry->owner & LANEPOOL_I_OWNER_CUT) != 0;
}

static inline lanepool_i_task *lanepool_i_link_task(uintptr_t link)
{
    if ((link & LANEPOOL_I_LINK_WIDE) == 0)
        return (lanepool_i_task *)(link & ~(uintptr_t)63);
    const lanepool_i_wide_entry *entry = (lanepool_i_wide_entry *)(link & LANEPOOL_I_LINK_ENTRY);
    return (lanepool_i_task *)(entry->owner & LANEPOOL_I_OWNER_TASK);
}

/* The tasks that releases or appends made ready, and the change in the number of latches. */
typedef struct lanepool_i_grants {
    lanepool_i_tasks ready;
    uint64_t latched;      /* latches added less latches ended; wraps around below 0 */
    lanepool_i_ring *ring; /* the thread's events, or NULL */
    bool rollup_waits;     /* a rollup was routed that waits, with or without latches */
} lanepool_i_grants;

static inline lanepool_i_grants lanepool_i_no_grants(lanepool_i_ring *ring)
{
    return (lanepool_i_grants){ { NULL, NULL, 0 }, 0, ring, false };
}

static inline void lanepool_i_grants_add(lanepool_i_grants *grants, lanepool_i_task *task)
{
    lanepool_i_trace_task(grants->ring, LANEPOOL_EVENT_READY, task, 0);
    lanepool_i_tasks_add(&grants->ready, task);
}

/* Adds a task whose entries were all granted as they were appended. */
static inline void lanepool_i_grants_add_granted_at_once(lanepool_i_grants *grants,
                                                         lanepool_i_task *task)
{
    lanepool_i_trace_next(grants->ring, LANEPOOL_EVENT_READY, task, 0, 0);
    lanepool_i_tasks_add(&grants->ready, task);
}

#define LANEPOOL_I_LANE_ACTIVE     (((uint64_t)1 << 23) - 1)
#define LANEPOOL_I_LANE_MODE_SHIFT 23 /* two bits */
#define LANEPOOL_I_LANE_MODE       (LANEPOOL_I_MODE_MASK << LANEPOOL_I_LANE_MODE_SHIFT)
#define LANEPOOL_I_LANE_BLOCKED    ((uint64_t)1 << 25)

/* Only the role's holder changes a lane, except by lanepool_i_lane_release(). */
void lanepool_i_lane_init(lanepool_i_lane *lane);

/* Do what the inline functions below leave to them. `word` is the lane word as read. */
bool lanepool_i_lane_append_slowly(lanepool_i_lane *lane, uintptr_t link, uint64_t word,
                                   lanepool_i_grants *grants);
void lanepool_i_lane_release_slowly(lanepool_i_lane *lane, uint64_t word,
                                    lanepool_i_grants *grants);

/* Returns true for the void lane, which belongs to no key. An entry in it does not make its task
 * wait. */
static inline bool lanepool_i_lane_is_void(const lanepool_i_lane *lane)
{
    return lane->key.type == LANEPOOL_I_TYPE_LANE && lane->key.value.id == LANEPOOL_I_NO_LANE;
}

/* Returns true for a worker's lane, which belongs to no key either. Its number is the worker's
 * index. */
static inline bool lanepool_i_lane_is_of_worker(const lanepool_i_lane *lane)
{
    return lane->key.type == LANEPOOL_I_TYPE_LANE && lane->key.value.id != LANEPOOL_I_NO_LANE;
}

static inline void lanepool_i_lane_init_void(lanepool_i_lane *lane)
{
    lanepool_i_lane_init(lane);
    lane->key.type = LANEPOOL_I_TYPE_LANE;
    lane->key.value.id = LANEPOOL_I_NO_LANE;
}

static inline void lanepool_i_lane_init_of_worker(lanepool_i_lane *lane, size_t worker)
{
    lanepool_i_lane_init(lane);
    lane->key.type = LANEPOOL_I_TYPE_LANE;
    lane->key.value.id = worker;
}

/* The number and type that name the lane in events. */
static inline uint64_t lanepool_i_lane_number(const lanepool_i_lane *lane)
{
    return lane->key.value.id;
}

static inline uint8_t lanepool_i_lane_type(const lanepool_i_lane *lane)
{
    return (uint8_t)(lane->key.type + LANEPOOL_EVENT_LANE_ID);
}

LANEPOOL_I_COLD void lanepool_i_lane_write_event(const lanepool_i_lane *lane,
                                                 lanepool_event_type type, uintptr_t link,
                                                 uint32_t granted, lanepool_i_ring *ring);

/* Records that an entry enters the lane or is granted, before another thread can act on it. */
static inline void lanepool_i_lane_trace(const lanepool_i_lane *lane, lanepool_event_type type,
                                         uintptr_t link, uint32_t granted, lanepool_i_ring *ring)
{
    if (lanepool_i_records(ring, type))
        lanepool_i_lane_write_event(lane, type, link, granted, ring);
}

/* Records that a cut's visit of the lane begins or ends. */
static inline void lanepool_i_lane_trace_visit(const lanepool_i_lane *lane,
                                               lanepool_event_type type, const lanepool_i_task *cut,
                                               lanepool_status status, lanepool_i_ring *ring)
{
    if (lanepool_i_records(ring, type))
        lanepool_i_trace_at(ring, type, cut, lanepool_i_lane_number(lane),
                            lanepool_i_lane_type(lane), (uint32_t)status);
}

/* Records that the lane is released by a task that has not ended, or by a tombstone. */
static inline void lanepool_i_lane_trace_early(const lanepool_i_lane *lane,
                                               const lanepool_i_task *task, lanepool_i_ring *ring)
{
    if (lanepool_i_records(ring, LANEPOOL_EVENT_RELEASE))
        lanepool_i_trace_at(ring, LANEPOOL_EVENT_RELEASE, task, lanepool_i_lane_number(lane),
                            lanepool_i_lane_type(lane), LANEPOOL_EVENT_EARLY);
}

/* Appends an entry. Returns true if it is granted at once. Otherwise it is queued, and `grants`
 * receives what a due advance has granted, perhaps this entry. */
static inline bool lanepool_i_lane_append(lanepool_i_lane *lane, uintptr_t link,
                                          lanepool_i_grants *grants)
{
    store_relaxed(&lanepool_i_link_entry(link)->next, 0);
    /* Acquire: if the entry is granted now, the lane's last task happens before this one. */
    uint64_t word = load_acquire(&lane->word);
    if ((word & (LANEPOOL_I_LANE_ACTIVE | LANEPOOL_I_LANE_BLOCKED)) != 0)
        return lanepool_i_lane_append_slowly(lane, link, word, grants);
    lanepool_i_lane_trace(lane, LANEPOOL_EVENT_ENTER, link, LANEPOOL_EVENT_GRANTED, grants->ring);
    uint64_t mode = lanepool_i_mode_put(lanepool_i_link_mode(link), LANEPOOL_I_LANE_MODE_SHIFT);
    store_relaxed(&lane->word, (word & ~LANEPOOL_I_LANE_MODE) | mode | 1);
    return true;
}

/*
 * A gate blocks a lane in front of all waiting entries. It is an entry of no task, with a block of
 * its own. The role's holder inserts it at the head, opens it, and frees it.
 *
 * A gate that is granted before it is opened keeps the lane, as a running task would, until it is
 * opened. A gate that is opened first passes like a tombstone when it is granted.
 *
 * Opener and advancer both try to swap the state away from WAITS. The second one fails and makes
 * the lane advance: the opener by a release, the advancer by passing the gate. The advancer's last
 * access sets PASSED, with release; the check before the gate is freed acquires it.
 *
 * Guards: R role's holder, A atomic.
 */
typedef enum lanepool_i_gate_state {
    LANEPOOL_I_GATE_WAITS,
    LANEPOOL_I_GATE_HOLDS,
    LANEPOOL_I_GATE_OPENED,
    LANEPOOL_I_GATE_PASSED
} lanepool_i_gate_state;

typedef struct lanepool_i_gate {
    lanepool_i_task block;       /* R: no task, but its ticket is compared with others */
    lanepool_i_wide_entry entry; /* R */
    _Atomic uint32_t state;      /* A: a lanepool_i_gate_state */
    bool is_of_failure;          /* R: closed because a task has failed; a drain does not open it */
    lanepool_i_lane *lane;       /* R */
    lanepool_i_link link;        /* R: in the pool's list of gates */
} lanepool_i_gate;

/* Inserts a gate in front of all waiting entries. `ticket` is later than those of all tasks with
 * entries, and not later than those of tasks that will get entries. */
void lanepool_i_lane_close_gate(lanepool_i_lane *lane, lanepool_i_gate *gate, uint64_t ticket,
                                lanepool_i_grants *grants);
/* Opens a gate; once for each gate. The gate may be freed once it has passed. */
void lanepool_i_lane_open_gate(lanepool_i_gate *gate, lanepool_i_grants *grants);
bool lanepool_i_gate_has_passed(const lanepool_i_gate *gate);
/* Returns true if the block that a link leads to is a gate's. */
static inline bool lanepool_i_is_gate(const lanepool_i_task *block)
{
    return (load_relaxed(&block->word) & (LANEPOOL_I_MESSAGE | LANEPOOL_I_BARRIER)) ==
           LANEPOOL_I_MESSAGE;
}

/* Gives up one granted entry, without accessing it. Called by the thread that finished the entry's
 * task, or by the role's holder. */
static inline void lanepool_i_lane_release(lanepool_i_lane *lane, lanepool_i_grants *grants)
{
    /* Release: what the task did happens before the next granted task runs. Acquire: the release
     * may become an advance, which reads what the appender wrote. */
    uint64_t word = load_acquire(&lane->word);
    if ((word & LANEPOOL_I_LANE_BLOCKED) != 0 || !cas_acq_rel(&lane->word, &word, word - 1))
        lanepool_i_lane_release_slowly(lane, word, grants);
}

/* Returns how many entries are granted and not yet released. */
static inline size_t lanepool_i_lane_granted_count(const lanepool_i_lane *lane)
{
    return (size_t)(load_relaxed(&lane->word) & LANEPOOL_I_LANE_ACTIVE);
}

/* Returns true if no entry is granted or waits; then no other thread accesses the lane. Role's
 * holder only. */
bool lanepool_i_lane_is_idle(const lanepool_i_lane *lane);

/* Freezes a lane in which entries wait: they stay where they are until the thaw, while tasks may
 * still release the lane. Returns false, without freezing, if no entry waits. */
bool lanepool_i_lane_freeze(lanepool_i_lane *lane);
void lanepool_i_lane_thaw(lanepool_i_lane *lane, lanepool_i_grants *grants);
bool lanepool_i_lane_is_frozen(const lanepool_i_lane *lane);
/* Takes a waiting entry out of a frozen lane. The lane must have a granted entry whose release has
 * not begun: then no thread was about to advance the lane when it was frozen. */
void lanepool_i_lane_take_out(lanepool_i_lane *lane, const lanepool_i_entry *entry);
/* Grants the run at the head if its mode overlaps with the granted entries'. Called after the last
 * lanepool_i_lane_take_out(), under the same conditions. */
void lanepool_i_lane_grant_overlapping(lanepool_i_lane *lane, lanepool_i_grants *grants);
/* Returns the address of the link to the first waiting entry of a frozen lane. A thread that tried
 * to advance before the freeze may still read links, but its swap fails. */
_Atomic(uintptr_t) *lanepool_i_lane_head(lanepool_i_lane *lane);

#endif
