/*
 * The block: the memory of one accepted task.
 *
 * A task carries its entries inline. A *plain* task has at most two claims and nothing else, and
 * fits into 64 bytes. Features may have room in plain tasks, too; see lanepool_i_line_behind. A
 * task with more claims, a future, a release callback, a tag, or a predicate of the program's is
 * *wide*: the same 64 bytes, with the entries behind them.
 *
 * The task's word, from its highest bit:
 *
 *     ticket (40) | flags (21) | countdown (3)
 *
 * The countdown is a plain task's; a wide task has its own. Tickets are compared only within the
 * pending tasks of one pool, which are far fewer than 2^39.
 *
 * Ticket and flags are written before the task can become ready. Four kinds of bits change later:
 *   - VISITED, which belongs to the role's holder;
 *   - TOMBSTONE and STARTED, which decide between cancelling and starting (cancel.c);
 *   - the number and modes of the entries, when the task gives an entry up (entries.c);
 *   - HAS_RECORD, which the thread that runs the task sets (attempts.h).
 *
 * A wide task is *simple* if it has a future or nothing but claims, no callbacks, and no record,
 * and no feature takes part in its start or its end. Without a future it is *bare*. The submitter
 * of a bare task leaves a guess of a later task's address in its `kind`; see inbox.h.
 *
 * Guard letters on fields: S the submitter until the append, R the role's holder until the task is
 * ready, A atomic, W the worker that runs the task.
 */
#ifndef LANEPOOL_SRC_TASK_TASK_H
#define LANEPOOL_SRC_TASK_TASK_H

#include "base/atomic.h"
#include "base/key_index.h"
#include "lanepool/task.h"
#include "platform/platform.h"

typedef struct lanepool_i_task lanepool_i_task;
struct lanepool_i_lane;

/* Bits of a lane's address in an entry. */
#define LANEPOOL_I_ENTRY_TOMBSTONE ((uintptr_t)1) /* of a plain task: passes when granted */
#define LANEPOOL_I_ENTRY_VISITED   ((uintptr_t)2) /* waits: the current walk has met it */
#define LANEPOOL_I_ENTRY_LANE      (~(uintptr_t)7)

/* A task's position in one lane. */
typedef struct lanepool_i_entry {
    _Atomic(uintptr_t) next; /* A: link to the next entry; see lane.h */
    union {
        uint64_t id;                  /* S: TYPE_ID */
        const void *pointer;          /* S: TYPE_POINTER */
        lanepool_i_key_bytes *bytes;  /* S: TYPE_BYTES, owned */
        lanepool_lane *handle;        /* S: TYPE_LANE */
        struct lanepool_i_lane *lane; /* R: once routed */
        uintptr_t bits;               /* R: `lane` with ENTRY_ bits */
        void *room;                   /* S: of no entry; see lanepool_i_plain_room */
    } at;
} lanepool_i_entry;

/* An entry that does not lie in its task's first 64 bytes, so it names its task. */
typedef struct lanepool_i_wide_entry {
    lanepool_i_entry entry;
    uintptr_t owner; /* S: mode and type; R: the task, and OWNER_ bits */
} lanepool_i_wide_entry;

#define LANEPOOL_I_OWNER_MODE_SHIFT 0               /* two bits; see mode.h */
#define LANEPOOL_I_OWNER_TYPE_SHIFT 2               /* two bits: the key type, until routed */
#define LANEPOOL_I_OWNER_CUT        ((uintptr_t)4)  /* R: of a cut; see visits.h */
#define LANEPOOL_I_OWNER_TOMBSTONE  ((uintptr_t)16) /* R: passes as soon as it is granted */
#define LANEPOOL_I_OWNER_GATE       ((uintptr_t)32) /* of no task: a gate's */
#define LANEPOOL_I_OWNER_SPECIAL \
    (LANEPOOL_I_OWNER_GATE | LANEPOOL_I_OWNER_TOMBSTONE | LANEPOOL_I_OWNER_CUT)
#define LANEPOOL_I_OWNER_TASK (~(uintptr_t)63)

/* Enough for LANEPOOL_CLAIMS_MAX. The mask only avoids a compiler warning. */
#define LANEPOOL_I_WIDE_COUNT_BITS 24
#define LANEPOOL_I_WIDE_COUNT_MASK (((uint32_t)1 << LANEPOOL_I_WIDE_COUNT_BITS) - 1)

_Static_assert(LANEPOOL_CLAIMS_MAX <= LANEPOOL_I_WIDE_COUNT_MASK, "a task's claims are counted");

