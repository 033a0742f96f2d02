/* Results in a libuv loop: a poll handle watches the group's descriptor. */
#define _POSIX_C_SOURCE 200809L
#include <lanepool/lanepool.h>
#include <stdio.h>
#include <uv.h>

static int square(lanepool_run *run, void *number)
{
    (void)run;
    *(int *)number *= *(int *)number;
    return 0;
}

static void on_results(uv_poll_t *poll, int uv_status, int events)
{
    lanepool_group *group = poll->data;
    lanepool_completion done;
    lanepool_status status;
    (void)uv_status, (void)events;
    while ((status = lanepool_group_next(group, 0, &done)) == LANEPOOL_OK)
        printf("result: %d\n", *(int *)done.context);
    if (status == LANEPOOL_DONE) /* that was the last task: the loop may end */
        uv_close((uv_handle_t *)poll, NULL);
}

int main(void)
{
    lanepool_pool *pool;
    lanepool_group *group;
    lanepool_group_options options = LANEPOOL_GROUP_OPTIONS_INIT;
    uv_poll_t poll;
    int numbers[3] = { 2, 3, 4 }, fd;
    options.keeps_completions = true;
    if (lanepool_group_create(&options, &group) || lanepool_group_fd(group, &fd) ||
        uv_poll_init(uv_default_loop(), &poll, fd) || lanepool_pool_create(NULL, &pool))
        return 1;
    poll.data = group;
    for (int i = 0; i < 3; i++)
        if (lanepool_pool_submit(pool, LANEPOOL_TASK(.function = square, .context = &numbers[i],
                                                     .group = group,
                                                     LANEPOOL_CLAIMS(lanepool_exclusive(1)))))
            return 1;
    if (lanepool_group_close(group) || /* no task follows */
        uv_poll_start(&poll, UV_READABLE, on_results))
        return 1;
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    lanepool_pool_destroy(pool);
    lanepool_group_destroy(group); /* closes the descriptor; the poll handle is closed before */
    return uv_loop_close(uv_default_loop());
}
