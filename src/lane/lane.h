/*
 * A lane: the first-in first-out order of tasks that claim one key.
 *
 * The role's holder appends; whoever finishes a task releases. No lock.
 *
 * The lane's word, from its highest bit:
 *
 *     turn (36) | odd (1) | which (1) | due (1) | blocked (1) | shared (1) | active (23)
 *
 *     active   entries granted and not yet released
 *     shared   they are SHARED
 *     blocked  entries wait: first[which] to last, linked through `next`
 *     due      a release found the lane odd and left its advance to the role's holder
 *     which    which of first[0], first[1] is the head of what waits
 *     odd,turn counts up by one when an append (or a freeze) begins and when it
 *              ends: odd means that the list's end may not be relied upon
 *
 * Who writes what: `last` and, while nothing waits or, for a gate or for one
 * that leaves the list, while the lane is odd, first[which]: the role's holder.
 * first[!which]: the one thread that advances. A lane never points at a granted
 * entry, so a task's block may go as soon as its releases are done.
 *
 * Append, by the role's holder:
 *   nobody active, none waits  store {1, mode}: granted. No one else can change such a word.
 *   shared joins shared        swap in active + 1: granted.
 *   none waits otherwise       first[which] = last = entry; swap in `blocked`.
 *   some wait                  odd; link behind last; even, clearing `due`. If it was set, advance.
 *                              If the waiting ones had gone before it became odd: even, start over.
 * Release: if others are active, or none waits: active - 1. The last active one with others
 *   waiting advances; if the lane is odd it leaves {0, due} instead.
 * Advance: by the one thread for which active is 0 or its own. Collect the head, or the head run
 *   of SHARED; write what follows to first[!which]; swap in {count, mode, !which, blocked = more
 *   follow} with the same turn. On success grant each, reading its link first, and release those
 * that were marks or opened gates.
 *
 * Why one advancer: active is 1 and its own, or 0 after `due` was taken over
 * in one swap; nobody can join meanwhile, since `blocked` is set. Why the list
 * is whole: the swap fails if the turn has changed, and an even turn means that
 * every link up to `last` is made (release when it became even, acquire here).
 * A turn would have to come round (2^36 appends) during one advance to fool it.
 */
#ifndef LANEPOOL_SRC_LANE_LANE_H
#define LANEPOOL_SRC_LANE_LANE_H

#include "base/key_index.h"
#include "task/countdown.h"
#include "task/event_ring.h"

/* Guards: A atomic, R role's holder, V the advancer (who also may be R). */
typedef struct lanepool_i_lane {
    lanepool_i_key key;          /* R: in the index */
    _Atomic uint64_t word;       /* A */
    _Atomic(uintptr_t) first[2]; /* V, R: see above */
    uintptr_t last;              /* R */
    union {
        uint64_t stamp;               /* R: while a task is routed: whether it is here already */
        struct lanepool_i_lane *link; /* R: in the walk that is going on; free */
    } use;
} lanepool_i_lane;

_Static_assert(sizeof(lanepool_i_lane) == 64, "a lane is one line");

/* Links name an entry, how to find its task, and its mode. */
#define LANEPOOL_I_LINK_WIDE   ((uintptr_t)1)
#define LANEPOOL_I_LINK_SHARED ((uintptr_t)2)
#define LANEPOOL_I_LINK_FOUND  ((uintptr_t)4) /* in a frozen lane: the walk has been here */
#define LANEPOOL_I_LINK_ENTRY  (~(uintptr_t)7)

static inline lanepool_i_entry *lanepool_i_link_entry(uintptr_t link)
{
    return (lanepool_i_entry *)(link & LANEPOOL_I_LINK_ENTRY);
}

static inline lanepool_i_task *lanepool_i_link_task(uintptr_t link)
{
    if ((link & LANEPOOL_I_LINK_WIDE) == 0)
        return (lanepool_i_task *)(link & ~(uintptr_t)63);
    const lanepool_i_wide_entry *entry = (lanepool_i_wide_entry *)(link & LANEPOOL_I_LINK_ENTRY);
    return (lanepool_i_task *)(entry->owner & LANEPOOL_I_OWNER_TASK);
}

