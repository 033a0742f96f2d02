/*
 * The block of memory that an accepted task lives in.
 *
 * A task carries its entries inline. Up to two claims and nothing else fit into
 * 64 bytes (a *narrow* task); more claims, a future, a release callback or a
 * conflict rule of the user's make it *wide*: the same 64 bytes, with the
 * entries behind them.
 *
 * The task's word, from its highest bit:
 *
 *     ticket (40) | flags (20) | wait (4)
 *
 * `wait` is a narrow task's latch; a wide one has its own. The ticket and the
 * flags are written before the task is published and do not change after,
 * apart from MARKED, which belongs to the role's holder, and MARK and STARTED,
 * by which cancelling and starting meet (cancel.c). Tickets are compared
 * within one pool's pending tasks only, far less than 2^39 of them.
 *
 * Guard letters on fields: S the submitter until the append, R the role's
 * holder until the task is ready, A atomic, W who runs it.
 */
#ifndef LANEPOOL_SRC_TASK_TASK_H
#define LANEPOOL_SRC_TASK_TASK_H

#include "base/atomic.h"
#include "base/key_index.h"
#include "lanepool/task.h"
#include "platform/platform.h"

typedef struct lanepool_i_task lanepool_i_task;
struct lanepool_i_lane;
struct lanepool_i_rank;

/* In a narrow task's place: its task is a mark, and it goes on as soon as it is granted. */
#define LANEPOOL_I_ENTRY_TOMBSTONE ((uintptr_t)1)

/* A task's place in one lane. */
typedef struct lanepool_i_entry {
    _Atomic(uintptr_t) next; /* A: link to the entry behind this one; see lane.h */
    union {
        uint64_t id;                  /* S: TYPE_ID */
        const void *pointer;          /* S: TYPE_POINTER */
        lanepool_i_key_bytes *bytes;  /* S: TYPE_BYTES, owned */
        lanepool_lane *handle;        /* S: TYPE_LANE */
        struct lanepool_i_lane *lane; /* R: once routed */
        uintptr_t mark;               /* R: with PLACE_MARK, the lane is not asked for any more */
    } at;
} lanepool_i_entry;

/* An entry that cannot find its task by its address. */
typedef struct lanepool_i_wide_entry {
    lanepool_i_entry entry;
    uintptr_t owner; /* S: mode and type; R: the task and the mode, as OWNER_ bits */
} lanepool_i_wide_entry;

#define LANEPOOL_I_OWNER_SHARED     ((uintptr_t)1)
#define LANEPOOL_I_OWNER_TYPE_SHIFT 1
#define LANEPOOL_I_OWNER_GATE       ((uintptr_t)16) /* no task's: holds the lane until it is opened */
#define LANEPOOL_I_OWNER_TOMBSTONE \
    ((uintptr_t)8) /* R: goes on to the next as soon as it is granted */
#define LANEPOOL_I_OWNER_SPECIAL (LANEPOOL_I_OWNER_GATE | LANEPOOL_I_OWNER_TOMBSTONE)
#define LANEPOOL_I_OWNER_TASK    (~(uintptr_t)63)

/* Enough for LANEPOOL_CLAIMS_MAX; the mask is for the compiler. */
#define LANEPOOL_I_WIDE_COUNT_BITS 24
#define LANEPOOL_I_WIDE_COUNT_MASK (((uint32_t)1 << LANEPOOL_I_WIDE_COUNT_BITS) - 1)

_Static_assert(LANEPOOL_CLAIMS_MAX <= LANEPOOL_I_WIDE_COUNT_MASK, "a task's claims are counted");

/* What a wide task has in place of a narrow one's two entries. The kind follows function and
 * context, so that the block's front is a lanepool_task_view. */
