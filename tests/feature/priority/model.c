/* The order of ready tasks in a pool with priorities, compared with a plain list that is
 * searched. */
#include <stdlib.h>
#include <string.h>

#include "feature/priority/priority_queue.h"
#include "lanepool/lanepool.h"
#include "support/random.h"
#include "support/test.h"

enum { TASKS = 24, ROUNDS = 2000, STEPS = 200, AGE = 10 };

/* A block with its rank behind it, and its state in the plain list. */
struct entry {
    _Alignas(64) lanepool_i_task task;
    lanepool_i_rank rank;
    bool ready;
    uint32_t level;
    uint32_t standing;
    uint64_t since;
    uint64_t arrival; /* orders the entries of one standing */
};

struct round {
    lanepool_i_priority_queue levels;
    struct entry entries[TASKS];
    uint64_t arrivals;
    uint64_t now;
    uint64_t random;
};

static void arrive(struct round *round, struct entry *entry, uint32_t standing)
{
    entry->standing = standing;
    entry->since = round->now;
    entry->arrival = ++round->arrivals;
}

static void begin(struct round *round, struct entry *entry)
{
    uint32_t priority = random_below(&round->random, LANEPOOL_PRIORITY_MAX + 1);

    memset(entry, 0, sizeof *entry);
    lanepool_i_rank_init(&entry->rank, priority, false);
    entry->level = priority;
}

static void add(struct round *round, struct entry *entry)
{
    lanepool_i_priority_queue_add(&round->levels, &entry->rank, round->now);
    entry->ready = true;
    arrive(round, entry, entry->level);
}

static void raise_level(struct round *round, struct entry *entry, uint32_t level)
{
    lanepool_i_priority_queue_raise(&round->levels, &entry->rank, (uint8_t)level, round->now);
    entry->level = level;
    if (entry->ready && entry->standing < level) {
        arrive(round, entry, level);
    }
}

static bool comes_before(const struct entry *a, const struct entry *b)
{
    return a->standing != b->standing ? a->standing > b->standing : a->arrival < b->arrival;
}

/* Lets tasks rise that have waited for long, in their order. Starts at the highest level, so that
 * each rises by one level only. */
static void let_rise(struct round *round)
{
    for (uint32_t standing = LANEPOOL_PRIORITY_MAX; standing-- > 0;) {
        for (;;) {
            struct entry *first = NULL;
            for (size_t i = 0; i < TASKS; i++) {
                struct entry *entry = &round->entries[i];
                if (entry->ready && entry->standing == standing &&
                    round->now - entry->since >= round->levels.age_ns &&
                    (first == NULL || entry->arrival < first->arrival)) {
                    first = entry;
                }
            }
            if (first == NULL) {
                break;
            }
            arrive(round, first, standing + 1);
        }
    }
}

static struct entry *take(struct round *round)
{
    struct entry *first = NULL;

    if (round->levels.age_ns != LANEPOOL_FOREVER) {
        let_rise(round);
    }
    for (size_t i = 0; i < TASKS; i++) {
        struct entry *entry = &round->entries[i];
        if (entry->ready && (first == NULL || comes_before(entry, first))) {
            first = entry;
        }
    }
    expect(lanepool_i_priority_queue_take(&round->levels, round->now, 0) ==
           (first != NULL ? &first->task : NULL));
    if (first != NULL) {
        first->ready = false;
    }
    return first;
}

static void step(struct round *round)
{
    struct entry *entry = &round->entries[random_below(&round->random, TASKS)];
    uint32_t higher = entry->level + 1 + random_below(&round->random, 3);

    round->now += random_below(&round->random, AGE / 2);
    switch (random_below(&round->random, 3)) {
    case 0:
        if (!entry->ready) {
            begin(round, entry);
            add(round, entry);
        }
        break;
    case 1:
        if (higher <= LANEPOOL_PRIORITY_MAX) {
            raise_level(round, entry, higher);
        }
        break;
    default:
        (void)take(round);
        break;
    }
}

static void play(uint64_t seed, uint64_t age_ns)
{
    struct round *round = calloc(1, sizeof *round);

    expect(round != NULL);
    round->random = seed;
    round->now = 1;
    round->levels.age_ns = age_ns;
    for (size_t i = 0; i < TASKS; i++) {
        begin(round, &round->entries[i]);
    }
    for (int i = 0; i < STEPS; i++) {
        step(round);
    }
    while (take(round) != NULL) {
        continue;
    }
    expect_eq(round->levels.count, 0);
    free(round);
}

Test(priority, the_order_is_that_of_a_plain_list)
{
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        play(seed, seed % 2 == 0 ? AGE : LANEPOOL_FOREVER);
    }
}

/* A thread that waits inside a task takes all tasks out, and puts the rest back. */
Test(priority, a_task_that_is_put_back_keeps_how_high_it_had_risen)
{
    lanepool_i_priority_queue levels = { .age_ns = AGE };
    struct entry low, high;

    lanepool_i_rank_init(&low.rank, 0, false);
    lanepool_i_rank_init(&high.rank, 1, false);
    lanepool_i_priority_queue_add(&levels, &low.rank, 1);
    expect(lanepool_i_priority_queue_take(&levels, 1 + AGE, 0) == &low.task);
    lanepool_i_priority_queue_add(&levels, &low.rank, 1 + AGE);
    lanepool_i_priority_queue_add(&levels, &high.rank, 1 + AGE);
    expect(lanepool_i_priority_queue_take(&levels, 1 + AGE, 0) == &low.task);
    expect(lanepool_i_priority_queue_take(&levels, 1 + AGE, 0) == &high.task);
    expect(lanepool_i_priority_queue_take(&levels, 1 + AGE, 0) == NULL);
}
