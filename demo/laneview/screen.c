/* Owns what has to be known of a terminal, and what is sent to steer it. */
#include "screen.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "file.h"
#include "frame.h"

/* Until the end of each row, and of the screen, what stood there before is wiped out. */
#define TO_TOP      "\033[H"
#define ROW_END     "\033[K\n"
#define WIPE_REST   "\033[J"
#define HIDE_CURSOR "\033[?25l"
#define SHOW_CURSOR "\033[0m\033[?25h"

bool screen_is_there(void)
{
    return isatty(STDOUT_FILENO) == 1;
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

bool screen_draw(const struct model *model, const struct screen_options *options,
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
    bool drawn = file_write(NULL, text.data, text.size, problem);
    text_fini(&text);
    cells_fini(&cells);
    return drawn;
}

/* Who cannot be reached any more needs no cursor either. */
static void send(const char *sequence)
{
    struct problem ignored;
    struct text text = { 0 };
    text_add(&text, "%s", sequence);
    file_write(NULL, text.data, text.size, &ignored);
    text_fini(&text);
}

void screen_begin(void)
{
    send(HIDE_CURSOR);
}

void screen_end(void)
{
    send(SHOW_CURSOR);
}