typedef struct lanepool_i_wide {
    union {
        uint64_t kind;                    /* S */
        struct lanepool_i_rank *rank;     /* S: with claims there are no kinds; see rank.h */
        struct lanepool_i_charge *charge; /* S, W: with limits per lane, and without rank: what it
                                      counts against, or NULL */
    };
    lanepool_future *future;                     /* S: one reference, or NULL */
    lanepool_release_fn release;                 /* S */
    _Atomic uint32_t wait;                       /* A: the latch */
    uint32_t count : LANEPOOL_I_WIDE_COUNT_BITS; /* S, R: entries; routing merges duplicates */
    uint32_t tag : 8;                            /* S */
} lanepool_i_wide;

struct lanepool_i_task {
    lanepool_task_fn function; /* S */
    void *context;             /* S */
    union {
        lanepool_i_entry narrow[2];
        lanepool_i_wide wide;
    } as;
    _Atomic(lanepool_i_task *) next; /* A: in the inbox; then in whichever list holds the task */
    _Atomic uint64_t word;           /* A: see above */
};

_Static_assert(offsetof(lanepool_i_task, as.wide.release) ==
                   offsetof(lanepool_i_task, as.narrow[1].next),
               "the link of a block that is kept stands there");
_Static_assert(sizeof(lanepool_i_task) == 64, "a task with up to two claims is one line");
_Static_assert(sizeof(lanepool_i_wide_entry) == sizeof(lanepool_claim),
               "entries become claims in place when a task is handed back");

#define LANEPOOL_I_WAIT_MASK    ((uint64_t)15)
#define LANEPOOL_I_COUNT_SHIFT  4 /* two bits: a narrow task's entries */
#define LANEPOOL_I_COUNT_MASK   ((uint64_t)3 << LANEPOOL_I_COUNT_SHIFT)
#define LANEPOOL_I_WIDE         ((uint64_t)1 << 6)
#define LANEPOOL_I_FOR_PUMP     ((uint64_t)1 << 7) /* of a wide one: its pump runs it */
#define LANEPOOL_I_SHARED_SHIFT 7 /* two bits: the modes of a narrow task's entries */
#define LANEPOOL_I_TYPE_SHIFT   9 /* twice two bits: the key types of a narrow task's entries */
#define LANEPOOL_I_BARRIER      ((uint64_t)1 << 9) /* without entries: conflicts with all tasks */
#define LANEPOOL_I_PERIODIC     ((uint64_t)1 << 12) /* wide, which has no types here: delay_every.h */
#define LANEPOOL_I_MESSAGE      ((uint64_t)1 << 13) /* not to be routed: an order to the router */
#define LANEPOOL_I_EPOCH_SHIFT  14                  /* two bits: which quiesce waits for it */
#define LANEPOOL_I_EPOCH_MASK   ((uint64_t)3 << LANEPOOL_I_EPOCH_SHIFT)
#define LANEPOOL_I_EPOCHS       4
#define LANEPOOL_I_BY_CALLER    ((uint64_t)1 << 16) /* its submitter runs it, or its pump */
#define LANEPOOL_I_VISITED      ((uint64_t)1 << 17) /* seen by the walk that is going on */
#define LANEPOOL_I_CLASS_SHIFT  18                  /* three bits: the block's slab class */
#define LANEPOOL_I_CLASS_MASK   7
#define LANEPOOL_I_RESCAN       ((uint64_t)1 << 21) /* memory was lacking to wait for all at once */
#define LANEPOOL_I_TOMBSTONE    ((uint64_t)1 << 22) /* cancelled: only its places are left */
#define LANEPOOL_I_STARTED      ((uint64_t)1 << 23) /* not to be cancelled by its mark; cancel.c */
#define LANEPOOL_I_TICKET_SHIFT 24
#define LANEPOOL_I_TICKET_MASK  (~(uint64_t)0 << LANEPOOL_I_TICKET_SHIFT)

static inline uint64_t lanepool_i_task_ticket(const lanepool_i_task *task)
{
    return load_relaxed(&task->word) >> LANEPOOL_I_TICKET_SHIFT;
}

