/**
 * @file
 * Keys, claims and held lanes: what a task conflicts on.
 *
 * A *key* is the exact identity that tasks conflict on: a 64-bit number, the
 * identity of an object (its address) or a string of bytes. Keys of different
 * types never equal one another, and no two keys are ever mixed up: look-up is
 * by equality, a hash only finds the place.
 *
 * A *claim* is a key together with a mode. Two tasks conflict when they claim
 * the same key and at least one of the two claims is exclusive.
 */
#ifndef LANEPOOL_CLAIM_H
#define LANEPOOL_CLAIM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lanepool/export.h"
#include "lanepool/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A pool; see pool.h. */
typedef struct lanepool_pool lanepool_pool;

/** A counted handle on one lane of one pool; see lanepool_lane_acquire(). */
typedef struct lanepool_lane lanepool_lane;

/** How a task uses what it claims. */
typedef enum lanepool_mode {
    LANEPOOL_EXCLUSIVE = 0, /**< alone: conflicts with every other claim of the key */
    LANEPOOL_SHARED = 1     /**< together with other SHARED claims of the key */
} lanepool_mode;

/** Which kind of key a claim carries. */
typedef enum lanepool_key_type {
    LANEPOOL_KEY_ID = 1,      /**< a 64-bit number */
    LANEPOOL_KEY_POINTER = 2, /**< an object's identity; never dereferenced */
    LANEPOOL_KEY_BYTES = 3,   /**< a string of bytes, copied when it is submitted */
    LANEPOOL_KEY_LANE = 4,    /**< a held lane, which stands for its key */
    LANEPOOL_KEY_ALL = 5      /**< every key there is, and every task */
} lanepool_key_type;

/** The bytes of a LANEPOOL_KEY_BYTES key. */
typedef struct lanepool_bytes {
    const void *data; /**< may be NULL when size is 0 */
    size_t size;      /**< in bytes, at most LANEPOOL_KEY_BYTES_MAX */
} lanepool_bytes;

/** The longest byte-string key, in bytes. */
#define LANEPOOL_KEY_BYTES_MAX ((size_t)1 << 20)

/** The most claims that one task may carry. */
#define LANEPOOL_CLAIMS_MAX ((size_t)1 << 22)

/** One thing that a task claims, and how. Plain data: make it with the functions below. */
typedef struct lanepool_claim {
    uint32_t type; /**< a lanepool_key_type */
    uint32_t mode; /**< a lanepool_mode */
    union {
        uint64_t id;          /**< LANEPOOL_KEY_ID */
        const void *pointer;  /**< LANEPOOL_KEY_POINTER */
        lanepool_bytes bytes; /**< LANEPOOL_KEY_BYTES */
        lanepool_lane *lane;  /**< LANEPOOL_KEY_LANE */
    } key;                    /**< the one that type names */
} lanepool_claim;

/** A claim on a 64-bit number, such as an account's or a client's. */
static inline lanepool_claim lanepool_claim_id(uint64_t id, lanepool_mode mode)
{
    lanepool_claim claim;
    memset(&claim, 0, sizeof claim);
    claim.type = LANEPOOL_KEY_ID;
    claim.mode = (uint32_t)mode;
    claim.key.id = id;
    return claim;
}

/** A claim on an object's identity: the address counts, what lies there does not. */
static inline lanepool_claim lanepool_claim_pointer(const void *pointer, lanepool_mode mode)
{
    lanepool_claim claim;
    memset(&claim, 0, sizeof claim);
    claim.type = LANEPOOL_KEY_POINTER;
    claim.mode = (uint32_t)mode;
    claim.key.pointer = pointer;
    return claim;
}

/**
 * A claim on a string of bytes, compared byte by byte.
 *
 * @param data The caller's; it must stay readable until the submit returns, which copies it.
 * @param size In bytes; 0 is a key like any other.
 */
static inline lanepool_claim lanepool_claim_bytes(const void *data, size_t size, lanepool_mode mode)
{
    lanepool_claim claim;
    memset(&claim, 0, sizeof claim);
    claim.type = LANEPOOL_KEY_BYTES;
    claim.mode = (uint32_t)mode;
    claim.key.bytes.data = data;
    claim.key.bytes.size = size;
    return claim;
}