/* What a release or an append made ready, and how many lanes rollups latched meanwhile. */
typedef struct lanepool_i_grants {
    lanepool_i_tasks ready;
    uint64_t latched;      /* entries that arrived while their rollup still waits for others */
    lanepool_i_ring *ring; /* the thread's events, or NULL */
} lanepool_i_grants;

static inline lanepool_i_grants lanepool_i_no_grants(lanepool_i_ring *ring)
{
    return (lanepool_i_grants){ { NULL, NULL, 0 }, 0, ring };
}

static inline void lanepool_i_grants_add(lanepool_i_grants *grants, lanepool_i_task *task)
{
    lanepool_i_trace_task(grants->ring, LANEPOOL_EVENT_READY, task, 0);
    lanepool_i_tasks_add(&grants->ready, task);
}

/* Its last lane was granted as it entered it, and the others before. */
static inline void lanepool_i_grants_add_at_once(lanepool_i_grants *grants, lanepool_i_task *task)
{
    lanepool_i_trace_next(grants->ring, LANEPOOL_EVENT_READY, task, 0, 0);
    lanepool_i_tasks_add(&grants->ready, task);
}

#define LANEPOOL_I_LANE_ACTIVE  (((uint64_t)1 << 23) - 1)
#define LANEPOOL_I_LANE_SHARED  ((uint64_t)1 << 23)
#define LANEPOOL_I_LANE_BLOCKED ((uint64_t)1 << 24)

void lanepool_i_lane_init(lanepool_i_lane *lane);

/* As below, where others are active, or some wait. */
bool lanepool_i_lane_append_behind(lanepool_i_lane *lane, uintptr_t link, uint64_t word,
                                   lanepool_i_grants *grants);
void lanepool_i_lane_release_before(lanepool_i_lane *lane, uint64_t word,
                                    lanepool_i_grants *grants);

/* A lane that is no key's, and in no index: a place in it is as good as none. */
static inline bool lanepool_i_lane_is_void(const lanepool_i_lane *lane)
{
    return lane->key.type == LANEPOOL_I_TYPE_LANE;
}

static inline void lanepool_i_lane_init_void(lanepool_i_lane *lane)
{
    lanepool_i_lane_init(lane);
    lane->key.type = LANEPOOL_I_TYPE_LANE;
    lane->key.value.id = LANEPOOL_I_NO_LANE;
}

/* How events name the lane. */
static inline uint64_t lanepool_i_lane_number(const lanepool_i_lane *lane)
{
    return lane->key.value.id;
}

static inline uint8_t lanepool_i_lane_type(const lanepool_i_lane *lane)
{
    return (uint8_t)(lane->key.type + LANEPOOL_EVENT_LANE_ID);
}

LANEPOOL_I_COLD void lanepool_i_lane_write(const lanepool_i_lane *lane, lanepool_event_type type,
                                           uintptr_t link, uint32_t granted, lanepool_i_ring *ring);

/* An entry enters the lane, or is granted: written while nobody else can see that. */
static inline void lanepool_i_lane_trace(const lanepool_i_lane *lane, lanepool_event_type type,
                                         uintptr_t link, uint32_t granted, lanepool_i_ring *ring)
{
    if (lanepool_i_records(ring, type))
        lanepool_i_lane_write(lane, type, link, granted, ring);
}

/* A lane is given up by a task that has not ended, or by a mark. */
static inline void lanepool_i_lane_trace_early(const lanepool_i_lane *lane,
                                               const lanepool_i_task *task, lanepool_i_ring *ring)
{
    lanepool_i_trace_at(ring, LANEPOOL_EVENT_RELEASE, task, lanepool_i_lane_number(lane),
                        lanepool_i_lane_type(lane), LANEPOOL_EVENT_EARLY);
}

/* Role's holder. True: granted at once. Else the entry waits; `grants` may have got others. */
static inline bool lanepool_i_lane_append(lanepool_i_lane *lane, uintptr_t link,
                                          lanepool_i_grants *grants)
{
    store_relaxed(&lanepool_i_link_entry(link)->next, 0);
    /* Acquire: what the last task here did happens before this one, if it is granted now. */
    uint64_t word = load_acquire(&lane->word);
    if ((word & (LANEPOOL_I_LANE_ACTIVE | LANEPOOL_I_LANE_BLOCKED)) != 0)
        return lanepool_i_lane_append_behind(lane, link, word, grants);
    lanepool_i_lane_trace(lane, LANEPOOL_EVENT_ENTER, link, LANEPOOL_EVENT_GRANTED, grants->ring);
    uint64_t shared = (link & LANEPOOL_I_LINK_SHARED) != 0 ? LANEPOOL_I_LANE_SHARED : 0;
    store_relaxed(&lane->word, (word & ~LANEPOOL_I_LANE_SHARED) | shared | 1);
    return true;
}