/* Whether ticket a came before b; right across the wrap-around. */
static inline bool lanepool_i_ticket_before(uint64_t a, uint64_t b)
{
    return (int64_t)((a - b) << LANEPOOL_I_TICKET_SHIFT) < 0;
}

static inline bool lanepool_i_task_is_wide(const lanepool_i_task *task)
{
    return (load_relaxed(&task->word) & LANEPOOL_I_WIDE) != 0;
}

/* Whether the task was cancelled: the rule is not to be asked about it. */
static inline bool lanepool_i_task_is_tombstone(const lanepool_i_task *task)
{
    return (load_relaxed(&task->word) & LANEPOOL_I_TOMBSTONE) != 0;
}

/* In the inbox it is a message, too. */
static inline bool lanepool_i_task_is_barrier(const lanepool_i_task *task)
{
    uint64_t word = load_relaxed(&task->word);
    return (word & (LANEPOOL_I_BARRIER | LANEPOOL_I_COUNT_MASK)) == LANEPOOL_I_BARRIER;
}

/* Whether a task with this word is a run of a periodic one. */
static inline bool lanepool_i_word_is_periodic(uint64_t word)
{
    uint64_t bits = LANEPOOL_I_WIDE | LANEPOOL_I_PERIODIC;
    return (word & bits) == bits;
}

/* Whether a pump is to run it: then it has a reference to its member until its block goes. */
static inline bool lanepool_i_task_is_for_pump(const lanepool_i_task *task)
{
    uint64_t all = LANEPOOL_I_WIDE | LANEPOOL_I_FOR_PUMP;
    return (load_relaxed(&task->word) & all) == all;
}

/* Of a wide task, also while another thread may be letting its block go: what is read then, the
 * link of a block that is kept (census.h), is of no use; the task is a mark by then. */
static inline lanepool_release_fn lanepool_i_task_release(const lanepool_i_task *task)
{
    return (lanepool_release_fn)load_acquire(&task->as.narrow[1].next);
}

static inline size_t lanepool_i_task_count(const lanepool_i_task *task)
{
    uint64_t word = load_relaxed(&task->word);
    if ((word & LANEPOOL_I_WIDE) != 0)
        return task->as.wide.count;
    return (size_t)(word & LANEPOOL_I_COUNT_MASK) >> LANEPOOL_I_COUNT_SHIFT;
}

static inline uint32_t lanepool_i_task_tag(const lanepool_i_task *task)
{
    return lanepool_i_task_is_wide(task) ? task->as.wide.tag : 0;
}

static inline size_t lanepool_i_task_class(const lanepool_i_task *task)
{
    return (size_t)(load_relaxed(&task->word) >> LANEPOOL_I_CLASS_SHIFT) & LANEPOOL_I_CLASS_MASK;
}

/* Tasks that stand in one list, linked through `next`: one thread's. */
typedef struct lanepool_i_tasks {
    lanepool_i_task *first;
    lanepool_i_task *last;
    size_t count;
} lanepool_i_tasks;

static inline void lanepool_i_tasks_add(lanepool_i_tasks *tasks, lanepool_i_task *task)
{
    store_relaxed(&task->next, NULL);
    if (tasks->first == NULL)
        tasks->first = task;
    else
        store_relaxed(&tasks->last->next, task);
    tasks->last = task;
    tasks->count++;
}

/* Adds a task unless it was found before: a ready task may also be in what the rule keeps. */
static inline void lanepool_i_tasks_collect(lanepool_i_tasks *tasks, lanepool_i_task *task)
{
    if ((fetch_or_relaxed(&task->word, LANEPOOL_I_VISITED) & LANEPOOL_I_VISITED) == 0)
        lanepool_i_tasks_add(tasks, task);
}

static inline lanepool_i_task *lanepool_i_tasks_take(lanepool_i_tasks *tasks)
{
    lanepool_i_task *task = tasks->first;
    if (task == NULL)
        return NULL;
    tasks->first = load_relaxed(&task->next);
    tasks->count--;
    return task;
}

#endif
