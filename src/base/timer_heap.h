/*
 * Timers, and the clock thread, on which they fire. The clock thread is started for the first timer
 * and sleeps until the earliest one is due.
 *
 * A timer is embedded in the object that waits for it, with its links, so adding and removing
 * allocate nothing. Timers are in a leftist heap, ordered by due time, then by the order in which
 * they were added. Timers that keep their time have a heap of their own.
 *
 * A timer fires with no lock held. From then on the clock thread does not access it: it may be
 * added again or freed. A thread that removes a timer and the clock thread that takes it both do so
 * under the lock, so exactly one of them gets it.
 *
 * Before it sleeps, the clock thread stores the time at which it will wake up. A thread that adds
 * an earlier timer sets this time to 0 and posts the clock thread, which is so posted only once. If
 * the clock thread wakes up by itself and finds 0, it takes the post that was made.
 *
 * Between timers the clock thread calls its owner's `pause`, which returns when it must be called
 * again at the latest.
 *
 * The timers of a pool without threads have no clock thread. The pool's driver serves them, by its
 * own clock.
 */
#ifndef LANEPOOL_SRC_BASE_TIMER_HEAP_H
#define LANEPOOL_SRC_BASE_TIMER_HEAP_H

#include "base/driver.h"
#include "lanepool/status.h"

typedef struct lanepool_i_timer lanepool_i_timer;

/* Guards: I immutable while the timer waits, L the lock. */
struct lanepool_i_timer {
    void (*fire)(lanepool_i_timer *timer); /* I: called on the clock thread */
    uint64_t due_ns;                       /* I: in time of the monotonic clock */
    uint64_t number;                       /* I: orders timers that are due at the same time */
    lanepool_i_timer *parent;              /* L */
    lanepool_i_timer *left;                /* L */
    lanepool_i_timer *right;               /* L: its rank is never larger than the left one's */
    uint32_t rank;                         /* L: length of the path of right children */
    bool waits;                            /* L: it is in a heap */
    bool keeps_its_time;                   /* I: it is not taken before it is due */
};

/* The part of the clock thread's work that is its owner's. */
typedef struct lanepool_i_clock_work {
    bool (*begin)(void *owner); /* returns false if the thread is to end at once, without `end` */
    /* Called between timers: before a sleep, after a batch, and at the end. Returns when to call it
     * again at the latest; UINT64_MAX if it need not be. */
    uint64_t (*pause)(void *owner);
    void (*end)(void *owner); /* the thread is about to end */
} lanepool_i_clock_work;

typedef enum lanepool_i_clock_state {
    LANEPOOL_I_CLOCK_NONE,
    LANEPOOL_I_CLOCK_STARTING,
    LANEPOOL_I_CLOCK_STARTED,
    LANEPOOL_I_CLOCK_JOINED
} lanepool_i_clock_state;

typedef struct lanepool_i_timers {
    lanepool_i_mutex lock; /* L: no other lock is taken under it */
    lanepool_i_timer
        *first[2];        /* L: the earliest timers: [true] that keep their time, [false] others */
    uint64_t next_number; /* L */
    uint64_t sleeps_until_ns;          /* L: 0 if the clock thread is awake, or was posted */
    uint64_t pause_ns;                 /* L: when `pause` must be called; UINT64_MAX for never */
    lanepool_i_clock_state state;      /* L */
    bool pauses;                       /* L: `pause` is called before the next sleep */
    bool ends;                         /* L: the thread is to end, or not to be started */
    lanepool_i_driver *driver;         /* I: serves the timers in place of a thread, or NULL */
    lanepool_i_semaphore semaphore;    /* posted under the lock */
    lanepool_i_thread thread;          /* of its starter, then of the thread that joins it */
    const lanepool_i_clock_work *work; /* I: or NULL */
    void *owner;                       /* I */
} lanepool_i_timers;

/* With a driver there is no clock thread. Returns false if a lock or a semaphore cannot be created.
 */
bool lanepool_i_timers_init(lanepool_i_timers *timers, lanepool_i_driver *driver,
                            const lanepool_i_clock_work *work, void *owner);
/* Ends and joins the clock thread; not called on it. Waiting timers are left as they are. */
void lanepool_i_timers_fini(lanepool_i_timers *timers);
/* Makes the clock thread end after the timer that it is firing. Any thread. */
void lanepool_i_timers_end(lanepool_i_timers *timers);
/* Joins a clock thread that was made to end. One thread, once. */
void lanepool_i_timers_join(lanepool_i_timers *timers);

/* Starts the clock thread, unless it has been started. Called before the first add. Returns false
 * if the system refuses a thread, or the clock thread was made to end. With a driver, starts none:
 * the timers are served from then on. */
bool lanepool_i_timers_start(lanepool_i_timers *timers);
/* Makes the clock thread call its owner's `pause` soon. */
void lanepool_i_timers_interrupt(lanepool_i_timers *timers);
/* Adds a timer that is in no heap and has its `fire` set. O(log timers). */
void lanepool_i_timers_add(lanepool_i_timers *timers, lanepool_i_timer *timer, uint64_t due_ns);
/* Removes a timer. Returns true if it will not fire; false if it fires, or has fired. O(log
 * timers). */
bool lanepool_i_timers_remove(lanepool_i_timers *timers, lanepool_i_timer *timer);
/* Takes the earliest timer if it is due. Otherwise returns NULL, and when it will be due in
 * *next_ns; UINT64_MAX if there is none. For an owner that fires its timers itself. O(log
 * timers). */
lanepool_i_timer *lanepool_i_timers_take_due(lanepool_i_timers *timers, uint64_t *next_ns);
/* For a driver: returns when the timers must be served next, 0 for at once; UINT64_MAX if they were
 * not started, have ended, or there is none. */
uint64_t lanepool_i_timers_serve_at(lanepool_i_timers *timers);
/* For a driver: fires timers that are due at `now_ns`, at most `most`, then calls the owner's
 * `pause` if that is wanted. */
void lanepool_i_timers_serve(lanepool_i_timers *timers, uint64_t now_ns, uint64_t most);
/* Takes the earliest timer that does not keep its time, due or not. Returns NULL if there is none.
 * O(log timers). */
lanepool_i_timer *lanepool_i_timers_take(lanepool_i_timers *timers);

#endif