/* What is called when a task has ended. */
typedef struct lanepool_i_callbacks {
    lanepool_release_fn release;     /* or NULL */
    lanepool_cancelled_fn cancelled; /* or NULL */
} lanepool_i_callbacks;

/* The part that a wide task has in place of a plain task's two entries. The kind follows function
 * and context, so that the front of the block is a lanepool_task_view. */
typedef struct lanepool_i_wide {
    union {
        uint64_t kind; /* S */
        void *room;    /* S: the features' room in the block, where tasks have no kinds; of a cut it
                          follows the visits */
    };
    lanepool_future *future; /* S: one reference, or NULL */
    union {
        lanepool_release_fn release;           /* S */
        const lanepool_i_callbacks *callbacks; /* S: of a task with HAS_CANCELLED */
    };
    _Atomic uint32_t countdown;                  /* A: the countdown */
    uint32_t count : LANEPOOL_I_WIDE_COUNT_BITS; /* S, R: entries; routing merges duplicates */
    uint32_t tag : 8;                            /* S */
} lanepool_i_wide;

struct lanepool_i_task {
    lanepool_task_fn function; /* S */
    void *context;             /* S */
    union {
        lanepool_i_entry plain[2];
        lanepool_i_wide wide;
    } as;
    _Atomic(lanepool_i_task *) next; /* A: in the inbox, then in the list that holds the task */
    _Atomic uint64_t word;           /* A: see above */
};

_Static_assert(offsetof(lanepool_i_task, as.wide.release) ==
                   offsetof(lanepool_i_task, as.plain[1].next),
               "a retained block has its link there");
_Static_assert(sizeof(lanepool_i_task) == 64, "a task with up to two claims is one line");
_Static_assert(sizeof(lanepool_i_wide_entry) == sizeof(lanepool_claim),
               "entries become claims in place when a task is handed back");

#define LANEPOOL_I_COUNTDOWN_MASK ((uint64_t)7)
#define LANEPOOL_I_COUNT_SHIFT    3 /* two bits: a plain task's number of entries */
#define LANEPOOL_I_COUNT_MASK     ((uint64_t)3 << LANEPOOL_I_COUNT_SHIFT)
#define LANEPOOL_I_WIDE           ((uint64_t)1 << 5)
#define LANEPOOL_I_MODE_SHIFT     6  /* twice two bits: the modes of a plain task's entries */
#define LANEPOOL_I_TYPE_SHIFT     10 /* twice two bits: the key types of a plain task's entries */
#define LANEPOOL_I_FOR_PUMP       ((uint64_t)1 << 6)  /* of a wide task: a pump runs it */
#define LANEPOOL_I_HAS_CANCELLED  ((uint64_t)1 << 7)  /* of a wide task: see `callbacks` */
#define LANEPOOL_I_PERIODIC       ((uint64_t)1 << 8)  /* of a wide task: see delay_every.h */
#define LANEPOOL_I_RESCAN         ((uint64_t)1 << 9)  /* of a wide task: to be scanned again */
#define LANEPOOL_I_BARRIER        ((uint64_t)1 << 10) /* with no entries: conflicts with all tasks */
#define LANEPOOL_I_FAILS_BY_POOL  ((uint64_t)1 << 11) /* of a wide task: see attempts.h */
#define LANEPOOL_I_SIMPLE         ((uint64_t)1 << 12) /* of a wide task: see above */
#define LANEPOOL_I_CUT            ((uint64_t)1 << 13) /* of a wide task: see visits.h */
#define LANEPOOL_I_MESSAGE        ((uint64_t)1 << 14) /* in the inbox: not to be routed as usual */
#define LANEPOOL_I_EPOCH_SHIFT    15                  /* two bits: which quiesce waits for it */
#define LANEPOOL_I_EPOCH_MASK     ((uint64_t)3 << LANEPOOL_I_EPOCH_SHIFT)
#define LANEPOOL_I_EPOCHS         4
#define LANEPOOL_I_BY_CALLER      ((uint64_t)1 << 17) /* its submitter runs it, or a pump */
#define LANEPOOL_I_VISITED        ((uint64_t)1 << 18) /* the current walk has met it */
#define LANEPOOL_I_CLASS_SHIFT    19                  /* three bits: the block's slab class */
#define LANEPOOL_I_CLASS_MASK     7
#define LANEPOOL_I_CLASS_BITS     ((uint64_t)LANEPOOL_I_CLASS_MASK << LANEPOOL_I_CLASS_SHIFT)
#define LANEPOOL_I_PLAIN_CLASS    0                   /* the class of plain tasks */
#define LANEPOOL_I_ROOMY_CLASS    1                   /* of plain tasks with a line behind */
#define LANEPOOL_I_HAS_RECORD     ((uint64_t)1 << 21) /* of a plain task, whose class has one bit */
#define LANEPOOL_I_TOMBSTONE      ((uint64_t)1 << 22) /* cancelled: only its entries remain */
#define LANEPOOL_I_STARTED        ((uint64_t)1 << 23) /* started: TOMBSTONE is too late; cancel.c */
#define LANEPOOL_I_TICKET_SHIFT   24
#define LANEPOOL_I_TICKET_MASK    (~(uint64_t)0 << LANEPOOL_I_TICKET_SHIFT)

