/**
 * @file
 * The functions of a database on which programs of several machines work together. For those who
 * write a store; programs need remote.h. In a library of its own: link
 * `lanepool::remote`. See docs/remote.md.
 */
#ifndef LANEPOOL_REMOTE_STORE_H
#define LANEPOOL_REMOTE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lanepool/status.h"

LANEPOOL_C_BEGIN

/**
 * @defgroup remote_stores Stores of remote batches
 * A *store* has one batch: its tasks, the states of its lanes, and who works on them. A *node* is
 * one incarnation of a program that works on the batch. Lanes are divided into *shards*; each shard
 * has at most one *owner*, a node. A node's *step* is one transaction. A *letter* tells a shard's
 * owner what another shard has done. Bytes in rows belong to the caller for the time of the call or
 * of the visit; a store keeps and returns them unchanged. @{
 */

/** Bytes. `data` may be NULL if `size` is 0. */
typedef struct lanepool_remote_bytes {
    const void *data; /**< the first byte */
    size_t size;      /**< their number */
} lanepool_remote_bytes;

/** An incarnation. `id` is never used again, also not after a crash of the store. */
typedef struct lanepool_remote_node {
    uint64_t id;     /**< from 1 */
    uint64_t key[2]; /**< random bits that the store has drawn; a call with others is FENCED */
} lanepool_remote_node;

/** The answer to a new node. */
typedef struct lanepool_remote_welcome {
    lanepool_remote_node node; /**< its id and key */
    uint32_t shard_count;      /**< the batch's shards, numbered from 0; never changes */
    uint32_t reserved;         /**< 0 */
} lanepool_remote_welcome;

/** The state of the batch, of one snapshot. */
typedef struct lanepool_remote_news {
    uint64_t appended; /**< the number of appended tasks: their numbers are 1 to `appended` */
    uint64_t done;     /**< the least `low` of all shards; 0 if the store did not look */
    bool is_sealed;    /**< no task will follow */
} lanepool_remote_news;

/** A part of a task in one shard. A task has one in each shard that it claims a lane of. */
typedef struct lanepool_remote_entry_row {
    uint64_t seq;   /**< the task's number; as given to `append`: its index there, from 0 */
    uint32_t shard; /**< the entry's shard */
    uint32_t home;  /**< the shard where the task's function runs */
    lanepool_remote_bytes body; /**< the node's own */
    bool has_outcome;           /**< when read: the store has an outcome of this task; else false */
} lanepool_remote_entry_row;

/** A lane. A lane without a row has the state of no bytes, and a `last_seq` of 0. */
typedef struct lanepool_remote_lane_row {
    uint64_t lane;               /**< its number, unique in the batch */
    uint32_t shard;              /**< always the same for a lane */
    uint64_t last_seq;           /**< the last task that is done here */
    lanepool_remote_bytes state; /**< the program's */
} lanepool_remote_lane_row;

/** An effect. (`seq`, `part`) is a key: a second row is an error, and the step fails as INVALID. */
typedef struct lanepool_remote_effect_row {
    uint64_t seq;               /**< the task */
    uint32_t part;              /**< counted within the task */
    lanepool_remote_bytes data; /**< the program's */
} lanepool_remote_effect_row;

/** The outcome of a task that has failed, or is a cut. `seq` is a key. */
typedef struct lanepool_remote_outcome_row {
    uint64_t seq;  /**< the task */
    int32_t code;  /**< what its function has returned */
    uint32_t home; /**< the task's home */
} lanepool_remote_outcome_row;

/** A letter. The store keeps a letter until the `low` of its shard has reached `upto`. */
typedef struct lanepool_remote_letter_row {
    uint32_t shard;             /**< the receiver */
    uint64_t upto;              /**< the highest task that the letter speaks of */
    uint64_t sender;            /**< the id of the node that has sent it; set by the store */
    uint64_t step;              /**< the number of the sender's step; set by the store */
    lanepool_remote_bytes body; /**< the node's own */
} lanepool_remote_letter_row;

/** A shard, and how far it is. */
typedef struct lanepool_remote_progress {
    uint32_t shard; /**< its number */
    uint64_t low;   /**< all its entries up to this task are done */
} lanepool_remote_progress;

/** The last step of a sender that a node has read. */
typedef struct lanepool_remote_cursor {
    uint64_t sender; /**< the sender's id */
    uint64_t step;   /**< the number of its step */
} lanepool_remote_cursor;

/** Which letters a node reads: those to `shards`, of steps behind the cursor of their sender. A
 * sender without a cursor: of all its steps. */
