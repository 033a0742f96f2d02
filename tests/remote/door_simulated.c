/* The door on the simulated platform: a call runs until it yields. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "platform/platform.h"
#include "remote/door.h"
#include "simulator/simulated.h"
#include "simulator/simulator.h"

struct door_thread {
    lanepool_i_thread thread;
};

void door_enter(void)
{
}

void door_leave(void)
{
}

void door_yield(void)
{
    sim_step(SIM_YIELD, NULL);
}

void door_sleep(uint64_t ns)
{
    sim_sleep(ns);
}

void door_fail(const char *format, ...)
{
    char why[200];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    sim_fail("%s", why);
}

struct door_thread *door_start(void *(*main)(void *), void *argument)
{
    struct door_thread *thread = malloc(sizeof *thread);
    if (thread == NULL || !lanepool_i_thread_start(&thread->thread, 0, main, argument))
        sim_fail("no thread");
    return thread;
}

void door_join(struct door_thread *thread)
{
    lanepool_i_thread_join(&thread->thread);
    free(thread);
}
