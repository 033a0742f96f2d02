/**
 * @file
 * Keys, claims and handles of lanes: what tasks conflict on; and contexts of keys.
 */
#ifndef LANEPOOL_KEY_H
#define LANEPOOL_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lanepool/status.h"

LANEPOOL_C_BEGIN

/**
 * @defgroup keys Keys and claims
 * A *key* is what tasks conflict on: a 64-bit number, an object's address or a byte string. Keys of
 * different types are never equal. A *claim* is a key and a mode. Two tasks conflict if they claim
 * a common key, unless both claims are SHARED or both are COMMUTING. @{
 */

/** A pool; see pool.h. */
typedef struct lanepool_pool lanepool_pool;
/** A handle of one lane of one pool; see lanepool_lane_acquire(). */
typedef struct lanepool_lane lanepool_lane;
/** The call that a task's function is in: valid on its thread until the function returns. */
typedef struct lanepool_run lanepool_run;

/** How a task uses what it claims. */
typedef enum lanepool_mode {
    LANEPOOL_EXCLUSIVE = 0, /**< alone: conflicts with every other claim of the key */
    LANEPOOL_SHARED = 1,    /**< to read: together with other SHARED claims of the key */
    LANEPOOL_COMMUTING = 2  /**< to change in an order that does not matter: together with other
                                 COMMUTING claims of the key, and never beside a SHARED one. The
                                 program avoids data races among them, for example by an atomic
                                 addition. Every other task finds the same sum as if they had run
                                 one by one. A task whose decision needs the sum claims EXCLUSIVE */
} lanepool_mode;

/**
 * Returns true if two tasks with claims of one key in these modes may run at the same time.
 * @param a A lanepool_mode.
 * @param b A lanepool_mode.
 */
static inline bool lanepool_modes_overlap(uint64_t a, uint64_t b)
{
    /* A mode is a set of bits. Modes overlap if they have one in common; EXCLUSIVE has none. */
    return (a & b) != 0;
}

/** The type of a key. */
typedef enum lanepool_key_type {
    LANEPOOL_KEY_NONE = 0,    /**< no key; calls that allow it say what it means */
    LANEPOOL_KEY_ID = 1,      /**< a 64-bit number */
    LANEPOOL_KEY_POINTER = 2, /**< an object's address; never dereferenced */
    LANEPOOL_KEY_BYTES = 3,   /**< a string of bytes */
    LANEPOOL_KEY_LANE = 4,    /**< a lane handle, which stands for its key */
    LANEPOOL_KEY_ALL = 5      /**< in lanepool_claim_all() only */
} lanepool_key_type;

/** The longest byte-string key, in bytes. */
#define LANEPOOL_KEY_BYTES_MAX ((size_t)1 << 20)
/** The most claims that one task may carry. */
#define LANEPOOL_CLAIMS_MAX ((size_t)1 << 22)

/** A key: 16 bytes, passed by value. Make it with the functions below. */
typedef struct lanepool_key {
    uint32_t type; /**< a lanepool_key_type */
    uint32_t size; /**< BYTES: the length in bytes; 0 otherwise */
    union {
        uint64_t id;         /**< ID */
        const void *pointer; /**< POINTER */
        const void *bytes;   /**< BYTES; may be NULL if size is 0 */
        lanepool_lane *lane; /**< LANE */
    };                       /**< the member that type names */
} lanepool_key;

/** A key, and how a task uses it. */
typedef struct lanepool_claim {
    lanepool_key key; /**< what */
    uint64_t mode;    /**< a lanepool_mode */
} lanepool_claim;

/** Returns no key, for calls that allow none. */
static inline lanepool_key lanepool_key_none(void)
{
    lanepool_key key;
    key.type = LANEPOOL_KEY_NONE;
    key.size = 0;
    key.id = 0;
    return key;
}

/** Returns the key of a 64-bit number. @param id Such as an account's or a client's. */
static inline lanepool_key lanepool_key_id(uint64_t id)
{
    lanepool_key key = lanepool_key_none();
    key.type = LANEPOOL_KEY_ID;
    key.id = id;
    return key;
}

/**
 * Returns the key of an object's address; the object's contents do not matter.
 * @param pointer The address; never dereferenced.
 */
static inline lanepool_key lanepool_key_pointer(const void *pointer)
{
    lanepool_key key = lanepool_key_none();
    key.type = LANEPOOL_KEY_POINTER;
    key.pointer = pointer;
    return key;
}

/**
 * Returns the key of a byte string, compared byte by byte.
 * @param data The caller's; must stay readable until the call that takes the key has returned. NULL
 *             if size is 0.
 * @param size In bytes, 0 to LANEPOOL_KEY_BYTES_MAX; calls refuse a longer key.
 */
static inline lanepool_key lanepool_key_bytes(const void *data, size_t size)
{
    lanepool_key key = lanepool_key_none();
    key.type = LANEPOOL_KEY_BYTES;
    key.size = size <= LANEPOOL_KEY_BYTES_MAX ? (uint32_t)size : UINT32_MAX;
    key.bytes = data;
    return key;
}

