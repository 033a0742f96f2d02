#include "workload.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "draw.h"
#include "pace.h"

#define KEYS      1024
#define FEW_KEYS  128
#define CUSTOMERS 10000

static struct bench_zipf zipf;

static void draw_uniform(struct bench_task *task, uint32_t *keys)
{
    task->key_count = 1;
    keys[0] = bench_draw_below(KEYS);
}

static void draw_of_few(struct bench_task *task, uint32_t *keys)
{
    task->key_count = 1;
    keys[0] = bench_draw_below(FEW_KEYS);
}

static void draw_zipf(struct bench_task *task, uint32_t *keys)
{
    if (zipf.sums == NULL)
        bench_zipf_init(&zipf, KEYS, 0.99);
    task->key_count = 1;
    keys[0] = bench_zipf_draw(&zipf) * 643 % KEYS; /* frequent keys are not adjacent */
}

static void draw_some_with(uint32_t several, struct bench_task *task, uint32_t *keys)
{
    task->key_count = bench_draw_below(100) == 0 ? several : 1;
    bench_draw_different(keys, task->key_count, KEYS);
}

static void draw_small_rollups(struct bench_task *task, uint32_t *keys)
{
    draw_some_with(8, task, keys);
}

static void draw_large_rollups(struct bench_task *task, uint32_t *keys)
{
    draw_some_with(256, task, keys);
}

static void draw_pair(struct bench_task *task, uint32_t *keys)
{
    task->key_count = 2;
    bench_draw_different(keys, 2, KEYS);
}

/* A quarter of the accesses use one hundredth of the customers. */
static uint32_t draw_customer(void)
{
    return bench_draw_below(100) < 25 ? bench_draw_below(100)
                                      : 100 + bench_draw_below(CUSTOMERS - 100);
}

/* SmallBank's mix: of its six transactions, Amalgamate (15 %) and SendPayment (25 %) have two
 * customers. */
static void draw_small_bank(struct bench_task *task, uint32_t *keys)
{
    task->key_count = bench_draw_below(100) < 40 ? 2 : 1;
    keys[0] = draw_customer();
    if (task->key_count == 1)
        return;
    do
        keys[1] = draw_customer();
    while (keys[1] == keys[0]);
    if (keys[1] < keys[0]) {
        uint32_t larger = keys[0];
        keys[0] = keys[1];
        keys[1] = larger;
    }
}

static void draw_mostly_shared(struct bench_task *task, uint32_t *keys)
{
    task->key_count = 1;
    task->is_shared = bench_draw_below(100) < 95;
    keys[0] = 0;
}

/* Bodies of one microsecond keep one CPU busy for 10, 50 and 80 % of the time: the other one is the
 * submitter's, which reads the clock. The submitter that sleeps leaves both. */
static const struct bench_pace paces[] = {
    { BENCH_SPINS, 10000 },   { BENCH_SPINS, 2000 }, { BENCH_SPINS, 1250 },
    { BENCH_SLEEPS, 100000 }, { BENCH_CLOSED, 0 },
};

