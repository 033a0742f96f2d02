/* A second check of a run under claims: an OpenMP implementation orders the same tasks by the same
 * claims. */
#ifndef TESTS_PROPERTY_OPENMP_REPLAY_H
#define TESTS_PROPERTY_OPENMP_REPLAY_H

#include "property/oracle.h"

/*
 * Runs the tasks that ran once more as OpenMP tasks on `threads` threads, in the order of their
 * tickets. An exclusive or commuting claim becomes `depend(inout)`, a shared one `depend(in)`.
 * Returns true if every task read the same values, and every key has the same history, as on the
 * pool.
 */
bool openmp_replay_agrees(const struct oracle_log *log, const struct workload *workload,
                          int threads);

#endif
