/* Owns the rows about held clients and tasks. */
#include "held.h"

#include "header.h"

static bool put_lane(struct store *store, const struct quarantine *quarantine, uint32_t lane,
                     struct problem *problem)
{
    const struct lane_state *state = &quarantine->lanes[lane];
    struct stored_held held = { lane, state->held_seq, state->root_seq,
                                slice_of(quarantine_reason(quarantine, state->root_seq)) };
    return store_put_held(store, &held, problem);
}

static bool put_task(struct store *store, const struct quarantine *quarantine,
                     const struct held_task *held, struct buffer *text, struct problem *problem)
{
    struct stored_transaction header = header_of(quarantine->plan, held->task, text);
    bool put = store_put_held_task(store, &header, problem);
    for (size_t i = 0; put && i < held->holders.count; i++) {
        struct stored_holder holder = { held->task->seq, held->holders.items[i] };
        put = store_put_holder(store, &holder, problem);
    }
    return put;
}

static bool put_all(struct store *store, const struct quarantine *quarantine,
                    struct problem *problem)
{
    struct buffer text = { 0 };
    bool put = true;
    for (uint32_t i = 0; put && i <= plan_house_lane(quarantine->plan); i++) {
        put = quarantine->lanes[i].held_seq == 0 || put_lane(store, quarantine, i, problem);
    }
    for (size_t i = 0; put && i < quarantine->task_count; i++) {
        put = put_task(store, quarantine, &quarantine->tasks[i], &text, problem);
    }
    buffer_fini(&text);
    return put;
}

bool held_record(struct store *store, struct quarantine *quarantine, struct problem *problem)
{
    quarantine_sort(quarantine);
    bool recorded = store_begin(store, problem) && store_clear_held(store, problem) &&
                    put_all(store, quarantine, problem) && store_commit(store, problem);
    if (!recorded) {
        store_rollback(store);
    }
    return recorded;
}
