/*
 * Planted errors of a node, as those of the engine: test builds compile them in and select one by
 * its number, to show that the tests find it. In other builds no code is left of them.
 */
#ifndef LANEPOOL_SRC_REMOTE_PLANTED_H
#define LANEPOOL_SRC_REMOTE_PLANTED_H

enum {
    LANEPOOL_I_REMOTE_CURSOR_KEPT = 1,    /* the letters to a new shard are not read */
    LANEPOOL_I_REMOTE_LETTER_DELETED = 2, /* a letter is deleted before its receiver's low */
    LANEPOOL_I_REMOTE_NOT_SENT_AGAIN = 3, /* local arrivals are lost when a shard is given up */
    LANEPOOL_I_REMOTE_ONE_EARLY = 4,      /* a rollup runs one arrival early */
    LANEPOOL_I_REMOTE_EFFECTS_LATE = 5,   /* effects are one step later than progress */
    LANEPOOL_I_REMOTE_DROPPED_DONE = 6,   /* a task that was dropped counts as done */
    LANEPOOL_I_REMOTE_PLANTED_COUNT = 6
};

#if defined(LANEPOOL_PLANTED)
extern int lanepool_i_remote_planted; /* the number of the planted error, or 0 */
#define REMOTE_PLANTED(error) (lanepool_i_remote_planted == LANEPOOL_I_REMOTE_##error)
#else
#define REMOTE_PLANTED(error) 0
#endif

#endif
