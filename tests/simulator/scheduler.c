/*
 * Owns the run: its fibers, which of them are ready, virtual time, and the end of the run.
 *
 * A fiber that must wait chooses its successor and switches to it; the scheduler has no fiber of
 * its own. The thread that called sim_run() is `host`: it waits for the end of the run.
 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/memory.h"
#include "simulator/state.h"

#if defined(SIM_THREAD_SANITIZER)
#include <sanitizer/tsan_interface.h>
#endif
#if defined(SIM_THREAD_SANITIZER) && !defined(SIM_WEAK)

/* The first report ends the program, so that it is clear which run caused it. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "halt_on_error=1";
}
#endif
#if defined(SIM_WEAK)
#include "simulator/weak.h"
#else
#define sim_weak_begin_run()        ((void)0)
#define sim_weak_begin_fiber(fiber) ((void)(fiber))
#define sim_weak_let_time_pass()    ((void)0)
#endif

enum { STEPS_MAX = 1000000, EAGERNESS = 256 };

struct sim sim;

/* --- the ready fibers --- */

static void make_ready(struct sim_fiber *fiber)
{
    fiber->waits_for = NULL;
    fiber->wakes_at = UINT64_MAX;
    fiber->ready_at = sim.ready_count;
    sim.ready[sim.ready_count++] = fiber;
    sim_choice_joins(fiber);
}

/* Removes a fiber, and keeps the others in their order: exploration relies on it. */
static void make_unready(struct sim_fiber *fiber)
{
    uint32_t at = fiber->ready_at;

    fiber->ready_at = UINT32_MAX;
    sim.ready_count--;
    for (; at < sim.ready_count; at++) {
        sim.ready[at] = sim.ready[at + 1];
        sim.ready[at]->ready_at = at;
    }
}

static void switch_to(struct sim_fiber *next)
{
    struct sim_fiber *self = sim.current;

    if (next == self)
        return;
    sim.current = next;
    fiber_switch(&self->flow, &next->flow);
}

/* --- the end --- */

__attribute__((noreturn)) static void leave_run(void)
{
    struct sim_fiber *self = sim.current;

    sim.current = NULL;
    fiber_switch(&self->flow, &sim.host.flow);
    abort();
}

void sim_fail(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(sim.why, sizeof sim.why, format, arguments);
    va_end(arguments);
    if (sim.current == NULL) {
        fprintf(stderr, "outside of a simulated run: %s\n", sim.why);
        abort();
    }
    sim.failed = true;
    leave_run();
}

/* Assertions of the library end a run like any other failure. */
void __assert_fail(const char *assertion, const char *file, unsigned int line, const char *function)
{
    if (sim.current != NULL)
        sim_fail("%s:%u: %s: assertion %s does not hold", file, line, function, assertion);
    fprintf(stderr, "%s:%u: %s: assertion %s does not hold\n", file, line, function, assertion);
    abort();
}

/* --- time --- */

static void wake_by_time(void)
{
    for (uint32_t i = 0; i < sim.fiber_count; i++) {
        struct sim_fiber *fiber = &sim.fibers[i];
        if (fiber->ready_at != UINT32_MAX || fiber->ended || fiber->wakes_at > sim.now)
            continue;
        fiber->timed_out = true;
        make_ready(fiber);
    }
}

static const char nap_end; /* its address: fibers that nap wait for it */

/* Advances the clock to the next wake-up time. Returns false if no fiber waits for a time. */
static bool let_time_pass(void)
{
    uint64_t next = UINT64_MAX;

    for (uint32_t i = 0; i < sim.fiber_count; i++)
        if (!sim.fibers[i].ended && sim.fibers[i].wakes_at < next)
            next = sim.fibers[i].wakes_at;
    if (next == UINT64_MAX)
        return false;
    if (next > sim.now)
        sim.now = next;
    sim_weak_let_time_pass();
    wake_by_time();
    return true;
}

static bool has_all_ended(void)
{
    for (uint32_t i = 0; i < sim.fiber_count; i++)
        if (!sim.fibers[i].ended)
            return false;
    return true;
}

/* Returns true if a fiber's wake-up time has passed. Reading the clock advances it, too. */
static bool is_anyone_due(void)
{
    bool any = false;

    for (uint32_t i = 0; i < sim.fiber_count; i++)
        any |= !sim.fibers[i].ended && sim.fibers[i].wakes_at <= sim.now;
    return any;
}