/**
 * Returns the key of a string: its bytes without the final zero. @complexity O(length).
 * @param text As data of lanepool_key_bytes(); not NULL.
 */
static inline lanepool_key lanepool_key_string(const char *text)
{
    return lanepool_key_bytes(text, strlen(text));
}

/** Returns the key of a lane handle: like the lane's key, without the look-up. */
static inline lanepool_key lanepool_key_lane(lanepool_lane *lane)
{
    lanepool_key key = lanepool_key_none();
    key.type = LANEPOOL_KEY_LANE;
    key.lane = lane;
    return key;
}

/**
 * Returns a claim of a key.
 * @param key  The key.
 * @param mode How the task uses it.
 */
static inline lanepool_claim lanepool_claim_of(lanepool_key key, lanepool_mode mode)
{
    lanepool_claim claim;
    claim.key = key;
    claim.mode = (uint64_t)mode;
    return claim;
}

/** Returns an exclusive claim of a number. @param id The number. */
static inline lanepool_claim lanepool_exclusive(uint64_t id)
{
    return lanepool_claim_of(lanepool_key_id(id), LANEPOOL_EXCLUSIVE);
}

/** Returns a shared claim of a number. @param id The number. */
static inline lanepool_claim lanepool_shared(uint64_t id)
{
    return lanepool_claim_of(lanepool_key_id(id), LANEPOOL_SHARED);
}

/** Returns a commuting claim of a number. @param id The number. */
static inline lanepool_claim lanepool_commuting(uint64_t id)
{
    return lanepool_claim_of(lanepool_key_id(id), LANEPOOL_COMMUTING);
}

/**
 * A claim of everything: the task is a *barrier*. It runs alone, after all tasks accepted before it
 * have finished, and before all that are accepted after it. It must be the task's only claim. A
 * pool with an `is_compatible` accepts it, too.
 */
static inline lanepool_claim lanepool_claim_all(void)
{
    lanepool_key key = lanepool_key_none();
    key.type = LANEPOOL_KEY_ALL;
    return lanepool_claim_of(key, LANEPOOL_EXCLUSIVE);
}

/**
 * Creates a handle of a key's lane, so that tasks can claim the key without a look-up. A claim by
 * handle and a claim by key conflict as two claims by key would.
 * @param pool Not one with an `is_compatible` and lanes per worker.
 * @param key  Of type ID, POINTER or BYTES (bytes are copied).
 * @param lane Receives the handle. Release it by lanepool_lane_release() before the pool is
 *             destroyed. NULL on failure.
 * @retval LANEPOOL_INVALID A pointer is NULL, the key has another type, or is too long.
 * @also UNSUPPORTED, NOMEM. @complexity O(length of the key).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_lane_acquire(lanepool_pool *pool, lanepool_key key, lanepool_lane **lane);

/** Releases a lane handle; do not use it afterwards. Tasks submitted with it are not affected. */
LANEPOOL_API void lanepool_lane_release(lanepool_lane *lane);

/**
 * Limits the accepted, unfinished tasks that claim a lane's key. How submits behave at a full lane
 * is said at lanepool_pool_submit(). The limit belongs to the key and outlives the handle. A lower
 * limit cancels nothing: the lane is full until enough tasks have ended. A higher limit admits
 * blocked submitters at once.
 * @param lane        A handle of the key.
 * @param pending_max The limit; LANEPOOL_UNLIMITED: none; 0: the pool's `lane_pending_max` again.
 * @retval LANEPOOL_INVALID lane is NULL, or the pool was created without `lane_pending_max`.
 * @complexity O(claims of the tasks of blocked submitters).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_lane_set_pending_max(lanepool_lane *lane, size_t pending_max);

/** @} */

/**
 * @defgroup contexts Contexts of keys
 * A connection, a cache or an open file for each key; see docs/contexts.md. The first task of a key
 * that asks opens the context; later tasks use it. For each key, `open`, uses and `close` never
 * overlap. An idle context *lingers*: it costs memory only, and is closed after a time that follows
 * how soon the key comes back. @{
 */

/** The default of `linger_min_ns`: 10 ms. */
#define LANEPOOL_LINGER_MIN_DEFAULT UINT64_C(10000000)
/** The default of `linger_max_ns`: 10 s. */
#define LANEPOOL_LINGER_MAX_DEFAULT UINT64_C(10000000000)
/** The default of `lingering_max`. */
#define LANEPOOL_LINGERING_DEFAULT ((size_t)1024)
/** The largest `lingering_max`. */
#define LANEPOOL_LINGERING_MAX ((size_t)1 << 20)

/**
 * Opens a key's context, in lanepool_run_context(). It must not end the thread.
 * @param key     The key; its bytes are valid during the call.
 * @param context Receives the context, any value.
 * @return 0 if it is open: close will be called once. Any other code is a failure of the program's
 *         own: nothing is open, and the next call of lanepool_run_context() tries again.
 */
typedef int (*lanepool_context_open_fn)(void *user, lanepool_key key, void **context);

