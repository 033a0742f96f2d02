/* Owns the words for what is shown. */
#include "describe.h"

#include "units.h"

const char *describe_tag(const struct model *model, size_t task)
{
    const struct model_task *described = &model->tasks[task];
    const char *name = model->recording->tags[described->tag];
    if (name && *name) {
        return name;
    }
    return model_is_rollup(described) ? "rollup" : "task";
}

void describe_number(struct text *text, const struct model *model, size_t task)
{
    if (model->tasks[task].has_ticket) {
        text_add(text, "#%llu", (unsigned long long)model->tasks[task].ticket);
    } else {
        text_add(text, "submission");
    }
}

void describe_task(struct text *text, const struct model *model, size_t task)
{
    describe_number(text, model, task);
    text_add(text, " %s", describe_tag(model, task));
}

void describe_arrived(struct text *text, const struct model *model, size_t task, uint64_t time)
{
    text_add(text, "%u/%u arrived", model_arrived_at(model, task, time),
             model->tasks[task].entry_count);
}

void describe_latch(struct text *text, const struct model *model, const struct lane_span *span)
{
    if (span->arrived > 0) {
        text_add(text, "%u/%u arrived", span->arrived, model->tasks[span->task].entry_count);
    } else {
        text_add(text, "latched");
    }
}

/* Where the task was that others wait for, when their waiting began. */
static void add_place(struct text *text, const struct model *model, size_t task, uint64_t time)
{
    const struct model_task *holder = &model->tasks[task];
    if (holder->start == MODEL_UNSEEN || holder->start > time) {
        return;
    }
    if (holder->thread < LANEPOOL_EVENT_OUTSIDE) {
        text_add(text, ", which runs on worker %u", holder->thread);
    } else {
        text_add(text, ", which runs outside the pool's workers");
    }
}

static void describe_blocked(struct text *text, const struct model *model,
                             const struct model_span *span)
{
    text_add(text, "blocked: ");
    if (span->task == MODEL_NONE) {
        text_add(text, "what is pending waits for ");
    } else {
        describe_task(text, model, span->task);
        text_add(text, " is latched (");
        describe_arrived(text, model, span->task, span->from);
        text_add(text, ") and waits for ");
    }
    if (span->holder == MODEL_NONE || span->holder == span->task) {
        text_add(text, "a task that was not recorded");
        return;
    }
    describe_task(text, model, span->holder);
    add_place(text, model, span->holder, span->from);
}

void describe_idle(struct text *text, const struct model *model, const struct model_span *span)
{
    switch (span->kind) {
    case MODEL_BLOCKED:
        describe_blocked(text, model, span);
        break;
    case MODEL_NO_WORK:
        text_add(text, "no work: nothing is pending that does not run already");
        break;
    case MODEL_SEARCHES:
        text_add(text, "searches: there is work");
        break;
    case MODEL_SLEEPS:
        text_add(text, "asleep: there is work, it is to be woken");
        break;
    case MODEL_RUNS:
    case MODEL_SPAN_KINDS:
        break;
    }
}

void describe_idle_short(struct text *text, const struct model *model,
                         const struct model_span *span)
{
    if (span->kind != MODEL_BLOCKED || span->holder == MODEL_NONE) {
        describe_idle(text, model, span);
        return;
    }
    text_add(text, "blocked: ");
    if (span->task != MODEL_NONE) {
        describe_number(text, model, span->task);
        text_add(text, " is latched (%u/%u), ", model_arrived_at(model, span->task, span->from),
                 model->tasks[span->task].entry_count);
    }
    text_add(text, "waits for ");
    describe_number(text, model, span->holder);
    const struct model_task *holder = &model->tasks[span->holder];
    if (holder->state == MODEL_RUNNING && holder->thread < LANEPOOL_EVENT_OUTSIDE) {
        text_add(text, " on worker %u", holder->thread);
    }
}

static void add_moment(struct text *text, const char *what, uint64_t time)
{
    char number[UNITS_TEXT_SIZE];
    if (time != MODEL_UNSEEN) {
        text_add(text, "\n%s at %s", what, units_format(number, time));
    }
}

void describe_history(struct text *text, const struct model *model, size_t task)
{
    const struct model_task *described = &model->tasks[task];
    char number[UNITS_TEXT_SIZE];
    describe_task(text, model, task);
    size_t index = described->first_entry;
    for (const char *before = "\nlanes: "; index != MODEL_NONE; before = ", ") {
        const struct model_entry *entry = &model->entries[index];
        if (entry->lane != MODEL_NONE) {
            text_add(text, "%s%s%s", before, model->lanes[entry->lane].name,
                     entry->shared ? " (shared)" : "");
        }
        index = entry->next_of_task;
    }
    add_moment(text, "submitted", described->submit);
    add_moment(text, "ready", described->ready);
    add_moment(text, "started", described->start);
    add_moment(text, "ended", described->end);
    if (described->start != MODEL_UNSEEN && described->end != MODEL_UNSEEN) {
        text_add(text, "\nran for %s", units_format(number, described->end - described->start));
    }
    if (described->status != 0) {
        text_add(text, "\nended with status %u", described->status);
    }
}
