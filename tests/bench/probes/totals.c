/*
 * How late postings start while totals over all lanes are made. A submitter posts at a fixed rate.
 * Now and then it also submits a total, which reads the balance of every lane. A total that is a
 * rollup holds all lanes until it has read the last one. If it is a cut, each lane goes on at once.
 *
 * One lane is slow on demand: a posting in front of each total sleeps there, or the total does.
 * Lateness counts from the planned time of a submit. So a submitter that lags behind makes postings
 * late, too. Submits that came late are counted apart.
 *
 * Each total must have read, in every lane, exactly the postings that were submitted before it.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "waits.h"

#define WORKERS   2
#define BODY_NS   1e3
#define VISIT_NS  50   /* what a total does for each lane */
#define SLOW_NS   50e6 /* what the slow lane waits for */
#define LATE_NS   2e6  /* a posting or submit counts as late if it comes later than this */
#define LEAD_NS   10e6 /* from the start until the first submit */
#define SLOW_LANE 0    /* its postings are not measured */
#define ALONE     20   /* totals whose CPU time is measured, without postings */

enum kind { NO_TOTAL, ROLLUP, CUT, KINDS };
enum slow { NOT_SLOW, SLOW_BEFORE, SLOW_INSIDE, SLOWS };

static const char *const kind_names[] = { "none", "rollup", "cut" };
static const char *const slow_names[] = { "none", "before", "inside" };

static struct {
    double postings, rate, lanes, every_ms, scale;
    unsigned kind; /* KINDS: one after the other */
    unsigned slow;
} options = { 1e6, 125e3, 20e3, 100, 1, KINDS, NOT_SLOW };

struct posting {
    size_t lane;
    double started_ns;
};

struct total {
    double submitted_ns, ended_ns;
    uint32_t *contributions; /* of each lane */
    bool is_slow;            /* in the slow lane */
};

static size_t posting_count, lane_count, total_count;
static size_t period;            /* postings from one total to the next */
static struct posting *postings; /* in the order of their submits */
static struct total *totals;
static uint32_t *balances;     /* of each lane: how many postings have run */
static lanepool_claim *claims; /* of a total */
static uint64_t body_rounds, visit_rounds;

/* --- tasks --- */

static int do_nothing(lanepool_run *run, void *context)
{
    (void)run;
    (void)context;
    return 0;
}

static int post(lanepool_run *run, void *context)
{
    struct posting *posting = context;
    (void)run;
    posting->started_ns = probe_now_ns();
    waits_body(body_rounds);
    balances[posting->lane]++;
    return 0;
}

static int post_slowly(lanepool_run *run, void *context)
{
    (void)run;
    (void)context;
    waits_sleep(SLOW_NS);
    balances[SLOW_LANE]++;
    return 0;
}

static int read_lane(lanepool_run *run, void *context, size_t lane)
{
    struct total *total = context;
    (void)run;
    waits_body(visit_rounds);
    total->contributions[lane] = balances[lane];
    if (lane == SLOW_LANE && total->is_slow)
        waits_sleep(SLOW_NS);
    return 0;
}

static int end_total(lanepool_run *run, void *context)
{
    struct total *total = context;
    (void)run;
    total->ended_ns = probe_now_ns();
    return 0;
}

static int read_all_lanes(lanepool_run *run, void *context)
{
    for (size_t lane = 0; lane < lane_count; lane++)
        (void)read_lane(run, context, lane);
    return end_total(run, context);
}

/* --- submits --- */

static void submit_total(lanepool_pool *pool, enum kind kind, struct total *total)
{
    lanepool_task task = LANEPOOL_TASK_INIT;
    task.function = kind == CUT ? end_total : read_all_lanes;
    task.at_lane = kind == CUT ? read_lane : NULL;
    task.context = total;
    task.claims = claims;
    task.claim_count = lane_count;
    total->submitted_ns = probe_now_ns();
    probe_require(lanepool_pool_submit(pool, &task) == LANEPOOL_OK, "the submit of a total");
}

static bool is_before_posting(size_t number, size_t posting)
{
    return number < total_count && posting == (number + 1) * period;
}

/* Returns how many submits came late. The submitter reads the clock until the next one is due, and
 * lets a worker run if one waits for the processor. */