/** A claim on a zero-terminated string: its bytes without the zero. */
static inline lanepool_claim lanepool_claim_string(const char *text, lanepool_mode mode)
{
    return lanepool_claim_bytes(text, strlen(text), mode);
}

/** A claim on a held lane: the same as a claim on the lane's key, without the look-up. */
static inline lanepool_claim lanepool_claim_lane(lanepool_lane *lane, lanepool_mode mode)
{
    lanepool_claim claim;
    memset(&claim, 0, sizeof claim);
    claim.type = LANEPOOL_KEY_LANE;
    claim.mode = (uint32_t)mode;
    claim.key.lane = lane;
    return claim;
}

/**
 * A claim on everything: the task is a *barrier*. It conflicts with every other task, whatever that
 * claims, and those without claims: it runs when all tasks accepted before it have finished, alone,
 * and before all that are accepted after it. It must be the task's only claim. A pool with its own
 * `is_compatible` takes it, too.
 */
static inline lanepool_claim lanepool_claim_all(void)
{
    lanepool_claim claim;
    memset(&claim, 0, sizeof claim);
    claim.type = LANEPOOL_KEY_ALL;
    claim.mode = LANEPOOL_EXCLUSIVE;
    return claim;
}

/**
 * Holds the lane of a key, so that tasks can claim it without a look-up.
 *
 * A held lane stands for its key: a claim by handle and a claim by key
 * conflict as two claims by key would, and so do two handles of one key.
 *
 * @param pool A pool without an `is_compatible` of the caller's.
 * @param key  Its type says ID, POINTER or BYTES (bytes are copied); its mode is not looked at.
 * @param lane Receives the handle, which the caller gives back with lanepool_lane_release()
 *             before the pool is destroyed; NULL on failure.
 * @retval LANEPOOL_OK      The lane is held.
 * @retval LANEPOOL_INVALID An argument is NULL, the key's type is none of the three, a byte
 *                          string is too long, or the pool has its own `is_compatible`.
 * @retval LANEPOOL_NOMEM   Memory is lacking; nothing has changed; try again later.
 * @par Threads
 * Any thread, inside tasks and callbacks too; never blocks.
 * @par Complexity
 * O(length of the key).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_lane_acquire(lanepool_pool *pool,
                                                                       const lanepool_claim *key,
                                                                       lanepool_lane **lane);

/**
 * Gives a held lane back.
 *
 * Tasks that were submitted with the handle before this call are not
 * affected; after it the handle must not be used.
 *
 * @param lane A handle of lanepool_lane_acquire(), or NULL, which does nothing.
 * @par Threads
 * Any thread, inside tasks and callbacks too; never blocks.
 * @par Complexity
 * O(1).
 */
LANEPOOL_API void lanepool_lane_release(lanepool_lane *lane);

/**
 * Limits the accepted, unfinished tasks that claim a lane's key, by handle or by key.
 *
 * How a submit behaves when a lane is full, and when a task counts, is said at
 * lanepool_pool_submit(). A lower limit takes nothing back: until enough tasks have ended the lane
 * is full. A higher one lets blocked submitters go on at once.
 *
 * @param lane        A handle of the key. The limit is the key's: it stays when the handle is given
 *                    back, until it is changed through any handle of the key, or the pool is gone.
 * @param pending_max How many; LANEPOOL_UNLIMITED: no limit; 0: the pool's `lane_pending_max`
 *                    again, so that a key that is not used leaves nothing behind.
 * @retval LANEPOOL_OK      The limit holds.
 * @retval LANEPOOL_INVALID lane is NULL, or the pool was made without `lane_pending_max`: its tasks
 *                          are not counted by lane.
 * @par Threads
 * Any thread, inside tasks and callbacks too; never blocks.
 * @par Complexity
 * O(claims of the tasks of blocked submitters).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_lane_set_pending_max(lanepool_lane *lane,
                                                                               size_t pending_max);

#ifdef __cplusplus
}
#endif

#endif
