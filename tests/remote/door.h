/*
 * Where the store and the programs of a batch run: on the simulated platform, or on real threads.
 */
#ifndef TESTS_REMOTE_DOOR_H
#define TESTS_REMOTE_DOOR_H

#include <stdint.h>

struct door_thread;

/* One call of a store runs at a time, except while it yields or sleeps. */
void door_enter(void);
void door_leave(void);
/* Lets others run. Inside a call, other calls may run meanwhile. */
void door_yield(void);
void door_sleep(uint64_t ns);
__attribute__((noreturn, format(printf, 1, 2))) void door_fail(const char *format, ...);

struct door_thread *door_start(void *(*main)(void *), void *argument);
void door_join(struct door_thread *thread);

#endif
