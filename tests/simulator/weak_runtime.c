/*
 * Takes the place of ThreadSanitizer's library: the compiler calls these functions at each access
 * of instrumented code. Outside of a run, accesses are carried out and not checked.
 */
#include "simulator/weak.h"

#include <string.h>

#define PLACE __builtin_return_address(0)

/* --- plain accesses --- */

static void plain(const void *at, size_t size, enum sim_access_kind kind, const void *place)
{
    if (sim.current != NULL)
        sim_shadow_access(at, size, kind, place);
}

#define PLAIN_ACCESSES(size)                          \
    void __tsan_read##size(void *at);                 \
    void __tsan_read##size(void *at)                  \
    {                                                 \
        plain(at, size, SIM_PLAIN_READ, PLACE);       \
    }                                                 \
    void __tsan_write##size(void *at);                \
    void __tsan_write##size(void *at)                 \
    {                                                 \
        plain(at, size, SIM_PLAIN_WRITE, PLACE);      \
    }                                                 \
    void __tsan_unaligned_read##size(const void *at); \
    void __tsan_unaligned_read##size(const void *at)  \
    {                                                 \
        plain(at, size, SIM_PLAIN_READ, PLACE);       \
    }                                                 \
    void __tsan_unaligned_write##size(void *at);      \
    void __tsan_unaligned_write##size(void *at)       \
    {                                                 \
        plain(at, size, SIM_PLAIN_WRITE, PLACE);      \
    }

PLAIN_ACCESSES(1)
PLAIN_ACCESSES(2)
PLAIN_ACCESSES(4)
PLAIN_ACCESSES(8)
PLAIN_ACCESSES(16)

void __tsan_read_range(void *at, unsigned long size);
void __tsan_read_range(void *at, unsigned long size)
{
    plain(at, size, SIM_PLAIN_READ, PLACE);
}

void __tsan_write_range(void *at, unsigned long size);
void __tsan_write_range(void *at, unsigned long size)
{
    plain(at, size, SIM_PLAIN_WRITE, PLACE);
}

/* Clang calls these in place of the library's functions. */
void *__tsan_memcpy(void *to, const void *from, unsigned long size);
void *__tsan_memcpy(void *to, const void *from, unsigned long size)
{
    plain(from, size, SIM_PLAIN_READ, PLACE);
    plain(to, size, SIM_PLAIN_WRITE, PLACE);
    return memcpy(to, from, size);
}

void *__tsan_memmove(void *to, const void *from, unsigned long size);
void *__tsan_memmove(void *to, const void *from, unsigned long size)
{
    plain(from, size, SIM_PLAIN_READ, PLACE);
    plain(to, size, SIM_PLAIN_WRITE, PLACE);
    return memmove(to, from, size);
}

void *__tsan_memset(void *to, int byte, unsigned long size);
void *__tsan_memset(void *to, int byte, unsigned long size)
{
    plain(to, size, SIM_PLAIN_WRITE, PLACE);
    return memset(to, byte, size);
}

/* --- atomic operations --- */

/* Records the access. Returns false outside of a run. Tests have atomic operations of their own;
 * these always get the newest value, since they only report what has happened. */
static bool begins(const volatile void *at, size_t size, enum sim_access_kind kind, int *order,
                   bool *engine, const void *place)
{
    if (sim.current == NULL)
        return false;
    *order = sim_site_order(*order, engine);
    sim_shadow_access(at, size, kind, place);
    return true;
}

static uint64_t load(const volatile void *at, size_t size, int order, const void *place)
{
    bool engine;

    (void)begins(at, size, SIM_ATOMIC_READ, &order, &engine, place);
    return engine ? sim_weak_load(at, size, order) : sim_weak_newest(at, size, order);
}

static void store(volatile void *at, size_t size, uint64_t value, int order, const void *place)
{
    bool engine;

    (void)begins(at, size, SIM_ATOMIC_WRITE, &order, &engine, place);
    sim_weak_store(at, size, value, order);
}

