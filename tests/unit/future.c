/* A future: references, listeners, and which call decides whether the task starts. */
#include "future/future.h"

#include "support/test.h"
#include "unit/counted_memory.h"

enum { LISTENERS = 4 };

struct fixture {
    struct counted_memory memory;
    lanepool_i_slab slab;
    lanepool_i_thread_record record; /* of the test's thread */
    lanepool_future *future;         /* with two references: the program's and the task's */
    lanepool_result result;
    char called[LISTENERS + 1]; /* names of the callbacks, in the order of their calls */
    size_t count;
    lanepool_status status_seen;
    const void *value_seen;
};

struct callback {
    struct fixture *all;
    char name;
};

static void fixture_init(struct fixture *all)
{
    *all = (struct fixture){ .result = { .status = LANEPOOL_CANCELLED, .value = all } };
    counted_memory_init(&all->memory);
    expect(lanepool_i_slab_init(&all->slab, &all->memory.allocator, LANEPOOL_I_FUTURE_CLASS));
    all->record.slab = &all->slab;
    all->future = lanepool_i_future_create(&all->record, lanepool_i_creator_self(), NULL, NULL);
    expect(all->future != NULL);
}

/* The pool ends. Its futures may stay. */
static void fixture_end(struct fixture *all)
{
    lanepool_i_slab_flush(&all->slab, &all->record.cache);
    lanepool_i_slab_fini(&all->slab, all->record.futures);
}

static void expect_freed(struct fixture *all)
{
    fixture_end(all);
    expect_eq(all->memory.live, 0);
    expect_eq(all->memory.bytes, 0);
}

/* The task ends. */
static void complete(struct fixture *all)
{
    lanepool_i_future_complete(all->future, &all->record, &all->result);
}

static void note(void *context, const lanepool_result *result)
{
    struct callback *callback = context;
    struct fixture *all = callback->all;

    if (all->count < LISTENERS) {
        all->called[all->count++] = callback->name;
    }
    all->status_seen = result->status;
    all->value_seen = result->value;
}

/* The future frees a listener with a callback when it serves it. */
static lanepool_i_listener *listener_make(struct callback *callback)
{
    lanepool_i_listener *listener = lanepool_i_memory_alloc(sizeof *listener);

    expect(listener != NULL);
    *listener = (lanepool_i_listener){ .then = note, .context = callback, .is_owned = true };
    return listener;
}

static void call_back(struct fixture *all, struct callback *callback, char name)
{
    *callback = (struct callback){ all, name };
    expect(lanepool_i_future_listen(all->future, listener_make(callback)));
}

/* A lock that is taken is waited for in the process that made the future, and in no other. */
Test(future, knows_the_process_that_made_it)
{
    struct fixture all;

    fixture_init(&all);
    expect_eq(all.future->creator.process, lanepool_i_creator_self().process);
    lanepool_i_word_lock_lock(&all.future->lock);
    expect(lanepool_i_future_is_here(all.future));
    all.future->creator.process++;
    expect(!lanepool_i_future_is_here(all.future));
    lanepool_i_word_lock_unlock(&all.future->lock);
    expect(lanepool_i_future_is_here(all.future));
    complete(&all);
    lanepool_future_release(all.future);
    expect_freed(&all);
}

Test(future, is_freed_with_its_last_reference)
{
    struct fixture all;

    fixture_init(&all);
    expect(lanepool_future_retain(all.future) == all.future);
    lanepool_future_release(all.future);
    lanepool_future_release(all.future);
    complete(&all); /* the task has the last reference */
    expect_freed(&all);
}

Test(future, outlives_its_task_while_the_program_has_a_reference)
{
    struct fixture all;

    fixture_init(&all);
    expect(!lanepool_i_future_is_complete(all.future));
    complete(&all);
    expect(lanepool_i_future_is_complete(all.future));
    lanepool_future_release(all.future);
    expect_freed(&all);
}

