/* Metrics of pools, as text. */
#include <stdlib.h>
#include <string.h>

#include "support/step.h"
#include "support/test.h"

enum { PAGE_SIZE = 64 << 10, LANES_MAX = 8 };

struct page {
    size_t size;
    char text[PAGE_SIZE];
};

static void add_text(void *context, const char *text, size_t size)
{
    struct page *page = context;

    expect(page->size + size < PAGE_SIZE);
    memcpy(page->text + page->size, text, size);
    page->size += size;
    page->text[page->size] = '\0';
}

static struct page *page_make(const lanepool_metrics_source *sources, size_t count)
{
    struct page *page = calloc(1, sizeof *page);

    expect(page != NULL);
    expect_ok(lanepool_metrics_write(sources, count, add_text, page));
    return page;
}

static bool has_line(const struct page *page, const char *line)
{
    size_t size = strlen(line);

    for (const char *at = page->text; (at = strstr(at, line)) != NULL; at++) {
        if ((at == page->text || at[-1] == '\n') && at[size] == '\n') {
            return true;
        }
    }
    return false;
}

Test(metrics, page_of_one_pool_without_a_name)
{
    static const char expected[] =
        "# HELP lanepool_tasks_accepted_total Accepted tasks.\n"
        "# TYPE lanepool_tasks_accepted_total counter\n"
        "lanepool_tasks_accepted_total 18446744073709551615\n"
        "# HELP lanepool_tasks_finished_total Tasks that have ended.\n"
        "# TYPE lanepool_tasks_finished_total counter\n"
        "lanepool_tasks_finished_total 2\n"
        "# HELP lanepool_tasks_pending Accepted, unfinished tasks.\n"
        "# TYPE lanepool_tasks_pending gauge\n"
        "lanepool_tasks_pending 3\n"
        "# HELP lanepool_tasks_ready Pending tasks that only wait for a worker.\n"
        "# TYPE lanepool_tasks_ready gauge\n"
        "lanepool_tasks_ready 4\n"
        "# HELP lanepool_tasks_delayed Delayed and periodic tasks that are not due.\n"
        "# TYPE lanepool_tasks_delayed gauge\n"
        "lanepool_tasks_delayed 5\n"
        "# HELP lanepool_tasks_taken_total Tasks that workers took from each other's queues.\n"
        "# TYPE lanepool_tasks_taken_total counter\n"
        "lanepool_tasks_taken_total 6\n"
        "# HELP lanepool_lanes_latched Lanes blocked by a rollup that waits for other lanes.\n"
        "# TYPE lanepool_lanes_latched gauge\n"
        "lanepool_lanes_latched 7\n"
        "# HELP lanepool_lanes_live Lanes in memory.\n"
        "# TYPE lanepool_lanes_live gauge\n"
        "lanepool_lanes_live 8\n"
        "# HELP lanepool_contexts_open Open contexts of keys.\n"
        "# TYPE lanepool_contexts_open gauge\n"
        "lanepool_contexts_open 9\n"
        "# HELP lanepool_wake_ups_total How often a worker was woken.\n"
        "# TYPE lanepool_wake_ups_total counter\n"
        "lanepool_wake_ups_total 10\n"
        "# HELP lanepool_threads Workers that have a thread.\n"
        "# TYPE lanepool_threads gauge\n"
        "lanepool_threads 11\n";
    lanepool_stats stats = { .accepted = UINT64_MAX,
                             .finished = 2,
                             .pending = 3,
                             .ready = 4,
                             .delayed = 5,
                             .taken_from_others = 6,
                             .latched_lanes = 7,
                             .live_lanes = 8,
                             .contexts = 9,
                             .wake_ups = 10,
                             .threads = 11 };
    lanepool_metrics_source source = { .stats = &stats };
    struct page *page = page_make(&source, 1);

    expect(strcmp(page->text, expected) == 0);
    free(page);
}

