/*
 * How many undeclared accesses ThreadSanitizer finds in pools with LANEPOOL_CHECK_ACCESSES.
 *
 *     undeclared [--runs N] [--tasks N] [--found PERCENT]
 *
 * Each run submits tasks over 64 keys. A quarter of them has two keys, and a quarter shares its
 * key. With lanes per key, one in eight is a cut. One access of the run is undeclared: of each
 * kind, N runs with 1, 2 and 4 workers. As many runs have none, and nothing may be reported there.
 * The run's number is its seed.
 *
 * Fails if less than PERCENT of a kind are found (97 unless given), and after a false report.
 * ThreadSanitizer remembers a part of the accesses only, so that few runs need a lower limit.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lanepool/lanepool.h"
#include "support/random.h"

enum { KEYS = 64, SHARERS = 2 };

enum kind {
    NONE,
    READS_OTHER,
    WRITES_OTHER,
    WRITES_SHARED,
    AFTER_RELEASE,
    AFTER_COMPLETE,
    BY_SUBMITTER,
    VISIT_OF_OTHER,
    VISIT_OF_SHARED,
    BEHIND_VISITS,
    KINDS
};

static const char *const names[KINDS] = {
    "none",
    "reads a key that it does not claim",
    "writes a key that it does not claim",
    "writes a key that it shares",
    "writes a key that it has released early",
    "writes a key after it has completed the task",
    "the submitter writes a key of pending tasks",
    "a visit of a cut writes the key of another lane of the cut",
    "a visit of a cut writes a key that it shares",
    "the function of a cut writes a key that was visited",
};

struct account {
    _Alignas(64) long balance;
};

struct step {
    struct world *world;
    unsigned keys[2];
    unsigned key_count;
    bool is_shared;
    bool submits; /* another task, from inside */
    bool is_cut;
    bool is_planted;
    long seen[2]; /* of a cut: what each visit has read */
};

struct world {
    lanepool_pool *pool;
    struct account accounts[KEYS];
    struct step *steps;
    enum kind kind;
    bool uses_worker;  /* what belongs to a worker, which no task claims */
    unsigned slots[4]; /* by worker */
    unsigned other;    /* a key that the planted task does not claim */
    pthread_t completer;
    lanepool_detached *detached;
};

static __thread unsigned calls_here;
static unsigned reports; /* of the run; written by the thread that reports, under its lock */

/* ThreadSanitizer asks a program for these. */
const char *__tsan_default_options(void);
const char *__tsan_default_suppressions(void);
void __tsan_on_report(void *report);

const char *__tsan_default_options(void)
{
    return "exitcode=0:suppress_equal_stacks=0:suppress_equal_addresses=0:log_path=/dev/null:"
           "report_thread_leaks=0";
}

const char *__tsan_default_suppressions(void)
{
    return LANEPOOL_CHECK_SUPPRESSIONS;
}

void __tsan_on_report(void *report)
{
    (void)report;
    __atomic_fetch_add(&reports, 1, __ATOMIC_RELAXED);
}

/* --- tasks --- */

static void *complete_and_write(void *argument)
{
    struct world *world = argument;
    lanepool_status status = lanepool_task_complete(world->detached, 0, NULL);
    world->accounts[world->other].balance++;
    return status == LANEPOOL_OK ? NULL : world;
}

static void do_undeclared(lanepool_run *run, struct step *step)
{
    struct world *world = step->world;
    switch (world->kind) {
    case READS_OTHER:
        world->accounts[step->keys[0]].balance += world->accounts[world->other].balance;
        break;
    case WRITES_OTHER:
        world->accounts[world->other].balance++;
        break;
    case WRITES_SHARED:
        world->accounts[step->keys[0]].balance++;
        break;
    case AFTER_RELEASE:
        if (lanepool_run_release(run, lanepool_key_id(step->keys[0])) != LANEPOOL_OK)
            abort();
        world->accounts[step->keys[0]].balance++;
        break;
    case AFTER_COMPLETE:
        world->other = step->keys[0];
        if (lanepool_run_detach(run, &world->detached) != LANEPOOL_OK ||
            pthread_create(&world->completer, NULL, complete_and_write, world) != 0)
            abort();
        break;
    default:
        break;
    }
}

static void use_worker(const struct step *step, lanepool_run *run)
{
    if (step->world->uses_worker) {
        step->world->slots[lanepool_run_worker(run)]++;
        ++*(unsigned *)lanepool_run_worker_context(run);
    }
}

/* --- cuts --- */

static int visit_lane(lanepool_run *run, void *context, size_t index)
{
    struct step *step = context;
    struct account *accounts = step->world->accounts;
    volatile long sum = accounts[step->keys[index]].balance;
    step->seen[index] = sum;
    if (!step->is_shared)
        accounts[step->keys[index]].balance++;
    use_worker(step, run);
    if (step->is_planted && index == 0 && step->world->kind == VISIT_OF_OTHER)
        accounts[step->keys[1]].balance++;
    if (step->is_planted && index == 0 && step->world->kind == VISIT_OF_SHARED)
        accounts[step->keys[0]].balance++;
    return 0;
}

