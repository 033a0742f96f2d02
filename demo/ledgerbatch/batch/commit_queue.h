/*
 * The commit queue: effects that tasks append and the committer takes.
 *
 * A task appends its effect as its last act, before its lanes are released. So every prefix of the
 * queue is consistent: with the effect of a task, it has the effects of all tasks that the task had
 * to wait for.
 */
#ifndef LEDGERBATCH_BATCH_COMMIT_QUEUE_H
#define LEDGERBATCH_BATCH_COMMIT_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/plan.h"

/* The part of an effect that concerns one cell. */
struct effect_entry {
    uint32_t cell;
    uint32_t number; /* of a posting: its number among all possible postings of the whole rollup */
    int64_t amount;  /* the amount of the posting; 0 in a statement */
    int64_t balance; /* after the posting */
};

struct effect_entries {
    struct lane_list missing; /* clients that a rollup was done without */
    size_t count;
    struct effect_entry items[];
};

enum effect_outcome {
    EFFECT_POSTED,   /* a transaction of the input; its balances are in batch->after */
    EFFECT_REFUSED,  /* a transaction; the first entry is the cell that would be overdrawn, and
                        each other one a client with its first deferred task */
    EFFECT_ROLLUP,   /* a rollup; the entries are closing balances, or generated postings */
    EFFECT_DEFERRED, /* a transaction; the entry is the client and the task it is held since */
    EFFECT_FAILED    /* a rollup has failed because clients are missing; it is run late */
};

struct effect {
    const struct task *task;
    uint8_t outcome;
    struct effect_entries *entries; /* NULL: none */
};

/* Frees the entries of an effect. The thread that takes an effect calls this. */
void effect_fini(struct effect *effect);

struct effect_list {
    struct effect *items;
    size_t count, capacity;
};

struct commit_queue {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct effect_list waiting; /* the mutex guards this and the next three */
    bool closed;                /* no task appends any more */
    bool stopped;               /* the committer has ended after a problem */
    bool wanted;                /* the committer sleeps until there are `enough` effects */
    size_t enough;
};

bool commit_queue_init(struct commit_queue *queue, size_t enough);
void commit_queue_fini(struct commit_queue *queue);

/* Appends an effect; drops it if the queue is stopped. Any thread may call this. */
void commit_queue_append(struct commit_queue *queue, struct effect effect);

/* The caller promises that no task appends any more. */
void commit_queue_close(struct commit_queue *queue);

/* Drops all effects, now and later. The committer calls this when it ends after a problem. */
void commit_queue_stop(struct commit_queue *queue);
bool commit_queue_is_stopped(struct commit_queue *queue);

/*
 * Takes all effects; the committer calls this. Sleeps until there are `enough` effects, until
 * wait_max_ns has passed and there is at least one, or until the queue is closed. `taken` is
 * emptied first. Returns false if the queue is closed and empty.
 */
bool commit_queue_take(struct commit_queue *queue, struct effect_list *taken, uint64_t wait_max_ns);

#endif
