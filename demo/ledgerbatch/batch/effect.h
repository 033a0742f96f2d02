/*
 * Effects: the results of tasks, which the committer writes. A task that has done its work has an
 * outcome, and an effect if there is more to say.
 *
 * The effect belongs to the task. The committer drops it when it has written it. After a failed
 * commit some tasks still have theirs: these are dropped with the tasks.
 */
#ifndef LEDGERBATCH_BATCH_EFFECT_H
#define LEDGERBATCH_BATCH_EFFECT_H

#include "base/buffer.h"
#include "plan/plan.h"

/* The part of an effect that concerns one cell. */
struct effect_entry {
    uint32_t cell;
    uint32_t number; /* of a posting: its number among all possible postings of the whole rollup */
    int64_t amount;  /* the amount of the posting; 0 in a statement */
    int64_t balance; /* after the posting; of a house account: 0 */
};

enum outcome {
    OUTCOME_NONE,     /* the task has not run, has failed, or is held */
    OUTCOME_POSTED,   /* a transaction of the input; its balances are in batch->after */
    OUTCOME_REFUSED,  /* a transaction; the first entry is the cell that would be overdrawn, and
                         each other one a client with its first deferred task; of one that
                         an operator skips, there are none */
    OUTCOME_ROLLUP,   /* a rollup; the entries are closing balances, or generated postings */
    OUTCOME_DEFERRED, /* a transaction; the entry is the client and the task it is held since */
    OUTCOME_FAILED    /* a rollup has failed because clients are missing; it is run late */
};

struct cut;

struct effect {
    struct cut *cut;            /* of a visit: its cut; else NULL */
    struct lane_list missing;   /* clients that a rollup was done without */
    struct buffer contribution; /* of a visit of a user's step */
    struct buffer report;       /* of a user's step that has called its `group` */
    struct effect_entry *entries;
    size_t count, capacity;
};

/* Returns an effect without entries. */
struct effect *effect_create(void);
void effect_add(struct effect *effect, struct effect_entry entry);
/* Frees an effect; may be NULL. */
void effect_destroy(struct effect *effect);
/* Frees the effects of tasks, where they have one. */
void effect_drop(struct task *tasks, size_t count);

#endif
