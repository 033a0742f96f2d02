/*
 * The simulated platform: implements src/platform/platform.h on fibers.
 *
 * Every operation of the platform is a step: before the operation, the scheduler (simulator.h) may
 * run other fibers. Atomic operations are inline in the engine, so that ThreadSanitizer sees them
 * with their memory orders.
 *
 * Relaxed and release stores may be delayed in the fiber's store buffer, as on x86. Every other
 * operation that writes empties the buffer first.
 */
#ifndef TESTS_SIMULATOR_SIMULATED_H
#define TESTS_SIMULATOR_SIMULATED_H

#include "platform/lock_order.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A fiber's next access. SIM_CHANGE and those after it first empty the fiber's store buffer. */
enum sim_access { SIM_LOAD, SIM_STORE, SIM_CHANGE, SIM_LOCK, SIM_YIELD };

/* Makes a step: the calling fiber is about to access the object. */
void sim_step(enum sim_access access, const volatile void *object);
/* Makes the step of a store. Returns true if the value was put into the store buffer; otherwise the
 * caller must carry out the store. */
bool sim_store(volatile void *object, const void *value, size_t size, bool at_once);
/* If the calling fiber's own buffer contains the object, replaces *value by the value there. */
void sim_forward(const volatile void *object, void *value, size_t size);
/* Empties the calling fiber's buffer, because its memory is used for something else. */
void sim_empty_buffer(void);

#if defined(SIM_WEAK)
#include "simulator/weak_door.h"
#elif !defined(SIM_OUT_OF_LINE)
#define LANEPOOL_I_LOAD(object, order)                                                      \
    __extension__({                                                                         \
        __typeof__(object) load_from_ = (object);                                           \
        sim_step(SIM_LOAD, load_from_);                                                     \
        __typeof__((void)0, *load_from_) loaded_ = atomic_load_explicit(load_from_, order); \
        sim_forward(load_from_, &loaded_, sizeof loaded_);                                  \
        loaded_;                                                                            \
    })

#define LANEPOOL_I_STORE(object, value, order)                         \
    __extension__({                                                    \
        __typeof__(object) store_to_ = (object);                       \
        __typeof__((void)0, *store_to_) stored_ = (value);             \
        bool at_once_ = (order) == memory_order_seq_cst;               \
        if (!sim_store(store_to_, &stored_, sizeof stored_, at_once_)) \
            atomic_store_explicit(store_to_, stored_, order);          \
    })

#else

/* Versions without branches, for a build that counts the branches of the engine. */
void sim_load(const volatile void *object, void *value, size_t size);
void sim_store_now_or_later(volatile void *object, const void *value, size_t size, bool at_once);

#define LANEPOOL_I_LOAD(object, order)                  \
    __extension__({                                     \
        __typeof__(object) load_from_ = (object);       \
        __typeof__((void)0, *load_from_) loaded_;       \
        sim_load(load_from_, &loaded_, sizeof loaded_); \
        loaded_;                                        \
    })

#define LANEPOOL_I_STORE(object, value, order)                      \
    __extension__({                                                 \
        __typeof__(object) store_to_ = (object);                    \
        __typeof__((void)0, *store_to_) stored_ = (value);          \
        sim_store_now_or_later(store_to_, &stored_, sizeof stored_, \
                               (order) == memory_order_seq_cst);    \
    })

#endif

#if !defined(SIM_WEAK)
#define LANEPOOL_I_CHANGE(object, operation) (sim_step(SIM_CHANGE, object), (operation))

#undef atomic_init
#define atomic_init(object, value) \
    (sim_empty_buffer(), atomic_store_explicit(object, value, memory_order_relaxed))
#endif

typedef struct lanepool_i_thread {
    struct sim_fiber *fiber;
} lanepool_i_thread;

typedef struct lanepool_i_mutex {
    struct sim_fiber *owner;
    struct lanepool_i_mutex *held_before; /* the owner's last lock before this one, or NULL */
    lanepool_i_lock lock;
    bool usable;
} lanepool_i_mutex;

/* Checked like a mutex. */
typedef struct lanepool_i_word_lock {
    lanepool_i_mutex mutex;
} lanepool_i_word_lock;

typedef struct lanepool_i_semaphore {
    uint32_t count;
    uint32_t waiting;
    bool usable;
} lanepool_i_semaphore;

typedef struct lanepool_i_event {
    bool usable;
    bool set;
} lanepool_i_event;

/* Fibers do not end inside a task. Threads that do are tested on the real platform. */
#define LANEPOOL_I_THREAD_END_PUSH(done, argument) \
    {                                              \
        void (*thread_end_)(void *) = (done);      \
        (void)thread_end_;                         \
        (void)(argument);
#define LANEPOOL_I_THREAD_END_POP() }

void *lanepool_i_thread_slot(void);
void lanepool_i_thread_slot_set(void *value);
void *lanepool_i_thread_drains(void);
void lanepool_i_thread_drains_set(void *value);

static inline void lanepool_i_pause(void)
{
    sim_step(SIM_YIELD, NULL);
}

/* Returns the clock's time in a different unit. */
uint64_t lanepool_i_counter(void);

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define LANEPOOL_I_POISON(address, size) \
    (sim_empty_buffer(), ASAN_POISON_MEMORY_REGION(address, size))
#define LANEPOOL_I_UNPOISON(address, size) ASAN_UNPOISON_MEMORY_REGION(address, size)
#else
/* Overwrites freed memory with a pattern, so that a later read gets a useless value. */
void sim_spoil(void *address, size_t size);
#define LANEPOOL_I_POISON(address, size)   sim_spoil(address, size)
#define LANEPOOL_I_UNPOISON(address, size) ((void)(address), (void)(size))
#endif

#endif
