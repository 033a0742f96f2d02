/*
 * A bound on the work that an input makes, without a clock: the compiler calls in at every basic
 * block of the code under test (-fsanitize-coverage=trace-pc), and there the steps are counted.
 * What takes more steps than its size allows ends the program.
 */
#ifndef TESTS_FUZZ_STEPS_H
#define TESTS_FUZZ_STEPS_H

#include <stddef.h>
#include <stdint.h>

/* What a reader may take: for nothing at all, and for each byte that it reads. */
#define STEPS_BASE   20000
#define STEPS_A_BYTE 100

/* Begins to count; `size` is named in the message. */
void steps_begin(uint64_t steps_max, size_t size);

/* Allows so many steps more. */
void steps_allow(uint64_t steps);

/* Stops counting; the steps since steps_begin(). */
uint64_t steps_end(void);

#endif
