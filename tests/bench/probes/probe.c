#include "probe.h"

#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct probe_gate {
    sem_t entered, opened;
    double went_on_ns;
};

struct probe_countdown {
    size_t left;
    double ended_ns;
    sem_t done;
};

struct probe_options probe_options_read(int argc, char **argv)
{
    struct probe_options options = { .scale = 1 };
    for (int i = 1; i < argc; i += 2) {
        char *end = NULL;
        bool is_scale = strcmp(argv[i], "--scale") == 0 && i + 1 < argc;
        options.scale = is_scale ? strtod(argv[i + 1], &end) : 0;
        if (options.scale <= 0 || *end != '\0') {
            fprintf(stderr, "usage: %s [--scale FACTOR]\n", argv[0]);
            exit(2);
        }
    }
    return options;
}

size_t probe_scaled(const struct probe_options *options, size_t count, size_t least)
{
    size_t scaled = (size_t)((double)count * options->scale);
    return scaled > least ? scaled : least;
}

void probe_require(bool happened, const char *what)
{
    if (happened)
        return;
    fprintf(stderr, "probe: failed: %s\n", what);
    exit(1);
}

double probe_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

double probe_clock_ns(void)
{
    double least = 1e9;
    for (int i = 0; i < 10000; i++) {
        double begin = probe_now_ns();
        double took = probe_now_ns() - begin;
        least = took < least ? took : least;
    }
    return least;
}

static int compare_numbers(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

double probe_median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_numbers);
    return values[count / 2];
}

void probe_point(const char *curve, const char *series, double x, double value, const char *unit)
{
    printf("{\"curve\": \"%s\", \"series\": \"%s\", \"x\": %.10g, \"value\": %.6g, "
           "\"unit\": \"%s\"}\n",
           curve, series, x, value, unit);
    fflush(stdout);
}

lanepool_pool *probe_pool_create(const lanepool_options *options)
{
    lanepool_pool *pool;
    probe_require(lanepool_pool_create(options, &pool) == LANEPOOL_OK, "a pool");
    return pool;
}

void probe_pool_destroy(lanepool_pool *pool)
{
    probe_require(lanepool_pool_destroy(pool) == LANEPOOL_OK, "the end of a pool");
}

uint64_t probe_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state * 0x2545f4914f6cdd1du;
}

void *probe_memory(size_t count, size_t size)
{
    char *memory = calloc(count, size);
    probe_require(memory != NULL, "memory");
    for (size_t i = 0; i < count * size; i += 1024)
        *(volatile char *)&memory[i] = 0;
    return memory;
}

static void wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0)
        continue; /* interrupted by a signal */
}

int probe_gate_run(lanepool_run *run, void *context)
{
    struct probe_gate *gate = context;
    (void)run;
    sem_post(&gate->entered);
    wait_for(&gate->opened);
    gate->went_on_ns = probe_now_ns();
    return 0;
}

struct probe_gate *probe_gate_shut(lanepool_pool *pool, uint64_t kind)
{
    struct probe_gate *gate = probe_memory(1, sizeof *gate);
    lanepool_task task = LANEPOOL_TASK_INIT;
    sem_init(&gate->entered, 0, 0);
    sem_init(&gate->opened, 0, 0);
    task.function = probe_gate_run;
    task.context = gate;
    task.kind = kind;
    probe_require(lanepool_pool_submit(pool, &task) == LANEPOOL_OK, "the submit of a gate");
    wait_for(&gate->entered);
    return gate;
}

void probe_gate_open(struct probe_gate *gate)
{
    sem_post(&gate->opened);
}

double probe_gate_gone(struct probe_gate *gate)
{
    double went_on_ns = gate->went_on_ns;
    sem_destroy(&gate->entered);
    sem_destroy(&gate->opened);
    free(gate);
    return went_on_ns;
}

struct probe_countdown *probe_countdown_create(void)
{
    struct probe_countdown *countdown = probe_memory(1, sizeof *countdown);
    sem_init(&countdown->done, 0, 0);
    return countdown;
}

void probe_countdown_destroy(struct probe_countdown *countdown)
{
    sem_destroy(&countdown->done);
    free(countdown);
}

int probe_countdown_run(lanepool_run *run, void *context)
{
    struct probe_countdown *countdown = context;
    (void)run;
    probe_require(countdown->left > 0, "a task is run, once");
    if (--countdown->left > 0)
        return 0;
    countdown->ended_ns = probe_now_ns();
    sem_post(&countdown->done);
    return 0;
}

void probe_countdown_set(struct probe_countdown *countdown, size_t count)
{
    countdown->left = count;
}

double probe_countdown_wait(struct probe_countdown *countdown)
{
    wait_for(&countdown->done);
    return countdown->ended_ns;
}
