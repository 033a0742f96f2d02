/*
 * The commit queue: effect records on their way from tasks to the committer.
 *
 * A task appends its effect record as its last act, before its lanes are
 * released. So every prefix of the queue is a consistent cut: with a task's
 * effects it holds those of all tasks that it had to wait for.
 */
#ifndef LEDGERBATCH_BATCH_COMMIT_QUEUE_H
#define LEDGERBATCH_BATCH_COMMIT_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/plan.h"

/* One cell's part in an effect. */
struct effect_entry {
    uint32_t cell;
    uint32_t number; /* of a posting: its place among all that the whole rollup could have */
    int64_t amount;  /* what is posted; 0 in a statement */
    int64_t balance; /* after it */
};

struct effect_entries {
    struct lane_list missing; /* clients that a rollup has gone without */
    size_t count;
    struct effect_entry items[];
};

enum effect_outcome {
    EFFECT_POSTED,  /* a transaction of the input: its balances stand in the batch's table */
    EFFECT_REFUSED, /* entries: the cell that would have been overdrawn */
    EFFECT_ROLLUP,  /* entries: what a statement saw, or what was generated */
    EFFECT_FAILED   /* a rollup, because of the clients that are missing: it is done late */
};

struct effect {
    const struct task *task;
    uint8_t outcome;
    struct effect_entries *entries; /* NULL: none */
};

/* The receiver of an effect frees what it has. */
void effect_fini(struct effect *effect);

struct effect_list {
    struct effect *items;
    size_t count, capacity;
};

struct commit_queue {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct effect_list waiting; /* guarded by mutex, as are the next three */
    bool closed;                /* nothing more will come */
    bool stopped;               /* the committer has given up */
    bool wanted;                /* the committer sleeps until `enough` have come */
    size_t enough;
};

bool commit_queue_init(struct commit_queue *queue, size_t enough);
void commit_queue_fini(struct commit_queue *queue);

/* Any thread. When the queue has stopped the effect is dropped: it was never committed. */
void commit_queue_append(struct commit_queue *queue, struct effect effect);

/* No task will append any more. */
void commit_queue_close(struct commit_queue *queue);

/* The committer gives up: what is appended from now on is dropped. */
void commit_queue_stop(struct commit_queue *queue);
bool commit_queue_is_stopped(struct commit_queue *queue);

/*
 * The committer takes everything that waits: it sleeps until `enough` effects
 * are there, wait_ns_max has passed or the queue is closed. `taken` is emptied
 * first. Returns false when the queue is closed and empty.
 */
bool commit_queue_take(struct commit_queue *queue, struct effect_list *taken, uint64_t wait_ns_max);

#endif
