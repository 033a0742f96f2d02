/* What the operating system says about the running test. */
#ifndef TESTS_SUPPORT_PROCESS_H
#define TESTS_SUPPORT_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

/* The threads that this process has now. */
size_t process_thread_count(void);

/*
 * Whether the process comes to have exactly so many threads. It may take a moment: the system
 * takes a thread off its list shortly after the join has returned.
 */
bool process_has_threads(size_t count);

/* The calling thread, for process_thread_sleeps. */
long process_thread_self(void);

/*
 * Whether the thread comes to sleep in the kernel. For a thread that is inside one call of the
 * library this means that the call has blocked.
 */
bool process_thread_sleeps(long thread);

/* The CPUs that this process may use. */
size_t process_cpu_count(void);

#endif
