/*
 * A node: one incarnation of a program in a batch. It drops everything and ends when the store
 * fences it or cannot be reached; then another incarnation begins, with a pool of its own.
 *
 * Tasks run in the node's pool, whose journal is the commit stage: its `write` makes a step. The
 * journal's order respects conflicts, so the store gets a prefix of what has run. All state of the
 * node belongs to the journal's thread, J in the guards. Only that thread calls the store and
 * reads letters. So there are no locks. W is the worker that runs a task, which has the lanes.
 *
 * ALONE  an entry in one shard: runs, and is in a step.
 * HOLD   a part of a rollup: detached, with its lanes.
 * ARRIVE follows HOLD, without claims. In the journal it is behind all earlier tasks of these
 *        lanes. Its journal entry is the arrival.
 * RUN    the rollup's function, at home, without claims, when all parts have arrived. Its journal
 *        entry is before those of all later tasks, since only then HOLD is completed.
 * VISIT  a part of a cut: ends at once, and its journal entry is the arrival. At home RUN follows.
 * TICK   a delayed task, whose journal entry makes `write` run. While all workers are busy, the
 *        journal's `idle_ns` does.
 *
 * A shard that is given up is dropped as if the node had died: ALONE, HOLD and VISIT that start
 * later do nothing. A part of a rollup releases its lanes. The next owner reads all entries from
 * the shard's low again. So a shard waits for the running tasks only. A task that follows a dropped
 * one in a lane is dropped, too: the flag was set before it starts.
 */
#ifndef LANEPOOL_SRC_REMOTE_NODE_H
#define LANEPOOL_SRC_REMOTE_NODE_H

#include <stdatomic.h>

#include "lanepool/journal.h"
#include "lanepool/remote.h"
#include "lanepool/schedule.h"
#include "remote/bytes.h"
#include "remote/map.h"
#include "remote/memory.h"
#include "remote/planted.h"

#define LANEPOOL_I_REMOTE_RENEWS 8 /* leases are renewed so often before they end */

typedef struct lanepool_i_remote_node lanepool_i_remote_node;
typedef struct lanepool_i_remote_entry lanepool_i_remote_entry;

/* A lane of an own shard. */
typedef struct lanepool_i_remote_lane {
    lanepool_i_remote_link link;  /* number: the lane's */
    uint32_t shard;               /* J */
    bool is_dirty;                /* J: the next step has its row */
    uint64_t last_seq;            /* J */
    lanepool_remote_bytes stored; /* J: as of the last journal entry that was written */
    lanepool_remote_bytes state;  /* W; J while the lane is held or unused */
} lanepool_i_remote_lane;

/* A new state of a claimed lane. */
typedef struct lanepool_i_remote_change {
    bool is_set;
    lanepool_remote_bytes stored; /* for `stored` of the lane, or a letter */
    lanepool_remote_bytes state;  /* for `state` of the lane */
} lanepool_i_remote_change;

/* A part of a task in an own shard. Members without a guard are immutable. */
struct lanepool_i_remote_entry {
    lanepool_i_remote_entry *next;     /* J: of all the node's */
    lanepool_i_remote_entry *previous; /* J */
    lanepool_i_remote_node *node;
    uint64_t seq;
    uint32_t shard;
    uint32_t home;
    uint32_t kind;
    size_t part_count;              /* the task's shards */
    bool is_cut;                    /* and has several parts */
    lanepool_remote_bytes body;     /* own; the payload is in it */
    lanepool_i_remote_lane **lanes; /* of this shard, in the order of the claims */
    size_t lane_count;
    lanepool_remote_claim *claims; /* at home: all */
    uint32_t *shards;              /* at home: of each claim */
    size_t claim_count;
    lanepool_remote_bytes payload; /* at home */

    bool is_in_window;             /* J */
    bool is_done;                  /* J: see lanepool_i_remote_finish() */
    bool has_arrived;              /* J: HOLD is detached; `handle` may be used */
    bool is_dropped;               /* W, then J: the task has done nothing */
    unsigned uses;                 /* J: tasks of the pool */
    lanepool_detached *handle;     /* W, then J: NULL once completed */
    lanepool_status trouble;       /* W, then J */
    lanepool_remote_bytes *inputs; /* J, then W: of each claim, if there are several parts */
    lanepool_i_remote_change
        *changes; /* W, then J: of each claim. The block of lanes, claims and shards, too */
    lanepool_i_remote_buffer effects; /* W, then J: their bytes */
    size_t *effect_ends;              /* W, then J */
    size_t effect_count;              /* W, then J */
    size_t effect_capacity;           /* W */
    int code;                         /* W, then J */
};

