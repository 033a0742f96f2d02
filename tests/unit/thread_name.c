/* The names of a pool's threads, as the system shows them. */
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/thread_name.h"
#include "support/test.h"

enum naming { WORKER, CLOCK, KEEPER };

struct named {
    const char *pool;
    enum naming naming;
    unsigned index;
    char before[LANEPOOL_I_THREAD_NAME_SIZE];
    char name[LANEPOOL_I_THREAD_NAME_SIZE];
};

static void *name_itself(void *context)
{
    struct named *named = context;

    prctl(PR_GET_NAME, named->before, 0, 0, 0);
    switch (named->naming) {
    case WORKER:
        lanepool_i_thread_name_worker(named->pool, named->index);
        break;
    case CLOCK:
        lanepool_i_thread_name_clock(named->pool);
        break;
    case KEEPER:
        lanepool_i_thread_name_keeper(named->pool);
        break;
    }
    prctl(PR_GET_NAME, named->name, 0, 0, 0);
    return NULL;
}

/* Runs a thread that names itself. Fills in its names before and after that. */
static void run_named(struct named *named)
{
    pthread_t thread;

    expect_eq(pthread_create(&thread, NULL, name_itself, named), 0);
    expect_eq(pthread_join(thread, NULL), 0);
}

static void expect_name(const char *pool, enum naming naming, unsigned index, const char *wanted)
{
    struct named named = { .pool = pool, .naming = naming, .index = index };

    run_named(&named);
    expect(strcmp(named.name, wanted) == 0);
}

Test(thread_name, a_copy_is_cut_to_what_a_name_can_hold)
{
    char copy[LANEPOOL_I_THREAD_NAME_SIZE];

    lanepool_i_thread_name_copy(copy, "ledger");
    expect(strcmp(copy, "ledger") == 0);
    lanepool_i_thread_name_copy(copy, "123456789012345");
    expect(strcmp(copy, "123456789012345") == 0);
    lanepool_i_thread_name_copy(copy, "1234567890123456");
    expect(strcmp(copy, "123456789012345") == 0);
}

Test(thread_name, no_name_is_an_empty_one)
{
    char copy[LANEPOOL_I_THREAD_NAME_SIZE] = "before";

    lanepool_i_thread_name_copy(copy, NULL);
    expect(strcmp(copy, "") == 0);
    memset(copy, 'x', sizeof copy);
    lanepool_i_thread_name_copy(copy, "");
    expect(strcmp(copy, "") == 0);
}

Test(thread_name, threads_are_named_after_pool_and_role)
{
    expect_name("ledger", WORKER, 0, "ledger/0");
    expect_name("ledger", WORKER, 10, "ledger/10");
    expect_name("ledger", WORKER, 4095, "ledger/4095");
    expect_name("ledger", CLOCK, 0, "ledger/clock");
    expect_name("ledger", KEEPER, 0, "ledger/keeper");
}

Test(thread_name, the_pools_name_is_cut_where_both_do_not_fit)
{
    expect_name("1234567890123", WORKER, 7, "1234567890123/7");
    expect_name("12345678901234", WORKER, 7, "1234567890123/7");
    expect_name("123456789", CLOCK, 0, "123456789/clock");
    expect_name("1234567890", CLOCK, 0, "123456789/clock");
    expect_name("123456789012345", KEEPER, 0, "12345678/keeper");
}

/* Each of these letters has two bytes. */
Test(thread_name, characters_of_utf8_are_cut_whole)
{
    expect_name("12345678\xc3\xa9", CLOCK, 0, "12345678/clock");
    expect_name("1234567\xc3\xa9\xc3\xa9", CLOCK, 0, "1234567\xc3\xa9/clock");
    expect_name("123456\xc3\xa9\xc3\xa9\xc3\xa9", CLOCK, 0, "123456\xc3\xa9/clock");
}

Test(thread_name, an_empty_pool_name_changes_no_thread)
{
    for (int naming = WORKER; naming <= KEEPER; naming++) {
        struct named named = { .pool = "", .naming = (enum naming)naming };

        run_named(&named);
        expect(strcmp(named.name, named.before) == 0);
    }
}
