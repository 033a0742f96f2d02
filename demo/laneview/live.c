/* Owns what is done with a scenario that runs: it is recorded. */
#include "live.h"

#include "scenario.h"
#include "session.h"
#include "signals.h"

#define TURN_NS 2000000u /* so often events are read at least */

/* Until its end, or until a signal asks for it. */
static bool run_to_end(struct session *session, struct problem *problem)
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

static bool record(const struct cli *cli, const struct scenario *scenario, struct problem *problem)
{
    struct session session;
    if (!session_begin(&session, scenario, cli->speed_percent, problem)) {
        return false;
    }
    bool done =
        run_to_end(&session, problem) && recording_write(&session.recording, cli->output, problem);
    session_fini(&session);
    return done;
}

static void choose(struct scenario *scenario, const struct cli *cli)
{
    if (cli->worker_count > 0) {
        scenario->worker_count = cli->worker_count;
    }
    if (cli->has_layout) {
        scenario->layout = cli->layout;
    }
}

bool live_run(const struct cli *cli, struct problem *problem)
{
    struct scenario scenario;
    signals_hold();
    bool done = scenario_read(&scenario, cli->file, problem);
    if (done) {
        choose(&scenario, cli);
        done = record(cli, &scenario, problem);
    }
    scenario_fini(&scenario);
    return done;
}
