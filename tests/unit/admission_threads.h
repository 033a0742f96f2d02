/* An admission with its thread records, and submitters that wait on threads of their own. */
#ifndef TESTS_UNIT_ADMISSION_THREADS_H
#define TESTS_UNIT_ADMISSION_THREADS_H

#include <pthread.h>

#include "sched/admission.h"
#include "support/gate.h"
#include "support/test.h"

/* The test's thread has `record`. */
struct fixture {
    lanepool_i_slab slab;
    lanepool_i_rings rings; /* none: nothing is recorded */
    lanepool_i_thread_records records;
    lanepool_i_admission admission;
    lanepool_i_thread_record *record;
};

struct waiter {
    lanepool_i_admission *admission;
    lanepool_i_thread_record *record;
    lanepool_i_charge *charge;
    lanepool_status status;
    struct gate gate; /* arrived at when the wait has ended */
    pthread_t thread;
};

static inline lanepool_i_thread_record *record_make(struct fixture *all)
{
    lanepool_i_thread_record *record =
        lanepool_i_thread_record_create_for_worker(NULL, &all->records, NULL);

    expect(record != NULL);
    return record;
}

static inline void fixture_init(struct fixture *all, size_t limit, lanepool_i_lane_quotas *quotas)
{
    *all = (struct fixture){ .rings = { .capacity = 0 } };
    expect(lanepool_i_slab_init(&all->slab, NULL, 0));
    expect(lanepool_i_thread_records_init(&all->records, &all->slab, &all->rings));
    expect(lanepool_i_admission_init(&all->admission, &all->records, limit, quotas));
    all->record = record_make(all);
}

static inline void fixture_fini(struct fixture *all)
{
    lanepool_i_thread_record_retire(all->record);
    lanepool_i_admission_fini(&all->admission);
    lanepool_i_thread_records_fini(&all->records);
    lanepool_i_slab_fini(&all->slab, 0);
}

static inline bool try_admit(struct fixture *all)
{
    return lanepool_i_admission_try(&all->admission, all->record, NULL);
}

/* Tasks have finished, and no thread has served the blocked submitters yet. */
static inline void count_finished(struct fixture *all, uint64_t count)
{
    lanepool_i_count_up(&all->record->finished[0], count);
}

static inline void finish(struct fixture *all, uint64_t count)
{
    count_finished(all, count);
    lanepool_i_admission_serve_after_finish(&all->admission);
}

static inline uint32_t count_waiting(const struct fixture *all)
{
    return load_seq(&all->admission.waiting);
}

static inline void *wait_for_room(void *context)
{
    struct waiter *waiter = context;

    waiter->status =
        lanepool_i_admission_wait(waiter->admission, waiter->record, waiter->charge, UINT64_MAX);
    gate_arrive(&waiter->gate);
    return NULL;
}

/* Returns when the submitter is in the queue and has checked for room for the last time. */
static inline void waiter_start(struct waiter *waiter, struct fixture *all,
                                lanepool_i_charge *charge)
{
    uint32_t before = count_waiting(all);

    *waiter = (struct waiter){ .admission = &all->admission, .charge = charge };
    waiter->record = record_make(all);
    gate_init(&waiter->gate);
    expect_eq(pthread_create(&waiter->thread, NULL, wait_for_room, waiter), 0);
    while (count_waiting(all) == before) {
        lanepool_i_yield();
    }
    lanepool_i_mutex_lock(&all->admission.lock); /* it checks under the lock */
    lanepool_i_mutex_unlock(&all->admission.lock);
}

/* Returns what the wait returned. The submitter must have been served. */
static inline lanepool_status waiter_join(struct waiter *waiter)
{
    expect(gate_await(&waiter->gate, 1));
    expect_eq(pthread_join(waiter->thread, NULL), 0);
    lanepool_i_thread_record_retire(waiter->record);
    gate_fini(&waiter->gate);
    return waiter->status;
}

#endif