typedef struct lanepool_remote_look {
    const uint32_t *shards;                /**< the reader's own shards */
    size_t shard_count;                    /**< their number */
    const lanepool_remote_cursor *cursors; /**< at most one for each sender */
    size_t cursor_count;                   /**< their number */
} lanepool_remote_look;

/** A step. All rows are stored in one transaction, or none of them. */
typedef struct lanepool_remote_step {
    uint64_t number; /**< a node's steps are numbered from 1 without gaps; goes into its letters */
    const lanepool_remote_lane_row *lanes;       /**< replace the lanes' rows; each lane once */
    size_t lane_count;                           /**< their number */
    const lanepool_remote_effect_row *effects;   /**< are added */
    size_t effect_count;                         /**< their number */
    const lanepool_remote_outcome_row *outcomes; /**< are added */
    size_t outcome_count;                        /**< their number */
    const lanepool_remote_letter_row *letters;   /**< are added, with the node's id and `number` */
    size_t letter_count;                         /**< their number */
    const lanepool_remote_progress *progress;    /**< new `low` of own shards */
    size_t progress_count;                       /**< their number */
    const lanepool_remote_progress *unneeded;    /**< letters to `shard` with an `upto` of at most
                                                    `low`    are deleted */
    size_t unneeded_count;                       /**< their number */
    const uint32_t *given_up;                    /**< own shards that have no owner from now on */
    size_t given_up_count;                       /**< their number */
    bool leaves;               /**< the node's last step: it counts as dead from now on */
    lanepool_remote_look look; /**< the letters to read; without shards that are given up */
} lanepool_remote_step;

/** The wishes of a node in a lease. */
typedef struct lanepool_remote_lease {
    uint64_t lease_ns;   /**< a node without a call in this time is declared dead */
    uint32_t shards_max; /**< the node is to have at most so many shards */
    uint32_t reserved;   /**< 0 */
} lanepool_remote_lease;

/** The answer of a lease. */
typedef struct lanepool_remote_share {
    uint32_t live_nodes;   /**< nodes that are not dead and may have shards, this one included */
    uint32_t hungry_nodes; /**< those that have fewer than `shard_count / live_nodes` shards */
    uint32_t free_shards;  /**< shards without a live owner, after this call */
    uint32_t reserved;     /**< 0 */
    lanepool_remote_news news; /**< with `done` */
} lanepool_remote_share;

/** A node, as others see it. */
typedef struct lanepool_remote_node_row {
    uint64_t id;             /**< its id */
    const char *name;        /**< as given to `hello` */
    uint64_t seen_before_ns; /**< how long ago it was seen, by the store's clock */
    bool is_dead;            /**< it was declared dead, or has left */
} lanepool_remote_node_row;

/** A shard, as others see it. */
typedef struct lanepool_remote_shard_row {
    uint32_t shard; /**< its number */
    uint64_t owner; /**< a node's id; 0: none. The node may be dead */
    uint64_t low;   /**< all its entries up to this task are done */
} lanepool_remote_shard_row;

/** Receives rows. `context` is the caller's. Functions must not call the store. */
typedef struct lanepool_remote_visitor {
    void *context;                                                        /**< for all functions */
    void (*shard)(void *context, const lanepool_remote_shard_row *row);   /**< a shard */
    void (*lane)(void *context, const lanepool_remote_lane_row *row);     /**< a lane */
    void (*entry)(void *context, const lanepool_remote_entry_row *row);   /**< an entry */
    void (*letter)(void *context, const lanepool_remote_letter_row *row); /**< a letter */
    void (*node)(void *context, const lanepool_remote_node_row *row);     /**< a node */
    void (*outcome)(void *context, const lanepool_remote_outcome_row *row); /**< an outcome */
} lanepool_remote_visitor;

/** Tasks to append. */
typedef struct lanepool_remote_append {
    uint64_t token[2]; /**< random bits of the caller, or zeroes: a second call with the same token
                            appends nothing, and answers as the first one has */
    size_t task_count; /**< how many tasks; at least 1 */
    const lanepool_remote_entry_row *entries; /**< by task; `seq` is the task's index, from 0 */
    size_t entry_count;                       /**< their number; each task has at least one */
} lanepool_remote_append;

/**
 * The functions of a store; all are required. A node calls them from one thread at a time, which
 * may change. They may block.
 *
 * With LANEPOOL_OK a call has taken effect; with LANEPOOL_UNAVAILABLE it may have. Calls that get a
 * node answer LANEPOOL_FENCED if the node is dead, or not one of the store's; then they change and
 * visit nothing. A store answers LANEPOOL_UNAVAILABLE to all calls of a node from the first time on
 * that its connection has broken or that one of its calls has failed, until the next `hello`.
 *
 * *Order*. If a node's step is visible, so are all its earlier ones, and everything that the node
 * has read before. A crash of the store may take back the newest transactions that were not
 * flushed: what is left is a state that was there before. `hello`, `append` and `seal` are durable
 * when they return.
 */