/* No fiber is ready: ends the run, ends all naps, or lets time pass. */
static void be_quiet(void)
{
    if (has_all_ended())
        leave_run();
    sim_wake(&nap_end);
    if (sim.ready_count > 0)
        return;
    if (sim.options.quiet != NULL && !is_anyone_due())
        sim.options.quiet(sim.options.context);
    if (!let_time_pass())
        sim_fail("deadlock: every thread waits for another");
}

/* --- steps --- */

static void pass_step_time(void)
{
    sim.now += sim.options.step_ns;
    if (is_anyone_due())
        wake_by_time();
}

static void count_step(void)
{
    if (++sim.steps > sim.options.steps_max)
        sim_fail("the run does not end within %llu steps",
                 (unsigned long long)sim.options.steps_max);
}

void sim_step(enum sim_access access, const volatile void *object)
{
    struct sim_fiber *self = sim.current;

    if (self == NULL)
        return;
    self->access = access;
    self->object = object;
    count_step();
    if (sim.options.eager && sim_random_below(EAGERNESS) == 0)
        (void)let_time_pass();
    if (sim.options.step_ns != 0)
        pass_step_time();
    switch_to(sim_choose(self));
    sim.schedule = (sim.schedule ^ (self->index + 1)) * 0x100000001b3u;
    if (sim.stores_wait) {
        if (access >= SIM_CHANGE)
            sim_buffer_empty(self);
        sim_buffers_drain_some();
    }
}

bool sim_wait(const void *on, uint64_t wakes_at)
{
    struct sim_fiber *self = sim.current;

    count_step(); /* also ends a run whose fibers only sleep, again and again */
    sim_buffer_empty(self);
    self->waits_for = on;
    self->wakes_at = wakes_at;
    self->timed_out = false;
    make_unready(self);
    while (sim.ready_count == 0)
        be_quiet();
    switch_to(sim_choose(NULL));
    return !self->timed_out;
}

void sim_wake(const void *on)
{
    for (uint32_t i = 0; i < sim.fiber_count; i++) {
        struct sim_fiber *fiber = &sim.fibers[i];
        if (!fiber->ended && fiber->ready_at == UINT32_MAX && fiber->waits_for == on)
            make_ready(fiber);
    }
}

void sim_sleep(uint64_t ns)
{
    static const char nobody_wakes;

    if (ns > 0)
        (void)sim_wait(&nobody_wakes, sim.now + ns);
    else
        sim_step(SIM_YIELD, NULL);
}

/* If steps take no time, a nap takes none either. It ends when no fiber is ready, or earlier, as
 * the schedule says. So time does not pass while a fiber naps, except in eager runs. */
void sim_nap(uint64_t ns)
{
    if (sim.options.step_ns != 0)
        sim_sleep(ns);
    else if (sim_choose_short_nap())
        sim_step(SIM_YIELD, NULL);
    else
        (void)sim_wait(&nap_end, UINT64_MAX);
}

static struct sim_fiber *napping(uint32_t number)
{
    for (uint32_t i = 0; i < sim.fiber_count; i++) {
        struct sim_fiber *fiber = &sim.fibers[i];
        if (!fiber->ended && fiber->ready_at == UINT32_MAX && fiber->waits_for == &nap_end &&
            number-- == 0)
            return fiber;
    }
    return NULL;
}

uint32_t sim_nap_count(void)
{
    uint32_t count = 0;

    while (napping(count) != NULL)
        count++;
    return count;
}

struct sim_fiber *sim_end_nap(uint32_t number)
{
    struct sim_fiber *fiber = napping(number);

    make_ready(fiber);
    return fiber;
}

uint64_t sim_now(void)
{
    return sim.now;
}

uint64_t sim_steps(void)
{
    return sim.steps;
}

bool sim_is_strict(void)
{
    return !sim.options.eager && !sim.options.buffers && !sim.options.weak;
}

const char *sim_thread_name(void)
{
    return sim.current->name;
}

uint32_t sim_self(void)
{
    return sim.current != NULL ? sim.current->index : 0;
}

bool sim_is_running(void)
{
    return sim.current != NULL;
}

bool sim_fault(void)
{
    if (sim.current == NULL)
        return false;
    sim.fault_points++;
    bool fails = sim.options.fault != 0 &&
                 (sim.fault_points == sim.options.fault ||
                  (sim.options.faults_stay && sim.fault_points > sim.options.fault));
    sim.faults += fails;
    return fails;
}

/* --- fibers --- */