static size_t submit_all(lanepool_pool *pool, enum kind kind, double begin_ns)
{
    size_t late = 0, number = 0;
    for (size_t i = 0; i < posting_count; i++) {
        double due_ns = begin_ns + (double)i * (1e9 / options.rate), now_ns;
        while ((now_ns = probe_now_ns()) < due_ns)
            sched_yield();
        late += now_ns - due_ns > LATE_NS;
        if (is_before_posting(number, i)) {
            if (options.slow == SLOW_BEFORE)
                waits_submit(pool, post_slowly, NULL, SLOW_LANE);
            if (kind != NO_TOTAL)
                submit_total(pool, kind, &totals[number]);
            number++;
        }
        waits_submit(pool, post, &postings[i], postings[i].lane);
    }
    return late;
}

static void quiesce(lanepool_pool *pool)
{
    probe_require(lanepool_pool_quiesce(pool, LANEPOOL_FOREVER) == LANEPOOL_OK, "all have run");
}

/* --- results --- */

static void require_sums(void)
{
    uint32_t *expected = probe_memory(lane_count, sizeof *expected);
    size_t number = 0;
    for (size_t i = 0; i < posting_count; i++) {
        if (is_before_posting(number, i)) {
            expected[SLOW_LANE] += options.slow == SLOW_BEFORE;
            probe_require(memcmp(expected, totals[number++].contributions,
                                 lane_count * sizeof *expected) == 0,
                          "a total has read what was posted before it");
        }
        expected[postings[i].lane]++;
    }
    free(expected);
}

static void print_totals(const char *series)
{
    double *took_ns = probe_memory(total_count, sizeof *took_ns);
    for (size_t i = 0; i < total_count; i++)
        took_ns[i] = totals[i].ended_ns - totals[i].submitted_ns;
    timing_sort(took_ns, total_count);
    probe_point("total_time", series, 2, timing_quantile(took_ns, total_count, 0.5) / 1e6, "ms");
    probe_point("total_time_max", series, 0, timing_quantile(took_ns, total_count, 1) / 1e6, "ms");
    free(took_ns);
}

static void print_postings(const char *series, double begin_ns)
{
    double *late_ns = probe_memory(posting_count, sizeof *late_ns);
    size_t measured = 0, late = 0;
    for (size_t i = 0; i < posting_count; i++) {
        if (postings[i].lane == SLOW_LANE)
            continue;
        late_ns[measured] = postings[i].started_ns - (begin_ns + (double)i * (1e9 / options.rate));
        late += late_ns[measured++] > LATE_NS;
    }
    probe_require(measured > 0, "a posting in another lane than the slow one");
    waits_print_tail("posting_late", series, late_ns, measured);
    probe_point("posting_late_max", series, 0, timing_quantile(late_ns, measured, 1) / 1e3, "us");
    probe_point("posting_late_2ms", series, 0, (double)late, "postings");
    free(late_ns);
}

/* --- a run --- */

static double cpu_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Makes all lanes, and then totals without postings. Prints the CPU time of all threads for each
 * lane of a total. Beside postings it could not be seen: idle workers search for tasks and so use
 * up the CPU time that totals leave. */
static void measure_alone(lanepool_pool *pool, enum kind kind)
{
    struct total total = { .contributions = probe_memory(lane_count, sizeof(uint32_t)) };
    double begin_ns = 0;
    for (size_t lane = 0; lane < lane_count; lane++)
        waits_submit(pool, do_nothing, NULL, lane);
    quiesce(pool);
    for (size_t i = 0; i <= ALONE && kind != NO_TOTAL; i++) {
        if (i == 1) /* the first one gets memory from the system */
            begin_ns = cpu_now_ns();
        submit_total(pool, kind, &total);
        quiesce(pool);
    }
    if (kind != NO_TOTAL)
        probe_point("total_cpu", kind_names[kind], 0,
                    (cpu_now_ns() - begin_ns) / ALONE / (double)lane_count, "ns");
    free(total.contributions);
}

