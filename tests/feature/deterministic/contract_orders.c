/* The orders that the seeds of pools without threads draw: legal, repeatable, and all of them. */
#include <stdio.h>
#include <string.h>

#include "support/random.h"
#include "support/step.h"
#include "support/test.h"

enum { TASKS = 24, KEYS = 5, CLAIMS = 3, SEEDS = 1000 };

static lanepool_pool *stepped_pool(uint64_t seed, uint64_t plain_from)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.step_seed = seed;
    options.step_plain_from = plain_from;
    return pool_make_with(&options);
}

/* --- random workloads --- */

/* One task of a workload. It may submit the next one inside its call. */
struct piece {
    struct workload *workload;
    uint32_t claim_count;
    uint32_t keys[CLAIMS];
    lanepool_mode modes[CLAIMS];
    bool is_barrier;
    bool submits;
};

/* Pieces in the order of their submits, and the order of their starts. */
struct workload {
    uint64_t random;
    lanepool_pool *pool;
    uint32_t submitted;
    uint32_t started;
    uint32_t failed;
    struct piece pieces[TASKS];
    uint32_t starts[TASKS];
};

static void draw_piece(struct workload *workload, struct piece *piece)
{
    uint64_t *random = &workload->random;

    *piece = (struct piece){ .workload = workload };
    piece->is_barrier = random_below(random, 12) == 0;
    piece->submits = random_below(random, 4) == 0;
    piece->claim_count = piece->is_barrier ? 0 : random_below(random, CLAIMS + 1);
    for (uint32_t i = 0; i < piece->claim_count; i++) {
        piece->keys[i] = random_below(random, KEYS);
        piece->modes[i] = random_below(random, 3) == 0 ? LANEPOOL_SHARED : LANEPOOL_EXCLUSIVE;
    }
}

static int run_piece(lanepool_run *run, void *context);

static void submit_piece(struct workload *workload)
{
    lanepool_claim claims[CLAIMS];
    lanepool_claim all = lanepool_claim_all();
    lanepool_task task = LANEPOOL_TASK_INIT;
    struct piece *piece;

    if (workload->submitted == TASKS) {
        return;
    }
    piece = &workload->pieces[workload->submitted++];
    draw_piece(workload, piece);
    for (uint32_t i = 0; i < piece->claim_count; i++) {
        claims[i] = lanepool_claim_of(lanepool_key_id(piece->keys[i]), piece->modes[i]);
    }
    task.function = run_piece;
    task.context = piece;
    task.claims = piece->is_barrier ? &all : claims;
    task.claim_count = piece->is_barrier ? 1 : piece->claim_count;
    workload->failed += lanepool_pool_submit(workload->pool, &task) != LANEPOOL_OK;
}

static int run_piece(lanepool_run *run, void *context)
{
    struct piece *piece = context;
    struct workload *workload = piece->workload;

    (void)run;
    workload->starts[workload->started++] = (uint32_t)(piece - workload->pieces);
    if (piece->submits) {
        submit_piece(workload);
    }
    return 0;
}

static void run_workload(struct workload *workload, uint64_t seed)
{
    memset(workload, 0, sizeof *workload);
    workload->random = seed;
    workload->pool = stepped_pool(seed, 0);
    while (workload->submitted < TASKS) {
        submit_piece(workload);
        if (random_below(&workload->random, 3) == 0) {
            workload->failed += lanepool_pool_step(workload->pool) != LANEPOOL_OK;
        }
    }
    workload->failed += lanepool_pool_destroy(workload->pool) != LANEPOOL_OK;
}

/* --- the judge --- */

static bool do_conflict(const struct piece *a, const struct piece *b)
{
    if (a->is_barrier || b->is_barrier) {
        return true;
    }
    for (uint32_t i = 0; i < a->claim_count; i++) {
        for (uint32_t j = 0; j < b->claim_count; j++) {
            if (a->keys[i] == b->keys[j] &&
                (a->modes[i] == LANEPOOL_EXCLUSIVE || b->modes[j] == LANEPOOL_EXCLUSIVE)) {
                return true;
            }
        }
    }
    return false;
}

/* Every task started once, and each of two that conflict in the order of their submits. */
static bool is_legal(const struct workload *workload)
{
    bool seen[TASKS] = { false };

    if (workload->started != workload->submitted || workload->failed > 0) {
        return false;
    }
    for (uint32_t at = 0; at < workload->started; at++) {
        uint32_t id = workload->starts[at];

        if (seen[id]) {
            return false;
        }
        seen[id] = true;
        for (uint32_t later = at + 1; later < workload->started; later++) {
            uint32_t other = workload->starts[later];

            if (other < id && do_conflict(&workload->pieces[other], &workload->pieces[id])) {
                return false;
            }
        }
    }
    return true;
}

