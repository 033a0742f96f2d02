/**
 * @file
 * The journal: the ends of tasks, written in an order that keeps conflicting tasks in order.
 */
#ifndef LANEPOOL_JOURNAL_H
#define LANEPOOL_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lanepool/key.h"
#include "lanepool/task.h"

LANEPOOL_C_BEGIN

/**
 * @defgroup journals Journals
 * A pool with a journal gives the program an entry for each task that has run, to store it. Of two
 * conflicting tasks, the earlier one's entry comes first. So whatever was written is the state of a
 * serial run. See docs/journal.md. @{
 */

/**
 * A task that has run, for the journal's `write`. There is none for a task that was never called.
 * A task has an entry when it ends, and before that one for each lane that it releases
 * early. A receiver has an entry, and so has its giver. A cut has one for each of its visits.
 */
typedef struct lanepool_journal_entry {
    uint64_t number;           /**< from `first_number` on, without gaps */
    uint64_t ticket;           /**< its number in the acceptance order; a receiver's is the giver's.
                                    Does not wrap around: other calls give its low 40 bits */
    void *record;              /**< what lanepool_run_set_record() has set so far, or NULL */
    lanepool_task_fn function; /**< as submitted */
    void *context;             /**< as submitted; `release` was not called yet */
    uint32_t tag;              /**< as submitted */
    lanepool_status status;    /**< OK, FAILED, ABANDONED or TIMED_OUT; CANCELLED before a retry;
                                    IN_PARTS for a cut; OK for a lane that is released early, or was
                                    visited */
    int code;                  /**< what the function returned, if FAILED */
    bool is_part; /**< the task has released a lane early, or handed its lanes over, or is a cut
                       that has visited a lane: an entry with the same ticket follows, unless the
                       receiver is cancelled */
    const lanepool_claim *claims; /**< with `lane_numbers`: as submitted, handles as their keys,
                                       without lanes that it released or left before; for a visit,
                                     the claim of its lane; else NULL */
    const uint64_t *lane_numbers; /**< one for each claim: see `lane_numbers` of the options */
    size_t claim_count;           /**< the number of claims here */
    uint64_t reserved[4];         /**< 0 */
} lanepool_journal_entry;

/**
 * Writes entries to the program's store. The journal's thread calls it, one call at a time, with
 * entries in the order of their numbers. With each call that returns 0, the store has the state of
 * a serial run of all tasks written so far. Must not wait for tasks of the pool.
 * @param entries   Valid during the call, with what they point to.
 * @param count     Their number: 1 to `batch_max`.
 * @param watermark Once this call has returned 0, each task with a lower ticket is written, or
 * never runs. Tasks from there on may be written, too.
 * @return 0. Any other code means that these entries may not be stored. `write` is not called
 * again, and the pool ends as by lanepool_pool_shutdown_now() without a hand-back: see
 * docs/journal.md.
 */
typedef int (*lanepool_journal_write_fn)(
    void *user, const lanepool_journal_entry *entries, size_t count, uint64_t watermark);

/**
 * Returns the number of a lane's last EXCLUSIVE entry in the program's store; 0 if it has none.
 * Called on the journal's thread, once for each key, before the key's first entry.
 * @param key The key; its bytes are valid during the call.
 */
typedef uint64_t (*lanepool_journal_lane_fn)(void *user, lanepool_key key);

/** The options of a journal. Start from LANEPOOL_JOURNAL_OPTIONS_INIT. */
typedef struct lanepool_journal_options {
    size_t struct_size;              /**< sizeof(lanepool_journal_options) */
    lanepool_journal_write_fn write; /**< required; its `user` is the pool's */
    size_t batch_max;                /**< the most entries of one call of `write`, up to
                                          LANEPOOL_JOURNAL_BATCH_MAX; 0: 256 */
    uint64_t wait_ns; /**< how long the journal collects entries before it writes, even if there are
                           `batch_max`, up to LANEPOOL_JOURNAL_WAIT_MAX_NS; 0: 100,000 */
    uint64_t first_number;       /**< of the first entry; 0: 1 */
    bool completes_when_written; /**< futures complete, and groups count, when the entry is written:
                                      OK or FAILED then mean that it is stored; false: when the task
                                      has ended */
    bool lane_numbers; /**< entries have their claims, and a number for each: the k-th EXCLUSIVE
                            entry of a key has k; another one has the number of the last EXCLUSIVE
                            entry before it. Until the pool's end each key takes memory, up to that
                          of all claims of the task that was the first to claim it */
    lanepool_journal_lane_fn
        last_lane_number; /**< with lane_numbers: the numbers to continue from; NULL: 0 */
    uint64_t idle_ns; /**< when no task has ended for so long, `write` is called without entries, up
                           to LANEPOOL_JOURNAL_WAIT_MAX_NS; 0: it is not. Not in a pool without
                           threads */
} lanepool_journal_options;

