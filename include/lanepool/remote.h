/**
 * @file
 * Remote batches: programs on many machines run the tasks of one database in the same order. In
 * a library of its own: link `lanepool::remote`, and the library of a store. See docs/remote.md.
 */
#ifndef LANEPOOL_REMOTE_H
#define LANEPOOL_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lanepool/inspect.h"
#include "lanepool/pool.h"
#include "lanepool/remote_store.h"
#include "lanepool/status.h"

LANEPOOL_C_BEGIN

/**
 * @defgroup remote Remote batches
 * Any number of programs run the tasks of a batch. The result is that of the serial order, each
 * task's effects are stored exactly once, also if programs are killed or stopped, or the database
 * crashes. @{
 */

/** This program's part in a batch. One thread at a time may use it. */
typedef struct lanepool_remote lanepool_remote;
/** The call of a task. */
typedef struct lanepool_remote_run lanepool_remote_run;

/** A lane that a task claims. */
typedef struct lanepool_remote_claim {
    uint64_t lane;  /**< its number */
    uint64_t group; /**< 0, or the same for lanes that belong together: they get one shard. In all
                         claims of a lane the same */
    lanepool_mode mode; /**< LANEPOOL_EXCLUSIVE; other modes are UNSUPPORTED */
} lanepool_remote_claim;

/** A task. It is stored, and may run on any machine. */
typedef struct lanepool_remote_task {
    uint32_t kind;                       /**< index into the `kinds` of the options */
    const lanepool_remote_claim *claims; /**< each lane once. The function of a task with several
                                              shards runs at the owner of the first claim's shard */
    size_t claim_count;                  /**< 1 to LANEPOOL_REMOTE_CLAIMS_MAX */
    lanepool_remote_bytes payload;       /**< the program's */
} lanepool_remote_task;

/** The most claims of a task. */
#define LANEPOOL_REMOTE_CLAIMS_MAX ((size_t)1 << 20)

/**
 * A task's function. It may be called more than once, on several machines: only the effects and
 * states of one call are stored. It must not change anything else.
 * @param run  This call.
 * @param task Valid during the call.
 * @param user That of the options.
 * @return 0 for success. Any other code is stored as the outcome; effects and states are dropped.
 */
typedef int (*lanepool_remote_fn)(
    lanepool_remote_run *run, const lanepool_remote_task *task, void *user);

/** A kind of tasks. */
typedef struct lanepool_remote_kind {
    lanepool_remote_fn run; /**< required */
    bool is_cut; /**< the task only reads. Each shard's states are copied in the task's turn, and
                    the function gets the copies. It must not set states */
} lanepool_remote_kind;

/** The options of a node. Start from LANEPOOL_REMOTE_OPTIONS_INIT. */
typedef struct lanepool_remote_options {
    size_t struct_size;                /**< sizeof(lanepool_remote_options) */
    const char *name;                  /**< of this program, for others; NULL: "" */
    const lanepool_remote_kind *kinds; /**< copied; all programs of a batch have the same */
    size_t kind_count;                 /**< their number; 0: the program runs no tasks */
    void *user;                        /**< passed to the functions of the kinds */
    const lanepool_options *pool;      /**< for the pool that runs the tasks; NULL: all defaults.
                                            Must live until the end. Without `journal`, `user`,
                                            `is_compatible`, `on_failure`, `contexts` and
                                            `lane_pending_max`, and with lanes per key */
    uint64_t lease_ns;    /**< a node without a call in this time is declared dead; 0: 2 s */
    uint64_t step_ns;     /**< how long a step collects ended tasks; 0: 1,000,000 */
    size_t step_tasks;    /**< the most ended tasks of a step; 0: 4,096 */
    size_t window_tasks;  /**< the most tasks of a shard that are read ahead; 0: 1,024 */
    uint32_t shards_max;  /**< the node has at most so many shards; 0: its share */
    uint32_t reserved[3]; /**< 0 */
} lanepool_remote_options;

