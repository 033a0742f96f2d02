/* Owns the words for what a model shows. */
#include "model/describe.h"

#include "base/units.h"

const char *describe_tag(const struct model *model, size_t task)
{
    const lanepool_replay_task *described = &model->replay->tasks[task];
    const char *name = model->recording->tags[described->tag];
    if (name && *name) {
        return name;
    }
    return described->is_cut ? "cut" : model_is_rollup(described) ? "rollup" : "task";
}

const char *describe_mode(unsigned mode)
{
    if (mode == LANEPOOL_COMMUTING) {
        return " (commuting)";
    }
    return mode == LANEPOOL_SHARED ? " (shared)" : "";
}

void describe_number(struct text *text, const struct model *model, size_t task)
{
    if (model->replay->tasks[task].has_ticket) {
        text_add(text, "#%llu", (unsigned long long)model->replay->tasks[task].ticket);
    } else {
        text_add(text, "submission");
    }
}

void describe_task(struct text *text, const struct model *model, size_t task)
{
    describe_number(text, model, task);
    text_add(text, " %s", describe_tag(model, task));
}

void describe_visit(struct text *text, const struct model *model, size_t entry)
{
    size_t lane = model->replay->entries[entry].lane;
    describe_task(text, model, model->replay->entries[entry].task);
    text_add(text, " at %s", lane == LANEPOOL_REPLAY_NONE ? "a lane" : model->lanes[lane].name);
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
    bool has_failed = span->holder_state != LANEPOOL_REPLAY_RUNNING;
    if (span->task != LANEPOOL_REPLAY_NONE) {
        describe_number(text, model, span->task);
        text_add(text, " ");
    }
    if (span->task != LANEPOOL_REPLAY_NONE || !has_failed) {
        text_add(text, "waits for ");
    }
    describe_number(text, model, span->holder);
    if (has_failed) {
        text_add(text, "%s%s", span->task != LANEPOOL_REPLAY_NONE ? ", " : " is ",
                 span->holder_state == LANEPOOL_REPLAY_PARKED ? "parked" : "to be retried");
    }
}

/* The words of all pictures for a failed task. */
static const char *failed_words(lanepool_replay_state state)
{
    return state == LANEPOOL_REPLAY_PARKED ? "has failed and is parked"
                                           : "has failed and will be retried";
}

