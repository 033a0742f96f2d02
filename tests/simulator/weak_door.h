/*
 * The doors of atomic operations in the build that has the weak memory (weak.h).
 *
 * The compiler instruments every access as for ThreadSanitizer, and weak_runtime.c takes that
 * library's place. So an atomic operation itself arrives there, with its order. What is added here
 * is its site: its place in the sources, by which its order can be weakened.
 */
#ifndef TESTS_SIMULATOR_WEAK_DOOR_H
#define TESTS_SIMULATOR_WEAK_DOOR_H

/* One atomic operation in the sources. An inline function has one such struct in each object that
 * it is compiled into; the number makes them one site. */
struct sim_site {
    const char *file;
    const char *function;
    const char *operation; /* with its order, as the platform's macro was called */
    const char *object;
    unsigned line;
    unsigned number; /* from 1; set when the program starts */
};

/* Makes a step; the atomic operation that follows is the site's. */
void sim_step_at(enum sim_access access, const volatile void *object, const struct sim_site *site);
/* Begins the life of an atomic object, by a plain write: this value is its only one. */
void sim_object_begins(volatile void *object, const void *value, size_t size);

#define SIM_SITE(operation, object)                                                              \
    __extension__({                                                                              \
        static struct sim_site site_                                                             \
            __attribute__((section("sim_sites"), aligned(8))) = { __FILE__, __func__, operation, \
                                                                  object,   __LINE__, 0 };       \
        (const struct sim_site *)&site_;                                                         \
    })

#define LANEPOOL_I_LOAD(object, order)                                                      \
    __extension__({                                                                         \
        __typeof__(object) load_from_ = (object);                                           \
        sim_step_at(SIM_LOAD, load_from_, SIM_SITE("load " #order, #object));               \
        __typeof__((void)0, *load_from_) loaded_ = atomic_load_explicit(load_from_, order); \
        loaded_;                                                                            \
    })

#define LANEPOOL_I_STORE(object, value, order)                                 \
    __extension__({                                                            \
        __typeof__(object) store_to_ = (object);                               \
        __typeof__((void)0, *store_to_) stored_ = (value);                     \
        sim_step_at(SIM_STORE, store_to_, SIM_SITE("store " #order, #object)); \
        atomic_store_explicit(store_to_, stored_, order);                      \
    })

#define LANEPOOL_I_CHANGE(object, operation) \
    (sim_step_at(SIM_CHANGE, object, SIM_SITE(#operation, #object)), (operation))

#undef atomic_init
#define atomic_init(object, value)                          \
    __extension__({                                         \
        __typeof__(object) begins_ = (object);              \
        __typeof__((void)0, *begins_) first_ = (value);     \
        sim_object_begins(begins_, &first_, sizeof first_); \
    })

#endif
