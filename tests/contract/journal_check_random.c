/* Checks of random journals: no fault in those that a serial model has made, and each planted one.
 */
#include <inttypes.h>
#include <stdio.h>

#include "lanepool/lanepool.h"
#include "support/memory.h"
#include "support/random.h"
#include "support/test.h"

enum { ENTRIES = 6000, KEYS = 12, CLAIMS_MAX = 5, ROUNDS = 8, PASSES = 8, FAULTS_MAX = 16 };

/* A task of the model. A barrier has the key KEYS. */
struct ran {
    uint64_t ticket;
    lanepool_claim claims[CLAIMS_MAX];
    uint64_t numbers[CLAIMS_MAX];
    unsigned keys[CLAIMS_MAX]; /* of the claims */
    size_t claim_count;
};

/* A journal, and what its check has found. */
struct round {
    struct ran *tasks;
    uint64_t seed;
    uint64_t random;
    size_t faulty; /* how many entries have faults */
    size_t first;  /* the first one of them, and its faults */
    lanepool_journal_fault faults[FAULTS_MAX];
    size_t count;
};

/* --- the model --- */

static lanepool_key key_of(unsigned i)
{
    static const char names[KEYS + 1] = "abcdefghijkl";

    switch (i % 3) {
    case 0:
        return lanepool_key_id(i);
    case 1:
        return lanepool_key_pointer(names + i - 1);
    default:
        return lanepool_key_bytes(names, i);
    }
}

static bool is_barrier(const struct ran *task)
{
    return task->claim_count == 1 && task->keys[0] == KEYS;
}

static bool do_conflict(const struct ran *a, const struct ran *b)
{
    for (size_t i = 0; i < a->claim_count; i++) {
        for (size_t j = 0; j < b->claim_count; j++) {
            if (a->keys[i] == b->keys[j] &&
                !lanepool_modes_overlap(a->claims[i].mode, b->claims[j].mode)) {
                return true;
            }
        }
    }
    return is_barrier(a) || is_barrier(b);
}

static void draw_task(struct ran *task, uint64_t ticket, uint64_t *random)
{
    *task = (struct ran){ .ticket = ticket, .claim_count = random_below(random, CLAIMS_MAX + 1) };
    for (size_t i = 0; i < task->claim_count; i++) {
        task->keys[i] = random_below(random, KEYS);
        task->claims[i] = lanepool_claim_of(
            key_of(task->keys[i]), (lanepool_mode)random_below(random, LANEPOOL_COMMUTING + 1));
    }
    if (random_below(random, 50) == 0) {
        task->claims[0] = lanepool_claim_all();
        task->keys[0] = KEYS;
        task->claim_count = 1;
    }
}

static void swap_tasks(struct ran *a, struct ran *b)
{
    struct ran task = *a;
    *a = *b;
    *b = task;
}

/* Tasks in the order of their tickets, and then in another one that no conflict forbids. Some
 * receive the lanes of the one before. */
static void draw_tasks(struct round *round)
{
    struct ran *tasks = round->tasks;

    for (size_t i = 0; i < ENTRIES; i++) {
        draw_task(&tasks[i], i + 1, &round->random);
        if (i > 0 && random_below(&round->random, 20) == 0) {
            tasks[i] = tasks[i - 1];
        }
    }
    for (unsigned pass = 0; pass < PASSES; pass++) {
        for (size_t i = 0; i + 1 < ENTRIES; i++) {
            if (random_below(&round->random, 4) > 0 && !do_conflict(&tasks[i], &tasks[i + 1])) {
                swap_tasks(&tasks[i], &tasks[i + 1]);
            }
        }
    }
}

/* Returns true if the task claims the key, and conflicts there with every other claim. */
static bool is_alone(const struct ran *task, unsigned key)
{
    uint64_t overlapping = LANEPOOL_SHARED | LANEPOOL_COMMUTING;

    for (size_t i = 0; i < task->claim_count; i++) {
        if (task->keys[i] == key) {
            overlapping &= task->claims[i].mode;
        }
    }
    return overlapping == 0;
}

/* Gives each claim its lane number. The lanes begin at different numbers. */
static void number_lanes(struct ran *tasks)
{
    uint64_t last[KEYS];

    for (unsigned key = 0; key < KEYS; key++) {
        last[key] = UINT64_C(100) * key;
    }
    for (size_t i = 0; i < ENTRIES; i++) {
        for (unsigned key = 0; key < KEYS; key++) {
            last[key] += is_alone(&tasks[i], key);
        }
        for (size_t k = 0; k < tasks[i].claim_count; k++) {
            tasks[i].numbers[k] = tasks[i].keys[k] == KEYS ? 0 : last[tasks[i].keys[k]];
        }
    }
}

