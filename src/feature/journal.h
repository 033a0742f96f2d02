/*
 * The journal: entries of ended tasks, in an order that respects conflicts, for the program to
 * store.
 *
 * A worker appends a task when its function has returned for the last time, before the task's lanes
 * are released. So a conflicting later task, which starts after the release, is appended later. The
 * queue's order is the order of the numbers. The journal's thread takes all that is in the queue,
 * and gives it to the program in batches.
 *
 * The queue links tasks through their rooms, as the inbox links them through `next`. An append has
 * two steps: an exchange moves `tail` and fixes the position; a store makes the link, or the `head`
 * if the queue was empty. The journal's thread waits for a missing link: its appender needs a few
 * instructions more. Appends are wait-free.
 *
 * No wake-up is lost. The appender that finds the queue empty moves `tail`, then reads `sleeps`.
 * The journal's thread sets `sleeps`, then reads `tail`. Both in the total order, so one of them
 * sees the other.
 *
 * The block of an appended task has two users: the one that ends the task, which still releases its
 * lanes; and the journal's thread. Each says when it is done, and the second one disposes of the
 * task. So the task counts as pending until it is written. Under rules that reap, the first user is
 * the role's holder that reaps the task.
 *
 *     room's state:  0 --append--> ENTRY --one user--> ENTRY, DONE --the other--> disposed of
 *
 * A task that releases a lane early appends a block that stands for this part of it. It has only
 * one user, the journal's thread, and is no task to anybody else.
 *
 * A visit of a cut appends its part, a block within the cut's block, before its lane goes on. The
 * cut's own entry is behind all its parts, so the cut's block stays until they are written. Lanes
 * that the cut keeps get their parts when it ends.
 *
 * A task that was not called, or is the library's own, has no entry. Its ticket is settled when the
 * block is disposed of, or kept for another run. A receiver without an entry is appended as a note:
 * its ticket is settled behind the giver's entry.
 *
 *     room's state:  RECEIVER --append--> NOTE --journal's thread--> disposed of
 *
 * In a pool without threads, a step does the work of the journal's thread.
 */
#ifndef LANEPOOL_SRC_FEATURE_JOURNAL_H
#define LANEPOOL_SRC_FEATURE_JOURNAL_H

#include "feature/lane_numbers.h"
#include "feature/watermark.h"

/* Bits of a room's state. The status of the task is above. */
#define LANEPOOL_I_JOURNAL_ENTRY        ((uint32_t)1)   /* it was appended */
#define LANEPOOL_I_JOURNAL_DONE         ((uint32_t)2)   /* one of its users is done */
#define LANEPOOL_I_JOURNAL_GOES_ON      ((uint32_t)4)   /* an entry with this ticket follows */
#define LANEPOOL_I_JOURNAL_RELEASED     ((uint32_t)8)   /* of a block that stands for a lane only */
#define LANEPOOL_I_JOURNAL_RECEIVER     ((uint32_t)16)  /* another entry may have its ticket */
#define LANEPOOL_I_JOURNAL_NOTE         ((uint32_t)32)  /* in the queue, without an entry */
#define LANEPOOL_I_JOURNAL_SILENT       ((uint32_t)64)  /* its release callback is not called */
#define LANEPOOL_I_JOURNAL_VISIT        ((uint32_t)128) /* of a cut's part */
#define LANEPOOL_I_JOURNAL_STATUS_SHIFT 8

/* In a task's block. Guards: A atomic, W the thread that runs or ends the task, until the append; I
 * until the task is disposed of. */
typedef struct lanepool_i_journal_room {
    _Atomic(lanepool_i_task *) next; /* A: the next task in the queue */
    void *record;                    /* W */
    void *value;                     /* W: the result's; of a part, its claim's number */
    int code;                        /* W: the result's */
    _Atomic uint32_t state;          /* A */
    lanepool_i_claims_copy *claims;  /* I: with lane numbers, else NULL; a receiver's: W */
} lanepool_i_journal_room;

