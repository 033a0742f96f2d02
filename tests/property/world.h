/*
 * What a workload needs of the place where it runs: threads, and time that passes. There is one
 * on the operating system and one on the simulator; the property that is checked is the same.
 */
#ifndef TESTS_PROPERTY_WORLD_H
#define TESTS_PROPERTY_WORLD_H

#include <stdbool.h>
#include <stdint.h>

/* Calls main(arguments[i]) on a thread of its own for each i; returns when all have returned. */
void world_run_threads(void (*main)(void *argument), void *const *arguments, uint32_t count);

/* The body of a task takes so long: a sleep in virtual time; elsewhere about so many rounds of a
 * loop. */
void world_pass(uint64_t ns);

/* Sleeps for so long. */
void world_sleep(uint64_t ns);
/* The same, for who looks again and again whether something has happened: where threads are real it
 * is long enough for others to go on. */
void world_rest(uint64_t ns);

/* The moment, by the clock that delays are measured with. */
uint64_t world_now(void);

/* Whether time passes only when no thread can go on, and what is stored is seen at once. */
bool world_is_strict(void);

/* A number that only the calling thread has, among those that live. */
uint64_t world_thread(void);

/* Whether something that the platform should give has been refused on purpose. */
bool world_has_refused(void);
/* From now on everything is given. */
void world_stop_refusing(void);

#endif
