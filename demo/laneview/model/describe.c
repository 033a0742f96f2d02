/* Owns the words for what a model shows. */
#include "model/describe.h"

#include "base/units.h"

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
             model_entries_at(model, task, time));
}

void describe_latch(struct text *text, const struct model *model, const struct lane_span *span)
{
    if (span->arrived > 0) {
        describe_latch_short(text, model, span);
        text_add(text, " arrived");
    } else {
        text_add(text, "latched");
    }
}

void describe_latch_short(struct text *text, const struct model *model,
                          const struct lane_span *span)
{
    text_add(text, "%u/%u", span->arrived, model_entries_at(model, span->task, span->from));
}

void describe_failed(struct text *text, const struct model *model, const struct lane_span *span)
{
    describe_task(text, model, span->task);
    if (span->kind == LANE_PARKED) {
        text_add(text, " is parked");
    } else {
        text_add(text, " failed, attempt %zu follows", span->attempt + 2);
    }
}

void describe_failed_short(struct text *text, const struct model *model,
                           const struct lane_span *span)
{
    describe_number(text, model, span->task);
    text_add(text, span->kind == LANE_PARKED ? " parked" : " failed");
}

void describe_blocked_short(struct text *text, const struct model *model,
                            const struct model_span *span)
{
    bool has_failed = span->holder_state != MODEL_RUNNING;
    if (span->task != MODEL_NONE) {
        describe_number(text, model, span->task);
        text_add(text, " ");
    }
    if (span->task != MODEL_NONE || !has_failed) {
        text_add(text, "waits for ");
    }
    describe_number(text, model, span->holder);
    if (has_failed) {
        text_add(text, "%s%s", span->task != MODEL_NONE ? ", " : " is ",
                 span->holder_state == MODEL_PARKED ? "parked" : "to be retried");
    }
}

/* The words of all pictures for a failed task. */
static const char *failed_words(enum model_state state)
{
    return state == MODEL_PARKED ? "has failed and is parked" : "has failed and will be retried";
}

/* Adds what the task that others wait for did when the span began. */
static void add_holder(struct text *text, const struct model *model, const struct model_span *span)
{
    const struct model_task *holder = &model->tasks[span->holder];
    struct model_attempt attempt = model_attempt(holder, model_attempt_at(holder, span->from));
    if (span->holder_state != MODEL_RUNNING) {
        text_add(text, ", which %s", failed_words(span->holder_state));
    } else if (attempt.start == MODEL_UNSEEN || attempt.start > span->from ||
               attempt.end <= span->from) {
        return;
    } else if (attempt.thread < LANEPOOL_EVENT_OUTSIDE) {
        text_add(text, ", which runs on worker %u", attempt.thread);
    } else {
        text_add(text, ", which runs outside the pool's workers");
    }
}

static void describe_blocked(struct text *text, const struct model *model,
                             const struct model_span *span)
{
    text_add(text, "blocked: ");
    if (span->task == MODEL_NONE && span->holder_state != MODEL_RUNNING) {
        describe_task(text, model, span->holder);
        text_add(text, " %s", failed_words(span->holder_state));
        return;
    }
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
    add_holder(text, model, span);
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
    if (span->holder_state != MODEL_RUNNING) {
        describe_blocked_short(text, model, span);
        return;
    }
    if (span->task != MODEL_NONE) {
        describe_number(text, model, span->task);
        text_add(text, " is latched (%u/%u), ", model_arrived_at(model, span->task, span->from),
                 model_entries_at(model, span->task, span->from));
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

/* further failed attempts are only counted */
#define ATTEMPTS_TOLD 8

static void add_failed_attempts(struct text *text, const struct model_task *task)
{
    char number[UNITS_TEXT_SIZE];
    for (size_t i = 0; i < task->failed_count && i < ATTEMPTS_TOLD; i++) {
        text_add(text, "\nattempt %zu failed at %s", i + 1,
                 units_format(number, task->failed[i].end));
        add_moment(text, "parked, its lanes poisoned,", task->failed[i].parked);
        add_moment(text, "ready again", task->failed[i].ready_again);
    }
    if (task->failed_count > ATTEMPTS_TOLD) {
        text_add(text, "\n%zu attempts failed", task->failed_count);
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
            bool is_given_up = entry->arrive == MODEL_UNSEEN && entry->release != MODEL_UNSEEN;
            text_add(text, "%s%s%s%s", before, model->lanes[entry->lane].name,
                     entry->shared ? " (shared)" : "", is_given_up ? " (given up)" : "");
        }
        index = entry->next_of_task;
    }
    add_moment(text, "submitted", described->submit);
    add_moment(text, "ready", described->ready);
    add_moment(text, "started", model_attempt(described, 0).start);
    add_failed_attempts(text, described);
    if (described->failed_count > 0) {
        add_moment(text, "started for the last time", described->start);
    }
    add_moment(text, "ended", described->end);
    if (described->start != MODEL_UNSEEN && described->end != MODEL_UNSEEN) {
        text_add(text, "\nran for %s", units_format(number, described->end - described->start));
    }
    if (described->status == LANEPOOL_POISONED) {
        text_add(text, "\nrefused: a lane was poisoned");
    } else if (described->status != 0) {
        text_add(text, "\nended with status %u", described->status);
    }
}
