#include "support/conflict_model.h"

bool model_conflict(const struct conflict_model *model, uint32_t a, uint32_t b)
{
    return !(model->allows[a][b] && model->allows[b][a]);
}

bool model_may_run(const struct conflict_model *model, uint32_t task)
{
    if (task >= model->submitted || model->finished[task]) {
        return false;
    }
    for (uint32_t earlier = 0; earlier < task; earlier++) {
        if (!model->finished[earlier] && model_conflict(model, earlier, task)) {
            return false;
        }
    }
    return true;
}

uint32_t model_oldest(const struct conflict_model *model)
{
    uint32_t task = 0;

    while (task < model->submitted && model->finished[task]) {
        task++;
    }
    return task < model->submitted ? task : model->count;
}