Test(deterministic_orders, each_seed_draws_a_legal_order_and_repeats_it)
{
    static struct workload first;
    static struct workload again;
    uint64_t failing = 0;

    for (uint64_t seed = 1; seed <= SEEDS && failing == 0; seed++) {
        run_workload(&first, seed);
        run_workload(&again, seed);
        if (!is_legal(&first) || memcmp(first.starts, again.starts, sizeof first.starts) != 0) {
            failing = seed;
        }
    }
    if (failing != 0) {
        fprintf(stderr, "step_seed %llu\n", (unsigned long long)failing);
    }
    expect_eq(failing, 0);
}

/* --- one order on all machines --- */

static void fold(void *context, uint32_t id)
{
    uint64_t *sum = context;

    *sum = random_mix(*sum ^ id);
}

/* The sum changes only if the library draws other orders, which a release would announce. */
Test(deterministic_orders, seeds_draw_the_same_orders_on_all_machines)
{
    static struct workload workload;
    uint64_t sum = 0;

    for (uint64_t seed = 1; seed <= 100; seed++) {
        run_workload(&workload, seed);
        for (uint32_t i = 0; i < workload.started; i++) {
            fold(&sum, workload.starts[i]);
        }
    }
    expect(sum == UINT64_C(0xa2e3d8ccef92692b));
}

/* --- all orders --- */

struct letter {
    char *text;
    char name;
};

static int write_letter(lanepool_run *run, void *context)
{
    struct letter *letter = context;

    (void)run;
    letter->text[strlen(letter->text)] = letter->name;
    return 0;
}

/* Runs tasks a, b, c ... on the keys in order, and writes the order of their starts. Key 0: none.
 */
static void run_letters(uint64_t seed, uint64_t plain_from, const uint64_t *keys, size_t count,
                        char *text)
{
    struct letter letters[8];
    lanepool_pool *pool = stepped_pool(seed, plain_from);

    for (size_t i = 0; i < count; i++) {
        lanepool_key key = keys[i] != 0 ? lanepool_key_id(keys[i]) : lanepool_key_none();

        letters[i] = (struct letter){ text, (char)('a' + i) };
        expect_ok(lanepool_pool_run(pool, key, write_letter, &letters[i]));
    }
    pool_end(pool);
}

static size_t count_orders(const uint64_t *keys, size_t count)
{
    char orders[64][9] = { "" };
    size_t known = 0;

    for (uint64_t seed = 1; seed <= 2000; seed++) {
        char text[9] = "";
        size_t i = 0;

        run_letters(seed, 0, keys, count, text);
        while (i < known && strcmp(orders[i], text) != 0) {
            i++;
        }
        if (i == known && known < 64) {
            memcpy(orders[known++], text, sizeof text);
        }
    }
    return known;
}

Test(deterministic_orders, the_seeds_reach_every_legal_order_and_no_other)
{
    static const uint64_t unrelated[] = { 0, 0, 0, 0 };
    static const uint64_t same[] = { 1, 1, 1, 1 };
    static const uint64_t pairs[] = { 1, 2, 1, 2 };

    expect_eq(count_orders(unrelated, 4), 24);
    expect_eq(count_orders(same, 4), 1);
    expect_eq(count_orders(pairs, 4), 6);
}

/* --- fewer draws --- */

enum { LETTERS = 8, DRAWS_MAX = 40 };

Test(deterministic_orders, after_the_last_draw_tasks_start_as_accepted)
{
    static const uint64_t unrelated[LETTERS] = { 0 };

    for (uint64_t seed = 1; seed <= 50; seed++) {
        char whole[LETTERS + 1] = "";
        char text[LETTERS + 1] = "";
        bool differed = false;

        run_letters(seed, 0, unrelated, LETTERS, whole);
        run_letters(seed, 1, unrelated, LETTERS, text);
        expect(strcmp(text, "abcdefgh") == 0);
        /* Each run begins as the seed draws, and has the rest in order. */
        for (uint64_t from = 2; from <= DRAWS_MAX; from++) {
            size_t same = 0;

            memset(text, 0, sizeof text);
            run_letters(seed, from, unrelated, LETTERS, text);
            while (same < LETTERS && text[same] == whole[same]) {
                same++;
            }
            for (size_t i = same + 1; i < LETTERS; i++) {
                expect(text[i - 1] < text[i]);
            }
            differed = differed || same < LETTERS;
        }
        expect(strcmp(text, whole) == 0);
        expect(differed);
    }
}
