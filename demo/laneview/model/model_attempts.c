/* Owns the attempts of tasks that fail. */
#include "memory.h"
#include "model/model_internal.h"

static void end_attempt(struct model *model, struct model_task *task, uint16_t thread)
{
    bool was_seen = task->start != MODEL_UNSEEN;
    task->failed = memory_grow(task->failed, &task->failed_capacity, task->failed_count + 1,
                               sizeof *task->failed);
    task->failed[task->failed_count++] =
        (struct model_attempt){ .start = task->start,
                                .end = model->now,
                                .thread = was_seen ? task->thread : thread,
                                .parked = MODEL_UNSEEN,
                                .ready_again = MODEL_UNSEEN };
    task->start = MODEL_UNSEEN;
}

void model_fail(struct model *model, size_t task, const lanepool_event *event)
{
    struct model_task *failed = &model->tasks[task];
    bool is_parked = event->type == LANEPOOL_EVENT_PARK;
    if (failed->state >= MODEL_ENDED || failed->state == MODEL_PARKED ||
        (failed->state == MODEL_RETRYING && !is_parked)) {
        return;
    }
    if (failed->state != MODEL_RETRYING) {
        model_pop_run(model, task);
        end_attempt(model, failed, event->thread);
        model_arrive_everywhere(model, task);
    }
    if (is_parked) {
        failed->failed[failed->failed_count - 1].parked = model->now;
    }
    model_set_state(model, task, is_parked ? MODEL_PARKED : MODEL_RETRYING);
}

size_t model_attempt_at(const struct model_task *task, uint64_t time)
{
    size_t number = task->failed_count;
    while (number > 0 && model_attempt(task, number).start > time) {
        number--;
    }
    return number;
}
