/* Facts that the operating system knows about the running test. */
#ifndef TESTS_SUPPORT_PROCESS_H
#define TESTS_SUPPORT_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the number of this process's threads. */
size_t process_thread_count(void);

/*
 * Waits until the process has exactly `count` threads. Returns false if that takes too long. The
 * system removes a thread from its list shortly after the join has returned.
 */
bool process_has_threads(size_t count);

/* Returns the calling thread's number, for process_thread_sleeps(). */
long process_thread_self(void);

/*
 * Waits until the thread sleeps in the kernel. Returns false if that takes too long. If the thread
 * is inside one call of the library, the call has blocked.
 */
bool process_thread_sleeps(long thread);

/* Waits until all threads except the calling one sleep. Returns false if that takes too long. */
bool process_other_threads_sleep(void);

/* Returns the number of CPUs that this process may use. */
size_t process_cpu_count(void);

/* Returns the number of open file descriptors. */
size_t process_descriptor_count(void);

/* Returns the resident memory of this process; 0 if the system does not report it. */
unsigned long long process_resident_bytes(void);

/*
 * Runs the body in a child process. Returns the status from waitpid(), or -1 if the child did not
 * end in time and was killed. A body that returns ends the child with status 0, without atexit()
 * handlers. The parent must check the results: the body writes them into memory that it shares with
 * the parent.
 */
int process_run_apart(void (*body)(void *context), void *context);

/* Returns zeroed memory that a child of process_run_apart() shares with its parent; never NULL. */
void *process_shared_memory(size_t size);
void process_shared_memory_free(void *memory, size_t size);

/* Sanitizers need additional memory, stack and time, so that some measured sizes mean nothing. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { PROCESS_IS_SANITIZED = 1 };
#else
enum { PROCESS_IS_SANITIZED = 0 };
#endif

/* The number of threads when all others have ended; ThreadSanitizer has one of its own. */
#if defined(__SANITIZE_THREAD__)
enum { PROCESS_THREADS_AT_REST = 2 };
#else
enum { PROCESS_THREADS_AT_REST = 1 };
#endif

#endif