/* The memory is freed with the last of them. */
Test(future, outlives_its_pool_while_the_program_has_a_reference)
{
    for (size_t count = 1; count <= 3; count++) {
        struct fixture all;
        lanepool_future *futures[3];

        fixture_init(&all);
        for (size_t i = 0; i < count; i++) {
            futures[i] = all.future;
            complete(&all);
            all.future =
                lanepool_i_future_create(&all.record, lanepool_i_creator_self(), NULL, NULL);
        }
        lanepool_future_release(all.future);
        complete(&all);
        fixture_end(&all);
        for (size_t i = 0; i < count; i++) {
            expect_eq(all.memory.live, 1);
            expect(lanepool_i_future_is_complete(futures[i]));
            expect(futures[i]->result.value == &all);
            lanepool_future_release(futures[i]);
        }
        expect_eq(all.memory.live, 0);
    }
}

Test(future, of_a_sequence_is_freed_with_its_last_reference)
{
    static const lanepool_i_future_owner owner;
    lanepool_future *future =
        lanepool_i_future_create_owned(lanepool_i_creator_self(), &owner, NULL);

    expect(lanepool_i_future_owner_of(future) == &owner);
    lanepool_i_future_complete(future, NULL, &(lanepool_result){ .status = LANEPOOL_OK });
    lanepool_future_release(future);
}

Test(future, releasing_none_does_nothing)
{
    lanepool_future_release(NULL);
}

Test(future, create_fails_without_memory)
{
    struct fixture all;

    fixture_init(&all);
    all.memory.refuses = true;
    while (lanepool_i_future_create(&all.record, lanepool_i_creator_self(), NULL, NULL) != NULL) {
        all.record.futures--; /* the fixture's slab takes the block along */
    }
    lanepool_future_release(all.future);
    complete(&all);
    expect_freed(&all);
}

Test(future, listeners_are_served_in_order_with_the_result)
{
    struct fixture all;
    struct callback callbacks[LISTENERS];

    fixture_init(&all);
    for (size_t i = 0; i < LISTENERS; i++) {
        call_back(&all, &callbacks[i], (char)('a' + i));
    }
    expect_eq(all.count, 0);
    complete(&all);
    expect(strcmp(all.called, "abcd") == 0);
    expect_status(all.status_seen, LANEPOOL_CANCELLED);
    expect(all.value_seen == &all);
    lanepool_future_release(all.future);
    expect_freed(&all);
}

Test(future, a_complete_future_has_no_more_listeners)
{
    struct fixture all;
    struct callback callback = { &all, 'a' };
    lanepool_i_listener *listener;

    fixture_init(&all);
    complete(&all);
    listener = listener_make(&callback);
    expect(!lanepool_i_future_listen(all.future, listener));
    expect(!lanepool_i_future_unlisten(all.future, listener));
    expect_eq(all.count, 0);
    lanepool_i_memory_free(listener);
    lanepool_future_release(all.future);
    expect_freed(&all);
}

Test(future, any_listener_may_leave_and_others_join_behind)
{
    static const char *const rest[3] = { "bcd", "acd", "abd" };

    for (size_t leaves = 0; leaves < 3; leaves++) {
        struct fixture all;
        struct callback callbacks[LISTENERS];
        lanepool_i_listener *listeners[3];

        fixture_init(&all);
        for (size_t i = 0; i < 3; i++) {
            callbacks[i] = (struct callback){ &all, (char)('a' + i) };
            listeners[i] = listener_make(&callbacks[i]);
            expect(lanepool_i_future_listen(all.future, listeners[i]));
        }
        expect(lanepool_i_future_unlisten(all.future, listeners[leaves]));
        lanepool_i_memory_free(listeners[leaves]);
        call_back(&all, &callbacks[3], 'd');
        complete(&all);
        expect(strcmp(all.called, rest[leaves]) == 0);
        lanepool_future_release(all.future);
        expect_freed(&all);
    }
}

Test(future, a_waiting_thread_is_posted_once)
{
    struct fixture all;
    lanepool_i_semaphore semaphore;
    lanepool_i_listener listener = { .semaphore = &semaphore };

    expect(lanepool_i_semaphore_init(&semaphore));
    fixture_init(&all);
    expect(lanepool_i_future_listen(all.future, &listener));
    expect(!lanepool_i_semaphore_wait_until(&semaphore, 1));
    complete(&all);
    expect(lanepool_i_semaphore_wait_until(&semaphore, 1));
    expect(!lanepool_i_semaphore_wait_until(&semaphore, 1));
    lanepool_future_release(all.future);
    expect_freed(&all);
    lanepool_i_semaphore_fini(&semaphore);
}

