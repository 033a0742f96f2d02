/*
 * A gate stops task bodies at a known place until the test lets them through, so that a test can
 * put the pool into one exact state without sleeping.
 */
#ifndef TESTS_SUPPORT_GATE_H
#define TESTS_SUPPORT_GATE_H

#include <semaphore.h>
#include <stdbool.h>

struct gate {
    sem_t arrivals;
    sem_t passes;
};

void gate_init(struct gate *gate);
void gate_fini(struct gate *gate);

/* In a body: says that it has arrived, then waits to be let through. */
void gate_pass(struct gate *gate);

/* Only says that a body has arrived, or that something has happened. */
void gate_arrive(struct gate *gate);

/* Waits for so many arrivals; false when they do not come, which is a failure of the test. */
bool gate_await(struct gate *gate, unsigned count);

/* Whether another arrival is there now; takes it. */
bool gate_has_arrival(struct gate *gate);

/* Lets so many bodies through, now or later. */
void gate_open(struct gate *gate, unsigned count);

#endif
