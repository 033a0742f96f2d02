/*
 * Weakens each memory order of the library, one at a time, and searches for a run that fails.
 *
 *     orders [--only TEXT] [--all] [--program TEXT] [--litmus N] [--count N] [--check PAGE]
 *
 * A site is one atomic operation in the sources. For each part of its order (acquire, release,
 * total order) a separate process takes the part away. It runs each litmus program under N
 * schedules (litmus.h), and then N random workloads, until a run fails. Loads may get old values
 * (weak.h). --only keeps the sites whose text contains TEXT, --program the litmus programs; --all
 * also weakens the sites outside of the six protocols that docs/orders.md lists.
 *
 * With --check, each order must be found as its row of the page says (orders_page.h). First,
 * without a weakened order, no run may fail.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "simulator/litmus.h"
#include "simulator/orders_page.h"
#include "simulator/simulated_property.h"
#include "simulator/weak_sites.h"
#include "stress/arguments.h"
#include "support/tally.h"

enum { SECONDS_MAX = 300 };

static const char *const part_names[SIM_PARTS] = { "total order", "acquire", "release" };

static const char *const protocols[] = { "src/lane/",           "src/route/inbox.",
                                         "src/route/router.",   "src/sched/sleep.",
                                         "src/task/countdown.", "src/base/slab.",
                                         "src/base/slab_trim.", "src/base/slab_returns." };

struct request {
    uint64_t litmus;
    uint64_t count;
    const char *only;
    const char *program;
    bool all;
    const char *finder;       /* the only program that searches; NULL: all */
    struct orders_page *page; /* or NULL */
};

/* What the child has found; it is in memory that both processes see. */
struct result {
    bool found;
    char finder[64]; /* of the current run */
    uint64_t tries;
    char why[256];
    unsigned long executions;
};

static bool has_failed(struct result *result, const struct sim_report *report)
{
    result->executions = sim_site_executions();
    if (!report->failed)
        return false;
    result->found = true;
    snprintf(result->why, sizeof result->why, "%s", report->why);
    return true;
}

static bool litmus_finds(const struct litmus *litmus, uint64_t count, struct result *result)
{
    snprintf(result->finder, sizeof result->finder, "%s", litmus->name);
    for (uint64_t seed = 1; seed <= count; seed++) {
        struct sim_options options = sim_options_draw(seed);
        struct sim_report report;
        result->tries = seed;
        options.steps_max = 20000;
        sim_run(&options, litmus->body, NULL, &report);
        if (has_failed(result, &report))
            return true;
    }
    return false;
}

static bool workload_finds(uint64_t count, struct result *result)
{
    snprintf(result->finder, sizeof result->finder, "workloads");
    for (uint64_t seed = 1; seed <= count; seed++) {
        struct choices choices = choices_from_seed(seed);
        struct sim_options schedule = sim_options_draw(random_mix(seed));
        struct workload workload;
        struct sim_report report;
        result->tries = seed;
        workload_draw(&workload, &workload_small, seed, &choices);
        property_holds(&workload, &schedule, &report);
        workload_fini(&workload);
        if (has_failed(result, &report))
            return true;
    }
    return false;
}

static void search(const struct request *request, struct result *result)
{
    for (const struct litmus *litmus = litmus_first(); litmus != NULL; litmus = litmus->next)
        if ((request->finder == NULL || strcmp(request->finder, litmus->name) == 0) &&
            (request->program == NULL || strstr(litmus->name, request->program) != NULL) &&
            litmus_finds(litmus, request->litmus, result))
            return;
    if (request->finder == NULL || strcmp(request->finder, "workloads") == 0)
        (void)workload_finds(request->count, result);
}

/* Returns true if a run failed or crashed. */
static bool is_found(const struct request *request, unsigned site, enum sim_part part,
                     struct result *result)
{
    int status = 0;

    memset(result, 0, sizeof *result);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (freopen("/dev/null", "w", stderr) == NULL)
            _exit(EXIT_SUCCESS);
        alarm(SECONDS_MAX);
        sim_site_weaken(site, part);
        search(request, result);
        _exit(EXIT_SUCCESS);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("orders");
        exit(EXIT_FAILURE);
    }
    if (!WIFEXITED(status)) {
        result->found = WTERMSIG(status) != SIGALRM;
        snprintf(result->why, sizeof result->why, "ended by signal %d", WTERMSIG(status));
    }
    return result->found;
}

/* Leaves out the prefix of the library's names. */
static void shorten(char *name)
{
    static const char prefix[] = "lanepool_i_";
    char *at;

    while ((at = strstr(name, prefix)) != NULL)
        memmove(at, at + strlen(prefix), strlen(at + strlen(prefix)) + 1);
}