/**
 * Returns whether a lingering context is still good. If not, the task closes it and opens it again.
 * Called in lanepool_run_context() for each task that finds the context unused. Rules as for
 * lanepool_context_open_fn.
 * @param key     As for lanepool_context_open_fn.
 * @param context What open has stored.
 */
typedef bool (*lanepool_context_use_fn)(void *user, lanepool_key key, void *context);

/**
 * Closes a context that no task uses, once for each open that returned 0. Called on a thread of the
 * pool, one context after the other; after `use` has returned false, on the task's thread. Rules as
 * for lanepool_context_open_fn.
 * @param key     As for lanepool_context_open_fn.
 * @param context What open has stored.
 */
typedef void (*lanepool_context_close_fn)(void *user, lanepool_key key, void *context);

/** The options of contexts. Start from LANEPOOL_CONTEXT_OPTIONS_INIT. */
typedef struct lanepool_context_options {
    size_t struct_size;              /**< sizeof(lanepool_context_options) */
    lanepool_context_open_fn open;   /**< required */
    lanepool_context_use_fn use;     /**< NULL if a lingering context is always good */
    lanepool_context_close_fn close; /**< may be NULL */
    uint64_t linger_min_ns;          /**< how long an idle context lingers at least; 0:
                                          LANEPOOL_LINGER_MIN_DEFAULT, at most linger_max_ns */
    uint64_t linger_max_ns; /**< how long it lingers at most; 0: LANEPOOL_LINGER_MAX_DEFAULT, or
                                 linger_min_ns if that is more */
    size_t lingering_max;   /**< how many may linger, before the longest idle one is closed; 0:
                                 LANEPOOL_LINGERING_DEFAULT; at most LANEPOOL_LINGERING_MAX */
    size_t contexts_max;    /**< how many may be open, in use or not; 0: no limit. At the limit, a
                                 task that opens another one first closes the longest idle one */
} lanepool_context_options;

/** Options with everything at its default; `open` must be set. */
#define LANEPOOL_CONTEXT_OPTIONS_INIT                         \
    {                                                         \
        sizeof(lanepool_context_options), 0, 0, 0, 0, 0, 0, 0 \
    }

/**
 * Returns the context of a key that the task claims; opens it if needed. The task uses it until its
 * function returns, it is completed, or it releases the key's lane; a call of `at_lane` until it
 * returns. Blocks while another thread is
 * in open, use or close for this key: hold no lock here that one of these takes.
 * @param key     A key or a lane handle that the task claims. lanepool_key_none() for its only one.
 * @param context Receives what open has stored; NULL on failure.
 * @param code    Receives what open has returned, 0 if it was not called; may be NULL.
 * @retval LANEPOOL_OK         The context is open, and stays open for the task.
 * @retval LANEPOOL_NO_CONTEXT `open` has failed, with *code. The next call for this key, also in
 *                             this task, tries again.
 * @retval LANEPOOL_FULL       `contexts_max` contexts are in use. The call does not wait for one.
 * @retval LANEPOOL_INVALID    context is NULL, the pool has no contexts, the task does not have the
 *                             key's lane, or is a sequence's.
 * @also DEADLOCK, NOMEM, NO_RESOURCE, FORKED. @threads The thread of the call; may block.
 *     @complexity O(claims + length of the key + log(lingering contexts)).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_run_context(lanepool_run *run, lanepool_key key, void **context, int *code);

/**
 * Returns the context of the i-th claim of the task, as lanepool_run_claim() numbers them.
 * @param i       The number, less than lanepool_run_claim_count().
 * @param context Receives what open has stored; NULL on failure.
 * @param code    Receives what open has returned, 0 if it was not called; may be NULL.
 * @return As for lanepool_run_context(). LANEPOOL_INVALID, too, if i is too large, or the task runs
 *         without this lane.
 * @threads The thread of the call; may block. @complexity O(length of the key + log(lingering
 *     contexts)).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_run_context_at(lanepool_run *run, size_t i, void **context, int *code);

/**
 * Ends the task's use of a context before the task ends. The context lingers if no other task uses
 * it. The task may ask for it again.
 * @param key As for lanepool_run_context().
 * @retval LANEPOOL_INVALID The task does not use a context of this key.
 * @also DEADLOCK, FORKED. @threads The thread of the call; never blocks. @complexity O(claims +
 *     log(lingering contexts)).
 */
LANEPOOL_API lanepool_status lanepool_run_context_release(lanepool_run *run, lanepool_key key);

/**
 * Ends the task's use of a context, such as a broken connection, and has it closed instead of
 * lingering: when its last user has ended its use. Tasks with a SHARED claim that ask before get
 * the same context. The next task opens another one.
 * @param key As for lanepool_run_context().
 * @retval LANEPOOL_INVALID The task does not use a context of this key.
 * @also DEADLOCK, FORKED. @threads The thread of the call; never blocks. @complexity O(claims +
 *     log(lingering contexts)).
 */
LANEPOOL_API lanepool_status lanepool_run_context_drop(lanepool_run *run, lanepool_key key);

/** @} */

LANEPOOL_C_END

#endif