Test(metrics, each_pool_and_worker_has_its_lines)
{
    lanepool_stats stats[2] = { { .accepted = 1 }, { .accepted = 2 } };
    lanepool_worker_stats workers[2] = {
        { .finished = 5, .ready = 6, .taken_from_others = 7, .wake_ups = 8 }, { .finished = 9 }
    };
    lanepool_metrics_source sources[2] = {
        { .pool = "a", .stats = &stats[0], .workers = workers, .worker_count = 2 },
        { .pool = "b", .stats = &stats[1] }
    };
    struct page *page = page_make(sources, 2);

    expect(strstr(page->text, "lanepool_tasks_accepted_total{pool=\"a\"} 1\n"
                              "lanepool_tasks_accepted_total{pool=\"b\"} 2\n") != NULL);
    expect(strstr(page->text, "lanepool_worker_tasks_total{pool=\"a\",worker=\"0\"} 5\n"
                              "lanepool_worker_tasks_total{pool=\"a\",worker=\"1\"} 9\n") != NULL);
    expect(has_line(page, "lanepool_worker_ready{pool=\"a\",worker=\"0\"} 6"));
    expect(has_line(page, "lanepool_worker_taken_total{pool=\"a\",worker=\"0\"} 7"));
    expect(has_line(page, "lanepool_worker_wake_ups_total{pool=\"a\",worker=\"0\"} 8"));
    expect(strstr(page->text, "{pool=\"b\",worker=") == NULL);
    free(page);
}

Test(metrics, name_of_a_pool_is_escaped)
{
    lanepool_stats stats = { 0 };
    lanepool_metrics_source source = { .pool = "a \"b\" \\c\nd \xc3\xa9", .stats = &stats };
    struct page *page = page_make(&source, 1);

    expect(has_line(page, "lanepool_threads{pool=\"a \\\"b\\\" \\\\c\\nd \xc3\xa9\"} 0"));
    free(page);
}

/* A task with tag 7 waits for 0 ns and runs for `running_ns`. */
static void add_task(lanepool_times *times, uint64_t task, uint64_t running_ns)
{
    static uint64_t now_ns = 1000;
    lanepool_event events[] = {
        { .type = LANEPOOL_EVENT_SUBMIT, .thread = LANEPOOL_EVENT_OUTSIDE },
        { .type = LANEPOOL_EVENT_ROUTE, .thread = LANEPOOL_EVENT_OUTSIDE, .detail = 7 },
        { .type = LANEPOOL_EVENT_READY, .thread = LANEPOOL_EVENT_OUTSIDE },
        { .type = LANEPOOL_EVENT_START },
        { .type = LANEPOOL_EVENT_END },
    };

    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        events[i].task = task;
        events[i].time_ns = events[i].type == LANEPOOL_EVENT_END ? now_ns + running_ns : now_ns;
    }
    now_ns += running_ns;
    expect_ok(lanepool_times_add(times, events, sizeof events / sizeof *events));
}

/* The buckets of a histogram count each duration that is not above their bound. */
Test(metrics, durations_of_a_tag_are_a_histogram)
{
    lanepool_stats stats = { 0 };
    lanepool_metrics_source source = { .pool = "a", .stats = &stats };
    lanepool_times *times;

    expect_ok(lanepool_times_create(LANES_MAX, &times));
    add_task(times, 1, 1023);
    add_task(times, 2, 1024);
    add_task(times, 3, 2000000000);
    add_task(times, 4, 20000000000000);
    source.times = times;
    struct page *page = page_make(&source, 1);
#define RUNNING "lanepool_task_running_seconds"
#define LABELS  "{pool=\"a\",tag=\"7\""
    expect(has_line(page, "# TYPE " RUNNING " histogram"));
    expect(has_line(page, RUNNING "_bucket" LABELS ",le=\"0.000001023\"} 1"));
    expect(has_line(page, RUNNING "_bucket" LABELS ",le=\"0.000004095\"} 2"));
    expect(has_line(page, RUNNING "_bucket" LABELS ",le=\"1.073741823\"} 2"));
    expect(has_line(page, RUNNING "_bucket" LABELS ",le=\"4.294967295\"} 3"));
    expect(has_line(page, RUNNING "_bucket" LABELS ",le=\"4398.046511103\"} 3"));
    expect(has_line(page, RUNNING "_bucket" LABELS ",le=\"+Inf\"} 4"));
    expect(has_line(page, RUNNING "_sum" LABELS "} 20002.000002047"));
    expect(has_line(page, RUNNING "_count" LABELS "} 4"));
    expect(has_line(page, "lanepool_task_waiting_seconds_count" LABELS "} 4"));
    expect(has_line(page, "lanepool_task_latched_seconds_count" LABELS "} 0"));
    expect(has_line(page, "lanepool_task_ready_seconds_count" LABELS "} 4"));
    expect(has_line(page, "lanepool_workers_seconds_total{pool=\"a\",state=\"running\"}"
                          " 20002.000002047"));
    expect(has_line(page, "lanepool_workers_seconds_total{pool=\"a\",state=\"idle\"} 0.000000000"));
    free(page);
    lanepool_times_destroy(times);
}