/* Guards: I immutable, A atomic, J the journal's thread, L the lock. */
typedef struct lanepool_i_journal {
    lanepool_journal_options options; /* I: with every default filled in */
    lanepool_pool *pool;              /* I */
    lanepool_i_thread_record *record; /* I: of the journal's thread */
    lanepool_i_thread thread;         /* I once started */
    bool is_started;                  /* of the threads that create and join the pool */
    lanepool_i_semaphore semaphore;   /* posted by whoever clears `sleeps` */
    lanepool_i_mutex lock;
    lanepool_i_watermark watermark; /* L */
    lanepool_journal_state state;   /* L */
    bool has_failed;                /* J */
    uint64_t next_number;           /* J */
    size_t count;                   /* J: entries that are not written yet */
    uint64_t batch;                 /* J: the number of the batch that they are in, from 1 */
    lanepool_i_lane_numbers lanes;  /* J */

    _Alignas(LANEPOOL_I_CACHE_LINE) _Atomic(lanepool_i_task *) tail; /* A: the newest, or NULL */
    _Alignas(LANEPOOL_I_CACHE_LINE) _Atomic(lanepool_i_task *) head; /* A: the oldest not taken */
    _Atomic uint32_t sleeps; /* A: the journal's thread waits for the first append, or the end */
    _Atomic uint32_t busy;   /* A: it has taken entries, and they are not all written */
    _Atomic uint32_t ends;   /* A: nothing more is appended */

    lanepool_i_task **tasks;          /* J: the tasks of the entries */
    lanepool_journal_entry entries[]; /* J: room for `batch_max` */
} lanepool_i_journal;

/* Reads the options. Returns false if they are invalid. */
bool lanepool_i_journal_read_options(const lanepool_journal_options *given,
                                     lanepool_journal_options *options);
/* Makes the journal that the pool's options ask for, if any. Returns false if memory, a lock or a
 * semaphore cannot be allocated; `fini` may then be called. */
bool lanepool_i_journal_init(lanepool_pool *pool);
void lanepool_i_journal_fini(lanepool_pool *pool);
/* Starts the journal's thread, if the pool has a journal and threads. Returns false if the system
 * refuses one. */
bool lanepool_i_journal_start(lanepool_pool *pool);
/* Ends the journal's thread, when nothing is appended any more, and waits for it. */
void lanepool_i_journal_join(lanepool_pool *pool);
/* Returns true if all that was appended is written. */
bool lanepool_i_journal_is_drained(const lanepool_pool *pool);
/* Returns true if the task has ended, and its entry is not written. The block must be the task's.
 */
bool lanepool_i_journal_has(const lanepool_pool *pool, lanepool_i_task *task);
/* Returns the answer of a call that has waited for the pool's tasks: UNWRITTEN if a write has
 * failed, else OK. */
lanepool_status lanepool_i_journal_answer(lanepool_pool *pool);
/* In a pool without threads: writes all that was appended. Returns false if there was nothing. */
bool lanepool_i_journal_step(lanepool_pool *pool);

/* The memory for a part. It is on the stack of the call that releases the lane. */
typedef struct lanepool_i_journal_part {
    lanepool_i_task *block;            /* NULL: no journal, or it was appended */
    lanepool_i_claims_copy *of_others; /* what the task is to have; once it has that: what it had */
} lanepool_i_journal_part;

/* Before the release: reserves what it needs. Returns false if memory cannot be allocated. */
bool lanepool_i_journal_begin_release(lanepool_pool *pool, lanepool_i_thread_record *record,
                                      lanepool_i_task *task, lanepool_key key,
                                      lanepool_i_journal_part *part);
/* After the release, or instead of it. */
void lanepool_i_journal_end_release(lanepool_pool *pool, lanepool_i_thread_record *record,
                                    const lanepool_i_journal_part *part);
/* The block of a periodic task is refilled for its next run. */
void lanepool_i_journal_next_run(lanepool_pool *pool, lanepool_i_thread_record *record,
                                 lanepool_i_task *task);
/* Gives back what a task has that was never routed. */
void lanepool_i_journal_drop(lanepool_pool *pool, lanepool_i_thread_record *record,
                             lanepool_i_task *task);

#endif
