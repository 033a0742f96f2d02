/* Owns the calls of programs; see node.h for what they have done. */
#include "remote/node.h"

#include <stdlib.h>
#include <string.h>

#define LEASE_NS_DEFAULT     UINT64_C(2000000000)
#define STEP_NS_DEFAULT      UINT64_C(1000000)
#define STEP_TASKS_DEFAULT   ((size_t)4096)
#define WINDOW_TASKS_DEFAULT ((size_t)1024)
#define LOOK_NS_MIN          UINT64_C(200000)
#define LOOK_NS_MAX          UINT64_C(20000000)

/* --- open and close --- */

/* Copies a struct that begins with its size, of an older or newer program. Members that it lacks
 * become 0. Returns false if it has a part that this library does not know, and that is not 0. */
static bool read_struct(void *copy, size_t size, const void *given)
{
    size_t given_size;
    if (given == NULL)
        return false;
    memcpy(&given_size, given, sizeof given_size);
    if (given_size < sizeof given_size)
        return false;
    for (size_t i = size; i < given_size; i++)
        if (((const char *)given)[i] != 0)
            return false;
    memset(copy, 0, size);
    memcpy(copy, given, given_size < size ? given_size : size);
    memcpy(copy, &size, sizeof size);
    return true;
}

static bool are_functions_set(const lanepool_remote_store_functions *functions)
{
    return functions->hello != NULL && functions->lease != NULL && functions->read_lanes != NULL &&
           functions->read_entries != NULL && functions->read_letters != NULL &&
           functions->step != NULL && functions->poll != NULL && functions->flush != NULL &&
           functions->append != NULL && functions->seal != NULL && functions->read_status != NULL &&
           functions->read_progress != NULL && functions->error_text != NULL;
}

static lanepool_status check_options(const lanepool_remote_options *options)
{
    if (options->kind_count > 0 && options->kinds == NULL)
        return LANEPOOL_INVALID;
    for (size_t i = 0; i < options->kind_count; i++)
        if (options->kinds[i].run == NULL)
            return LANEPOOL_INVALID;
    return LANEPOOL_OK;
}

static lanepool_status check_pool_options(const lanepool_options *pool)
{
    if (pool->journal != NULL || pool->user != NULL)
        return LANEPOOL_INVALID;
    bool is_offered = pool->layout == LANEPOOL_PER_KEY && pool->is_compatible == NULL &&
                      pool->on_failure == NULL && pool->contexts == NULL &&
                      pool->lane_pending_max == 0;
    return is_offered ? LANEPOOL_OK : LANEPOOL_UNSUPPORTED;
}

static void fill_defaults(lanepool_remote_options *options)
{
    if (options->lease_ns == 0)
        options->lease_ns = LEASE_NS_DEFAULT;
    if (options->step_ns == 0)
        options->step_ns = STEP_NS_DEFAULT;
    if (options->step_tasks == 0)
        options->step_tasks = STEP_TASKS_DEFAULT;
    if (options->window_tasks == 0)
        options->window_tasks = WINDOW_TASKS_DEFAULT;
    if (options->shards_max == 0)
        options->shards_max = UINT32_MAX;
}

/* All workers may be busy with long functions: then no tick runs, but the lease is to be renewed.
 */
static uint64_t idle_ns(uint64_t lease_ns)
{
    uint64_t wanted_ns = lease_ns / LANEPOOL_I_REMOTE_RENEWS + 1;
    return wanted_ns < LANEPOOL_JOURNAL_WAIT_MAX_NS ? wanted_ns : LANEPOOL_JOURNAL_WAIT_MAX_NS;
}

static bool copy_options(lanepool_remote *remote)
{
    const lanepool_remote_options *options = &remote->options;
    const char *name = options->name != NULL ? options->name : "";
    fill_defaults(&remote->options);
    remote->kinds = lanepool_i_remote_alloc(options->kind_count * sizeof *remote->kinds);
    remote->name = lanepool_i_remote_alloc(strlen(name) + 1);
    if (remote->kinds == NULL || remote->name == NULL)
        return false;
    if (options->kind_count > 0)
        memcpy(remote->kinds, options->kinds, options->kind_count * sizeof *remote->kinds);
    memcpy(remote->name, name, strlen(name) + 1);
    remote->journal = (lanepool_journal_options)LANEPOOL_JOURNAL_OPTIONS_INIT;
    remote->journal.write = lanepool_i_remote_write;
    remote->journal.batch_max = remote->options.step_tasks;
    remote->journal.wait_ns = remote->options.step_ns;
    remote->journal.idle_ns = idle_ns(remote->options.lease_ns);
    remote->journal.completes_when_written = true;
    return true;
}

