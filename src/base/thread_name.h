/* How a pool's threads are called, for those who look at the process: "ledger/0", "ledger/clock".
 */
#ifndef LANEPOOL_SRC_BASE_THREAD_NAME_H
#define LANEPOOL_SRC_BASE_THREAD_NAME_H

#include "platform/platform.h"

/* A copy of a pool's name, as much of it as a thread's name can hold; NULL counts as empty. */
void lanepool_i_thread_name_copy(char copy[LANEPOOL_I_THREAD_NAME_SIZE], const char *name);

/* Name the calling thread, a worker, the clock or the keeper, after a pool. The pool's name is cut
 * where both do not fit, between characters of UTF-8; with an empty one the thread keeps the name
 * it has. */
void lanepool_i_thread_name_worker(const char *pool_name, unsigned index);
void lanepool_i_thread_name_clock(const char *pool_name);
void lanepool_i_thread_name_keeper(const char *pool_name);

#endif