static void name_site(const struct sim_site_text *text, enum sim_part part, char *name, size_t size)
{
    char which[16] = "";

    if (text->occurrence > 1)
        snprintf(which, sizeof which, " (%u)", text->occurrence);
    snprintf(name, size, "%s %s %s(%s)%s, %s", text->file, text->function, text->operation,
             text->object, which, part_names[part]);
    shorten(name);
}

static bool is_wanted(const struct request *request, const struct sim_site_text *text,
                      const char *name)
{
    if (request->only != NULL && strstr(name, request->only) == NULL)
        return false;
    for (size_t i = 0; i < sizeof protocols / sizeof protocols[0]; i++)
        if (strncmp(text->file, protocols[i], strlen(protocols[i])) == 0)
            return true;
    return request->all;
}

struct totals {
    unsigned tried;
    unsigned found;
    unsigned kept;
    unsigned wrong; /* not as the page says */
};

/* Tries what the page's row says. */
static void try_as_page_says(struct request request, unsigned site, enum sim_part part,
                             const char *name, struct result *result, struct totals *totals)
{
    struct orders_row *row = orders_page_find(request.page, name);

    if (row == NULL) {
        printf("%s: the page has no row\n", name);
        totals->wrong++;
        return;
    }
    row->used = true;
    if (strcmp(row->finder, "kept") == 0) {
        totals->kept++;
        return;
    }
    request.finder = row->finder;
    if (is_found(&request, site, part, result)) {
        totals->found++;
        return;
    }
    printf("%s: NOT FOUND by %s (executed %lu times)\n", name, row->finder, result->executions);
    totals->wrong++;
}

static void try_all(const struct request *request, unsigned site, enum sim_part part,
                    const char *name, struct result *result, struct totals *totals)
{
    printf("%s: ", name);
    if (is_found(request, site, part, result)) {
        totals->found++;
        printf("%s %llu: %s\n", result->finder, (unsigned long long)result->tries, result->why);
    } else {
        printf("NOT FOUND (executed %lu times)\n", result->executions);
    }
}

static void try_sites(const struct request *request, struct result *result, struct totals *totals)
{
    char name[320];

    for (unsigned site = 1; site <= sim_site_count(); site++) {
        struct sim_site_text text = sim_site_text(site);
        for (enum sim_part part = SIM_TOTAL; part < SIM_PARTS; part++) {
            if (!sim_site_has(site, part))
                continue;
            name_site(&text, part, name, sizeof name);
            if (!is_wanted(request, &text, name))
                continue;
            totals->tried++;
            if (request->page != NULL)
                try_as_page_says(*request, site, part, name, result, totals);
            else
                try_all(request, site, part, name, result, totals);
        }
    }
}

static unsigned count_unused(const struct orders_page *page)
{
    unsigned count = 0;

    for (unsigned i = 0; i < page->count; i++) {
        if (page->rows[i].used)
            continue;
        printf("%s: the sources have no such operation\n", page->rows[i].key);
        count++;
    }
    return count;
}

int main(int argc, char **argv)
{
    static const char *const names[] = { "--only",  "--all",     "--litmus", "--count",
                                         "--check", "--program", NULL };
    static struct orders_page page;

    arguments_only(argc, argv, names);
    struct request request = { .litmus = argument_number(argc, argv, "--litmus", 1000),
                               .count = argument_number(argc, argv, "--count", 300),
                               .only = argument_text(argc, argv, "--only"),
                               .program = argument_text(argc, argv, "--program"),
                               .all = argument_flag(argc, argv, "--all") };
    const char *path = argument_text(argc, argv, "--check");
    struct result *result =
        mmap(NULL, sizeof *result, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct totals totals = { 0, 0, 0, 0 };

    if (result == MAP_FAILED)
        return EXIT_FAILURE;
    if (is_found(&request, 0, SIM_TOTAL, result)) {
        printf("without a weakened order: %s, run %llu: %s\n", result->finder,
               (unsigned long long)result->tries, result->why);
        return EXIT_FAILURE;
    }
    if (path != NULL) {
        orders_page_read(&page, path);
        request.page = &page;
    }
    try_sites(&request, result, &totals);
    if (path != NULL && request.only == NULL)
        totals.wrong += count_unused(&page);
    printf("%u orders weakened, %u found", totals.tried, totals.found);
    if (path != NULL)
        printf(", %u kept with a reason, %u not as the page says", totals.kept, totals.wrong);
    printf("\n");
    tally(totals.found, "weakened orders found");
    return totals.wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
