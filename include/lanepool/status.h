/**
 * @file
 * What a call answers: one table of codes, names and texts.
 */
#ifndef LANEPOOL_STATUS_H
#define LANEPOOL_STATUS_H

#include "lanepool/export.h"

/**
 * Every status: X(name, value, text). The values are part of the binary
 * interface and never change; zero alone means success.
 */
#define LANEPOOL_STATUS_TABLE(X)                                                   \
    X(OK, 0, "success")                                                            \
    X(INVALID, 1, "an argument is NULL, out of range or contradicts another")      \
    X(NOMEM, 2, "memory could not be had; nothing has changed")                    \
    X(NO_THREAD, 3, "a worker thread, lock or semaphore could not be created")     \
    X(FULL, 4, "a limit on pending tasks is reached, the pool's or a lane's")      \
    X(TIMED_OUT, 5, "the time given has passed first")                             \
    X(DEADLOCK, 6, "this wait could never end: what it waits for waits for it")    \
    X(SHUT_DOWN, 7, "the pool has been shut down and takes no such call any more") \
    X(CANCELLED, 8, "the task was cancelled before it started")                    \
    X(FAILED, 9, "the task ran and returned a code other than zero")               \
    X(ABANDONED, 10, "the task ended its thread instead of returning")             \
    X(RUNNING, 11, "the task has started and has not ended")                       \
    X(DONE, 12, "the task has ended, or was cancelled before")                     \
    X(BUSY, 13, "others still use it")                                             \
    X(FORKED, 14, "the pool was left behind in the process that has forked")       \
    X(HELD, 15, "all that is left is held up by tasks that have failed")           \
    X(POISONED, 16, "the task was not run: it had a place in a poisoned lane")

/** The answer of a call that can fail. */
typedef enum lanepool_status {
#define LANEPOOL_STATUS_ENUM(name, value, text) LANEPOOL_##name = (value),
    LANEPOOL_STATUS_TABLE(LANEPOOL_STATUS_ENUM)
#undef LANEPOOL_STATUS_ENUM
} lanepool_status;

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The name of a status as it is written in C, such as "LANEPOOL_NOMEM".
 *
 * @param status Any value; an unknown one gives "LANEPOOL_UNKNOWN".
 * @return A static string; never NULL.
 * @par Threads
 * Any thread, at any time; never blocks.
 */
LANEPOOL_API const char *lanepool_status_name(lanepool_status status);

/**
 * A sentence for people that says what a status means.
 *
 * @param status Any value; an unknown one gives "unknown status".
 * @return A static string; never NULL.
 * @par Threads
 * Any thread, at any time; never blocks.
 */
LANEPOOL_API const char *lanepool_status_text(lanepool_status status);

#ifdef __cplusplus
}
#endif

#endif
