/* Owns the dropping of what is over, so that a live view of a long run does not grow. */
#include <stdlib.h>

#include "memory.h"
#include "model/model_internal.h"

/* From old indexes to new ones. MODEL_NONE: dropped, or no index before. */
struct moves {
    size_t *tasks, *entries;
};

static size_t new_index(const size_t *indexes, size_t index)
{
    return index == MODEL_NONE ? MODEL_NONE : indexes[index];
}

/* Returns true until a task is over and has left all of its lanes. */
static bool task_stays(const struct model *model, const struct model_task *task)
{
    bool is_open = task->state < MODEL_ENDED;
    size_t entry = task->first_entry;
    for (; !is_open && entry != MODEL_NONE; entry = model->entries[entry].next_of_task) {
        is_open = model->entries[entry].release == MODEL_UNSEEN;
    }
    return is_open;
}

/* Moves what stays to the front, in its order. Links still hold old indexes. */
static struct moves compact_arrays(struct model *model)
{
    struct moves moves = { memory_zeroed(model->task_count, sizeof *moves.tasks),
                           memory_zeroed(model->entry_count, sizeof *moves.entries) };
    size_t tasks = 0, entries = 0;
    for (size_t i = 0; i < model->task_count; i++) {
        moves.tasks[i] = task_stays(model, &model->tasks[i]) ? tasks++ : MODEL_NONE;
    }
    for (size_t i = 0; i < model->entry_count; i++) {
        bool task_stays = moves.tasks[model->entries[i].task] != MODEL_NONE;
        moves.entries[i] = task_stays ? entries++ : MODEL_NONE;
        if (task_stays) {
            model->entries[moves.entries[i]] = model->entries[i];
        }
    }
    for (size_t i = 0; i < model->task_count; i++) {
        if (moves.tasks[i] != MODEL_NONE) {
            model->tasks[moves.tasks[i]] = model->tasks[i];
        } else {
            free(model->tasks[i].failed);
        }
    }
    model->task_count = tasks;
    model->entry_count = entries;
    return moves;
}

static void relink_tasks(struct model *model, const struct moves *moves)
{
    for (size_t i = 0; i < model->task_count; i++) {
        struct model_task *task = &model->tasks[i];
        task->first_entry = new_index(moves->entries, task->first_entry);
        task->last_entry = new_index(moves->entries, task->last_entry);
        if (model_list_of(model, task->state)) {
            task->previous = new_index(moves->tasks, task->previous);
            task->next = new_index(moves->tasks, task->next);
        }
    }
    for (unsigned state = 0; state < MODEL_STATES; state++) {
        struct model_list *list = model_list_of(model, (enum model_state)state);
        if (list) {
            list->first = new_index(moves->tasks, list->first);
            list->last = new_index(moves->tasks, list->last);
        }
    }
}

static void relink_entries(struct model *model, const struct moves *moves)
{
    for (size_t i = 0; i < model->entry_count; i++) {
        struct model_entry *entry = &model->entries[i];
        entry->task = new_index(moves->tasks, entry->task);
        entry->next_of_task = new_index(moves->entries, entry->next_of_task);
        if (entry->lane != MODEL_NONE && entry->release == MODEL_UNSEEN) {
            entry->previous = new_index(moves->entries, entry->previous);
            entry->next = new_index(moves->entries, entry->next);
        }
    }
}

/* Drops the entries of dropped tasks, and all depths but the last one. */
static void relink_lanes(struct model *model, const struct moves *moves)
{
    for (size_t i = 0; i < model->lane_count; i++) {
        struct model_lane *lane = &model->lanes[i];
        size_t left = 0;
        lane->first_open = new_index(moves->entries, lane->first_open);
        lane->last_open = new_index(moves->entries, lane->last_open);
        for (size_t j = 0; j < lane->entry_count; j++) {
            size_t entry = new_index(moves->entries, lane->entries[j]);
            if (entry != MODEL_NONE) {
                lane->entries[left++] = entry;
            }
        }
        lane->entry_count = left;
        if (lane->depth_count > 1) {
            lane->depths[0] = lane->depths[lane->depth_count - 1];
            lane->depth_count = 1;
        }
    }
}

/* Drops all spans but the last one; the sums remain. */
static void relink_workers(struct model *model, const struct moves *moves)
{
    for (size_t i = 0; i < model->recording->worker_count; i++) {
        struct model_worker *worker = &model->workers[i];
        for (size_t depth = 0; depth < worker->depth; depth++) {
            worker->stack[depth] = new_index(moves->tasks, worker->stack[depth]);
        }
        struct model_span *last = &worker->spans[worker->span_count - 1];
        last->task = new_index(moves->tasks, last->task);
        last->holder = new_index(moves->tasks, last->holder);
        worker->spans[0] = *last;
        worker->span_count = 1;
    }
}

static void relink_map(struct map *map, const struct moves *moves)
{
    struct map left = { 0 };
    for (size_t i = 0; i < map->slot_count; i++) {
        const struct map_slot *slot = &map->slots[i];
        size_t index = slot->index == MAP_NONE ? MODEL_NONE : moves->tasks[slot->index];
        if (index != MODEL_NONE) {
            map_set(&left, slot->type, slot->number, index);
        }
    }
    map_fini(map);
    *map = left;
}

void model_forget(struct model *model)
{
    struct moves moves = compact_arrays(model);
    relink_tasks(model, &moves);
    relink_entries(model, &moves);
    relink_lanes(model, &moves);
    relink_workers(model, &moves);
    relink_map(&model->tickets, &moves);
    relink_map(&model->submissions, &moves);
    free(moves.tasks);
    free(moves.entries);
}
