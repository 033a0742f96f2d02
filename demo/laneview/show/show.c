/* Owns the pace at which a run is shown, and the loop around it. */
#include "show/show.h"

#include <signal.h>
#include <time.h>

#include "base/file.h"
#include "draw/frame.h"
#include "show/show_internal.h"
#include "show/signals.h"
#include "show/terminal.h"

#define FRAME_NS  50000000u
#define SECOND_NS 1000000000u

/* --- time --- */

static uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

/* Shows everything up to a time. After the last event of a run that is over, time stops. */
static void show_until(struct show *show, uint64_t time)
{
    show->time_ns = time;
    show->fed = model_feed_until(&show->model, show->fed, time);
    if (!show_is_over(show)) {
        model_advance(&show->model, time);
    }
}

/* Advances by a frame: a recording by the frame's share of its time, a session to its latest
 * events. */
static void advance_frame(struct show *show)
{
    if (show->is_paused) {
        return;
    }
    if (show->session) {
        show_until(show, show->session->is_over ? LANEPOOL_REPLAY_UNSEEN : show->session->read_ns);
    } else if (!show_is_over(show)) {
        show_until(show, show->time_ns + (uint64_t)FRAME_NS * show->options->speed_percent / 100);
    }
}

static bool must_end(const struct show *show)
{
    return show->quits || show->is_gone || signals_end() != 0;
}

/* --- on a terminal --- */

static bool draw_frame(struct show *show, struct problem *problem)
{
    struct frame_options frame = { .title = show->options->title,
                                   .is_ascii = show->options->is_ascii };
    struct text footer = { 0 };
    struct cells cells;
    terminal_size(&frame.width, &frame.height);
    if (terminal_keys() >= 0) {
        show_add_footer(&footer, show);
        frame.footer = footer.data;
    }
    frame_draw(&cells, &show->model, &frame);
    bool drawn = terminal_draw(&cells, &show->is_gone, problem);
    cells_fini(&cells);
    text_fini(&footer);
    return drawn;
}

/* Prints the last frame, without empty rows, so that it stays on the screen. */
static bool print_last(struct show *show, struct problem *problem)
{
    struct frame_options frame = { .title = show->options->title,
                                   .is_ascii = show->options->is_ascii };
    struct text text = { 0 };
    struct cells cells;
    size_t height;
    terminal_size(&frame.width, &height);
    frame.height = frame_height(&show->model);
    frame.height = frame.height < height ? frame.height : height;
    frame_draw(&cells, &show->model, &frame);
    cells_print(&text, &cells, terminal_has_colours(), "", "\n");
    bool printed = file_print(text.data, text.size, &show->is_gone, problem);
    cells_fini(&cells);
    text_fini(&text);
    return printed;
}

/* Ctrl-Z: restores the terminal, and stops until the program is continued. */
static void suspend_program(void)
{
    terminal_leave();
    raise(SIGSTOP);
    terminal_enter();
}

/* Waits for a key, a signal, the session's next step, or until `ns` have passed. Returns true if
 * the picture may have changed. */
static bool wait_for_news(struct show *show, uint64_t ns)
{
    uint64_t idle = ns;
    if (show->session && !show->is_paused) {
        idle = session_idle_ns(show->session, ns);
    }
    bool has_key = signals_wait(terminal_keys(), idle);
    if (has_key) {
        show_take_key(show, terminal_read_key());
    }
    bool was_stopped = signals_take_stop();
    if (was_stopped) {
        suspend_program();
    }
    return signals_take_resize() || has_key || was_stopped;
}

static bool take_turn(struct show *show, struct problem *problem)
{
    bool is_quiet = !show->session || !session_has_pending(show->session);
    return (!show->session || session_turn(show->session, !show->is_paused, problem)) &&
           show_do_steps(show, is_quiet, problem);
}

static bool show_frames(struct show *show, struct problem *problem)
{
    uint64_t due = clock_ns() + FRAME_NS;
    terminal_enter();
    bool done = draw_frame(show, problem);
    while (done && !must_end(show) && (!show_is_over(show) || terminal_keys() >= 0)) {
        uint64_t now = clock_ns();
        bool has_news = wait_for_news(show, now < due ? due - now : 0);
        bool is_due = clock_ns() >= due;
        done = take_turn(show, problem);
        if (is_due) {
            due = clock_ns() + FRAME_NS;
            advance_frame(show);
        }
        if (done && (is_due || has_news)) {
            done = draw_frame(show, problem);
        }
    }
    terminal_leave();
    return done && (show->is_gone || print_last(show, problem));
}

/* --- without a terminal --- */

static bool print_line(struct show *show, struct problem *problem)
{
    struct text text = { 0 };
    frame_line(&text, &show->model);
    bool printed = file_print(text.data, text.size, &show->is_gone, problem);
    text_fini(&text);
    return printed;
}

/* Prints a line for each second of the run in which something happened, and one for its end. */
static bool print_recording(struct show *show, struct problem *problem)
{
    bool done = true;
    while (done && !show_is_over(show) && !must_end(show)) {
        const lanepool_event *next = &show->recording->events[show->fed];
        uint64_t time = next->time_ns - show->recording->zero_ns;
        show_until(show, (time / SECOND_NS + 1) * SECOND_NS);
        done = print_line(show, problem);
    }
    return done;
}

/* Prints a line for each second that passes, and one for the end. */
static bool print_session(struct show *show, struct problem *problem)
{
    struct session *session = show->session;
    uint64_t due = SECOND_NS;
    bool done = true;
    while (done && !show_is_over(show) && !must_end(show)) {
        uint64_t now = session_now(session);
        signals_wait(-1, session_idle_ns(session, now < due ? due - now : 0));
        done = session_turn(session, true, problem);
        if (done && (session->is_over || session->read_ns >= due)) {
            show_until(show, session->is_over ? LANEPOOL_REPLAY_UNSEEN : due);
            done = print_line(show, problem);
            due += SECOND_NS;
        }
    }
    return done;
}

/* --- both --- */

static bool show_run(struct show *show, struct problem *problem)
{
    bool done;
    model_init(&show->model, show->recording, true);
    if (terminal_is_there()) {
        done = show_frames(show, problem);
    } else {
        done = show->session ? print_session(show, problem) : print_recording(show, problem);
    }
    model_fini(&show->model);
    text_fini(&show->notes);
    return done;
}

bool show_recording(const struct recording *recording, const struct show_options *options,
                    struct problem *problem)
{
    struct show show = { .options = options, .recording = recording };
    return show_run(&show, problem);
}

bool show_session(struct session *session, const struct show_options *options,
                  struct problem *problem)
{
    struct show show = { .options = options, .recording = &session->recording, .session = session };
    return show_run(&show, problem);
}
