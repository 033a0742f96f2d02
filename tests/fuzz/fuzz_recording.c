/* Any bytes as a recording: if it is read, every command of laneview must be able to show it. */
#include <stdlib.h>

#include "base/file.h"
#include "draw/chrome.h"
#include "draw/dot.h"
#include "draw/frame.h"
#include "draw/html.h"
#include "draw/svg.h"
#include "draw/timeline.h"
#include "measure/stats.h"
#include "model/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct {
    const char *bytes;
    size_t size;
} input;

/* Stands in for the one of laneview: the inputs of a fuzz target are in memory. */
bool file_read(const char *file, struct text *text, struct problem *problem)
{
    (void)file;
    (void)problem;
    text_add_bytes(text, input.bytes, input.size);
    return true;
}

static void must(bool condition)
{
    if (!condition) {
        abort();
    }
}

/* As the commands dot and replay do. */
static void show_moment(const struct recording *recording, uint64_t time)
{
    struct frame_options options = { .title = "fuzz", .width = 100, .height = 40 };
    struct model model;
    struct cells cells;
    struct text text = { 0 };

    model_init(&model, recording, true);
    model_feed_until(&model, 0, time);
    model_advance(&model, time);
    must(model_pending(&model) <= recording->event_count);
    dot_write(&text, &model);
    frame_draw(&cells, &model, &options);
    cells_print(&text, &cells, false, "", "\n");
    cells_fini(&cells);
    frame_line(&text, &model);
    text_fini(&text);
    model_fini(&model);
}

/* As the commands svg, timeline, chrome and stats do. */
static void show_all(const struct recording *recording, uint64_t from, uint64_t to)
{
    struct svg_options svg = { .title = "fuzz", .from = from, .to = to };
    struct timeline_options timeline = { .width = 100, .from = from, .to = to };
    struct model model;
    struct stats stats;
    struct text text = { 0 };

    model_init(&model, recording, true);
    must(model_feed_until(&model, 0, LANEPOOL_REPLAY_UNSEEN) == recording->event_count);
    svg_draw(&text, &model, &svg);
    timeline_draw(&text, &model, &timeline);
    chrome_write(&text, &model);
    html_write_data(&text, &model, "fuzz");
    stats_gather(&stats, &model);
    stats_write_text(&text, &stats, &model);
    stats_write_json(&text, &stats, &model);
    stats_fini(&stats);
    text_fini(&text);
    model_fini(&model);
}

static void show(const struct recording *recording)
{
    uint64_t middle = 0;

    for (size_t i = 0; i < recording->event_count; i++) {
        must(recording_check(recording, &recording->events[i]) == NULL);
    }
    if (recording->event_count > 0) {
        middle = recording->events[recording->event_count / 2].time_ns - recording->zero_ns;
    }
    show_moment(recording, middle);
    show_all(recording, 0, LANEPOOL_REPLAY_UNSEEN);
    show_all(recording, middle, LANEPOOL_REPLAY_UNSEEN);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct recording recording;
    struct problem problem = { .text = "" };

    input.bytes = (const char *)data;
    input.size = size;
    if (recording_read(&recording, "input", &problem)) {
        show(&recording);
    } else {
        must(problem.text[0] != 0);
    }
    recording_fini(&recording);
    return 0;
}