/* Adds what the task that others wait for did when the span began. */
static void add_holder(struct text *text, const struct model *model, const struct model_span *span)
{
    size_t number = model_attempt_at(model, span->holder, span->from);
    lanepool_replay_attempt attempt = model_attempt(model, span->holder, number);
    if (span->holder_state != LANEPOOL_REPLAY_RUNNING) {
        text_add(text, ", which %s", failed_words(span->holder_state));
    } else if (model->replay->tasks[span->holder].is_cut) {
        text_add(text, ", which visits its lanes");
    } else if (attempt.start_ns == LANEPOOL_REPLAY_UNSEEN || attempt.start_ns > span->from ||
               attempt.end_ns <= span->from) {
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
    if (span->task == LANEPOOL_REPLAY_NONE && span->holder_state != LANEPOOL_REPLAY_RUNNING) {
        describe_task(text, model, span->holder);
        text_add(text, " %s", failed_words(span->holder_state));
        return;
    }
    if (span->task == LANEPOOL_REPLAY_NONE) {
        text_add(text, "what is pending waits for ");
    } else {
        describe_task(text, model, span->task);
        text_add(text, " is latched (");
        describe_arrived(text, model, span->task, span->from);
        text_add(text, ") and waits for ");
    }
    if (span->holder == LANEPOOL_REPLAY_NONE || span->holder == span->task) {
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
    if (span->kind != MODEL_BLOCKED || span->holder == LANEPOOL_REPLAY_NONE) {
        describe_idle(text, model, span);
        return;
    }
    text_add(text, "blocked: ");
    if (span->holder_state != LANEPOOL_REPLAY_RUNNING) {
        describe_blocked_short(text, model, span);
        return;
    }
    if (span->task != LANEPOOL_REPLAY_NONE) {
        describe_number(text, model, span->task);
        text_add(text, " is latched (%u/%u), ", model_arrived_at(model, span->task, span->from),
                 model_entries_at(model, span->task, span->from));
    }
    text_add(text, "waits for ");
    describe_number(text, model, span->holder);
    const lanepool_replay_task *holder = &model->replay->tasks[span->holder];
    if (holder->state == LANEPOOL_REPLAY_RUNNING && holder->thread < LANEPOOL_EVENT_OUTSIDE) {
        text_add(text, " on worker %u", holder->thread);
    }
}

static void add_moment(struct text *text, const char *what, uint64_t time)
{
    char number[UNITS_TEXT_SIZE];
    if (time != LANEPOOL_REPLAY_UNSEEN) {
        text_add(text, "\n%s at %s", what, units_format(number, time));
    }
}

/* further failed attempts are only counted */
#define ATTEMPTS_TOLD 8

static void add_failed_attempts(struct text *text, const struct model *model, size_t task)
{
    size_t count = model->replay->tasks[task].failed_count;
    char number[UNITS_TEXT_SIZE];
    for (size_t i = 0; i < count && i < ATTEMPTS_TOLD; i++) {
        lanepool_replay_attempt failed = model_attempt(model, task, i);
        text_add(text, "\nattempt %zu failed at %s", i + 1, units_format(number, failed.end_ns));
        add_moment(text, "parked, its lanes poisoned,", failed.parked_ns);
        add_moment(text, "ready again", failed.ready_ns);
    }
    if (count > ATTEMPTS_TOLD) {
        text_add(text, "\n%zu attempts failed", count);
    }
}

/* further visits are only counted */
#define VISITS_TOLD 8

static void add_visits(struct text *text, const struct model *model, size_t task)
{
    char from[UNITS_TEXT_SIZE], length[UNITS_TEXT_SIZE];
    size_t index = model->replay->tasks[task].first_entry, told = 0;
    for (; index != LANEPOOL_REPLAY_NONE; index = model->replay->entries[index].next_of_task) {
        struct model_visits visits = model_visits_of(model, index);
        size_t lane = model->replay->entries[index].lane;
        for (size_t i = 0; i < visits.count && lane != LANEPOOL_REPLAY_NONE; i++) {
            const struct model_visit *visit = &visits.items[i];
            if (told++ < VISITS_TOLD) {
                text_add(text, "\nvisited %s at %s for %s%s", model->lanes[lane].name,
                         units_format(from, visit->from),
                         units_format(length, model_until(model, visit->to) - visit->from),
                         visit->has_failed ? ", failed" : "");
            }
        }
    }
    if (told > VISITS_TOLD) {
        text_add(text, "\n%zu visits in all", told);
    }
}

void describe_history(struct text *text, const struct model *model, size_t task)
{
    const lanepool_replay_task *described = &model->replay->tasks[task];
    char number[UNITS_TEXT_SIZE];
    describe_task(text, model, task);
    size_t index = described->first_entry;
    for (const char *before = "\nlanes: "; index != LANEPOOL_REPLAY_NONE; before = ", ") {
        const lanepool_replay_entry *entry = &model->replay->entries[index];
        if (entry->lane != LANEPOOL_REPLAY_NONE) {
            bool is_given_up = entry->arrive_ns == LANEPOOL_REPLAY_UNSEEN &&
                               entry->release_ns != LANEPOOL_REPLAY_UNSEEN;
            text_add(text, "%s%s%s%s", before, model->lanes[entry->lane].name,
                     describe_mode(entry->mode), is_given_up ? " (given up)" : "");
        }
        index = entry->next_of_task;
    }
    add_moment(text, "submitted", described->submit_ns);
    add_visits(text, model, task);
    add_moment(text, "ready", described->ready_ns);
    add_moment(text, "started", model_attempt(model, task, 0).start_ns);
    add_failed_attempts(text, model, task);
    if (described->failed_count > 0) {
        add_moment(text, "started for the last time", described->start_ns);
    }
    add_moment(text, "ended", described->end_ns);
    if (described->start_ns != LANEPOOL_REPLAY_UNSEEN &&
        described->end_ns != LANEPOOL_REPLAY_UNSEEN) {
        text_add(text, "\nran for %s",
                 units_format(number, described->end_ns - described->start_ns));
    }
    if (described->status == LANEPOOL_POISONED) {
        text_add(text, "\nrefused: a lane was poisoned");
    } else if (described->status != 0) {
        text_add(text, "\nended with status %u", described->status);
    }
}