Test(future, only_callbacks_call_into_the_program)
{
    struct fixture all;
    struct callback callback;
    lanepool_i_semaphore semaphore;
    lanepool_i_listener waits = { .semaphore = &semaphore };

    expect(lanepool_i_semaphore_init(&semaphore));
    fixture_init(&all);
    expect(!lanepool_i_future_has_callbacks(all.future));
    expect(lanepool_i_future_listen(all.future, &waits));
    expect(!lanepool_i_future_has_callbacks(all.future));
    call_back(&all, &callback, 'a');
    expect(lanepool_i_future_has_callbacks(all.future));
    complete(&all);
    lanepool_future_release(all.future);
    expect_freed(&all);
    lanepool_i_semaphore_fini(&semaphore);
}

Test(future, a_task_starts_unless_it_was_given_up_before)
{
    struct fixture all;

    fixture_init(&all);
    expect(lanepool_i_future_start(all.future));
    expect_eq(lanepool_i_future_phase(all.future), LANEPOOL_I_PHASE_RUNNING);
    complete(&all);
    lanepool_future_release(all.future);
    expect_freed(&all);
    fixture_init(&all);
    expect(lanepool_i_future_give_up(all.future));
    expect(!lanepool_i_future_start(all.future));
    expect_eq(lanepool_i_future_phase(all.future), LANEPOOL_I_PHASE_CANCELLED);
    expect(!lanepool_i_future_give_up(all.future)); /* only one call decides */
    complete(&all);
    lanepool_future_release(all.future);
    expect_freed(&all);
}

/* The first of the two decides. */
Test(future, a_task_with_only_a_future_starts_or_is_cancelled)
{
    for (int cancels_first = 0; cancels_first < 2; cancels_first++) {
        struct fixture all;

        fixture_init(&all);
        if (cancels_first != 0) {
            expect(lanepool_i_future_cancel_locked(all.future));
            expect(!lanepool_i_future_start_simple(all.future));
            lanepool_i_future_drop_tombstone(all.future);
            lanepool_i_future_release(all.future); /* the canceller's */
        } else {
            expect(lanepool_i_future_start_simple(all.future));
            expect(!lanepool_i_future_cancel_locked(all.future));
        }
        complete(&all);
        lanepool_future_release(all.future);
        expect_freed(&all);
    }
}

/* As docs/phases.md has them. */
Test(future, the_phases_of_a_task_follow_one_another_as_documented)
{
    static const char *const legal[LANEPOOL_I_PHASES] = {
        [LANEPOOL_I_PHASE_PENDING] = "-R-CD",   [LANEPOOL_I_PHASE_RUNNING] = "P-S-D",
        [LANEPOOL_I_PHASE_SUSPENDED] = "-R--D", [LANEPOOL_I_PHASE_CANCELLED] = "----D",
        [LANEPOOL_I_PHASE_DONE] = "P----",
    };

    for (int from = 0; from < LANEPOOL_I_PHASES; from++) {
        for (int to = 0; to < LANEPOOL_I_PHASES; to++) {
            expect_eq(lanepool_i_phase_may_follow((lanepool_i_phase)from, (lanepool_i_phase)to),
                      legal[from][to] != '-');
        }
    }
}

Test(future, a_stopped_run_is_called_but_has_not_started)
{
    struct fixture all;

    fixture_init(&all);
    store_relaxed(&all.future->asked_to_end, true);
    expect(lanepool_i_future_start(all.future));
    expect_eq(lanepool_i_future_phase(all.future), LANEPOOL_I_PHASE_PENDING);
    complete(&all);
    lanepool_future_release(all.future);
    expect_freed(&all);
}

Test(future, dropping_the_tombstone_gives_the_tasks_reference_back)
{
    struct fixture all;

    fixture_init(&all);
    (void)lanepool_future_retain(all.future);
    lanepool_i_future_drop_tombstone(all.future);
    complete(&all);
    expect(lanepool_i_future_is_complete(all.future));
    lanepool_future_release(all.future);
    expect_freed(&all);
}
