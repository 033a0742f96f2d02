/*
 * A gate stops task bodies at a known point until the test lets them pass. So a test can put the
 * pool into one exact state without sleeping.
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

/* Called in a body: records its arrival, then waits until the test lets it pass. */
void gate_pass(struct gate *gate);

/* Records an arrival without waiting, for a body or for any other event. */
void gate_arrive(struct gate *gate);

/* Waits for `count` arrivals. Returns false if they do not occur in time; then the test has
 * failed. */
bool gate_await(struct gate *gate, unsigned count);

/* Takes an arrival if there is one. Returns false if there is none. */
bool gate_has_arrival(struct gate *gate);

/* Lets `count` bodies pass, now or later. */
void gate_open(struct gate *gate, unsigned count);

#endif
