/* The door on real threads: a lock for the calls of all stores. */
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "remote/door.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local int is_inside;

struct door_thread {
    pthread_t thread;
};

void door_enter(void)
{
    (void)pthread_mutex_lock(&lock);
    is_inside = 1;
}

void door_leave(void)
{
    is_inside = 0;
    (void)pthread_mutex_unlock(&lock);
}

static void step_aside(long ns)
{
    int was_inside = is_inside;
    if (was_inside)
        door_leave();
    if (ns > 0)
        (void)nanosleep(&(struct timespec){ 0, ns }, NULL);
    else
        (void)sched_yield();
    if (was_inside)
        door_enter();
}

void door_yield(void)
{
    step_aside(0);
}

/* Shorter than a second. */
void door_sleep(uint64_t ns)
{
    step_aside(ns < 999999999 ? (long)ns + 1 : 999999999);
}

void door_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
    (void)fflush(stdout);
    _Exit(EXIT_FAILURE);
}

struct door_thread *door_start(void *(*main)(void *), void *argument)
{
    struct door_thread *thread = malloc(sizeof *thread);
    if (thread == NULL || pthread_create(&thread->thread, NULL, main, argument) != 0)
        door_fail("no thread");
    return thread;
}

void door_join(struct door_thread *thread)
{
    (void)pthread_join(thread->thread, NULL);
    free(thread);
}
