/* A second opinion on a run under claims: OpenMP tasks, which an implementation of others orders
 * by the same claims. */
#ifndef TESTS_PROPERTY_OPENMP_REPLAY_H
#define TESTS_PROPERTY_OPENMP_REPLAY_H

#include "property/oracle.h"

/*
 * Runs the tasks that ran again, in the order of their tickets, as OpenMP tasks on so many threads:
 * an exclusive claim is `depend(inout)`, a shared one `depend(in)`. True: every task saw the same,
 * and every key has the same history, as on the pool.
 */
bool openmp_replay_agrees(const struct oracle_log *log, const struct workload *workload,
                          int threads);

#endif