typedef struct lanepool_remote_store_functions {
    size_t struct_size; /**< sizeof(lanepool_remote_store_functions) */
    /** Connects if necessary, and makes a node. An earlier node of this store object is at its end:
     * it may be declared dead at once. Durable. */
    lanepool_status (*hello)(void *store, const char *name, lanepool_remote_welcome *welcome);
    /** Renews the node's lease. Declares each other node dead whose connection is gone or whose
     * lease has ended; this waits for a step of that node which is being committed. Then makes the
     * node the owner of shards without a live owner, until it has `shard_count / live_nodes`,
     * rounded up, or `shards_max`. Visits `shard` for each new one, with its `low`, when this has
     * been committed. Nodes that ask for 0 shards do not count as live nodes. */
    lanepool_status (*lease)(
        void *store, const lanepool_remote_node *node, const lanepool_remote_lease *lease,
        const lanepool_remote_visitor *visitor, lanepool_remote_share *share);
    /** Visits `lane` for all rows of these shards. */
    lanepool_status (*read_lanes)(
        void *store, const lanepool_remote_node *node, const uint32_t *shards, size_t shard_count,
        const lanepool_remote_visitor *visitor);
    /** Visits `entry` for the first `each_max` entries behind `low` of each shard in `from`: by
     * shard, in the order of `seq`. `news` is of the same snapshot; its `done` may be 0. */
    lanepool_status (*read_entries)(
        void *store, const lanepool_remote_node *node, const lanepool_remote_progress *from,
        size_t from_count, size_t each_max, const lanepool_remote_visitor *visitor,
        lanepool_remote_news *news);
    /** Visits `letter` for all letters to each shard of `from` with an `upto` above its `low`. No
     * cursor counts here. */
    lanepool_status (*read_letters)(
        void *store, const lanepool_remote_node *node, const lanepool_remote_progress *from,
        size_t from_count, const lanepool_remote_visitor *visitor);
    /** Makes a step, in one round trip. First the *fence*: the transaction makes sure that the node
     * is alive and stays so until it has committed, and renews its lease. Then the rows. Last it
     * visits `letter` for the letters of `step->look`, in any order of senders, but in the order of
     * their steps. Visits are made when the step has been committed. `done` of `news` may be 0. */
    lanepool_status (*step)(
        void *store, const lanepool_remote_node *node, const lanepool_remote_step *step,
        const lanepool_remote_visitor *visitor, lanepool_remote_news *news);
    /** Visits `letter` as `step`, and changes nothing. The node is alive in the snapshot that the
     * letters are of. `news` is of this snapshot, with `done`. */
    lanepool_status (*poll)(
        void *store, const lanepool_remote_node *node, const lanepool_remote_look *look,
        const lanepool_remote_visitor *visitor, lanepool_remote_news *news);
    /** Makes all that was committed before this call durable. */
    lanepool_status (*flush)(void *store);
    /** Appends tasks: they get the next numbers, without gaps, and become visible in the order of
     * their numbers. Durable.
     * @c first_seq receives the number of the first one. LANEPOOL_SHUT_DOWN: the batch is sealed.
     */
    lanepool_status (*append)(
        void *store, const lanepool_remote_append *append, uint64_t *first_seq);
    /** Seals the batch: no task will follow. Durable. May be called again. */
    lanepool_status (*seal)(void *store);
    /** Visits, of one snapshot: all nodes that are not dead or own a shard; all shards; with a
     * `seq` also the entries and the outcome of that task, and the letters to its shards with an
     * `upto` of at least `seq`. Needs no node. `seq` 0: none. With `done`. */
    lanepool_status (*read_status)(
        void *store, uint64_t seq, const lanepool_remote_visitor *visitor,
        lanepool_remote_news *news);
    /** Visits `lane` for the rows of these lanes, with a `state` of no bytes. Needs no node. */
    lanepool_status (*read_progress)(
        void *store, const uint64_t *lanes, size_t lane_count,
        const lanepool_remote_visitor *visitor);
    /** Returns what went wrong in the last call that failed; "" if nothing has. Valid until the
     * next call. */
    const char *(*error_text)(void *store);
} lanepool_remote_store_functions;

/** Functions with none set. */
#define LANEPOOL_REMOTE_STORE_FUNCTIONS_INIT                                           \
    {                                                                                  \
        sizeof(lanepool_remote_store_functions), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 \
    }

/** @} */

LANEPOOL_C_END

#endif