/* --- rounds --- */

static void round_begin(struct round *round, uint64_t seed)
{
    *round = (struct round){ .seed = seed, .random = seed };
    round->tasks = memory_get(ENTRIES, sizeof *round->tasks);
    draw_tasks(round);
}

static void check_round(struct round *round)
{
    lanepool_journal_check *check;

    expect_ok(lanepool_journal_check_create(0, &check));
    round->faulty = 0;
    for (size_t i = 0; i < ENTRIES; i++) {
        const struct ran *task = &round->tasks[i];
        lanepool_journal_entry entry = { .number = i,
                                         .ticket = task->ticket,
                                         .claims = task->claims,
                                         .lane_numbers = task->numbers,
                                         .claim_count = task->claim_count };
        lanepool_journal_fault faults[FAULTS_MAX];
        size_t count;
        lanepool_status status =
            lanepool_journal_check_add(check, &entry, faults, FAULTS_MAX, &count);
        expect_status(status, count > 0 ? LANEPOOL_FAILED : LANEPOOL_OK);
        if (count > 0 && round->faulty++ == 0) {
            expect(count <= FAULTS_MAX);
            round->first = i;
            round->count = count;
            memcpy(round->faults, faults, count * sizeof faults[0]);
        }
    }
    lanepool_journal_check_destroy(check);
}

static void expect_faulty(const struct round *round, size_t wanted)
{
    if (round->faulty != wanted) {
        test_fail(__FILE__, __LINE__, "seed %" PRIu64 ": %zu entries have faults, the first is %zu",
                  round->seed, round->faulty, round->first);
    }
}

/* Returns a place, drawn at random, where a task conflicts with a later one right behind it. */
static size_t draw_conflict(struct round *round)
{
    for (;;) {
        size_t i = random_below(&round->random, ENTRIES - 1);
        const struct ran *task = &round->tasks[i];
        if (task[0].ticket < task[1].ticket && do_conflict(&task[0], &task[1])) {
            return i;
        }
    }
}

Test(journal_check_random, serial_runs_have_no_faults)
{
    struct round round;

    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        round_begin(&round, seed);
        number_lanes(round.tasks);
        check_round(&round);
        expect_faulty(&round, 0);
        free(round.tasks);
    }
}

/* Only the task that came too late is named, and only its ticket. */
Test(journal_check_random, two_conflicting_tasks_in_the_wrong_order_are_found)
{
    struct round round;

    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        round_begin(&round, seed);
        size_t at = draw_conflict(&round);
        swap_tasks(&round.tasks[at], &round.tasks[at + 1]);
        number_lanes(round.tasks);
        check_round(&round);
        expect_faulty(&round, 1);
        expect_eq(round.first, at + 1);
        for (size_t i = 0; i < round.count; i++) {
            expect_eq(round.faults[i].kind, LANEPOOL_JOURNAL_FAULT_TICKET);
            expect_eq(round.faults[i].number, at + 1);
            expect_eq(round.faults[i].expected, round.tasks[at].ticket);
            expect_eq(round.faults[i].found, round.tasks[at + 1].ticket);
        }
        free(round.tasks);
    }
}

static size_t count_claims(const struct ran *task, unsigned key)
{
    size_t count = 0;

    for (size_t i = 0; i < task->claim_count; i++) {
        count += task->keys[i] == key;
    }
    return count;
}

/* Returns a task, drawn at random, whose first claim is its only one of this key. */
static size_t draw_first_claim(struct round *round)
{
    for (;;) {
        size_t i = ENTRIES / 2 + random_below(&round->random, ENTRIES / 4);
        const struct ran *task = &round->tasks[i];
        if (task->claim_count > 0 && !is_barrier(task) && count_claims(task, task->keys[0]) == 1) {
            return i;
        }
    }
}

/* The next entry of the lane does not follow the changed number, all others follow. */
Test(journal_check_random, changed_lane_number_is_found)
{
    struct round round;

    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        round_begin(&round, seed);
        number_lanes(round.tasks);
        size_t at = draw_first_claim(&round);
        uint64_t number = round.tasks[at].numbers[0];
        round.tasks[at].numbers[0] = number + 10;
        check_round(&round);
        expect_faulty(&round, 2);
        expect_eq(round.first, at);
        expect_eq(round.count, 1);
        expect_eq(round.faults[0].kind, LANEPOOL_JOURNAL_FAULT_LANE_NUMBER);
        expect_eq(round.faults[0].claim, 0);
        expect_eq(round.faults[0].expected, number);
        expect_eq(round.faults[0].found, number + 10);
        free(round.tasks);
    }
}
