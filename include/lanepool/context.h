/**
 * @file
 * Contexts of keys: what is prepared once for a key, and kept while the key is in use and for a
 * while after; a connection, a cache, a prepared statement, an open file.
 *
 * A task asks for the context of one of its claims with lanepool_run_context(). The first one opens
 * it, inside of its turn; those that follow find it open. When no task has used it for some time it
 * is closed. Meanwhile it *lingers*, and costs its memory only: no thread, no worker, no task, and
 * neither a quiesce nor a drain waits for it.
 *
 * For each key the calls are strictly in turn: open, then any number of tasks and `use` calls, then
 * close, then open again. A context is never closed while a task uses it, and close has returned
 * before open is called anew. Tasks with a SHARED claim of one key run side by side, and use one
 * context side by side. Calls for different keys may come at once.
 *
 * How long it lingers
 * -------------------
 * The time follows the key. From each time that a context stood idle before it was used again the
 * pool keeps a mean, in which the last one counts a quarter; it lingers eight times as long, within
 * `linger_ns_min` and `linger_ns_max`. A key that has not come back within `linger_ns_max`, or
 * comes for the first time, is not expected soon: its context lingers for `linger_ns_min`. So what
 * is busy is kept a little longer than its pauses last, and what comes rarely is let go early,
 * where a fixed time would keep both equally long. With `linger_ns_min` equal to `linger_ns_max`
 * the time is fixed.
 *
 * To know a key when it comes back after its context was closed, the pool remembers it for
 * `linger_ns_max`, at most `lingering_max` of them; that takes some 200 bytes and the key's.
 */
#ifndef LANEPOOL_CONTEXT_H
#define LANEPOOL_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lanepool/claim.h"
#include "lanepool/export.h"
#include "lanepool/pool.h"
#include "lanepool/status.h"
#include "lanepool/task.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The default of `linger_ns_min`: 10 ms. */
#define LANEPOOL_LINGER_MIN_DEFAULT UINT64_C(10000000)
/** The default of `linger_ns_max`: 10 s. */
#define LANEPOOL_LINGER_MAX_DEFAULT UINT64_C(10000000000)
/** The default of `lingering_max`. */
#define LANEPOOL_LINGERING_DEFAULT ((size_t)1024)
/** The largest `lingering_max`. */
#define LANEPOOL_LINGERING_MAX ((size_t)1 << 20)

/**
 * Opens a key's context: called in lanepool_run_context(), on the thread of a task that claims the
 * key. It may submit; a wait in it answers LANEPOOL_DEADLOCK. It has to get to its end (no
 * pthread_exit).
 *
 * @param user    The pool's `user` option.
 * @param key     The key, valid during the call; its mode means nothing.
 * @param context Receives the context; the program's, passed on as it is, NULL too.
 * @return 0: it is open, and close will be called for it once. Anything else is a failure code of
 *         the caller's own: nothing is open, and the next task that asks tries again.
 */
typedef int (*lanepool_context_open_fn)(void *user, const lanepool_claim *key, void **context);

/**
 * Says whether a context that has lingered is still good, such as a connection that the other side
 * may have given up. Called in lanepool_run_context() for each task that finds it unused, however
 * shortly it was: in a backlog of EXCLUSIVE claims for each but the one that has opened it. Not for
 * those that join others. Where the check is dear, note in the context when it was last used, and
 * check after long pauses only. As lanepool_context_open_fn otherwise.
 *
 * @return true: it is used. false: it is closed, and opened anew, by the same task.
 */
typedef bool (*lanepool_context_use_fn)(void *user, const lanepool_claim *key, void *context);

/**
 * Closes a key's context, which nothing uses any more; once for each open that has returned 0.
 *
 * Called on a thread that the pool keeps for this, one context after the other: a close that takes
 * long holds up other closes and tasks that come back to this key, nobody else. After a `use` that
 * has answered false it is called on the thread of that task. It may submit, until the pool has
 * ended; a wait in it answers LANEPOOL_DEADLOCK. It has to get to its end (no pthread_exit).
 *
 * @param user    The pool's `user` option.
 * @param key     The key, valid during the call; its mode means nothing.
 * @param context What open has given.
 */
