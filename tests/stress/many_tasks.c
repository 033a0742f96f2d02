/*
 * Millions of tasks on pairs of keys; each checks that it runs in its turn.
 *
 *     many_tasks [--tasks N] [--workers W] [--submitters S] [--seed X]
 *
 * The tasks of a pair follow one pattern of exclusive and shared claims and rollups. So a task
 * knows from its number how many tasks must have run before it on either key. The counters of
 * exclusive tasks are plain: ThreadSanitizer reports two of them at once as a race.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "lanepool/lanepool.h"
#include "stress/arguments.h"
#include "support/memory.h"
#include "support/random.h"
#include "support/tally.h"

enum { PAIR_COUNT = 512, PAIR_BITS = 16, BATCH = 32, PENDING_MAX = 1 << 16 };

enum use { UNUSED, EXCLUSIVE, SHARED };

/* The claims of task number n of a pair on the left and the right key: pattern[n % PATTERN]. */
static const enum use pattern[][2] = { { EXCLUSIVE, UNUSED },    { UNUSED, EXCLUSIVE },
                                       { SHARED, UNUSED },       { SHARED, UNUSED },
                                       { EXCLUSIVE, UNUSED },    { EXCLUSIVE, EXCLUSIVE },
                                       { UNUSED, SHARED },       { SHARED, SHARED },
                                       { UNUSED, SHARED },       { EXCLUSIVE, SHARED },
                                       { UNUSED, EXCLUSIVE },    { EXCLUSIVE, UNUSED },
                                       { EXCLUSIVE, EXCLUSIVE }, { SHARED, EXCLUSIVE },
                                       { UNUSED, EXCLUSIVE },    { EXCLUSIVE, UNUSED } };
enum { PATTERN = sizeof pattern / sizeof pattern[0] };

struct key {
    uint64_t exclusive_done;       /* plain, because the claim guards it */
    _Atomic uint64_t readers_done; /* shared tasks run together */
};

struct pair {
    struct key keys[2];
    uint64_t submitted; /* written by the submitter */
    char own_cache_line[64];
};

struct stress {
    lanepool_pool *pool;
    struct pair pairs[PAIR_COUNT];
    uint64_t exclusive_before[PATTERN + 1][2]; /* within one round of the pattern */
    uint64_t readers_before[PATTERN + 1][2];
    uint64_t task_count;
    uint64_t seed;
    uint32_t submitters;
    _Atomic uint64_t calls;
    _Atomic uint64_t violations;
};

static struct stress stress;

static void count_pattern(void)
{
    for (int side = 0; side < 2; side++) {
        for (int step = 0; step < PATTERN; step++) {
            stress.exclusive_before[step + 1][side] =
                stress.exclusive_before[step][side] + (pattern[step][side] == EXCLUSIVE);
            stress.readers_before[step + 1][side] =
                stress.readers_before[step][side] + (pattern[step][side] == SHARED);
        }
    }
}

/* Returns how many tasks of a use precede number n of a pair on one side. */
static uint64_t before(uint64_t counts[PATTERN + 1][2], uint64_t n, int side)
{
    return n / PATTERN * counts[PATTERN][side] + counts[n % PATTERN][side];
}

static void use_key(struct key *key, enum use use, uint64_t n, int side)
{
    bool in_turn = key->exclusive_done == before(stress.exclusive_before, n, side);

    if (use == EXCLUSIVE) {
        in_turn = in_turn && atomic_load_explicit(&key->readers_done, memory_order_relaxed) ==
                                 before(stress.readers_before, n, side);
        key->exclusive_done++;
    } else {
        atomic_fetch_add_explicit(&key->readers_done, 1, memory_order_relaxed);
    }
    if (!in_turn) {
        atomic_fetch_add_explicit(&stress.violations, 1, memory_order_relaxed);
    }
}