static int add_up(lanepool_run *run, void *context)
{
    struct step *step = context;
    step->seen[0] += step->seen[1];
    use_worker(step, run);
    if (step->is_planted && step->world->kind == BEHIND_VISITS)
        step->world->accounts[step->keys[0]].balance++;
    return 0;
}

/* --- steps --- */

static int run_step(lanepool_run *run, void *context);

static void submit_step(struct step *step)
{
    lanepool_claim claims[2];
    for (unsigned i = 0; i < step->key_count; i++)
        claims[i] = lanepool_claim_of(lanepool_key_id(step->keys[i]),
                                      step->is_shared ? LANEPOOL_SHARED : LANEPOOL_EXCLUSIVE);
    lanepool_task task = LANEPOOL_TASK_INIT;
    task.function = step->is_cut ? add_up : run_step;
    task.at_lane = step->is_cut ? visit_lane : NULL;
    task.context = step;
    task.claims = claims;
    task.claim_count = step->key_count;
    if (lanepool_pool_submit(step->world->pool, &task) != LANEPOOL_OK)
        abort();
}

static int run_step(lanepool_run *run, void *context)
{
    struct step *step = context;
    struct account *accounts = step->world->accounts;
    volatile long sum = 0; /* a local of every task, at one place of its stack */
    for (unsigned i = 0; i < step->key_count; i++) {
        sum += accounts[step->keys[i]].balance;
        if (!step->is_shared)
            accounts[step->keys[i]].balance++;
    }
    calls_here++;
    use_worker(step, run);
    if (step->submits)
        submit_step(step + 1);
    if (step->is_planted)
        do_undeclared(run, step);
    return 0;
}

/* --- a run --- */

static void *start_worker(void *user, size_t worker)
{
    (void)user;
    (void)worker;
    return calloc(1, sizeof(unsigned));
}

static void stop_worker(void *user, size_t worker, void *context)
{
    (void)user;
    (void)worker;
    free(context);
}

/* Draws a key that the planted task does not claim. */
static unsigned draw_other(uint64_t *random, const struct step *planted)
{
    unsigned other = random_below(random, KEYS);
    while (other == planted->keys[0] || other == planted->keys[1])
        other = random_below(random, KEYS);
    return other;
}

/* A write under a shared claim is a mistake only beside other tasks that share the key. */
static void add_sharers(struct step *planted)
{
    for (struct step *step = planted - SHARERS; step <= planted + SHARERS; step++) {
        bool is_planted = step == planted;
        *step = (struct step){ .world = planted->world, .key_count = 1, .is_shared = true };
        step->keys[0] = step->keys[1] = planted->keys[0];
        step->is_planted = is_planted;
        step->is_cut = is_planted && step->world->kind == VISIT_OF_SHARED;
    }
}

static bool is_of_cut(enum kind kind)
{
    return kind >= VISIT_OF_OTHER;
}

/* The planted cut has two lanes, and changes them. */
static void plant_cut(struct step *planted, uint64_t *random)
{
    planted->is_cut = true;
    planted->keys[1] = (planted->keys[0] + 1 + random_below(random, KEYS - 1)) % KEYS;
    planted->key_count = 2;
}

/* A write after the claim has ended is a mistake only beside a later task of the key. */
static void add_successor(const struct step *planted, struct step *last)
{
    last->key_count = 1;
    last->keys[0] = last->keys[1] = planted->keys[0];
}

/* A step with `submits` is followed by the one that it submits. */
static void draw_steps(struct world *world, size_t count, bool cuts, uint64_t *random)
{
    size_t planted = count / 4 + random_below(random, (uint32_t)count / 2);
    for (size_t i = 0; i < count; i++) {
        struct step *step = &world->steps[i];
        bool is_inner = i > 0 && step[-1].submits;
        *step = (struct step){ .world = world, .key_count = 1 };
        step->keys[0] = step->keys[1] = random_below(random, KEYS);
        step->is_planted = i == planted && world->kind != NONE && world->kind != BY_SUBMITTER;
        if (step->is_planted)
            continue;
        if (random_below(random, 4) == 0) {
            step->keys[1] = (step->keys[0] + 1 + random_below(random, KEYS - 1)) % KEYS;
            step->key_count = 2;
        }
        step->is_shared = random_below(random, 4) == 0;
        step->submits = !is_inner && i + 1 < count && random_below(random, 16) == 0 &&
                        (i + 1 < planted - SHARERS || i > planted + SHARERS);
        step->is_cut = cuts && !step->submits && random_below(random, 8) == 0;
    }
    if (is_of_cut(world->kind))
        plant_cut(&world->steps[planted], random);
    if (world->kind == WRITES_SHARED || world->kind == VISIT_OF_SHARED)
        add_sharers(&world->steps[planted]);
    if (world->kind == AFTER_RELEASE || world->kind == AFTER_COMPLETE ||
        world->kind == BEHIND_VISITS)
        add_successor(&world->steps[planted], &world->steps[count - 1]);
    world->other = draw_other(random, &world->steps[planted]);
}

