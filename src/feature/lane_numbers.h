/*
 * The numbers of a journal's lanes: for each key, how many EXCLUSIVE entries there were. The order
 * of the entries is the order in the lanes, so the lanes themselves know nothing of their numbers.
 *
 * A task has a copy of its claims until its entry is written: its lanes may be gone by then. A
 * task that hands its lanes over shares the copy with the receiver. A copy also has room for the
 * table's records of its keys, and for their numbers. So numbering an entry needs no memory, and
 * cannot fail. A copy with the record of a key stays until the pool's end.
 *
 * The journal's thread numbers entries. Any thread makes copies.
 */
#ifndef LANEPOOL_SRC_FEATURE_LANE_NUMBERS_H
#define LANEPOOL_SRC_FEATURE_LANE_NUMBERS_H

#include "lanepool/journal.h"
#include "route/pool.h"

typedef struct lanepool_i_claims_copy lanepool_i_claims_copy;

/* A key in the table. Of the journal's thread, as all of the table. */
typedef struct lanepool_i_numbered_lane {
    lanepool_i_key key;           /* must be first; its bytes are the copy's */
    lanepool_i_claims_copy *copy; /* which the record is in */
    uint64_t number;              /* of the last EXCLUSIVE entry */
    uint64_t stamp;               /* of the last entry that claims the lane */
    lanepool_mode mode;           /* of that entry's claims together */
    bool is_numbered;             /* that entry's number is given */
} lanepool_i_numbered_lane;

/* Guards: S the task's submitter, then W the thread that runs or ends the task, A atomic, J the
 * journal's thread. */
struct lanepool_i_claims_copy {
    _Atomic uint32_t references;     /* A: tasks, and records in the table */
    uint32_t class;                  /* S: of the slab */
    size_t count;                    /* S, W: claims of the entry */
    size_t dropped;                  /* S, W: claims behind them, which were removed */
    lanepool_i_numbered_lane *lanes; /* S; J in each: one for each claim */
    uint64_t *numbers;               /* S; J in each: one for each claim */
    uint64_t batch;                  /* J: the last batch that the numbers are for */
    lanepool_i_claims_copy *whole;   /* W: of a periodic task that has released a lane early: a
                                        reference to the copy with all claims; else NULL */
    lanepool_claim claims[];         /* S, W: a byte string is the data of a lanepool_i_key_bytes */
};

/* Sets *copy, to NULL if there are no claims. Returns false if memory cannot be allocated. */
bool lanepool_i_claims_copy_make(lanepool_pool *pool, lanepool_i_thread_record *record,
                                 const lanepool_task *task, lanepool_i_claims_copy **copy);
/* Makes two copies of a copy, which may be NULL: the claims of one key, and all others. A handle
 * stands for its key. Returns false if memory cannot be allocated. */
bool lanepool_i_claims_copy_divide(lanepool_pool *pool, lanepool_i_thread_record *record,
                                   const lanepool_i_claims_copy *copy, lanepool_key key,
                                   lanepool_i_claims_copy **of_key,
                                   lanepool_i_claims_copy **of_others);
/* Removes the claims that the running task does not have: it has left their lanes. Before the copy
 * is shared. */
void lanepool_i_claims_copy_drop_missing(const lanepool_pool *pool, lanepool_i_claims_copy *copy,
                                         lanepool_i_task *task);
/* Returns the copy for the next run of a periodic task, with all its claims. May be NULL. */
lanepool_i_claims_copy *lanepool_i_claims_copy_renew(lanepool_pool *pool,
                                                     lanepool_i_thread_record *record,
                                                     lanepool_i_claims_copy *copy);
/* Gives one reference back. Does nothing with NULL. */
void lanepool_i_claims_copy_give(lanepool_pool *pool, lanepool_i_thread_record *record,
                                 lanepool_i_claims_copy *copy);

typedef struct lanepool_i_lane_numbers {
    lanepool_i_key_index index;
    lanepool_journal_lane_fn last_number; /* I: or NULL */
    void *user;                           /* I */
    uint64_t stamp;                       /* of the current entry */
    bool is_made;
} lanepool_i_lane_numbers;

bool lanepool_i_lane_numbers_init(lanepool_i_lane_numbers *numbers,
                                  const lanepool_journal_options *options, lanepool_pool *pool);
/* The record is the journal's. */
void lanepool_i_lane_numbers_fini(lanepool_i_lane_numbers *numbers, lanepool_pool *pool,
                                  lanepool_i_thread_record *record);
/* Fills copy->numbers for the next entry. O(claims) expected. */
void lanepool_i_lane_numbers_give(lanepool_i_lane_numbers *numbers,
                                  lanepool_i_thread_record *record, lanepool_i_claims_copy *copy);
/* The same for one claim, which is an entry of its own. */
void lanepool_i_lane_numbers_give_one(lanepool_i_lane_numbers *numbers,
                                      lanepool_i_thread_record *record,
                                      lanepool_i_claims_copy *copy, size_t i);

#endif
