/* Owns the terminal's modes, and the few escape sequences that laneview needs. */
#include "show/terminal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/file.h"

#define ENTER "\033[?1049h\033[?25l\033[2J" /* the alternate screen, cleared, without a cursor */
#define LEAVE "\033[?25h\033[?1049l"
#define TOP   "\033[H"
#define CLEAR "\033[K" /* clears from the cursor to the end of the row */

#define DEFAULT_WIDTH  100
#define DEFAULT_HEIGHT 30
#define SIZE_MOST      1000

static struct termios saved_modes;
static bool is_entered, has_modes;

bool terminal_is_there(void)
{
    const char *name = getenv("TERM");
    return isatty(STDOUT_FILENO) && !(name && strcmp(name, "dumb") == 0);
}

bool terminal_has_colours(void)
{
    const char *no_color = getenv("NO_COLOR");
    return !no_color || !*no_color;
}

static size_t choose_size(unsigned reported, const char *name, size_t otherwise)
{
    const char *text = getenv(name);
    long number = reported > 0 ? (long)reported : text ? strtol(text, NULL, 10) : 0;
    if (number <= 0) {
        return otherwise;
    }
    return number < SIZE_MOST ? (size_t)number : SIZE_MOST;
}

void terminal_size(size_t *width, size_t *height)
{
    struct winsize size = { 0 };
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) {
        size = (struct winsize){ 0 };
    }
    *width = choose_size(size.ws_col, "COLUMNS", DEFAULT_WIDTH);
    *height = choose_size(size.ws_row, "LINES", DEFAULT_HEIGHT);
}

/* Ignores errors: drawing the next picture reports them. */
static void write_sequence(const char *sequence)
{
    size_t size = strlen(sequence);
    while (size > 0) {
        ssize_t written = write(STDOUT_FILENO, sequence, size);
        if (written < 0 && errno != EINTR) {
            return;
        }
        sequence += written > 0 ? written : 0;
        size -= written > 0 ? (size_t)written : 0;
    }
}

void terminal_enter(void)
{
    static bool will_leave;
    if (is_entered) {
        return;
    }
    if (!will_leave) {
        will_leave = atexit(terminal_leave) == 0;
    }
    is_entered = true;
    has_modes = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &saved_modes) == 0;
    if (has_modes) {
        struct termios modes = saved_modes;
        modes.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        modes.c_cc[VMIN] = 1;
        modes.c_cc[VTIME] = 0;
        tcsetattr(STDIN_FILENO, TCSANOW, &modes);
    }
    write_sequence(ENTER);
}

void terminal_leave(void)
{
    if (!is_entered) {
        return;
    }
    write_sequence(LEAVE);
    if (has_modes) {
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &saved_modes);
    }
    is_entered = false;
}

int terminal_keys(void)
{
    return has_modes ? STDIN_FILENO : -1;
}

char terminal_read_key(void)
{
    char key = 0;
    return read(STDIN_FILENO, &key, 1) == 1 ? key : 0;
}

bool terminal_draw(const struct cells *cells, bool *is_gone, struct problem *problem)
{
    struct text text = { 0 };
    text_add(&text, TOP);
    cells_print(&text, cells, terminal_has_colours(), CLEAR, "\n");
    if (cells->height > 0) {
        text.size -= strlen("\n"); /* after the last row, the screen would scroll */
    }
    bool drawn = file_print(text.data, text.size, is_gone, problem);
    text_fini(&text);
    return drawn;
}
