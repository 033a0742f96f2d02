/* Owns what the threads know, and the values of atomic objects; weak.h explains them. */
#include "simulator/weak.h"

#include <string.h>

enum {
    VALUES = 8,       /* that an object remembers */
    OLD_IN_A_ROW = 6, /* old values of one object that a thread reads before it sees the newest */
    OBJECTS_MAX = 1 << 15,
    KNOWLEDGE_MAX = 1 << 13
};

struct clocks {
    uint32_t of[SIM_FIBERS_MAX];
};

struct value {
    uint64_t value;
    uint64_t moment;              /* grows with each value of any object */
    bool carries;                 /* `carried` is not empty */
    struct clocks carried;        /* what an acquire load of this value gets to know */
    uint32_t met[SIM_FIBERS_MAX]; /* the fiber's clock when it first read or wrote it; or 0 */
};

struct object {
    uint32_t newest; /* counts from 1; its place is newest % VALUES */
    uint32_t oldest;
    uint32_t last_seq;
    uint8_t old_reads[SIM_FIBERS_MAX]; /* in a row */
    struct value values[VALUES];
};

static struct {
    struct clocks known[SIM_FIBERS_MAX]; /* by each fiber; its own clock included */
    uint64_t moment;
    uint64_t seen_by_all; /* every thread sees the values up to this moment */
    uint32_t object_count;
    uint32_t knowledge_count;
    struct object objects[OBJECTS_MAX];
    struct clocks knowledge[KNOWLEDGE_MAX]; /* of locks, semaphores, and threads that end */
} weak;

/* --- what is known --- */

static void join(struct clocks *to, const struct clocks *from)
{
    for (uint32_t i = 0; i < sim.fiber_count; i++)
        if (from->of[i] > to->of[i])
            to->of[i] = from->of[i];
}

static struct clocks *mine(void)
{
    return &weak.known[sim.current->index];
}

static void advance(uint32_t fiber)
{
    weak.known[fiber].of[fiber]++;
}

void sim_weak_begin_run(void)
{
    weak.moment = 0;
    weak.seen_by_all = 0;
    weak.object_count = 1;
    weak.knowledge_count = 1;
    sim_shadow_begin_run();
}

void sim_weak_begin_fiber(uint32_t fiber)
{
    memset(&weak.known[fiber], 0, sizeof weak.known[fiber]);
    weak.known[fiber].of[fiber] = 1;
}

void sim_weak_let_time_pass(void)
{
    weak.seen_by_all = weak.moment;
}

void sim_weak_membarrier(void)
{
    uint32_t self = sim.current->index;
    struct clocks caller = *mine();

    for (uint32_t i = 0; i < sim.fiber_count; i++) {
        if (i == self)
            continue;
        join(mine(), &weak.known[i]);
        advance(i);
        join(&weak.known[i], &caller);
    }
    advance(self);
}

static struct clocks *knowledge_of(const volatile void *object)
{
    uint32_t *number = sim_shadow_knowledge(object);

    if (*number == 0) {
        if (weak.knowledge_count == KNOWLEDGE_MAX)
            sim_fail("more than %d locks and semaphores in one run", KNOWLEDGE_MAX);
        *number = weak.knowledge_count++;
        memset(&weak.knowledge[*number], 0, sizeof weak.knowledge[0]);
    }
    return &weak.knowledge[*number];
}

void sim_weak_acquire(const volatile void *object)
{
    join(mine(), knowledge_of(object));
}

void sim_weak_release(const volatile void *object)
{
    join(knowledge_of(object), mine());
    advance(sim.current->index);
}

uint32_t sim_weak_now(void)
{
    return mine()->of[sim.current->index];
}

bool sim_weak_knows(uint32_t fiber, uint32_t clock)
{
    return mine()->of[fiber] >= clock;
}

void sim_weak_spoil(void *memory, size_t size)
{
    if (sim.current != NULL)
        sim_shadow_access(memory, size, SIM_PLAIN_WRITE, __builtin_return_address(0));
}

/* --- the values of an object --- */

static bool acquires(int order)
{
    return order == __ATOMIC_ACQUIRE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST ||
           order == __ATOMIC_CONSUME;
}

