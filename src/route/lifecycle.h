/*
 * From running to terminated.
 *
 *     RUNNING --shutdown--> DRAINING --shutdown now--> STOPPING
 *        \------------------shutdown now-----------------^
 *
 * DRAINING ends when the role's holder sees every routed task finished and can
 * close the empty inbox: nothing runs then, so nothing can be submitted from
 * inside. STOPPING ends when the last worker has left its loop: the role's
 * holder closes the inbox and hands everything that has a place back.
 * Either way the pool is then `stopped`: what remains is to join the threads,
 * which the first to await does, without the lock.
 *
 * The state has a page for itself, which the system wipes in a child of fork():
 * there it is FORKED, the pool has neither threads nor locks that can be relied
 * on, and every call finds that out before it takes a lock.
 *
 * `attention` is not 0 while the state, or a quiesce, wants the role's holder to
 * look at the counters. Who is about to sleep, and who finishes outside of the
 * workers, looks, or asks the role's holder to look after giving it back.
 */
#ifndef LANEPOOL_SRC_ROUTE_LIFECYCLE_H
#define LANEPOOL_SRC_ROUTE_LIFECYCLE_H

#include "lanepool/pool.h"
#include "sched/thread_record.h"

enum { LANEPOOL_I_FORKED, LANEPOOL_I_RUNNING, LANEPOOL_I_DRAINING, LANEPOOL_I_STOPPING };

typedef struct lanepool_i_end_waiter lanepool_i_end_waiter;

/* Guards: A atomic, L the lock, R role's holder. */
typedef struct lanepool_i_lifecycle {
    _Atomic uint32_t *state;       /* I, what it points to A */
    _Atomic uint32_t attention;    /* A */
    _Atomic size_t workers_left;   /* A: that have not left their loop */
    _Atomic uint32_t cancels;      /* A: calls that are telling tasks that they were cancelled */
    bool handed_back;              /* R: what had not started when the pool was told to stop */
    _Atomic bool stopped;          /* A: every task has had its call */
    lanepool_handback_fn handback; /* L until STOPPING, then I */
    void *handback_context;        /* L until STOPPING, then I */
    lanepool_i_mutex lock;         /* L: a leaf */
    lanepool_i_end_waiter *end_waiters; /* L: who waits for `stopped` or `joined` */
    bool joining;                       /* L: a thread is joining the workers */
    bool joined;                        /* L: they are gone */
} lanepool_i_lifecycle;

bool lanepool_i_lifecycle_init(lanepool_i_lifecycle *lifecycle, size_t worker_count);
void lanepool_i_lifecycle_fini(lanepool_i_lifecycle *lifecycle);

/* Any thread, holding nothing: looks at the counters if someone wants it. */
void lanepool_i_lifecycle_attend(lanepool_pool *pool, lanepool_i_thread_record *record);
/* Before tasks are cancelled, and when they have been told: until then nothing counts as finished
 * for those who wait. The end comes while the caller holds no lock; it may hold the role. */
void lanepool_i_lifecycle_begin_cancel(lanepool_i_lifecycle *lifecycle);
void lanepool_i_lifecycle_end_cancel(lanepool_i_lifecycle *lifecycle);
/* A worker has left its loop. */
void lanepool_i_lifecycle_count_out(lanepool_pool *pool, lanepool_i_thread_record *record);

static inline bool lanepool_i_lifecycle_wants_attention(const lanepool_i_lifecycle *lifecycle)
{
    return load_seq(&lifecycle->attention) != 0;
}

#endif