Test(metrics, lanes_have_no_lines)
{
    static lanepool_event events[256];
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_stats stats;
    lanepool_trace_reader *reader;
    lanepool_times *times;
    struct step step = { 0 };
    size_t count;

    options.workers = 1;
    options.trace_events = 64;
    lanepool_pool *pool = pool_make_with(&options);
    expect_ok(lanepool_trace_open(pool, &reader));
    expect_ok(step_submit_rollup(pool, &step, 3, 4));
    pool_settle(pool);
    expect_ok(lanepool_trace_read(reader, events, sizeof events / sizeof *events, &count));
    expect_ok(lanepool_times_create(LANES_MAX, &times));
    expect_ok(lanepool_times_add(times, events, count));
    expect(lanepool_times_rows(times, NULL, 0) == 3);
    expect_ok(lanepool_pool_stats(pool, &stats, NULL, 0));
    lanepool_metrics_source source = { .stats = &stats, .times = times };
    struct page *page = page_make(&source, 1);
    expect(has_line(page, "lanepool_tasks_finished_total 1"));
    expect(has_line(page, "lanepool_task_running_seconds_count{tag=\"0\"} 1"));
    expect(strstr(page->text, "lane=") == NULL);
    expect(strstr(page->text, "tag=\"3\"") == NULL);
    free(page);
    lanepool_trace_close(reader);
    lanepool_times_destroy(times);
    lanepool_pool_destroy(pool);
}

Test(metrics, wrong_arguments_write_nothing)
{
    lanepool_stats stats = { 0 };
    lanepool_worker_stats workers = { 0 };
    lanepool_metrics_source good = { .pool = "a", .stats = &stats };
    lanepool_metrics_source wrong[4] = { good, good, good, good };
    struct page page = { 0 };

    wrong[0].stats = NULL;
    wrong[1].worker_count = 1;
    wrong[2].reserved[2] = &workers;
    for (size_t i = 0; i < 3; i++) {
        lanepool_metrics_source both[2] = { { .pool = "b", .stats = &stats }, wrong[i] };
        expect_status(lanepool_metrics_write(both, 2, add_text, &page), LANEPOOL_INVALID);
    }
    expect_status(lanepool_metrics_write(&wrong[2], 2, add_text, &page), LANEPOOL_INVALID);
    wrong[2] = wrong[3];
    expect_status(lanepool_metrics_write(&wrong[2], 2, add_text, &page), LANEPOOL_INVALID);
    wrong[2].pool = wrong[3].pool = NULL;
    expect_status(lanepool_metrics_write(&wrong[2], 2, add_text, &page), LANEPOOL_INVALID);
    expect_status(lanepool_metrics_write(NULL, 1, add_text, &page), LANEPOOL_INVALID);
    expect_status(lanepool_metrics_write(&good, 1, NULL, NULL), LANEPOOL_INVALID);
    expect_eq(page.size, 0);
    expect_ok(lanepool_metrics_write(NULL, 0, add_text, &page));
}