typedef void (*lanepool_context_close_fn)(void *user, const lanepool_claim *key, void *context);

/** What a pool does about contexts. Start from LANEPOOL_CONTEXT_OPTIONS_INIT. */
struct lanepool_context_options {
    size_t struct_size;              /**< sizeof(lanepool_context_options) */
    lanepool_context_open_fn open;   /**< required */
    lanepool_context_use_fn use;     /**< NULL: what has lingered is taken to be good */
    lanepool_context_close_fn close; /**< NULL: nothing is to be done */
    uint64_t linger_ns_min; /**< nanoseconds; 0: LANEPOOL_LINGER_MIN_DEFAULT, or linger_ns_max if
                                 that is less */
    uint64_t linger_ns_max; /**< nanoseconds, LANEPOOL_FOREVER too; 0: LANEPOOL_LINGER_MAX_DEFAULT,
                                 or linger_ns_min if that is more */
    size_t lingering_max;   /**< how many may linger: beyond, that which has been idle for longest
                                 is due at once; 0: LANEPOOL_LINGERING_DEFAULT; at most
                                 LANEPOOL_LINGERING_MAX. Those in use do not count */
};

/** Options with everything at its default; `open` has to be set. */
#define LANEPOOL_CONTEXT_OPTIONS_INIT                      \
    {                                                      \
        sizeof(lanepool_context_options), 0, 0, 0, 0, 0, 0 \
    }

/**
 * Gives a task the context of a key that it claims; opens it if it is not open.
 *
 * The task uses it until its function returns; a detached task until it is completed. If the task
 * gives the lane up with lanepool_run_release(), that ends the use, before the lane goes on. An
 * heir does not take it over: it asks for itself, and finds it open as any task that comes next. A
 * task that ends its thread ends the use, too. To be cancelled while it runs changes nothing.
 *
 * Blocks while another thread is in open, use or close for this key, and no longer: with an
 * EXCLUSIVE claim that can only be a close, with a SHARED one also those that run beside it. So do
 * not hold a lock here that one of these takes.
 *
 * Every shutdown closes all contexts when the last task has ended: all have been closed when
 * lanepool_pool_await() or lanepool_pool_destroy() has answered LANEPOOL_OK.
 *
 * @param run     The call that this thread is in.
 * @param claim   A claim of the task's, by key or by a held lane; its mode means nothing. NULL: the
 *                only one that it has.
 * @param context Receives what open has given; NULL on failure.
 * @param code    Receives what open has returned, 0 if it was not called; may be NULL.
 * @retval LANEPOOL_OK        The context is open, and stays so for the task.
 * @retval LANEPOOL_FAILED    open has failed, with *code; the next to ask, this task too, tries
 *                            again.
 * @retval LANEPOOL_INVALID   context is NULL, the pool has no contexts, this is no run of a pool's
 *                            task (a cancelling call, a sequence's task), or the task does not have
 *                            a lane of that key: it does not claim it, or gave it up. A barrier
 *                            claims no key.
 * @retval LANEPOOL_NOMEM     Memory is lacking; nothing has changed.
 * @retval LANEPOOL_NO_THREAD A semaphore could not be had; nothing has changed.
 * @retval LANEPOOL_DEADLOCK  Called in a callback.
 * @retval LANEPOOL_FORKED    In a child of fork(): nothing is opened there, and nothing closed.
 * @par Threads
 * The thread of the call.
 * @par Complexity
 * O(claims + length of the key), and O(log n) for n contexts that linger.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_run_context(lanepool_run *run,
                                                                      const lanepool_claim *claim,
                                                                      void **context, int *code);

#ifdef __cplusplus
}
#endif

#endif
