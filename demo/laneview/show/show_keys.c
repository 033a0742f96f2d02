/* Owns what keys do: pause, steps, and graphs of the moment. */
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "draw/dot.h"
#include "model/describe.h"
#include "show/show_internal.h"

#define GRAPHS_MAX 10000

/* --- steps --- */

/* Returns true for an event that is a step of its own. Other events belong to the step before
 * them. */
static bool is_moment(const lanepool_event *event)
{
    return event->type == LANEPOOL_EVENT_ROUTE || event->type == LANEPOOL_EVENT_ARRIVE ||
           event->type == LANEPOOL_EVENT_START || event->type == LANEPOOL_EVENT_END ||
           event->type == LANEPOOL_EVENT_CANCEL || event->type == LANEPOOL_EVENT_RETRY ||
           event->type == LANEPOOL_EVENT_PARK || event->type == LANEPOOL_EVENT_VISIT ||
           event->type == LANEPOOL_EVENT_VISITED;
}

static void note_lane(struct show *show, const lanepool_event *event, const char *what)
{
    const struct model *model = &show->model;
    size_t lane = lanepool_replay_lane_of(model->replay, event->object_type, event->object);
    text_add(&show->notes, " %s %s", what,
             lane == LANEPOOL_REPLAY_NONE ? "a lane" : model->lanes[lane].name);
}

static const char *words_of_event(const lanepool_event *event)
{
    switch ((lanepool_event_type)event->type) {
    case LANEPOOL_EVENT_ROUTE:
        return " comes in";
    case LANEPOOL_EVENT_START:
        return " starts";
    case LANEPOOL_EVENT_END:
        return " ends";
    case LANEPOOL_EVENT_RETRY:
        return " fails, and will be retried";
    case LANEPOOL_EVENT_PARK:
        return " fails, and is parked";
    default:
        return " is cancelled";
    }
}

static void note_moment(struct show *show, const lanepool_event *event)
{
    size_t task = show->model.replay->task;
    show->notes.size = 0;
    if (!show->model.replay->tasks[task].has_ticket) {
        text_add(&show->notes, "a task is refused");
        return;
    }
    describe_task(&show->notes, &show->model, task);
    if (event->type == LANEPOOL_EVENT_ARRIVE) {
        note_lane(show, event, "reaches the head of");
    } else if (event->type == LANEPOOL_EVENT_VISIT) {
        note_lane(show, event, "visits");
    } else if (event->type == LANEPOOL_EVENT_VISITED) {
        note_lane(show, event,
                  event->detail == LANEPOOL_OK ? "has visited" : "fails in its visit of");
    } else {
        text_add(&show->notes, "%s", words_of_event(event));
    }
}

/* Does one step with the events that belong to it. Returns false if there is no event for a step
 * yet. */
static bool do_step(struct show *show)
{
    const lanepool_event *events = show->recording->events;
    bool has_moment = false;
    while (show->fed < show->recording->event_count) {
        const lanepool_event *event = &events[show->fed];
        if (is_moment(event) && has_moment) {
            break;
        }
        model_feed(&show->model, event);
        show->fed++;
        if (is_moment(event)) {
            has_moment = true;
            note_moment(show, event);
        }
    }
    show->time_ns = show->model.now;
    return has_moment;
}

bool show_do_steps(struct show *show, bool is_quiet, struct problem *problem)
{
    while (show->steps > 0 && do_step(show)) {
        show->steps--;
    }
    if (show->steps == 0 || !is_quiet) {
        return true;
    }
    if (show_is_over(show)) {
        show->steps = 0;
        return true;
    }
    return !show->session || session_submit_next(show->session, problem);
}

/* --- graphs --- */

/* Finds the first file name that is not in use. */
static bool find_graph_name(struct text *name)
{
    for (unsigned number = 1; number < GRAPHS_MAX; number++) {
        name->size = 0;
        text_add(name, "laneview-%u.dot", number);
        if (access(name->data, F_OK) != 0) {
            return true;
        }
    }
    return false;
}

/* Writes a graph. If that fails, a note says so, and the run continues. */
static void write_graph(struct show *show)
{
    struct text dot = { 0 }, name = { 0 };
    struct problem problem;
    show->notes.size = 0;
    dot_write(&dot, &show->model);
    if (!find_graph_name(&name)) {
        text_add(&show->notes, "there are too many graphs here already");
    } else if (file_write(name.data, dot.data, dot.size, &problem)) {
        text_add(&show->notes, "%s is written", name.data);
    } else {
        text_add_clean(&show->notes, problem.text, strlen(problem.text));
    }
    text_fini(&dot);
    text_fini(&name);
}

/* --- keys --- */

void show_take_key(struct show *show, char key)
{
    switch (key) {
    case 'p':
    case ' ':
        show->is_paused = !show->is_paused;
        show->steps = 0;
        show->notes.size = 0;
        break;
    case 's':
        show->is_paused = true;
        show->steps++;
        break;
    case 'd':
        write_graph(show);
        break;
    case 'q':
    case 0:
        show->quits = true;
        break;
    default:
        break;
    }
}

void show_add_footer(struct text *text, const struct show *show)
{
    if (show_is_over(show)) {
        text_add(text, "over: ");
    } else if (show->is_paused) {
        text_add(text, "paused: ");
    }
    if (show->notes.size > 0) {
        text_add(text, "%s   ", show->notes.data);
    }
    if (show_is_over(show)) {
        text_add(text, "d graph  q quit");
    } else {
        text_add(text, "p %s  s step  d graph  q quit", show->is_paused ? "go on" : "pause");
    }
}
