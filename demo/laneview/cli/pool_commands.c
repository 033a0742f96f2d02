/* Owns the commands that run a scenario: record, play, compare. */
#include "cli/pool_commands.h"

#include "base/file.h"
#include "measure/compare.h"
#include "session/scenario.h"
#include "session/session.h"
#include "show/show.h"
#include "show/signals.h"

#define TURN_NS 2000000u /* events are read at least this often */

/* Runs a session to its end, or until a signal ends it. */
static bool run_session_to_end(struct session *session, struct problem *problem)
{
    bool done = true;
    while (done && !session->is_over) {
        if (signals_end() != 0) {
            session_stop(session);
        }
        done = session_turn(session, true, problem);
        if (done && !session->is_over) {
            signals_wait(-1, session_idle_ns(session, TURN_NS));
        }
    }
    return done;
}

static bool record_scenario(const struct cli *cli, const struct scenario *scenario,
                            struct problem *problem)
{
    struct session session;
    if (!session_begin(&session, scenario, cli->speed_percent, problem)) {
        return false;
    }
    bool done = run_session_to_end(&session, problem) &&
                recording_write(&session.recording, cli->output, problem);
    session_fini(&session);
    return done;
}

/* Shows a session until it ends, the user quits, or the output is closed. */
static bool play_scenario(const struct cli *cli, const struct scenario *scenario,
                          struct problem *problem)
{
    struct session session;
    struct text title = { 0 };
    if (!session_begin(&session, scenario, cli->speed_percent, problem)) {
        return false;
    }
    file_add_title(&title, cli->file);
    struct show_options options = { .title = title.data, .is_ascii = cli->is_ascii };
    bool done = show_session(&session, &options, problem);
    session_fini(&session);
    text_fini(&title);
    return done;
}

/* Runs the scenario with both layouts. If a signal ends a run, nothing is printed: half a
 * comparison is useless. */
static bool compare_layouts(const struct cli *cli, struct scenario *scenario,
                            struct problem *problem)
{
    static const lanepool_layout layouts[2] = { LANEPOOL_PER_KEY, LANEPOOL_PER_WORKER };
    struct session sessions[2];
    unsigned begun = 0;
    bool done = true;
    while (done && begun < 2 && signals_end() == 0) {
        scenario->layout = layouts[begun];
        done = session_begin(&sessions[begun], scenario, cli->speed_percent, problem);
        begun += done;
        done = done && run_session_to_end(&sessions[begun - 1], problem);
    }
    if (done && signals_end() == 0) {
        struct text text = { 0 }, title = { 0 };
        file_add_title(&title, cli->file);
        compare_write(&text, title.data, &sessions[0].recording, &sessions[1].recording);
        done = file_write(NULL, text.data, text.size, problem);
        text_fini(&text);
        text_fini(&title);
    }
    while (begun > 0) {
        session_fini(&sessions[--begun]);
    }
    return done;
}

static void apply_options(struct scenario *scenario, const struct cli *cli)
{
    if (cli->worker_count > 0) {
        scenario->worker_count = cli->worker_count;
    }
    if (cli->has_layout) {
        scenario->layout = cli->layout;
    }
}

static bool check_layout(const struct cli *cli, const struct scenario *scenario,
                         struct problem *problem)
{
    bool has_lanes_per_worker =
        cli->command == CLI_COMPARE || scenario->layout == LANEPOOL_PER_WORKER;
    return !has_lanes_per_worker || !scenario_needs_lanes_per_key(scenario) ||
           problem_set(problem, EXIT_CODE_INPUT,
                       "%s needs lanes per key: it has cuts, retries, then poison or at-poison",
                       cli->file);
}

bool pool_commands_run(const struct cli *cli, struct problem *problem)
{
    struct scenario scenario;
    signals_hold();
    bool done = scenario_read(&scenario, cli->file, problem);
    if (done) {
        apply_options(&scenario, cli);
        done = check_layout(cli, &scenario, problem);
    }
    if (done) {
        done = cli->command == CLI_RECORD ? record_scenario(cli, &scenario, problem)
               : cli->command == CLI_PLAY ? play_scenario(cli, &scenario, problem)
                                          : compare_layouts(cli, &scenario, problem);
    }
    scenario_fini(&scenario);
    return done;
}
