/*
 * Timers, and the thread that they fire on: the clock thread, which is started
 * for the first of them and sleeps until the earliest is due.
 *
 * A timer is embedded in what waits for it, and so are its links: adding and
 * removing allocate nothing, and what is removed leaves nothing behind. They
 * stand in a leftist heap, ordered by the moment that they are due and then by
 * their number, in which they were added; those that keep their time in one of their own.
 *
 * A timer fires with no lock held, and once it fires it is no longer the clock
 * thread's: it may be added again or freed, and others added and removed. Who
 * removes a timer and the clock thread that takes it meet under the lock:
 * exactly one of them has it.
 *
 * The clock thread writes down until when it sleeps; whoever adds an earlier
 * timer clears that and posts it, once. A clock thread that wakes up by itself
 * and finds it cleared takes the post, which is there.
 *
 * The owner has its turn between timers, and says then when it wants the next one at the latest.
 */
#ifndef LANEPOOL_SRC_BASE_TIMER_HEAP_H
#define LANEPOOL_SRC_BASE_TIMER_HEAP_H

#include "lanepool/status.h"
#include "platform/platform.h"

typedef struct lanepool_i_timer lanepool_i_timer;

/* Guards: I immutable while it waits, L the lock. */
struct lanepool_i_timer {
    void (*fire)(lanepool_i_timer *timer); /* I: called on the clock thread */
    uint64_t due_ns;                       /* I: a moment of the monotonic clock */
    uint64_t number;                       /* I: of those due at one moment the smaller is first */
    lanepool_i_timer *parent;              /* L */
    lanepool_i_timer *left;                /* L */
    lanepool_i_timer *right;               /* L: never nearer to the bottom than the left one */
    uint32_t rank;                         /* L: steps to the right until there are no more */
    bool waits;                            /* L: it stands in a heap */
    bool keeps_its_time;                   /* I: nobody takes it before it is due */
};

/* What the clock thread does for its owner besides. */
typedef struct lanepool_i_clock_work {
    bool (*begin)(void *owner); /* it has started; false: it is to end at once, without `end` */
    /* Between timers: before it sleeps, now and then, and at the end. Returns the moment of the
     * next turn, if none comes before; UINT64_MAX: there need not be one. */
    uint64_t (*pause)(void *owner);
    void (*end)(void *owner); /* it is about to end */
} lanepool_i_clock_work;

typedef enum lanepool_i_clock_state {
    LANEPOOL_I_CLOCK_NONE,
    LANEPOOL_I_CLOCK_STARTING,
    LANEPOOL_I_CLOCK_STARTED,
    LANEPOOL_I_CLOCK_JOINED
} lanepool_i_clock_state;

typedef struct lanepool_i_timers {
    lanepool_i_mutex lock;          /* L: a leaf */
    lanepool_i_timer *first[2];     /* L: the earliest of those that may be taken before they are
                                          due, and of those that keep their time */
    uint64_t next_number;           /* L */
    uint64_t sleeps_until_ns;       /* L: 0: the clock thread is awake, or posted */
    uint64_t pause_ns;              /* L: when the owner's turn comes; UINT64_MAX: not by itself */
    lanepool_i_clock_state state;   /* L */
    bool pauses;                    /* L: the owner's turn comes before the next sleep */
    bool ends;                      /* L: the clock thread is to end, or not to be started */
    lanepool_i_semaphore semaphore; /* posted under the lock */
    lanepool_i_thread thread;       /* of who started it, then of who joins it */
    const lanepool_i_clock_work *work; /* I: NULL: nothing */
    void *owner;                       /* I */
} lanepool_i_timers;

/* False: a lock or a semaphore is lacking. */
bool lanepool_i_timers_init(lanepool_i_timers *timers, const lanepool_i_clock_work *work,
                            void *owner);
/* Ends and joins the clock thread, so not on that one. Timers that wait are left as they are. */
void lanepool_i_timers_fini(lanepool_i_timers *timers);
/* Any thread: has the clock thread end after the timer that it is at; nothing fires any more. */
void lanepool_i_timers_end(lanepool_i_timers *timers);
/* Waits until a clock thread that was told to end is gone. One thread, once. */
void lanepool_i_timers_join(lanepool_i_timers *timers);

/* Sees to it that there is a clock thread, before the first add. False: no thread could be had, or
 * it was told to end. */
bool lanepool_i_timers_start(lanepool_i_timers *timers);
/* Has the clock thread call its owner's `pause` soon. */
void lanepool_i_timers_interrupt(lanepool_i_timers *timers);
/* A timer that does not wait, with its `fire` set; it gets the next number. O(log timers). */
void lanepool_i_timers_add(lanepool_i_timers *timers, lanepool_i_timer *timer, uint64_t due_ns);
/* True: it was waiting and will not fire; false: it fires, or has fired. O(log timers). */
bool lanepool_i_timers_remove(lanepool_i_timers *timers, lanepool_i_timer *timer);
/* Takes the earliest if it is due by now; NULL: none is, and *next_ns says when one will be,
 * UINT64_MAX: never. For an owner that fires them itself. O(log timers). */
lanepool_i_timer *lanepool_i_timers_take_due(lanepool_i_timers *timers, uint64_t *next_ns);
/* Takes the earliest, due or not, of all that do not keep their time; NULL: there is none. O(log
 * timers). */
lanepool_i_timer *lanepool_i_timers_take(lanepool_i_timers *timers);

#endif
