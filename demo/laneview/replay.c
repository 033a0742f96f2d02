/* Owns the pace of a replay. */
#include "replay.h"

#include <time.h>

#include "file.h"
#include "frame.h"
#include "screen.h"

#define FRAME_NS  50000000u
#define SECOND_NS 1000000000u

static bool print(const struct text *text, struct problem *problem)
{
    return file_write(NULL, text->data, text->size, problem);
}

/* A line for each second of the run in which something happened, and one for its end. */
static bool print_lines(struct model *model, struct problem *problem)
{
    const struct recording *recording = model->recording;
    size_t fed = 0;
    struct text text = { 0 };
    bool printed = true;
    while (printed && fed < recording->event_count) {
        uint64_t next = recording->events[fed].time_ns - recording->zero_ns;
        uint64_t time = (next / SECOND_NS + 1) * SECOND_NS;
        fed = model_feed_until(model, fed, time);
        if (fed < recording->event_count) {
            model_advance(model, time);
        }
        text.size = 0;
        frame_line(&text, model);
        printed = print(&text, problem);
    }
    text_fini(&text);
    return printed;
}

static bool play_frames(struct model *model, const struct replay_options *options,
                        struct problem *problem)
{
    const struct timespec pause = { 0, FRAME_NS };
    const struct screen_options screen = { options->title, options->is_ascii };
    uint64_t step = (uint64_t)FRAME_NS * options->speed_percent / 100;
    size_t fed = 0, count = model->recording->event_count;
    bool printed = screen_draw(model, &screen, problem);
    for (uint64_t time = step; printed && fed < count; time += step) {
        nanosleep(&pause, NULL);
        fed = model_feed_until(model, fed, time);
        if (fed < count) {
            model_advance(model, time);
        }
        printed = screen_draw(model, &screen, problem);
    }
    return printed;
}

bool replay_run(const struct recording *recording, const struct replay_options *options,
                struct problem *problem)
{
    struct model model;
    model_init(&model, recording);
    bool done =
        screen_is_there() ? play_frames(&model, options, problem) : print_lines(&model, problem);
    model_fini(&model);
    return done;
}