/* A part of a task that has arrived at its home. */
typedef struct lanepool_i_remote_arrival {
    uint32_t shard;
    bool is_local; /* in memory only */
    size_t count;
    lanepool_remote_bytes *states; /* own */
} lanepool_i_remote_arrival;

/* A task with several parts and an own home. J. */
typedef struct lanepool_i_remote_rollup {
    lanepool_i_remote_link link; /* number: the task's */
    uint32_t home;
    lanepool_i_remote_entry *entry; /* the home's; NULL until it is read */
    lanepool_i_remote_arrival *arrivals;
    size_t arrival_count;
    size_t arrival_capacity;
} lanepool_i_remote_rollup;

/* J. */
typedef struct lanepool_i_remote_shard {
    bool is_own;
    _Atomic bool is_leaving;          /* A: J sets: its tasks are dropped, and none is read */
    uint64_t low;                     /* as of the next step */
    uint64_t sent_low;                /* as of the last one */
    uint64_t deleted_upto;            /* letters that were deleted */
    uint64_t fetched;                 /* all entries up to here were read */
    uint64_t told;                    /* the last rollup of which DONE was written */
    size_t read_count;                /* entries of the last read */
    size_t use_count;                 /* tasks of the pool */
    size_t open_count;                /* entries in the window that are not done */
    lanepool_i_remote_entry **window; /* by number; the first is the first that is not done */
    size_t first;
    size_t end;
    size_t capacity;
} lanepool_i_remote_shard;

/* Relaxed: a task that follows a dropped one in a lane cannot read an older value. */
static inline bool lanepool_i_remote_is_leaving(const lanepool_i_remote_shard *shard)
{
    return atomic_load_explicit(&shard->is_leaving, memory_order_relaxed);
}

/* Letters of the next step to a shard. */
typedef struct lanepool_i_remote_outgoing {
    uint32_t shard;
    uint64_t upto;
    lanepool_i_remote_buffer body;
} lanepool_i_remote_outgoing;

/* The rows of a step, and the arrays behind them. J. */
typedef struct lanepool_i_remote_rows {
    lanepool_remote_lane_row *lanes;
    size_t lane_count, lane_capacity;
    lanepool_i_remote_lane **dirty;
    size_t dirty_count, dirty_capacity;
    lanepool_remote_effect_row *effects;
    size_t late_count; /* with a planted error */
    size_t effect_count, effect_capacity;
    lanepool_remote_outcome_row *outcomes;
    size_t outcome_count, outcome_capacity;
    lanepool_i_remote_outgoing *outgoing;
    size_t outgoing_count, outgoing_capacity;
    lanepool_remote_letter_row *letters;
    size_t letter_capacity;
    lanepool_remote_progress *progress;
    size_t progress_count;
    lanepool_remote_progress *unneeded;
    size_t unneeded_count;
    uint32_t *given_up;
    size_t given_up_count;
    uint32_t *own;
    size_t own_count;
} lanepool_i_remote_rows;

/* A call of the program, which `write` answers. The program's thread owns it before and after. */
typedef struct lanepool_i_remote_request {
    lanepool_status (*answer)(lanepool_i_remote_node *node, struct lanepool_i_remote_request *);
    lanepool_status status; /* of the answer */
    uint64_t seq;
    uint64_t token[2];
    lanepool_i_remote_buffer *text; /* explain: what it writes */
    lanepool_remote_view *view;
    lanepool_remote_outcome *outcome;
    const lanepool_remote_task *tasks;
    size_t task_count;
} lanepool_i_remote_request;

/* Outlives the incarnations. Members without a guard belong to the program's thread. */
struct lanepool_remote {
    lanepool_remote_store_functions functions;
    void *store;
    lanepool_remote_options options; /* with every default filled in */
    lanepool_remote_kind *kinds;
    lanepool_options pool_options;
    lanepool_journal_options journal;
    char *name;
    lanepool_i_remote_node *node;
    uint64_t pause_ns;             /* before the next incarnation begins */
    lanepool_remote_counts counts; /* J while there is a node */
};

