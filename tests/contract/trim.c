/* Memory that is free goes back: by a call, by idle workers, and by busy ones. */
#include <stdlib.h>

#include "support/step.h"
#include "support/test.h"

enum { TASKS = 50000, CLAIMS = 10 };

/* An allocator that reports when no more than `goal` bytes are left. */
struct watched {
    _Atomic size_t bytes;
    _Atomic size_t goal; /* 0: none */
    struct gate reached;
};

static void *allocate(void *user, size_t size, size_t alignment)
{
    struct watched *watched = user;
    void *memory = aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);

    atomic_fetch_add(&watched->bytes, memory != NULL ? size : 0);
    return memory;
}

static void deallocate(void *user, void *memory, size_t size)
{
    struct watched *watched = user;
    size_t goal = atomic_load(&watched->goal);

    free(memory);
    if (atomic_fetch_sub(&watched->bytes, size) - size <= goal && goal != 0 &&
        atomic_compare_exchange_strong(&watched->goal, &goal, 0)) {
        gate_arrive(&watched->reached);
    }
}

struct fixture {
    struct watched memory;
    lanepool_allocator allocator;
    lanepool_pool *pool;
    struct gate gate;
    struct step holder;
    struct step step;
};

static struct fixture *fixture_make(unsigned workers)
{
    struct fixture *all = calloc(1, sizeof *all);
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    expect(all != NULL);
    gate_init(&all->memory.reached);
    gate_init(&all->gate);
    all->holder.gate = &all->gate;
    all->allocator = (lanepool_allocator){ .struct_size = sizeof(lanepool_allocator),
                                           .allocate = allocate,
                                           .deallocate = deallocate,
                                           .user = &all->memory };
    options.workers = workers;
    options.pending_max = LANEPOOL_UNLIMITED;
    options.allocator = &all->allocator;
    all->pool = pool_make_with(&options);
    return all;
}

static void fixture_end(struct fixture *all)
{
    pool_end(all->pool);
    expect_eq(all->memory.bytes, 0);
    gate_fini(&all->gate);
    gate_fini(&all->memory.reached);
    free(all);
}

/* Lets many tasks wait at one time, then lets them run. Returns how much memory they took. */
static size_t let_many_wait(struct fixture *all)
{
    lanepool_claim claims[CLAIMS];
    size_t bytes;

    for (uint64_t i = 0; i < CLAIMS; i++) {
        claims[i] = lanepool_shared(i);
    }
    expect_ok(step_submit_on(all->pool, &all->holder, 0));
    expect(gate_await(&all->gate, 1));
    for (int i = 0; i < TASKS; i++) {
        lanepool_task task = step_task(&all->step, claims, CLAIMS);

        expect_ok(lanepool_pool_submit(all->pool, &task));
    }
    bytes = all->memory.bytes;
    return bytes;
}

/* Lets many tasks wait and run. The allocator reports when half of the memory is back: some regions
 * stay, since a thread keeps a block of them for its next task. */
static void let_many_run(struct fixture *all)
{
    atomic_store(&all->memory.goal, let_many_wait(all) / 2);
    gate_open(&all->gate, 1);
}

Test(trim, a_call_gives_free_memory_back)
{
    struct fixture *all = fixture_make(2);
    size_t bytes = let_many_wait(all);

    gate_open(&all->gate, 1);
    pool_settle(all->pool);
    expect(all->memory.bytes > bytes / 2); /* a wait alone gives nothing back */
    expect_ok(lanepool_pool_trim(all->pool));
    expect(all->memory.bytes <= bytes / 2);
    fixture_end(all);
}

Test(trim, idle_workers_give_free_memory_back)
{
    struct fixture *all = fixture_make(2);

    let_many_run(all);
    expect(gate_await(&all->memory.reached, 1));
    fixture_end(all);
}

struct chain {
    lanepool_pool *pool;
    _Atomic bool ends;
};

static int submit_again(lanepool_run *run, void *context)
{
    struct chain *chain = context;
    lanepool_task task = LANEPOOL_TASK_INIT;

    (void)run;
    task.function = submit_again;
    task.context = chain;
    return atomic_load(&chain->ends) ? 0 : (int)lanepool_pool_submit(chain->pool, &task);
}

/* The pool's only worker is never idle. */
Test(trim, busy_workers_give_free_memory_back)
{
    struct fixture *all = fixture_make(1);
    struct chain chain = { .pool = all->pool };
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = submit_again;
    task.context = &chain;
    expect_ok(lanepool_pool_submit(all->pool, &task));
    let_many_run(all);
    expect(gate_await(&all->memory.reached, 1));
    atomic_store(&chain.ends, true);
    fixture_end(all);
}

static int trim_inside(lanepool_run *run, void *context)
{
    (void)run;
    return (int)lanepool_pool_trim(context);
}

static void trim_in_callback(void *context)
{
    struct step *step = context;

    step->code = (int)lanepool_pool_trim(step->value);
}

Test(trim, a_task_may_call_it_but_no_callback)
{
    struct fixture *all = fixture_make(1);
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_future *future = NULL;
    lanepool_result result;

    task.function = trim_inside;
    task.context = all->pool;
    task.future = &future;
    expect_ok(lanepool_pool_submit(all->pool, &task));
    expect_ok(lanepool_future_wait(future, LANEPOOL_FOREVER, &result));
    expect_eq(result.code, LANEPOOL_OK);
    lanepool_future_release(future);
    all->step.value = all->pool;
    task = step_task(&all->step, NULL, 0);
    task.release = trim_in_callback;
    expect_ok(lanepool_pool_submit(all->pool, &task));
    pool_settle(all->pool);
    expect_eq(all->step.code, LANEPOOL_DEADLOCK);
    fixture_end(all);
}

Test(trim, answers_that_the_pool_is_missing_or_has_ended)
{
    struct fixture *all = fixture_make(1);

    expect_eq(lanepool_pool_trim(NULL), LANEPOOL_INVALID);
    expect_ok(lanepool_pool_trim(all->pool));
    expect_ok(lanepool_pool_shutdown(all->pool));
    expect_ok(lanepool_pool_await(all->pool, LANEPOOL_FOREVER));
    expect_eq(lanepool_pool_trim(all->pool), LANEPOOL_SHUT_DOWN);
    fixture_end(all);
}
