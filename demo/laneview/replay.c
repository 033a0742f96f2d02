/* Owns the pace of a replay, and what it needs to know of the terminal. */
#include "replay.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "file.h"
#include "frame.h"

#define FRAME_NS  50000000u
#define SECOND_NS 1000000000u

/* Until the end of each row, and of the screen, what stood there before is wiped out. */
#define TO_TOP    "\033[H"
#define ROW_END   "\033[K\n"
#define WIPE_REST "\033[J"

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

static size_t number_or(const char *text, size_t otherwise)
{
    char *end;
    long number = text ? strtol(text, &end, 10) : 0;
    return number >= 20 && number <= 1000 ? (size_t)number : otherwise;
}

static void find_size(size_t *width, size_t *height)
{
    struct winsize size = { 0 };
    *width = number_or(getenv("COLUMNS"), 100);
    *height = number_or(getenv("LINES"), 30);
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20 && size.ws_row >= 2) {
        *width = size.ws_col;
        *height = size.ws_row - 1u; /* the cursor stands in the last row */
    }
}

static bool print_frame(const struct model *model, const struct replay_options *options,
                        struct problem *problem)
{
    struct frame_options frame = { .title = options->title, .is_ascii = options->is_ascii };
    const char *no_color = getenv("NO_COLOR");
    struct cells cells;
    struct text text = { 0 };
    find_size(&frame.width, &frame.height);
    frame_draw(&cells, model, &frame);
    text_add(&text, TO_TOP);
    cells_print(&text, &cells, !no_color || !*no_color, ROW_END);
    text_add(&text, WIPE_REST);
    bool printed = print(&text, problem);
    text_fini(&text);
    cells_fini(&cells);
    return printed;
}

static bool play_frames(struct model *model, const struct replay_options *options,
                        struct problem *problem)
{
    const struct timespec pause = { 0, FRAME_NS };
    uint64_t step = (uint64_t)FRAME_NS * options->speed_percent / 100;
    size_t fed = 0, count = model->recording->event_count;
    bool printed = print_frame(model, options, problem);
    for (uint64_t time = step; printed && fed < count; time += step) {
        nanosleep(&pause, NULL);
        fed = model_feed_until(model, fed, time);
        if (fed < count) {
            model_advance(model, time);
        }
        printed = print_frame(model, options, problem);
    }
    return printed;
}

bool replay_run(const struct recording *recording, const struct replay_options *options,
                struct problem *problem)
{
    struct model model;
    model_init(&model, recording);
    bool done = isatty(STDOUT_FILENO) ? play_frames(&model, options, problem)
                                      : print_lines(&model, problem);
    model_fini(&model);
    return done;
}