struct lanepool_i_remote_node {
    lanepool_remote *remote;
    lanepool_pool *pool;
    lanepool_status status; /* J; of the program's thread once the pool has ended */
    bool is_welcome;        /* J: `hello` was called */
    bool has_tick;          /* J: a TICK is pending */
    bool leaves;            /* J: the program has called leave */
    bool has_left;          /* J */
    lanepool_remote_node id;
    uint64_t step_number;
    uint32_t shard_count;
    lanepool_i_remote_shard *shards;
    uint32_t own_count;
    lanepool_i_remote_map lanes;
    lanepool_i_remote_map rollups;
    lanepool_i_remote_entry *entries; /* all */
    lanepool_i_remote_rows rows;
    lanepool_remote_cursor *cursors;
    size_t cursor_count, cursor_capacity;
    lanepool_remote_news news;
    uint64_t lease_at_ns;
    size_t ahead;                    /* how many tasks are read ahead, of all own shards */
    uint64_t read_at_ns;             /* when tasks were last read */
    uint64_t poll_ns;                /* until the next TICK */
    lanepool_i_remote_entry **spent; /* the step's rows point into them */
    size_t spent_count, spent_capacity;
    lanepool_i_remote_request **requests;
    size_t request_count, request_capacity;
    uint32_t *new_shards;
    size_t new_count;
    lanepool_remote_progress *from; /* for reads, by shard */
    uint64_t drawn;                 /* how many tokens */
};

/* --- rows.c: the rows of the next step --- */

/* Returns the buffer of letters to a shard, NULL if memory cannot be allocated. */
lanepool_i_remote_buffer *lanepool_i_remote_letters_to(lanepool_i_remote_node *node, uint32_t shard,
                                                       uint64_t seq);
/* The first failure counts. */
void lanepool_i_remote_fail(lanepool_i_remote_node *node, lanepool_status status);
/* The next step has the lane's row. */
void lanepool_i_remote_mark(lanepool_i_remote_node *node, lanepool_i_remote_lane *lane,
                            uint64_t seq);
/* Fill the arrays of a step from the lanes that were marked, and from the letters. */
void lanepool_i_remote_list_lanes(lanepool_i_remote_node *node);
void lanepool_i_remote_list_letters(lanepool_i_remote_node *node);
bool lanepool_i_remote_has_rows(const lanepool_i_remote_node *node);
void lanepool_i_remote_clear_rows(lanepool_i_remote_node *node);
void lanepool_i_remote_free_rows(lanepool_i_remote_rows *rows);

/* --- entries.c: lanes, entries, windows --- */

/* Returns the lane, made if necessary; NULL if memory cannot be allocated. */
lanepool_i_remote_lane *lanepool_i_remote_lane_of(lanepool_i_remote_node *node, uint64_t id,
                                                  uint32_t shard);
void lanepool_i_remote_drop_lanes(lanepool_i_remote_node *node, uint32_t shard);
/* Makes an entry from a row, and puts it into the window unless it is done. */
void lanepool_i_remote_take_entry(lanepool_i_remote_node *node,
                                  const lanepool_remote_entry_row *row);
/* Returns the entry if it is in the window, else NULL. */
lanepool_i_remote_entry *lanepool_i_remote_find(const lanepool_i_remote_shard *shard, uint64_t seq);
/* The task is done in this shard: in a step, or in the next one. */
void lanepool_i_remote_finish(lanepool_i_remote_entry *entry);
/* Advances the shard's low past entries that are done. */
void lanepool_i_remote_advance(lanepool_i_remote_node *node, uint32_t shard);
void lanepool_i_remote_leave_window(lanepool_i_remote_entry *entry);
/* Frees the entry if nothing uses it. */
void lanepool_i_remote_let_go(lanepool_i_remote_entry *entry);
void lanepool_i_remote_free_entry(lanepool_i_remote_entry *entry);
uint32_t lanepool_i_remote_shard_of(uint32_t shard_count, const lanepool_remote_claim *claim);

/* --- calls.c: what the pool calls --- */

