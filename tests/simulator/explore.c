/*
 * Owns the exhaustive search: all schedules with a limited number of preemptions, one run each,
 * depth first. A run repeats the choices of the run before it, up to the last choice that has an
 * untried alternative. It takes that alternative, and the first one at every later choice
 * (Musuvathi and Qadeer: Iterative context bounding for systematic testing of multithreaded
 * programs, 2007).
 *
 * A preemption matters only before an access to a contended object: one that two fibers access, and
 * that at least one access writes. The search learns during its runs which objects are contended.
 * When it learns of one more, it starts again, until a search learns of no new one. Memory has the
 * same addresses in each run, so that the list of objects stays valid (memory.c). A step that
 * empties the fiber's store buffer counts as an access to each object in the buffer.
 *
 * A nap lasts until no fiber is ready. A preemption may end it earlier, by a switch to the fiber
 * that naps. If naps could end early without a preemption, there would be endless schedules: in
 * these, two fibers that nap would be chosen again and again.
 *
 * Accesses are counted from the start of the explored part, because earlier accesses precede all
 * others in every run. They are counted to the end of the run, because a preempted fiber may
 * continue after the explored part. If every other fiber waits at the end of the part, none was
 * preempted, and counting stops there.
 */
#include <stdlib.h>
#include <string.h>

#include "simulator/state.h"

enum { CHOICES_MAX = 1 << 16, OBJECTS_MAX = 1 << 14 };

struct choice {
    uint8_t taken;
    uint8_t count;
};

struct object {
    const volatile void *address;
    uint32_t fiber; /* the first fiber that accessed it */
    uint32_t run;   /* the run of that access; only accesses of the same run are compared */
    bool written;
    bool shared;
    bool contended;
};

static struct {
    struct choice choices[CHOICES_MAX];
    uint32_t recorded; /* how many choices the next run repeats */
    uint32_t made;
    uint32_t preemptions_max;
    uint32_t preemptions;
    bool active;   /* choices are explored now */
    bool counting; /* accesses are counted now */
    bool always;   /* the whole run is explored: the body calls no sim_explore_from_here() */
    bool grown;
    uint32_t run;
    struct object objects[OBJECTS_MAX];
} search;

/* --- what is contended --- */

static struct object *object_at(const volatile void *address)
{
    size_t at = ((uintptr_t)address * 0x9e3779b97f4a7c15u) >> 50;

    while (search.objects[at].address != NULL && search.objects[at].address != address)
        at = (at + 1) % OBJECTS_MAX;
    return &search.objects[at];
}

static bool is_contended(const volatile void *address, uint32_t fiber, bool writes)
{
    struct object *object = object_at(address);
    if (object->address == NULL)
        *object = (struct object){ .address = address, .run = UINT32_MAX };
    if (object->contended || !search.counting)
        return object->contended;
    if (object->run != search.run) {
        object->run = search.run;
        object->fiber = fiber;
        object->written = false;
        object->shared = false;
    }
    object->shared |= object->fiber != fiber;
    object->written |= writes;
    object->contended = object->shared && object->written;
    search.grown |= object->contended;
    return object->contended;
}

/* Returns true if the step that the fiber is about to make accesses a contended object. */
static bool matters(const struct sim_fiber *fiber)
{
    bool result = fiber->object != NULL &&
                  is_contended(fiber->object, fiber->index, fiber->access != SIM_LOAD);

    for (uint32_t i = 0; fiber->access >= SIM_CHANGE && i < fiber->store_count; i++)
        result |= is_contended(fiber->stores[i].object, fiber->index, true);
    return result;
}

/* --- choosing --- */

static uint32_t choose_among(uint32_t count)
{
    if (count == 1)
        return 0;
    if (search.made == CHOICES_MAX)
        sim_fail("more than %d choices in one run", CHOICES_MAX);
    struct choice *choice = &search.choices[search.made];
    if (search.made++ >= search.recorded)
        *choice = (struct choice){ 0, (uint8_t)count };
    else if (choice->count != count)
        sim_fail("the run does not repeat itself");
    return choice->taken;
}

static struct sim_fiber *other_than(const struct sim_fiber *self, uint32_t number)
{
    for (uint32_t i = 0; i < sim.ready_count; i++)
        if (sim.ready[i] != self && number-- == 0)
            return sim.ready[i];
    abort();
}

struct sim_fiber *sim_explore_choose(struct sim_fiber *self)
{
    bool must_leave = self == NULL || (self->access == SIM_YIELD && sim.ready_count > 1);

    if (must_leave) {
        uint32_t others = sim.ready_count - (self != NULL);
        return other_than(self, search.active ? choose_among(others) : 0);
    }
    if (!matters(self) || !search.active || search.preemptions == search.preemptions_max)
        return self;
    uint32_t taken = choose_among(sim.ready_count + sim_nap_count());
    if (taken == 0)
        return self;
    search.preemptions++;
    return taken < sim.ready_count ? other_than(self, taken - 1)
                                   : sim_end_nap(taken - sim.ready_count);
}

/* Before this call every run makes the same choices. */
void sim_explore_from_here(void)
{
    search.active = sim.options.strategy == SIM_EXHAUSTIVE;
    search.counting = search.active;
    if (search.always) {
        search.always = false;
        search.made = 0;
        search.preemptions = 0;
    }
}

void sim_explore_to_here(void)
{
    search.active = false;
    if (sim.ready_count == 1)
        search.counting = false;
}

/* --- the search --- */

/* Moves to the next alternative. Returns false if every choice has had all its alternatives. */
static bool advance(void)
{
    search.recorded = search.made;
    while (search.recorded > 0) {
        struct choice *last = &search.choices[search.recorded - 1];
        if (++last->taken < last->count)
            return true;
        search.recorded--;
    }
    return false;
}

static void run_once(const struct sim_options *options, void (*body)(void *argument),
                     void *argument, struct sim_exploration *exploration)
{
    search.run++;
    search.made = 0;
    search.preemptions = 0;
    search.active = search.always;
    search.counting = search.always;
    sim_run(options, body, argument, &exploration->report);
    exploration->runs++;
    exploration->steps += exploration->report.steps;
    if (search.made > exploration->choices_most)
        exploration->choices_most = search.made;
}

void sim_explore(const struct sim_options *given, uint32_t preemptions_max, uint64_t runs_max,
                 void (*body)(void *argument), void *argument, struct sim_exploration *exploration)
{
    struct sim_options options = *given;
    uint64_t before = 0; /* the runs of earlier searches, which were started again */

    options.strategy = SIM_EXHAUSTIVE;
    options.eager = false;
    memset(&search, 0, sizeof search);
    memset(exploration, 0, sizeof *exploration);
    search.preemptions_max = preemptions_max;
    search.always = true;
    do {
        before = exploration->runs;
        search.grown = false;
        search.recorded = 0;
        do {
            run_once(&options, body, argument, exploration);
            if (exploration->report.failed || exploration->runs >= runs_max)
                return;
        } while (!search.grown && advance());
    } while (search.grown);
    exploration->runs -= before;
    exploration->exhausted = true;
}