static int body(lanepool_run *run, void *context)
{
    uint64_t code = (uint64_t)(uintptr_t)context;
    struct pair *pair = &stress.pairs[code & ((1u << PAIR_BITS) - 1)];
    uint64_t n = code >> PAIR_BITS;

    (void)run;
    for (int side = 0; side < 2; side++) {
        if (pattern[n % PATTERN][side] != UNUSED) {
            use_key(&pair->keys[side], pattern[n % PATTERN][side], n, side);
        }
    }
    atomic_fetch_add_explicit(&stress.calls, 1, memory_order_relaxed);
    return 0;
}

static lanepool_task next_task(uint32_t index, lanepool_claim claims[2])
{
    uint64_t n = stress.pairs[index].submitted++;
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = body;
    task.context = (void *)(uintptr_t)(n << PAIR_BITS | index);
    task.claims = claims;
    for (int side = 0; side < 2; side++) {
        enum use use = pattern[n % PATTERN][side];

        if (use != UNUSED) {
            claims[task.claim_count++] =
                lanepool_claim_of(lanepool_key_id(2 * (uint64_t)index + (uint64_t)side),
                                  use == SHARED ? LANEPOOL_SHARED : LANEPOOL_EXCLUSIVE);
        }
    }
    return task;
}

/* Submits this thread's share of tasks, always for its own pairs. */
static void *submit_share(void *argument)
{
    uint32_t self = (uint32_t)(uintptr_t)argument;
    uint64_t left = stress.task_count / stress.submitters;
    uint64_t state = stress.seed + self;
    lanepool_task tasks[BATCH] = { LANEPOOL_TASK_INIT };
    lanepool_claim claims[BATCH][2];

    while (left > 0) {
        size_t count = left < BATCH ? (size_t)left : BATCH;

        for (size_t i = 0; i < count; i++) {
            uint32_t draw = random_below(&state, PAIR_COUNT / stress.submitters);

            tasks[i] = next_task(draw * stress.submitters + self, claims[i]);
        }
        if (lanepool_pool_submit_batch(stress.pool, tasks, count, LANEPOOL_FOREVER, NULL)) {
            atomic_fetch_add(&stress.violations, 1);
            break;
        }
        left -= count;
    }
    return NULL;
}

static void run_submitters(void)
{
    pthread_t *threads = memory_get(stress.submitters, sizeof *threads);

    for (uint32_t i = 0; i < stress.submitters; i++) {
        if (pthread_create(&threads[i], NULL, submit_share, (void *)(uintptr_t)i)) {
            fprintf(stderr, "the test cannot create its threads\n");
            exit(EXIT_FAILURE);
        }
    }
    for (uint32_t i = 0; i < stress.submitters; i++) {
        pthread_join(threads[i], NULL);
    }
    free(threads);
}

int main(int argc, char **argv)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    uint64_t wanted;

    stress.task_count = argument_number(argc, argv, "--tasks", 10000000);
    stress.submitters = (uint32_t)argument_number(argc, argv, "--submitters", 2);
    stress.seed = argument_number(argc, argv, "--seed", 1);
    options.workers = (unsigned)argument_number(argc, argv, "--workers", 4);
    options.pending_max = PENDING_MAX;
    if (stress.submitters == 0 || stress.submitters > PAIR_COUNT) {
        fprintf(stderr, "--submitters goes from 1 to %d\n", PAIR_COUNT);
        return EXIT_FAILURE;
    }
    count_pattern();
    if (lanepool_pool_create(&options, &stress.pool)) {
        fprintf(stderr, "no pool with %u workers\n", options.workers);
        return EXIT_FAILURE;
    }
    run_submitters();
    if (lanepool_pool_destroy(stress.pool)) {
        return EXIT_FAILURE;
    }

    wanted = stress.task_count / stress.submitters * stress.submitters;
    printf("%llu of %llu tasks called, %llu out of turn\n", (unsigned long long)stress.calls,
           (unsigned long long)wanted, (unsigned long long)stress.violations);
    tally(stress.calls, "tasks");
    return stress.calls == wanted && stress.violations == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