/** Options with everything at its default. */
#define LANEPOOL_REMOTE_OPTIONS_INIT                                   \
    {                                                                  \
        sizeof(lanepool_remote_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
        {                                                              \
            0, 0, 0                                                    \
        }                                                              \
    }

/**
 * Opens a batch. The node begins to work with the first call that waits, and works while the
 * program is between calls. If the store cannot be reached, or the node is declared dead, the next
 * call that waits begins anew.
 * @param functions Copied; all are required.
 * @param store     Passed to them. Must live until lanepool_remote_close().
 * @param options   NULL for all defaults; copied.
 * @param remote    Receives the handle, which the caller closes; NULL on failure.
 * @retval LANEPOOL_INVALID A pointer or function is NULL, or an option is wrong.
 * @also UNSUPPORTED, NOMEM.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_remote_open(
    const lanepool_remote_store_functions *functions, void *store,
    const lanepool_remote_options *options, lanepool_remote **remote);

/**
 * Appends tasks to the batch. They get the next numbers, without gaps. Durable.
 * @param tasks       `task_count` tasks.
 * @param task_count  May be 0.
 * @param wait_max_ns Nanoseconds; a call of the store is not cut short.
 * @param first_seq   Receives the number of the first task, from 1; may be NULL.
 * @retval LANEPOOL_INVALID   An argument is NULL, or a claim or kind is wrong.
 * @retval LANEPOOL_SHUT_DOWN The batch is sealed.
 * @retval LANEPOOL_TIMED_OUT The store could not be reached. The tasks may have been appended.
 * @also UNSUPPORTED, NOMEM, NO_RESOURCE. @threads One at a time; blocks. @complexity O(claims).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_remote_submit_many(
    lanepool_remote *remote, const lanepool_remote_task *tasks, size_t task_count,
    uint64_t wait_max_ns, uint64_t *first_seq);

/**
 * Seals the batch: no task will follow, so the batch can end. Durable.
 * @retval LANEPOOL_TIMED_OUT The store could not be reached.
 * @also INVALID, NOMEM, NO_RESOURCE. @threads One at a time; blocks.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_remote_seal(lanepool_remote *remote, uint64_t wait_max_ns);

/** How a task has ended. */
typedef struct lanepool_remote_outcome {
    int32_t code;      /**< what its function has returned */
    uint32_t reserved; /**< 0 */
} lanepool_remote_outcome;

/**
 * Waits until a task, and all earlier ones of its shards, are done and durable.
 * @param seq         The task's number.
 * @param wait_max_ns Nanoseconds; a call of the store is not cut short.
 * @param outcome     Receives the outcome; may be NULL.
 * @retval LANEPOOL_TIMED_OUT Not yet; wait again.
 * @also INVALID, NOMEM, NO_RESOURCE. @threads One at a time; blocks.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_remote_await(
    lanepool_remote *remote, uint64_t seq, uint64_t wait_max_ns, lanepool_remote_outcome *outcome);

/**
 * Waits until the batch is sealed, and all its tasks are done and durable.
 * @retval LANEPOOL_INVALID   remote is NULL. Also from other calls that wait: the batch has a task
 * of a kind that this program lacks.
 * @retval LANEPOOL_TIMED_OUT Not yet; wait again.
 * @also NOMEM, NO_RESOURCE. @threads One at a time; blocks.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_remote_await_all(lanepool_remote *remote, uint64_t wait_max_ns);

/**
 * Stores what has ended, and leaves: other nodes may take the shards at once. Tasks that have not
 * ended run elsewhere. Then only lanepool_remote_close() is useful.
 * @retval LANEPOOL_TIMED_OUT Not yet; call again.
 * @also INVALID, NOMEM, NO_RESOURCE. @threads One at a time; blocks.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_remote_leave(lanepool_remote *remote, uint64_t wait_max_ns);

/**
 * Ends the node at once; waits for running functions. Unstored tasks run elsewhere, or later.
 * @threads No other thread may use the handle; blocks.
 */
LANEPOOL_API void lanepool_remote_close(lanepool_remote *remote);

/** Counts of a node, since it was opened. */
typedef struct lanepool_remote_counts {
    uint64_t incarnations; /**< how often it has begun */
    uint64_t steps;        /**< transactions */
    uint64_t polls;        /**< looks for letters without a step */
    uint64_t tasks;        /**< functions that have returned */
    uint64_t letters;      /**< rows of letters that it has sent */
    uint64_t given_up;     /**< shards that it has given up */
    uint64_t reserved[2];  /**< 0 */
} lanepool_remote_counts;

/** The state of a batch, and of this node in it. */
typedef struct lanepool_remote_view {
    lanepool_remote_news news;     /**< the batch */
    lanepool_remote_counts counts; /**< of this node */
    uint32_t shards;               /**< how many the batch has */
    uint32_t free_shards;          /**< those without a live owner */
    uint32_t own_shards;           /**< those of this node */
    uint32_t live_nodes;           /**< nodes that are not dead */
    uint64_t reserved[2];          /**< 0 */
} lanepool_remote_view;

/**
 * Reads the state of the batch, of one snapshot.
 * @param view Receives it.
 * @retval LANEPOOL_TIMED_OUT The store could not be reached.
 * @also INVALID, NOMEM, NO_RESOURCE. @threads One at a time; blocks. @complexity O(shards + nodes).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_remote_status(lanepool_remote *remote, uint64_t wait_max_ns, lanepool_remote_view *view);

/**
 * Writes sentences about a task that is not done. For each of its shards: the tasks that are done,
 * its node, and when that node was last seen. For each of its lanes there: the first task before it
 * that is not done. docs/remote.md has an example.
 * @param seq   The task's number.
 * @param write Called with the parts of the text.
 * @retval LANEPOOL_TIMED_OUT The store could not be reached.
 * @also INVALID, NOMEM, NO_RESOURCE. @threads One at a time; blocks.
 *     @complexity O(nodes + shards + claims + claims of the tasks before it).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_remote_explain(
    lanepool_remote *remote, uint64_t seq, uint64_t wait_max_ns, lanepool_write_fn write,
    void *context);

/** Returns the number of the running task. */
LANEPOOL_API uint64_t lanepool_remote_run_seq(const lanepool_remote_run *run);

/**
 * Returns the state of a lane that the running task claims. The last task that has set it counts,
 * this one included. If none has, there are no bytes.
 * @param claim The index of the claim.
 * @return Valid until the state is set, or the call ends. No bytes if there is no such claim.
 */
LANEPOOL_API lanepool_remote_bytes
lanepool_remote_state(const lanepool_remote_run *run, size_t claim);

/**
 * Sets the state of a lane that the running task claims.
 * @param claim The index of the claim.
 * @param data  `size` bytes, which are copied; may be NULL if that is 0.
 * @param size  Their number.
 * @retval LANEPOOL_INVALID     There is no such claim.
 * @retval LANEPOOL_UNSUPPORTED The task is a cut.
 * @also NOMEM. @complexity O(size).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_remote_set_state(lanepool_remote_run *run, size_t claim, const void *data, size_t size);

/**
 * Adds an effect of the running task: a row of the store with the task's number, and the effect's
 * number in the task, from 0.
 * @param data `size` bytes, which are copied; may be NULL if that is 0.
 * @param size Their number.
 * @also INVALID, NOMEM. @complexity O(size).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_remote_put(lanepool_remote_run *run, const void *data, size_t size);

/** @} */

LANEPOOL_C_END

#endif
