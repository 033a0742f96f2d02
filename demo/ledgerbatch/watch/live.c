/* Owns the live view: its pace, its signals, and a model without a history. */
#include "watch/live.h"

#include <time.h>

#include "base/file.h"
#include "draw/frame.h"
#include "show/terminal.h"

#define FRAME_NS  50000000u
#define SECOND_NS 1000000000u

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

/* --- signals --- */

void live_open(struct live *live, bool is_ascii)
{
    static const int numbers[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP };
    *live = (struct live){ .is_ascii = is_ascii, .has_screen = terminal_is_there() };
    sigemptyset(&live->signals);
    for (size_t i = 0; live->has_screen && i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction action;
        if (sigaction(numbers[i], NULL, &action) == 0 && action.sa_handler == SIG_DFL) {
            sigaddset(&live->signals, numbers[i]);
        }
    }
    pthread_sigmask(SIG_BLOCK, &live->signals, &live->unblocked);
}

/* Takes a blocked signal: restores the terminal, then lets the signal have its usual effect. */
static void take_signal(struct live *live)
{
    const struct timespec at_once = { 0, 0 };
    int number = live->has_screen ? sigtimedwait(&live->signals, NULL, &at_once) : -1;
    if (number < 0) {
        return;
    }
    terminal_leave();
    if (number == SIGTSTP) {
        raise(SIGSTOP); /* stops this thread first, so that it does not draw before it continues */
    } else {
        pthread_sigmask(SIG_UNBLOCK, &live->signals, NULL);
        raise(number); /* only SIGTERM comes back, when it asks the batch to stop */
        pthread_sigmask(SIG_BLOCK, &live->signals, NULL);
    }
    terminal_enter();
    live->next_ns = 0;
}

/* --- drawing --- */

static void draw_frame(const struct live *live)
{
    struct problem ignored; /* if the screen cannot be written, neither can a message */
    struct text title = { 0 };
    size_t done = atomic_load_explicit(&live->batch->done_count, memory_order_relaxed);
    text_add(&title, "ledgerbatch: %zu of %zu tasks", live->done_before + done,
             live->batch->plan->task_count);
    if (live->missed > 0) {
        text_add(&title, ", %llu events missed", (unsigned long long)live->missed);
    }
    struct frame_options options = { .title = title.data, .is_ascii = live->is_ascii };
    struct cells cells;
    bool is_gone;
    terminal_size(&options.width, &options.height);
    frame_draw(&cells, &live->model, &options);
    terminal_draw(&cells, &is_gone, &ignored);
    cells_fini(&cells);
    text_fini(&title);
}

static void draw_view(const struct live *live)
{
    struct problem ignored;
    struct text line = { 0 };
    if (live->has_screen) {
        draw_frame(live);
        return;
    }
    frame_line(&line, &live->model);
    file_write(NULL, line.data, line.size, &ignored);
    text_fini(&line);
}

static void take_events(void *context, const lanepool_event *events, size_t count)
{
    struct live *live = context;
    take_signal(live);
    for (size_t i = 0; i < count; i++) {
        model_feed(&live->model, &events[i]);
    }
    uint64_t now = now_ns();
    if (now >= live->next_ns) {
        if (count == 0) { /* no events are unread */
            model_advance(&live->model, now - live->model.recording->zero_ns);
        }
        live->missed = lanepool_trace_missed(live->tap.reader);
        draw_view(live);
        live->next_ns = now + (live->has_screen ? FRAME_NS : SECOND_NS);
    }
}

/* --- the view --- */

bool live_start(struct live *live, const struct recording *head, const struct batch *batch,
                size_t done_before, lanepool_pool *pool, struct problem *problem)
{
    live->batch = batch;
    live->done_before = done_before;
    live->next_ns = live->has_screen ? 0 : head->zero_ns + SECOND_NS;
    live->has_model = true;
    model_init(&live->model, head, false);
    if (live->has_screen) {
        terminal_enter();
    }
    live->is_tapped = tap_start(&live->tap, pool, take_events, live, problem);
    return live->is_tapped;
}

void live_end(struct live *live)
{
    struct problem ignored; /* a view that has ended early has drawn all that it could */
    if (live->is_tapped) {
        tap_end(&live->tap, &live->missed, &ignored);
        draw_view(live);
    }
    if (live->has_screen) {
        terminal_leave();
    }
    pthread_sigmask(SIG_SETMASK, &live->unblocked, NULL);
}

void live_fini(struct live *live)
{
    if (live->has_model) {
        model_fini(&live->model);
    }
    pthread_sigmask(SIG_SETMASK, &live->unblocked, NULL); /* in case it was never started */
}
