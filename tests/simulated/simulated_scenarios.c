/*
 * Plays scenarios on the simulated platform.
 *
 *     simulated_scenarios [NAME...] [--count N] [--seed S]   under N random schedules each
 *     simulated_scenarios [NAME...] --preemptions P          under every schedule with at most P
 *                                                            preemptions; only small scenarios
 *     simulated_scenarios [NAME...] --planted E              with planted error E (planted.h)
 *     simulated_scenarios --list
 *
 * A NAME selects the scenario of that name; if there is none, all scenarios whose names begin with
 * it. Without a name, all scenarios are played.
 *
 * The seed of schedule number i is S + i. The strategy and the use of store buffers follow from it.
 * One schedule in a hundred is repeated and must take the same steps.
 *
 * A failure is printed with the command that repeats it. In a scenario of faults, --turn selects
 * the fault point. With a planted error, each scenario must fail under one of its schedules.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/planted.h"
#include "simulated/scenarios.h"
#include "simulated/scene.h"
#include "stress/arguments.h"
#include "support/tally.h"

enum { STEPS_MAX = 200000 };

static struct scenario *all;

void scenario_register(struct scenario *scenario)
{
    struct scenario **at = &all;

    while (*at != NULL && strcmp((*at)->name, scenario->name) < 0)
        at = &(*at)->next;
    scenario->next = *at;
    *at = scenario;
}

/* --- selection --- */

/* Returns the next argument that is neither an option nor an option's number. */
static const char *next_name(int argc, char **argv, int *at)
{
    while (++*at < argc) {
        if (strncmp(argv[*at], "--", 2) != 0)
            return argv[*at];
        if (strcmp(argv[*at], "--list") != 0)
            ++*at;
    }
    return NULL;
}

static bool is_meant(const char *name, const char *wanted)
{
    for (const struct scenario *other = all; other != NULL; other = other->next)
        if (strcmp(other->name, wanted) == 0)
            return strcmp(name, wanted) == 0;
    return strncmp(name, wanted, strlen(wanted)) == 0;
}

static bool is_selected(const struct scenario *scenario, int argc, char **argv)
{
    int at = 0;
    bool any = false;
    const char *wanted;

    while ((wanted = next_name(argc, argv, &at)) != NULL) {
        any = true;
        if (is_meant(scenario->name, wanted))
            return true;
    }
    return !any;
}

/* --- one run --- */

/* The command that repeats the current run. It is prepared in advance, because the run may crash
 * the program. */
static char repeat[256];

static void report_death(int number)
{
    (void)!write(STDOUT_FILENO, repeat, strlen(repeat));
    signal(number, SIG_DFL);
    raise(number);
}

static void play(void *argument)
{
    const struct scenario *scenario = argument;

    if (scenario->play_cell != NULL)
        scenario->play_cell(scenario->cell);
    else
        scenario->play();
}

static bool run(struct scenario *scenario, const struct sim_options *options,
                struct sim_report *report)
{
    struct sim_report again;

    if (!sim_run(options, play, scenario, report))
        return false;
    if (options->seed % 100 != 0)
        return true;
    sim_run(options, play, scenario, &again);
    if (again.schedule == report->schedule && again.failed == report->failed)
        return true;
    snprintf(report->why, sizeof report->why, "the same seed took other steps");
    return false;
}

/* Runs the scenario once without a fault, to count the fault points. Then runs it with one of them
 * failing. */
static bool run_with_a_fault(struct scenario *scenario, struct sim_options *options, uint64_t turn,
                             struct sim_report *report)
{
    if (!sim_run(options, play, scenario, report))
        return false;
    options->fault = 1 + turn / 2 % report->fault_points;
    options->faults_stay = turn % 2 != 0;
    return run(scenario, options, report);
}

static bool run_random(struct scenario *scenario, uint64_t seed, uint64_t turn)
{
    scene_seed = seed;
    struct sim_options options = sim_options_draw(seed);
    struct sim_report report;
    bool passed;

    options.quiet = scene_judge_quiet;
    options.steps_max = STEPS_MAX;
    snprintf(repeat, sizeof repeat,
             "to repeat: simulated_scenarios %s --seed %llu --turn %llu --count 1\n",
             scenario->name, (unsigned long long)seed, (unsigned long long)turn);
    passed = scenario->kind == SCENARIO_FAULTS ? run_with_a_fault(scenario, &options, turn, &report)
                                               : run(scenario, &options, &report);
    if (!passed)
        printf("FAILED: %s, seed %llu, %s%s%s: %s\n%s", scenario->name, (unsigned long long)seed,
               sim_strategy_name(options.strategy), options.buffers ? ", store buffers" : "",
               options.eager ? ", eager" : "", report.why, repeat);
    return passed;
}