lanepool_status lanepool_remote_open(const lanepool_remote_store_functions *functions, void *store,
                                     const lanepool_remote_options *options,
                                     lanepool_remote **remote)
{
    const lanepool_remote_options defaults = LANEPOOL_REMOTE_OPTIONS_INIT;
    const lanepool_options pool_defaults = LANEPOOL_OPTIONS_INIT;
    lanepool_remote room = { 0 };
    if (remote != NULL)
        *remote = NULL;
    if (remote == NULL || !read_struct(&room.functions, sizeof room.functions, functions) ||
        !read_struct(&room.options, sizeof room.options, options != NULL ? options : &defaults) ||
        !read_struct(&room.pool_options, sizeof room.pool_options,
                     room.options.pool != NULL ? room.options.pool : &pool_defaults) ||
        !are_functions_set(&room.functions))
        return LANEPOOL_INVALID;
    lanepool_status status = check_options(&room.options);
    if (status == LANEPOOL_OK)
        status = check_pool_options(&room.pool_options);
    if (status != LANEPOOL_OK)
        return status;
    lanepool_remote *made = lanepool_i_remote_alloc(sizeof *made);
    if (made == NULL)
        return LANEPOOL_NOMEM;
    *made = room;
    made->store = store;
    if (!copy_options(made)) {
        lanepool_remote_close(made);
        return LANEPOOL_NOMEM;
    }
    *remote = made;
    return LANEPOOL_OK;
}

void lanepool_remote_close(lanepool_remote *remote)
{
    if (remote == NULL)
        return;
    lanepool_i_remote_end(remote);
    lanepool_i_remote_free(remote->kinds);
    lanepool_i_remote_free(remote->name);
    lanepool_i_remote_free(remote);
}

/* --- calls that wait --- */

/* Asks again while the answer is TIMED_OUT, more and more rarely. */
static lanepool_status ask_until(lanepool_remote *remote, lanepool_i_remote_request *request,
                                 uint64_t wait_ns)
{
    uint64_t delay_ns = 0;
    for (;;) {
        lanepool_status status = lanepool_i_remote_ask(remote, request, &wait_ns, delay_ns);
        if (status != LANEPOOL_TIMED_OUT || wait_ns == 0)
            return status;
        delay_ns = delay_ns == 0 ? LOOK_NS_MIN : delay_ns * 2;
        if (delay_ns > LOOK_NS_MAX)
            delay_ns = LOOK_NS_MAX;
    }
}

static int compare_numbers(const void *a, const void *b)
{
    uint64_t first, second;
    memcpy(&first, a, sizeof first);
    memcpy(&second, b, sizeof second);
    return (first > second) - (first < second);
}

/* Returns INVALID if the task names a lane twice. */
static lanepool_status check_lanes(const lanepool_remote_task *task)
{
    if (task->claim_count == 1)
        return LANEPOOL_OK;
    uint64_t *lanes = lanepool_i_remote_alloc(task->claim_count * sizeof *lanes);
    if (lanes == NULL)
        return LANEPOOL_NOMEM;
    for (size_t i = 0; i < task->claim_count; i++)
        lanes[i] = task->claims[i].lane;
    qsort(lanes, task->claim_count, sizeof *lanes, compare_numbers);
    lanepool_status status = LANEPOOL_OK;
    for (size_t i = 1; i < task->claim_count; i++)
        if (lanes[i] == lanes[i - 1])
            status = LANEPOOL_INVALID;
    lanepool_i_remote_free(lanes);
    return status;
}

static lanepool_status check_task(const lanepool_remote *remote, const lanepool_remote_task *task)
{
    if (task->claims == NULL || task->claim_count == 0 ||
        task->claim_count > LANEPOOL_REMOTE_CLAIMS_MAX ||
        (task->payload.data == NULL && task->payload.size > 0))
        return LANEPOOL_INVALID;
    if (remote->options.kind_count > 0 && task->kind >= remote->options.kind_count)
        return LANEPOOL_INVALID;
    for (size_t i = 0; i < task->claim_count; i++)
        if (task->claims[i].mode != LANEPOOL_EXCLUSIVE)
            return LANEPOOL_UNSUPPORTED;
    return check_lanes(task);
}

