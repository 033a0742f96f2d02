/* Owns the commands on a recording: timeline, svg, html, chrome, stats, plan, dot, replay. */
#include "cli/recording_commands.h"

#include <stdlib.h>

#include "base/file.h"
#include "draw/chrome.h"
#include "draw/dot.h"
#include "draw/html.h"
#include "draw/svg.h"
#include "draw/timeline.h"
#include "measure/forecast.h"
#include "measure/stats.h"
#include "model/model.h"
#include "show/show.h"
#include "show/signals.h"

#define DEFAULT_WIDTH 100 /* columns of a timeline */

static void draw_svg(const struct cli *cli, const struct model *model, const char *title,
                     struct text *output)
{
    struct svg_options options = { .title = title, .from = cli->from, .to = cli->to };
    svg_draw(output, model, &options);
}

static void draw_timeline(const struct cli *cli, const struct model *model, struct text *output)
{
    const char *columns = getenv("COLUMNS");
    long width = columns ? strtol(columns, NULL, 10) : 0;
    struct timeline_options options = { .width = width > 0 ? (size_t)width : DEFAULT_WIDTH,
                                        .is_ascii = cli->is_ascii,
                                        .from = cli->from,
                                        .to = cli->to };
    timeline_draw(output, model, &options);
}

static void write_stats(const struct cli *cli, const struct model *model, struct text *output)
{
    struct stats stats;
    stats_gather(&stats, model);
    if (cli->is_json) {
        stats_write_json(output, &stats, model);
    } else {
        stats_write_text(output, &stats, model);
    }
    stats_fini(&stats);
}

static bool draw_recording(const struct cli *cli, const struct recording *recording,
                           const char *title, struct text *output, struct problem *problem)
{
    struct model model;
    bool drawn = true;
    model_init(&model, recording, true);
    if (cli->command == CLI_DOT) {
        model_feed_until(&model, 0, cli->at);
        model_advance(&model, cli->at);
        dot_write(output, &model);
    } else {
        model_feed_until(&model, 0, LANEPOOL_REPLAY_UNSEEN);
    }
    if (cli->command == CLI_SVG) {
        draw_svg(cli, &model, title, output);
    } else if (cli->command == CLI_HTML) {
        html_write(output, &model, title);
    } else if (cli->command == CLI_TIMELINE) {
        draw_timeline(cli, &model, output);
    } else if (cli->command == CLI_CHROME) {
        chrome_write(output, &model);
    } else if (cli->command == CLI_STATS) {
        write_stats(cli, &model, output);
    } else if (cli->command == CLI_PLAN) {
        drawn = forecast_write(output, &model, cli->worker_count, problem);
    }
    model_fini(&model);
    return drawn;
}

static bool output_recording(const struct cli *cli, const struct recording *recording,
                             struct problem *problem)
{
    struct text title = { 0 }, output = { 0 };
    bool done;
    file_add_title(&title, cli->file);
    if (cli->command == CLI_REPLAY) {
        struct show_options options = { .title = title.data,
                                        .speed_percent = cli->speed_percent,
                                        .is_ascii = cli->is_ascii };
        signals_hold();
        done = show_recording(recording, &options, problem);
    } else {
        done = draw_recording(cli, recording, title.data, &output, problem) &&
               file_write(cli->output, output.data, output.size, problem);
    }
    text_fini(&title);
    text_fini(&output);
    return done;
}

bool recording_commands_run(const struct cli *cli, struct problem *problem)
{
    struct recording recording;
    bool done = recording_read(&recording, cli->file, problem) &&
                output_recording(cli, &recording, problem);
    recording_fini(&recording);
    return done;
}