static void end_fiber(struct sim_fiber *self)
{
    void *slot = self->slot;

    if (slot != NULL && sim.slot_at_exit != NULL)
        sim.slot_at_exit(slot);
    sim_buffer_empty(self);
#if defined(SIM_THREAD_SANITIZER)
    __tsan_release(&self->joined_by);
#endif
    self->ended = true;
    self->wakes_at = UINT64_MAX;
    make_unready(self);
    sim_wake(&self->joined_by);
    while (sim.ready_count == 0)
        be_quiet();
    switch_to(sim_choose(NULL));
}

static void fiber_main(void *argument)
{
    struct sim_fiber *self = argument;

#if defined(SIM_THREAD_SANITIZER)
    __tsan_acquire(&self->main);
#endif
    (void)self->main(self->argument);
    end_fiber(self);
}

struct sim_fiber *sim_start(void *(*main)(void *argument), void *argument)
{
    if (sim.fiber_count == SIM_FIBERS_MAX)
        sim_fail("more than %d threads in one simulated run", SIM_FIBERS_MAX);
    struct sim_fiber *fiber = &sim.fibers[sim.fiber_count];
    fiber->index = sim.fiber_count++;
    fiber->ended = false;
    fiber->slot = NULL;
    fiber->drains = NULL;
    fiber->name[0] = '\0';
    fiber->store_count = 0;
    fiber->priority = 0;
    fiber->main = main;
    fiber->argument = argument;
    fiber->access = SIM_YIELD;
    fiber->object = NULL;
    sim_weak_begin_fiber(fiber->index);
#if defined(SIM_THREAD_SANITIZER)
    __tsan_release(&fiber->main);
#endif
    fiber_prepare(&fiber->flow, fiber_main, fiber);
    make_ready(fiber);
    return fiber;
}

void sim_join(struct sim_fiber *fiber)
{
    sim_step(SIM_LOCK, fiber);
    while (!fiber->ended)
        (void)sim_wait(&fiber->joined_by, UINT64_MAX);
#if defined(SIM_THREAD_SANITIZER)
    __tsan_acquire(&fiber->joined_by);
#endif
}

/* --- a run --- */

struct first_thread {
    void (*body)(void *argument);
    void *argument;
};

static void *run_first(void *argument)
{
    const struct first_thread *first = argument;

    first->body(first->argument);
    return NULL;
}

static void reset(const struct sim_options *options)
{
    sim.options = *options;
#if defined(SIM_THREAD_SANITIZER) && !defined(SIM_WEAK)
    sim.options.buffers = false; /* sanitizers would attribute a delayed store to another thread */
#endif
    if (sim.options.steps_max == 0)
        sim.options.steps_max = STEPS_MAX;
    sim.fiber_count = 0;
    sim.ready_count = 0;
    sim.now = 0;
    sim.random = options->seed;
    sim.steps = 0;
    sim.schedule = 0xcbf29ce484222325u;
    sim.fault_points = 0;
    sim.faults = 0;
    sim.held = 0;
    sim.stores_wait = false;
    sim.failed = false;
    sim.slot_at_exit = NULL;
    sim.why[0] = '\0';
    sim_weak_begin_run();
    sim_memory_reset();
}

bool sim_run(const struct sim_options *options, void (*body)(void *argument), void *argument,
             struct sim_report *report)
{
    struct first_thread first = { body, argument };

    reset(options);
    fiber_of_thread(&sim.host.flow);
    sim_choice_begin();
    struct sim_fiber *fiber = sim_start(run_first, &first);
    sim.current = fiber;
    fiber_switch(&sim.host.flow, &fiber->flow);
    sim.current = NULL;
#if defined(SIM_THREAD_SANITIZER)
    for (uint32_t i = 0; i < sim.fiber_count; i++)
        __tsan_acquire(&sim.fibers[i].joined_by);
#endif
    /* Fibers that have reached their ends are used again. */
    for (uint32_t i = 0; i < sim.fiber_count && sim.failed; i++)
        fiber_retire(&sim.fibers[i].flow);
    if (!sim.failed && sim.held != 0) {
        sim.failed = true;
        snprintf(sim.why, sizeof sim.why, "%lld pieces of memory, locks or semaphores leaked",
                 (long long)sim.held);
    }
    *report = (struct sim_report){ .failed = sim.failed,
                                   .schedule = sim.schedule,
                                   .steps = sim.steps,
                                   .fault_points = sim.fault_points,
                                   .faults = sim.faults };
    memcpy(report->why, sim.why, sizeof report->why);
    return !sim.failed;
}