static void measure(enum kind kind)
{
    char series[64];
    lanepool_options pool_options = LANEPOOL_OPTIONS_INIT;
    pool_options.workers = WORKERS;
    pool_options.pending_max = LANEPOOL_UNLIMITED;
    lanepool_pool *pool = probe_pool_create(&pool_options);
    measure_alone(pool, kind);
    memset(balances, 0, lane_count * sizeof *balances);
    double begin_ns = probe_now_ns() + LEAD_NS;
    size_t late = submit_all(pool, kind, begin_ns);
    quiesce(pool);
    probe_pool_destroy(pool);
    if (kind != NO_TOTAL)
        require_sums();
    snprintf(series, sizeof series, "%s%s%s", kind_names[kind], options.slow ? ", slow " : "",
             options.slow ? slow_names[options.slow] : "");
    print_postings(series, begin_ns);
    probe_point("posting_submit_2ms", series, 0, (double)late, "submits");
    if (kind != NO_TOTAL && total_count > 0)
        print_totals(series);
}

/* --- options --- */

static void usage(const char *program)
{
    fprintf(stderr,
            "usage: %s [--total none|rollup|cut] [--slow none|before|inside] [--postings COUNT]\n"
            "       [--rate PER_SECOND] [--lanes COUNT] [--every MS] [--scale FACTOR]\n",
            program);
    exit(2);
}

static bool read_name(const char *text, const char *const *names, unsigned count, unsigned *value)
{
    for (*value = 0; *value < count; ++*value)
        if (strcmp(text, names[*value]) == 0)
            return true;
    return false;
}

static bool read_number(const char *name, const char *text)
{
    const struct {
        const char *name;
        double *value, least;
    } numbers[] = { { "--postings", &options.postings, 1 },
                    { "--rate", &options.rate, 1 },
                    { "--lanes", &options.lanes, 2 },
                    { "--every", &options.every_ms, 0.01 },
                    { "--scale", &options.scale, 1e-6 } };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (strcmp(name, numbers[i].name) != 0)
            continue;
        char *end;
        *numbers[i].value = strtod(text, &end);
        return *end == '\0' && *numbers[i].value >= numbers[i].least && *numbers[i].value <= 1e9;
    }
    return false;
}

static void read_options(int argc, char **argv)
{
    for (int i = 1; i < argc; i += 2) {
        const char *name = argv[i], *text = argv[i + 1];
        bool is_known = text != NULL;
        if (is_known && strcmp(name, "--total") == 0)
            is_known = read_name(text, kind_names, KINDS, &options.kind);
        else if (is_known && strcmp(name, "--slow") == 0)
            is_known = read_name(text, slow_names, SLOWS, &options.slow);
        else
            is_known = is_known && read_number(name, text);
        if (!is_known || options.lanes > (double)LANEPOOL_CLAIMS_MAX)
            usage(argv[0]);
    }
}

static void prepare(void)
{
    struct probe_options scale = { .scale = options.scale };
    uint64_t state = 1;
    posting_count = probe_scaled(&scale, (size_t)options.postings, 1000);
    lane_count = (size_t)options.lanes;
    period = (size_t)(options.rate * options.every_ms / 1e3 + 0.5);
    period = period > 0 ? period : 1;
    total_count = (posting_count - 1) / period;
    postings = probe_memory(posting_count, sizeof *postings);
    balances = probe_memory(lane_count, sizeof *balances);
    claims = probe_memory(lane_count, sizeof *claims);
    totals = probe_memory(total_count + 1, sizeof *totals);
    for (size_t i = 0; i < posting_count; i++)
        postings[i].lane = probe_random(&state) % lane_count;
    for (size_t lane = 0; lane < lane_count; lane++)
        claims[lane] = lanepool_shared(lane);
    for (size_t i = 0; i < total_count; i++) {
        totals[i].contributions = probe_memory(lane_count, sizeof(uint32_t));
        totals[i].is_slow = options.slow == SLOW_INSIDE;
    }
    body_rounds = waits_body_rounds(BODY_NS);
    visit_rounds = waits_body_rounds(VISIT_NS);
}

int main(int argc, char **argv)
{
    read_options(argc, argv);
    prepare();
    timing_be_punctual();
    for (unsigned kind = 0; kind < KINDS; kind++)
        if (options.kind == KINDS || options.kind == kind)
            measure((enum kind)kind);
    return 0;
}
