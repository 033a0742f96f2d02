/* A key's cell counts the tasks that changed it: in all, and for each submitter. The counts are
 * changed in two steps, so that overlapping tasks lose some changes. */
#include "check.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "pace.h"

#define LINE         64
#define COUNTERS_MAX 256

const uint32_t *bench_keys;
const uint32_t *bench_sequences;

static struct {
    /* At [key * cell_size]: the count of all; then one for each submitter. */
    _Atomic uint32_t *cells;
    size_t cell_size;
    const struct bench_workload *workload;
    bool is_ordered;
    uint64_t body;
    atomic_bool disorder;
    atomic_uint gates;
    sem_t gate;
} run;

/* Each thread has its own counter, so that it does not share a cache line with others. */
static struct {
    _Alignas(2 * LINE) atomic_size_t done;
} counters[COUNTERS_MAX];
static atomic_uint counters_taken;
static _Thread_local atomic_size_t *my_counter;

void bench_check_begin(const struct bench_workload *workload, bool is_ordered, uint64_t body)
{
    size_t line = LINE / sizeof *run.cells;
    run.workload = workload;
    run.is_ordered = is_ordered;
    run.body = body;
    run.cell_size = (1 + workload->submitters + line - 1) / line * line;
    size_t count = run.cell_size * workload->key_count;
    run.cells = aligned_alloc(LINE, count * sizeof *run.cells);
    bench_require(run.cells != NULL && sem_init(&run.gate, 0, 0) == 0, "memory for checks");
    for (size_t i = 0; i < count; i++)
        atomic_init(&run.cells[i], 0);
}

static void count_one(void)
{
    if (my_counter == NULL) {
        unsigned taken = atomic_fetch_add(&counters_taken, 1);
        bench_require(taken < COUNTERS_MAX, "so few threads that run tasks");
        my_counter = &counters[taken].done;
    }
    size_t done = atomic_load_explicit(my_counter, memory_order_relaxed);
    atomic_store_explicit(my_counter, done + 1, memory_order_release);
}

size_t bench_done(void)
{
    size_t sum = 0;
    unsigned taken = atomic_load_explicit(&counters_taken, memory_order_acquire);
    for (unsigned i = 0; i < taken && i < COUNTERS_MAX; i++)
        sum += atomic_load_explicit(&counters[i].done, memory_order_acquire);
    return sum;
}

static void increase(_Atomic uint32_t *count)
{
    uint32_t value = atomic_load_explicit(count, memory_order_relaxed);
    atomic_store_explicit(count, value + 1, memory_order_relaxed);
}

static void expect(const _Atomic uint32_t *count, uint32_t expected)
{
    if (atomic_load_explicit(count, memory_order_relaxed) != expected)
        atomic_store_explicit(&run.disorder, true, memory_order_relaxed);
}

static void change(uint32_t key, uint32_t sequence, unsigned submitter)
{
    _Atomic uint32_t *cell = &run.cells[key * run.cell_size];
    expect(&cell[1 + submitter], sequence);
    increase(&cell[1 + submitter]);
    increase(&cell[0]);
}

/* Counts without checking the order: for engines that know no keys. */
static void change_unordered(const struct bench_task *task)
{
    for (uint32_t i = 0; i < task->key_count && !task->is_shared; i++) {
        _Atomic uint32_t *cell = &run.cells[bench_task_key(task, i) * run.cell_size];
        atomic_fetch_add_explicit(&cell[1 + task->submitter], 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&cell[0], 1, memory_order_relaxed);
    }
}

static void stand_at_gate(void)
{
    atomic_fetch_add(&run.gates, 1);
    while (sem_wait(&run.gate) != 0) {
    }
}

void bench_task_run(const struct bench_task *task)
{
    if (task->key_count == 0) {
        stand_at_gate();
        return;
    }
    bench_pace_start(task);
    if (run.body > 0)
        bench_body(run.body);
    if (!run.is_ordered)
        change_unordered(task);
    else if (task->is_shared)
        expect(&run.cells[task->key * run.cell_size + 1 + task->submitter], task->sequence);
    else if (task->key_count == 1)
        change(task->key, task->sequence, task->submitter);
    else
        for (uint32_t i = 0; i < task->key_count; i++)
            change(bench_keys[task->key + i], bench_sequences[task->key + i], task->submitter);
    count_one();
}

struct bench_verdict bench_check_end(const struct bench_tasks *tasks)
{
    uint32_t key_count = run.workload->key_count;
    struct bench_verdict verdict = { .order = !atomic_load(&run.disorder),
                                     .updates = true,
                                     .count = bench_done() == tasks->total };
    for (uint32_t key = 0; key < key_count; key++) {
        _Atomic uint32_t *cell = &run.cells[key * run.cell_size];
        uint32_t sum = 0;
        for (unsigned i = 0; i < run.workload->submitters; i++) {
            uint32_t expected = tasks->expected[(size_t)i * key_count + key];
            sum += expected;
            if (atomic_load(&cell[1 + i]) != expected)
                verdict.updates = false;
        }
        if (atomic_load(&cell[0]) != sum)
            verdict.updates = false;
    }
    return verdict;
}

unsigned bench_gates_entered(void)
{
    return atomic_load(&run.gates);
}

void bench_gates_open(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        sem_post(&run.gate);
}

void bench_body(uint64_t rounds)
{
    uint64_t value = rounds;
    for (uint64_t i = 0; i < rounds; i++) {
        value = value * 6364136223846793005u + 1442695040888963407u;
        /* Prevents the compiler from computing this in fewer steps. */
        __asm__ volatile("" : "+r"(value));
    }
}