int lanepool_i_remote_alone(lanepool_run *run, void *context);
int lanepool_i_remote_hold(lanepool_run *run, void *context);
int lanepool_i_remote_arrive(lanepool_run *run, void *context);
int lanepool_i_remote_visit(lanepool_run *run, void *context);
int lanepool_i_remote_run(lanepool_run *run, void *context);
int lanepool_i_remote_tick(lanepool_run *run, void *context);
int lanepool_i_remote_request_fn(lanepool_run *run, void *context);
/* Note that a task of the entry was submitted, and that one has ended. */
void lanepool_i_remote_use(lanepool_i_remote_entry *entry);
void lanepool_i_remote_unuse(lanepool_i_remote_entry *entry);
/* Submits the entry's part to the pool. */
void lanepool_i_remote_submit(lanepool_i_remote_entry *entry);

/* --- rollups.c: arrivals and what follows --- */

/* A part has arrived at an own home. Copies the states. */
void lanepool_i_remote_arrived(lanepool_i_remote_node *node, uint64_t seq, uint32_t home,
                               const lanepool_i_remote_arrival *arrival);
/* The home's entry was read. */
void lanepool_i_remote_join(lanepool_i_remote_entry *entry);
/* Completes the handle of the entry, if there is one. Returns false if the node has failed. */
bool lanepool_i_remote_complete(lanepool_i_remote_entry *entry);
/* Releases the lanes that parts of rollups hold in a shard that is given up. */
void lanepool_i_remote_release_parts(lanepool_i_remote_node *node, uint32_t shard);
void lanepool_i_remote_ended(lanepool_i_remote_node *node, const lanepool_journal_entry *ended);
/* Reads the letters of a row. */
void lanepool_i_remote_read(lanepool_i_remote_node *node, const lanepool_remote_letter_row *row);
/* Writes the arrivals that are in memory only into letters, and forgets those of the shard. */
void lanepool_i_remote_send_again(lanepool_i_remote_node *node, uint32_t home);
void lanepool_i_remote_drop_rollups(lanepool_i_remote_node *node);

/* --- steps.c: the journal's write --- */

int lanepool_i_remote_write(void *user, const lanepool_journal_entry *entries, size_t count,
                            uint64_t watermark);
/* --- shards.c: leases, reads, giving up --- */

lanepool_status lanepool_i_remote_begin(lanepool_i_remote_node *node);
void lanepool_i_remote_renew(lanepool_i_remote_node *node);
void lanepool_i_remote_refill(lanepool_i_remote_node *node);
/* Moves shards whose tasks have ended into the rows. */
void lanepool_i_remote_give_up(lanepool_i_remote_node *node);
/* They were given up. */
void lanepool_i_remote_forget_given_up(lanepool_i_remote_node *node);
void lanepool_i_remote_learn(lanepool_i_remote_node *node, const lanepool_remote_news *news);

/* --- incarnation.c --- */

lanepool_status lanepool_i_remote_start(lanepool_remote *remote);
void lanepool_i_remote_end(lanepool_remote *remote);
/* Has a request answered; begins incarnations as necessary. */
lanepool_status lanepool_i_remote_ask(lanepool_remote *remote, lanepool_i_remote_request *request,
                                      uint64_t *wait_ns, uint64_t delay_ns);

/* --- requests.c, explain.c: the answers --- */

lanepool_status lanepool_i_remote_answer_append(lanepool_i_remote_node *node,
                                                lanepool_i_remote_request *request);
lanepool_status lanepool_i_remote_answer_explain(lanepool_i_remote_node *node,
                                                 lanepool_i_remote_request *request);

/* --- ahead.c: what is before a task in its lanes --- */

/* A lane that the task claims. */
typedef struct lanepool_i_remote_ahead {
    uint64_t lane;
    uint32_t shard;
    uint64_t last_seq;  /* the last task that is done here */
    uint64_t first_seq; /* of the tasks before it that are not done, the first one; or 0 */
    size_t count;       /* how many there are */
    bool is_cut_short;  /* so many tasks of the shard are before it that not all were read */
} lanepool_i_remote_ahead;

/* Reads what is before a task in its lanes, from the store. `body` is that of the task's entry at
 * its home; `from` are the task's shards in which it is not done, and is changed. The caller frees
 * *lanes, also after a failure; they are in the order of the claims. */
lanepool_status lanepool_i_remote_read_ahead(lanepool_i_remote_node *node,
                                             lanepool_remote_bytes body, uint64_t seq,
                                             lanepool_remote_progress *from, size_t from_count,
                                             lanepool_i_remote_ahead **lanes, size_t *lane_count);

#endif
