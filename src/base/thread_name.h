/* The names of a pool's threads, as the system shows them: "ledger/0", "ledger/clock". */
#ifndef LANEPOOL_SRC_BASE_THREAD_NAME_H
#define LANEPOOL_SRC_BASE_THREAD_NAME_H

#include "platform/platform.h"

/* Copies as much of a pool's name as a thread's name can hold. NULL counts as empty. */
void lanepool_i_thread_name_copy(char copy[LANEPOOL_I_THREAD_NAME_SIZE], const char *name);

/* Name the calling thread, a worker, the clock thread, the keeper or the journal's thread, after a
 * pool. If both parts do not fit, the pool's name is cut between UTF-8 characters. With an empty
 * pool name, the thread's name does not change. */
void lanepool_i_thread_name_worker(const char *pool_name, unsigned index);
void lanepool_i_thread_name_clock(const char *pool_name);
void lanepool_i_thread_name_keeper(const char *pool_name);
void lanepool_i_thread_name_journal(const char *pool_name);

#endif