static inline uint64_t lanepool_i_task_ticket(const lanepool_i_task *task)
{
    return load_relaxed(&task->word) >> LANEPOOL_I_TICKET_SHIFT;
}

/* Returns true if ticket `a` is earlier than `b`, also across the wrap-around. */
static inline bool lanepool_i_ticket_before(uint64_t a, uint64_t b)
{
    return (int64_t)((a - b) << LANEPOOL_I_TICKET_SHIFT) < 0;
}

static inline bool lanepool_i_task_is_wide(const lanepool_i_task *task)
{
    return (load_relaxed(&task->word) & LANEPOOL_I_WIDE) != 0;
}

/* Returns true if the task was cancelled; its rule does not decide about it any more. */
static inline bool lanepool_i_task_is_tombstone(const lanepool_i_task *task)
{
    return (load_relaxed(&task->word) & LANEPOOL_I_TOMBSTONE) != 0;
}

/* Returns true if a task with this word was cancelled together with others, not by its future. Then
 * the canceller has the task's reference to its future. */
static inline bool lanepool_i_word_is_cancelled(uint64_t word)
{
    return (word & (LANEPOOL_I_TOMBSTONE | LANEPOOL_I_STARTED)) == LANEPOOL_I_TOMBSTONE;
}

/* Returns true for a barrier. In the inbox a barrier is a message, too. */
static inline bool lanepool_i_task_is_barrier(const lanepool_i_task *task)
{
    uint64_t word = load_relaxed(&task->word);
    return (word & (LANEPOOL_I_BARRIER | LANEPOOL_I_COUNT_MASK)) == LANEPOOL_I_BARRIER;
}

/* Returns true if a task with this word is a run of a periodic task. */
static inline bool lanepool_i_word_is_periodic(uint64_t word)
{
    uint64_t bits = LANEPOOL_I_WIDE | LANEPOOL_I_PERIODIC;
    return (word & bits) == bits;
}

/* Returns true if a pump runs the task. Such a task has a reference to its member until its block
 * is freed. */
static inline bool lanepool_i_task_is_for_pump(const lanepool_i_task *task)
{
    uint64_t all = LANEPOOL_I_WIDE | LANEPOOL_I_FOR_PUMP;
    return (load_relaxed(&task->word) & all) == all;
}

/* In test builds: the `cancelled` of tasks with this function that have none, so that tests see the
 * end of plain tasks, too. */
#if defined(LANEPOOL_TESTING)
extern lanepool_cancelled_fn (*lanepool_i_cancelled_of)(lanepool_task_fn function);
#define LANEPOOL_I_CANCELLED_OF(task) \
    (lanepool_i_cancelled_of != NULL ? lanepool_i_cancelled_of((task)->function) : NULL)
#else
#define LANEPOOL_I_CANCELLED_OF(task) ((void)(task), (lanepool_cancelled_fn)NULL)
#endif

/* Returns the callbacks of a task with this word. `raw` is as.plain[1].next, read before another
 * thread could give the block back. The block may be retained since (retention.h), not reused. */
static inline lanepool_i_callbacks lanepool_i_callbacks_from(const lanepool_i_task *task,
                                                             uint64_t word, uintptr_t raw)
{
    if ((word & LANEPOOL_I_WIDE) == 0)
        return (lanepool_i_callbacks){ NULL, LANEPOOL_I_CANCELLED_OF(task) };
    if ((word & LANEPOOL_I_HAS_CANCELLED) != 0)
        return *(const lanepool_i_callbacks *)raw;
    return (lanepool_i_callbacks){ (lanepool_release_fn)raw, LANEPOOL_I_CANCELLED_OF(task) };
}

