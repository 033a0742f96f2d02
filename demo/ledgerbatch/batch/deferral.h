/*
 * Deferring: --on-failure defer. A transaction that fails is skipped, and the client that it failed
 * for is held. Each later transaction of a held client is skipped at its place, too. All others
 * are posted. Skipped transactions are posted at a retry.
 *
 * No lane waits. Only transactions that claim a client access its entries here, so the result is
 * that of a serial run.
 */
#ifndef LEDGERBATCH_BATCH_DEFERRAL_H
#define LEDGERBATCH_BATCH_DEFERRAL_H

#include "plan/plan.h"

struct batch;

struct deferral {
    bool is_used;
    uint32_t *held_since; /* by lane: the deferred task that its client is held since; 0: none */
    uint32_t *first_seqs; /* by lane: its first deferred task; 0: none */
};

void deferral_init(struct deferral *deferral, const struct plan *plan, bool is_used);
void deferral_fini(struct deferral *deferral);

/*
 * Notes a deferred transaction of an earlier run. From then on transactions are deferred, as in
 * that run. Called in the order of seq, before any task.
 */
void deferral_restore(struct deferral *deferral, const struct plan *plan, const struct task *task,
                      uint32_t lane, uint32_t root_seq);

/* Does the same for a deferred transaction of an earlier batch, in two steps: for the client that
 * it waits for (or NO_INDEX), and for each of its clients. */
void deferral_hold(struct deferral *deferral, uint32_t lane, uint32_t root_seq);
void deferral_note(struct deferral *deferral, uint32_t lane, uint32_t seq);

/* Defers a transaction of a held client. Returns false if there is none: then it must run. */
bool deferral_skip(struct batch *batch, struct task *task);

/* Adds the first deferred task of each client of a transaction, if there is one, to its effect. */
void deferral_add_earlier(struct batch *batch, struct task *task);

/* Defers a transaction that has failed, and holds the client that it failed for. */
void deferral_fail(struct batch *batch, struct task *task);

#endif