#ifndef __cplusplus
/** Makes a `const lanepool_journal_options *` in place, as LANEPOOL_TASK() makes a task. */
#define LANEPOOL_JOURNAL_OPTIONS(...)                                                    \
    (&(const lanepool_journal_options){ .struct_size = sizeof(lanepool_journal_options), \
                                        __VA_ARGS__ })
#endif

/** The largest `batch_max`. */
#define LANEPOOL_JOURNAL_BATCH_MAX ((size_t)1 << 20)
/** The largest `wait_ns` and `idle_ns`: a minute. */
#define LANEPOOL_JOURNAL_WAIT_MAX_NS UINT64_C(60000000000)

/** Options with everything at its default; `write` must be set. */
#define LANEPOOL_JOURNAL_OPTIONS_INIT                                    \
    {                                                                    \
        sizeof(lanepool_journal_options), 0, 0, 0, 0, false, false, 0, 0 \
    }

/** The state of a pool's journal. */
typedef struct lanepool_journal_state {
    uint64_t written;     /**< the number of entries that `write` has stored */
    uint64_t watermark;   /**< as of the last call of `write` that has returned 0; 0 before */
    int code;             /**< what the failed write has returned; 0: none has failed */
    uint64_t reserved[4]; /**< 0 */
} lanepool_journal_state;

/**
 * Sets the record of the running task, which its entry gives to `write`; in an `at_lane`, the
 * record of that visit. The last call counts. An attempt that is followed by a retry, or parks the
 * task or pauses its lanes, loses its record. The library does not read or free it.
 * @param record Owned by the program. May be NULL.
 * @retval LANEPOOL_UNSUPPORTED The pool has no journal, or `run` is a sequence's task.
 * @also INVALID.
 */
LANEPOOL_API lanepool_status lanepool_run_set_record(lanepool_run *run, void *record);

/**
 * Reads the state of the journal.
 * @param state Receives it.
 * @retval LANEPOOL_UNSUPPORTED The pool has no journal.
 * @also INVALID, FORKED.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_pool_journal_state(lanepool_pool *pool, lanepool_journal_state *state);

/** @} */

/**
 * @defgroup journal_checks Checks of a journal
 * Whether the entries of a store could come from the journal of a pool without an `is_compatible`:
 * for auditors, without a pool. Give it the entries as they were stored, in the order of their
 * numbers. Tickets begin anew with each pool, so each pool's entries need a check of their own. @{
 */

/** The kinds of faults in a stored journal. */
typedef enum lanepool_journal_fault_kind {
    LANEPOOL_JOURNAL_FAULT_NUMBER,      /**< its number does not follow the last one */
    LANEPOOL_JOURNAL_FAULT_TICKET,      /**< a conflicting entry before it has a later ticket */
    LANEPOOL_JOURNAL_FAULT_LANE_NUMBER, /**< a lane number does not follow the lane's last one */
} lanepool_journal_fault_kind;

/** A fault in a journal. */
typedef struct lanepool_journal_fault {
    lanepool_journal_fault_kind kind; /**< what is wrong */
    uint64_t number;                  /**< of the entry */
    size_t claim; /**< which claim; SIZE_MAX for FAULT_NUMBER, and for an entry without claims */
    uint64_t expected; /**< the number that should be there; FAULT_TICKET: the later ticket of the
                            entry before */
    uint64_t found;    /**< the number or ticket that is there */
} lanepool_journal_fault;

/** A check of a journal, entry by entry. */
typedef struct lanepool_journal_check lanepool_journal_check;

/**
 * Begins a check.
 * @param first_number The number that the first entry must have.
 * @param check        Receives it; the caller frees it with lanepool_journal_check_destroy().
 * @also INVALID, NOMEM.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_journal_check_create(uint64_t first_number, lanepool_journal_check **check);

/**
 * Checks the next entry. Its number must follow the last one. In the lane of each claim, its ticket
 * must not be below that of a conflicting entry before it. A lane number must follow the lane's
 * last one. After a fault the check continues from what it has found. Only `number`, `ticket`,
 * `claims`, `lane_numbers` and `claim_count` are read, and not kept.
 * @param entry  As it was stored. A lane's first EXCLUSIVE number may be any: the part before may
 * be in another store. `lane_numbers` may be NULL: they are not checked then.
 * @param faults   Receives up to `capacity` faults of this entry; may be NULL if that is 0.
 * @param capacity The room in faults.
 * @param count  Receives the number of all faults of this entry.
 * @retval LANEPOOL_FAILED  The entry has faults.
 * @retval LANEPOOL_INVALID An argument is NULL; a claim has no valid key or mode, or its key is a
 *     handle; more than LANEPOOL_CLAIMS_MAX claims.
 * @also NOMEM: nothing has changed, add the entry again. @threads One at a time. @complexity
 * O(claims) expected.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_journal_check_add(
    lanepool_journal_check *check, const lanepool_journal_entry *entry,
    lanepool_journal_fault *faults, size_t capacity, size_t *count);

/** Frees a check. @complexity O(keys). */
LANEPOOL_API void lanepool_journal_check_destroy(lanepool_journal_check *check);

/** @} */

LANEPOOL_C_END

#endif
