/* The memory of failed tasks' records. */
#include "future/attempts.h"
#include "support/memory.h"
#include "support/test.h"
#include "unit/counted_memory.h"

enum { RECORDS = 5000 };

struct fixture {
    struct counted_memory memory;
    lanepool_i_attempts_memory records;
    lanepool_i_attempts *taken[RECORDS];
};

static struct fixture *fixture_make(void)
{
    struct fixture *all = memory_get(1, sizeof *all);

    counted_memory_init(&all->memory);
    lanepool_i_attempts_memory_init(&all->records, &all->memory.allocator);
    return all;
}

static void fixture_end(struct fixture *all)
{
    lanepool_i_attempts_memory_fini(&all->records);
    expect_eq(all->memory.live, 0);
    free(all);
}

static void take_records(struct fixture *all)
{
    for (size_t i = 0; i < RECORDS; i++) {
        all->taken[i] = lanepool_i_attempts_memory_take(&all->records);
        expect_eq((uintptr_t)all->taken[i] % LANEPOOL_I_CACHE_LINE, 0);
        memset(all->taken[i], (int)i, sizeof *all->taken[i]);
    }
    for (size_t i = 0; i < RECORDS; i++) {
        const unsigned char *bytes = (const unsigned char *)all->taken[i];

        expect_eq(bytes[0], (unsigned char)i);
        expect_eq(bytes[sizeof *all->taken[i] - 1], (unsigned char)i);
    }
}

Test(attempts_memory, reserved_records_can_be_taken_without_memory)
{
    struct fixture *all = fixture_make();

    expect(lanepool_i_attempts_memory_reserve(&all->records, RECORDS));
    all->memory.refuses = true;
    take_records(all);
    fixture_end(all);
}

Test(attempts_memory, records_given_back_can_be_reserved_again)
{
    struct fixture *all = fixture_make();
    size_t given;

    expect(lanepool_i_attempts_memory_reserve(&all->records, RECORDS));
    take_records(all);
    given = all->memory.given;
    for (size_t i = 0; i < RECORDS; i++) {
        lanepool_i_attempts_memory_give(&all->records, all->taken[i]);
    }
    expect(lanepool_i_attempts_memory_reserve(&all->records, RECORDS));
    take_records(all);
    expect_eq(all->memory.given, given);
    fixture_end(all);
}

Test(attempts_memory, reservations_that_are_not_used_are_not_lost)
{
    struct fixture *all = fixture_make();
    size_t given;

    expect(lanepool_i_attempts_memory_reserve(&all->records, RECORDS));
    given = all->memory.given;
    for (int i = 0; i < 10; i++) {
        lanepool_i_attempts_memory_unreserve(&all->records, RECORDS);
        expect(lanepool_i_attempts_memory_reserve(&all->records, RECORDS));
    }
    expect_eq(all->memory.given, given);
    take_records(all);
    fixture_end(all);
}

Test(attempts_memory, without_memory_a_reservation_fails_and_changes_nothing)
{
    struct fixture *all = fixture_make();

    all->memory.refuses = true;
    expect(!lanepool_i_attempts_memory_reserve(&all->records, 1));
    all->memory.refuses = false;
    expect(lanepool_i_attempts_memory_reserve(&all->records, RECORDS));
    take_records(all);
    fixture_end(all);
}
