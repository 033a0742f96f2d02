/*
 * Contexts of keys: a record for each key that has one, or had one a while ago.
 *
 *     ABSENT --open--> OPEN --close--> ABSENT          BUSY during each of these calls
 *
 * The lock decides who calls: who finds the record ABSENT, or idle with a `use` to be asked, or
 * idle and due, makes it BUSY and calls without the lock. Who finds it BUSY waits until it is not.
 * So for one key the calls are in turn, whatever the lanes do, and close has returned before open
 * is called again. While `uses` is not 0 nobody makes it BUSY: it is never closed under a task. A
 * use begins on the task's thread, inside of its turn, and ends there before its lanes move on;
 * what comes next in the lane therefore finds it idle, or closed, or just being closed.
 *
 * An idle context's timer waits; when it is due the *keeper*, the clock thread of these timers,
 * closes it. Nothing of this stands in a lane, in the inbox or among the pending tasks. Adding and
 * removing timers is done under the lock. A remove that comes too late means that the keeper is on
 * its way to the record: `fires` says so, until it has looked. Meanwhile the timer is not added
 * again, which is then left to the keeper, and the record is not freed.
 *
 * Records of closed contexts are remembered for what is known of their keys' pace; the oldest are
 * dropped when they are too many, or when they are too old to say anything.
 */
#ifndef LANEPOOL_SRC_FEATURE_CONTEXT_H
#define LANEPOOL_SRC_FEATURE_CONTEXT_H

#include "base/idle_time.h"
#include "base/timer_heap.h"
#include "lane/lane.h"
#include "lanepool/context.h"
#include "sched/thread_record.h"

typedef enum lanepool_i_context_state {
    LANEPOOL_I_CONTEXT_ABSENT,
    LANEPOOL_I_CONTEXT_BUSY, /* a callback is being called for it */
    LANEPOOL_I_CONTEXT_OPEN
} lanepool_i_context_state;

typedef struct lanepool_i_context lanepool_i_context;

/* In place of a ticket; none is that large. */
#define LANEPOOL_I_CONTEXT_KEEPER UINT64_MAX

/* In the order in which they came; a record is in one list at most. */
typedef struct lanepool_i_context_list {
    lanepool_i_context *first;
    lanepool_i_context *last;
    size_t count;
} lanepool_i_context_list;

/* Who waits for a record that is BUSY; on its stack. */
typedef struct lanepool_i_context_waiter {
    struct lanepool_i_context_waiter *next; /* L */
    uint64_t ticket;                        /* I: of its task */
    lanepool_i_semaphore semaphore;
} lanepool_i_context_waiter;

/* Guards: I immutable, L the contexts' lock, B who has made it BUSY. */
struct lanepool_i_context {
    lanepool_i_timer timer;         /* L: waits while the context is idle */
    lanepool_i_key key;             /* I: with bytes of its own */
    lanepool_i_context *chained;    /* L: in its bucket */
    lanepool_pool *pool;            /* I */
    lanepool_i_context_state state; /* L */
    uint32_t uses;                  /* L: tasks that use it */
    uint32_t pins;                  /* L: snapshots that are reading its key */
    bool fires;                     /* L: the keeper has taken its timer and has not looked yet */
    uint64_t caller;                /* L: BUSY: the task's ticket, or LANEPOOL_I_CONTEXT_KEEPER */
    void *value;                    /* B: what open has given */
    uint64_t idle_since_ns;         /* L: 0: it was never used */
    uint64_t due_ns;                /* L: of an idle one */
    lanepool_i_pace pace;           /* L */
    lanepool_i_context_list *list;  /* L: which it is in, or NULL */
    lanepool_i_context *earlier;    /* L: in that list */
    lanepool_i_context *later;      /* L */
    lanepool_i_context_waiter *waiters; /* L */
};

/* One task's use of a context, in its record of being apart. */
typedef struct lanepool_i_context_use {
    struct lanepool_i_context_use *next;
    lanepool_i_context *context;
    const lanepool_i_lane *lane; /* that the task has as long as it uses the context */
} lanepool_i_context_use;

/* A pool's; without the option nothing of it is made. */
typedef struct lanepool_i_contexts {
    lanepool_context_options options;   /* I: with every default filled in; `open` NULL: none */
    lanepool_i_mutex lock;              /* before the timers' */
    lanepool_i_context **buckets;       /* L: records by key; the array I */
    size_t bucket_count;                /* I: a power of two */
    lanepool_i_context_list lingering;  /* L: idle ones; those due at once for want of room not */
    lanepool_i_context_list remembered; /* L: records without a context */
    size_t open_count;                  /* L: contexts that are open */
    lanepool_i_timers timers;
    lanepool_i_thread_record *keeper; /* I: the thread's record */
} lanepool_i_contexts;

/* With every default filled in, `open` NULL if the pool is to have no contexts; false: they are out
 * of range, or contradict the pool's. */
bool lanepool_i_contexts_read_options(const lanepool_options *of_pool,
                                      lanepool_context_options *options);
/* False: memory, a lock or a semaphore is lacking. */
bool lanepool_i_contexts_init(lanepool_pool *pool);
/* Starts the keeper; false: no thread could be had. */
bool lanepool_i_contexts_start(lanepool_pool *pool);
/* The last task has ended: closes all contexts, and waits for it. */
void lanepool_i_contexts_end(lanepool_pool *pool);
void lanepool_i_contexts_fini(lanepool_pool *pool);

/* The task's uses end; its lanes have not moved on. W: who ends the task. */
void lanepool_i_contexts_leave_all(lanepool_pool *pool, lanepool_i_context_use *uses);
/* Role's holder, while who runs the task waits for it: its use of the context that the claim names
 * ends, if there is one. */
void lanepool_i_contexts_leave(lanepool_pool *pool, lanepool_i_context_use **uses,
                               const lanepool_claim *claim);

/* How many are open. */
size_t lanepool_i_contexts_count(lanepool_pool *pool);

#endif