/* Returns the callbacks of a task that no other thread disposes of. */
static inline lanepool_i_callbacks lanepool_i_task_callbacks(const lanepool_i_task *task)
{
    uint64_t word = load_relaxed(&task->word);
    uintptr_t raw = load_relaxed(&task->as.plain[1].next);
    return lanepool_i_callbacks_from(task, word, raw);
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

/* Returns the slab class of a block with this word. */
static inline size_t lanepool_i_word_class(uint64_t word)
{
    size_t class = (size_t)(word >> LANEPOOL_I_CLASS_SHIFT) & LANEPOOL_I_CLASS_MASK;
    return (word & LANEPOOL_I_WIDE) != 0 ? class : class & LANEPOOL_I_ROOMY_CLASS;
}

static inline size_t lanepool_i_task_class(const lanepool_i_task *task)
{
    return lanepool_i_word_class(load_relaxed(&task->word));
}

/* The line behind a plain task whose class is ROOMY. Without it, a task with at most one claim has
 * one pointer in place of its second entry. */
typedef struct lanepool_i_line_behind {
    uint64_t front[5];       /* of one feature */
    void *of_claims[2];      /* of another one: a pointer for each claim */
    lanepool_future *record; /* W: of a task with HAS_RECORD; see attempts.h */
} lanepool_i_line_behind;

_Static_assert(sizeof(lanepool_i_line_behind) == sizeof(lanepool_i_task), "it is one line");

static inline bool lanepool_i_plain_is_roomy(const lanepool_i_task *task)
{
    return (load_relaxed(&task->word) >> LANEPOOL_I_CLASS_SHIFT & LANEPOOL_I_ROOMY_CLASS) != 0;
}

static inline lanepool_i_line_behind *lanepool_i_task_line(lanepool_i_task *task)
{
    return (lanepool_i_line_behind *)(task + 1);
}

/* A feature's pointers, one for each claim, in a plain task. */
typedef struct lanepool_i_plain_room {
    void **at;
    size_t count;
} lanepool_i_plain_room;

static inline lanepool_i_plain_room lanepool_i_task_plain_room(lanepool_i_task *task)
{
    return lanepool_i_plain_is_roomy(task)
               ? (lanepool_i_plain_room){ lanepool_i_task_line(task)->of_claims, 2 }
               : (lanepool_i_plain_room){ &task->as.plain[1].at.room, 1 };
}

/* Returns the future of a task with this word, or NULL. */
static inline lanepool_future *lanepool_i_task_future_by(const lanepool_i_task *task, uint64_t word)
{
    if ((word & LANEPOOL_I_WIDE) != 0)
        return task->as.wide.future;
    if (__builtin_expect((word & LANEPOOL_I_HAS_RECORD) == 0, 1))
        return NULL;
    return lanepool_i_plain_is_roomy(task) ? ((const lanepool_i_line_behind *)(task + 1))->record
                                           : (lanepool_future *)task->as.plain[1].at.room;
}

static inline lanepool_future *lanepool_i_task_future(const lanepool_i_task *task)
{
    return lanepool_i_task_future_by(task, load_relaxed(&task->word));
}

/* W: gives a running task that has no future one. A plain task's pool has room for it. */
static inline void lanepool_i_task_set_record(lanepool_i_task *task, lanepool_future *record)
{
    if (lanepool_i_task_is_wide(task)) {
        task->as.wide.future = record;
        return;
    }
    if (lanepool_i_plain_is_roomy(task))
        lanepool_i_task_line(task)->record = record;
    else
        task->as.plain[1].at.room = record;
    fetch_or_relaxed(&task->word, LANEPOOL_I_HAS_RECORD);
}

/* Tasks in one list, linked through `next`. One thread uses it. */
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

/* Adds a task that the current walk has not met yet. A ready task may also be in the rule's
 * structures. */
static inline void lanepool_i_tasks_add_unvisited(lanepool_i_tasks *tasks, lanepool_i_task *task)
{
    if ((fetch_or_relaxed(&task->word, LANEPOOL_I_VISITED) & LANEPOOL_I_VISITED) == 0)
        lanepool_i_tasks_add(tasks, task);
}

/* Calls `found` for each task, from the first to the last. */
static inline void lanepool_i_tasks_each(const lanepool_i_tasks *tasks,
                                         void (*found)(lanepool_i_task *task, void *context),
                                         void *context)
{
    lanepool_i_task *task = tasks->first;
    for (size_t left = tasks->count; left > 0; left--) {
        found(task, context);
        task = load_relaxed(&task->next);
    }
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
