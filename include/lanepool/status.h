/**
 * @file
 * Statuses, the version, and what all calls have in common.
 *
 * - **Arguments.** A pointer must not be NULL unless its comment allows it: calls with a status
 *   answer LANEPOOL_INVALID, getters answer as for an object that has ended. Calls that release,
 *   destroy or close a handle do nothing with NULL. A `context` is passed to the function that it
 *   is given with; it may be NULL. In callbacks `user` is the pool's option. A task is read during
 *   the call only. Builds with LANEPOOL_CHECKS, and debug builds, abort with a message.
 * - **Statuses.** Each call lists its statuses, LANEPOOL_OK only where it says more than success.
 *   Those after *also* are written without LANEPOOL_, and mean the same everywhere:
 *   LANEPOOL_INVALID: an argument is NULL. LANEPOOL_NOMEM, LANEPOOL_NO_RESOURCE: no memory, or no
 *   thread, lock or descriptor; nothing has changed: try again later. LANEPOOL_DEADLOCK: called
 *   inside a callback; nothing has changed. LANEPOOL_UNSUPPORTED: the pool does not offer this; see
 *   docs/features.md. LANEPOOL_FORKED: called in a child of fork(): the pool belongs to the parent.
 * - **Times** are nanoseconds of the monotonic clock. As `wait_max_ns`, 0 does not wait and
 *   LANEPOOL_FOREVER waits without a limit.
 * - **Threads.** *Any thread* includes those inside tasks and callbacks. A *callback* is each
 *   function of the program that the library calls, except a task's function. Callbacks may submit,
 *   unless their comment forbids it. Calls inside callbacks never wait: they answer
 *   LANEPOOL_DEADLOCK instead. Unless its comment says otherwise, any thread may make a call, which
 *   does not block and takes O(1); calls with a lanepool_run are made by the thread that runs the
 *   task. To *wait for routing* is to wait a moment for the thread that routes tasks into lanes.
 * - **Structs** that the program fills start with `struct_size`. Zero means the default in each
 *   other member. Members called `reserved` are 0. docs/abi.md says how structs grow.
 */
#ifndef LANEPOOL_STATUS_H
#define LANEPOOL_STATUS_H

/**
 * @defgroup status Statuses and version
 * The answers of calls, and the version of the library. @{
 */

#if defined(__GNUC__) || defined(__clang__)
/** Marks a symbol that the shared library exports. */
#define LANEPOOL_API __attribute__((visibility("default")))
/** Marks a result that the caller must check. */
#define LANEPOOL_MUST_CHECK __attribute__((warn_unused_result))
#else
#define LANEPOOL_API
#define LANEPOOL_MUST_CHECK
#endif

#ifndef __cplusplus
/** Begins declarations of C functions. */
#define LANEPOOL_C_BEGIN
/** Ends declarations of C functions. */
#define LANEPOOL_C_END
#else
#define LANEPOOL_C_BEGIN extern "C" {
#define LANEPOOL_C_END   }
#endif

/** Changes with incompatible changes of the interface. */
#define LANEPOOL_VERSION_MAJOR 0
/** Changes with compatible additions. */
#define LANEPOOL_VERSION_MINOR 1
/** Changes with corrections. */
#define LANEPOOL_VERSION_PATCH 0

LANEPOOL_C_BEGIN

/** Returns the version of the linked library, such as "0.1.0"; never NULL. */
LANEPOOL_API const char *lanepool_version(void);

/** Every status: X(name, value, text). Values never change. Only 0 means success. */
#define LANEPOOL_STATUS_TABLE(X)                                                          \
    X(OK, 0, "success")                                                                   \
    X(INVALID, 1, "an argument is NULL, out of range or contradicts another")             \
    X(NOMEM, 2, "memory could not be allocated; nothing has changed")                     \
    X(NO_RESOURCE, 3, "a thread, lock or descriptor could not be created")                \
    X(FULL, 4, "a limit on pending tasks is reached, the pool's or a lane's")             \
    X(TIMED_OUT, 5, "the time given has passed first")                                    \
    X(DEADLOCK, 6, "this wait could never end: what it waits for waits for it")           \
    X(SHUT_DOWN, 7, "the pool has been shut down and takes no such call any more")        \
    X(CANCELLED, 8, "the task was cancelled")                                             \
    X(FAILED, 9, "the task ran and returned a code other than zero")                      \
    X(ABANDONED, 10, "the task ended its thread instead of returning")                    \
    X(RUNNING, 11, "the task has started and has not ended")                              \
    X(DONE, 12, "the task has ended, or was cancelled before")                            \
    X(BUSY, 13, "others still use it")                                                    \
    X(FORKED, 14, "the pool was left behind in the process that has forked")              \
    X(PARKED, 15, "only parked tasks, and tasks behind them, remain")                     \
    X(POISONED, 16, "the task was not run: it had a place in a poisoned lane")            \
    X(UNSUPPORTED, 17, "not offered together; docs/features.md says what is")             \
    X(NO_CONTEXT, 18, "the key's context could not be opened")                            \
    X(UNWRITTEN, 19, "tasks have run, and the journal may not have stored them")          \
    X(IN_PARTS, 20, "the cut visited some of its lanes, and its function was not called") \
    X(FENCED, 21, "the node was declared dead; others may have its shards")               \
    X(UNAVAILABLE, 22, "the store cannot be reached; the call may have taken effect")

/** The answer of a call that can fail. */
typedef enum lanepool_status {
#define LANEPOOL_STATUS_ENUM(name, value, text) LANEPOOL_##name = (value),
    LANEPOOL_STATUS_TABLE(LANEPOOL_STATUS_ENUM)
#undef LANEPOOL_STATUS_ENUM
} lanepool_status;

/**
 * Returns the name of a status, such as "LANEPOOL_NOMEM"; never NULL.
 * @param status Any value; an unknown one gives "LANEPOOL_UNKNOWN".
 */
LANEPOOL_API const char *lanepool_status_name(lanepool_status status);

/**
 * Returns a sentence that says what a status means; never NULL.
 * @param status Any value; an unknown one gives "unknown status".
 */
LANEPOOL_API const char *lanepool_status_text(lanepool_status status);

/** @} */

LANEPOOL_C_END

#endif