lanepool_status lanepool_remote_submit_many(lanepool_remote *remote,
                                            const lanepool_remote_task *tasks, size_t task_count,
                                            uint64_t wait_max_ns, uint64_t *first_seq)
{
    if (remote == NULL || (tasks == NULL && task_count > 0))
        return LANEPOOL_INVALID;
    for (size_t i = 0; i < task_count; i++) {
        lanepool_status status = check_task(remote, &tasks[i]);
        if (status != LANEPOOL_OK)
            return status;
    }
    lanepool_i_remote_request request = { .answer = lanepool_i_remote_answer_append,
                                          .tasks = tasks,
                                          .task_count = task_count };
    lanepool_status status = LANEPOOL_OK;
    if (task_count > 0)
        status = lanepool_i_remote_ask(remote, &request, &wait_max_ns, 0);
    if (status == LANEPOOL_OK && first_seq != NULL)
        *first_seq = request.seq;
    return status;
}

static lanepool_status answer_seal(lanepool_i_remote_node *node, lanepool_i_remote_request *request)
{
    (void)request;
    return node->remote->functions.seal(node->remote->store);
}

lanepool_status lanepool_remote_seal(lanepool_remote *remote, uint64_t wait_max_ns)
{
    if (remote == NULL)
        return LANEPOOL_INVALID;
    lanepool_i_remote_request request = { .answer = answer_seal };
    return lanepool_i_remote_ask(remote, &request, &wait_max_ns, 0);
}

lanepool_status lanepool_remote_await(lanepool_remote *remote, uint64_t seq, uint64_t wait_max_ns,
                                      lanepool_remote_outcome *outcome)
{
    lanepool_remote_outcome room;
    if (remote == NULL || seq == 0)
        return LANEPOOL_INVALID;
    lanepool_i_remote_request request = { .answer = lanepool_i_remote_answer_explain,
                                          .seq = seq,
                                          .outcome = outcome != NULL ? outcome : &room };
    return ask_until(remote, &request, wait_max_ns);
}

/* No crash can have come between the look that has found the end and the flush: it would have
 * broken the connection. */
static lanepool_status answer_all(lanepool_i_remote_node *node, lanepool_i_remote_request *request)
{
    const lanepool_remote_news *news = &node->news;
    (void)request;
    if (!news->is_sealed || news->done < news->appended)
        return LANEPOOL_TIMED_OUT;
    return node->remote->functions.flush(node->remote->store);
}

lanepool_status lanepool_remote_await_all(lanepool_remote *remote, uint64_t wait_max_ns)
{
    if (remote == NULL)
        return LANEPOOL_INVALID;
    lanepool_i_remote_request request = { .answer = answer_all };
    return ask_until(remote, &request, wait_max_ns);
}

static lanepool_status answer_leave(lanepool_i_remote_node *node,
                                    lanepool_i_remote_request *request)
{
    (void)request;
    node->leaves = true;
    return node->has_left ? LANEPOOL_OK : LANEPOOL_TIMED_OUT;
}

lanepool_status lanepool_remote_leave(lanepool_remote *remote, uint64_t wait_max_ns)
{
    if (remote == NULL)
        return LANEPOOL_INVALID;
    lanepool_i_remote_request request = { .answer = answer_leave };
    return ask_until(remote, &request, wait_max_ns);
}

/* --- views --- */

lanepool_status lanepool_remote_status(lanepool_remote *remote, uint64_t wait_max_ns,
                                       lanepool_remote_view *view)
{
    if (remote == NULL || view == NULL)
        return LANEPOOL_INVALID;
    lanepool_i_remote_request request = { .answer = lanepool_i_remote_answer_explain,
                                          .view = view };
    return lanepool_i_remote_ask(remote, &request, &wait_max_ns, 0);
}

lanepool_status lanepool_remote_explain(lanepool_remote *remote, uint64_t seq, uint64_t wait_max_ns,
                                        lanepool_write_fn write, void *context)
{
    if (remote == NULL || seq == 0 || write == NULL)
        return LANEPOOL_INVALID;
    lanepool_i_remote_buffer text = { 0 };
    lanepool_i_remote_request request = { .answer = lanepool_i_remote_answer_explain,
                                          .seq = seq,
                                          .text = &text };
    lanepool_status status = lanepool_i_remote_ask(remote, &request, &wait_max_ns, 0);
    if (status == LANEPOOL_OK && text.has_failed)
        status = LANEPOOL_NOMEM;
    if (status == LANEPOOL_OK)
        write(context, (const char *)text.data, text.size);
    lanepool_i_remote_buffer_fini(&text);
    return status;
}
