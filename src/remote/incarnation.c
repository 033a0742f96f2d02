/* Owns the beginning and the end of nodes, and the way of the program's calls to them; see node.h.
 */
#include "remote/node.h"

#define PAUSE_NS_MIN ((uint64_t)10000000)
#define PAUSE_NS_MAX ((uint64_t)1000000000)

/* --- the beginning --- */

static lanepool_status submit_first_tick(lanepool_remote *remote)
{
    lanepool_task tick = LANEPOOL_TASK_INIT;
    tick.function = lanepool_i_remote_tick;
    return lanepool_pool_submit_after(remote->node->pool, &tick, (int64_t)remote->pause_ns);
}

lanepool_status lanepool_i_remote_start(lanepool_remote *remote)
{
    lanepool_i_remote_node *node = lanepool_i_remote_alloc(sizeof *node);
    if (node == NULL)
        return LANEPOOL_NOMEM;
    node->remote = remote;
    node->has_tick = true;
    lanepool_options options = remote->pool_options;
    options.user = node;
    options.journal = &remote->journal;
    if (options.step_seed != 0)
        options.step_seed += remote->counts.incarnations;
    lanepool_status status = lanepool_pool_create(&options, &node->pool);
    if (status != LANEPOOL_OK) {
        lanepool_i_remote_free(node);
        return status;
    }
    remote->node = node;
    status = submit_first_tick(remote);
    if (status != LANEPOOL_OK)
        lanepool_i_remote_end(remote);
    return status;
}

/* --- the end --- */

/* The pool has ended all tasks, so the program's thread owns everything. */
static void free_node(lanepool_i_remote_node *node)
{
    while (node->entries != NULL)
        lanepool_i_remote_free_entry(node->entries);
    lanepool_i_remote_drop_rollups(node);
    lanepool_i_remote_map_fini(&node->rollups);
    lanepool_i_remote_drop_lanes(node, UINT32_MAX);
    lanepool_i_remote_map_fini(&node->lanes);
    for (uint32_t i = 0; node->shards != NULL && i < node->shard_count; i++)
        lanepool_i_remote_free(node->shards[i].window);
    lanepool_i_remote_free_rows(&node->rows);
    lanepool_i_remote_free(node->shards);
    lanepool_i_remote_free(node->new_shards);
    lanepool_i_remote_free(node->from);
    lanepool_i_remote_free(node->cursors);
    lanepool_i_remote_free(node->spent);
    lanepool_i_remote_free(node->requests);
    lanepool_i_remote_free(node);
}

static void await_end(lanepool_pool *pool)
{
    while (lanepool_pool_await(pool, LANEPOOL_FOREVER) == LANEPOOL_NO_RESOURCE)
        ;
}

static void complete_handle(lanepool_detached *handle)
{
    while (handle != NULL && lanepool_task_complete(handle, 0, NULL) == LANEPOOL_NOMEM)
        ;
}

/* The pool ends detached tasks, but each handle is completed once. */
void lanepool_i_remote_end(lanepool_remote *remote)
{
    lanepool_i_remote_node *node = remote->node;
    if (node == NULL)
        return;
    if (lanepool_pool_shutdown_now(node->pool, NULL, NULL) != LANEPOOL_INVALID)
        await_end(node->pool);
    for (lanepool_i_remote_entry *entry = node->entries; entry != NULL; entry = entry->next)
        complete_handle(entry->handle);
    (void)lanepool_pool_destroy_now(node->pool);
    remote->pause_ns = remote->pause_ns == 0 ? PAUSE_NS_MIN : remote->pause_ns * 2;
    if (remote->pause_ns > PAUSE_NS_MAX)
        remote->pause_ns = PAUSE_NS_MAX;
    remote->node = NULL;
    free_node(node);
}

/* --- calls --- */

/* Returns true if a new node may do better. */
static bool is_curable(lanepool_status status)
{
    return status == LANEPOOL_OK || status == LANEPOOL_FENCED || status == LANEPOOL_UNAVAILABLE ||
           status == LANEPOOL_NOMEM || status == LANEPOOL_NO_RESOURCE;
}

static void use_up(uint64_t *wait_ns, uint64_t used_ns)
{
    if (*wait_ns != LANEPOOL_FOREVER)
        *wait_ns -= used_ns < *wait_ns ? used_ns : *wait_ns;
}

/* Returns true if the request is no task of the pool any more, or was answered. */
static bool take_back(lanepool_future *future, lanepool_result *result)
{
    lanepool_status status = lanepool_future_cancel(future);
    if (status == LANEPOOL_OK)
        return true;
    status = lanepool_future_wait(future, LANEPOOL_FOREVER, result);
    return status != LANEPOOL_OK || result->status != LANEPOOL_OK;
}

static lanepool_status ask_once(lanepool_i_remote_node *node, lanepool_i_remote_request *request,
                                uint64_t *wait_ns, uint64_t delay_ns)
{
    lanepool_future *future;
    lanepool_result result = { LANEPOOL_CANCELLED, 0, NULL };
    lanepool_task task = LANEPOOL_TASK_INIT;
    task.function = lanepool_i_remote_request_fn;
    task.context = request;
    task.future = &future;
    uint64_t begin_ns = lanepool_pool_time(node->pool);
    lanepool_status status = lanepool_pool_submit_after(node->pool, &task, (int64_t)delay_ns);
    if (status != LANEPOOL_OK)
        return status;
    status = lanepool_future_wait(future, *wait_ns, &result);
    if (status != LANEPOOL_OK && !take_back(future, &result))
        status = LANEPOOL_OK;
    use_up(wait_ns, lanepool_pool_time(node->pool) - begin_ns);
    lanepool_future_release(future);
    return status != LANEPOOL_OK ? status : result.status;
}

/* SHUT_DOWN, CANCELLED and UNWRITTEN: the node has ended. */
lanepool_status lanepool_i_remote_ask(lanepool_remote *remote, lanepool_i_remote_request *request,
                                      uint64_t *wait_ns, uint64_t delay_ns)
{
    for (;;) {
        lanepool_status status = LANEPOOL_OK;
        if (remote->node == NULL)
            status = lanepool_i_remote_start(remote);
        if (status != LANEPOOL_OK)
            return status;
        status = ask_once(remote->node, request, wait_ns, delay_ns);
        if (status == LANEPOOL_OK)
            return request->status;
        if (status != LANEPOOL_SHUT_DOWN && status != LANEPOOL_CANCELLED &&
            status != LANEPOOL_UNWRITTEN)
            return status;
        await_end(remote->node->pool);
        status = remote->node->status;
        lanepool_i_remote_end(remote);
        if (!is_curable(status))
            return status;
        if (*wait_ns == 0)
            return LANEPOOL_TIMED_OUT;
    }
}
