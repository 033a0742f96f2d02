/*
 * The bytes of tasks that travel between machines. Numbers have their lowest byte first.
 *
 * A payload is the number of the task. The state of a lane has the number of its last task, and the
 * balances of the client's cells; for each step with a tally, the tallies of these cells follow.
 * Before the first task a state has no bytes.
 *
 * An effect has the number of the task and its outcome. Then there are:
 *   POSTED            the balance after each posting
 *   REFUSED, ROLLUP   the entries
 *   NONE              a text: why the task has failed
 */
#ifndef LEDGERBATCH_REMOTE_WIRE_H
#define LEDGERBATCH_REMOTE_WIRE_H

#include "base/buffer.h"
#include "batch/batch.h"

/* Bytes that are read. At their end, or after it, numbers are 0. */
struct wire {
    const unsigned char *at;
    size_t left;
    bool is_damaged; /* too few bytes, or a number that cannot be */
};

void wire_put(struct buffer *buffer, uint64_t number, unsigned size);
uint64_t wire_get(struct wire *wire, unsigned size);

/* Writes the state of a lane after a task; and sets the cells of a client to a state. */
void wire_put_state(struct buffer *buffer, const struct batch *batch, uint32_t lane, uint32_t seq);
void wire_get_state(struct wire wire, struct batch *batch, uint32_t lane, uint32_t *seq);

/* Writes the effect of a task that has an outcome; and takes one. */
void wire_put_effect(struct buffer *buffer, const struct batch *batch, const struct task *task);
bool wire_get_effect(struct wire *wire, struct batch *batch, struct task *task);

#endif
