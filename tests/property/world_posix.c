#include "property/world.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "support/memory.h"

enum { REST_NS = 200000 };

struct thread {
    void (*main)(void *argument);
    void *argument;
    pthread_barrier_t *start;
    pthread_t id;
};

static void *thread_main(void *argument)
{
    const struct thread *thread = argument;

    pthread_barrier_wait(thread->start);
    thread->main(thread->argument);
    return NULL;
}

void world_run_threads(void (*main)(void *argument), void *const *arguments, uint32_t count)
{
    struct thread *threads = memory_get(count, sizeof *threads);
    pthread_barrier_t start;

    pthread_barrier_init(&start, NULL, count);
    for (uint32_t i = 0; i < count; i++) {
        threads[i] = (struct thread){ .main = main, .argument = arguments[i], .start = &start };
        if (pthread_create(&threads[i].id, NULL, thread_main, &threads[i])) {
            fprintf(stderr, "the test cannot create its threads\n");
            exit(EXIT_FAILURE);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        pthread_join(threads[i].id, NULL);
    }
    pthread_barrier_destroy(&start);
    free(threads);
}

void world_pass(uint64_t ns)
{
    for (volatile uint64_t i = 0; i < ns; i = i + 1) {
    }
}

void world_sleep(uint64_t ns)
{
    struct timespec time = { .tv_sec = (time_t)(ns / 1000000000u),
                             .tv_nsec = (long)(ns % 1000000000u) };

    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

void world_rest(uint64_t ns)
{
    world_sleep(ns > REST_NS ? ns : REST_NS);
}

uint64_t world_now(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

bool world_is_strict(void)
{
    return false;
}

void world_show_all(void)
{
}

bool world_waits_again(void)
{
    return false;
}

uint64_t world_thread(void)
{
    return (uint64_t)pthread_self();
}

bool world_thread_is_named(const char *name)
{
#ifdef __linux__
    char found[16] = "";

    return prctl(PR_GET_NAME, found) != 0 || strcmp(found, name) == 0;
#else
    (void)name;
    return true;
#endif
}

void *world_memory_get(size_t size, size_t alignment)
{
    return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

void world_memory_put(void *memory, size_t size)
{
    (void)size;
    free(memory);
}

bool world_has_refused(void)
{
    return false;
}

void world_stop_refusing(void)
{
}