/* --- every schedule --- */

static bool explore(struct scenario *scenario, uint32_t preemptions, bool buffers, uint64_t *runs)
{
    struct sim_options options = { .buffers = buffers, .quiet = scene_judge_quiet };
    struct sim_exploration found;

    options.steps_max = STEPS_MAX;
    snprintf(repeat, sizeof repeat, "to repeat: simulated_scenarios %s --preemptions %u\n",
             scenario->name, preemptions);
    sim_explore(&options, preemptions, UINT64_MAX, play, scenario, &found);
    if (found.report.failed) {
        printf("FAILED: %s%s, run %llu: %s\n%s", scenario->name,
               buffers ? ", with store buffers" : "", (unsigned long long)found.runs,
               found.report.why, repeat);
        return false;
    }
    *runs += found.runs;
    printf("%s%s: %llu interleavings, at most %u preemptions, exhausted; at most %llu choices in "
           "one\n",
           scenario->name, buffers ? " with store buffers" : "", (unsigned long long)found.runs,
           preemptions, (unsigned long long)found.choices_most);
    fflush(stdout);
    return found.exhausted;
}

/* --- planted errors --- */

static bool find_planted(int error, struct scenario *scenario, uint64_t count)
{
#if defined(LANEPOOL_PLANTED)
    lanepool_i_planted = error;
    for (uint64_t seed = 1; seed <= count; seed++)
        if (!run_random(scenario, seed, 0))
            return true;
#endif
    printf("NOT FOUND: planted error %d, by %s under %llu schedules\n", error, scenario->name,
           (unsigned long long)count);
    return false;
}

/* --- all scenarios --- */

struct request {
    uint64_t seed;
    uint64_t count;
    uint64_t turn;
    uint32_t preemptions;
    bool explores;
    int planted; /* 0: none */
};

static bool handle(const struct request *request, struct scenario *scenario, uint64_t *runs)
{
    if (request->planted != 0)
        return find_planted(request->planted, scenario, request->count);
    if (request->explores)
        return explore(scenario, request->preemptions, false, runs) &&
               explore(scenario, request->preemptions, true, runs);
    for (uint64_t i = 0; i < request->count; i++)
        if (!run_random(scenario, request->seed + i, request->turn + i))
            return false;
    *runs += request->count;
    return true;
}

int main(int argc, char **argv)
{
    static const char *const names[] = { "--seed",        "--count",   "--turn", "--list",
                                         "--preemptions", "--planted", NULL };

    arguments_only(argc, argv, names);
    struct request request = {
        .seed = argument_number(argc, argv, "--seed", 1),
        .count = argument_number(argc, argv, "--count", 1000),
        .turn = argument_number(argc, argv, "--turn", 0),
        .preemptions = (uint32_t)argument_number(argc, argv, "--preemptions", 0),
        .explores = argument_flag(argc, argv, "--preemptions"),
        .planted = (int)argument_number(argc, argv, "--planted", 0),
    };
    uint64_t runs = 0;
    size_t played = 0;
    bool passed = true;

    signal(SIGABRT, report_death);
    signal(SIGSEGV, report_death);
    signal(SIGBUS, report_death);
    for (struct scenario *scenario = all; scenario != NULL; scenario = scenario->next) {
        bool can = !request.explores || scenario->kind == SCENARIO_EXHAUSTIVE;
        if (!can || !is_selected(scenario, argc, argv))
            continue;
        played++;
        if (argument_flag(argc, argv, "--list"))
            printf("%s%s\n", scenario->name,
                   scenario->kind == SCENARIO_EXHAUSTIVE ? " (exhaustive, too)" : "");
        else
            passed &= handle(&request, scenario, &runs);
    }
    if (runs > 0) {
        printf("%zu scenarios, %llu interleavings%s\n", played, (unsigned long long)runs,
               passed ? ", 0 violations" : "");
        tally(runs, "interleavings");
        if (request.explores && passed)
            tally(played, "scenarios under every schedule");
    }
    if (played == 0)
        fprintf(stderr, "%s: there is no such scenario; --list names them\n", argv[0]);
    return passed && played > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
