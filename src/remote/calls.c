/* Owns what the pool calls, and what a running task may do; see node.h. */
#include "remote/node.h"

struct lanepool_remote_run {
    lanepool_i_remote_entry *entry;
    bool reads_only; /* the task is a cut */
};

/* --- for running tasks --- */

uint64_t lanepool_remote_run_seq(const lanepool_remote_run *run)
{
    return run != NULL ? run->entry->seq : 0;
}

lanepool_remote_bytes lanepool_remote_state(const lanepool_remote_run *run, size_t claim)
{
    lanepool_remote_bytes none = { NULL, 0 };
    if (run == NULL || claim >= run->entry->claim_count)
        return none;
    const lanepool_i_remote_entry *entry = run->entry;
    if (entry->changes[claim].is_set)
        return entry->changes[claim].stored;
    return entry->inputs != NULL ? entry->inputs[claim] : entry->lanes[claim]->state;
}

lanepool_status lanepool_remote_set_state(lanepool_remote_run *run, size_t claim, const void *data,
                                          size_t size)
{
    if (run == NULL || claim >= run->entry->claim_count || (data == NULL && size > 0))
        return LANEPOOL_INVALID;
    if (run->reads_only)
        return LANEPOOL_UNSUPPORTED;
    lanepool_i_remote_change *change = &run->entry->changes[claim];
    lanepool_remote_bytes bytes = { data, size };
    lanepool_remote_bytes stored = { NULL, 0 };
    if (!lanepool_i_remote_copy(&stored, bytes))
        return LANEPOOL_NOMEM;
    if (!lanepool_i_remote_copy(&change->state, bytes)) {
        lanepool_i_remote_drop(&stored);
        return LANEPOOL_NOMEM;
    }
    lanepool_i_remote_drop(&change->stored);
    change->stored = stored;
    change->is_set = true;
    return LANEPOOL_OK;
}

lanepool_status lanepool_remote_put(lanepool_remote_run *run, const void *data, size_t size)
{
    if (run == NULL || (data == NULL && size > 0))
        return LANEPOOL_INVALID;
    lanepool_i_remote_entry *entry = run->entry;
    lanepool_i_remote_put_raw(&entry->effects, (lanepool_remote_bytes){ data, size });
    if (entry->effects.has_failed ||
        !lanepool_i_remote_grow(&entry->effect_ends, &entry->effect_capacity,
                                entry->effect_count + 1, sizeof *entry->effect_ends)) {
        entry->effects.has_failed = false;
        entry->effects.size =
            entry->effect_count > 0 ? entry->effect_ends[entry->effect_count - 1] : 0;
        return LANEPOOL_NOMEM;
    }
    entry->effect_ends[entry->effect_count++] = entry->effects.size;
    return LANEPOOL_OK;
}

/* --- functions --- */

static void call_function(lanepool_i_remote_entry *entry)
{
    const lanepool_remote *remote = entry->node->remote;
    const lanepool_remote_kind *kind = &remote->kinds[entry->kind];
    lanepool_remote_run run = { entry, kind->is_cut };
    const lanepool_remote_task task = { entry->kind, entry->claims, entry->claim_count,
                                        entry->payload };
    entry->code = kind->run(&run, &task, remote->options.user);
    if (entry->code == 0)
        return;
    entry->effect_count = 0;
    for (size_t i = 0; i < entry->claim_count; i++)
        entry->changes[i].is_set = false;
}

static bool drop_if_leaving(lanepool_i_remote_entry *entry)
{
    entry->is_dropped = lanepool_i_remote_is_leaving(&entry->node->shards[entry->shard]);
    return entry->is_dropped;
}

/* All claims are lanes of this shard. */
int lanepool_i_remote_alone(lanepool_run *run, void *context)
{
    lanepool_i_remote_entry *entry = context;
    (void)run;
    if (drop_if_leaving(entry))
        return 0;
    call_function(entry);
    for (size_t i = 0; i < entry->claim_count; i++) {
        lanepool_i_remote_change *change = &entry->changes[i];
        if (!change->is_set)
            continue;
        lanepool_i_remote_drop(&entry->lanes[i]->state);
        entry->lanes[i]->state = change->state;
        change->state = (lanepool_remote_bytes){ NULL, 0 };
    }
    return 0;
}

int lanepool_i_remote_run(lanepool_run *run, void *context)
{
    (void)run;
    call_function(context);
    return 0;
}

/* The part keeps its lanes until its handle is completed. */
int lanepool_i_remote_hold(lanepool_run *run, void *context)
{
    lanepool_i_remote_entry *entry = context;
    if (drop_if_leaving(entry))
        return 0;
    entry->trouble = lanepool_run_detach(run, &entry->handle);
    if (entry->trouble != LANEPOOL_OK)
        return 0;
    lanepool_task arrive = LANEPOOL_TASK_INIT;
    arrive.function = lanepool_i_remote_arrive;
    arrive.context = entry;
    lanepool_status status = lanepool_pool_submit(lanepool_run_pool(run), &arrive);
    if (status == LANEPOOL_OK)
        return 0;
    entry->trouble = status;
    if (lanepool_task_complete(entry->handle, 0, NULL) != LANEPOOL_NOMEM)
        entry->handle = NULL;
    return 0;
}

/* The journal's thread does the rest, at the journal entry. */
int lanepool_i_remote_arrive(lanepool_run *run, void *context)
{
    (void)run;
    (void)context;
    return 0;
}

/* As ARRIVE. */
int lanepool_i_remote_visit(lanepool_run *run, void *context)
{
    (void)run;
    (void)drop_if_leaving(context);
    return 0;
}

int lanepool_i_remote_tick(lanepool_run *run, void *context)
{
    (void)run;
    (void)context;
    return 0;
}

int lanepool_i_remote_request_fn(lanepool_run *run, void *context)
{
    (void)run;
    (void)context;
    return 0;
}

/* --- submitting --- */

void lanepool_i_remote_use(lanepool_i_remote_entry *entry)
{
    entry->uses++;
    entry->node->shards[entry->shard].use_count++;
}

void lanepool_i_remote_unuse(lanepool_i_remote_entry *entry)
{
    entry->uses--;
    entry->node->shards[entry->shard].use_count--;
    lanepool_i_remote_let_go(entry);
}

static lanepool_task_fn function_of(const lanepool_i_remote_entry *entry)
{
    if (entry->part_count == 1)
        return lanepool_i_remote_alone;
    return entry->is_cut ? lanepool_i_remote_visit : lanepool_i_remote_hold;
}

void lanepool_i_remote_submit(lanepool_i_remote_entry *entry)
{
    lanepool_i_remote_node *node = entry->node;
    lanepool_claim one;
    lanepool_claim *claims = &one;
    if (entry->lane_count > 1)
        claims = lanepool_i_remote_alloc(entry->lane_count * sizeof *claims);
    if (claims == NULL) {
        lanepool_i_remote_fail(node, LANEPOOL_NOMEM);
        return;
    }
    for (size_t i = 0; i < entry->lane_count; i++)
        claims[i] = lanepool_exclusive(entry->lanes[i]->link.number);
    lanepool_task task = LANEPOOL_TASK_INIT;
    task.function = function_of(entry);
    task.context = entry;
    task.claims = claims;
    task.claim_count = entry->lane_count;
    lanepool_status status = lanepool_pool_submit(node->pool, &task);
    if (status == LANEPOOL_OK)
        lanepool_i_remote_use(entry);
    else
        lanepool_i_remote_fail(node, status);
    if (claims != &one)
        lanepool_i_remote_free(claims);
}