static bool releases(int order)
{
    return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

static uint64_t read_memory(const volatile void *object, size_t size)
{
    switch (size) {
    case 1:
        return *(const volatile uint8_t *)object;
    case 2:
        return *(const volatile uint16_t *)object;
    case 4:
        return *(const volatile uint32_t *)object;
    default:
        return *(const volatile uint64_t *)object;
    }
}

static void write_memory(volatile void *object, size_t size, uint64_t value)
{
    switch (size) {
    case 1:
        *(volatile uint8_t *)object = (uint8_t)value;
        break;
    case 2:
        *(volatile uint16_t *)object = (uint16_t)value;
        break;
    case 4:
        *(volatile uint32_t *)object = (uint32_t)value;
        break;
    default:
        *(volatile uint64_t *)object = value;
        break;
    }
}

static struct value *value_at(struct object *object, uint32_t number)
{
    return &object->values[number % VALUES];
}

static struct value *add_value(struct object *object, uint64_t value)
{
    object->newest++;
    if (object->newest - object->oldest == VALUES)
        object->oldest++;
    struct value *added = value_at(object, object->newest);
    memset(added, 0, sizeof *added);
    added->value = value;
    added->moment = ++weak.moment;
    return added;
}

/* Memory always has the newest value. If it has another one, code that is not instrumented has
 * written there: the object has begun anew. */
static struct object *object_of(const volatile void *at, size_t size)
{
    uint32_t *number = sim_shadow_object(at);
    uint64_t in_memory = read_memory(at, size);

    if (*number != 0) {
        struct object *known = &weak.objects[*number];
        if (value_at(known, known->newest)->value == in_memory)
            return known;
    } else {
        if (weak.object_count == OBJECTS_MAX)
            sim_fail("more than %d atomic objects in one run", OBJECTS_MAX);
        *number = weak.object_count++;
    }
    struct object *object = &weak.objects[*number];
    object->newest = 0;
    object->oldest = 1;
    object->last_seq = 0;
    memset(object->old_reads, 0, sizeof object->old_reads);
    add_value(object, in_memory);
    return object;
}

static void meet(struct value *value)
{
    if (value->met[sim.current->index] == 0)
        value->met[sim.current->index] = sim_weak_now();
}

static bool is_known(const struct value *value)
{
    if (value->moment <= weak.seen_by_all)
        return true;
    for (uint32_t i = 0; i < sim.fiber_count; i++)
        if (value->met[i] != 0 && mine()->of[i] >= value->met[i])
            return true;
    return false;
}

/* Returns the oldest value that the calling fiber may get. */
static uint32_t oldest_visible(struct object *object, int order)
{
    uint32_t number = object->newest;

    while (number > object->oldest && !is_known(value_at(object, number)) &&
           !(order == __ATOMIC_SEQ_CST && number == object->last_seq))
        number--;
    return number;
}

static uint32_t choose_value(struct object *object, int order)
{
    uint32_t self = sim.current->index;

    if (!sim.options.weak || object->old_reads[self] >= OLD_IN_A_ROW)
        return object->newest;
    uint32_t oldest = oldest_visible(object, order);
    if (oldest == object->newest || sim_random_below(sim.options.old_one_in) != 0)
        return object->newest;
    return oldest + sim_random_below(object->newest - oldest + 1);
}

static uint64_t get_value(struct object *object, uint32_t number, int order)
{
    struct value *value = value_at(object, number);
    uint32_t self = sim.current->index;

    object->old_reads[self] = number == object->newest ? 0 : object->old_reads[self] + 1;
    meet(value);
    if (acquires(order) && value->carries)
        join(mine(), &value->carried);
    return value->value;
}

static void carry(struct object *object, struct value *added, int order)
{
    if (order == __ATOMIC_SEQ_CST)
        object->last_seq = object->newest;
    meet(added);
    if (!releases(order))
        return;
    join(&added->carried, mine());
    added->carries = true;
    advance(sim.current->index);
}

/* --- operations --- */

uint64_t sim_weak_load(const volatile void *at, size_t size, int order)
{
    struct object *object = object_of(at, size);

    return get_value(object, choose_value(object, order), order);
}

void sim_weak_store(volatile void *at, size_t size, uint64_t value, int order)
{
    struct object *object = object_of(at, size);

    write_memory(at, size, value);
    carry(object, add_value(object, read_memory(at, size)), order);
}

uint64_t sim_weak_newest(const volatile void *at, size_t size, int order)
{
    struct object *object = object_of(at, size);

    return get_value(object, object->newest, order);
}

void sim_weak_replace(volatile void *at, size_t size, uint64_t value, int order)
{
    struct object *object = object_of(at, size);
    struct value *before = value_at(object, object->newest);
    struct clocks carried = before->carried;
    bool carries = before->carries;

    write_memory(at, size, value);
    struct value *added = add_value(object, read_memory(at, size));
    added->carried = carried;
    added->carries = carries;
    carry(object, added, order);
}

bool sim_weak_may_swap(const volatile void *at, size_t size, uint64_t expected, int order,
                       uint64_t *seen)
{
    struct object *object = object_of(at, size);
    uint32_t number = choose_value(object, order);

    if (value_at(object, number)->value == expected)
        number = object->newest;
    if (value_at(object, number)->value == expected)
        return true;
    *seen = get_value(object, number, order);
    return false;
}