static const struct bench_workload workloads[] = {
    { "W1", KEYS, 2, 1, 0, false, false, draw_uniform, NULL },
    { "W2", KEYS, 2, 1, 0, false, false, draw_zipf, NULL },
    { "W3a", KEYS, 2, 1, BENCH_SEVERAL_KEYS, false, false, draw_small_rollups, NULL },
    { "W3b", KEYS, 2, 1, BENCH_SEVERAL_KEYS, false, false, draw_large_rollups, NULL },
    { "W4", KEYS, 2, 1, BENCH_SEVERAL_KEYS, false, false, draw_pair, NULL },
    { "W5", KEYS, 2, 1, 0, true, false, draw_uniform, NULL },
    { "W6_2", KEYS, 2, 2, BENCH_SEVERAL_SUBMITTERS, false, false, draw_uniform, NULL },
    { "W6_4", KEYS, 2, 4, BENCH_SEVERAL_SUBMITTERS, false, false, draw_uniform, NULL },
    { "W6_16", KEYS, 2, 16, BENCH_SEVERAL_SUBMITTERS, false, false, draw_uniform, NULL },
    { "W7", KEYS, 2, 1, BENCH_GATES, false, true, draw_uniform, NULL },
    { "W8", CUSTOMERS, 2, 1, BENCH_SEVERAL_KEYS, false, false, draw_small_bank, NULL },
    { "W9", KEYS, 2, 1, BENCH_SHARED, true, false, draw_mostly_shared, NULL },
    { "W10a", FEW_KEYS, 4, 1, 0, false, false, draw_of_few, NULL },
    { "W10b", FEW_KEYS, 4, 1, 0, true, false, draw_of_few, NULL },
    { "W11_10", KEYS, 2, 1, 0, true, false, draw_uniform, &paces[0] },
    { "W11_50", KEYS, 2, 1, 0, true, false, draw_uniform, &paces[1] },
    { "W11_80", KEYS, 2, 1, 0, true, false, draw_uniform, &paces[2] },
    { "W11_sleeps", KEYS, 2, 1, 0, true, false, draw_uniform, &paces[3] },
    { "W11_closed", KEYS, 2, 1, 0, true, false, draw_uniform, &paces[4] },
};

const struct bench_workload *bench_workload_find(const char *name)
{
    for (size_t i = 0; i < sizeof workloads / sizeof workloads[0]; i++)
        if (strcmp(workloads[i].name, name) == 0)
            return &workloads[i];
    return NULL;
}

/* The keys of tasks with several keys, and their sequence numbers. */
static struct {
    uint32_t *keys;
    uint32_t *sequences;
    size_t count;
    size_t capacity;
} several;

static uint32_t keep(const uint32_t *keys, uint32_t count, uint32_t *expected)
{
    if (several.count + count > several.capacity) {
        several.capacity = (several.capacity + count) * 2;
        several.keys = realloc(several.keys, several.capacity * sizeof *several.keys);
        several.sequences =
            realloc(several.sequences, several.capacity * sizeof *several.sequences);
        bench_require(several.keys != NULL && several.sequences != NULL, "memory for keys");
    }
    uint32_t first = (uint32_t)several.count;
    for (uint32_t i = 0; i < count; i++) {
        several.keys[several.count] = keys[i];
        several.sequences[several.count++] = expected[keys[i]]++;
    }
    return first;
}

static void make_task(struct bench_task *task, unsigned submitter, uint32_t *expected,
                      const struct bench_workload *workload)
{
    uint32_t keys[BENCH_KEYS_MAX];
    *task = (struct bench_task){ .submitter = (uint16_t)submitter };
    workload->draw(task, keys);
    if (task->key_count > 1) {
        task->key = keep(keys, task->key_count, expected);
        return;
    }
    task->key = keys[0];
    task->sequence = expected[keys[0]];
    if (!task->is_shared)
        expected[keys[0]]++;
}

void bench_tasks_make(struct bench_tasks *tasks, const struct bench_workload *workload,
                      size_t total)
{
    size_t share = total / workload->submitters;
    tasks->total = share * workload->submitters;
    tasks->expected =
        calloc((size_t)workload->submitters * workload->key_count, sizeof *tasks->expected);
    bench_require(tasks->expected != NULL && share > 0, "tasks to make and memory for them");
    for (unsigned i = 0; i < workload->submitters; i++) {
        uint32_t *expected = tasks->expected + (size_t)i * workload->key_count;
        tasks->count[i] = share;
        tasks->of[i] = malloc(share * sizeof *tasks->of[i]);
        bench_require(tasks->of[i] != NULL, "memory for tasks");
        for (size_t j = 0; j < share; j++)
            make_task(&tasks->of[i][j], i, expected, workload);
    }
    bench_keys = several.keys;
    bench_sequences = several.sequences;
}
