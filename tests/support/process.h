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

/* Whether all threads but the calling one come to sleep, each for itself. */
bool process_other_threads_sleep(void);

/* The CPUs that this process may use. */
size_t process_cpu_count(void);

/* The file descriptors that are open. */
size_t process_descriptor_count(void);

/* The memory that the system holds for this process; 0 where it does not tell. */
unsigned long long process_resident_bytes(void);

/*
 * Runs the body in a child process and says what waitpid() says about its end, or -1 if the child
 * did not end by itself and was killed. A body that returns ends the child with status 0, without
 * the handlers of atexit(). Expectations belong to the parent: what the body finds out it writes
 * into memory that both of them see.
 */
int process_run_apart(void (*body)(void *context), void *context);

/* Zeroed memory that a child of process_run_apart() shares with its parent; never NULL. */
void *process_shared_memory(size_t size);
void process_shared_memory_free(void *memory, size_t size);

/* Sanitizers need memory, stack and time of their own, so that some sizes say nothing. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { PROCESS_IS_SANITIZED = 1 };
#else
enum { PROCESS_IS_SANITIZED = 0 };
#endif

/* The threads that are left when all others have gone; ThreadSanitizer keeps one for itself. */
#if defined(__SANITIZE_THREAD__)
enum { PROCESS_THREADS_AT_REST = 2 };
#else
enum { PROCESS_THREADS_AT_REST = 1 };
#endif

#endif