/* Returns whether ThreadSanitizer has reported anything. */
static bool run_world(enum kind kind, size_t task_count, unsigned workers, lanepool_layout layout,
                      uint64_t seed)
{
    uint64_t random = seed;
    struct world *world = aligned_alloc(64, sizeof *world);
    if (world == NULL)
        abort();
    memset(world, 0, sizeof *world);
    world->steps = calloc(task_count, sizeof *world->steps);
    if (world->steps == NULL)
        abort();
    world->kind = kind;
    world->uses_worker = kind == NONE && seed % 2 == 0;
    draw_steps(world, task_count, layout == LANEPOOL_PER_KEY, &random);
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    options.workers = workers;
    options.layout = layout;
    options.worker_start = start_worker;
    options.worker_stop = stop_worker;
    options.checks = LANEPOOL_CHECK_ACCESSES;
    reports = 0;
    if (lanepool_pool_create(&options, &world->pool) != LANEPOOL_OK)
        abort();
    for (size_t i = 0; i < task_count; i++) {
        if (i == 0 || !world->steps[i - 1].submits)
            submit_step(&world->steps[i]);
        if (kind == BY_SUBMITTER && i == task_count / 2)
            world->accounts[world->other].balance++;
    }
    if (lanepool_pool_destroy(world->pool) != LANEPOOL_OK)
        abort();
    if (world->detached != NULL && pthread_join(world->completer, NULL) != 0)
        abort();
    free(world->steps);
    free(world);
    return reports > 0;
}

/* --- all runs --- */

/* An early release and a cut need a lane for each key. */
static bool is_offered(enum kind kind, lanepool_layout layout)
{
    return (kind != AFTER_RELEASE && !is_of_cut(kind)) || layout == LANEPOOL_PER_KEY;
}

/* Sums over all runs. */
struct tally {
    unsigned planted;
    unsigned found;
    unsigned false_reports;
    unsigned kinds_missed; /* less than the wanted part of a kind was found */
};

/* What the command line asks for. */
struct wanted {
    unsigned runs;
    unsigned tasks;
    unsigned found_percent;
};

static void try_kind(enum kind kind, lanepool_layout layout, const struct wanted *wanted,
                     struct tally *tally)
{
    static const unsigned worker_counts[] = { 1, 2, 4 };
    unsigned planted = 0, reported = 0;
    printf("| %s | %s |", layout == LANEPOOL_PER_KEY ? "per key" : "per worker", names[kind]);
    for (size_t i = 0; i < sizeof worker_counts / sizeof *worker_counts; i++) {
        unsigned found = 0;
        for (unsigned seed = 1; seed <= wanted->runs; seed++)
            found += run_world(kind, wanted->tasks, worker_counts[i], layout, seed);
        printf(" %u of %u |", found, wanted->runs);
        fflush(stdout);
        planted += wanted->runs;
        reported += found;
    }
    printf("\n");
    if (kind == NONE) {
        tally->false_reports += reported;
        return;
    }
    tally->planted += planted;
    tally->found += reported;
    tally->kinds_missed += reported * 100 < planted * wanted->found_percent;
}

static bool read_arguments(int argc, char **argv, struct wanted *wanted)
{
    if (argc % 2 == 0)
        return false;
    for (int i = 1; i < argc; i += 2) {
        unsigned value = (unsigned)strtoul(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--runs") == 0)
            wanted->runs = value;
        else if (strcmp(argv[i], "--tasks") == 0)
            wanted->tasks = value;
        else if (strcmp(argv[i], "--found") == 0)
            wanted->found_percent = value;
        else
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    struct wanted wanted = { .runs = 100, .tasks = 1000, .found_percent = 97 };
    if (!read_arguments(argc, argv, &wanted)) {
        fprintf(stderr, "usage: undeclared [--runs N] [--tasks N] [--found PERCENT]\n");
        return 2;
    }
    const char *missing = lanepool_check_accesses_missing();
    if (missing != NULL) {
        printf("accesses cannot be checked here: %s\n", missing);
        return EXIT_FAILURE;
    }
    struct tally tally = { 0 };
    printf("| lanes | undeclared | 1 worker | 2 | 4 |\n|---|---|--:|--:|--:|\n");
    for (int layout = LANEPOOL_PER_KEY; layout <= LANEPOOL_PER_WORKER; layout++)
        for (int kind = NONE; kind < KINDS; kind++)
            if (is_offered((enum kind)kind, (lanepool_layout)layout))
                try_kind((enum kind)kind, (lanepool_layout)layout, &wanted, &tally);
    printf("%u of %u found, %u false reports\n", tally.found, tally.planted, tally.false_reports);
    if (tally.kinds_missed > 0)
        printf("%u kinds: fewer than %u %% found\n", tally.kinds_missed, wanted.found_percent);
    return tally.kinds_missed == 0 && tally.false_reports == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