/*
 * A gate holds a lane up in front of all that wait there: an entry of no task's, with a block of
 * its own, for which the role's holder makes room at the head. When it is granted it keeps the
 * lane, as a running task would, until it is opened; a gate that was opened before that passes like
 * a mark. Both swap the state away from WAITS, and whoever comes second lets the lane go on. The
 * opener is the role's holder, who also frees it; the advancer says last that it has PASSED, by a
 * release that the look before the freeing acquires. Guards: R role's holder, A atomic.
 */
typedef enum lanepool_i_gate_state {
    LANEPOOL_I_GATE_WAITS,
    LANEPOOL_I_GATE_HOLDS,
    LANEPOOL_I_GATE_OPENED,
    LANEPOOL_I_GATE_PASSED
} lanepool_i_gate_state;

typedef struct lanepool_i_gate {
    lanepool_i_task block;        /* R: no task, but it has a ticket to be compared with others' */
    lanepool_i_wide_entry entry;  /* R */
    _Atomic uint32_t state;       /* A: a lanepool_i_gate_state */
    bool is_of_failure;           /* R: a task has failed there; a drain does not open it */
    lanepool_i_lane *lane;        /* R */
    struct lanepool_i_gate *next; /* R: among the pool's */
} lanepool_i_gate;

/* Role's holder: in front of all that waits; `ticket` comes after those of
 * all that has a place, and not after those of what will get one. */
void lanepool_i_lane_close_gate(lanepool_i_lane *lane, lanepool_i_gate *gate, uint64_t ticket,
                                lanepool_i_grants *grants);
/* Role's holder: once for each gate. When it has passed, its memory is free. */
void lanepool_i_lane_open_gate(lanepool_i_gate *gate, lanepool_i_grants *grants);
bool lanepool_i_gate_has_passed(const lanepool_i_gate *gate);
/* Whether a link's block is a gate's. */
static inline bool lanepool_i_is_gate(const lanepool_i_task *block)
{
    return (load_relaxed(&block->word) & (LANEPOOL_I_MESSAGE | LANEPOOL_I_BARRIER)) ==
           LANEPOOL_I_MESSAGE;
}

/* Whoever finished a task with a granted entry here; the entry is not touched. */
static inline void lanepool_i_lane_release(lanepool_i_lane *lane, lanepool_i_grants *grants)
{
    /* Release: what the task did happens before whoever is granted next. Acquire: this may be an
     * advance, which reads what the appender wrote. */
    uint64_t word = load_acquire(&lane->word);
    if ((word & LANEPOOL_I_LANE_BLOCKED) != 0 || !cas_acq_rel(&lane->word, &word, word - 1))
        lanepool_i_lane_release_before(lane, word, grants);
}

/* Role's holder: nothing active, nothing waiting, and no other thread will touch it. */
bool lanepool_i_lane_is_idle(const lanepool_i_lane *lane);

/* Freezing, by the role's holder: until the thaw, what waits here stays, in order. */
bool lanepool_i_lane_freeze(lanepool_i_lane *lane); /* false: nothing waits, nothing is frozen */
void lanepool_i_lane_thaw(lanepool_i_lane *lane, lanepool_i_grants *grants);
bool lanepool_i_lane_is_frozen(const lanepool_i_lane *lane);
/* Role's holder, of a frozen lane in which something is granted that stayed so when the lane was
 * frozen already: a waiting entry leaves the list. */
void lanepool_i_lane_take_out(lanepool_i_lane *lane, const lanepool_i_entry *entry);
/* In the same lane, when no more leave: SHARED entries that have come to the head so join granted
 * SHARED ones. */
void lanepool_i_lane_join(lanepool_i_lane *lane, lanepool_i_grants *grants);
/* Where the link to the first waiting entry of a frozen lane stands. A thread that tried to
 * advance before the freeze may still read links, but can no longer change anything. */
_Atomic(uintptr_t) *lanepool_i_lane_head(lanepool_i_lane *lane);

#endif
