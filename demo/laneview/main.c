/* laneview: the program around its parts. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "file.h"
#include "lanepool/lanepool.h"
#include "model.h"
#include "svg.h"

/* The file's name without folders and ending. */
static void add_title(struct text *title, const char *file)
{
    const char *slash = strrchr(file, '/');
    const char *name = slash ? slash + 1 : file;
    const char *dot = strrchr(name, '.');
    text_add_clean(title, name, dot && dot > name ? (size_t)(dot - name) : strlen(name));
}

static void draw_svg(const struct cli *cli, const struct model *model, struct text *output)
{
    struct text title = { 0 };
    add_title(&title, cli->file);
    svg_draw(output, model,
             &(struct svg_options){ .title = title.data, .from = cli->from, .to = cli->to });
    text_fini(&title);
}

static void draw(const struct cli *cli, const struct recording *recording, struct text *output)
{
    struct model model;
    model_init(&model, recording);
    model_feed_until(&model, 0, MODEL_UNSEEN);
    draw_svg(cli, &model, output);
    model_fini(&model);
}

static bool run_on_recording(const struct cli *cli, struct problem *problem)
{
    struct recording recording;
    struct text output = { 0 };
    bool done = recording_read(&recording, cli->file, problem);
    if (done) {
        draw(cli, &recording, &output);
        done = file_write(cli->output, output.data, output.size, problem);
    }
    text_fini(&output);
    recording_fini(&recording);
    return done;
}

static bool run(const struct cli *cli, struct problem *problem)
{
    struct text text = { 0 };
    if (cli->command != CLI_HELP && cli->command != CLI_VERSION) {
        return run_on_recording(cli, problem);
    }
    if (cli->command == CLI_HELP) {
        text_add(&text, "%s", cli->help);
    } else {
        text_add(&text, "laneview %s\n", lanepool_version());
    }
    bool done = file_write(NULL, text.data, text.size, problem);
    text_fini(&text);
    return done;
}

int main(int argument_count, char **arguments)
{
    struct cli cli;
    struct problem problem;
    signal(SIGPIPE, SIG_IGN);
    if (!cli_read(&cli, argument_count, arguments, &problem) || !run(&cli, &problem)) {
        fprintf(stderr, "%s%s\n", problem.has_place ? "" : "laneview: ", problem.text);
        return (int)problem.code;
    }
    return EXIT_CODE_DONE;
}
