/*
 * Planted errors: the classical errors of such an engine. Test builds compile them in and select
 * one by its number, to show that the tests find it. In other builds PLANTED() is false, and no
 * code is left of them.
 */
#ifndef LANEPOOL_SRC_BASE_PLANTED_H
#define LANEPOOL_SRC_BASE_PLANTED_H

enum {
    LANEPOOL_I_RELAXED_COUNTDOWN = 1,     /* a countdown is decremented without an order */
    LANEPOOL_I_LOST_WAKE_UP = 2,          /* a worker sleeps without a last check */
    LANEPOOL_I_COUNTDOWN_TWICE = 3,       /* an arrival counts twice */
    LANEPOOL_I_TWO_ROUTERS = 4,           /* two threads hold the router role */
    LANEPOOL_I_IDLE_BESIDE_WORK = 5,      /* ready tasks wake no worker */
    LANEPOOL_I_LATE_TOUCH = 6,            /* a task is accessed after its block was freed */
    LANEPOOL_I_WEAK_SLEEP_FLAG = 7,       /* the sleeper's flag is not in the total order */
    LANEPOOL_I_LEAK = 8,                  /* a future is never freed */
    LANEPOOL_I_NO_BARRIER = 9,            /* a link that seems missing is not read again */
    LANEPOOL_I_UNRETAINED = 10,           /* a finished task's block is reused during a census */
    LANEPOOL_I_TOMBSTONE_KEEPS_LANE = 11, /* a cancelled rollup does not release its latches */
    LANEPOOL_I_CANCEL_RUNNING = 12,       /* a cancel of several tasks cancels running ones, too */
    LANEPOOL_I_UNLOCKED = 13,             /* a cancel decides without the future's lock */
    LANEPOOL_I_PASSES_NO_PRIORITY = 14,   /* a waiting task does not pass its level on */
    LANEPOOL_I_LANE_OVERFILLED = 15,      /* only the first of a task's lanes is checked for room */
    LANEPOOL_I_PARKED_TOO_SOON = 16,      /* a pool reports PARKED while tasks run */
    LANEPOOL_I_EXPIRES_STARTED = 17,      /* a deadline cancels a task that has started */
    LANEPOOL_I_SCOPE_AS_CHAIN = 18,       /* a key's tasks are compared only up to a conflict */
    LANEPOOL_I_RUNS_CANCELLED = 19,       /* a cancelled task's function is called */
    LANEPOOL_I_MODES_MIXED = 20,          /* a COMMUTING task runs beside a SHARED one */
    LANEPOOL_I_NUMBERED_LATE = 21,        /* an entry is appended after the lanes' release */
    LANEPOOL_I_PART_SETTLES = 22,         /* the entry of a lane settles the task's ticket */
    LANEPOOL_I_COMPLETES_UNWRITTEN = 23,  /* a future completes before the entry is written */
    LANEPOOL_I_ONE_USER = 24,             /* a written task is disposed of while it is released */
    LANEPOOL_I_PASSED_BEFORE_VISIT = 25,  /* a lane is released before its visit ends */
    LANEPOOL_I_CUT_BEFORE_LAST_VISIT = 26, /* a cut's function is called during a visit */
    LANEPOOL_I_VISITOR_SLEEPS = 27,        /* a visitor retires although an entry is listed */
    LANEPOOL_I_SHARE_LEFT = 28,            /* a visitor retires although another has a share */
    LANEPOOL_I_COMMUTING_NUMBERED = 29,    /* a lane number counts COMMUTING entries, too */
    LANEPOOL_I_PLANTED_COUNT = 29
};

#if defined(LANEPOOL_PLANTED)
extern int lanepool_i_planted; /* the number of the planted error, or 0 */
#define PLANTED(error) (lanepool_i_planted == LANEPOOL_I_##error)
#define PLANTED_ANY    (lanepool_i_planted != 0) /* checks of the library leave it to the tests */
#else
#define PLANTED(error) 0
#define PLANTED_ANY    0
#endif

#endif
