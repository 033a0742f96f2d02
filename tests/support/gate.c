#include "support/gate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Only a guard against waiting for ever: no test depends on how long something takes. */
enum { GUARD_SECONDS = 60 };

static void must(int result, const char *what)
{
    if (result != 0) {
        perror(what);
        abort();
    }
}

void gate_init(struct gate *gate)
{
    must(sem_init(&gate->arrivals, 0, 0), "sem_init");
    must(sem_init(&gate->passes, 0, 0), "sem_init");
}

void gate_fini(struct gate *gate)
{
    must(sem_destroy(&gate->arrivals), "sem_destroy");
    must(sem_destroy(&gate->passes), "sem_destroy");
}

void gate_arrive(struct gate *gate)
{
    must(sem_post(&gate->arrivals), "sem_post");
}

void gate_pass(struct gate *gate)
{
    gate_arrive(gate);
    while (sem_wait(&gate->passes) != 0) {
        if (errno != EINTR) {
            must(-1, "sem_wait");
        }
    }
}

bool gate_await(struct gate *gate, unsigned count)
{
    struct timespec deadline;

    must(clock_gettime(CLOCK_REALTIME, &deadline), "clock_gettime");
    deadline.tv_sec += GUARD_SECONDS;
    while (count > 0) {
        if (sem_timedwait(&gate->arrivals, &deadline) == 0) {
            count--;
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

bool gate_has_arrival(struct gate *gate)
{
    return sem_trywait(&gate->arrivals) == 0;
}

void gate_open(struct gate *gate, unsigned count)
{
    while (count-- > 0) {
        must(sem_post(&gate->passes), "sem_post");
    }
}