static uint64_t swap(volatile void *at, size_t size, uint64_t expected, uint64_t desired, int order,
                     const void *place)
{
    bool engine;
    uint64_t seen;

    (void)begins(at, size, SIM_ATOMIC_WRITE, &order, &engine, place);
    if (engine && !sim_weak_may_swap(at, size, expected, order, &seen))
        return seen;
    seen = sim_weak_newest(at, size, order);
    if (seen == expected)
        sim_weak_replace(at, size, desired, order);
    return seen;
}

#define CHANGE(bits, type, name, operation, builtin)                             \
    type __tsan_atomic##bits##_##name(volatile type *at, type value, int order); \
    type __tsan_atomic##bits##_##name(volatile type *at, type value, int order)  \
    {                                                                            \
        bool engine;                                                             \
        if (!begins(at, sizeof *at, SIM_ATOMIC_WRITE, &order, &engine, PLACE))   \
            return builtin(at, value, __ATOMIC_SEQ_CST);                         \
        type before = (type)sim_weak_newest(at, sizeof *at, order);              \
        sim_weak_replace(at, sizeof *at, (type)(operation), order);              \
        return before;                                                           \
    }

#define OPERATIONS(bits, type)                                                                  \
    type __tsan_atomic##bits##_load(const volatile type *at, int order);                        \
    type __tsan_atomic##bits##_load(const volatile type *at, int order)                         \
    {                                                                                           \
        if (sim.current == NULL)                                                                \
            return *at;                                                                         \
        return (type)load(at, sizeof *at, order, PLACE);                                        \
    }                                                                                           \
    void __tsan_atomic##bits##_store(volatile type *at, type value, int order);                 \
    void __tsan_atomic##bits##_store(volatile type *at, type value, int order)                  \
    {                                                                                           \
        if (sim.current == NULL)                                                                \
            *at = value;                                                                        \
        else                                                                                    \
            store(at, sizeof *at, value, order, PLACE);                                         \
    }                                                                                           \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type *at, type expected,           \
                                                    type desired, int order, int on_failure);   \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type *at, type expected,           \
                                                    type desired, int order, int on_failure)    \
    {                                                                                           \
        (void)on_failure;                                                                       \
        if (sim.current != NULL)                                                                \
            return (type)swap(at, sizeof *at, expected, desired, order, PLACE);                 \
        type before = *at;                                                                      \
        if (before == expected)                                                                 \
            *at = desired;                                                                      \
        return before;                                                                          \
    }                                                                                           \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile type *at, type *expected,        \
                                                      type desired, int order, int failure);    \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile type *at, type *expected,        \
                                                      type desired, int order, int failure)     \
    {                                                                                           \
        type before =                                                                           \
            __tsan_atomic##bits##_compare_exchange_val(at, *expected, desired, order, failure); \
        bool swapped = before == *expected;                                                     \
        *expected = before;                                                                     \
        return swapped;                                                                         \
    }                                                                                           \
    CHANGE(bits, type, exchange, value, __atomic_exchange_n)                                    \
    CHANGE(bits, type, fetch_add, before + value, __atomic_fetch_add)                           \
    CHANGE(bits, type, fetch_sub, before - value, __atomic_fetch_sub)                           \
    CHANGE(bits, type, fetch_or, before | value, __atomic_fetch_or)                             \
    CHANGE(bits, type, fetch_and, before &value, __atomic_fetch_and)

OPERATIONS(8, uint8_t)
OPERATIONS(16, uint16_t)
OPERATIONS(32, uint32_t)
OPERATIONS(64, uint64_t)

void sim_object_begins(volatile void *object, const void *value, size_t size)
{
    if (sim.current != NULL)
        sim_shadow_access(object, size, SIM_PLAIN_WRITE, PLACE);
    memcpy((void *)object, value, size);
}

/* --- what else the compiler and the simulator call --- */

void __tsan_init(void);
void __tsan_init(void)
{
}

void __tsan_func_entry(void *caller);
void __tsan_func_entry(void *caller)
{
    (void)caller;
}

void __tsan_func_exit(void);
void __tsan_func_exit(void)
{
}

void __tsan_acquire(void *object);
void __tsan_acquire(void *object)
{
    if (sim.current != NULL)
        sim_weak_acquire(object);
}

void __tsan_release(void *object);
void __tsan_release(void *object)
{
    if (sim.current != NULL)
        sim_weak_release(object);
}
